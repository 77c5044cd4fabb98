// The package for browsers and workers, without the module: for pages that may fetch nothing, or load it in a way of their own.

import { storeIn } from "./ledger.js";
import { indexedDb } from "./indexeddb.js";
import { install, installed, shim, UndertoneError } from "./wasm.js";

export * from "./api.js";

storeIn(indexedDb);

/** What a server has sent: the module, or something else, such as a page that says that it is not there. */
async function received(response: Response): Promise<BufferSource> {
    const bytes = new Uint8Array(await response.arrayBuffer());
    const magic = [0x00, 0x61, 0x73, 0x6d];
    if (response.ok && magic.every((byte, i) => bytes[i] === byte)) return bytes;
    const what = response.ok ? "no WebAssembly" : `status ${response.status}`;
    throw new UndertoneError(
        "NOT_STARTED",
        `${response.url || "what was fetched"} is not undertone.wasm (${what}); serve that file of the package there, and keep bundlers from moving the package away from it`,
    );
}

/**
 * Makes the package usable. Later calls do nothing.
 *
 * @param module the bytes of undertone.wasm, or a response with them
 * @throws {UndertoneError} NOT_STARTED if a response is not that file
 */
export async function start(module: BufferSource | Response | Promise<Response>): Promise<void> {
    if (installed()) return;
    const bytes = module instanceof ArrayBuffer || ArrayBuffer.isView(module) ? module : await received(await module);
    const { instance } = await WebAssembly.instantiate(bytes, {});
    install(instance, shim());
}
