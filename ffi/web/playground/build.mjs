// Writes the playground, one file: node build.mjs LAWS.wasm PACK TOPICS.tsv TEXT.txt OUT.html

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

import { writePage } from "../scripts/page.mjs";

const [laws, pack, topics, text, out] = process.argv.slice(2);
const here = (name) => new URL(name, import.meta.url).pathname;
const compressed = (path) => gzipSync(readFileSync(path), { level: 9 }).toString("base64");
const escaped = (content) => content.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

const size = writePage(out, {
    template: here("index.html"),
    script: here("page.ts"),
    style: here("page.css"),
    parts: {
        TEXT: escaped(readFileSync(text, "utf8").trim()),
        WASM: compressed(here("../dist/undertone.wasm")),
        LAWS: compressed(laws),
        PACK: compressed(pack),
        TOPICS: compressed(topics),
    },
});
console.log(`${out}: ${size} bytes`);
if (size > 4_000_000) throw new Error("the playground must not exceed 4 MB");
