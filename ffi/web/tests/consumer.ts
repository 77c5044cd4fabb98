// Compiles with the types of the package, as a program of a user would: in Node, in a browser, by
// import and by require.

import {
    Bag, Document, Form, Grant, Ledger, Pack, type Release, type Unit, UndertoneError, VectorMechanism, Vocabulary, finishedSentences,
    sentences, version,
} from "undertone";

export async function release(bytes: Uint8Array, text: string, unit: Unit): Promise<Release | undefined> {
    const pack = new Pack(bytes);
    const document = new Document(pack);
    const found: string[] = sentences(text);
    document.pushText(found.join(" ") + finishedSentences(text).rest + version());
    const ledger = await Ledger.openOrCreate("ledger", unit, "9");
    try {
        const grant: Grant = await ledger.spend(3, { window: Ledger.today(), words: 1 });
        return document.release(grant, "exponential");
    } catch (error) {
        if (error instanceof UndertoneError && error.code === "LEDGER_EXHAUSTED") return undefined;
        throw error;
    } finally {
        await ledger.close();
        document.close();
    }
}

/** The second question is not answered. */
export const answer = (form: Form, language: number, grant: Grant): Release => form.release([language, undefined], grant);

/** A budget beyond the largest epsilon. */
export const large = () => Ledger.openOrCreate("ledger", "sentence", 12_000_000_000n);

// @ts-expect-error: no such unit
Grant.unrecorded("line", 1);
// @ts-expect-error: a vector has numbers
new VectorMechanism(1, { dimension: 2 }).release(Grant.unrecorded("vector", 1), "12");
// @ts-expect-error: an answer is a number
new Form(new Uint8Array()).release(["yes"], Grant.unrecorded("whole-text", 1));
// @ts-expect-error: handles are not made of nothing
new Bag(new Vocabulary());
// @ts-expect-error: what is inside is no part of the package
void new Pack(new Uint8Array()).address;
