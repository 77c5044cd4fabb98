import puppeteer from "puppeteer-core";

/** Starts Debian's Chromium, or the one that CHROMIUM names. */
export const chromium = () =>
    puppeteer.launch({
        executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
        // The sandbox needs what a container may lack, and the pages are ours.
        args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
    });

/** Clicks an element in the middle of the window, once it no longer moves: what a page shows above may push it away. */
export async function click(page, selector) {
    await page.$eval(selector, (element) => element.scrollIntoView({ block: "center" }));
    await page.locator(selector).click();
}
