import { RELEASE_BYTES, RESERVOIR_BYTES } from "./numbers.js";
import { expect, meaningOf, natural, natural64, withCopy } from "./arguments.js";
import { call, out, u64, written } from "./calls.js";
import { Document, Release } from "./document.js";
import { Form, withAnswers } from "./form.js";
import { Grant } from "./grant.js";
import { type Region, withBytes } from "./memory.js";
import { source } from "./module.js";

/**
 * How a line of a slot is released. Epsilon protects all lines of the slot together, or with
 * "drawn" each line, such as a sentence of a text, for which the grant is for the unit "sentence".
 */
export type LineMechanism = "whole-text" | "projective" | "drawn";

const RELEASES = {
    "whole-text": "undertone_reservoir_release_whole_text",
    projective: "undertone_reservoir_release_projective",
    drawn: "undertone_reservoir_release_drawn",
} as const;

/**
 * The outcome of one line of a slot, which is drawn without looking at any. It holds no text.
 *
 * A line is what one document holds; a slot is the stretch of time that one release is about. Store
 * `bytes` after each line: they are as private as the lines. If they are lost, begin with a new
 * reservoir, which costs no privacy.
 */
export class Reservoir {
    #bytes: Uint8Array;
    /** The number of the slot. */
    readonly slot: bigint;

    private constructor(bytes: Uint8Array, slot: bigint) {
        this.#bytes = bytes;
        this.slot = slot;
    }

    /**
     * An empty reservoir for documents like this one.
     *
     * @param slot a public number, which is stored
     * @param places a public number below the number of lines that most devices see in a slot, from
     *     1 to 65535
     */
    static begin(document: Document, slot: number | bigint, places: number): Reservoir {
        const [like, number] = [expect(document, Document, "Document").address, natural64(slot, "the slot")];
        const k = natural(places, "the number of places");
        return withBytes(RESERVOIR_BYTES, (region) => {
            call("undertone_reservoir_init", like, number, k, ...source(), region.address);
            return new Reservoir(region.bytes.slice(), number);
        });
    }

    /**
     * Reads what was stored.
     *
     * @throws UndertoneError if it is damaged, or of another pack
     */
    static read(bytes: Uint8Array, document: Document): Reservoir {
        const like = expect(document, Document, "Document").address;
        return withCopy(bytes, (start, length) => {
            call("undertone_reservoir_read", start, length, like, out(), 0);
            return new Reservoir(Uint8Array.from(bytes), u64());
        });
    }

    /** What to store: 64 bytes. */
    get bytes(): Uint8Array {
        return this.#bytes.slice();
    }

    /**
     * Adds the line in a document, all its sentences as one text, and forgets them.
     *
     * @throws UndertoneError if the document has another pack; the sentences are still there then
     */
    push(document: Document): void {
        const from = expect(document, Document, "Document").address;
        this.#change((region) => call("undertone_reservoir_push", region.address, from, ...source()));
    }

    /**
     * Releases the kept outcome, and wipes the reservoir. Release even if nothing was typed, and
     * wipe what was stored.
     *
     * @throws UndertoneError if the grant was spent or is for another unit; the reservoir is
     *     unchanged then
     */
    release(document: Document, grant: Grant, mechanism: LineMechanism = "whole-text"): Release {
        const [like, permission] = [expect(document, Document, "Document").address, expect(grant, Grant, "Grant").address];
        const by = meaningOf(RELEASES, mechanism, "the mechanism");
        const drawn = this.#change((region) =>
            written(1, RELEASE_BYTES, (memory, room, count) =>
                call(by, region.address, like, permission, ...source(), memory, room, count),
            ),
        );
        return new Release(drawn);
    }

    #change<T>(use: (region: Region) => T): T {
        return change(this.#bytes, use);
    }
}

/** Calls `use` with a copy of the bytes in the module's memory, and takes over its changes. */
function change<T>(bytes: Uint8Array, use: (region: Region) => T): T {
    return withBytes(RESERVOIR_BYTES, (region) => {
        region.bytes.set(bytes);
        const result = use(region);
        bytes.set(region.bytes);
        return result;
    });
}

/**
 * The answer of one line of a slot to one question of a form, such as the emoji of a line. The
 * question and the line are drawn without looking at any answer. Store `bytes` after each line, as
 * for a `Reservoir`.
 */
export class AnswerReservoir {
    #bytes: Uint8Array;
    #form: Form;
    /** The number of the slot. */
    readonly slot: bigint;

    private constructor(bytes: Uint8Array, slot: bigint, form: Form) {
        this.#bytes = bytes;
        this.#form = form;
        this.slot = slot;
    }

    /**
     * Draws the question that will be released, and returns an empty reservoir.
     *
     * @param slot a public number, which is stored
     * @param places a public number below the number of lines that most devices see in a slot, from
     *     1 to 65535
     */
    static begin(form: Form, slot: number | bigint, places: number): AnswerReservoir {
        const [like, number] = [expect(form, Form, "Form").address, natural64(slot, "the slot")];
        const k = natural(places, "the number of places");
        return withBytes(RESERVOIR_BYTES, (region) => {
            call("undertone_answer_reservoir_init", like, number, k, ...source(), region.address);
            return new AnswerReservoir(region.bytes.slice(), number, form);
        });
    }

    /**
     * Reads stored bytes.
     *
     * @throws UndertoneError if they are damaged, or of another form
     */
    static read(bytes: Uint8Array, form: Form): AnswerReservoir {
        const like = expect(form, Form, "Form").address;
        return withCopy(bytes, (start, length) => {
            call("undertone_answer_reservoir_read", start, length, like, out(), 0);
            return new AnswerReservoir(Uint8Array.from(bytes), u64(), form);
        });
    }

    /** The 64 bytes to store. */
    get bytes(): Uint8Array {
        return this.#bytes.slice();
    }

    /**
     * Adds the answers of one line, as for `Form.release`.
     *
     * @throws UndertoneError if the number of answers is not the number of attributes; the line
     *     does not count then
     */
    push(answers: readonly (number | undefined)[]): void {
        const form = this.#form.address;
        withAnswers(answers, (start, count) =>
            change(this.#bytes, (region) =>
                call("undertone_answer_reservoir_push", region.address, form, start, count, ...source()),
            ),
        );
    }

    /**
     * Releases the answer that was kept, and wipes the reservoir. Release even if nothing was
     * pushed, and wipe what was stored.
     *
     * @param grant for the unit "whole-text"
     * @throws UndertoneError if the grant was spent or is for another unit; the reservoir is
     *     unchanged then
     */
    release(grant: Grant): Release {
        const [form, permission] = [this.#form.address, expect(grant, Grant, "Grant").address];
        const drawn = change(this.#bytes, (region) =>
            written(1, RELEASE_BYTES, (memory, room, count) =>
                call("undertone_answer_reservoir_release", region.address, form, permission, ...source(), memory, room, count),
            ),
        );
        return new Release(drawn);
    }
}
