// How many times a second the playground computes and shows the exact laws while epsilon is
// dragged: node rate.mjs PLAYGROUND.html

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { chromium, click } from "../tests/chromium.mjs";

const browser = await chromium();
const page = await browser.newPage();
await page.goto(pathToFileURL(resolve(process.argv[2])).href);
await page.waitForSelector("#playground:not([hidden])");
await click(page, "#sentences button");
const rate = await page.evaluate(() => {
    const slider = document.getElementById("epsilon");
    const start = performance.now();
    let done = 0;
    // Each is an exact law, two with a replaced sentence, and the table as it is laid out.
    for (; performance.now() - start < 1000; done++) {
        slider.value = done % 1000;
        slider.dispatchEvent(new Event("input"));
        void document.getElementById("chances").offsetHeight;
    }
    return (1000 * done) / (performance.now() - start);
});
await browser.close();
console.log(`${Math.round(rate)} times a second two exact laws and their bars`);
