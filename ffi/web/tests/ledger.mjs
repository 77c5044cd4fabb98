// Ledgers in files: a day, processes that are killed, and other programs.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { link, open, readFile, readdir, rename, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import * as undertone from "undertone";

import { golden, inFolder, ran } from "./common.mjs";
import { keyboardDay } from "./day.mjs";

const { AnswerReservoir, Document, Form, Grant, Ledger, Pack, Reservoir } = undertone;
const HERE = fileURLToPath(new URL(".", import.meta.url));

test("a day of a keyboard", () =>
    inFolder(async (path) => {
        const file = path("ledger");
        const stored = {
            read: async () => new Uint8Array(await readFile(file)),
            write: (bytes) => writeFile(file, bytes),
        };
        for (const step of await keyboardDay(undertone, golden("golden-scores.pack"), file, stored)) ran(step);
    }));

test("a year with one release", () =>
    inFolder(async (path) => {
        const schedule = { slots: 52, appointments: 1, epsilon: 3 };
        const document = new Document(new Pack(golden("golden-scores.pack")));
        const ledger = await Ledger.openOrCreate(path("year"), "whole-text", 3);
        const [appointed] = await ledger.appointment(2026, schedule);
        assert.deepEqual(await ledger.appointment(2026, { ...schedule, slots: 3, appointments: 5 }), [0, 1, 2]);
        const due = [];
        for (let week = 0; week < 52; week++) {
            if (!(await ledger.isDue(2026, week, schedule))) continue;
            due.push(week);
            let stored = Reservoir.begin(document, 2026 * 52 + week, 2).bytes;
            for (let line = 0; line < 5; line++) {
                // Each line after a restart.
                const reservoir = Reservoir.read(stored, document);
                document.pushSentence("The choir sings.");
                reservoir.push(document);
                stored = reservoir.bytes;
            }
            const reservoir = Reservoir.read(stored, document);
            assert.equal(reservoir.slot, BigInt(2026 * 52 + week));
            const release = reservoir.release(document, await ledger.spend(3, { window: 2026 }));
            assert.deepEqual([release.unit, release.epsilon, document.sentenceCount], ["whole-text", 3, 0]);
            assert(reservoir.bytes.every((byte) => byte === 0));
        }
        assert.deepEqual(due, [appointed]);
        await assert.rejects(ledger.isDue(2026, 52, schedule), (error) => error.code === "SCHEDULE_OUT_OF_RANGE");
        await ledger.close();

        const form = new Form(golden("golden.form"));
        assert.notEqual(form.categoryName(0, 1), form.attributeName(0));
        let answers = AnswerReservoir.begin(form, 9, 2);
        for (let line = 0; line < 5; line++) {
            answers = AnswerReservoir.read(answers.bytes, form);
            answers.push([1, undefined, 0]);
        }
        assert.equal(answers.slot, 9n);
        assert.throws(() => answers.push([1]), { code: "WRONG_ANSWER_COUNT" });
        const answer = answers.release(Grant.unrecorded("whole-text", 1));
        assert(answer.unit === "whole-text" && answer.candidate >>> 24 < 4);
        assert(answers.bytes.every((byte) => byte === 0));
        const drawn = Reservoir.begin(document, 0, 3).release(document, Grant.unrecorded("sentence", 1), "drawn");
        assert.deepEqual([drawn.unit, drawn.order], ["sentence", 3]);
    }));

// Each process spends until it is killed, and says what it got a grant for. None may get one for
// what is not recorded, and what one spent another must find spent.
test("killed in the middle", () =>
    inFolder(async (path) => {
        const file = path("ledger");
        const program = `
            import { Ledger } from "undertone";
            const ledger = await Ledger.openOrCreate(process.argv[1], "sentence", 1000);
            for (;;) {
                await ledger.spend(1, { window: 20000 });
                process.stdout.write(".");
            }`;
        let granted = 0;
        for (let round = 0; round < 6; round++) {
            const process = spawn("node", ["--input-type=module", "-e", program, file], { cwd: HERE });
            process.stderr.on("data", (data) => assert.fail(`${data}`));
            await new Promise((resolve) => {
                let here = 0;
                process.stdout.on("data", (data) => {
                    here += data.length;
                    granted += data.length;
                    // At another place in each round: what is under way then is not known, which is
                    // the point.
                    if (here > round) process.kill("SIGKILL");
                });
                process.on("close", resolve);
            });
        }
        const ledger = await Ledger.open(file, "sentence");
        const left = await ledger.left(20000);
        await ledger.close();
        assert(granted >= 6);
        assert(left <= 1000 - granted, `${granted} grants, but ${left} of 1000 is left`);
    }));

test("programs that ask at once make one ledger", () =>
    inFolder(async (path) => {
        const file = path("ledger");
        const ledgers = await Promise.allSettled(
            Array.from({ length: 8 }, () => Ledger.openOrCreate(file, "sentence", 10)),
        );
        const open = ledgers.filter(({ status }) => status === "fulfilled");
        assert.equal(open.length, 1);
        ledgers.filter(({ reason }) => reason).forEach(({ reason }) => assert.equal(reason.code, "LEDGER_IN_USE"));
        await open[0].value.close();
        await assert.rejects(stat(`${file}.lock`), { code: "ENOENT" });
        await assert.rejects(stat(`${file}.node.partial`), { code: "ENOENT" });
        assert.equal((await stat(file)).mode & 0o777, 0o600);
    }));

test("one that was replaced is not taken for the ledger", () =>
    inFolder(async (path) => {
        const file = path("ledger");
        await (await Ledger.openOrCreate(file, "sentence", 10)).close();
        // However these are interleaved, one ledger is open at a time.
        const made = await Promise.allSettled(
            Array.from({ length: 8 }, (_, i) =>
                i % 2 ? Ledger.recreateSpent(file, "sentence", 10, 20000) : Ledger.open(file, "sentence"),
            ),
        );
        const open = made.filter(({ status }) => status === "fulfilled").map(({ value }) => value);
        made.filter(({ reason }) => reason).forEach(({ reason }) => assert.equal(reason.code, "LEDGER_IN_USE"));
        assert.equal(open.length, 1);
        await open[0].spend(1, { window: 20001 });
        await open[0].close();
        const again = await Ledger.open(file, "sentence");
        assert.equal(await again.left(20001), 9);
        await again.close();
    }));

test("whoever has opened the file has the new one", () =>
    inFolder(async (path) => {
        const file = path("ledger");
        await (await Ledger.openOrCreate(file, "sentence", 10)).close();
        // A program in Rust, C or Java that opened it, and locks it only now.
        const other = await open(file, "r");
        const ledger = await Ledger.recreateSpent(file, "sentence", 10, 20000);
        await ledger.spend(4, { window: 20001 });
        await ledger.close();
        const seen = (await other.read(new Uint8Array(129), 0, 129, 0)).bytesRead;
        assert.equal(seen, 128);
        assert.equal((await other.stat()).ino, (await stat(file)).ino);
        await other.close();
    }));

test("begun anew where nothing is", () =>
    inFolder(async (path) => {
        const ledger = await Ledger.recreateSpent(path("ledger"), "sentence", 10, 20000);
        assert.deepEqual([await ledger.left(20000), await ledger.left(20001)], [0, 10]);
        await ledger.close();
        assert.deepEqual(await readdir(path(".")), ["ledger"]);
    }));

// A disk that is full, or a power cut, at any of these bytes.
test("begun anew in part", () =>
    inFolder(async (path) => {
        const file = path("ledger");
        const { constructor } = await open(file, "w").then(async (handle) => (await handle.close(), handle));
        const { write } = constructor.prototype;
        for (const length of [0, 1, 63, 64, 65, 127]) {
            await writeFile(file, "");
            const old = await Ledger.recreateSpent(file, "sentence", 10, 20000);
            await old.spend(1, { window: 20001 });
            await old.close();
            constructor.prototype.write = async function (bytes, ...where) {
                await write.call(this, bytes.subarray(0, length), 0, length, where[2]);
                throw new Error("cut");
            };
            try {
                await assert.rejects(Ledger.recreateSpent(file, "sentence", 10, 20001), /cut/);
            } finally {
                constructor.prototype.write = write;
            }
            assert.equal((await stat(file)).size, length);
            await assert.rejects(Ledger.open(file, "sentence"), { code: "LEDGER_WRONG_LENGTH" });
        }
    }));

test("what a killed program left beside a ledger is not written to", () =>
    inFolder(async (path) => {
        await (await Ledger.openOrCreate(path("ledger"), "sentence", 10)).close();
        const made = await readFile(path("ledger"));
        await link(path("ledger"), path("ledger.node.partial"));
        await rename(path("ledger"), path("kept"));
        await (await Ledger.openOrCreate(path("ledger"), "sentence", 7)).close();
        assert.deepEqual(await readFile(path("kept")), made);
        assert.notDeepEqual(await readFile(path("ledger")), made);
    }));

// flock, and a record lock as Java takes it (F_SETLK): each alone must exclude us, and we must
// exclude each. C, C++, Rust, Swift and Python take both.
const FLOCK = `open(F, "+<", $ARGV[0]) && flock(F, 6) or exit 1;`;
const RECORD = `my $whole = pack("ssx!8qqlx!8", 1, 0, 0, 0, 0);
    open(F, "+<", $ARGV[0]) && fcntl(F, 6, $whole) or exit 1;`;
for (const [name, lock] of Object.entries({ FLOCK, RECORD })) {
    test(`another program has the lock: ${name}`, () =>
        inFolder(async (path) => {
            const file = path("ledger");
            await (await Ledger.openOrCreate(file, "sentence", 10)).close();
            const other = spawn("perl", ["-e", `${lock} $| = 1; print "locked"; <STDIN>`, file], {
                stdio: ["pipe", "pipe", "inherit"],
            });
            await new Promise((resolve) => other.stdout.once("data", resolve));
            await assert.rejects(Ledger.open(file, "sentence"), { code: "LEDGER_IN_USE" });
            await assert.rejects(Ledger.recreateSpent(file, "sentence", 10), { code: "LEDGER_IN_USE" });
            other.stdin.end();
            await new Promise((resolve) => other.on("close", resolve));
            const ledger = await Ledger.open(file, "sentence");
            const tryLock = () => spawnSync("perl", ["-e", lock, file]).status;
            const busy = tryLock();
            await ledger.close();
            assert.equal(busy, 1);
            assert.equal(tryLock(), 0);
        }));
}

// A program that makes a ledger holds NAME.lock, and may have made the ledger when it lets go.
test("a ledger made meanwhile is not replaced", () =>
    inFolder(async (path) => {
        const file = path("ledger");
        await (await Ledger.openOrCreate(path("other"), "sentence", 10)).close();
        const made = await readFile(path("other"));
        await writeFile(`${file}.lock`, "");
        const other = spawn("perl", ["-e", `${RECORD} $| = 1; print "locked"; <STDIN>`, `${file}.lock`], {
            stdio: ["pipe", "pipe", "inherit"],
        });
        await new Promise((resolve) => other.stdout.once("data", resolve));
        const opening = Ledger.openOrCreate(file, "sentence", 7);
        await rename(path("other"), file);
        other.stdin.end();
        await (await opening).close();
        assert.deepEqual(await readFile(file), made);
    }));

test("links and pipes are refused", () =>
    inFolder(async (path) => {
        symlinkSync(path("elsewhere"), path("a.lock"));
        await assert.rejects(Ledger.openOrCreate(path("a"), "sentence", 10), { code: "ELOOP" });
        assert.equal(spawnSync("mkfifo", [path("b.node.partial"), path("c")]).status, 0);
        await assert.rejects(Ledger.openOrCreate(path("b"), "sentence", 10), /regular file/);
        await assert.rejects(Ledger.recreateSpent(path("c"), "sentence", 10), /regular file/);
    }));

test("without perl there is no ledger", () =>
    inFolder(async (path) => {
        const before = process.env.PATH;
        process.env.PATH = "/nowhere";
        try {
            await assert.rejects(Ledger.openOrCreate(path("ledger"), "sentence", 10), { code: "NO_LOCKS" });
        } finally {
            process.env.PATH = before;
        }
    }));

test("programs that require get the same objects", () => {
    const required = createRequire(import.meta.url)("undertone");
    assert.deepEqual(Object.keys(required).sort(), Object.keys(undertone).sort());
    assert.equal(required.Pack, undertone.Pack);
});

// Between the link and the sync of the folder, a killed program leaves the ledger and its lock.
test("what one run did not make durable, the next one does", () =>
    inFolder(async (path) => {
        const file = path("ledger");
        await (await Ledger.openOrCreate(file, "sentence", 10)).close();
        await writeFile(`${file}.lock`, "");
        symlinkSync("ledger", path("link"));
        const handle = await open(file, "r");
        const { sync } = handle.constructor.prototype;
        let folders = 0;
        handle.constructor.prototype.sync = async function () {
            folders += (await this.stat()).isDirectory();
            return sync.call(this);
        };
        try {
            for (const expected of [1, 1]) {
                // By whichever name: the lock is that of the file.
                const ledger = await Ledger.open(path("link"), "sentence");
                assert.equal(folders, expected);
                await ledger.close();
            }
        } finally {
            handle.constructor.prototype.sync = sync;
            await handle.close();
        }
        assert.deepEqual((await readdir(path("."))).sort(), ["ledger", "link"]);
    }));

test("a clock that was ahead does not end releases for good", () =>
    inFolder(async (path) => {
        const file = path("ledger");
        let ledger = await Ledger.openOrCreate(file, "sentence", 10);
        await ledger.spend(1, { window: 5_000_000 });
        await assert.rejects(ledger.spend(1, { window: 20000 }), { code: "LEDGER_FROM_FUTURE" });
        await ledger.close();
        ledger = await Ledger.recreateSpent(file, "sentence", 10, 20000);
        assert.deepEqual([await ledger.left(20000), await ledger.left(20001)], [0, 10]);
        await assert.rejects(ledger.left(19999), { code: "LEDGER_FROM_FUTURE" });
        await ledger.close();
    }));
