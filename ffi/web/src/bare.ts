// The package for browsers and workers, without the module: for pages that may fetch nothing, or load it in a way of their own.

import { storeIn } from "./ledger.js";
import { indexedDb } from "./indexeddb.js";
import { install, installed, shim } from "./wasm.js";

export * from "./api.js";

storeIn(indexedDb);

/**
 * Makes the package usable. Later calls do nothing.
 *
 * @param module the bytes of undertone.wasm, or a response with them
 */
export async function start(module: BufferSource | Response | Promise<Response>): Promise<void> {
    if (installed()) return;
    const bytes = module instanceof ArrayBuffer || ArrayBuffer.isView(module) ? module : (await module).arrayBuffer();
    const { instance } = await WebAssembly.instantiate(await bytes, {});
    install(instance, shim());
}
