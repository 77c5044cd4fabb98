package dev.undertone;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/**
 * A privacy budget: an epsilon for every window of time, kept in a file that survives a power cut. What was
 * spent stays spent.
 *
 * <p>The file is locked until the ledger is closed, also against programs in Rust and C++. Nothing else in this
 * program may open it, because systems drop the lock when it is closed. A ledger is for one {@link Unit} and so are its
 * grants, because epsilons for different units do not add up. Out of scope: a file that is restored from a backup (on Android
 * keep it in {@code Context.getNoBackupFilesDir}), unless there is a {@link Counter}; a device that is cloned, a clock that is
 * set forward.
 */
public final class Ledger implements AutoCloseable {
    private static final int IMAGE_BYTES = 128;
    private static final int RECORD_BYTES = 64;

    /** Files of open ledgers: to open one again, and close it, would drop the lock on POSIX systems. */
    private static final Set<Object> OPEN = new HashSet<>();

    private static final Object CREATING = new Object();

    private final Object file;
    private final FileChannel channel;
    private final Counter counter;
    private final ByteBuffer memory;

    /**
     * A monotonic counter of the platform for one ledger, by which a file that was set back is noticed: 0 at first, never goes
     * back, kept where the file is not. The README of the folder ffi says what platforms have.
     */
    public interface Counter {
        /** The counter as it is now. */
        long read() throws IOException;

        /** Raises the counter, and returns once it is {@code to} for good. */
        void raise(long to) throws IOException;
    }

    private Ledger(Object file, FileChannel channel, Unit unit, Counter counter) throws IOException {
        this.file = file;
        this.channel = channel;
        this.counter = counter;
        memory = ByteBuffer.allocateDirect(Native.ledgerHandleMemory());
        Native.check(Native.ledgerOpen(memory, unit.number, stored(), Native.entropy()));
        Native.check(Native.ledgerMeet(memory, counted()));
    }

    /** What the platform has counted, or -1. */
    private long counted() throws IOException {
        return counter == null ? -1 : counter.read();
    }

    /**
     * Opens a ledger that exists. Use this once the app has released: a ledger that is gone must not become a
     * fresh budget.
     *
     * @throws IOException if the file is missing, another program or object has it open, or it cannot be read
     * @param unit what the grants are for; a ledger of an older version, which names none, becomes one for this unit
     * @throws UndertoneException if it is not a ledger, or one for another unit
     */
    public static Ledger open(Path file, Unit unit) throws IOException {
        return open(file, unit, null);
    }

    /**
     * Opens a ledger that exists and is counted by the platform. One that was set back or exchanged is refused.
     *
     * @param counter may be null
     */
    public static Ledger open(Path file, Unit unit, Counter counter) throws IOException {
        Path path = file.toRealPath();
        // The file itself where the system has a number for it: it may have a second name.
        Object number = Files.readAttributes(path, BasicFileAttributes.class).fileKey();
        Object key = number == null ? path : number;
        synchronized (OPEN) {
            if (!OPEN.add(key)) {
                throw inUse(file);
            }
        }
        FileChannel channel = null;
        Ledger ledger = null;
        try {
            channel = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
            lock(channel, file);
            ledger = new Ledger(key, channel, unit, counter);
            return ledger;
        } finally {
            if (ledger == null) {
                free(key, channel);
            }
        }
    }

    private static IOException inUse(Path file) {
        return new IOException("the ledger " + file + " is in use: close the other Ledger, or the other program");
    }

    private static void free(Object key, FileChannel channel) throws IOException {
        try {
            if (channel != null) {
                channel.close();
            }
        } finally {
            synchronized (OPEN) {
                OPEN.remove(key);
            }
        }
    }

    /**
     * Opens a ledger, or makes one if the file is missing. The budget of a ledger that exists stays as it is.
     *
     * @param budgetMicro epsilon for every window in micro-units, at least 1
     * @throws IOException as {@link #open}, or if the file cannot be written
     * @throws UndertoneException if the file is not a ledger for this unit, or the budget is not positive
     */
    public static Ledger openOrCreate(Path file, Unit unit, long budgetMicro) throws IOException {
        return openOrCreate(file, unit, budgetMicro, null);
    }

    /**
     * The same for a ledger that the platform counts: one that was deleted is not made anew in silence.
     *
     * @param counter may be null
     */
    public static Ledger openOrCreate(Path file, Unit unit, long budgetMicro, Counter counter)
            throws IOException {
        if (!Files.exists(file)) {
            create(file.toAbsolutePath(), unit, budgetMicro);
        }
        return open(file, unit, counter);
    }

    private static void create(Path file, Unit unit, long budgetMicro) throws IOException {
        byte[] image = new byte[IMAGE_BYTES];
        Native.check(Native.ledgerCreateImage(unit.number, budgetMicro, Native.entropy(), image));
        Path lock = file.resolveSibling(file.getFileName() + ".lock");
        // One thread, because a lock is one of the whole program; and one program, because the move below replaces
        // what is there, and could replace a ledger that another program spent from.
        synchronized (CREATING) {
            try (FileChannel creating = openBeside(lock)) {
                creating.lock();
                // Anything of that name, a link that leads nowhere too.
                if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
                    place(file, image);
                }
                // Whoever waits for this lock, or makes the file anew, finds the ledger. A file that stays does
                // no harm.
                lock.toFile().delete();
            }
        }
    }

    /** Writes a file beside its place, then moves it: the ledger exists whole or not at all. */
    private static void place(Path file, byte[] image) throws IOException {
        Path partial = file.resolveSibling(file.getFileName() + ".partial");
        try (FileChannel channel = openBeside(partial)) {
            channel.truncate(0);
            write(channel, image, 0);
        }
        Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE);
        // Windows has no folders that can be synced.
        if (File.separatorChar != '\\') {
            try (FileChannel folder = FileChannel.open(file.getParent(), StandardOpenOption.READ)) {
                folder.force(true);
            }
        }
    }

    /** Opens a regular file, or makes it. A link would lead elsewhere, and a pipe would wait for its other end. */
    private static FileChannel openBeside(Path file) throws IOException {
        if (Files.exists(file, LinkOption.NOFOLLOW_LINKS) && !Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            throw new IOException(file + " is not a regular file; remove it");
        }
        return FileChannel.open(
                file, StandardOpenOption.CREATE, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
    }

    private static void lock(FileChannel channel, Path file) throws IOException {
        FileLock lock;
        try {
            lock = channel.tryLock();
        } catch (OverlappingFileLockException here) {
            lock = null;
        }
        if (lock == null) {
            throw inUse(file);
        }
    }

    private static void write(FileChannel channel, byte[] bytes, long offset) throws IOException {
        ByteBuffer left = ByteBuffer.wrap(bytes);
        while (left.hasRemaining()) {
            offset += channel.write(left, offset);
        }
        channel.force(true);
    }

    private byte[] stored() throws IOException {
        // One byte more than a ledger has: a file that is too long is seen to be.
        ByteBuffer bytes = ByteBuffer.allocate(IMAGE_BYTES + 1);
        while (bytes.hasRemaining() && channel.read(bytes, bytes.position()) > 0) {
            continue;
        }
        return Arrays.copyOf(bytes.array(), bytes.position());
    }

    private void check(long window) {
        if (!channel.isOpen()) {
            throw new IllegalStateException("the ledger is closed");
        }
        if (window < 0) {
            throw new IllegalArgumentException("window " + window + " is negative");
        }
    }

    /** The days since 1970, a window for a daily budget. */
    public static long today() {
        return System.currentTimeMillis() / 86_400_000;
    }

    /**
     * The budget left in a window, in micro-units; 0 if a record was lost. It is private if an epsilon was chosen by looking at a text.
     *
     * @param window a public number that never decreases, such as {@link #today}
     * @throws UndertoneException if the ledger is of a later window
     */
    public synchronized long remaining(long window) {
        check(window);
        long[] micro = new long[1];
        Native.check(Native.ledgerRemaining(memory, window, micro));
        return micro[0];
    }

    /**
     * Spends an epsilon: when this returns a grant, storage has recorded it. It stays spent, whatever becomes of
     * the grant, and may be spent if this fails.
     *
     * @param epsilonMicro epsilon in micro-units, 1 to 1,000,000,000
     * @param window a public number that never decreases, such as {@link #today}; one that is far in the
     *     future locks the ledger until then
     * @throws IOException if the file cannot be read or written
     * @throws UndertoneException if less is left, the ledger is of a later window, or the file changed
     */
    public Grant spend(long epsilonMicro, long window) throws IOException {
        return spend(epsilonMicro, 1, window);
    }

    /**
     * Spends an epsilon for each word of a bag.
     *
     * @param words the number of words that the bag releases, 1 to 256
     */
    public synchronized Grant spend(long epsilonMicro, int words, long window) throws IOException {
        check(window);
        byte[] record = new byte[RECORD_BYTES];
        long[] numbers = new long[2];
        int status = Native.ledgerReserve(
                memory, epsilonMicro, words, window, counted(), stored(), record, numbers);
        // If a record was lost, this one says that the rest of the window is spent, and the grant is refused.
        if (status != Native.LEDGER_RECORD_LOST) {
            Native.check(status);
        }
        // Before the record is written: a record that is on storage is never older than the counter.
        if (counter != null) {
            counter.raise(numbers[1]);
            if (counter.read() != numbers[1]) {
                Native.check(Native.LEDGER_NOT_RAISED);
            }
        }
        write(channel, record, numbers[0]);
        ByteBuffer grant = ByteBuffer.allocateDirect(Native.grantHandleMemory());
        Native.check(Native.ledgerGrant(memory, stored(), grant));
        return new Grant(grant);
    }

    /** Unlocks the file. Closing it again does nothing. */
    @Override
    public synchronized void close() throws IOException {
        if (channel.isOpen()) {
            free(file, channel);
        }
    }
}
