// Runs link.c as WebAssembly: node wasm.mjs MODULE PACK prints one release.
import { randomFillSync } from 'node:crypto';
import { readFileSync } from 'node:fs';

const [module, pack] = process.argv.slice(2).map((path) => readFileSync(path));
const bytes = (start, length) => new Uint8Array(library.memory.buffer, start, length);
const library = new WebAssembly.Instance(new WebAssembly.Module(module), {
    env: { entropy: (out, length) => void randomFillSync(bytes(out, length)) },
}).exports;

const text = new TextEncoder().encode('The clinic called about the swollen node under my arm.');
bytes(library.pack_start(), pack.length).set(pack);
bytes(library.text_start(), text.length).set(text);
const status = library.run(pack.length, text.length);
if (status !== 0) {
    throw new Error(`status ${status}`);
}
const release = Buffer.from(bytes(library.release_start(), 24)).toString('hex');
console.log(`{"id": "wasm", "release": "${release}"}`);
