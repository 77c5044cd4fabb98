// Writes the example, one file: node build.mjs OUT.html

import { writePage } from "../../scripts/page.mjs";

const here = (name) => new URL(name, import.meta.url).pathname;

const [template, script, style] = ["index.html", "interests.mjs", "interests.css"].map(here);
writePage(process.argv[2], { template, script, style });
