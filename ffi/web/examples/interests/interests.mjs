// Clicks on topics become interest levels, and the answer about one topic leaves, once a day.

import { Form, Grant, Ledger, start } from "undertone/bare";
import wasm from "undertone/undertone.wasm";

import bytes from "./interests.form";
import { attributes } from "./interests.json";

const TOPICS = attributes.map(({ name }) => name);
const LEVELS = attributes[0].categories;
/** The fewest clicks of each level. */
const CLICKS = [0, 1, 3, 6];
const BROWSERS = 100_000;
const EPSILON = 5.96;

// --- The laws

/**
 * Unary encoding: a bit for each level of each topic, 1 with the chance p if the browser has this
 * level, else with the chance q. Each topic costs ln(p(1 - q) / ((1 - p)q)).
 */
const unary = (p, q) => ({ p, q, epsilon: TOPICS.length * Math.log((p * (1 - q)) / ((1 - p) * q)), parts: 1 });

const UNARY = unary(0.92, 0.0288);
/** The p and q that err least on rare levels when the whole vector costs EPSILON. */
const UNARY_SAME = unary(0.5, 1 / (Math.exp(EPSILON / TOPICS.length) + 1));
/** Randomised response over the levels and "no answer": p for the true one, q for each other. */
const ANSWER = (() => {
    const all = Math.exp(EPSILON) + LEVELS.length;
    return { p: Math.exp(EPSILON) / all, q: 1 / all, epsilon: EPSILON, parts: TOPICS.length };
})();

const estimated = ({ p, q }, share) => (share - q) / (p - q);

/** The standard error of an estimated share, if one browser in `parts` answers about the topic. */
function standardError({ p, q, parts }, share) {
    const noise = (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2;
    return Math.sqrt((parts * noise + (parts - 1) * share * (1 - share)) / BROWSERS);
}

/** The topic and the outcome in a release of order 1, which is randomised response (core/FORMAT.md). */
const read = ({ candidate }) => ({ topic: candidate >>> 24, outcome: candidate & 0xffffff });

// --- The page

const find = (id) => document.getElementById(id);
const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)}\u00a0%`;
const levelOf = (clicks) => CLICKS.findLastIndex((least) => clicks >= least);

function row(table, name, ...cells) {
    const added = find(table).insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = name;
    added.append(head);
    for (const cell of cells) added.insertCell().textContent = cell;
    return added;
}

function addTopics(clicks) {
    for (const [topic, name] of TOPICS.entries()) {
        const button = document.createElement("button");
        button.type = "button";
        const show = () => {
            const times = clicks[topic] === 1 ? "1 click" : `${clicks[topic]} clicks`;
            button.textContent = `${name}: ${times}, level ${LEVELS[levelOf(clicks[topic])]}`;
        };
        button.addEventListener("click", () => {
            clicks[topic]++;
            show();
        });
        show();
        find("topics").append(button);
    }
}

const showBudget = async (ledger) =>
    (find("budget").textContent = `${await ledger.left()} of ${EPSILON} is left today.`);

/** Spends the budget of the day, and releases one answer. */
async function release(form, clicks) {
    const ledger = await Ledger.openOrCreate("interests", "whole-text", EPSILON);
    try {
        const released = form.release(clicks.map(levelOf), await ledger.spend(EPSILON));
        const { topic, outcome } = read(released);
        find("fields").replaceChildren();
        row("fields", "the 24 bytes", released.toString());
        row("fields", "the topic, drawn without looking at a level", TOPICS[topic]);
        row("fields", "the answer, which may be noise", LEVELS[outcome] ?? "no answer");
        row("fields", "epsilon", `${released.epsilon}`);
        row("fields", "the form", released.packId);
        find("what-left").hidden = false;
        find("learns").textContent =
            `A server that expects each outcome alike now believes with ${percent(ANSWER.p)} that the level of ` +
            `${TOPICS[topic]} is this one. It learns nothing about the other ${TOPICS.length - 1} topics.`;
    } catch (error) {
        if (error.code !== "LEDGER_EXHAUSTED") throw error;
        find("learns").textContent = "Nothing left: the budget of today is spent.";
    } finally {
        await showBudget(ledger);
        await ledger.close();
    }
}

// --- A server and 100,000 browsers that do not exist, so Math.random is enough for what they do

/** The shares of the levels of a topic. */
const shares = (topic) => {
    const high = [0.02, 0.1, 0.05, 0.03, 0.15, 0.08, 0.2, 0.005][topic];
    return [1 - 4.5 * high, 2 * high, 1.5 * high, high];
};

function randomLevel(topic) {
    let rest = Math.random();
    const found = shares(topic).findIndex((share) => (rest -= share) < 0);
    return Math.max(found, 0);
}

const counts = () => TOPICS.map(() => LEVELS.map(() => 0));

async function simulate(form) {
    const [people, answers, bits, bitsSame] = [counts(), counts(), counts(), counts()];
    const asked = TOPICS.map(() => 0);
    for (let browser = 0; browser < BROWSERS; browser++) {
        const levels = TOPICS.map((_, topic) => randomLevel(topic));
        const grant = Grant.unrecorded("whole-text", EPSILON);
        const { topic, outcome } = read(form.release(levels, grant));
        grant.close();
        asked[topic]++;
        if (outcome < LEVELS.length) answers[topic][outcome]++;
        for (const [topic, level] of levels.entries()) {
            people[topic][level]++;
            for (let bit = 0; bit < LEVELS.length; bit++) {
                for (const [{ p, q }, ones] of [[UNARY, bits], [UNARY_SAME, bitsSame]]) {
                    if (Math.random() < (bit === level ? p : q)) ones[topic][bit]++;
                }
            }
        }
        if (browser % 500 === 499) {
            find("progress").value = (browser + 1) / BROWSERS;
            // Lets the page answer clicks.
            await new Promise((resolve) => setTimeout(resolve));
        }
    }
    const each = (value) => TOPICS.map((_, topic) => LEVELS.map((_, level) => value(topic, level)));
    return {
        truth: each((topic, level) => people[topic][level] / BROWSERS),
        seen: [
            each((topic, level) => estimated(ANSWER, answers[topic][level] / asked[topic])),
            each((topic, level) => estimated(UNARY, bits[topic][level] / BROWSERS)),
            each((topic, level) => estimated(UNARY_SAME, bitsSame[topic][level] / BROWSERS)),
        ],
    };
}

function showShares({ truth, seen }) {
    find("shares").replaceChildren();
    const level = find("level").selectedIndex;
    for (const [topic, name] of TOPICS.entries()) {
        row("shares", name, ...[truth, ...seen].map((of) => percent(of[topic][level])));
    }
}

/** The root of the mean square error of all shares. */
function rootMeanSquare(truth, seen) {
    const errors = truth.flatMap((of, topic) => of.map((share, level) => share - seen[topic][level]));
    return Math.sqrt(errors.reduce((sum, error) => sum + error ** 2, 0) / errors.length);
}

function showComparison() {
    const laws = [ANSWER, UNARY, UNARY_SAME];
    const cells = (show) => laws.map(show);
    row("comparison", "what leaves", "one answer", "a bit for each level", "a bit for each level");
    row("comparison", "epsilon of the eight levels together", ...cells(({ epsilon }) => epsilon.toPrecision(3)));
    for (const share of [0, 0.01, 0.1]) {
        const errors = cells((law) => percent(standardError(law, share), 3));
        row("comparison", `standard error of a share of ${percent(share, 0)}`, ...errors);
    }
    const all = TOPICS.length * LEVELS.length;
    return row("comparison", `root mean square error of the ${all} shares below`, ...cells(() => "–"));
}

async function main() {
    await start(wasm);
    const form = new Form(bytes);
    const clicks = TOPICS.map(() => 0);
    addTopics(clicks);
    for (const name of LEVELS) find("level").append(new Option(name));
    find("level").selectedIndex = LEVELS.length - 1;
    const measured = showComparison();
    const failed = (error) => (find("learns").textContent = `${error.message}`);
    find("release").addEventListener("click", () => release(form, clicks).catch(failed));
    find("simulate").addEventListener("click", async () => {
        find("simulate").disabled = true;
        find("running").hidden = false;
        const result = await simulate(form);
        find("running").hidden = true;
        find("simulate").disabled = false;
        const errors = result.seen.map((seen) => percent(rootMeanSquare(result.truth, seen), 3));
        errors.forEach((error, law) => (measured.cells[law + 1].textContent = error));
        find("level").onchange = () => showShares(result);
        showShares(result);
        find("estimates").hidden = false;
        find("done").textContent = `The server has an answer of each of ${BROWSERS.toLocaleString("en")} browsers.`;
    });
    find("loading").hidden = true;
    find("interests").hidden = false;
}

main().catch((error) => (find("loading").textContent = error.message));
