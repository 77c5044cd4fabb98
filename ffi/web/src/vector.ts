import { MAX_VECTOR_DIMENSION, NOISE_DISCRETE_LAPLACE, NOISE_LAPLACE, VECTOR_MECHANISM_HANDLE_SIZE } from "./numbers.js";
import { Grant } from "./grant.js";
import { Pack, writtenId } from "./pack.js";
import { expect, meaningOf, natural, shown, withCopy, withFloats, wordOf } from "./arguments.js";
import { call, epsilonMicro, i32, number, out, u32, written } from "./calls.js";
import { Handle, handleMemory } from "./handle.js";
import { source } from "./module.js";

/**
 * Laplace noise in n dimensions, or on each coordinate with integers only: no delta, for about 1.5
 * times the noise.
 */
export type Noise = "laplace" | "discrete-laplace";

const NOISES: Record<Noise, number> = { laplace: NOISE_LAPLACE, "discrete-laplace": NOISE_DISCRETE_LAPLACE };

/** What a mechanism takes besides epsilon, all chosen without looking at private vectors. */
export type VectorOptions =
    | {
          /** 1 to 1024. */
          dimension: number;
          /**
           * Coordinates are clamped to plus or minus 2 to this: 0, the default, is enough for
           * vectors of norm 1.
           */
          boundExponent?: number;
          noise?: Noise;
      }
    | {
          /** A pack whose projection is applied first. */
          pack: Pack;
          noise?: Noise;
      };

/** Releases private vectors. It holds no private data. */
export class VectorMechanism extends Handle {
    /**
     * @param epsilon 0.1 to 1000, for each unit of distance
     * @throws UndertoneError if a number is out of range, or the pack has no projection
     */
    constructor(epsilon: number | string, options: VectorOptions) {
        // `in` would quote a text.
        if (typeof options !== "object" || options === null) throw new TypeError(`the options are ${shown(options)}, not an object`);
        const spent = epsilonMicro(epsilon);
        const noise = meaningOf(NOISES, options.noise ?? "laplace", "the noise");
        const memory = handleMemory(VECTOR_MECHANISM_HANDLE_SIZE, (memory, length, out) => {
            if ("pack" in options) {
                const from = expect(options.pack, Pack, "Pack").address;
                call("undertone_vector_mechanism_init_projected", memory, length, from, noise, spent, out);
            } else {
                const dimension = natural(options.dimension, "the dimension");
                const exponent = options.boundExponent ?? 0;
                // A double holds no power of two beyond these.
                if (!(Number.isInteger(exponent) && Math.abs(exponent) <= 1074)) {
                    throw new RangeError(`the exponent is ${shown(exponent)}, not a whole number from -1074 to 1074`);
                }
                call("undertone_vector_mechanism_init", memory, length, dimension, exponent, noise, spent, out);
            }
        });
        super("mechanism", memory, ...("pack" in options ? [options.pack.content] : []));
    }

    /** How many coordinates a vector has. */
    get dimension(): number {
        return number("undertone_vector_mechanism_dimension", this.address);
    }

    /**
     * Draws the release of one private vector.
     *
     * The guarantee is metric: for two vectors at distance D no chance differs by more than a
     * factor of e^(epsilon D), up to a grid step and, with `laplace`, a tiny delta. For vectors far
     * apart that may limit nothing.
     *
     * @param vector `dimension` numbers, any; what is not finite counts as 0
     * @throws UndertoneError if it has another length, or the grant was spent, is for another unit
     *     or another epsilon
     */
    release(grant: Grant, vector: Float32Array | readonly number[]): VectorRelease {
        const [mechanism, permission] = [this.address, expect(grant, Grant, "Grant").address];
        const room = number("undertone_vector_mechanism_release_len", mechanism);
        const drawn = withFloats(vector, (start, length) =>
            written(1, room, (memory, room, count) =>
                call("undertone_vector_mechanism_release", mechanism, permission, start, length, ...source(), memory, room, count),
            ),
        );
        return new VectorRelease(drawn);
    }
}

/** A private vector that leaves the device, or arrived from one. */
export class VectorRelease {
    readonly bytes: Uint8Array;
    /** The coordinates: steps times the grid, exactly. */
    readonly values: Float64Array;
    /** The coordinates in steps of the grid. */
    readonly steps: Int32Array;
    /** A step is 2 to this. */
    readonly gridExponent: number;
    /** The epsilon that the device spent for each unit of distance. */
    readonly epsilon: number;
    readonly noise: Noise;
    /** The identifier of the pack with the projection, in hexadecimal; zeroes without one. */
    readonly packId: string;

    /** @throws UndertoneError if the bytes are not a released vector */
    constructor(bytes: Uint8Array) {
        [this.noise, this.epsilon, this.gridExponent, this.packId, this.steps, this.values] = withCopy(bytes, (start, length) => {
            call("undertone_vector_release_read", start, length, out(0), out(1), out(2), out(3), out(4));
            const read = [wordOf(NOISES, i32(1)), u32(2) / 1e6, i32(3), writtenId(4)] as const;
            const coordinates = (name: string, width: number) =>
                written(width, MAX_VECTOR_DIMENSION, (memory, room, count) =>
                    call(`undertone_vector_release_read_${name}`, start, length, memory, room, count),
                ).buffer;
            return [...read, new Int32Array(coordinates("steps", 4)), new Float64Array(coordinates("values", 8))] as const;
        });
        // Not a slice: that of Node's Buffer is the same memory.
        this.bytes = Uint8Array.from(bytes);
    }
}
