// Writes the example, one file: node build.mjs OUT.html

import { writePage } from "../../scripts/page.mjs";

const here = (name) => new URL(name, import.meta.url).pathname;

writePage(process.argv[2], { template: here("index.html"), script: here("interests.mjs"), style: here("interests.css") });
