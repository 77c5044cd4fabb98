// The example of interests in a browser, from its file: INTERESTS=interests.html SHOTS=folder
// node --test interests.mjs
//
// SHOTS is where pictures go, for people. Chance: false alarm 10^-10, miss none. A share that the
// simulated server estimates is eight standard errors from the true one.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { chromium, click } from "./chromium.mjs";

const PAGE = pathToFileURL(process.env.INTERESTS).href;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core"), "utf8");
const EXAMPLE = new URL("../examples/interests/", import.meta.url);
const { attributes } = JSON.parse(readFileSync(new URL("interests.json", EXAMPLE), "utf8"));
const FORM = readFileSync(new URL("interests.form", EXAMPLE));
const TOPICS = attributes.map(({ name }) => name);
const LEVELS = attributes[0].categories;
const BROWSERS = 100_000;

const VIEWPORTS = {
    phone: { width: 390, height: 844, isMobile: true, hasTouch: true, deviceScaleFactor: 2 },
    desktop: { width: 1280, height: 900 },
};

let browser;
before(async () => (browser = await chromium()));
after(() => browser.close());

/** Opens the page offline, as a new person, and notes all that it asks for and complains about. */
async function open(viewport = VIEWPORTS.desktop) {
    const context = await browser.createBrowserContext();
    const page = await context.newPage();
    const [asked, complaints] = [[], []];
    page.on("request", (request) => asked.push(request.url()));
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(`${error}`));
    await page.setViewport(viewport);
    await page.setOfflineMode(true);
    await page.goto(PAGE);
    await page.waitForSelector("#interests:not([hidden])");
    return { context, page, asked, complaints };
}

const text = (page, id) => page.$eval(`#${id}`, (element) => element.textContent);
const cells = (page, id) =>
    page.$$eval(`#${id} tr`, (rows) => rows.map(({ cells }) => [...cells].map((cell) => cell.textContent)));
const said = (page, id) => page.waitForFunction((id) => document.getElementById(id).textContent !== "", {}, id);
const number = (shown) => Number(shown.replace("\u00a0%", "")) / (shown.endsWith("%") ? 100 : 1);

test("one answer leaves, and no more that day", async () => {
    const { context, page, asked, complaints } = await open();
    const button = `#topics button:nth-child(2)`;
    for (const [clicks, level] of [[0, "none"], [1, "low"], [2, "low"], [3, "medium"], [5, "medium"], [6, "high"]]) {
        const found = () => page.$eval(button, (element) => element.textContent);
        while (!(await found()).includes(` ${clicks} click`)) await click(page, button);
        assert.match(await found(), new RegExp(`: ${clicks} clicks?, level ${level}$`));
    }
    await click(page, "#release");
    await said(page, "budget");
    const [bytes, topic, answer, epsilon, form] = (await cells(page, "fields")).map(([, value]) => value);
    assert.match(bytes, /^555452010a[0-9a-f]{38}$/);
    assert(TOPICS.includes(topic) && [...LEVELS, "no answer"].includes(answer), `${topic}: ${answer}`);
    assert.deepEqual([epsilon, form], ["5.96", Buffer.from(FORM.subarray(32, 40)).toString("hex")]);
    assert.match(await text(page, "learns"), new RegExp(`99\\.0\u00a0% that the level of ${topic} is`));
    assert.equal(await text(page, "budget"), "0 of 5.96 is left today.");
    await click(page, "#release");
    await page.waitForFunction(() => document.getElementById("learns").textContent.startsWith("Nothing left"));
    await page.reload();
    await page.waitForSelector("#interests:not([hidden])");
    await click(page, "#release");
    await said(page, "budget");
    assert.equal(await text(page, "learns"), "Nothing left: the budget of today is spent.");
    assert.deepEqual(asked.filter((url) => url !== PAGE && !url.startsWith("data:")), []);
    assert.deepEqual(complaints, []);
    await context.close();
});

test("by the keyboard alone", async () => {
    const { context, page } = await open();
    const seen = [];
    for (let i = 0; i < 20 && seen.at(-1) !== "simulate"; i++) {
        await page.keyboard.press("Tab");
        seen.push(await page.evaluate(() => document.activeElement.id || document.activeElement.textContent));
        if (seen.at(-1) === "sport: 0 clicks, level none") await page.keyboard.press("Enter");
        if (seen.at(-1) === "release") {
            await page.keyboard.press("Space");
            await said(page, "budget");
        }
    }
    assert.equal(seen.at(-1), "simulate");
    const sport = await page.$eval("#topics button:nth-child(7)", (button) => button.textContent);
    assert.equal(sport, "sport: 1 click, level low");
    assert(await page.$eval("#what-left", (table) => !table.hidden));
    await context.close();
});

/** n times the variance of an estimated share; `parts`: one of so many parts of the browsers is asked. */
const variance = (p, q, parts, share) =>
    (parts * (share * p * (1 - p) + (1 - share) * q * (1 - q))) / (p - q) ** 2 + (parts - 1) * share * (1 - share);

/** p, q and parts of one answer, of bits with p = 0.92, and of bits at the same epsilon. */
const LAWS = (() => {
    const all = Math.exp(5.96) + LEVELS.length;
    return [[Math.exp(5.96) / all, 1 / all, 8], [0.92, 0.0288, 1], [0.5, 1 / (Math.exp(5.96 / 8) + 1), 1]];
})();
const error = (law, share) => Math.sqrt(variance(...law, share) / BROWSERS);

test("errors are as the page says", async () => {
    const { context, page } = await open();
    const compared = await cells(page, "comparison");
    assert.deepEqual(compared[1].slice(1), ["5.96", "47.7", "5.96"]);
    for (const [row, share] of [[2, 0], [3, 0.01], [4, 0.1]]) {
        assert.deepEqual(compared[row].slice(1), LAWS.map((law) => `${(100 * error(law, share)).toFixed(3)}\u00a0%`));
        assert(error(LAWS[0], share) < error(LAWS[2], share), "bits at the same epsilon err more");
    }
    // "below about 0.2 %", and the table of README.md.
    assert(error(LAWS[0], 0.0019) < error(LAWS[1], 0.0019) && error(LAWS[0], 0.0022) > error(LAWS[1], 0.0022));
    const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
    for (const law of LAWS) {
        const row = [0, 0.01, 0.1].map((share) => Math.sqrt(variance(...law, share)).toPrecision(3)).join(" | ");
        assert(readme.includes(`| ${row} |`), row);
    }
    await context.close();
});

for (const [device, viewport] of Object.entries(VIEWPORTS)) {
    test(`what the server sees, on a ${device}`, { timeout: 300_000 }, async () => {
        const { context, page, complaints } = await open(viewport);
        await click(page, "#release");
        await said(page, "budget");
        await click(page, "#simulate");
        await page.waitForSelector("#estimates:not([hidden])", { timeout: 280_000 });
        assert.equal(await text(page, "done"), "The server has an answer of each of 100,000 browsers.");
        for (const level of LEVELS) {
            await page.select("#level", level);
            const shares = await cells(page, "shares");
            assert.deepEqual(shares.map(([topic]) => topic), TOPICS);
            for (const [topic, truth, ...seen] of shares) {
                for (const [law, share] of seen.entries()) {
                    // Both are rounded to a thousandth.
                    const bound = 8 * error(LAWS[law], number(truth)) + 0.001;
                    const off = Math.abs(number(share) - number(truth));
                    assert(off < bound, `${topic}, ${level}: ${share} of ${truth}, law ${law}`);
                }
            }
        }
        const measured = (await cells(page, "comparison")).at(-1).slice(1).map(number);
        assert(measured[1] < measured[0] && measured[0] < measured[2], `${measured}`);

        for (const scheme of ["light", "dark"]) {
            await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
            if (process.env.SHOTS) {
                const path = `${process.env.SHOTS}/interests-${device}-${scheme}.png`;
                await page.screenshot({ path, fullPage: true });
            }
            // By the driver, past the policy.
            await page.evaluate(AXE);
            const { violations, passes } = await page.evaluate(() => window.axe.run());
            assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
            assert(passes.length > 20);
            const wider = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
            assert(wider <= 0, `the page is ${wider} pixels wider than the screen`);
        }
        assert(await page.$eval("#estimates", (estimates) => !estimates.hidden));
        assert.deepEqual(complaints, []);
        await context.close();
    });
}
