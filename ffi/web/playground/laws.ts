// The module of ../laws: the exact chances of every release.

export interface Laws {
    /** Keeps what the pack says of these sentences as text 0 or 1. */
    read(slot: 0 | 1, sentences: string[]): void;
    /** The chance of each outcome; by the whole text the last is "nothing known". */
    law(slot: 0 | 1, unit: number, epsilonMicro: number): Float64Array;
}

/** The most sentences of a document. */
export const MOST = 128;

interface Exports {
    memory: WebAssembly.Memory;
    laws_input(length: number): number;
    laws_open(): number;
    laws_read(slot: number, count: number): number;
    laws_of_text(slot: number, unit: number, epsilonMicro: number): number;
    laws_output(): number;
}

export async function loadLaws(module: BufferSource, pack: Uint8Array): Promise<Laws> {
    const { instance } = await WebAssembly.instantiate(module, {});
    const laws = instance.exports as unknown as Exports;
    const put = (bytes: Uint8Array) => {
        const start = laws.laws_input(bytes.length);
        new Uint8Array(laws.memory.buffer, start, bytes.length).set(bytes);
    };
    put(pack);
    if (laws.laws_open() !== 1) throw new Error("the pack of this page cannot be read");
    return {
        read(slot, sentences) {
            // A zero would end a sentence; to the library it is a space like others.
            const text = sentences.map((sentence) => `${sentence.replaceAll("\0", " ")}\0`).join("");
            put(new TextEncoder().encode(text));
            if (laws.laws_read(slot, sentences.length) !== 1) throw new Error("the text cannot be read");
        },
        law(slot, unit, epsilonMicro) {
            const count = laws.laws_of_text(slot, unit, epsilonMicro);
            return new Float64Array(laws.memory.buffer, laws.laws_output(), count).slice();
        },
    };
}
