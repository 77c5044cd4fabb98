// The playground: the possible releases of a text, and their probabilities. The page fetches
// nothing; its content-security policy leaves it no way to.

import { Document, Grant, Pack, type Release, sentences, start } from "undertone/bare";

import { type Laws, MOST, loadLaws } from "./laws.js";

type Unit = "sentence" | "whole-text";
const UNITS = { sentence: 1, "whole-text": 2 };
const DEVICES = 1000;
const DAYS = 30;

const find = <T extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as T;

/** What the build put into the page, compressed. */
async function embedded(id: string): Promise<Uint8Array<ArrayBuffer>> {
    const element = find(id);
    const bytes = Uint8Array.from(atob(element.textContent!), (letter) => letter.charCodeAt(0));
    element.remove();
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** A chance: "68 %", "0.34 %". */
function percent(chance: number): string {
    const hundredths = 100 * chance;
    if (hundredths >= 99.9995) return "> 99.999 %";
    if (hundredths >= 99.95) return `${hundredths.toFixed(3)} %`;
    if (hundredths < 0.001) return "< 0.001 %";
    return `${hundredths >= 10 ? hundredths.toFixed(1) : hundredths.toPrecision(2)} %`;
}

/** A factor: "1.43", "22,026". */
const factor = (value: number) =>
    value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(2);

/** The chance that of two topics, which a release names with chances p and q, `count` releases name the first more often. */
function ahead(count: number, p: number, q: number): number {
    // A chance of 1 may be rounded up.
    const other = Math.max(1 - p - q, 0);
    // The law of how much more often, around the middle; it is negligible outside of low..=high.
    const law = new Float64Array(2 * count + 3);
    const middle = count + 1;
    law[middle] = 1;
    for (let release = 0, low = middle, high = middle; release < count; release++) {
        let before = 0;
        for (let i = --low; i <= high + 1; i++) {
            const here = law[i]!;
            law[i] = here * other + before * p + law[i + 1]! * q;
            before = here;
        }
        high++;
        for (; law[low]! < 1e-15 && low < high; low++) law[low] = 0;
        for (; law[high]! < 1e-15 && high > low; high--) law[high] = 0;
    }
    return law.subarray(middle + 1).reduce((sum, chance) => sum + chance, 0);
}

interface Topic {
    name: string;
    example: string;
}

class Playground {
    readonly #document: Document;
    readonly #rows: Row[];
    #sentences: string[] = [];
    /** The sentence that is replaced. */
    #replaced: number | undefined;
    #released = 0;
    #spent = 0;

    constructor(
        readonly laws: Laws,
        readonly pack: Pack,
        readonly topics: Topic[],
    ) {
        this.#document = new Document(pack);
        const names = [...topics.map(({ name }) => name), "nothing known"];
        this.#rows = names.map((name) => new Row(name, find("chances")));
        find("text").addEventListener("input", () => this.#read());
        // A screen reader reads the change once the slider rests.
        find("epsilon").addEventListener("input", () => {
            find("change").ariaLive = "off";
            this.#show();
        });
        find("epsilon").addEventListener("change", () => {
            find("change").ariaLive = "polite";
            this.#show();
        });
        for (const unit of ["sentence", "whole-text"]) find(unit).addEventListener("change", () => this.#forget());
        find("replacement").addEventListener("input", () => this.#replace());
        find("another").addEventListener("click", () => this.#another());
        find("back").addEventListener("click", () => {
            // Or the focus would go with the button.
            this.#buttons[this.#replaced ?? 0]?.focus();
            this.#choose(undefined);
        });
        find("draw").addEventListener("click", () => this.#draw());
        this.#read();
    }

    get #unit(): Unit {
        return find<HTMLInputElement>("sentence").checked ? "sentence" : "whole-text";
    }

    /** On a scale of powers, because ε 0.1 and 0.2 differ as 1 and 2 do; rounded as it is shown. */
    get #epsilon(): number {
        const place = find<HTMLInputElement>("epsilon").valueAsNumber / 1000;
        return Number((0.05 * 400 ** place).toPrecision(2));
    }

    #read(): void {
        const text = find<HTMLTextAreaElement>("text").value;
        const all = sentences(text);
        this.#sentences = all.slice(0, MOST);
        this.laws.read(0, this.#sentences);
        const over = all.length - this.#sentences.length;
        find("count").textContent =
            `${this.#sentences.length} ${this.#sentences.length === 1 ? "sentence" : "sentences"}` +
            (over > 0 ? `; ${over} more are left out, because a document holds ${MOST}` : "");
        this.#choose(undefined);
        find("sentences").replaceChildren(
            ...this.#sentences.map((sentence, index) => {
                const [item, button] = [document.createElement("li"), document.createElement("button")];
                button.type = "button";
                button.textContent = sentence;
                button.addEventListener("click", () => this.#choose(this.#replaced === index ? undefined : index));
                item.append(button);
                return item;
            }),
        );
        this.#forget();
    }

    /** Another text, or another promise: releases of before do not count for it. */
    #forget(): void {
        this.#released = this.#spent = 0;
        find("release").hidden = true;
        find("learns").textContent = "";
        this.#show();
    }

    get #buttons(): HTMLButtonElement[] {
        return [...find("sentences").querySelectorAll<HTMLButtonElement>("li > button")];
    }

    #choose(index: number | undefined): void {
        this.#replaced = index;
        this.#buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(at === index)));
        const replacing = find("replacing");
        replacing.hidden = index === undefined;
        // Beside the sentence; as long as it is hidden, where no new list removes it.
        if (index === undefined) find("sentences").after(replacing);
        else find("sentences").children[index]!.append(replacing);
        document.body.classList.toggle("comparing", index !== undefined);
        if (index === undefined) this.#show();
        else this.#another();
    }

    /** A sentence of another topic in its place. */
    #another(): void {
        const field = find<HTMLInputElement>("replacement");
        const now = this.topics.findIndex(({ example }) => example === field.value);
        field.value = this.topics[(now + 1) % this.topics.length]!.example;
        this.#replace();
    }

    #replace(): void {
        const index = this.#replaced;
        if (index === undefined) return;
        find("which").textContent = String(index + 1);
        const { value } = find<HTMLInputElement>("replacement");
        this.laws.read(1, this.#sentences.map((sentence, at) => (at === index ? value : sentence)));
        this.#show();
    }

    #show(): void {
        const [unit, epsilon] = [this.#unit, this.#epsilon];
        const micro = Math.round(1e6 * epsilon);
        find("epsilon-value").textContent = String(epsilon);
        find("epsilon").setAttribute("aria-valuetext", String(epsilon));
        const law = this.laws.law(0, UNITS[unit], micro);
        const other = this.#replaced === undefined ? undefined : this.laws.law(1, UNITS[unit], micro);
        const best = Math.max(...law);
        this.#rows.forEach((row, outcome) => row.show(law[outcome], other?.[outcome], law[outcome] === best));

        const limit = factor(Math.exp(epsilon));
        const { wholeText } = this.#document.promise(unit, epsilon);
        find("promise").textContent =
            unit === "sentence"
                ? `Whatever one sentence says instead, no chance changes by more than a factor of ${limit} (e to ${epsilon}). ` +
                  `Another text altogether can change one by e to ${Number(wholeText.toPrecision(3))}.`
                : `Whatever the text says instead, no chance changes by more than a factor of ${limit} (e to ${epsilon}).`;
        if (other !== undefined) {
            const changes = Array.from(law, (chance, i) => Math.max(chance / other[i]!, other[i]! / chance));
            const most = changes.indexOf(Math.max(...changes));
            find("change").textContent =
                `The chance of ${this.#rows[most]!.name} changes most: by a factor of ${factor(changes[most]!)}. ` +
                `No sentence could change any by more than ${limit}.`;
        }
        find("devices").textContent = this.#devices(law);
        find("month").textContent = this.#month(law);
    }

    /** The two most likely topics. */
    #likeliest(law: Float64Array): [number, number] {
        const [first, second] = Array.from(law.keys()).sort((a, b) => law[b]! - law[a]!);
        return [first!, second!];
    }

    /** What a release of the same text on every day of a month says. */
    #month(law: Float64Array): string {
        const [first, second] = this.#likeliest(law);
        const [p, q] = [law[first]!, law[second]!];
        const protects = this.#unit === "sentence" ? "a sentence" : "the text";
        return (
            `If one device releases this text on ${DAYS} days, its releases add up: they promise only ε = ` +
            `${Number((DAYS * this.#epsilon).toPrecision(6))} for ${protects}. They name ${this.#rows[first]!.name} more often than ` +
            `${this.#rows[second]!.name} with a probability of ${percent(ahead(DAYS, p, q))}. So a keyboard should release ` +
            `once a year, about one line that it draws.`
        );
    }

    /** What counts of many devices with this text say. */
    #devices(law: Float64Array): string {
        const [first, second] = this.#likeliest(law);
        const [p, q] = [law[first]!, law[second]!];
        // A chance of 1 may be rounded up.
        const root = (variance: number) => Math.sqrt(Math.max(variance, 0));
        const count = (chance: number) =>
            `${Math.round(DEVICES * chance)} ± ${Math.ceil(2 * root(DEVICES * chance * (1 - chance)))}`;
        const [name, next] = [this.#rows[first]!.name, this.#rows[second]!.name];
        const sure = ahead(DEVICES, p, q);
        const often = sure > 0.99999 ? "more than 99.999 %" : percent(sure);
        return (
            `If 1,000 devices with this very text release once, the server counts ${count(p)} times ${name} and ` +
            `${count(q)} times ${next}: each alone is right at least 95 % of the time, both together less often. Of these two, ` +
            `it sees ${name} ahead with a probability of ${often}; another topic may be ahead of both. ` +
            `A single release names ${name} with ${percent(p)}.`
        );
    }

    #draw(): void {
        const [unit, epsilon] = [this.#unit, this.#epsilon];
        for (const sentence of this.#sentences) this.#document.pushSentence(sentence);
        // A playground counts nothing; an app spends from a Ledger.
        const grant = Grant.unrecorded(unit, epsilon);
        const release = unit === "sentence" ? this.#document.release(grant) : this.#document.releaseWholeText(grant);
        grant.close();
        this.#released++;
        this.#spent += epsilon;
        find("release").hidden = false;
        this.#rows.forEach((row, outcome) => row.drawn(outcome === release.candidate));
        this.#fields(release, this.#rows[release.candidate]!.name);
        find("spent").textContent =
            this.#released === 1
                ? "One release. Press again to see that chance decides."
                : `${this.#released} releases of this text by now. They add up: together they promise only ` +
                  `ε = ${Number(this.#spent.toPrecision(6))}. An app lets a ledger refuse them.`;
    }

    /** The fields of core/FORMAT.md, in the order of their bytes. */
    #fields(release: Release, name: string): void {
        const fields: readonly (readonly [number, string, string])[] = [
            [3, "magic", "UTR: this is a release"],
            [1, "version", "of the format"],
            [1, "mechanism", release.unit === "sentence" ? "a topic, by the scores of sentences" : "a topic, by the whole text"],
            [1, "rule", release.rule],
            [2, "order", "0: it names a topic, no point"],
            [4, "epsilon", `${release.epsilon}, in millionths`],
            [4, "topic", `${release.candidate}: ${name}`],
            [8, "pack", "whose topics are counted"],
        ];
        const hex = release.toString();
        let at = 0;
        find("fields").replaceChildren(
            ...fields.map(([bytes, field, meaning]) => {
                const row = document.createElement("tr");
                for (const text of [hex.slice(2 * at, 2 * (at + bytes)), field, meaning] as string[]) {
                    row.insertCell().textContent = text;
                }
                at += bytes;
                return row;
            }),
        );
        find("learns").textContent = `The server sees these 24 bytes, and nothing else. It learns: ${name}.`;
    }
}

/** A row of the table of chances. */
class Row {
    readonly #row = document.createElement("tr");
    readonly #bars: [HTMLElement, HTMLElement];
    readonly #cells: [HTMLElement, HTMLElement, HTMLElement];

    constructor(
        readonly name: string,
        table: HTMLElement,
    ) {
        const head = document.createElement("th");
        head.scope = "row";
        head.textContent = name;
        this.#row.append(head);
        this.#cells = [this.#row.insertCell(), this.#row.insertCell(), this.#row.insertCell()];
        const bars = this.#row.insertCell();
        bars.className = "bars";
        bars.setAttribute("aria-hidden", "true");
        this.#bars = [document.createElement("div"), document.createElement("div")];
        bars.append(...this.#bars);
        table.append(this.#row);
    }

    show(chance: number | undefined, other: number | undefined, best: boolean): void {
        this.#row.hidden = chance === undefined;
        if (chance === undefined) return;
        this.#row.classList.toggle("best", best);
        const [now, then, change] = this.#cells;
        now.textContent = percent(chance);
        this.#bars[0].style.width = `${100 * chance}%`;
        this.#bars[1].hidden = other === undefined;
        then.textContent = other === undefined ? "" : percent(other);
        change.textContent = other === undefined ? "" : `× ${factor(Math.max(other / chance, chance / other))}`;
        if (other !== undefined) this.#bars[1].style.width = `${100 * other}%`;
        this.drawn(false);
    }

    drawn(drawn: boolean): void {
        this.#row.classList.toggle("drawn", drawn);
    }
}

/** Tries to send something, which is no text of anybody's, and says what stops it. */
function tryPolicy(): void {
    const result = find("refused");
    const refused = (event: SecurityPolicyViolationEvent) => {
        result.textContent = `The browser refused: ${event.effectiveDirective} is 'none'.`;
    };
    document.addEventListener("securitypolicyviolation", refused, { once: true });
    fetch("https://example.org/?sent-by-the-playground").then(
        () => (result.textContent = "It was sent! This browser does not keep to the policy. Do not type anything private."),
        () => (result.textContent ||= "The browser refused."),
    );
}

async function main(): Promise<void> {
    const [library, law, packBytes, table] = await Promise.all(["wasm", "laws", "pack", "topics"].map(embedded));
    await start(library!);
    const topics = new TextDecoder()
        .decode(table)
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("#"))
        .map((line) => line.split("\t"))
        .map(([, name, example]) => ({ name: name!, example: example! }));
    new Playground(await loadLaws(law!, packBytes!), new Pack(packBytes!), topics);
    find("policy").textContent = document
        .querySelector("meta[http-equiv]")!
        .getAttribute("content")!
        .replaceAll("; ", ";\n");
    find("try").addEventListener("click", tryPolicy);
    find("loading").hidden = true;
    find("playground").hidden = false;
}

main().catch((error: unknown) => {
    find("loading").textContent = `This page does not work here: ${error}. It needs WebAssembly and DecompressionStream.`;
});
