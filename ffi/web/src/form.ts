import { RELEASE_BYTES } from "./numbers.js";
import { expect } from "./arguments.js";
import { call, written } from "./calls.js";
import { Release } from "./document.js";
import { Grant } from "./grant.js";
import { fileMemory, Handle } from "./handle.js";
import { withBytes } from "./memory.js";
import { source } from "./module.js";

const NO_ANSWER = 0xffffffff;

/**
 * The number of a category for C. No value is an error, which would depend on an answer, and NaN,
 * 0.5 or 2^32 do not become the category 0.
 */
const category = (answer: unknown) => (typeof answer === "number" && answer >>> 0 === answer ? answer : NO_ANSWER);

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
        const [memory, content] = fileMemory("form", data);
        super("form", memory, content);
        // `Handle` keeps it now.
        content.letGo();
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
        const [form, permission] = [this.address, expect(grant, Grant, "grant").address];
        if (!Array.isArray(answers)) throw new TypeError("the answers are not an array");
        const count = answers.length;
        const drawn = withBytes(4 * count, (region) => {
            // A view, which ends when the memory grows.
            const numbers = new Uint32Array(region.bytes.buffer, region.address, count);
            for (let i = 0; i < count; i++) numbers[i] = category(answers[i]);
            return written(1, RELEASE_BYTES, (memory, room, length) =>
                call("undertone_form_release", form, region.address, count, permission, ...source(), memory, room, length),
            );
        });
        return new Release(drawn);
    }
}
