// The package in a browser: ledgers in IndexedDB, tabs that share one, and tabs that are killed.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, test } from "node:test";

import { golden } from "./common.mjs";
import { chromium } from "./chromium.mjs";

const FILES = {
    "/": ["text/html", "<!doctype html><title>test</title>"],
    "/day.mjs": ["text/javascript", readFileSync(new URL("day.mjs", import.meta.url))],
    "/golden-scores.pack": ["application/octet-stream", golden("golden-scores.pack")],
};
// A service worker has no XMLHttpRequest and may not await at its top level; a classic one may not
// import.
const WORKER = `
    const started = undertone.start(fetch("/undertone.wasm"));
    onmessage = async ({ data: { pack, text }, ports: [port] }) => {
        await started;
        const document = new undertone.Document(new undertone.Pack(pack));
        document.pushText(text);
        port.postMessage(document.release(undertone.Grant.unrecorded("sentence", 1)).bytes.length);
    };`;
FILES["/classic.js"] = ["text/javascript", `importScripts("/cjs/bare.js"); ${WORKER}`];
FILES["/module.js"] = ["text/javascript", `import * as undertone from "/bare.js"; ${WORKER}`];
for (const name of ["bare.js", "browser.js", "cjs/bare.js", "undertone.wasm"]) {
    const type = name.endsWith(".js") ? "text/javascript" : "application/wasm";
    FILES[`/${name}`] = [type, readFileSync(new URL(`../dist/${name}`, import.meta.url))];
}

let server, browser, address;
before(async () => {
    server = createServer(({ url }, response) => {
        const [path] = url.split("?");
        const [type, content] = FILES[path] ?? ["text/plain", ""];
        response.writeHead(path in FILES ? 200 : 404, { "Content-Type": type }).end(content);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    address = `http://127.0.0.1:${server.address().port}/`;
    browser = await chromium();
});
after(async () => {
    await browser.close();
    server.close();
});

async function tab() {
    const page = await browser.newPage();
    await page.goto(address);
    await page.evaluate(async () => {
        window.undertone = await import("/browser.js");
    });
    return page;
}

/** Opens a ledger in a page. A browser takes a while to unlock what a tab had that is gone. */
const open = (page, how) =>
    page.evaluate(
        (how) =>
            (async function again() {
                const opened = new Function(`return undertone.Ledger.${how}`)();
                const ledger = await opened.catch((error) => (error.code === "LEDGER_IN_USE" ? again() : Promise.reject(error)));
                return (window.ledger = ledger);
            })().then(() => {}),
        how,
    );

/** The code of the error that a piece of the page ends with, or its result. */
const codeOf = (page, code) =>
    page.evaluate((code) => new Function(`return (async () => { ${code} })()`)().catch((error) => error.code ?? `${error}`), code);

test("a day of a keyboard", async () => {
    const page = await tab();
    const steps = await page.evaluate(async () => {
        const { keyboardDay } = await import("/day.mjs");
        const pack = new Uint8Array(await (await fetch("/golden-scores.pack")).arrayBuffer());
        // What is stored, past the package.
        const entry = (mode, use) =>
            new Promise((resolve, reject) => {
                const request = indexedDB.open("undertone");
                request.onerror = () => reject(request.error);
                request.onsuccess = () => {
                    const transaction = request.result.transaction("ledgers", mode);
                    const result = use(transaction.objectStore("ledgers"));
                    transaction.oncomplete = () => {
                        request.result.close();
                        resolve(result.result);
                    };
                };
            });
        const stored = {
            read: () => entry("readonly", (store) => store.get("day")),
            write: (bytes) => entry("readwrite", (store) => store.put(bytes, "day")),
        };
        return keyboardDay(window.undertone, pack, "day", stored);
    });
    const day = readFileSync(new URL("../../../tests/faces/keyboard-day.md", import.meta.url), "utf8");
    assert.deepEqual(steps.toSorted(), [...day.matchAll(/^\| `(\w+)`/gm)].map((row) => row[1]).toSorted());
    await page.close();
});

test("what is not the module does not start", async () => {
    // Not a tab of the others, in which the package has started.
    const page = await browser.newPage();
    await page.goto(address);
    const codes = await page.evaluate(async () => {
        const { start } = await import("/bare.js");
        const code = (name) => start(fetch(name)).then(() => "started", (error) => error.code);
        return [await code("/nowhere"), await code("/golden-scores.pack"), await code("/undertone.wasm")];
    });
    assert.deepEqual(codes, ["NOT_STARTED", "NOT_STARTED", "started"]);
    await page.close();
});

test("service workers release, whichever kind they are", async () => {
    const page = await browser.newPage();
    await page.goto(address);
    for (const type of ["classic", "module"]) {
        const length = await page.evaluate(async (type) => {
            const { active, installing, waiting } = await navigator.serviceWorker.register(`/${type}.js`, { type });
            const pack = new Uint8Array(await (await fetch("/golden-scores.pack")).arrayBuffer());
            const { port1, port2 } = new MessageChannel();
            const answer = new Promise((resolve) => (port1.onmessage = ({ data }) => resolve(data)));
            (installing ?? waiting ?? active).postMessage({ pack, text: "It snows." }, [port2]);
            return answer;
        }, type);
        assert.equal(length, 24, type);
    }
    await page.close();
});

test("bytes and the module of an iframe are taken", async () => {
    const page = await browser.newPage();
    await page.goto(address);
    const count = await page.evaluate(async () => {
        const frame = document.body.appendChild(document.createElement("iframe")).contentWindow;
        const { Pack, start } = await import("/bare.js?frame");
        const fetched = async (name) => frame.Uint8Array.from(new Uint8Array(await (await fetch(name)).arrayBuffer()));
        await start((await fetched("/undertone.wasm")).buffer);
        const bytes = await fetched("/golden-scores.pack");
        return [bytes instanceof Uint8Array, new Pack(bytes).candidateCount > 1];
    });
    assert.deepEqual(count, [false, true]);
    await page.close();
});

test("tabs share a ledger", async () => {
    const [first, second] = [await tab(), await tab()];
    await open(first, `openOrCreate("tabs", "sentence", 10)`);
    assert.equal(await codeOf(second, `await undertone.Ledger.open("tabs", "sentence")`), "LEDGER_IN_USE");
    assert.equal(await codeOf(second, `await undertone.Ledger.recreateSpent("tabs", "sentence", 10)`), "LEDGER_IN_USE");
    const closed = await codeOf(first, `await ledger.spend(4, { window: 20000 }); await ledger.close(); await ledger.left(20000)`);
    assert.equal(closed, "CLOSED");
    // At once, without another try.
    assert.equal(await codeOf(second, `window.ledger = await undertone.Ledger.open("tabs", "sentence")`), undefined);
    assert.equal(await codeOf(second, `return ledger.left(20000)`), 6);
    // A tab that is closed, or crashes, unlocks.
    await second.close();
    await open(first, `open("tabs", "sentence")`);
    assert.equal(await codeOf(first, `return ledger.left(20000)`), 6);
    assert.equal(await codeOf(first, `await undertone.Ledger.open("none", "sentence")`), "LEDGER_MISSING");
    await first.close();
});

test("killed in the middle", async () => {
    let granted = 0;
    for (let round = 0; round < 4; round++) {
        const page = await tab();
        let here = 0;
        let enough;
        const spent = new Promise((resolve) => (enough = resolve));
        await page.exposeFunction("got", () => {
            here++;
            granted++;
            if (here > round) enough();
        });
        await open(page, `openOrCreate("killed", "sentence", 1000)`);
        await page.evaluate(() => {
            (async () => {
                const { ledger } = window;
                for (;;) {
                    await ledger.spend(1, { window: 20000 });
                    await window.got();
                }
            })();
        });
        await spent;
        await page.close({ runBeforeUnload: false });
    }
    const page = await tab();
    await open(page, `open("killed", "sentence")`);
    const left = await codeOf(page, `return ledger.left(20000)`);
    assert(granted >= 4);
    assert(left <= 1000 - granted, `${granted} grants, but ${left} of 1000 is left`);
    await page.close();
});

test("a grant waits for a strict transaction", async () => {
    const page = await tab();
    const order = await page.evaluate(async () => {
        const { Ledger } = window.undertone;
        const ledger = await Ledger.openOrCreate("strict", "sentence", 10);
        const order = [];
        const { transaction } = IDBDatabase.prototype;
        IDBDatabase.prototype.transaction = function (...options) {
            const made = transaction.apply(this, options);
            if (made.mode === "readwrite") made.addEventListener("complete", () => order.push(made.durability));
            return made;
        };
        await ledger.spend(1);
        order.push("granted");
        await ledger.close();
        return order;
    });
    assert.deepEqual(order, ["strict", "granted"]);
    await page.close();
});
