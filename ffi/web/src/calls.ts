// Calls of the C interface, and their results.

import { shown, withText } from "./arguments.js";
import { type Code, UndertoneError } from "./errors.js";
import { Region, withBytes } from "./memory.js";
import { exports } from "./module.js";
import { STATUS } from "./numbers.js";

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

/** @internal Throws the error of a status, unless it is OK. */
export function check(status: number): void {
    if (status === STATUS.OK) return;
    throw new UndertoneError(CODES.get(status) ?? "INTERNAL", staticText("undertone_status_message", status));
}

/** @internal A function that returns a status. */
export const call = (name: string, ...inputs: (number | bigint)[]) => check(status(name, ...inputs));

/** Where the library writes small results. */
let results: Region | undefined;

/** @internal The address of the n-th small result, eight bytes each. */
export const out = (n = 0) => (results ??= new Region(64)).address + 8 * n;

const view = () => new DataView(exports().memory.buffer);
/** @internal */
export const u32 = (n = 0) => view().getUint32(out(n), true);
/** @internal */
export const i32 = (n = 0) => view().getInt32(out(n), true);
/** @internal */
export const u64 = (n = 0) => view().getBigUint64(out(n), true);
/** @internal An epsilon in micro-units, as a number: 0.5 is 0.5. */
export const micro = (n = 0) => Number(u64(n)) / 1e6;

/**
 * @internal An array that the library writes: `write` gets its address, its capacity, and the
 * address of the count.
 */
export function written(width: number, room: number, write: (address: number, room: number, count: number) => void) {
    return withBytes(width * room, (region) => {
        write(region.address, room, out());
        return region.bytes.slice(0, width * u32());
    });
}

/** @internal An epsilon in micro-units, read by the library. */
export function epsilonMicro(epsilon: number | string, what = "epsilon"): number {
    if (typeof epsilon !== "number" && typeof epsilon !== "string") {
        throw new TypeError(`${what} is ${shown(epsilon)}, neither a number nor a text`);
    }
    withText(String(epsilon), (text, length) => call("undertone_epsilon_parse", text, length, out()));
    return u32();
}
