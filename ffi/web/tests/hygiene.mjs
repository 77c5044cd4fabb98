// Nothing of a text, nor of the key of its release, is left in the module's memory.

import assert from "node:assert/strict";
import { test } from "node:test";

import { golden } from "./common.mjs";

// The package keeps the memory to itself, so it is taken where the module is made.
let memory;
const { Instance } = WebAssembly;
WebAssembly.Instance = class extends Instance {
    constructor(...made) {
        super(...made);
        memory ??= this.exports.memory;
    }
};
const keys = [];
const { crypto } = globalThis;
const random = crypto.getRandomValues.bind(crypto);
crypto.getRandomValues = (out) => {
    random(out);
    keys.push(Buffer.from(out));
    return out;
};
const { Bag, Document, Form, Grant, Pack, Vocabulary } = await import("undertone");

const left = (what) => Buffer.from(memory.buffer).includes(what);
const SECRET = "Xylophanes quetzal";
/** A part of what is looked for is enough. */
const parts = (bytes) => [0, 8, 16, 24].map((start) => bytes.subarray(start, start + 8)).filter((part) => part.length === 8);

test("nothing private is left", () => {
    // What there is, is found.
    const planted = Buffer.from(golden("golden.pack"));
    planted.write(SECRET, 0);
    assert.throws(() => new Pack(planted), { code: "NOT_A_PACK" });
    const pack = new Pack(golden("golden-features.pack"));
    assert(left(golden("golden-features.pack").subarray(100, 200)), "the search finds nothing at all");
    assert(!left(SECRET), "a pack that was refused is left");

    const document = new Document(pack);
    document.pushText(`${SECRET} met my doctor. ${SECRET} was late.`);
    document.pushSentence(SECRET);
    document.pushEncoded(SECRET, pack.embedSentence(SECRET));
    assert(!left(SECRET), "a text is left");
    document.release(Grant.unrecorded("sentence", 1));

    const bag = new Bag(new Vocabulary(new Pack(golden("golden.pack"))));
    bag.push(SECRET);
    bag.pushText(`${SECRET} met my doctor`);
    bag.release(Grant.unrecorded("word", 1), 2);
    assert(!left(SECRET) && !left("quetzal"), "a word is left");
    assert.equal(keys.length, 2);
    for (const key of keys) for (const part of parts(key)) assert(!left(part), "a part of a key is left");
});

test("answers are not left", () => {
    const answers = Uint32Array.from([0x12345678, 0x9abcdef0, 0x0fedcba9]);
    new Form(golden("golden.form")).release(Array.from(answers), Grant.unrecorded("whole-text", 1));
    for (let i = 0; i < 3; i++) assert(!left(Buffer.from(answers.buffer, 4 * i, 4)));
    for (const part of parts(keys.at(-1))) assert(!left(part), "a part of a key is left");
});

test("a vector that was pushed is not left", () => {
    const document = new Document(new Pack(golden("golden-scores.pack")));
    const embedding = Float32Array.from({ length: 16 }, (_, i) => Math.fround(0.123456 + i / 7));
    document.push(embedding);
    const bytes = Buffer.from(embedding.buffer);
    for (let start = 0; start < bytes.length; start += 8) assert(!left(bytes.subarray(start, start + 8)));
    document.close();
});
