#!/bin/sh
# Builds the package into dist/. Needs nightly Rust with rust-src, and `npm ci` before.
set -eu
cd "$(dirname "$0")/.."
root=$(cd ../.. && pwd)

rm -rf dist
mkdir dist
# The names of functions are a ninth of the module.
library=$(RUSTUP_TOOLCHAIN=${RUSTUP_TOOLCHAIN:-nightly} CARGO_PROFILE_EMBED_STRIP=symbols \
    "$root/ffi/build-lib.sh" dist/.wasm shared --target wasm32-unknown-unknown -Zbuild-std=core --locked)
mv "$library" dist/undertone.wasm
rmdir dist/.wasm
cp "$root/LICENSE-MIT" "$root/LICENSE-APACHE" dist

bundle() { npx esbuild "src/$1" --outfile="dist/$2" --bundle --log-level=warning --target=es2022 "$3" "$4"; }
bundle bare.ts bare.js --format=esm --platform=browser
bundle browser.ts browser.js --format=esm --external:./bare.js
bundle node.ts node.cjs --format=cjs --platform=node
# Programs that import and ones that require get the same objects.
node -e '
    const names = Object.keys(require("./dist/node.cjs")).join(", ");
    console.log(`import undertone from "./node.cjs";\n\nexport const { ${names} } = undertone;`);
' >dist/node.mjs

npx tsc
# TypeScript takes types for those of a CommonJS module by the package.json above them.
cp -r dist/types dist/types-cjs
echo '{ "type": "commonjs" }' >dist/types-cjs/package.json
