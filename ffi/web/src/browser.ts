import { start } from "./bare.js";

export * from "./bare.js";

await start(fetch(new URL("./undertone.wasm", import.meta.url)));
