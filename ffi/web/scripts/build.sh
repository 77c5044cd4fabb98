#!/bin/sh
# Builds the package into dist/. Needs nightly Rust with rust-src, and `npm ci` before.
set -eu
cd "$(dirname "$0")/.."
root=$(cd ../.. && pwd)

rm -rf dist bare ./*.wasm
mkdir dist bare undertone.wasm entropy.wasm
# The names of functions are a ninth of the module.
library=$(RUSTUP_TOOLCHAIN=${RUSTUP_TOOLCHAIN:-nightly} CARGO_PROFILE_EMBED_STRIP=symbols \
    "$root/ffi/build-lib.sh" dist/.wasm shared --target wasm32-unknown-unknown -Zbuild-std=core --locked)
mv "$library" dist/undertone.wasm
rmdir dist/.wasm
cp "$root/LICENSE-MIT" "$root/LICENSE-APACHE" dist

bundle() {
    from=src/$1 to=dist/$2
    shift 2
    npx esbuild "$from" --outfile="$to" --bundle --log-level=warning --target=es2022 "$@"
}
bundle bare.ts bare.js --format=esm --platform=browser
bundle browser.ts browser.js --format=esm --external:./bare.js
# For `require`, and for `importScripts` and <script>, which get a global `undertone`.
bundle bare.ts cjs/bare.js --format=iife --global-name=undertone --platform=browser \
    --footer:js='if (typeof module === "object") module.exports = undertone;'
# A program that a bundler made of ES modules has no `require`.
bundle node.ts node.cjs --format=cjs --platform=node --banner:js='var require = process.getBuiltinModule ?? require;'
# Programs that import and programs that require get the same objects.
node -e '
    const names = Object.keys(require("./dist/node.cjs")).join(", ");
    console.log(`import undertone from "./node.cjs";\n\nexport const { ${names} } = undertone;`);
' >dist/node.mjs

echo 'import { writeFileSync } from "node:fs"; import { ENTROPY } from "./src/module.js"; writeFileSync("dist/entropy.wasm", ENTROPY);' |
    npx esbuild --bundle --format=esm --platform=node --loader=ts | node --input-type=module

npx tsc
# TypeScript takes types for CommonJS by the package.json above them.
cp dist/types/*.d.ts dist/cjs
echo '{ "type": "commonjs" }' >dist/cjs/package.json

# Tools that do not read the exports of the package look for a folder with the name of each part.
echo '{ "main": "../dist/cjs/bare.js", "types": "../dist/cjs/bare.d.ts" }' >bare/package.json
for module in *.wasm; do
    echo "{ \"main\": \"../dist/$module\" }" >"$module/package.json"
done
