/// <reference lib="esnext.disposable" preserve="true" />
// The module, its memory, and its errors. All else in this folder calls the C interface through `call`.

import * as numbers from "./numbers.js";

const { ABI_VERSION, STATUS } = numbers;

type Exports = { memory: WebAssembly.Memory; __indirect_function_table: WebAssembly.Table } & Record<
    string,
    (...inputs: (number | bigint)[]) => number
>;

/** The name of a status of undertone.h, or one of this package's own. */
export type Code = keyof typeof STATUS | "CLOSED" | "LEDGER_MISSING" | "NO_LOCKS" | "NOT_STARTED" | "OUT_OF_MEMORY";

/** What the library refuses, or what went wrong. It never depends on what a text says. */
export class UndertoneError extends Error {
    override readonly name = "UndertoneError";
    /** Such as "GRANT_SPENT": the status of undertone.h without "UNDERTONE_STATUS_". */
    readonly code: Code;

    constructor(code: Code, message: string, options?: { cause?: unknown }) {
        super(message, options);
        this.code = code;
    }
}

let wasm: Exports | undefined;
let entropyFunction: number;
/** Where the library writes small results. */
let results: number;

function exports(): Exports {
    if (wasm === undefined) throw new UndertoneError("NOT_STARTED", "the module is not loaded: call start first");
    return wasm;
}

// Kept as they are now: what replaces them later does not get to see or to choose a key.
const random = globalThis.crypto?.getRandomValues.bind(globalThis.crypto);

/** The source of random bytes, for C: 0, or 1 if it fails. An exception must not pass through the library. */
function entropy(_context: number, address: number, length: number): number {
    try {
        random(bytes(address, length));
        return 0;
    } catch {
        return 1;
    }
}

// A function of JavaScript as one of WebAssembly, so that a table takes it: a module that imports it and exports it
// again, (i32, i32, i32) -> i32.
const SHIM = Uint8Array.from([
    0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, // magic, version
    0x01, 0x08, 0x01, 0x60, 0x03, 0x7f, 0x7f, 0x7f, 0x01, 0x7f, // one type
    0x02, 0x07, 0x01, 0x01, 0x65, 0x01, 0x66, 0x00, 0x00, // import e.f
    0x07, 0x05, 0x01, 0x01, 0x66, 0x00, 0x00, // export f
]);

/** @internal Whether `install` was called. */
export const installed = () => wasm !== undefined;

/** @internal Makes the library usable. Later calls change nothing: handles lie in the memory of the first instance. */
export function install(instance: WebAssembly.Instance, shim: WebAssembly.Module): void {
    if (wasm !== undefined) return;
    const loaded = instance.exports as Exports;
    const found = loaded["undertone_abi_version"]?.();
    if (found !== ABI_VERSION) throw new Error(`undertone.wasm has interface ${found}, this package is for ${ABI_VERSION}`);
    const table = loaded.__indirect_function_table;
    entropyFunction = table.grow(1);
    table.set(entropyFunction, new WebAssembly.Instance(shim, { e: { f: entropy } }).exports["f"]);
    wasm = loaded;
    results = new Region(RESULTS).address;
}

/** @internal The module of `install`, from the bytes of SHIM. */
export const shim = () => new WebAssembly.Module(SHIM);

// Memory --------------------------------------------------------------------------------------------------------

const RESULTS = 64;
const PAGE = 65536;
const ALIGNMENT = 16;

/** Memory that nobody uses: address and length, by address, no two of them neighbours. */
const free: [number, number][] = [];

function allocate(length: number): number {
    const memory = exports().memory;
    let place = free.find(([, has]) => has >= length);
    if (place === undefined) {
        const start = memory.buffer.byteLength;
        try {
            memory.grow(Math.ceil(length / PAGE));
        } catch {
            // No number and no cause, which may name one: it would say how long a text is.
            throw new UndertoneError("OUT_OF_MEMORY", "no memory is left: close what is not used, or take a shorter text");
        }
        release(start, memory.buffer.byteLength - start);
        place = free.find(([, has]) => has >= length)!;
    }
    const [address] = place;
    place[0] += length;
    place[1] -= length;
    if (place[1] === 0) free.splice(free.indexOf(place), 1);
    return address;
}

function release(address: number, length: number): void {
    let at = free.findIndex(([start]) => start > address);
    if (at < 0) at = free.length;
    const [before, after] = [free[at - 1], free[at]];
    free.splice(at, 0, [address, length]);
    if (after !== undefined && address + length === after[0]) {
        free[at]![1] += after[1];
        free.splice(at + 1, 1);
    }
    if (before !== undefined && before[0] + before[1] === address) {
        before[1] += free[at]![1];
        free.splice(at, 1);
    }
}

/** @internal A view of the module's memory. Gone when the memory grows, so it is made anew for each use. */
export const bytes = (address: number, length: number) => new Uint8Array(exports().memory.buffer, address, length);

/** @internal Memory of the module, shared by all who called `keep`, wiped when the last of them lets go. */
export class Region {
    readonly address: number;
    readonly length: number;
    readonly #size: number;
    #users = 1;

    constructor(length: number) {
        this.length = length;
        this.#size = Math.ceil(Math.max(length, 1) / ALIGNMENT) * ALIGNMENT;
        this.address = allocate(this.#size);
    }

    get bytes(): Uint8Array<ArrayBuffer> {
        return bytes(this.address, this.length);
    }

    keep(): this {
        this.#users++;
        return this;
    }

    letGo(): void {
        if (--this.#users > 0) return;
        bytes(this.address, this.#size).fill(0);
        release(this.address, this.#size);
    }
}

/** @internal Does something with memory that is wiped afterwards. */
export function withBytes<T>(length: number, use: (region: Region) => T): T {
    const region = new Region(length);
    try {
        return use(region);
    } finally {
        region.letGo();
    }
}

/** @internal Passes a text as UTF-8, and wipes it afterwards. A surrogate without its other half separates words. */
export function withText<T>(text: string, use: (address: number, length: number) => T): T {
    if (typeof text !== "string") throw new TypeError("the text is not a string");
    // A unit of UTF-16 takes at most three bytes.
    return withBytes(3 * text.length, (region) =>
        use(region.address, new TextEncoder().encodeInto(text, region.bytes).written),
    );
}

/** @internal Passes bytes, and wipes them afterwards. */
export function withCopy<T>(data: Uint8Array, use: (address: number, length: number) => T): T {
    if (!(data instanceof Uint8Array)) throw new TypeError("the bytes are not a Uint8Array");
    return withBytes(data.length, (region) => {
        region.bytes.set(data);
        return use(region.address, data.length);
    });
}

/** @internal Passes floats, and wipes them afterwards. */
export function withFloats<T>(floats: ArrayLike<number>, use: (address: number, count: number) => T): T {
    // `every` would skip holes.
    const numbers = Array.isArray(floats) && floats.findIndex((value) => typeof value !== "number") < 0;
    if (!numbers && !(floats instanceof Float32Array)) {
        throw new TypeError("the vector is neither a Float32Array nor an array of numbers");
    }
    return withBytes(4 * floats.length, (region) => {
        new Float32Array(exports().memory.buffer, region.address, floats.length).set(floats);
        return use(region.address, floats.length);
    });
}

// Calls ---------------------------------------------------------------------------------------------------------

/** @internal The text of a static string of the library. */
export function staticText(name: string, ...inputs: number[]): string {
    const start = exports()[name]!(...inputs);
    const memory = new Uint8Array(exports().memory.buffer);
    return new TextDecoder().decode(memory.subarray(start, memory.indexOf(0, start)));
}

/** @internal A function that returns a number or a size. */
export const number = (name: string, ...inputs: (number | bigint)[]) => exports()[name]!(...inputs) >>> 0;

/** @internal A function that returns a status, which may be one that the caller deals with. */
export function status(name: string, ...inputs: (number | bigint)[]): number {
    return exports()[name]!(...inputs);
}

const CODES = new Map(Object.entries(STATUS).map(([code, status]) => [status as number, code as Code]));

/** What the library's texts, which are about C, name otherwise than this package. */
const NAMES: Record<string, string> = {
    undertone_document_push_encoded: "Document.pushEncoded",
    undertone_ledger_begin_anew: "Ledger.beginAnew",
    undertone_ledger_remaining: "Ledger.left",
    UNDERTONE_UNIT_: "Unit",
};

/** Advice that only C needs. */
const OF_C = /; do not count a terminating zero|, and count floats, not bytes/;

/** @internal What is wrong and what to do, about this package. */
export const message = (status: number) =>
    staticText("undertone_status_message", status).replace(OF_C, "").replace(/undertone_\w+|UNDERTONE_\w+/g, (name) =>
        NAMES[name] ?? String((numbers as Record<string, unknown>)[name.slice("UNDERTONE_".length)] ?? name));

/** @internal Throws what a status says, unless it is OK. */
export function check(status: number): void {
    if (status === STATUS.OK) return;
    throw new UndertoneError(CODES.get(status) ?? "INTERNAL", message(status));
}

/** @internal A function that returns a status. */
export const call = (name: string, ...inputs: (number | bigint)[]) => check(status(name, ...inputs));

/** @internal The arguments for a function that takes entropy. */
export const source = () => [entropyFunction, 0] as const;

/** @internal The address of the n-th small result, eight bytes each. */
export const out = (n = 0) => results + 8 * n;

const view = () => new DataView(exports().memory.buffer);
/** @internal */
export const u32 = (n = 0) => view().getUint32(out(n), true);
/** @internal */
export const i32 = (n = 0) => view().getInt32(out(n), true);
/** @internal An epsilon in micro-units, as a number: 0.5 is 0.5. */
export const micro = (n = 0) => Number(view().getBigUint64(out(n), true)) / 1e6;

/** @internal An array that the library writes: `write` gets where to, how many there is room for, and where to say how many. */
export function written(width: number, room: number, write: (address: number, room: number, count: number) => void) {
    return withBytes(width * room, (region) => {
        write(region.address, room, out());
        return region.bytes.slice(0, width * u32());
    });
}

/** @internal An epsilon in micro-units, read by the library. */
export function epsilonMicro(epsilon: number | string): number {
    if (typeof epsilon !== "number" && typeof epsilon !== "string") {
        throw new TypeError("epsilon is neither a number nor a text");
    }
    withText(String(epsilon), (text, length) => call("undertone_epsilon_parse", text, length, out()));
    return u32();
}

/** @internal A refused argument as errors show it. No text: one of a single word may be private, too. */
export function shown(value: unknown): string {
    if (typeof value === "number" || value === undefined) return String(value);
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

/** @internal */
export const hex = (data: Uint8Array) => Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** @internal The number of one of the words that stand for the numbers of C. */
export function numberOf<T extends string>(words: Record<T, number>, word: T, what: string): number {
    if (typeof word === "string" && Object.hasOwn(words, word)) return words[word];
    throw new TypeError(`${what} is ${shown(word)}, not one of ${Object.keys(words).join(", ")}`);
}

/** @internal The word for a number of C. */
export function wordOf<T extends string>(words: Record<T, number>, found: number): T {
    for (const word in words) if (words[word] === found) return word;
    throw new UndertoneError("INTERNAL", `${found} has no name: update the package`);
}

// Handles -------------------------------------------------------------------------------------------------------

/** The symbol of `using`. Browsers without it lack the symbol, too, and nothing looks for it there. */
export const dispose: typeof Symbol.dispose = Symbol.dispose ?? Symbol.for("Symbol.dispose");

const collected = new FinalizationRegistry<() => void>((letGo) => letGo());

/** Something in the module's memory. `close` wipes it and gives the memory back; forgetting it does so some time later. */
export class Handle {
    readonly #what: string;
    #region: Region | undefined;
    #letGo: () => void;

    /** @internal `kept`: memory that is in use as long as this. */
    constructor(what: string, region: Region, ...kept: Region[]) {
        // A program in JavaScript may call constructors that are private.
        if (!(region instanceof Region)) throw new TypeError(`a ${what} is not made by new`);
        this.#what = what;
        this.#region = region;
        // May not refer to this object, which could then not be collected.
        const all = [region, ...kept.map((other) => other.keep())];
        this.#letGo = () => all.forEach((one) => one.letGo());
        collected.register(this, this.#letGo, this);
    }

    /** @internal */
    get region(): Region {
        if (this.#region === undefined) throw new UndertoneError("CLOSED", `the ${this.#what} is closed: make a new one`);
        return this.#region;
    }

    /** @internal */
    get address(): number {
        return this.region.address;
    }

    /** Wipes it. It cannot be used afterwards; closing it again does nothing. */
    close(): void {
        if (this.#region === undefined) return;
        this.#region = undefined;
        collected.unregister(this);
        this.#letGo();
    }

    /** `close`, for `using`. */
    [dispose](): void {
        this.close();
    }
}

/** @internal Makes a handle's memory: `init` gets its address, its length, and where C says where the handle is. */
export function handleMemory(kind: string, init: (address: number, length: number, out: number) => void): Region {
    const region = new Region(number(`undertone_${kind}_handle_size`));
    try {
        init(region.address, region.length, out());
        return region;
    } catch (error) {
        region.letGo();
        throw error;
    }
}

/** @internal Refuses what is not of this class. */
export function expect<T extends object>(value: T, kind: Function & { prototype: T }, what: string): T {
    if (value instanceof kind) return value;
    throw new TypeError(`the ${what} is not a ${kind.name}`);
}
