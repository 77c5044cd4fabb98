// Ledgers in Node are files. Node cannot lock a file, so a program in Perl locks our descriptor.
// The locks belong to the open file: they stay when the program ends, until the file is closed or
// this process ends.

import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { type FileHandle, lstat, open, realpath, rename, stat, unlink } from "node:fs/promises";
import { dirname } from "node:path";

import { LEDGER_IMAGE_BYTES } from "./numbers.js";
import type { Ledgers } from "./storage.js";
import { UndertoneError } from "./errors.js";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = constants;

// flock, and on Linux then F_OFD_SETLK or F_OFD_SETLKW for the whole file, as every language does:
// Java's record locks and flock do not exclude each other there. Ends with 1 if the file is locked.
const LOCK = `
    my ($flock, $fcntl) = @ARGV;
    sub must { exit($!{EWOULDBLOCK} || $!{EACCES} ? 1 : 2) unless shift }
    must(open(my $file, "+<&=", 3));
    must(flock($file, $flock));
    my $whole = pack("ssx!8qqlx!8", 1, 0, 0, 0, 0);
    must(fcntl($file, $fcntl, $whole)) if $^O eq "linux";
`;
const LOCK_NOW = ["6", "37"];
const WAIT_AND_LOCK = ["2", "38"];

/** Locks an open file; false if it is locked. `wait`: until it is not. */
async function takeLock(file: FileHandle, wait: boolean): Promise<boolean> {
    const status = await new Promise<number | null>((resolve, reject) => {
        const program = spawn("perl", ["-e", LOCK, ...(wait ? WAIT_AND_LOCK : LOCK_NOW)], {
            stdio: ["ignore", "ignore", "ignore", file.fd],
        });
        const missing = "perl does not start: install it, because no ledger is safe without its locks";
        program.on("error", (cause) => reject(new UndertoneError("NO_LOCKS", missing, { cause })));
        program.on("close", resolve);
    });
    if (status === 0) return true;
    if (status === 1 && !wait) return false;
    throw new UndertoneError("NO_LOCKS", `perl ended with status ${status}: this file system may have no locks`);
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

async function locked(path: string): Promise<FileHandle> {
    let file: FileHandle;
    try {
        file = await openRegular(path, 0);
    } catch (cause) {
        if (codeOf(cause) !== "ENOENT") throw cause;
        throw new UndertoneError("LEDGER_MISSING", `there is no ledger ${path}: Ledger.openOrCreate makes one`, { cause });
    }
    try {
        // Until the lock was taken, another file could take the place of this one.
        if ((await takeLock(file, false)) && (await isAt(file, path))) {
            // Look for NAME.lock only now: it is made before the ledger. NAME is that of the file,
            // by whichever link it was opened.
            const target = await realpath(path);
            if (await about(`${target}.lock`)) await settle(target, undefined);
            return file;
        }
        throw new UndertoneError("LEDGER_IN_USE", `the ledger ${path} is in use: close the other Ledger, or the other program`);
    } catch (error) {
        await file.close();
        throw error;
    }
}

async function isAt(file: FileHandle, path: string): Promise<boolean> {
    const [open, there] = [await file.stat(), await stat(path)];
    return open.ino === there.ino && open.dev === there.dev;
}

/** Opens a regular file, without waiting for the other end of a pipe. */
async function openRegular(path: string, more: number): Promise<FileHandle> {
    const file = await open(path, O_RDWR | O_NONBLOCK | more, 0o600);
    if ((await file.stat()).isFile()) return file;
    await file.close();
    throw irregular(path);
}

const irregular = (path: string) => new Error(`${path} is not a regular file; remove it`);

async function sync(path: string): Promise<void> {
    const folder = await open(path, O_RDONLY);
    try {
        await folder.sync();
    } finally {
        await folder.close();
    }
}

/**
 * Writes another file and renames it, unless a ledger exists, so that the ledger exists whole or
 * not at all.
 */
async function place(path: string, image: Uint8Array): Promise<void> {
    const partial = `${path}.node.partial`;
    const left = await about(partial);
    if (left && !left.isFile()) throw irregular(partial);
    // Made anew, because what a killed program left may be a second name of another file.
    if (left) await unlink(partial);
    const file = await openRegular(partial, O_CREAT | O_EXCL | O_NOFOLLOW);
    try {
        await writeAll(file, image, 0);
    } finally {
        await file.close();
    }
    await rename(partial, path);
}

async function writeAll(file: FileHandle, data: Uint8Array, offset: number): Promise<void> {
    for (let done = 0; done < data.length; ) {
        done += (await file.write(data, done, data.length - done, offset + done)).bytesWritten;
    }
    await file.sync();
}

/** Describes the file or link at a path, even a dangling link; undefined if nothing is there. */
async function about(path: string) {
    try {
        return await lstat(path);
    } catch (error) {
        if (codeOf(error) === "ENOENT") return undefined;
        throw error;
    }
}

/**
 * Locks NAME.lock. If the ledger is missing and there is an image, makes the ledger. Then syncs the
 * folder and removes NAME.lock, which exists as long as the name of the ledger may not be durable.
 */
async function settle(path: string, image: Uint8Array | undefined): Promise<void> {
    const name = `${path}.lock`;
    const lock = await openRegular(name, O_CREAT | O_NOFOLLOW);
    try {
        await takeLock(lock, true);
        if (image !== undefined && !(await about(path))) await place(path, image);
        await sync(dirname(path));
        // A program that waits for this lock, or makes a new one, finds the ledger.
        await unlink(name).catch(() => {});
    } finally {
        await lock.close();
    }
}

/** @internal */
export const files: Ledgers = {
    async open(path) {
        const file = await locked(path);
        return {
            async read() {
                // One byte longer than a ledger, so that a longer file is noticed.
                const buffer = new Uint8Array(LEDGER_IMAGE_BYTES + 1);
                for (let length = 0; ; ) {
                    const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
                    length += bytesRead;
                    if (bytesRead === 0 || length === buffer.length) return buffer.subarray(0, length);
                }
            },
            write: (offset, record) => writeAll(file, record, offset),
            close: () => file.close(),
        };
    },

    async create(path, image, replace) {
        // A ledger can be replaced only if it is there; one of zeroes grants nothing.
        if (!(await about(path))) await settle(path, replace ? new Uint8Array(LEDGER_IMAGE_BYTES) : image);
        if (!replace) return;
        // Replacing a ledger in use would forget what that spends.
        const file = await locked(path);
        try {
            // In place, so that a program that has opened the file and locks it next sees the new
            // ledger. It is emptied first, so that the file is refused after a power cut.
            await file.truncate(0);
            await file.sync();
            await writeAll(file, image, 0);
        } finally {
            await file.close();
        }
    },
};
