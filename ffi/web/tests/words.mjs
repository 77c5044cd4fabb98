// Private words and vectors, and their grants.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Bag, BagRelease, Grant, Ledger, Pack, VectorMechanism, VectorRelease, Vocabulary } from "undertone";

import { golden, inFolder, misuse } from "./common.mjs";

const vocabulary = () => new Vocabulary(new Pack(golden("golden.pack")));
const code = (expected) => ({ name: "UndertoneError", code: expected });

test("words of a text", () => {
    const words = vocabulary();
    const bag = new Bag(words);
    bag.pushText("the red fox sleeps");
    const drawn = bag.release(Grant.unrecorded("word", 1000), 3);
    assert.equal(drawn.words.length, 3);
    assert.equal(drawn.epsilon, 1000);
    drawn.words.forEach((word) => assert.equal(typeof words.word(word), "string"));
    assert.throws(() => words.word(words.wordCount), code("NO_SUCH_WORD"));
    // Modulo 2^32 this would be a word.
    assert.throws(() => words.word(2 ** 32), RangeError);
    assert.throws(() => new BagRelease(drawn.bytes.subarray(0, -1)), code("RELEASE_WRONG_LENGTH"));
});

test("words are used after the vocabulary is closed", () => {
    const words = vocabulary();
    const bag = new Bag(words);
    words.close();
    bag.push("fox");
    assert.equal(bag.release(Grant.unrecorded("word", 1), 1).words.length, 1);
    assert.throws(() => new Bag(words), code("CLOSED"));
});

misuse("words_out_of_range", () =>
    inFolder(async (path) => {
        const ledger = await Ledger.openOrCreate(path("ledger"), "word", 10);
        for (const words of [0, 257]) {
            await assert.rejects(ledger.spend(1, { words }), code("WORD_COUNT_OUT_OF_RANGE"));
        }
        assert.equal(await ledger.left(), 10);
        await ledger.close();
    }));

misuse("bag_of_more_words", () =>
    inFolder(async (path) => {
        const ledger = await Ledger.openOrCreate(path("ledger"), "word", 10);
        const grant = await ledger.spend(1, { words: 1 });
        const bag = new Bag(vocabulary());
        bag.pushText("red fox");
        assert.throws(() => bag.release(grant, 2), code("GRANT_TOO_FEW_WORDS"));
        assert.equal(bag.release(grant, 1).words.length, 1);
        await ledger.close();
    }));

misuse("grant_of_another_epsilon", () => {
    const mechanism = new VectorMechanism(1, { dimension: 4 });
    const grant = Grant.unrecorded("vector", 2);
    assert.throws(() => mechanism.release(grant, [1, 0, 0, 0]), code("GRANT_WRONG_EPSILON"));
});

test("vectors", () => {
    const mechanism = new VectorMechanism(10, { dimension: 4, noise: "discrete-laplace" });
    const drawn = mechanism.release(Grant.unrecorded("vector", 10), Float32Array.of(1, 0, 0, 0));
    assert.equal(drawn.values.length, 4);
    assert.deepEqual(new VectorRelease(drawn.bytes).values, drawn.values);
    assert.throws(() => mechanism.release(Grant.unrecorded("vector", 10), [1]), code("WRONG_DIMENSION"));
    assert.throws(() => new VectorMechanism(1, { dimension: 1025 }), code("DIMENSION_OUT_OF_RANGE"));
    // Modulo 2^32 these would be fine.
    assert.throws(() => new VectorMechanism(1, { dimension: 2 ** 32 + 4 }), RangeError);
    assert.throws(() => new VectorMechanism(1, { dimension: 4, boundExponent: 2 ** 32 }), RangeError);
});
