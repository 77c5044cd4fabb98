import { GRANT_HANDLE_SIZE, UNIT_SENTENCE, UNIT_VECTOR, UNIT_WHOLE_TEXT, UNIT_WORD } from "./numbers.js";
import { meaningOf } from "./arguments.js";
import { call, epsilonMicro } from "./calls.js";
import { Handle, handleMemory } from "./handle.js";
import { Region } from "./memory.js";

/**
 * The unit of privacy: the part of the text whose replacement changes the chances by at
 * most a factor of e^epsilon.
 */
export type Unit = "sentence" | "whole-text" | "word" | "vector";

/** @internal */
export const UNITS: Record<Unit, number> = {
    sentence: UNIT_SENTENCE,
    "whole-text": UNIT_WHOLE_TEXT,
    word: UNIT_WORD,
    vector: UNIT_VECTOR,
};

/** Permission to spend an epsilon once. A `Ledger` makes it, or `unrecorded`. */
export class Grant extends Handle {
    private constructor(memory: Region) {
        super("grant", memory);
    }

    /** @internal */
    static in(memory: Region): Grant {
        return new Grant(memory);
    }

    /**
     * A grant that no ledger counts, for apps that count elsewhere, and for public text. Several
     * releases of one text add up.
     *
     * @param epsilon 0.000001 to 1000; a text is read exactly
     * @throws UndertoneError if epsilon is out of range
     */
    static unrecorded(unit: Unit, epsilon: number | string): Grant {
        const [number, micro] = [meaningOf(UNITS, unit, "the unit"), epsilonMicro(epsilon)];
        return new Grant(
            handleMemory(GRANT_HANDLE_SIZE, (memory, length, out) =>
                call("undertone_grant_init_unrecorded", memory, length, number, micro, out),
            ),
        );
    }
}
