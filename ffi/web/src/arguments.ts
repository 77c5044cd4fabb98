// Arguments of the package's functions: what they are is checked, and then they are passed to the
// module.

import { UndertoneError } from "./errors.js";
import { withBytes } from "./memory.js";

// An array of another window, worker or context has other constructors, so `instanceof` would
// refuse it. These getters read internal slots, which no value can imitate.
const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as object;
const typedArrayName = Object.getOwnPropertyDescriptor(typedArray, Symbol.toStringTag)!.get!;
const bufferLength = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, "byteLength")!.get!;

/** @internal */
export const isBytes = (value: unknown): value is Uint8Array => typedArrayName.call(value) === "Uint8Array";

const isFloats = (value: unknown): value is Float32Array => typedArrayName.call(value) === "Float32Array";

/** @internal */
export function isBuffer(value: unknown): value is ArrayBuffer {
    try {
        bufferLength.call(value);
        return true;
    } catch {
        return false;
    }
}

/**
 * @internal Passes a text as UTF-8, and wipes it afterwards. A surrogate without its other half
 * separates words.
 */
export function withText<T>(text: string, use: (address: number, length: number) => T): T {
    if (typeof text !== "string") throw new TypeError("the text is not a string");
    // A unit of UTF-16 takes at most three bytes.
    return withBytes(3 * text.length, (region) =>
        use(region.address, new TextEncoder().encodeInto(text, region.bytes).written),
    );
}

/** @internal Passes bytes, and wipes them afterwards. */
export function withCopy<T>(data: Uint8Array, use: (address: number, length: number) => T): T {
    if (!isBytes(data)) throw new TypeError("the bytes are not a Uint8Array");
    return withBytes(data.length, (region) => {
        region.bytes.set(data);
        return use(region.address, data.length);
    });
}

/** @internal Passes floats, and wipes them afterwards. */
export function withFloats<T>(floats: ArrayLike<number>, use: (address: number, count: number) => T): T {
    // `every` would skip holes.
    const numbers = Array.isArray(floats) && floats.findIndex((value) => typeof value !== "number") < 0;
    if (!numbers && !isFloats(floats)) {
        throw new TypeError("the vector is neither a Float32Array nor an array of numbers");
    }
    return withBytes(4 * floats.length, (region) => {
        new Float32Array(region.bytes.buffer, region.address, floats.length).set(floats);
        return use(region.address, floats.length);
    });
}

/**
 * @internal A refused argument as errors show it: never a text, because even a single word may be
 * private.
 */
export function shown(value: unknown): string {
    if (typeof value === "number" || value === undefined || value === null) return String(value);
    if (typeof value === "string") return "a text";
    return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** @internal A whole number for C. WebAssembly would take any number modulo 2^32. */
export function natural(value: number, what: string): number {
    if (typeof value !== "number") throw new TypeError(`${what} is ${shown(value)}, not a number`);
    if (!Number.isInteger(value) || value < 0 || value > 0xffffffff) {
        throw new RangeError(`${what} ${value} is not a whole number from 0 to 4294967295`);
    }
    return value;
}

/** @internal An unsigned integer of 64 bits for C. `BigInt` would quote a text, and accept true and []. */
export function natural64(value: number | bigint, what: string): bigint {
    if (typeof value !== "bigint" && typeof value !== "number") {
        throw new TypeError(`${what} is ${shown(value)}, neither a number nor a bigint`);
    }
    if (typeof value === "bigint" ? BigInt.asUintN(64, value) === value : Number.isSafeInteger(value) && value >= 0) {
        return BigInt(value);
    }
    const most = typeof value === "bigint" ? "18446744073709551615" : "9007199254740991 (give a larger one as a bigint)";
    throw new RangeError(`${what} ${value} is not a whole number from 0 to ${most}`);
}

/** @internal */
export const hex = (data: Uint8Array) => Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** @internal The number or the function of C that one of these words stands for. */
export function meaningOf<T extends string, V>(words: Record<T, V>, word: T, what: string): V {
    if (typeof word === "string" && Object.hasOwn(words, word)) return words[word];
    throw new TypeError(`${what} is ${shown(word)}, not one of ${Object.keys(words).join(", ")}`);
}

/** @internal The word for a number of C. */
export function wordOf<T extends string>(words: Record<T, number>, found: number): T {
    for (const word in words) if (words[word] === found) return word;
    throw new UndertoneError("INTERNAL", `${found} has no name: update the package`);
}

/**
 * @internal Refuses what is not of this class. An object of another copy of the package lies in
 * another memory. `name`: that of the class, because a bundler may have changed `kind.name`.
 */
export function expect<T extends object>(value: T, kind: Function & { prototype: T }, name: string): T {
    if (value instanceof kind) return value;
    throw new TypeError(`the ${name.toLowerCase()} is not a ${name}`);
}
