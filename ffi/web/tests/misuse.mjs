// Every way to use the package wrongly that its types let through: the cases of
// tests/faces/misuse.md, by their names.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { test } from "node:test";

import { AnswerReservoir, Bag, Document, Form, Grant, Ledger, Pack, Release, Reservoir, UndertoneError, VectorMechanism, Vocabulary } from "undertone";

import { golden, inFolder, misuse } from "./common.mjs";

const SCORES = golden("golden-scores.pack");
const FORM = golden("golden.form");
const EMBEDDING = Array(16).fill(0.5);
const WINDOW = { window: 20000 };

const pack = (name = "golden-scores.pack") => new Pack(golden(name));
const document = (name) => new Document(pack(name));
const grant = (unit = "sentence", epsilon = 1) => Grant.unrecorded(unit, epsilon);

/** What the library or the package says. */
const says = (code) => (error) => {
    assert(error instanceof UndertoneError, `${error}`);
    assert.equal(error.code, code);
    assert(error.message.length > 10, error.message);
    assert.doesNotMatch(error.message, /undertone_|UNDERTONE_|terminating|not bytes/, "what only C has");
    return true;
};
/** What JavaScript says of an argument. */
const ARGUMENT = (error) => error instanceof TypeError || error instanceof RangeError;

const refuses = (name, code, use) =>
    misuse(name, () => assert.throws(use, code === ARGUMENT ? code : says(code)));

refuses("short_pack", "PACK_TOO_SHORT", () => new Pack(new Uint8Array()));
refuses("foreign_pack", "NOT_A_PACK", () => new Pack(new Uint8Array(1000)));
refuses("cut_pack", "PACK_WRONG_LENGTH", () => new Pack(SCORES.subarray(0, -1)));
refuses("damaged_pack", "PACK_DAMAGED", () => {
    const damaged = Uint8Array.from(SCORES);
    damaged[damaged.length - 1] ^= 1;
    new Pack(damaged);
});
refuses("pack_without_candidates", "NO_CANDIDATES", () => document("golden-vectors.pack"));

misuse("pack_closed_first", () => {
    const from = pack();
    const into = new Document(from);
    from.close();
    // Whatever takes the memory of the pack now is not what the document reads.
    const other = new Pack(golden("golden-features.pack"));
    into.pushSentence("It snows.");
    assert.equal(into.release(grant()).packId, "16f4b64559f90996");
    other.close();
    assert.throws(() => new Document(from), says("CLOSED"));
});

misuse("null_argument", () => {
    const into = document();
    for (const nothing of [null, undefined]) {
        assert.throws(() => new Pack(nothing), ARGUMENT);
        assert.throws(() => new Document(nothing), ARGUMENT);
        assert.throws(() => new Form(nothing), ARGUMENT);
        assert.throws(() => new Form(FORM).release(nothing, grant("whole-text")), ARGUMENT);
        assert.throws(() => new Form(FORM).release([0, 0, 0], nothing), ARGUMENT);
        assert.throws(() => into.pushSentence(nothing), ARGUMENT);
        assert.throws(() => into.pushText(nothing), ARGUMENT);
        assert.throws(() => into.push(nothing), ARGUMENT);
        assert.throws(() => into.release(nothing), ARGUMENT);
        assert.throws(() => new Release(nothing), ARGUMENT);
        assert.throws(() => Grant.unrecorded(nothing, 1), ARGUMENT);
        assert.throws(() => Grant.unrecorded("sentence", nothing), ARGUMENT);
    }
    assert.equal(into.sentenceCount, 0);
});

misuse("wrong_type", () => {
    const into = document();
    assert.throws(() => into.pushSentence(7), ARGUMENT);
    assert.throws(() => into.push("It snows."), ARGUMENT);
    assert.throws(() => into.push(["a", ...EMBEDDING.slice(1)]), ARGUMENT);
    assert.throws(() => into.push(Array(16)), ARGUMENT, "holes");
    // A region that is none would be given back when it is collected, where nobody can catch what
    // that throws.
    assert.throws(() => new Grant("sentence", 3), ARGUMENT);
    assert.throws(() => new Grant(), ARGUMENT);
    assert.throws(() => new Ledger("budget.ledger", "sentence", 3), ARGUMENT);
    assert.throws(() => into.release(pack()), /^TypeError: the grant is not a Grant$/);
    assert.throws(() => new Form(FORM).release("000", grant("whole-text")), ARGUMENT);
    assert.throws(() => into.release(grant(), "coin"), ARGUMENT);
    assert.throws(() => into.release(grant(), "toString"), ARGUMENT);
    assert.throws(() => Grant.unrecorded("line", 1), ARGUMENT);
    // What another thread gets is a copy without what is inside, so this is what its calls say.
    const copy = Object.setPrototypeOf(structuredClone(into), Document.prototype);
    assert.throws(() => copy.pushSentence("It snows."), ARGUMENT);
    assert.equal(into.sentenceCount, 0);
});

misuse("empty_text", () => {
    const into = document();
    assert.equal(into.pushText(""), 0);
    into.pushSentence("");
    assert.equal(into.sentenceCount, 1);
});

misuse("text_that_is_no_unicode", () => {
    const into = document();
    into.pushSentence("It\ud800 snows.");
    into.pushText("It \udc00 snows.");
    assert.equal(into.sentenceCount, 2);
});

misuse("long_text", () => {
    const into = document();
    into.pushSentence("x".repeat(1048576));
    assert.equal(into.sentenceCount, 1);
});

misuse("embedding_of_nan", () => {
    const into = document();
    const numbers = [NaN, Infinity, -Infinity, ...EMBEDDING.slice(3)];
    into.push(numbers);
    into.push(Float32Array.from(numbers));
    assert.equal(into.sentenceCount, 2);
});

refuses("short_embedding", "WRONG_DIMENSION", () => document().push(EMBEDDING.slice(1)));
refuses("embedding_without_text", "NEEDS_TEXT", () => document("golden-features.pack").push(EMBEDDING));
refuses("full_document", "DOCUMENT_FULL", () => {
    const into = document();
    assert.equal(into.pushAll(Float32Array.from({ length: 128 * 16 }, () => 0.5)), 128);
    into.push(EMBEDDING);
});

misuse("release_of_nothing", () => assert.equal(document().release(grant()).bytes.length, 24));

misuse("release_twice", () => {
    const into = document();
    into.pushSentence("It snows.");
    into.release(grant());
    assert.equal(into.sentenceCount, 0);
    assert.equal(into.release(grant()).unit, "sentence");
});

refuses("whole_text_without_scores", "NO_SCORES", () => document("golden.pack").releaseWholeText(grant("whole-text")));

refuses("foreign_form", "NOT_A_FORM", () => new Form(SCORES));
refuses("damaged_form", "FORM_DAMAGED", () => {
    const damaged = Uint8Array.from(FORM);
    damaged[damaged.length - 1] ^= 1;
    new Form(damaged);
});
misuse("wrong_answer_count", () => {
    const once = grant("whole-text");
    for (const answers of [[0, 0], [0, 0, 0, 0]]) {
        assert.throws(() => new Form(FORM).release(answers, once), says("WRONG_ANSWER_COUNT"));
    }
    assert.equal(new Form(FORM).release([0, 0, 0], once).unit, "whole-text");
});
misuse("answers_out_of_range", () => {
    const form = new Form(FORM);
    for (const odd of [4, 2600, 2 ** 32 - 1, 2 ** 32, -1, 0.5, NaN, Infinity, undefined, null, "0", "a text", 0n, Symbol(), {}]) {
        form.release([odd, odd, odd], grant("whole-text"));
    }
    form.release(Array(3), grant("whole-text"));
});

refuses("topic_of_another_pack", "FORM_OTHER_PACK", () => new Form(FORM).answerTopic(document(), [0, 0, 0]));
refuses("no_such_category", "NO_SUCH_CATEGORY", () => {
    assert.throws(() => new Form(FORM).attributeName(3), says("NO_SUCH_CATEGORY"));
    new Form(FORM).categoryName(0, 4);
});
refuses("lines_as_answers", "RESERVOIR_OTHER_PACK", () =>
    AnswerReservoir.read(Reservoir.begin(document(), 7, 1).bytes, new Form(FORM)),
);
refuses("damaged_reservoir", "RESERVOIR_DAMAGED", () => {
    const stored = Reservoir.begin(document(), 7, 1).bytes;
    stored[63] ^= 1;
    Reservoir.read(stored, document());
});
refuses("reservoir_of_another_pack", "RESERVOIR_OTHER_PACK", () => {
    Reservoir.begin(document(), 7, 1).push(document("golden-vote.pack"));
});
refuses("used_grant", "GRANT_SPENT", () => {
    const [into, once] = [document(), grant()];
    into.release(once);
    into.release(once);
});
refuses("grant_of_another_unit", "GRANT_WRONG_UNIT", () => document().release(grant("whole-text")));
misuse("grant_kept_after_wrong_unit", () => {
    const [into, once] = [document(), grant("whole-text")];
    assert.throws(() => into.release(once), says("GRANT_WRONG_UNIT"));
    assert.equal(into.releaseWholeText(once).unit, "whole-text");
});

refuses("document_after_close", "CLOSED", () => {
    const into = document();
    into.close();
    into.pushSentence("It snows.");
});

misuse("close_twice", () =>
    inFolder(async (path) => {
        const into = document();
        into.close();
        into.close();
        const ledger = await Ledger.openOrCreate(path("ledger"), "sentence", 10);
        await ledger.close();
        await ledger.close();
    }));

const RELEASE = document().release(grant()).bytes;
refuses("short_release", "RELEASE_WRONG_LENGTH", () => new Release(RELEASE.subarray(0, 23)));
refuses("foreign_release", "NOT_A_RELEASE", () => new Release(new Uint8Array(24)));
refuses("forged_release", "RELEASE_MALFORMED", () => new Release(RELEASE.with(4, 99)));

misuse("epsilon_not_a_number", () => {
    for (const text of ["much", "nan", NaN, "", "1 "]) {
        assert.throws(() => grant("sentence", text), says("EPSILON_NOT_A_NUMBER"));
    }
});
refuses("epsilon_zero", "EPSILON_TOO_SMALL", () => grant("sentence", 0));
refuses("epsilon_too_large", "EPSILON_TOO_LARGE", () => grant("sentence", "1000.000001"));

/** A case with a ledger, which is open, in a file. */
const withLedger = (name, use) =>
    misuse(name, () =>
        inFolder(async (path) => {
            const file = path("ledger");
            const ledger = await Ledger.openOrCreate(file, "sentence", 10);
            await use({ file, ledger });
            await ledger.close();
        }),
    );
const open = (file, unit = "sentence") => Ledger.open(file, unit);

withLedger("ledger_after_close", async ({ ledger }) => {
    await ledger.close();
    await assert.rejects(ledger.spend(1, WINDOW), says("CLOSED"));
    await assert.rejects(ledger.left(20000), says("CLOSED"));
});
misuse("missing_ledger", () => inFolder((path) => assert.rejects(open(path("none")), says("LEDGER_MISSING"))));
misuse("ledger_without_budget", () =>
    inFolder((path) => assert.rejects(Ledger.openOrCreate(path("none"), "sentence", 0), says("LEDGER_NO_BUDGET"))));
withLedger("ledger_in_use", ({ file }) => assert.rejects(open(file), says("LEDGER_IN_USE")));
withLedger("ledger_of_another_unit", async ({ file, ledger }) => {
    await ledger.close();
    await assert.rejects(open(file, "whole-text"), says("LEDGER_WRONG_UNIT"));
});

/** A ledger that was closed, and then changed. */
const changed = (name, code, change) =>
    withLedger(name, async ({ file, ledger }) => {
        await ledger.close();
        await writeFile(file, change(new Uint8Array(await readFile(file))));
        await assert.rejects(open(file), says(code));
    });
changed("short_ledger", "LEDGER_WRONG_LENGTH", (image) => image.subarray(0, 127));
changed("foreign_ledger", "NOT_A_LEDGER", () => new Uint8Array(128));
changed("damaged_ledger", "LEDGER_DAMAGED", (image) => image.with(30, image[30] ^ 1).with(100, image[100] ^ 1));

withLedger("over_budget", async ({ ledger }) => {
    await ledger.spend(7, WINDOW);
    await assert.rejects(ledger.spend(4, WINDOW), says("LEDGER_EXHAUSTED"));
    assert.equal(await ledger.left(20000), 3);
});
withLedger("clock_set_back", async ({ ledger }) => {
    await ledger.spend(1, { window: 20001 });
    await assert.rejects(ledger.spend(1, WINDOW), says("LEDGER_FROM_FUTURE"));
});
withLedger("negative_window", async ({ ledger }) => {
    await assert.rejects(ledger.spend(1, { window: -1 }), ARGUMENT);
    assert.equal(await ledger.left(20000), 10);
});

// What the list cannot have, because it is of this package alone.

// A text in the place of another argument is not quoted, and no error says how long one is.
test("errors keep texts to themselves", async () => {
    const into = document();
    const all = (secret) => [
        () => into.release(grant(), secret),
        () => into.promise(secret, 1),
        () => into.promise("sentence", secret),
        () => Grant.unrecorded(secret, 1),
        () => Grant.unrecorded("sentence", secret),
        () => new VectorMechanism(1, { dimension: 4, boundExponent: secret }),
        () => new VectorMechanism(1, { dimension: secret }),
        () => new VectorMechanism(1, { dimension: 4, noise: [secret] }),
        () => new VectorMechanism(1, secret),
        () => new Bag(new Vocabulary(pack())).release(Grant.unrecorded("word", 1), secret),
        () => Reservoir.begin(document(), secret, 3),
        () => AnswerReservoir.begin(new Form(FORM), secret, 3),
    ];
    const secret = "My doctor wants to repeat the blood test.";
    for (const use of [...all(secret), ...all("diabetes")]) {
        assert.throws(use, (error) => {
            assert(ARGUMENT(error) || says("EPSILON_NOT_A_NUMBER")(error), `${error}`);
            assert.doesNotMatch(error.message, /doctor|blood|41|diabetes/);
            return true;
        });
    }
    await assert.rejects(Ledger.openOrCreate("none", secret, 1), /^TypeError: the unit is a text, not one of sentence, /);
    await assert.rejects(Ledger.openOrCreate("none", "lines", 1), /^TypeError: the unit is a text, /);
    await assert.rejects(Ledger.openOrCreate("none", 7n, 1), /the unit is a bigint/);
});

test("numbers of 64 bits", () => {
    const begin = [(slot) => Reservoir.begin(document(), slot, 3).slot, (slot) => AnswerReservoir.begin(new Form(FORM), slot, 3).slot];
    for (const slot of begin) {
        for (const right of [0, -0, 7, 7n, 2 ** 53 - 1, 2n ** 53n + 2n, 2n ** 64n - 1n]) assert.equal(slot(right), BigInt(right));
        for (const wrong of ["", "7", [], [7], {}, true, null, undefined, Symbol(), new Date(7), Object(7n)]) {
            assert.throws(() => slot(wrong), /^TypeError: the slot is .*, neither a number nor a bigint$/);
        }
        for (const wrong of [-1, -1n, 0.5, NaN, Infinity, 2 ** 53, 2 ** 53 + 2, 2 ** 64, 2n ** 64n]) {
            assert.throws(() => slot(wrong), /^RangeError: the slot .* is not a whole number from 0 to /);
        }
    }
});

test("out of memory", () => {
    const into = document();
    const { grow } = WebAssembly.Memory.prototype;
    WebAssembly.Memory.prototype.grow = (pages) => {
        throw new RangeError(`no ${pages} pages`);
    };
    const messages = [1e7, 2e7].map((length) => {
        try {
            into.pushText("x".repeat(length));
        } catch (error) {
            assert.equal(error.code, "OUT_OF_MEMORY");
            return `${error.message} ${error.cause}`;
        }
    });
    WebAssembly.Memory.prototype.grow = grow;
    assert.equal(messages[0], "no memory is left: close what is not used, or take a shorter text undefined");
    assert.equal(messages[1], messages[0]);
});

withLedger("calls take turns", async ({ ledger }) => {
    const spent = await Promise.allSettled(Array.from({ length: 12 }, () => ledger.spend(1, WINDOW)));
    assert.equal(spent.filter(({ status }) => status === "fulfilled").length, 10);
    spent.filter(({ reason }) => reason).forEach(({ reason }) => says("LEDGER_EXHAUSTED")(reason));
});

test("budgets in micro-units", () =>
    inFolder(async (path) => {
        const most = 2n ** 64n - 1n;
        for (const [micro, left] of [[1n, 1e-6], [12_000_000_000n, 12000], [most, Number(most) / 1e6]]) {
            const file = path(`${micro}`);
            const ledger = await Ledger.openOrCreate(file, "sentence", micro);
            assert.equal(await ledger.left(20000), left);
            await ledger.close();
            const again = await Ledger.recreateSpent(file, "sentence", micro, 20000);
            assert.deepEqual([await again.left(20000), await again.left(20001)], [0, left]);
            await again.close();
        }
        for (const zero of [0, -0, "0", "0.00"]) {
            await assert.rejects(Ledger.openOrCreate(path("none"), "sentence", zero), says("LEDGER_NO_BUDGET"));
        }
        for (const text of ["", " ", "0x0", ".", "My doctor called"]) {
            await assert.rejects(Ledger.openOrCreate(path("none"), "sentence", text), says("EPSILON_NOT_A_NUMBER"));
        }
        for (const wrong of [null, undefined, false, true, [], [0], {}, new Date(0), Symbol()]) {
            const use = Ledger.recreateSpent(path("none"), "sentence", wrong);
            await assert.rejects(use, /^TypeError: the budget is .*, neither a number nor a text$/);
        }
        for (const micro of [-1n, most + 1n]) {
            await assert.rejects(Ledger.openOrCreate(path("none"), "sentence", micro), /^RangeError: .*18446744073709551615/);
        }
        await assert.rejects(Ledger.openOrCreate(path("none"), "sentence", 0n), says("LEDGER_NO_BUDGET"));
        await assert.rejects(Ledger.openOrCreate(path("none"), "sentence", 1001), says("EPSILON_TOO_LARGE"));
    }));

test("memory is given back", async () => {
    const bytes = golden("golden-features.pack");
    const size = () => process.memoryUsage().external;
    new Document(new Pack(bytes)).close();
    const before = size();
    // Closed ones at once, and forgotten ones when they are collected. Kept, they would take 75 MB.
    for (let i = 0; i < 2000; i++) {
        const from = new Pack(bytes);
        const into = new Document(from);
        from.close();
        if (i % 2 === 0) into.close();
        if (i % 100 === 0) {
            globalThis.gc();
            await new Promise((resolve) => setImmediate(resolve));
        }
    }
    assert(size() - before < 16e6, `${size() - before} bytes more`);
});
