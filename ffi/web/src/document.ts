import { DOCUMENT_HANDLE_SIZE, RELEASE_BYTES, RULE_EXPONENTIAL, RULE_PERMUTE_AND_FLIP } from "./numbers.js";
import { Grant, type Unit, UNITS } from "./grant.js";
import { Pack, writtenId } from "./pack.js";
import { expect, hex, meaningOf, withCopy, withFloats, withText, wordOf } from "./arguments.js";
import { call, epsilonMicro, i32, micro, number, out, u32, written } from "./calls.js";
import { Handle, handleMemory } from "./handle.js";
import { source } from "./module.js";

/** How a candidate is drawn. */
export type Rule = "permute-and-flip" | "exponential";

const RULES: Record<Rule, number> = { "permute-and-flip": RULE_PERMUTE_AND_FLIP, exponential: RULE_EXPONENTIAL };

/**
 * The epsilon of a release for each unit: replacing one such unit changes the probability of any
 * release by at most a factor of e to that number.
 */
export interface Promised {
    /** One sentence. */
    sentence: number;
    /** The whole text. */
    wholeText: number;
}

/**
 * A private document: sentences go in, one release comes out, and the document is empty again. It
 * holds counts or sums of the sentences, never their text.
 */
export class Document extends Handle {
    /**
     * An empty document for the candidates of a pack.
     *
     * @throws UndertoneError if the pack has no candidates, or more than a document can hold
     */
    constructor(pack: Pack) {
        const from = expect(pack, Pack, "Pack").address;
        const init = (memory: number, length: number, out: number) =>
            call("undertone_document_init", memory, length, from, out);
        super("document", handleMemory(DOCUMENT_HANDLE_SIZE, init), pack.content);
    }

    /**
     * Adds one sentence by its embedding. Compute it with the encoder that the pack names, from
     * this sentence alone.
     *
     * @param embedding `dimension` numbers of the pack; those that are not finite count as 0
     * @throws UndertoneError if it has another length, the document is full, or the pack needs the
     *     text
     */
    push(embedding: Float32Array | readonly number[]): void {
        const document = this.address;
        withFloats(embedding, (start, count) => call("undertone_document_push", document, start, count));
    }

    /**
     * Adds several sentences by their embeddings, one after another, until the document is full.
     *
     * @returns how many were added, which is private
     */
    pushAll(embeddings: Float32Array | readonly number[]): number {
        const document = this.address;
        withFloats(embeddings, (start, count) => call("undertone_document_push_all", document, start, count, out()));
        return u32();
    }

    /**
     * Adds one sentence by its text. Any text: one without a known word counts as the zero vector.
     *
     * @throws UndertoneError if the pack reads no text, or the document is full
     */
    pushSentence(sentence: string): void {
        const document = this.address;
        withText(sentence, (start, length) => call("undertone_document_push_sentence", document, start, length));
    }

    /**
     * Adds one sentence by its text and its embedding, for a pack with a neural encoder and
     * features of texts.
     */
    pushEncoded(sentence: string, embedding: Float32Array | readonly number[]): void {
        const document = this.address;
        withText(sentence, (start, length) =>
            withFloats(embedding, (floats, count) =>
                call("undertone_document_push_encoded", document, start, length, floats, count),
            ),
        );
    }

    /**
     * Adds the sentences of a text until the document is full, which it is at 128.
     *
     * @returns how many were added, which is private
     * @throws UndertoneError if the pack reads no text
     */
    pushText(text: string): number {
        const document = this.address;
        withText(text, (start, length) => call("undertone_document_push_text", document, start, length, out()));
        return u32();
    }

    /** How many sentences it has, which is private. */
    get sentenceCount(): number {
        return number("undertone_document_sentence_count", this.address);
    }

    /** Forgets all sentences and wipes what they left. */
    reset(): void {
        call("undertone_document_reset", this.address);
    }

    /**
     * The promise of a release, which does not depend on the sentences.
     *
     * @throws UndertoneError if epsilon is out of range, or the pack has no such release
     */
    promise(unit: "sentence" | "whole-text", epsilon: number | string): Promised {
        const [document, spent] = [this.address, epsilonMicro(epsilon)];
        call("undertone_document_promise", document, meaningOf(UNITS, unit, "the unit"), spent, out(0), out(1));
        return { sentence: micro(0), wholeText: micro(1) };
    }

    /**
     * Draws a release that protects each sentence, and forgets all sentences. For apps whose texts
     * are always long: choose between this and `releaseWholeText` once for the app, not by a text
     * or its length.
     *
     * Replacing any one sentence changes the chance of any release by at most a factor of
     * e^epsilon.
     *
     * @throws UndertoneError if the grant was spent or is for another unit; the sentences are still
     *     there then
     */
    release(grant: Grant, rule: Rule = "permute-and-flip"): Release {
        return this.#release("release", grant, meaningOf(RULES, rule, "the rule"));
    }

    /**
     * Draws a release that protects the whole text, and forgets all sentences. For short texts: a
     * message, a search.
     *
     * Exchanging the whole text for any other changes the chance of any release by at most a factor
     * of e^epsilon.
     *
     * @throws UndertoneError if the pack selects by depth or has too many candidates, or the grant
     *     was spent or is for another unit; the sentences are still there then
     */
    releaseWholeText(grant: Grant): Release {
        return this.#release("release_whole_text", grant);
    }

    /**
     * Draws a release that promises what `releaseWholeText` promises and is made for counting: it
     * names a point that many candidates prefer (`Release.order`). One release reveals little;
     * shares estimated from many err less.
     */
    releaseProjective(grant: Grant): Release {
        return this.#release("release_projective", grant);
    }

    #release(kind: string, grant: Grant, ...rule: number[]): Release {
        const [document, permission] = [this.address, expect(grant, Grant, "Grant").address];
        const drawn = written(1, RELEASE_BYTES, (memory, room, count) =>
            call(`undertone_document_${kind}`, document, permission, ...rule, ...source(), memory, room, count),
        );
        return new Release(drawn);
    }
}

/** A release that leaves the device, or arrived from one. */
export class Release {
    /** The 24 bytes that are sent, and nothing else. */
    readonly bytes: Uint8Array;
    /**
     * The number of the candidate; in a projective release, that of a point; in an answer, 2^24
     * times the number of the question plus that of the point. A release can be forged, so check
     * the range.
     */
    readonly candidate: number;
    /** The epsilon that the device spent. */
    readonly epsilon: number;
    readonly rule: Rule;
    readonly unit: Unit;
    /**
     * The order of the geometry in a projective release or an answer; the number of places in the
     * release of a drawn sentence; else 0.
     */
    readonly order: number;
    /** The identifier of the pack whose candidates are counted, in hexadecimal. */
    readonly packId: string;

    /**
     * Reads a release.
     *
     * @throws UndertoneError if the bytes are not one
     */
    constructor(bytes: Uint8Array) {
        [this.candidate, this.epsilon, this.rule, this.packId, this.unit, this.order] = withCopy(bytes, (start, length) => {
            call("undertone_release_read", start, length, out(0), out(1), out(2), out(4), out(5), out(3));
            return [u32(0), u32(1) / 1e6, wordOf(RULES, i32(2)), writtenId(3), wordOf(UNITS, i32(4)), u32(5)] as const;
        });
        // Not a slice: that of Node's Buffer is the same memory.
        this.bytes = Uint8Array.from(bytes);
    }

    /** The bytes in hexadecimal. */
    toString(): string {
        return hex(this.bytes);
    }
}
