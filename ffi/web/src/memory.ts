// The module's memory, which this package allocates, and wipes before it gives it back.

import { UndertoneError } from "./errors.js";
import { exports } from "./module.js";

const PAGE = 65536;
const ALIGNMENT = 16;

/** Free memory: address and length, by address, no two neighbours. */
const free: [number, number][] = [];

function allocate(length: number): number {
    const memory = exports().memory;
    let place = free.find(([, has]) => has >= length);
    if (place === undefined) {
        const start = memory.buffer.byteLength;
        try {
            memory.grow(Math.ceil(length / PAGE));
        } catch {
            // No number, and no cause, which may name one: it would reveal the length of a text.
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

/**
 * @internal A view of the module's memory, made anew for each use, because it ends when the memory
 * grows.
 */
export const bytes = (address: number, length: number) => new Uint8Array(exports().memory.buffer, address, length);

/**
 * @internal Memory of the module, shared by all that called `keep`, wiped when the last of them
 * calls `letGo`.
 */
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

/** @internal Calls `use` with memory that is wiped afterwards. */
export function withBytes<T>(length: number, use: (region: Region) => T): T {
    const region = new Region(length);
    try {
        return use(region);
    } finally {
        region.letGo();
    }
}
