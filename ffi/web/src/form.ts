import { FORM_HANDLE_SIZE, RELEASE_BYTES } from "./numbers.js";
import { expect, natural } from "./arguments.js";
import { call, out, u32, written } from "./calls.js";
import { Document, Release } from "./document.js";
import { Grant } from "./grant.js";
import { fileMemory, Handle } from "./handle.js";
import { bytes, withBytes } from "./memory.js";
import { exports, source } from "./module.js";

const NO_ANSWER = 0xffffffff;

/**
 * The number of a category for C. No value is an error, which would depend on an answer, and NaN,
 * 0.5 or 2^32 do not become the category 0.
 */
const category = (answer: unknown) => (typeof answer === "number" && answer >>> 0 === answer ? answer : NO_ANSWER);

/** @internal Calls `use` with the numbers of the answers in the module's memory. */
export function withAnswers<T>(answers: readonly (number | undefined)[], use: (start: number, count: number) => T): T {
    if (!Array.isArray(answers)) throw new TypeError("the answers are not an array");
    const count = answers.length;
    return withBytes(4 * count, (region) => {
        // A view, which ends when the memory grows.
        const numbers = new Uint32Array(region.bytes.buffer, region.address, count);
        for (let i = 0; i < count; i++) numbers[i] = category(answers[i]);
        return use(region.address, count);
    });
}

/**
 * A form: a public file of attributes, each with categories, for answers that the app has. It holds
 * nothing private.
 */
export class Form extends Handle {
    /**
     * Checks a form and copies it.
     *
     * @param data the bytes of the file
     * @throws UndertoneError if they are not a form, or damaged
     */
    constructor(data: Uint8Array) {
        const [memory, content] = fileMemory("form", FORM_HANDLE_SIZE, data);
        super("form", memory, content);
        // `Handle` keeps it now.
        content.letGo();
    }

    /**
     * The name of an attribute, by its index from 0.
     *
     * @throws UndertoneError if there is no attribute with this index
     */
    attributeName(attribute: number): string {
        const index = natural(attribute, "the attribute");
        call("undertone_form_attribute_name", this.address, index, out(0), out(1));
        return new TextDecoder().decode(bytes(u32(0), u32(1)));
    }

    /**
     * The name of a category, by its index in its attribute, from 0.
     *
     * @throws UndertoneError if there is no attribute or category with this index
     */
    categoryName(attribute: number, category: number): string {
        const [first, second] = [natural(attribute, "the attribute"), natural(category, "the category")];
        call("undertone_form_category_name", this.address, first, second, out(0), out(1));
        return new TextDecoder().decode(bytes(u32(0), u32(1)));
    }

    /**
     * Returns the answers with what a text is about as that to the topic of the form: the attribute
     * whose categories are the candidates of the document's pack. Removes the sentences from the
     * document.
     *
     * The answer is as private as the text. `release` protects the text together with all other
     * answers.
     *
     * @param answers as for `release`; that of the topic may be anything
     * @throws UndertoneError if the number of answers is not the number of attributes, or the form
     *     has no topic for the document's pack; the document is unchanged then
     */
    answerTopic(document: Document, answers: readonly (number | undefined)[]): number[] {
        const [form, from] = [this.address, expect(document, Document, "Document").address];
        return withAnswers(answers, (start, count) => {
            call("undertone_form_answer_topic", form, from, start, count);
            return Array.from(new Uint32Array(exports().memory.buffer, start, count));
        });
    }

    /**
     * Releases the answer to one question of the form, which is drawn without looking at any
     * answer.
     *
     * Any two lists of answers give every release with chances within a factor of e^epsilon of each
     * other, so epsilon is for all answers of the form together. Several releases add up. Whether
     * there is a release, its form and epsilon must not depend on an answer.
     *
     * @param answers for each attribute the number of a category, from 0; `undefined` and anything
     *     else is no answer
     * @param grant for the unit "whole-text"
     * @throws UndertoneError if the number of answers is not the number of attributes, or the grant
     *     was spent or is for another unit; no error depends on an answer
     */
    release(answers: readonly (number | undefined)[], grant: Grant): Release {
        const [form, permission] = [this.address, expect(grant, Grant, "Grant").address];
        const drawn = withAnswers(answers, (start, count) =>
            written(1, RELEASE_BYTES, (memory, room, length) =>
                call("undertone_form_release", form, start, count, permission, ...source(), memory, room, length),
            ),
        );
        return new Release(drawn);
    }
}
