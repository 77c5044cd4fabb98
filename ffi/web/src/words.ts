import {
    BAG_HANDLE_SIZE, MAX_RELEASED_WORDS, VOCABULARY_HANDLE_SIZE, WORD_METHOD_EXPONENTIAL,
    WORD_METHOD_LAPLACE_NEAREST, WORD_METHOD_PERMUTE_AND_FLIP,
} from "./numbers.js";
import { Grant } from "./grant.js";
import { Pack, writtenId } from "./pack.js";
import { expect, meaningOf, natural, withCopy, withText, wordOf } from "./arguments.js";
import { call, i32, number, out, u32, written } from "./calls.js";
import { Handle, handleMemory } from "./handle.js";
import { bytes } from "./memory.js";
import { source } from "./module.js";

/** How a private word is replaced by another. */
export type WordMethod = "permute-and-flip" | "exponential" | "laplace-nearest";

const METHODS: Record<WordMethod, number> = {
    "permute-and-flip": WORD_METHOD_PERMUTE_AND_FLIP,
    exponential: WORD_METHOD_EXPONENTIAL,
    "laplace-nearest": WORD_METHOD_LAPLACE_NEAREST,
};

/** The words of a pack's lexicon, by number. */
export class Vocabulary extends Handle {
    /** @internal */
    readonly pack: Pack["content"];

    /** @throws UndertoneError if the pack has no lexicon */
    constructor(pack: Pack) {
        const from = expect(pack, Pack, "Pack").address;
        const init = (memory: number, length: number, out: number) =>
            call("undertone_vocabulary_init", memory, length, from, out);
        super("vocabulary", handleMemory(VOCABULARY_HANDLE_SIZE, init), pack.content);
        this.pack = pack.content;
    }

    /** The number of words, 1 to 65536. */
    get wordCount(): number {
        return number("undertone_vocabulary_word_count", this.address);
    }

    /** The word that stands for all unknown words, by number. */
    get fallback(): number {
        call("undertone_vocabulary_describe", this.address, out(0), out(1));
        return u32(0);
    }

    /** The step q of distances is 2 to this. */
    get unitExponent(): number {
        call("undertone_vocabulary_describe", this.address, out(0), out(1));
        return i32(1);
    }

    /**
     * The text of a word.
     *
     * @throws UndertoneError if there is no word with this number
     */
    word(index: number): string {
        call("undertone_vocabulary_word", this.address, natural(index, "the word"), out(0), out(1));
        return new TextDecoder().decode(bytes(u32(0), u32(1)));
    }
}

/** The words of a private text: words go in, private words come out, and the bag is empty again. */
export class Bag extends Handle {
    constructor(vocabulary: Vocabulary) {
        const from = expect(vocabulary, Vocabulary, "Vocabulary").address;
        const init = (memory: number, length: number, out: number) => call("undertone_bag_init", memory, length, from, out);
        super("bag", handleMemory(BAG_HANDLE_SIZE, init), vocabulary.pack);
    }

    /**
     * Adds one word; an unknown one counts as the fallback. A bag with 1024 words stays as it is.
     */
    push(word: string): void {
        const bag = this.address;
        withText(word, (start, length) => call("undertone_bag_push", bag, start, length));
    }

    /** Adds every word of a text. */
    pushText(text: string): void {
        const bag = this.address;
        withText(text, (start, length) => call("undertone_bag_push_text", bag, start, length));
    }

    /** Forgets all words and wipes them. */
    reset(): void {
        call("undertone_bag_reset", this.address);
    }

    /**
     * Draws words of the bag by frequency, replaces each, and forgets all words.
     *
     * The guarantee is metric, with epsilon for each word and unit of distance: for words far apart
     * it may limit nothing.
     *
     * @param wordCount 1 to 256, and no more than the grant is for; it is public
     * @throws UndertoneError if the grant was spent or is for another unit or fewer words; the
     *     words are still there then
     */
    release(grant: Grant, wordCount: number, method: WordMethod = "permute-and-flip"): BagRelease {
        const [bag, permission] = [this.address, expect(grant, Grant, "Grant").address];
        const how = meaningOf(METHODS, method, "the method");
        const room = number("undertone_bag_release_len", natural(wordCount, "the number of words"));
        const drawn = written(1, room, (memory, room, count) =>
            call("undertone_bag_release", bag, permission, wordCount, how, ...source(), memory, room, count),
        );
        return new BagRelease(drawn);
    }
}

/** Private words that leave the device, or arrived from one. */
export class BagRelease {
    readonly bytes: Uint8Array;
    /** The words, by number, ascending. They can be forged. */
    readonly words: Uint32Array;
    /** The epsilon that the device spent on each word. */
    readonly epsilon: number;
    readonly method: WordMethod;
    /** The identifier of the pack whose words are counted, in hexadecimal. */
    readonly packId: string;

    /** @throws UndertoneError if the bytes are not a released bag */
    constructor(bytes: Uint8Array) {
        [this.method, this.epsilon, this.packId, this.words] = withCopy(bytes, (start, length) => {
            call("undertone_bag_release_read", start, length, out(0), out(1), out(2), out(3));
            const read = [wordOf(METHODS, i32(1)), u32(2) / 1e6, writtenId(3)] as const;
            const words = written(4, MAX_RELEASED_WORDS, (memory, room, count) =>
                call("undertone_bag_release_read_words", start, length, memory, room, count),
            );
            return [...read, new Uint32Array(words.buffer)] as const;
        });
        // Not a slice: that of Node's Buffer is the same memory.
        this.bytes = Uint8Array.from(bytes);
    }
}
