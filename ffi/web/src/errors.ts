/// <reference lib="esnext.disposable" preserve="true" />
import type { STATUS } from "./numbers.js";

/** The name of a status of undertone.h, or a code that only this package has. */
export type Code = keyof typeof STATUS | "CLOSED" | "LEDGER_MISSING" | "NO_LOCKS" | "NOT_STARTED" | "OUT_OF_MEMORY";

/** A refused call or a failure. Its message and code never depend on the content of a text. */
export class UndertoneError extends Error {
    override readonly name = "UndertoneError";
    /** Such as "GRANT_SPENT": the status of undertone.h without "UNDERTONE_STATUS_". */
    readonly code: Code;

    constructor(code: Code, message: string, options?: { cause?: unknown }) {
        super(message, options);
        this.code = code;
    }
}
