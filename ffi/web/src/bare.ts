// The package for browsers and workers, without the module, which `start` gets: for service
// workers, bundles that move files, and pages that may fetch nothing.

import { isBuffer } from "./arguments.js";
import { UndertoneError } from "./errors.js";
import { indexedDb } from "./indexeddb.js";
import { storeIn } from "./ledger.js";
import { install, installed } from "./module.js";

export * from "./api.js";

storeIn(indexedDb);

/**
 * The bytes of a response, or an error if they are not the module: a server may answer with a page
 * that it is not there.
 */
async function received(response: Response): Promise<BufferSource> {
    const bytes = new Uint8Array(await response.arrayBuffer());
    const magic = [0x00, 0x61, 0x73, 0x6d];
    const ok = response.ok ?? true;
    if (ok && magic.every((byte, i) => bytes[i] === byte)) return bytes;
    const what = ok ? "no WebAssembly" : `status ${response.status}`;
    throw new UndertoneError(
        "NOT_STARTED",
        `${response.url || "what was given"} is not undertone.wasm (${what}); serve that file of the package there, and keep bundlers from moving the package away from it`,
    );
}

type Given = WebAssembly.Module | BufferSource | Response | Blob;

async function compiled(given: Given): Promise<WebAssembly.Module> {
    // By what it is, not by `instanceof`: it may come from another window or context.
    if (Object.prototype.toString.call(given) === "[object WebAssembly.Module]") return given as WebAssembly.Module;
    if (isBuffer(given)) return WebAssembly.compile(given);
    if (ArrayBuffer.isView(given)) {
        // Some engines take no DataView.
        return WebAssembly.compile(new Uint8Array(given.buffer as ArrayBuffer, given.byteOffset, given.byteLength));
    }
    if (typeof (given as Response | undefined)?.arrayBuffer === "function") {
        return WebAssembly.compile(await received(given as Response));
    }
    throw new TypeError("start takes undertone.wasm: its bytes, a Response or Blob with them, or a WebAssembly.Module");
}

/**
 * Makes the package usable. Later calls do nothing.
 *
 * @param module undertone.wasm: its bytes, a response or blob with them, or the compiled module
 * @param entropy entropy.wasm, compiled, for places that forbid to compile, such as Cloudflare Workers
 * @throws {UndertoneError} NOT_STARTED if a response is not that file
 */
export async function start(module: Given | Promise<Given>, entropy?: WebAssembly.Module): Promise<void> {
    if (installed()) return;
    install(await WebAssembly.instantiate(await compiled(await module), {}), entropy);
}
