// Ledgers in a browser: one entry each in IndexedDB. A Web Lock of the same name excludes other
// tabs.

import type { Ledgers, Storage } from "./storage.js";
import { isBytes } from "./arguments.js";
import { UndertoneError } from "./errors.js";

const DATABASE = "undertone";
const STORE = "ledgers";

const done = <T>(request: IDBRequest<T>) =>
    new Promise<T>((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
    });

function database(): Promise<IDBDatabase> {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    return done(request);
}

/** Runs a transaction, and returns once it is complete: once writes were flushed. */
async function transact<T>(mode: IDBTransactionMode, use: (store: IDBObjectStore) => Promise<T>): Promise<T> {
    const open = await database();
    try {
        const transaction = open.transaction(STORE, mode, { durability: "strict" });
        const complete = new Promise<void>((resolve, reject) => {
            transaction.oncomplete = () => resolve();
            transaction.onabort = () => reject(transaction.error);
        });
        const [result] = await Promise.all([use(transaction.objectStore(STORE)), complete]);
        return result;
    } finally {
        open.close();
    }
}

function read(name: string): Promise<Uint8Array | undefined> {
    return transact("readonly", async (store) => {
        const found: unknown = await done(store.get(name));
        if (found === undefined || isBytes(found)) return found;
        // Somebody else's: no ledger.
        return new Uint8Array();
    });
}

const missing = (name: string) =>
    new UndertoneError("LEDGER_MISSING", `there is no ledger ${name}: Ledger.openOrCreate makes one`);

/** A page that cannot lock a ledger makes none. */
function mustLock(): void {
    if (globalThis.navigator?.locks === undefined || globalThis.indexedDB === undefined) {
        throw new UndertoneError("NO_LOCKS", "there are no Web Locks or no IndexedDB here: serve the page by https");
    }
}

/** Takes the lock of a ledger, and returns what gives it back. */
async function lock(name: string): Promise<() => Promise<void>> {
    mustLock();
    return new Promise((resolve, reject) => {
        const held = navigator.locks.request(`undertone ledger ${name}`, { ifAvailable: true }, (lock) => {
            if (lock === null) {
                throw new UndertoneError("LEDGER_IN_USE", `the ledger ${name} is in use: close the other Ledger, or the other tab`);
            }
            return new Promise<void>((release) =>
                resolve(async () => {
                    release();
                    await held;
                }),
            );
        });
        held.catch(reject);
    });
}

/** @internal */
export const indexedDb: Ledgers = {
    async open(name) {
        const unlock = await lock(name);
        try {
            if ((await read(name)) === undefined) throw missing(name);
        } catch (error) {
            await unlock();
            throw error;
        }
        const storage: Storage = {
            async read() {
                return (await read(name)) ?? new Uint8Array();
            },
            async write(offset, record) {
                await transact("readwrite", async (store) => {
                    const stored: unknown = await done(store.get(name));
                    if (!isBytes(stored)) throw missing(name);
                    const image = Uint8Array.from(stored);
                    image.set(record, offset);
                    await done(store.put(image, name));
                });
            },
            close: unlock,
        };
        return storage;
    },

    async create(name, image, replace) {
        mustLock();
        // Replacing a ledger in use would forget what that spends.
        const unlock = replace ? await lock(name) : async () => {};
        try {
            await transact("readwrite", async (store) => {
                if (replace || (await done(store.get(name))) === undefined) await done(store.put(image, name));
            });
        } finally {
            await unlock();
        }
    },
};
