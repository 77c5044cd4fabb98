// The golden vectors in a WebAssembly module, by its C interface.
//
//     node golden.mjs libundertone.wasm symbols.txt

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const GOLDEN = new URL("../golden/", import.meta.url);

// A pack and its cases. `consumer.c` checks the vectors of sentences, which have a separate call.
const FILES = readFileSync(new URL("list.txt", GOLDEN), "ascii").trim().split("\n")
    .map((line) => line.split(" ")).filter(([, vectors]) => !vectors.startsWith("sentences"));

// A function of JavaScript as one of WebAssembly, so that a table takes it: a module that imports it and exports
// it again, (i32, i32, i32) -> i32.
const SHIM = Uint8Array.from([
    0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, // magic, version
    0x01, 0x08, 0x01, 0x60, 0x03, 0x7f, 0x7f, 0x7f, 0x01, 0x7f, // one type
    0x02, 0x07, 0x01, 0x01, 0x65, 0x01, 0x66, 0x00, 0x00, // import e.f
    0x07, 0x05, 0x01, 0x01, 0x66, 0x00, 0x00, // export f
]);

const wasm = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(process.argv[2])), {}).exports;
const { memory, __indirect_function_table: table } = wasm;

const functions = Object.keys(wasm).filter((name) => wasm[name] instanceof Function);
assert.deepEqual(functions.sort(), readFileSync(process.argv[3], "ascii").trim().split("\n"));

// Initial memory belongs to the module. Nothing is ever freed.
let free = memory.buffer.byteLength;

function allocate(length) {
    free = Math.ceil(free / 16) * 16;
    const address = free;
    free += length;
    const missing = free - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / 65536));
    return address;
}

// The memory grows, so views of it are created again.
const bytes = (address, length) => new Uint8Array(memory.buffer, address, length);
const number = (address) => new DataView(memory.buffer).getUint32(address, true);

function put(data) {
    const address = allocate(Math.max(data.length, 1));
    bytes(address, data.length).set(data);
    return address;
}

function check(status, what) {
    if (status === 0) return;
    let end = wasm.undertone_status_message(status);
    const start = end;
    while (bytes(end, 1)[0] !== 0) end++;
    throw new Error(`${what}: ${Buffer.from(bytes(start, end - start))} (status ${status})`);
}

const out = allocate(4);

// UNDERTONE_DOCUMENT_HANDLE_SIZE of undertone.h, enough for every handle.
const HANDLE_SIZE = 26_624;

// The handle that an `_init` function returns.
function init(kind, ...inputs) {
    const name = kind.endsWith("_projected") ? "undertone_vector_mechanism_init_projected" : `undertone_${kind}_init`;
    check(wasm[name](allocate(HANDLE_SIZE), HANDLE_SIZE, ...inputs, out), name);
    return number(out);
}

let key;
const entropy = table.length;
table.grow(1);
const replay = (context, address, length) => {
    bytes(address, length).set(key);
    return 0;
};
table.set(entropy, new WebAssembly.Instance(new WebAssembly.Module(SHIM), { e: { f: replay } }).exports.f);

const grantMemory = allocate(HANDLE_SIZE);
// The numbers of units in undertone.h.
const [SENTENCE, WHOLE_TEXT, WORD, VECTOR] = [1, 2, 3, 4];

function grant(unit, epsilon) {
    check(wasm.undertone_grant_init_unrecorded(grantMemory, HANDLE_SIZE, unit, epsilon, out), "grant");
    return number(out);
}

const scratch = allocate(1 << 16);
const fromHex = (text) => Buffer.from(text, "hex");

function releaseOf(handles, lines, field) {
    const [epsilon, capacity] = [Number(field.epsilon_micro), 8192];
    key = fromHex(field.entropy);
    const input = (value) => {
        const data = fromHex(value);
        bytes(scratch, data.length).set(data);
        return [scratch, data.length];
    };
    for (const [name, value] of lines) {
        if (name === "embedding") {
            const [address, length] = input(value);
            check(wasm.undertone_document_push(handles.document, address, length / 4), field.case);
        } else if (name === "sentence") {
            check(wasm.undertone_document_push_sentence(handles.document, ...input(value)), field.case);
        } else if (name === "word") {
            check(wasm.undertone_bag_push(handles.bag, ...input(value)), field.case);
        } else if (name === "text") {
            check(wasm.undertone_bag_push_text(handles.bag, ...input(value)), field.case);
        }
    }
    const buffer = handles.buffer;
    if (field.noise !== undefined) {
        const [address, length] = input(field.vector);
        const vector = field.bound_exponent === undefined
            ? init("vector_mechanism_projected", handles.pack, Number(field.noise), epsilon)
            : init("vector_mechanism", length / 4, Number(field.bound_exponent), Number(field.noise), epsilon);
        check(wasm.undertone_vector_mechanism_release(
            vector, grant(VECTOR, epsilon), address, length / 4, entropy, 0, buffer, capacity, out), field.case);
    } else if (field.mechanism !== undefined) {
        check(wasm.undertone_bag_release(
            handles.bag, grant(WORD, epsilon), Number(field.size), Number(field.mechanism), entropy, 0, buffer, capacity,
            out), field.case);
    } else if (field.rule === "projective") {
        check(wasm.undertone_document_release_projective(
            handles.document, grant(WHOLE_TEXT, epsilon), entropy, 0, buffer, capacity, out), field.case);
    } else if (field.rule === "whole-text") {
        check(wasm.undertone_document_release_whole_text(
            handles.document, grant(WHOLE_TEXT, epsilon), entropy, 0, buffer, capacity, out), field.case);
    } else {
        check(wasm.undertone_document_release(
            handles.document, grant(SENTENCE, epsilon), Number(field.rule), entropy, 0, buffer, capacity, out), field.case);
    }
    return Buffer.from(bytes(buffer, number(out))).toString("hex");
}

for (const [packFile, vectors] of FILES) {
    const file = readFileSync(new URL(packFile, GOLDEN));
    const pack = init("pack", put(file), file.length);
    const handles = { pack, buffer: allocate(8192) };
    // undertone_pack_description: numbers of four bytes, candidate_count is the second and word_count the ninth.
    const described = allocate(128);
    check(wasm.undertone_pack_describe(pack, described), packFile);
    if (number(described + 4) > 0) handles.document = init("document", pack);
    if (number(described + 4 * 8) > 0) handles.bag = init("bag", init("vocabulary", pack));
    let cases = 0;
    const text = readFileSync(new URL(vectors, GOLDEN), "ascii");
    for (const block of text.split("\n\n")) {
        const lines = block.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
        if (lines.length === 0) continue;
        const fields = lines.map((line) => [line.split(" ", 1)[0], line.slice(line.indexOf(" ") + 1)]);
        for (const field of fields) if (field[0] === field[1]) field[1] = "";
        const field = Object.fromEntries(fields);
        assert.equal(releaseOf(handles, fields, field), field.release, `${vectors}: ${field.case}`);
        cases++;
    }
    assert.equal(cases, text.match(/^release /gm).length, `${vectors}: not all ran`);
    console.log(`${vectors}: ${cases} golden vectors agree`);
}
console.log(`libundertone.wasm has ${readFileSync(process.argv[2]).length} bytes`);
