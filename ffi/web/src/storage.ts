/**
 * The stored bytes of one ledger, locked for this object until `close`.
 *
 * @internal
 */
export interface Storage {
    /** All bytes, at most one more than a ledger has. */
    read(): Promise<Uint8Array>;
    /** Writes over what is there, and returns once it is durable. */
    write(offset: number, record: Uint8Array): Promise<void>;
    /** Unlocks. */
    close(): Promise<void>;
}

/**
 * The ledgers of a platform.
 *
 * @internal
 */
export interface Ledgers {
    /**
     * Locks a ledger.
     *
     * @throws UndertoneError LEDGER_IN_USE or LEDGER_MISSING
     */
    open(name: string): Promise<Storage>;
    /**
     * Stores a new ledger, whole or not at all, or leaves one that is there. With `replace` it
     * takes the place of one that is there, unless that is in use; what is left if that fails is
     * the old one, the new one, or none that can be opened.
     */
    create(name: string, image: Uint8Array, replace: boolean): Promise<void>;
}
