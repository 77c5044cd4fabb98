// The playground in a browser, from its file: PLAYGROUND=playground.html SHOTS=folder node --test
// playground.mjs
//
// SHOTS is where pictures go, for people.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { chromium, click } from "./chromium.mjs";

const PAGE = pathToFileURL(process.env.PLAYGROUND).href;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core"), "utf8");
const PHONE = { width: 390, height: 844, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };
const DESKTOP = { width: 1280, height: 900 };

let browser;
before(async () => (browser = await chromium()));
after(() => browser.close());

/**
 * Opens the playground, after `first` ran in it, and notes all that it asks for and complains
 * about.
 */
async function open(viewport = DESKTOP, scheme = "light", first = () => {}) {
    const page = await browser.newPage();
    await page.evaluateOnNewDocument(first);
    const asked = [], complaints = [];
    page.on("request", (request) => asked.push(request.url()));
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(`${error}`));
    await page.setViewport(viewport);
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await page.setOfflineMode(true);
    await page.goto(PAGE);
    await page.waitForSelector("#playground:not([hidden])");
    return { page, asked, complaints };
}

const text = (page, id) => page.$eval(`#${id}`, (element) => element.textContent);
const setText = (page, value) =>
    page.$eval("#text", (area, value) => {
        area.value = value;
        area.dispatchEvent(new Event("input"));
    }, value);
const setEpsilon = (page, value) =>
    page.$eval("#epsilon", (slider, value) => {
        slider.value = (1000 * Math.log(value / 0.05)) / Math.log(400);
        slider.dispatchEvent(new Event("input"));
    }, value);
/** The chances as shown, by topic. */
const chances = async (page) =>
    Object.fromEntries(
        await page.$$eval("#chances tr:not([hidden])", (rows) =>
            rows.map((row) => [row.cells[0].textContent, row.cells[1].textContent]),
        ),
    );

test("nothing leaves the page", async () => {
    const { page, asked, complaints } = await open();
    await setText(page, "My doctor wants to repeat the blood test.");
    await click(page, "#draw");
    assert.match(await text(page, "policy"), /default-src 'none'/);
    const own = asked.filter((url) => url !== PAGE && !url.startsWith("data:"));
    assert.deepEqual(own, []);
    assert.deepEqual(complaints, []);
    // Online, and it asks to: refused by the policy, and by nothing else.
    await page.setOfflineMode(false);
    await click(page, "#try");
    await page.waitForFunction(() => document.getElementById("refused").textContent !== "");
    assert.equal(await text(page, "refused"), "The browser refused: connect-src is 'none'.");
    assert.deepEqual(asked.filter((url) => url !== PAGE && !url.startsWith("data:")), []);
    await page.close();
});

test("what the policy does not cover, the page does not do", async () => {
    const { page } = await open();
    const { scripts, links, addresses } = await page.evaluate(() => ({
        scripts: [...document.scripts].filter(({ type }) => type === "").map(({ textContent }) => textContent),
        links: [...document.querySelectorAll("link")].map(({ href }) => href),
        addresses: [...document.querySelectorAll("a, area, form, iframe, meta[http-equiv=refresh]")].map((one) => one.getAttribute("href")),
    }));
    assert.equal(scripts.length, 1);
    assert.doesNotMatch(scripts[0], /RTC|WebTransport|\blocation\b|\bopen\(["'`]|window\.open|preconnect|prefetch/);
    assert.deepEqual(links, ["data:,"]);
    assert.deepEqual(addresses, ["#proof"]);
    const typed = await page.$$eval("textarea, input[type=text]", (fields) =>
        fields.map((field) => ["spellcheck", "autocomplete", "autocorrect", "autocapitalize"].map((name) => field.getAttribute(name))),
    );
    assert.deepEqual(typed, Array(2).fill(["false", "off", "off", "off"]));
    await page.close();
});

test("chances are those of the law", async () => {
    const { page } = await open();
    // As `undertone demo` prints them for the same letter, which is there at first.
    await setEpsilon(page, 1);
    assert.equal(await text(page, "epsilon-value"), "1");
    assert.match((await chances(page))["health-clinic"], /^9[67]\.\d %$/);
    // By the whole text: e^3 / (e^3 + 12).
    await click(page, "#whole-text");
    await setEpsilon(page, 3);
    assert.equal((await chances(page))["health-clinic"], `${((100 * Math.exp(3)) / (Math.exp(3) + 12)).toFixed(1)} %`);
    assert.match(await text(page, "devices"), /626 ± 31 times health-clinic .*: each alone is right at least 95 % .* Of these two, /);
    // The whole text each day: a name of chance p is ahead of one of chance q in all but a few months.
    assert.match(await text(page, "month"), /they promise only ε = 90 for the text\. They name health-clinic .* > 99\.999 %/);
    // All but sure, and still numbers.
    await setEpsilon(page, 20);
    assert.match(await text(page, "devices"), /1000 ± 1 times health-clinic and 0 ± 1 times .* more than 99\.999 %/);
    await setEpsilon(page, 3);
    // Nothing known.
    await setText(page, "Xqzt.");
    assert.match((await chances(page))["nothing known"], /^62\.6 %$/);
    // An empty document: all are as likely, and that is a release, too.
    await click(page, "#sentence");
    await setText(page, "");
    assert.equal(new Set(Object.values(await chances(page))).size, 1);
    await click(page, "#draw");
    assert.equal(await page.$$eval("#fields tr", (rows) => rows.length), 8);
    // Too long: what is left out is said.
    await setText(page, "It rains. ".repeat(130));
    assert.match(await text(page, "count"), /^128 sentences; 2 more are left out/);
    await page.close();
});

test("a sentence is replaced", async () => {
    const { page } = await open();
    await setText(page, "My doctor wants to repeat the blood test. The clinic called about the swollen node. It rains.");
    await setEpsilon(page, 2);
    await click(page, "#sentences li:nth-child(2) button");
    assert.equal(await text(page, "which"), "2");
    for (let i = 0; i < 12; i++) {
        const [, found, limit] = /by a factor of ([\d.]+)\. No sentence could change any by more than ([\d.]+)\./.exec(
            await text(page, "change"),
        );
        assert.equal(limit, Math.exp(2).toFixed(2));
        assert(Number(found) > 1 && Number(found) <= Number(limit), `${found} of ${limit}`);
        await click(page, "#another");
    }
    await click(page, "#sentences li:nth-child(3) button");
    assert.deepEqual(
        await page.$$eval("#sentences li > button", (all) => all.map((button) => button.ariaPressed)),
        ["false", "false", "true"],
    );
    assert.equal(await text(page, "which"), "3");
    await click(page, "#back");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "It rains.");
    assert.equal(await page.$$eval("#sentences [aria-pressed=true]", (all) => all.length), 0);
    await page.close();
});

test("by the keyboard alone", async () => {
    const { page } = await open();
    const seen = [];
    for (let i = 0; i < 60; i++) {
        await page.keyboard.press("Tab");
        const id = await page.evaluate(() => document.activeElement.id || document.activeElement.tagName);
        seen.push(id);
        if (id === "epsilon") {
            const before = await text(page, "epsilon-value");
            await page.keyboard.press("ArrowRight");
            await page.keyboard.press("PageUp");
            assert.notEqual(await text(page, "epsilon-value"), before);
        }
        if (id === "sentence") await page.keyboard.press("ArrowDown");
        if (id === "draw") await page.keyboard.press("Enter");
        if (id === "try") break;
    }
    for (const id of ["text", "sentence", "epsilon", "draw", "try"]) assert(seen.includes(id), `${id} is not in ${seen}`);
    assert.match(await text(page, "fields"), /by the whole text/);
    await click(page, "#sentences li:nth-child(1) button");
    await page.focus("#another");
    await page.keyboard.press("Space");
    assert.match(await text(page, "change"), /changes most/);
    await page.close();
});

for (const [device, viewport] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
    for (const scheme of ["light", "dark"]) {
        test(`accessible on a ${device}, ${scheme}`, async () => {
            const { page } = await open(viewport, scheme);
            for (const state of ["at first", "compared"]) {
                if (state === "compared") {
                    await click(page, "#sentences li:nth-child(3) button");
                    await click(page, "#draw");
                    // The slider, which stays in view, did not take the clicks.
                    assert(await page.$("#replacing:not([hidden])") && (await page.$("#release:not([hidden])")));
                }
                if (process.env.SHOTS) {
                    const path = `${process.env.SHOTS}/${device}-${scheme}-${state.replace(" ", "-")}.png`;
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
            await page.close();
        });
    }
}

// scripts/rate.mjs measures how many a second that is.
test("dragging epsilon reads no text again", async () => {
    const { page } = await open(DESKTOP, "light", () => {
        const { instantiate } = WebAssembly;
        window.calls = {};
        WebAssembly.instantiate = async (...module) => {
            const made = await instantiate(...module);
            // Of a compiled module, it gives the instance itself.
            const instance = made.instance ?? made;
            if (!instance.exports.laws_of_text) return made;
            const counted = (name, value) => (...given) => ((window.calls[name] = (window.calls[name] ?? 0) + 1), value(...given));
            const exports = Object.fromEntries(
                Object.entries(instance.exports).map(([name, value]) =>
                    [name, value instanceof Function ? counted(name, value) : value]),
            );
            return made.instance ? { instance: { exports } } : { exports };
        };
    });
    await click(page, "#sentences button");
    const [before, after] = await page.evaluate(() => {
        const [before, slider] = [{ ...window.calls }, document.getElementById("epsilon")];
        for (let place = 0; place < 100; place++) {
            slider.value = 10 * place;
            slider.dispatchEvent(new Event("input"));
        }
        return [before, window.calls];
    });
    assert(before.laws_of_text > 0 && before.laws_read > 1);
    // The text, and the text with a sentence replaced.
    assert.equal(after.laws_of_text - before.laws_of_text, 200);
    assert.equal(after.laws_output - before.laws_output, 200);
    const { laws_of_text: laws, laws_output: outputs, ...rest } = after;
    assert.deepEqual({ ...rest, laws_of_text: before.laws_of_text, laws_output: before.laws_output }, before);
    await page.close();
});
