import { ENCODER_DIGEST_BYTES, ENCODER_NAME_BYTES, PACK_HANDLE_SIZE, PACK_ID_BYTES } from "./numbers.js";
import { hex, withText } from "./arguments.js";
import { call, out, written } from "./calls.js";
import { fileMemory, Handle } from "./handle.js";
import { bytes, type Region, withBytes } from "./memory.js";

// undertone_pack_description: numbers of four bytes, then arrays of bytes.
const NUMBERS = [
    "dimension", "candidate_count", "nothing_known", "selector", "largest_score", "level_count", "feature_count",
    "direction_count", "word_count", "projected_dimension",
] as const;
const ID_AT = 4 * NUMBERS.length;
const DIGEST_AT = ID_AT + PACK_ID_BYTES;
const NAME_AT = DIGEST_AT + ENCODER_DIGEST_BYTES;
const DESCRIPTION_BYTES = 4 * Math.ceil((NAME_AT + ENCODER_NAME_BYTES) / 4);

/**
 * A pack: what the public side built and every device reads. Documents go on working when it is
 * closed.
 */
export class Pack extends Handle {
    /** @internal The bytes of the pack, which documents read, too. */
    readonly content: Region;

    /**
     * Checks a pack and copies it.
     *
     * @param data the bytes of the file
     * @throws UndertoneError if they are not a pack, or damaged
     */
    constructor(data: Uint8Array) {
        const [memory, content] = fileMemory("pack", PACK_HANDLE_SIZE, data);
        super("pack", memory, content);
        // `Handle` keeps it now.
        content.letGo();
        this.content = content;
    }

    #description(): Uint8Array<ArrayBuffer> {
        const pack = this.address;
        return withBytes(DESCRIPTION_BYTES, (region) => {
            call("undertone_pack_describe", pack, region.address);
            return region.bytes.slice();
        });
    }

    #number(name: (typeof NUMBERS)[number]): number {
        return new DataView(this.#description().buffer).getUint32(4 * NUMBERS.indexOf(name), true);
    }

    /** The identifier, which releases carry, in hexadecimal. */
    get id(): string {
        return hex(this.#description().subarray(ID_AT, DIGEST_AT));
    }

    /** The dimension of an embedding, 1 to 4096. */
    get dimension(): number {
        return this.#number("dimension");
    }

    /** The number of candidates that a release is drawn from; 0 if the pack has none. */
    get candidateCount(): number {
        return this.#number("candidate_count");
    }

    /** How candidates are selected; undefined if the pack has none. */
    get selector(): "depth" | "scores" | undefined {
        return ([undefined, "depth", "scores"] as const)[this.#number("selector")];
    }

    /**
     * The largest score that a sentence can give a candidate, 1 to 255; 0 if the pack has no
     * scores.
     */
    get largestScore(): number {
        return this.#number("largest_score");
    }

    /** The number of levels of the scores, 2 to 160; 0 if the pack has no scores. */
    get levelCount(): number {
        return this.#number("level_count");
    }

    /**
     * The number of features of texts that add to the scores; with features, a document needs the
     * text.
     */
    get featureCount(): number {
        return this.#number("feature_count");
    }

    /**
     * The candidate number of "nothing known" in a whole-text release; undefined
     * without scores.
     */
    get nothingKnown(): number | undefined {
        const found = this.#number("nothing_known");
        return found === 0xffffffff ? undefined : found;
    }

    /** The number of words in the lexicon, which reads text; 0 if there is none. */
    get wordCount(): number {
        return this.#number("word_count");
    }

    /** The number of directions of a pack that selects by depth, else 0. */
    get directionCount(): number {
        return this.#number("direction_count");
    }

    /** The dimension of a vector released through the projection of the pack; 0 if it has none. */
    get projectedDimension(): number {
        return this.#number("projected_dimension");
    }

    /** The name of the encoder whose embeddings the pack was built from. */
    get encoderName(): string {
        return new TextDecoder().decode(this.#description().subarray(NAME_AT)).replace(/\0+$/, "");
    }

    /** The digest that identifies that encoder, in hexadecimal. */
    get encoderDigest(): string {
        return hex(this.#description().subarray(DIGEST_AT, NAME_AT));
    }

    /**
     * The embedding of one sentence, by the lexicon. It is as private as the sentence.
     *
     * @returns `dimension` coordinates
     * @throws UndertoneError if the pack has no lexicon
     */
    embedSentence(text: string): Float32Array {
        const [pack, dimension] = [this.address, this.dimension];
        const floats = withText(text, (start, length) =>
            written(4, dimension, (memory, room, count) =>
                call("undertone_pack_embed_sentence", pack, start, length, memory, room, count),
            ),
        );
        return new Float32Array(floats.buffer);
    }
}

/** @internal The identifier of a pack that the library wrote as a result. */
export const writtenId = (n: number) => hex(bytes(out(n), PACK_ID_BYTES));
