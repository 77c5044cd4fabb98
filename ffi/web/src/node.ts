import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { UndertoneError } from "./errors.js";
import { files } from "./file.js";
import { storeIn } from "./ledger.js";
import { install } from "./module.js";

export * from "./api.js";

const FILE = "undertone.wasm";

/**
 * The module, which lies beside this file. A bundler may have moved this file into a program: then
 * the module is beside the program, or in the package that the program finds. Not in the working
 * directory, which may be anybody's.
 */
function wasm(): Uint8Array<ArrayBuffer> {
    const folders = [typeof __dirname === "string" ? __dirname : "", dirname(process.argv[1] ?? "")];
    for (const folder of folders.filter((folder) => folder !== "")) {
        for (const find of [join, (at: string) => createRequire(join(at, FILE)).resolve(`undertone/${FILE}`)]) {
            try {
                return readFileSync(find(folder, FILE));
            } catch {
                // The next place.
            }
        }
    }
    throw new UndertoneError(
        "NOT_STARTED",
        `${FILE} is not beside the program: copy it there, keep the package out of the bundle, or import undertone/bare and call start`,
    );
}

storeIn(files);
install(new WebAssembly.Instance(new WebAssembly.Module(wasm()), {}));
