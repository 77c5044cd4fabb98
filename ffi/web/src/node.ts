import { readFileSync } from "node:fs";
import { join } from "node:path";

import { files } from "./file.js";
import { storeIn } from "./ledger.js";
import { install, shim } from "./wasm.js";

export * from "./api.js";

storeIn(files);
const module = new WebAssembly.Module(readFileSync(join(__dirname, "undertone.wasm")));
install(new WebAssembly.Instance(module, {}), shim());
