// Writes a page as one file, which needs no network.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

import { buildSync } from "esbuild";

const hash = (content) => `'sha256-${createHash("sha256").update(content).digest("base64")}'`;

/**
 * Writes `template` to `out`, with a script and a style for the words SCRIPT and STYLE, their policy
 * for POLICY, and `parts` for the words that are their names. Returns the size.
 *
 * What the policy does not name is not fetched. Scripts and styles are these alone, by their hashes.
 * Browsers have no directive for navigation, and Chromium none for WebRTC.
 */
export function writePage(out, { template, script: entry, style: sheet, parts = {} }) {
    const loader = { ".wasm": "binary", ".form": "binary" };
    const format = { bundle: true, format: "iife", target: "es2022", minify: true };
    const script = buildSync({ entryPoints: [entry], ...format, loader, write: false }).outputFiles[0].text.replaceAll("</script", "<\\/script");
    const style = readFileSync(sheet, "utf8");
    const policy =
        `default-src 'none'; connect-src 'none'; form-action 'none'; base-uri 'none'; img-src data:; ` +
        `script-src ${hash(script)} 'wasm-unsafe-eval'; style-src ${hash(style)}`;
    const all = { POLICY: policy, STYLE: style, ...parts, SCRIPT: script };
    const names = new RegExp(Object.keys(all).join("|"), "g");
    const page = readFileSync(template, "utf8").replace(names, (name) => all[name]);
    writeFileSync(out, page);
    return Buffer.byteLength(page);
}
