// Writes the playground, one file: node build.mjs LAWS.wasm PACK TOPICS.tsv TEXT.txt OUT.html

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

import { buildSync } from "esbuild";

const [laws, pack, topics, text, out] = process.argv.slice(2);
const here = (name) => new URL(name, import.meta.url).pathname;
const compressed = (path) => gzipSync(readFileSync(path), { level: 9 }).toString("base64");
const hash = (content) => `'sha256-${createHash("sha256").update(content).digest("base64")}'`;
const escaped = (content) => content.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

const options = { entryPoints: [here("page.ts")], bundle: true, format: "iife", target: "es2022", minify: true, write: false };
const script = buildSync(options).outputFiles[0].text.replaceAll("</script", "<\\/script");
const style = readFileSync(here("page.css"), "utf8");
// What is not named here is not fetched. Scripts and styles are these alone, by their hashes.
// Browsers have no directive for navigation, and Chromium none for WebRTC: the page says so.
const policy =
    `default-src 'none'; connect-src 'none'; form-action 'none'; base-uri 'none'; img-src data:; ` +
    `script-src ${hash(script)} 'wasm-unsafe-eval'; style-src ${hash(style)}`;

const parts = {
    POLICY: policy,
    STYLE: style,
    TEXT: escaped(readFileSync(text, "utf8").trim()),
    WASM: compressed(here("../dist/undertone.wasm")),
    LAWS: compressed(laws),
    PACK: compressed(pack),
    TOPICS: compressed(topics),
    SCRIPT: script,
};
const page = readFileSync(here("index.html"), "utf8").replace(new RegExp(Object.keys(parts).join("|"), "g"), (part) => parts[part]);
writeFileSync(out, page);
const size = Buffer.byteLength(page);
console.log(`${out}: ${size} bytes`);
if (size > 4_000_000) throw new Error("the playground must not exceed 4 MB");
