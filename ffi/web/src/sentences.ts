import { withText } from "./arguments.js";
import { call, out, u32 } from "./calls.js";
import { bytes } from "./memory.js";

/**
 * How many units of UTF-16 begin in these bytes of UTF-8: a continuation is none, the first of four
 * bytes is a pair.
 */
const units = (utf8: Uint8Array) => utf8.reduce((sum, byte) => sum + (byte >> 6 === 2 ? 0 : byte >= 0xf0 ? 2 : 1), 0);

/**
 * Slices of the caller's text: what the library was given has another character for half of a pair.
 */
function find(name: string, text: string): { sentences: string[]; end: number } {
    return withText(text, (start, length) => {
        const sentences: string[] = [];
        // The end of the last sentence, in bytes and in units.
        for (let [byte, unit] = [0, 0]; ; ) {
            call(name, start, length, byte, out(0), out(1));
            const [from, count] = [u32(0), u32(1)];
            if (count === 0) return { sentences, end: unit };
            const first = unit + units(bytes(start + byte, from - byte));
            byte = from + count;
            unit = first + units(bytes(start + from, count));
            sentences.push(text.slice(first, unit));
        }
    });
}

/** The sentences of a text, as `Document.pushText` pushes them. As private as the text. */
export const sentences = (text: string): string[] => find("undertone_sentence_next", text).sentences;

/**
 * The sentences of a text that is still typed which nothing typed later can change, and the rest of
 * the text, to which more is typed. Both are as private as the text.
 */
export function finishedSentences(text: string): { sentences: string[]; rest: string } {
    // Half of a pair at the end may become any character, such as a small letter.
    const whole = typeof text === "string" ? text.replace(/[\ud800-\udbff]$/, "") : text;
    const { sentences, end } = find("undertone_sentence_next_finished", whole);
    return { sentences, rest: text.slice(end) };
}
