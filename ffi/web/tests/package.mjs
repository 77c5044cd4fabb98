// The package as a user gets it: its size, its types, and what each way to load it finds.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { inFolder } from "./common.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const runIn = (cwd, program, ...rest) => {
    const { status, stdout, stderr } = spawnSync(program, rest, { cwd, encoding: "utf8" });
    assert.equal(status, 0, `${program} ${rest}: ${stdout}${stderr}`);
    return stdout;
};
const tool = (name) => `${ROOT}node_modules/.bin/${name}`;

test("what a registry would get", () =>
    inFolder((path) => {
        const [packed] = JSON.parse(runIn(ROOT, "npm", "pack", "--json", "--pack-destination", path(".")));
        assert(packed.size <= 160_000, `the package has ${packed.size} bytes`);
        const user = path("user");
        mkdirSync(`${user}/node_modules/undertone`, { recursive: true });
        runIn(user, "tar", "-xzf", path(packed.filename), "--strip-components=1", "-C", `${user}/node_modules/undertone`);
        const installed = (name) => readFileSync(`${user}/node_modules/undertone/${name}`, "utf8");
        assert.equal(JSON.parse(installed("package.json")).version, /UNDERTONE_VERSION "([\d.]+)"/.exec(
            readFileSync(new URL("../../../include/undertone.h", import.meta.url), "utf8"))[1]);
        assert.match(installed("README.md"), /^# undertone for JavaScript/);
        assert(statSync(`${user}/node_modules/undertone/dist/LICENSE-MIT`).isFile());

        // Types, of an ES module and of one that requires, and for a browser.
        const consumer = (name) => copyFileSync(new URL("consumer.ts", import.meta.url), `${user}/${name}`);
        writeFileSync(`${user}/package.json`, "{}");
        consumer("a.mts");
        consumer("b.cts");
        const strict = ["--strict", "--noEmit", "--target", "es2022"];
        runIn(user, tool("tsc"), ...strict, "--lib", "es2022", "--module", "nodenext", "a.mts", "b.cts");
        const browser = ["--lib", "es2022,dom", "--module", "esnext", "--moduleResolution", "bundler"];
        runIn(user, tool("tsc"), ...strict, ...browser, "a.mts");

        // A bundler for browsers finds the part for browsers, which asks for no module of Node.
        const bundled = runIn(user, tool("esbuild"), "a.mts", "--bundle", "--format=esm", "--platform=browser", "--target=es2022");
        assert.match(bundled, /indexedDB/);
        // It loads the module, which a bundler that drops what nobody names would drop.
        assert.match(bundled, /undertone\.wasm/);
        assert.doesNotMatch(bundled, /node:/);
    
        // Every way to name a part of the package, in Node and in tools that read no exports.
        const resolve = (code) => runIn(user, process.execPath, "--input-type=module", "-e", code).trim();
        const required = (name) =>
            resolve(`import { createRequire } from "node:module"; console.log(createRequire("${user}/x").resolve("${name}"))`);
        const imported = (name) => resolve(`console.log(import.meta.resolve("${name}"))`);
        const parts = { "": "node", "/bare": "bare", "/undertone.wasm": "undertone.wasm", "/entropy.wasm": "entropy.wasm", "/package.json": "package.json" };
        for (const [part, found] of Object.entries(parts)) {
            // By its path, a folder is read as by tools that read no exports.
            const places = [required(`undertone${part}`), required(`${user}/node_modules/undertone${part}`), imported(`undertone${part}`)];
            for (const at of places) {
                assert(at.includes("/node_modules/undertone/") && at.includes(`/${found}`), `undertone${part}: ${at}`);
            }
        }
        // Parcel reads this field, and no exports.
        assert.match(installed(JSON.parse(installed("package.json")).browser), /undertone\.wasm/);
        assert(installed(`bare/${JSON.parse(installed("bare/package.json")).types}`).length > 0);

        // `undertone/bare` by require, with its types.
        writeFileSync(`${user}/bare.cjs`, `
            const { start, Pack } = require("undertone/bare");
            const wasm = require("node:fs").readFileSync(require.resolve("undertone/undertone.wasm"));
            start(wasm).then(() => console.log(typeof Pack));`);
        assert.equal(runIn(user, process.execPath, "bare.cjs").trim(), "function");
        writeFileSync(`${user}/c.cts`, `import { start } from "undertone/bare"; void start(new Uint8Array());`);
        runIn(user, tool("tsc"), ...strict, "--lib", "es2022,dom", "--module", "nodenext", "c.cts");

        // A bundle for servers has another folder, and as ES modules neither `require` nor
        // `__dirname`.
        writeFileSync(`${user}/server.ts`, `import { version } from "undertone"; console.log(version());`);
        const empty = path("empty");
        for (const [format, name] of [["esm", "out.mjs"], ["cjs", "out.cjs"]]) {
            const bundle = [`--format=${format}`, "--bundle", "--platform=node", "--log-level=error"];
            runIn(user, tool("esbuild"), "server.ts", ...bundle, `--outfile=build/${name}`);
            const version = runIn(user, process.execPath, `build/${name}`).trim();
            assert.match(version, /^\d+\.\d+\.\d+$/, "it finds the installed package");
            // Alone it says what is missing, and the module beside it is enough.
            rmSync(empty, { recursive: true, force: true });
            mkdirSync(empty);
            copyFileSync(`${user}/build/${name}`, `${empty}/${name}`);
            const { stderr } = spawnSync(process.execPath, [`${empty}/${name}`], { encoding: "utf8" });
            assert.match(stderr, /NOT_STARTED/);
            assert.match(stderr, /undertone\.wasm is not beside the program: copy it there/);
            copyFileSync(`${user}/node_modules/undertone/dist/undertone.wasm`, `${empty}/undertone.wasm`);
            assert.equal(runIn(empty, process.execPath, name).trim(), version);
        }

        // A server that takes the part for browsers cannot fetch the module, and says so.
        const wrong = ["--bundle", "--format=esm", "--platform=browser", "--target=es2022", "--outfile=build/wrong.mjs"];
        runIn(user, tool("esbuild"), "server.ts", ...wrong, "--log-level=error");
        const { stderr } = spawnSync(process.execPath, [`${user}/build/wrong.mjs`], { encoding: "utf8" });
        assert.match(stderr, /NOT_STARTED/);
        assert.match(stderr, /import undertone\/bare, and call start/);
    }));
