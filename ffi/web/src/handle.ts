// Handles of the C interface, as objects.

import { isBytes } from "./arguments.js";
import { call, out } from "./calls.js";
import { UndertoneError } from "./errors.js";
import { Region } from "./memory.js";

/** The symbol of `using`; browsers without `using` do not look for its replacement. */
export const dispose: typeof Symbol.dispose = Symbol.dispose ?? Symbol.for("Symbol.dispose");

// Cloudflare Workers had none before May 2025.
const collected = globalThis.FinalizationRegistry && new FinalizationRegistry<() => void>((letGo) => letGo());

/**
 * An object in the module's memory. `close` wipes and frees that memory, as does the garbage
 * collector some time later.
 */
export class Handle {
    readonly #what: string;
    #region: Region | undefined;
    #letGo: () => void;

    /** @internal `kept`: memory that is in use as long as this object. */
    constructor(what: string, region: Region, ...kept: Region[]) {
        // A program in JavaScript may call constructors that are private.
        if (!(region instanceof Region)) throw new TypeError(`a ${what} is not made by new`);
        this.#what = what;
        this.#region = region;
        // May not refer to this object, which could then not be collected.
        const all = [region, ...kept.map((other) => other.keep())];
        this.#letGo = () => all.forEach((one) => one.letGo());
        collected?.register(this, this.#letGo, this);
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
        collected?.unregister(this);
        this.#letGo();
    }

    /** `close`, for `using`. */
    [dispose](): void {
        this.close();
    }
}

/**
 * @internal Makes a handle's memory of `size` bytes: `init` gets its address, its length, and the
 * address of an output for the handle.
 */
export function handleMemory(size: number, init: (address: number, length: number, out: number) => void): Region {
    const region = new Region(size);
    try {
        init(region.address, region.length, out());
        return region;
    } catch (error) {
        region.letGo();
        throw error;
    }
}

/** @internal The memory of a handle that reads a copy of a file, and that copy. */
export function fileMemory(kind: "form" | "pack", size: number, data: Uint8Array): [Region, Region] {
    if (!isBytes(data)) throw new TypeError(`the ${kind} is not a Uint8Array`);
    const content = new Region(data.length);
    content.bytes.set(data);
    try {
        const made = (memory: number, length: number, out: number) =>
            call(`undertone_${kind}_init`, memory, length, content.address, content.length, out);
        return [handleMemory(size, made), content];
    } catch (error) {
        content.letGo();
        throw error;
    }
}
