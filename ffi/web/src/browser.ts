import { UndertoneError, start } from "./bare.js";

export * from "./bare.js";

async function beside(): Promise<Response> {
    try {
        return await fetch(new URL("./undertone.wasm", import.meta.url));
    } catch (cause) {
        const advice = "import undertone/bare, and call start with undertone/undertone.wasm";
        throw new UndertoneError("NOT_STARTED", `undertone.wasm cannot be fetched from beside the package: ${advice}`, { cause });
    }
}

await start(beside());
