// What the tests share.

import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

export const golden = (name) => readFileSync(new URL(`../../../tests/golden/${name}`, import.meta.url));

/** Does something in a new folder. */
export async function inFolder(use) {
    const folder = await mkdtemp(join(tmpdir(), "undertone-"));
    try {
        return await use((name) => join(folder, name));
    } finally {
        await rm(folder, { recursive: true });
    }
}

/**
 * Says that a case of tests/faces runs: tests/faces/ran.sh compares the lists with what is said.
 */
export const ran = (name) => console.log(`case ${name}`);

/** A case of tests/faces/misuse.md. */
export const misuse = (name, run) =>
    test(name, () => {
        ran(name);
        return run();
    });
