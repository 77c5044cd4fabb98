import { GRANT_HANDLE_SIZE, LEDGER_HANDLE_SIZE, LEDGER_IMAGE_BYTES, LEDGER_RECORD_BYTES, STATUS } from "./numbers.js";
import { Grant, type Unit, UNITS } from "./grant.js";
import type { Ledgers, Storage } from "./storage.js";
import { meaningOf, natural, natural64, withCopy } from "./arguments.js";
import { call, check, epsilonMicro, i32, micro, out, status, u32, written } from "./calls.js";
import { UndertoneError } from "./errors.js";
import { handleMemory } from "./handle.js";
import { withBytes } from "./memory.js";
import { source } from "./module.js";

let platform: Ledgers;

/** @internal Chooses where ledgers are stored. */
export function storeIn(ledgers: Ledgers): void {
    platform = ledgers;
}

const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

const unlocked = globalThis.FinalizationRegistry && new FinalizationRegistry<Storage>((storage) => void storage.close().catch(() => {}));

const windowNumber = (window: number) => natural64(window, "the window");

/**
 * Converts a budget to micro-units. A number or a text is an epsilon, or 0, which the library
 * refuses.
 */
function budgetMicro(budget: number | string | bigint): bigint {
    if (typeof budget === "bigint") return natural64(budget, "the number of micro-units of the budget");
    const zero = budget === 0 || (typeof budget === "string" && /^0+(\.0*)?$/.test(budget));
    return zero ? 0n : BigInt(epsilonMicro(budget, "the budget"));
}

/** No later window exists. */
const LAST = 0xffff_ffff_ffff_ffffn;

/** Reads the budget left in a window of a stored ledger, in units of epsilon. */
function left(image: Uint8Array, unit: number, window: bigint): number {
    withCopy(image, (start, length) => call("undertone_ledger_remaining", unit, start, length, window, 0, out()));
    return micro();
}

/**
 * A device releases in `appointments` of the `slots` of a window, at `epsilon` each, so a window
 * costs `appointments` times `epsilon`. Give the ledger this budget, and spend nothing else from
 * it. Slots are numbered from 0 in each window.
 */
export interface Schedule {
    slots: number;
    appointments: number;
    epsilon: number | string;
}

const counts = (schedule: Schedule) =>
    [natural(schedule.slots, "the number of slots"), natural(schedule.appointments, "the number of appointments")] as const;

/** Given to the constructor by this module alone. */
const OPENED = Symbol();

/**
 * A privacy budget: an epsilon for every window of time, such as a day. A grant is made only after
 * its cost is stored.
 *
 * Browsers keep it in IndexedDB under its name, Node in a file. It is locked until it is closed, so
 * an app opens it for each release. A ledger and its grants are for one unit. The README lists what
 * a platform cannot promise.
 */
export class Ledger {
    /** Undefined once it is closed. */
    #storage: Storage | undefined;
    readonly #unit: number;
    /** Calls take turns. */
    #last: Promise<unknown> = Promise.resolve();
    #closed = false;

    private constructor(storage: Storage, unit: number, opened: symbol) {
        if (opened !== OPENED) throw new TypeError("a ledger is not made by new: use Ledger.open or Ledger.openOrCreate");
        this.#storage = storage;
        this.#unit = unit;
        unlocked?.register(this, storage, this);
    }

    /** The days since 1970: a window for a daily budget. */
    static today(): number {
        return Math.floor(Date.now() / 86_400_000);
    }

    /**
     * Opens a ledger that exists. Use this once the app has released: a missing ledger must not
     * become a fresh budget.
     *
     * @param name the name in this site's IndexedDB, or in Node the path of the file
     * @throws UndertoneError LEDGER_MISSING, LEDGER_IN_USE, or what is wrong with it
     */
    static async open(name: string, unit: Unit): Promise<Ledger> {
        const number = meaningOf(UNITS, unit, "the unit");
        const storage = await platform.open(text(name));
        try {
            left(await storage.read(), number, LAST);
            return new Ledger(storage, number, OPENED);
        } catch (error) {
            await storage.close();
            throw error;
        }
    }

    /**
     * Opens a ledger, or makes one if there is none. The budget of a ledger that exists stays as it
     * is.
     *
     * @param budget epsilon for every window: a number or a text from 0.000001 to 1000, or a bigint
     *     of micro-units, such as `12_000_000_000n` for 12,000
     */
    static async openOrCreate(name: string, unit: Unit, budget: number | string | bigint): Promise<Ledger> {
        const [number, micro] = [meaningOf(UNITS, unit, "the unit"), budgetMicro(budget)];
        const image = written(1, LEDGER_IMAGE_BYTES, (start, room, count) =>
            call("undertone_ledger_create_image", number, micro, ...source(), start, room, count),
        );
        await platform.create(text(name), image, false);
        return Ledger.open(name, unit);
    }

    /**
     * Replaces a ledger that was lost or damaged, or whose window is in the future because a clock
     * was wrong, and opens it. The present window counts as spent.
     *
     * @param budget as for `openOrCreate`
     * @param window the present window, by a clock that is right
     */
    static async recreateSpent(name: string, unit: Unit, budget: number | string | bigint, window = Ledger.today()): Promise<Ledger> {
        const [number, micro, now] = [meaningOf(UNITS, unit, "the unit"), budgetMicro(budget), windowNumber(window)];
        const image = withBytes(STORAGE_BYTES, (storage) => {
            // Without a counter, the library calls none of the functions, but requires two of them.
            const [somewhere] = source();
            const pointers = new Uint32Array(storage.bytes.buffer, storage.address, STORAGE_BYTES / 4);
            pointers.set([0, 0, 0, somewhere, somewhere, 0, 0]);
            return written(1, LEDGER_IMAGE_BYTES, (start, room, count) =>
                call("undertone_ledger_recreate_spent", storage.address, number, micro, now, ...source(), start, room, count),
            );
        });
        await platform.create(text(name), image, true);
        return Ledger.open(name, unit);
    }

    /** Runs `use` after the calls before. */
    #turn<T>(use: (storage: Storage) => Promise<T>): Promise<T> {
        const turn = this.#last.then(() => {
            if (this.#storage === undefined) throw new UndertoneError("CLOSED", "the ledger is closed: open it again");
            return use(this.#storage);
        });
        this.#last = turn.catch(() => {});
        return turn;
    }

    /**
     * The budget left in a window, in units of epsilon; 0 if a record was lost. Exact up to
     * 9,007,199,254.
     *
     * @param window a public number that never decreases
     * @throws UndertoneError if the ledger is of a later window
     */
    async left(window = Ledger.today()): Promise<number> {
        const number = windowNumber(window);
        return this.#turn(async (storage) => left(await storage.read(), this.#unit, number));
    }

    /**
     * The slots of a window in which this device releases, ascending. They are drawn without looking
     * at any text, and stay the same.
     */
    async appointment(window: number, schedule: Schedule): Promise<number[]> {
        const [number, [slots, count]] = [windowNumber(window), counts(schedule)];
        return this.#turn(async (storage) =>
            withCopy(await storage.read(), (start, length) => {
                const found = written(2, Math.min(slots, count), (memory, room, written) =>
                    call("undertone_ledger_appointment", start, length, number, slots, count, memory, room, written),
                );
                return Array.from(new Uint16Array(found.buffer));
            }),
        );
    }

    /**
     * Returns whether a release is due in a slot. It is due if, up to the end of the slot, the
     * device has more appointments in the window than releases that it has paid for. So a missed
     * slot is made up for in the next one.
     */
    async isDue(window: number, slot: number, schedule: Schedule): Promise<boolean> {
        const [number, [slots, count]] = [windowNumber(window), counts(schedule)];
        const [asked, spent] = [natural(slot, "the slot"), epsilonMicro(schedule.epsilon)];
        return this.#turn(async (storage) =>
            withCopy(await storage.read(), (start, length) => {
                call("undertone_ledger_is_due", start, length, number, 0, slots, count, asked, spent, out());
                return i32() !== 0;
            }),
        );
    }

    /**
     * Spends an epsilon. The grant exists only once storage has recorded its cost. The cost stays
     * spent even if the grant is never used, and may be spent even if this call fails.
     *
     * @param options `window`: a public number that never decreases, by default the day; after one
     *     far in the future, the ledger refuses all earlier ones. `words`: the number of words that
     *     a bag releases, 1 to 256; each costs epsilon.
     * @throws UndertoneError if less is left, the ledger is of a later window, or it was changed by
     *     others
     */
    async spend(epsilon: number | string, options: { window?: number; words?: number } = {}): Promise<Grant> {
        const spent = epsilonMicro(epsilon);
        const window = windowNumber(options.window ?? Ledger.today());
        const words = natural(options.words ?? 1, "the number of words");
        return this.#turn(async (storage) => {
            const image = await storage.read();
            const ledger = withCopy(image, (start, length) =>
                handleMemory(LEDGER_HANDLE_SIZE, (memory, room, out) =>
                    call("undertone_ledger_open", memory, room, this.#unit, start, length, ...source(), out),
                ),
            );
            try {
                const record = withCopy(image, (start, length) =>
                    written(1, LEDGER_RECORD_BYTES, (memory, room, count) => {
                        const result = status(
                            "undertone_ledger_reserve_epsilon",
                            ...[ledger.address, spent, words, window, start, length, memory, room, count, out(1)],
                        );
                        // If a record was lost, the new one marks the rest of the window as spent,
                        // and the grant is refused.
                        if (result !== STATUS.LEDGER_RECORD_LOST) check(result);
                    }),
                );
                await storage.write(u32(1), record);
                const memory = withCopy(await storage.read(), (start, length) =>
                    handleMemory(GRANT_HANDLE_SIZE, (memory, room, out) =>
                        call("undertone_ledger_grant", ledger.address, start, length, memory, room, out),
                    ),
                );
                return Grant.in(memory);
            } finally {
                ledger.letGo();
            }
        });
    }

    /** Unlocks the ledger after the calls before. Closing it again does nothing. */
    async close(): Promise<void> {
        if (this.#closed) return;
        this.#closed = true;
        unlocked?.unregister(this);
        await this.#turn((storage) => {
            this.#storage = undefined;
            return storage.close();
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
