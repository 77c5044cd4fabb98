// Writes src/numbers.ts: the numbers of undertone.h, so that they are written down once.
//
//     node numbers.mjs undertone.h numbers.ts

import { readFileSync, writeFileSync } from "node:fs";

const [header, out] = process.argv.slice(2);
const constants = [...readFileSync(header, "utf8").matchAll(/^#define UNDERTONE_(\w+) (\d+)$/gm)];
if (constants.length < 80) throw new Error(`${header} has only ${constants.length} constants`);

const lines = (prefix) =>
    constants
        .filter(([, name]) => name.startsWith(prefix))
        .map(([, name, value]) => `    ${name.slice(prefix.length)}: ${value},\n`)
        .join("");
const rest = constants.filter(([, name]) => !name.startsWith("STATUS_"));
writeFileSync(
    out,
    "// Generated from undertone.h by scripts/numbers.mjs; do not edit.\n\n" +
        `export const STATUS = {\n${lines("STATUS_")}} as const;\n` +
        rest.map(([, name, value]) => `export const ${name} = ${value};\n`).join(""),
);
