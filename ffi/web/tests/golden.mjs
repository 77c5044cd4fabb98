// The golden vectors of tests/golden through the package, to the byte.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

// The package takes its source of random bytes once, when it is loaded.
let key;
globalThis.crypto.getRandomValues = (out) => {
    assert.equal(out.length, key.length);
    out.set(key);
    return out;
};
const {
    AnswerReservoir, Bag, BagRelease, Document, Form, Grant, Pack, Release, VectorMechanism, VectorRelease, Vocabulary, finishedSentences, sentences,
} = await import("undertone");

const GOLDEN = new URL("../../../tests/golden/", import.meta.url);
/** The packs and the vectors. */
const LIST = readFileSync(new URL("list.txt", GOLDEN), "ascii").trim().split("\n").map((line) => line.split(" "));
const fromHex = (text) => new Uint8Array(Buffer.from(text, "hex"));
const floats = (text) => new Float32Array(fromHex(text).buffer);
// Bytes that are no UTF-8 cannot be a string of JavaScript; U+FFFD separates words as they do.
const decoded = (text) => new TextDecoder().decode(fromHex(text));
const toHex = (bytes) => Buffer.from(bytes).toString("hex");
/** How many lines of a file say what must come out. */
const lines = (file, name) => readFileSync(new URL(file, GOLDEN), "ascii").split("\n").filter((line) => line.startsWith(`${name} `)).length;
const NOISES = { 3: "laplace", 4: "discrete-laplace" };
const METHODS = { 1: "permute-and-flip", 2: "exponential", 3: "laplace-nearest" };

function document(pack, lines, { rule, epsilon }) {
    const into = new Document(pack);
    for (const [name, value] of lines) {
        if (name === "embedding") into.push(floats(value));
        else if (name === "sentence") into.pushSentence(decoded(value));
    }
    const drawn =
        rule === "projective" ? into.releaseProjective(Grant.unrecorded("whole-text", epsilon))
        : rule === "whole-text" ? into.releaseWholeText(Grant.unrecorded("whole-text", epsilon))
        : into.release(Grant.unrecorded("sentence", epsilon), METHODS[rule]);
    assert.equal(into.sentenceCount, 0);
    assert.equal(drawn.packId, pack.id);
    assert.equal(drawn.epsilon, Number(epsilon));
    // A Buffer that the caller uses again: a slice of one is the same memory.
    const buffer = Buffer.from(drawn.bytes);
    const read = new Release(buffer);
    buffer.fill(0);
    assert.deepEqual([read.candidate, read.toString()], [drawn.candidate, drawn.toString()]);
    assert.equal(drawn.unit, rule === "projective" || rule === "whole-text" ? "whole-text" : "sentence");
    return drawn;
}

function bag(pack, lines, { size, mechanism, epsilon }) {
    const vocabulary = new Vocabulary(pack);
    const into = new Bag(vocabulary);
    for (const [name, value] of lines) {
        if (name === "word") into.push(decoded(value));
        else if (name === "text") into.pushText(decoded(value));
    }
    const drawn = into.release(Grant.unrecorded("word", epsilon), Number(size), METHODS[mechanism]);
    assert.equal(drawn.words.length, Number(size));
    assert.deepEqual(new BagRelease(drawn.bytes).words, drawn.words);
    return drawn;
}

function vector(pack, { noise, bound_exponent: exponent, vector: hex, epsilon }) {
    const values = floats(hex);
    const options =
        exponent === undefined
            ? { pack, noise: NOISES[noise] }
            : { dimension: values.length, boundExponent: Number(exponent), noise: NOISES[noise] };
    const mechanism = new VectorMechanism(epsilon, options);
    assert.equal(mechanism.dimension, values.length);
    const drawn = mechanism.release(Grant.unrecorded("vector", epsilon), values);
    const read = new VectorRelease(drawn.bytes);
    assert.equal(read.noise, NOISES[noise]);
    read.steps.forEach((step, i) => assert.equal(read.values[i], step * 2 ** read.gridExponent));
    return drawn;
}

/** Runs the cases of a file: `release` gets the lines of one, and the fields. */
function agree(t, vectors, release) {
    let cases = 0;
    for (const block of readFileSync(new URL(vectors, GOLDEN), "ascii").split("\n\n")) {
        const own = block
            .split("\n")
            .filter((line) => line !== "" && !line.startsWith("#"))
            .map((line) => [line.split(" ", 1)[0], line.includes(" ") ? line.slice(line.indexOf(" ") + 1) : ""]);
        if (own.length === 0) continue;
        const fields = Object.fromEntries(own);
        key = fromHex(fields.entropy);
        fields.epsilon = (BigInt(fields.epsilon_micro) / 1000000n + "." + fields.epsilon_micro.slice(-6).padStart(6, "0"));
        assert.equal(toHex(release(own, fields).bytes), fields.release, `${vectors}: ${fields.case}`);
        cases++;
    }
    assert.equal(cases, lines(vectors, "release"), `${vectors}: not all ran`);
    t.diagnostic(`${cases} golden vectors agree`);
}

for (const [file, vectors] of LIST.filter(([, vectors]) => !vectors.startsWith("sentences"))) {
    test(vectors, (t) => {
        const pack = new Pack(readFileSync(new URL(file, GOLDEN)));
        agree(t, vectors, (own, fields) =>
            fields.noise !== undefined ? vector(pack, fields)
            : fields.mechanism !== undefined ? bag(pack, own, fields)
            : document(pack, own, fields));
    });
}

const form = () => new Form(readFileSync(new URL("golden.form", GOLDEN)));

test("answers.txt", (t) =>
    agree(t, "answers.txt", (_, { answers, epsilon }) => {
        const drawn = form().release(answers.split(" ").map(Number), Grant.unrecorded("whole-text", epsilon));
        assert.deepEqual([drawn.unit, drawn.epsilon], ["whole-text", Number(epsilon)]);
        return drawn;
    }));

// Stored and read after each line.
test("drawn-answers.txt", (t) =>
    agree(t, "drawn-answers.txt", (own, { slot, places, stored, epsilon }) => {
        const of = form();
        const keys = own.filter(([name]) => name === "entropy").map(([, hex]) => fromHex(hex)).values();
        const next = () => (key = keys.next().value);
        next();
        let bytes = AnswerReservoir.begin(of, BigInt(slot), Number(places)).bytes;
        for (const [, answers] of own.filter(([name]) => name === "answers")) {
            const reservoir = AnswerReservoir.read(bytes, of);
            next();
            reservoir.push(answers.split(" ").map(Number));
            bytes = reservoir.bytes;
        }
        assert.equal(toHex(bytes), stored);
        next();
        return AnswerReservoir.read(bytes, of).release(Grant.unrecorded("whole-text", epsilon));
    }));

test("a text answers the topic", () => {
    const topic = new Form(readFileSync(new URL("golden-topic.form", GOLDEN)));
    const into = new Document(new Pack(readFileSync(new URL("golden-scores.pack", GOLDEN))));
    for (const [text, best] of [["the garden dog", 124], ["qqq", 200]]) {
        into.pushText(text);
        const answers = [1, undefined];
        assert.deepEqual(topic.answerTopic(into, answers), [1, best]);
        assert.deepEqual([answers, into.sentenceCount], [[1, undefined], 0]);
    }
    assert.throws(() => topic.answerTopic(into, [1]), { code: "WRONG_ANSWER_COUNT" });
});

test("what is no number of a category is no answer", () => {
    key = new Uint8Array(32).fill(1);
    // At this epsilon any other outcome than the true one has a chance below e^-980.
    const release = (answer) => form().release([answer, answer, answer], Grant.unrecorded("whole-text", 1000)).toString();
    const none = release(undefined);
    assert.notEqual(release(0), none);
    for (const odd of [2 ** 32 - 1, 2 ** 32, -(2 ** 32), -1, 0.5, NaN, Infinity, null, "0", true, 0n, Symbol(), {}, []]) {
        assert.equal(release(odd), none);
    }
    assert.equal(form().release(Array(3), Grant.unrecorded("whole-text", 1000)).toString(), none);
});

test("sentences", () => {
    assert.deepEqual(sentences("It rains. Dr. Smith sleeps!"), ["It rains.", "Dr. Smith sleeps!"]);
    assert.deepEqual(sentences(""), []);
});

// What a keyboard does: it keeps the rest, to which more is typed. Cut anywhere, also between the
// halves of an emoji or of a letter, which may be a small one after a stop.
test("sentences of a text in two halves", () => {
    const text =
        "\ufeffIt rains \u{1f327}\u{1f327} Dr. Smith sleeps! \u{1f634}\r\n\n\ufeffMore? approx. \u{10428}\u{10429} and \ud800 so. \u{1f469}\u{200d}\u{1f52c} It is a \udfff b. \ud83d";
    const whole = sentences(text);
    assert(whole.length > 3);
    const pack = new Pack(readFileSync(new URL("golden-scores.pack", GOLDEN)));
    const into = new Document(pack);
    key = new Uint8Array(32).fill(1);
    const release = (push) => (push(), toHex(into.release(Grant.unrecorded("sentence", 20)).bytes));
    const expected = release(() => into.pushText(text));
    let before = 0;
    for (let cut = 0; cut <= text.length; cut++) {
        const { sentences: finished, rest } = finishedSentences(text.slice(0, cut));
        assert(text.slice(0, cut).endsWith(rest));
        const all = [...finished, ...sentences(rest + text.slice(cut))];
        assert.deepEqual(all, whole, `cut at ${cut}`);
        if (finished.length > before) assert.equal(release(() => all.forEach((one) => into.pushSentence(one))), expected);
        before = finished.length;
    }
    assert.equal(before, whole.length - 1);
});

for (const [file, embeddings] of LIST.filter(([, vectors]) => vectors.startsWith("sentences"))) {
    test(embeddings, () => {
        const pack = new Pack(readFileSync(new URL(file, GOLDEN)));
        const text = readFileSync(new URL(embeddings, GOLDEN), "ascii");
        const cases = [...text.matchAll(/^sentence ?(\w*)\nvector (\w+)$/gm)];
        assert.equal(cases.length, lines(embeddings, "vector"), `${embeddings}: not all ran`);
        for (const [, sentence, vector] of cases) {
            assert.equal(toHex(new Uint8Array(pack.embedSentence(decoded(sentence)).buffer)), vector);
        }
    });
}
