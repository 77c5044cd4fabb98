// Arguments are what they are, whichever window, worker or context made them: as in jest, jsdom,
// Electron and iframes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import vm from "node:vm";

import { Document, Grant, Pack, Release } from "undertone";

import { golden } from "./common.mjs";

const SCORES = golden("golden-scores.pack");
const EMBEDDING = Array(16).fill(0.5);
const WASM = readFileSync(new URL("../dist/undertone.wasm", import.meta.url));
const other = vm.createContext();
/** A value that another context makes of a list of numbers. */
const foreign = (code, numbers) => vm.runInContext(`(numbers) => ${code}`, other)(numbers);

test("bytes and numbers of another realm are taken", () => {
    const bytes = foreign("Uint8Array.from(numbers)", SCORES);
    assert(!(bytes instanceof Uint8Array), "it is of another realm");
    const document = new Document(new Pack(bytes));
    document.push(foreign("Float32Array.from(numbers)", EMBEDDING));
    document.push(foreign("Array.from(numbers)", EMBEDDING));
    assert.equal(document.sentenceCount, 2);
    const release = document.release(Grant.unrecorded("sentence", 1));
    const read = new Release(foreign("Uint8Array.from(numbers)", release.bytes));
    assert.equal(`${read}`, `${release}`);
});

test("what only looks like bytes is refused by name", () => {
    const looks = [
        { length: SCORES.length, [Symbol.toStringTag]: "Uint8Array" },
        Object.create(Uint8Array.prototype),
        new Uint8ClampedArray(SCORES),
        new Int8Array(SCORES),
        new DataView(SCORES.buffer),
        SCORES.buffer,
        [...SCORES],
    ];
    for (const value of looks) {
        assert.throws(() => new Pack(value), { name: "TypeError", message: "the pack is not a Uint8Array" });
        assert.throws(() => new Release(value), { name: "TypeError", message: "the bytes are not a Uint8Array" });
    }
    const document = new Document(new Pack(SCORES));
    for (const value of [new Float64Array(16), Object.create(Float32Array.prototype), { length: 16 }]) {
        assert.throws(() => document.push(value), { name: "TypeError", message: /neither a Float32Array nor an array/ });
    }
});

test("the package in another realm, as jest loads it, takes what Node reads", () => {
    const file = fileURLToPath(new URL("../dist/node.cjs", import.meta.url));
    const realm = vm.createContext({ TextDecoder, TextEncoder, crypto, process });
    const wrapper = vm.runInContext(
        `(function (exports, require, module, __filename, __dirname) { ${readFileSync(file, "utf8")}\n})`,
        realm,
    );
    const module = { exports: {} };
    wrapper(module.exports, createRequire(file), module, file, dirname(file));
    const inside = module.exports;
    const document = new inside.Document(new inside.Pack(SCORES));
    document.push(Float32Array.from(EMBEDDING));
    assert.equal(document.release(inside.Grant.unrecorded("sentence", 3)).bytes.length, 24);
    assert.throws(() => new inside.Pack(SCORES.subarray(1)), { name: "UndertoneError", code: "NOT_A_PACK" });
    // Objects of another copy of the package lie in another memory.
    assert.throws(() => new inside.Document(new Pack(SCORES)), { name: "TypeError", message: "the pack is not a Pack" });
});

let copies = 0;
/** A copy of the package that has not started. */
const bare = () => import(`../dist/bare.js?copy=${copies++}`);

test("start takes the module in any form and of any realm", async () => {
    const forms = {
        "a Buffer": WASM,
        "an ArrayBuffer": Uint8Array.from(WASM).buffer,
        "an ArrayBuffer of another realm": foreign("Uint8Array.from(numbers).buffer", WASM),
        "a view of another realm": foreign("Uint8Array.from(numbers)", WASM),
        "a DataView of another realm": foreign("new DataView(Uint8Array.from(numbers).buffer)", WASM),
        "a compiled module": await WebAssembly.compile(WASM),
        "a Blob": new Blob([WASM]),
        "a Response": new Response(WASM),
        "a promise of a Response": Promise.resolve(new Response(WASM)),
    };
    for (const [form, module] of Object.entries(forms)) {
        const undertone = await bare();
        await undertone.start(module);
        assert.equal(new undertone.Pack(SCORES).candidateCount, new Pack(SCORES).candidateCount, form);
    }
});

test("modules that were compiled before suffice where nothing may be compiled", async () => {
    const dist = (name) => readFileSync(new URL(`../dist/${name}`, import.meta.url));
    const modules = ["undertone.wasm", "entropy.wasm"].map((name) => new WebAssembly.Module(dist(name)));
    const context = { TextDecoder, TextEncoder, crypto, SCORES, modules };
    // As in Cloudflare Workers.
    const worker = vm.createContext(context, { codeGeneration: { strings: false, wasm: false } });
    vm.runInContext(`delete globalThis.FinalizationRegistry; ${dist("cjs/bare.js")}`, worker);
    assert.throws(() => vm.runInContext("new WebAssembly.Module(new Uint8Array(8))", worker), /disallowed by embedder/);
    const release = await vm.runInContext(`undertone.start(...modules).then(() => {
        const document = new undertone.Document(new undertone.Pack(SCORES));
        document.pushText("My doctor called.");
        return document.releaseWholeText(undertone.Grant.unrecorded("whole-text", 3)).toString();
    })`, worker);
    assert.equal(release.length, 48);
});

test("start refuses anything else by name", async () => {
    const { start } = await bare();
    for (const nothing of [undefined, null, 7, "undertone.wasm", {}, [], new SharedArrayBuffer(8)]) {
        await assert.rejects(start(nothing), { name: "TypeError", message: /^start takes undertone\.wasm: / });
    }
    await assert.rejects(start(new Response("<html>")), { code: "NOT_STARTED" });
    await assert.rejects(start(new Blob(["<html>"])), { code: "NOT_STARTED" });
});
