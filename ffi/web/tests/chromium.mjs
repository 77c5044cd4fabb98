import puppeteer from "puppeteer-core";

/** Starts Debian's Chromium, or the one that CHROMIUM names. */
export const chromium = () =>
    puppeteer.launch({
        executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
        // The sandbox needs what a container may lack, and the pages are ours.
        args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
    });

/** Clicks the element where it is once it no longer moves: what a page shows above may push it out of view. */
export const click = (page, selector) => page.locator(selector).click();
