// The package as a user gets it: its size, its types, and what each way to load it finds.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
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
        assert(packed.size <= 150_000, `the package has ${packed.size} bytes`);
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
    }));
