// The WebAssembly module: its exports, and the source of random bytes that it imports.

import { UndertoneError } from "./errors.js";
import { ABI_VERSION } from "./numbers.js";

type Exports = { memory: WebAssembly.Memory; __indirect_function_table: WebAssembly.Table } & Record<
    string,
    (...inputs: (number | bigint)[]) => number
>;

let wasm: Exports | undefined;
let entropyFunction: number;

/** @internal */
export function exports(): Exports {
    if (wasm === undefined) throw new UndertoneError("NOT_STARTED", "the module is not loaded: call start first");
    return wasm;
}

// Bound now, so that code that replaces the function later cannot see or choose a key.
const random = globalThis.crypto?.getRandomValues.bind(globalThis.crypto);

/**
 * The source of random bytes, for C: 0, or 1 if it fails. An exception must not pass through the
 * library.
 */
function entropy(_context: number, address: number, length: number): number {
    try {
        random(new Uint8Array(exports().memory.buffer, address, length));
        return 0;
    } catch {
        return 1;
    }
}

// A table of WebAssembly accepts only functions of WebAssembly: this module imports a function and
// exports it again, (i32, i32, i32) -> i32. It is also the file entropy.wasm of the package.
export const ENTROPY = Uint8Array.from([
    0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, // magic, version
    0x01, 0x08, 0x01, 0x60, 0x03, 0x7f, 0x7f, 0x7f, 0x01, 0x7f, // one type
    0x02, 0x07, 0x01, 0x01, 0x65, 0x01, 0x66, 0x00, 0x00, // import e.f
    0x07, 0x05, 0x01, 0x01, 0x66, 0x00, 0x00, // export f
]);

/** @internal True once `install` was called. */
export const installed = () => wasm !== undefined;

/**
 * @internal Makes the library usable. Later calls change nothing: handles lie in the memory of the
 * first instance. `shim`: the compiled `ENTROPY`, for places that forbid to compile it.
 */
export function install(instance: WebAssembly.Instance, shim?: WebAssembly.Module): void {
    if (wasm !== undefined) return;
    const loaded = instance.exports as Exports;
    const found = loaded["undertone_abi_version"]?.();
    if (found !== ABI_VERSION) throw new Error(`undertone.wasm has interface ${found}, this package is for ${ABI_VERSION}`);
    const { f } = new WebAssembly.Instance(shim ?? new WebAssembly.Module(ENTROPY), { e: { f: entropy } }).exports;
    const table = loaded.__indirect_function_table;
    entropyFunction = table.grow(1);
    table.set(entropyFunction, f);
    wasm = loaded;
}

/** @internal The arguments for a function that takes entropy. */
export const source = () => [entropyFunction, 0] as const;
