import { LEDGER_IMAGE_BYTES, LEDGER_RECORD_BYTES, STATUS } from "./numbers.js";
import { Grant, type Unit, UNITS } from "./grant.js";
import type { Ledgers, Storage } from "./storage.js";
import { natural, numberOf, shown, withCopy } from "./arguments.js";
import { call, check, epsilonMicro, micro, out, status, u32, written } from "./calls.js";
import { Handle, handleMemory } from "./handle.js";
import { type Region, withBytes } from "./memory.js";
import { source } from "./module.js";

let platform: Ledgers;

/** @internal Where ledgers are stored. */
export function storeIn(ledgers: Ledgers): void {
    platform = ledgers;
}

const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

const unlocked = new FinalizationRegistry<Storage>((storage) => void storage.close().catch(() => {}));

class LedgerHandle extends Handle {
    constructor(memory: Region) {
        super("ledger", memory);
    }
}

function windowNumber(window: number): bigint {
    if (typeof window !== "number") throw new TypeError(`the window is ${shown(window)}, not a number`);
    if (!Number.isSafeInteger(window) || window < 0) {
        throw new RangeError(`the window ${window} is not a whole number from 0 on`);
    }
    return BigInt(window);
}

/** The budget in micro-units. A number or a text is read as an epsilon is; a budget of 0 is none. */
function budgetMicro(budget: number | string | bigint): bigint {
    if (typeof budget !== "bigint") return Number(budget) === 0 ? 0n : BigInt(epsilonMicro(budget));
    if (BigInt.asUintN(64, budget) === budget) return budget;
    throw new RangeError(`the budget of ${budget} micro-units is not from 0 to 18446744073709551615`);
}

/**
 * A privacy budget: an epsilon for every window of time, such as a day. A grant is made only after its cost is stored.
 *
 * In a browser it is kept in IndexedDB under its name, in Node in a file. It is locked until it is closed, so an app opens it
 * for each release. A ledger is for one unit, and so are its grants. What a platform cannot promise is in the README.
 */
export class Ledger {
    readonly #storage: Storage;
    readonly #handle: LedgerHandle;
    /** Calls take turns. */
    #last: Promise<unknown> = Promise.resolve();
    #closed = false;

    private constructor(storage: Storage, handle: LedgerHandle) {
        if (!(handle instanceof LedgerHandle)) throw new TypeError("a ledger is not made by new: use Ledger.open or Ledger.openOrCreate");
        this.#storage = storage;
        this.#handle = handle;
        unlocked.register(this, storage, this);
    }

    /** The days since 1970: a window for a daily budget. */
    static today(): number {
        return Math.floor(Date.now() / 86_400_000);
    }

    /**
     * Opens a ledger that exists. Use this once the app has released: a ledger that is gone must not become a fresh budget.
     *
     * @param name the name in this site's IndexedDB, or in Node the path of the file
     * @throws UndertoneError LEDGER_MISSING, LEDGER_IN_USE, or what is wrong with it
     */
    static async open(name: string, unit: Unit): Promise<Ledger> {
        const number = numberOf(UNITS, unit, "the unit");
        const storage = await platform.open(text(name));
        try {
            const image = await storage.read();
            const memory = withCopy(image, (start, length) =>
                handleMemory("ledger", (memory, room, out) =>
                    call("undertone_ledger_open", memory, room, number, start, length, ...source(), out),
                ),
            );
            return new Ledger(storage, new LedgerHandle(memory));
        } catch (error) {
            await storage.close();
            throw error;
        }
    }

    /**
     * Opens a ledger, or makes one if there is none. The budget of a ledger that exists stays as it is.
     *
     * @param budget epsilon for every window: a number or a text from 0.000001 to 1000, or a bigint of micro-units, such as
     *     `12_000_000_000n` for 12,000
     */
    static async openOrCreate(name: string, unit: Unit, budget: number | string | bigint): Promise<Ledger> {
        const [number, micro] = [numberOf(UNITS, unit, "the unit"), budgetMicro(budget)];
        const image = written(1, LEDGER_IMAGE_BYTES, (start, room, count) =>
            call("undertone_ledger_create_image", number, micro, ...source(), start, room, count),
        );
        await platform.create(text(name), image, false);
        return Ledger.open(name, unit);
    }

    /**
     * Makes a ledger in the place of one that was lost or damaged, and opens it. What was spent is not known, so the window
     * counts as spent.
     *
     * @param budget as for `openOrCreate`
     * @param window the current one, or later
     */
    static async beginAnew(name: string, unit: Unit, budget: number | string | bigint, window = Ledger.today()): Promise<Ledger> {
        const [number, micro, now] = [numberOf(UNITS, unit, "the unit"), budgetMicro(budget), windowNumber(window)];
        const image = withBytes(STORAGE_BYTES, (storage) => {
            // Without a counter, the library calls none of the functions, but it wants two of them to be there.
            const [somewhere] = source();
            const pointers = new Uint32Array(storage.bytes.buffer, storage.address, STORAGE_BYTES / 4);
            pointers.set([0, 0, 0, somewhere, somewhere, 0, 0]);
            return written(1, LEDGER_IMAGE_BYTES, (start, room, count) =>
                call("undertone_ledger_begin_anew", storage.address, number, micro, now, ...source(), start, room, count),
            );
        });
        await platform.create(text(name), image, true);
        return Ledger.open(name, unit);
    }

    /** What `use` does alone, after what was asked for before. */
    #turn<T>(use: () => T | Promise<T>): Promise<T> {
        const turn = this.#last.then(use);
        this.#last = turn.catch(() => {});
        return turn;
    }

    /**
     * What is left in a window, in units of epsilon; 0 if a record was lost. Exact up to 9,007,199,254.
     *
     * @param window a public number that never decreases
     * @throws UndertoneError if the ledger is of a later window
     */
    async left(window = Ledger.today()): Promise<number> {
        const number = windowNumber(window);
        return this.#turn(() => {
            call("undertone_ledger_remaining", this.#handle.address, number, out());
            return micro();
        });
    }

    /**
     * Spends an epsilon: the grant exists once storage has recorded its cost. The epsilon stays spent, whatever becomes of
     * the grant, and may be spent if this fails.
     *
     * @param options `window`: a public number that never decreases, the day unless told; one far in the future locks the
     *     ledger until then. `words`: how many a bag releases, 1 to 256; each costs epsilon.
     * @throws UndertoneError if less is left, the ledger is of a later window, or it was changed by others
     */
    async spend(epsilon: number | string, options: { window?: number; words?: number } = {}): Promise<Grant> {
        const spent = epsilonMicro(epsilon);
        const window = windowNumber(options.window ?? Ledger.today());
        const words = natural(options.words ?? 1, "the number of words");
        return this.#turn(async () => {
            // Closed ones are refused before storage is asked.
            void this.#handle.address;
            let image = await this.#storage.read();
            const record = withCopy(image, (start, length) =>
                written(1, LEDGER_RECORD_BYTES, (memory, room, count) => {
                    const ledger = this.#handle.address;
                    const result = status(
                        "undertone_ledger_reserve_epsilon",
                        ...[ledger, spent, words, window, start, length, memory, room, count, out(1)],
                    );
                    // Then the record says that the rest of the window is spent. It is written, and the grant is refused.
                    if (result !== STATUS.LEDGER_RECORD_LOST) check(result);
                }),
            );
            await this.#storage.write(u32(1), record);
            image = await this.#storage.read();
            const memory = withCopy(image, (start, length) =>
                handleMemory("grant", (memory, room, out) =>
                    call("undertone_ledger_grant", this.#handle.address, start, length, memory, room, out),
                ),
            );
            return Grant.in(memory);
        });
    }

    /** Unlocks the ledger, after what was asked for before. Closing it again does nothing. */
    async close(): Promise<void> {
        if (this.#closed) return;
        this.#closed = true;
        unlocked.unregister(this);
        await this.#turn(async () => {
            this.#handle.close();
            await this.#storage.close();
        });
    }

    /** `close`, for `await using`. */
    [asyncDispose](): Promise<void> {
        return this.close();
    }
}

/** `undertone_ledger_storage`: seven pointers. */
const STORAGE_BYTES = 28;

function text(name: string): string {
    if (typeof name === "string" && name !== "") return name;
    throw new TypeError("the name of the ledger is not a text");
}
