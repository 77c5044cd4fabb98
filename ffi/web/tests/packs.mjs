// What packs and the library say of themselves.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Bag, Document, Grant, Pack, Vocabulary, version } from "undertone";

import { golden } from "./common.mjs";

const pack = (name) => new Pack(golden(name));

test("by scores", () => {
    const scores = pack("golden-scores.pack");
    assert.deepEqual([scores.dimension, scores.candidateCount, scores.nothingKnown], [16, 200, 200]);
    assert.equal(scores.selector, "scores");
    assert(scores.largestScore > 0 && scores.levelCount > 1 && scores.wordCount > 0);
    assert.deepEqual([scores.directionCount, scores.projectedDimension, scores.featureCount], [0, 0, 0]);
    assert.equal(scores.encoderName, "golden");
    assert.match(scores.encoderDigest, /^[0-9a-f]{64}$/);
    assert.equal(scores.id, "16f4b64559f90996");
});

test("by depth, with a projection, with features", () => {
    const depth = pack("golden.pack");
    assert.deepEqual([depth.selector, depth.largestScore, depth.levelCount, depth.nothingKnown], ["depth", 0, 0, undefined]);
    assert(depth.directionCount > 0);
    const vectors = pack("golden-vectors.pack");
    assert.deepEqual([vectors.selector, vectors.candidateCount], [undefined, 0]);
    assert(vectors.projectedDimension > 0);
    assert(pack("golden-features.pack").featureCount > 0);
});

test("documents take all that packs read", () => {
    const into = new Document(pack("golden-scores.pack"));
    const embedding = pack("golden-scores.pack").embedSentence("The clinic called.");
    into.push(embedding);
    assert.equal(into.pushAll(new Float32Array([...embedding, ...embedding])), 2);
    assert.equal(into.sentenceCount, 3);
    into.reset();
    assert.equal(into.sentenceCount, 0);
    const features = pack("golden-features.pack");
    const both = new Document(features);
    both.pushEncoded("The clinic called.", new Float32Array(features.dimension));
    assert.equal(both.sentenceCount, 1);
    assert.deepEqual(into.promise("whole-text", 3), { sentence: 3, wholeText: 3 });
    assert(into.promise("sentence", 3).wholeText > 3);
    assert.equal(into.release(Grant.unrecorded("sentence", 1), "exponential").rule, "exponential");
    assert.equal(into.releaseWholeText(Grant.unrecorded("whole-text", 1)).order, 0);
    assert.notEqual(into.releaseProjective(Grant.unrecorded("whole-text", 1)).order, 0);
});

test("a vocabulary", () => {
    const words = new Vocabulary(pack("golden.pack"));
    assert(words.fallback < words.wordCount && words.unitExponent < 0);
    assert(words.word(words.fallback).length > 0);
    const bag = new Bag(words);
    bag.push("clinic");
    bag.reset();
    // Empty, it counts as the fallback word.
    assert.equal(bag.release(Grant.unrecorded("word", 1), 1).words.length, 1);
});

test("the version", () => {
    const header = readFileSync(new URL("../../../include/undertone.h", import.meta.url), "utf8");
    assert.equal(version(), /UNDERTONE_VERSION "([\d.]+)"/.exec(header)[1]);
});
