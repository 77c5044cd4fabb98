// A day of a keyboard: the steps and numbers of tests/faces/keyboard-day.md, on any ledgers whose
// stored bytes can be read and replaced. Node's run in tests/ledger.mjs; a browser's in
// tests/browser.mjs. Returns the names of the steps.

/** @param stored reads and replaces what is stored under the name of the ledger */
export async function keyboardDay({ Document, Ledger, Pack, Release }, packBytes, name, stored) {
    const equal = (found, expected, what) => {
        if (found !== expected) throw new Error(`${what}: ${found} instead of ${expected}`);
    };
    const refused = async (spent, code, what) => {
        const error = await spent.then(() => undefined, (error) => error);
        equal(error?.code, code, what);
    };
    const left = async (window, micro, what) => equal(Math.round((await ledger.left(window)) * 1e6), micro, what);
    const open = () => Ledger.open(name, "sentence");
    const spend = (epsilon, window) => ledger.spend(epsilon, { window });
    const pack = new Pack(packBytes);
    const document = new Document(pack);
    let ledger;

    const steps = {
        async new_ledger(step) {
            ledger = await Ledger.openOrCreate(name, "sentence", 10);
            equal((await stored.read()).length, 128, step);
            await left(20000, 10000000, step);
        },
        async typed_text(step) {
            const text = "My doctor wants to repeat the blood test. The clinic called about the swollen node.";
            equal(document.pushText(text), 2, step);
        },
        async first_spend(step) {
            steps.grant = await spend(3, 20000);
            await left(20000, 7000000, step);
        },
        async first_release(step) {
            const release = new Release(document.release(steps.grant).bytes);
            equal(release.bytes.length, 24, step);
            equal(Math.round(release.epsilon * 1e6), 3000000, step);
            equal(release.unit, "sentence", step);
            equal(release.rule, "permute-and-flip", step);
            equal(release.order, 0, step);
            equal(release.candidate < 200, true, step);
            equal(release.packId, "16f4b64559f90996", step);
            equal(document.sentenceCount, 0, step);
        },
        async second_release(step) {
            document.pushSentence("We won the match.");
            document.release(await spend(4, 20000));
            await left(20000, 3000000, step);
        },
        async refused_spend(step) {
            await refused(spend(4, 20000), "LEDGER_EXHAUSTED", step);
            await left(20000, 3000000, step);
        },
        async reopened(step) {
            await ledger.close();
            ledger = await open();
            await left(20000, 3000000, step);
        },
        async killed_before(step) {
            steps.before = await stored.read();
            await spend(1, 20000);
            await left(20000, 2000000, step);
            steps.after = await stored.read();
            await ledger.close();
            await stored.write(steps.before);
            ledger = await open();
            await left(20000, 3000000, step);
        },
        async killed_after(step) {
            await ledger.close();
            await stored.write(steps.after);
            ledger = await open();
            await left(20000, 2000000, step);
        },
        async killed_in_between(step) {
            const torn = Uint8Array.from(steps.before);
            const start = steps.before.findIndex((byte, i) => byte !== steps.after[i]) < 64 ? 0 : 64;
            torn.set(steps.after.subarray(start, start + 40), start);
            await ledger.close();
            await stored.write(torn);
            ledger = await open();
            await left(20000, 0, step);
        },
        async lost_record(step) {
            await refused(spend(1, 20000), "LEDGER_RECORD_LOST", step);
            await left(20000, 0, step);
        },
        async rest_of_the_window(step) {
            await refused(spend(1, 20000), "LEDGER_EXHAUSTED", step);
            await left(20000, 0, step);
        },
        async next_window(step) {
            const grant = await spend(3, 20001);
            document.pushSentence("The rehearsal is at seven.");
            document.release(grant);
            await left(20001, 7000000, step);
        },
        async clock_back(step) {
            await refused(spend(1, 20000), "LEDGER_FROM_FUTURE", step);
            await left(20001, 7000000, step);
        },
        async emptied(step) {
            await ledger.close();
            await stored.write(new Uint8Array());
            await refused(open(), "LEDGER_WRONG_LENGTH", step);
        },
        async recreated(step) {
            ledger = await Ledger.recreateSpent(name, "sentence", 10, 20001);
            await left(20001, 0, step);
            await left(20002, 10000000, step);
        },
        async refused_anew(step) {
            await refused(spend(1, 20001), "LEDGER_EXHAUSTED", step);
        },
        async new_day(step) {
            const grant = await spend(3, 20002);
            document.pushSentence("Good morning.");
            document.release(grant);
            await left(20002, 7000000, step);
            await ledger.close();
        },
    };
    const names = Object.keys(steps);
    for (const name of names) await steps[name](name);
    return names;
}
