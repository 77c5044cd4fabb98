package dev.undertone;

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;

/**
 * A privacy budget: an epsilon for every window of time, kept in a file that survives a power cut.
 *
 * <p>The file is locked until the ledger is closed, against programs in all languages. A ledger
 * that is collected without being closed stays locked until it is opened again, or the program
 * ends. Nothing else in this program may open the file, because POSIX systems drop the lock when
 * any descriptor of the file is closed.
 * An interrupt during a call gives a {@link java.nio.channels.ClosedByInterruptException}, and
 * every later call fails: close the ledger, and open it again.
 *
 * <p>A ledger and its grants are for one {@link Unit}, because epsilons for different units do not
 * add up. Out of scope: a file that is restored from a backup (on Android keep it in {@code
 * Context.getNoBackupFilesDir}), unless there is a {@link Counter}; a device that is cloned, a
 * clock that is set forward.
 */
public final class Ledger implements Closeable {
    static final int IMAGE_BYTES = Numbers.LEDGER_IMAGE_BYTES;

    /**
     * Files of open ledgers: opening one again and closing it would drop the lock on POSIX systems.
     * The map keeps channels from a collector, which would close them, and drop their locks, at any
     * time.
     */
    private static final Map<Object, Lock> OPEN = new HashMap<>();

    private static final Object CREATING = new Object();

    private final Lock lock;
    private final Unit unit;
    private final Storage storage;
    private boolean busy;
    private boolean closed;

    /**
     * A monotonic counter of the platform for one ledger, by which a file that was set back is
     * noticed: 0 at first, never goes back, kept where the file is not. The README of the folder
     * ffi lists what platforms have.
     */
    public interface Counter {
        /** The counter as it is now. */
        long read() throws IOException;

        /** Raises the counter, and returns once it is {@code to} for good. */
        void raise(long to) throws IOException;
    }

    private Ledger(Lock lock, Unit unit, Counter counter) {
        this.lock = lock;
        this.unit = unit;
        storage = new Storage(lock.channel, counter);
        lock.holder = new WeakReference<>(this);
    }

    /**
     * Opens a ledger that exists. Use this once the app has released: a missing ledger must not
     * become a fresh budget.
     *
     * @param unit the unit of the grants
     * @throws IOException if the file is missing, no regular file, or cannot be read
     * @throws UndertoneException if it is not a ledger, or one for another unit; {@link
     *     Status#LEDGER_IN_USE} if another object or program has it open
     */
    public static Ledger open(Path file, Unit unit) throws IOException {
        return open(file, unit, null);
    }

    /**
     * Opens a ledger that exists and is counted by the platform. One that was set back or exchanged
     * is refused.
     *
     * @param counter may be null
     */
    public static Ledger open(Path file, Unit unit, Counter counter) throws IOException {
        Lock lock = Lock.take(file);
        try {
            Ledger ledger = new Ledger(lock, unit, counter);
            // Whether it is a ledger for this unit, and the one that was counted. Without a sign no
            // window is later.
            ledger.left(-1);
            return ledger;
        } catch (Throwable refused) {
            lock.close();
            throw refused;
        }
    }

    /** A ledger's file, locked until it is closed. */
    private static final class Lock {
        private final Object key;
        private FileChannel channel;
        private volatile WeakReference<Ledger> holder;

        private Lock(Object key) {
            this.key = key;
        }

        static Lock take(Path file) throws IOException {
            Path path = file.toRealPath();
            // Checked before it is opened, because a FIFO would wait for its other end.
            if (!Files.isRegularFile(path)) {
                throw new IOException(file + " is not a regular file");
            }
            // The file itself where the system has a number for it: it may have a second name.
            Object number = Files.readAttributes(path, BasicFileAttributes.class).fileKey();
            Lock lock = new Lock(number == null ? path : number);
            synchronized (OPEN) {
                Lock other = OPEN.get(lock.key);
                if (other != null) {
                    boolean forgotten = other.holder != null && other.holder.get() == null;
                    if (!forgotten) {
                        throw inUse(file);
                    }
                    other.close();
                }
                OPEN.put(lock.key, lock);
            }
            try {
                lock.channel = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
                if (!tryLock(lock.channel)) {
                    throw inUse(file);
                }
                // Look for this file only now: it is made before the ledger.
                if (!isMissing(beside(path, ".lock"))) {
                    settle(path, null);
                }
                return lock;
            } catch (Throwable refused) {
                lock.close();
                throw refused;
            }
        }

        private static boolean tryLock(FileChannel channel) throws IOException {
            try {
                return channel.tryLock() != null;
            } catch (OverlappingFileLockException here) {
                return false;
            }
        }

        void close() throws IOException {
            try {
                if (channel != null) {
                    channel.close();
                }
            } finally {
                synchronized (OPEN) {
                    OPEN.remove(key, this);
                }
            }
        }
    }

    private static UndertoneException inUse(Path file) {
        return new UndertoneException(
                Status.LEDGER_IN_USE,
                "the ledger " + file + " is in use: close the other Ledger, or the other program");
    }

    /**
     * Opens a ledger, or makes one if the file is missing. The budget of a ledger that exists stays
     * as it is.
     *
     * @param budgetMicro epsilon for every window in micro-units, at least 1
     * @throws IOException as {@link #open}, or if the file cannot be written
     * @throws UndertoneException if the file is not a ledger for this unit, or the budget is not
     *     positive
     */
    public static Ledger openOrCreate(Path file, Unit unit, long budgetMicro) throws IOException {
        return openOrCreate(file, unit, budgetMicro, null);
    }

    /**
     * Opens a ledger with a counter, or makes one. A counted ledger that was deleted is refused,
     * not made again.
     *
     * @param counter may be null
     */
    public static Ledger openOrCreate(Path file, Unit unit, long budgetMicro, Counter counter)
            throws IOException {
        if (isMissing(file)) {
            settle(file.toAbsolutePath(), freshImage(unit, budgetMicro));
        }
        return open(file, unit, counter);
    }

    /**
     * Replaces a ledger that was lost, damaged or set back, or whose window is in the future
     * because a clock was wrong. The present window counts as spent. A person or a rule of the app
     * should decide this. If this fails, the file may be one that is refused: call it again.
     *
     * @param budgetMicro as for {@link #openOrCreate}
     * @param window the present window, by a clock that is right
     * @throws IOException if the file cannot be written
     * @throws UndertoneException {@link Status#LEDGER_IN_USE}, or if the budget is not positive
     */
    public static Ledger recreateSpent(Path file, Unit unit, long budgetMicro, long window) throws IOException {
        return recreateSpent(file, unit, budgetMicro, window, null);
    }

    /**
     * Replaces a ledger with a counter. Older files are then refused.
     *
     * @param counter may be null
     */
    public static Ledger recreateSpent(Path file, Unit unit, long budgetMicro, long window, Counter counter)
            throws IOException {
        check(window);
        if (isMissing(file)) {
            // A file to lock, from which nobody can spend. If another program makes a ledger first,
            // it is overwritten below, because its budget would be a second one for this window.
            settle(file.toAbsolutePath(), new byte[IMAGE_BYTES]);
        }
        Lock lock = Lock.take(file);
        try {
            Ledger ledger = new Ledger(lock, unit, counter);
            byte[] image = spentImage(ledger.storage, unit, budgetMicro, window);
            // In place, because the lock is on this file.
            Storage.write(lock.channel, ByteBuffer.wrap(image), 0);
            lock.channel.truncate(IMAGE_BYTES);
            lock.channel.force(true);
            return ledger;
        } catch (Throwable refused) {
            lock.close();
            throw refused;
        }
    }

    private static byte[] spentImage(Storage storage, Unit unit, long budgetMicro, long window)
            throws IOException {
        byte[] image = new byte[IMAGE_BYTES];
        Native.check(Native.ledgerRecreateSpent(
                storage,
                storage.buffer,
                storage.isCounted(),
                unit.number,
                budgetMicro,
                window,
                Native.entropy(),
                image));
        return image;
    }

    private static byte[] freshImage(Unit unit, long budgetMicro) {
        byte[] image = new byte[IMAGE_BYTES];
        Native.check(Native.ledgerCreateImage(unit.number, budgetMicro, Native.entropy(), image));
        return image;
    }

    /**
     * Returns true if nothing has this name, not even a dangling link. Errors are thrown, lest a
     * ledger be replaced.
     */
    private static boolean isMissing(Path file) throws IOException {
        try {
            Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
            return false;
        } catch (NoSuchFileException missing) {
            return true;
        }
    }

    private static Path beside(Path file, String suffix) {
        return file.resolveSibling(file.getFileName() + suffix);
    }

    /**
     * Locks NAME.lock. If the ledger is missing and the image is not null, makes the ledger. Then
     * syncs the folder and removes NAME.lock, which exists as long as the name of the ledger may
     * not be durable.
     */
    private static void settle(Path file, byte[] image) throws IOException {
        Path lock = beside(file, ".lock");
        // One thread, because a lock belongs to the whole program.
        synchronized (CREATING) {
            try (FileChannel creating = openBeside(lock)) {
                creating.lock();
                if (image != null && isMissing(file)) {
                    place(file, image);
                }
                // Windows has no folders that can be synced.
                if (File.separatorChar != '\\') {
                    try (FileChannel folder = FileChannel.open(file.getParent(), StandardOpenOption.READ)) {
                        folder.force(true);
                    }
                }
                // A program that waits for this lock, or makes a new one, finds the ledger.
                lock.toFile().delete();
            }
        }
    }

    /**
     * Writes another file and renames it, unless a ledger exists, so that the ledger exists whole
     * or not at all.
     */
    private static void place(Path file, byte[] image) throws IOException {
        Path partial = beside(file, ".java.partial");
        mustBeRegular(partial);
        // If a program was killed between the link and the deletion, this is a second name of a
        // ledger.
        Files.deleteIfExists(partial);
        try (FileChannel channel = FileChannel.open(
                partial, EnumSet.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), ofOwner(partial))) {
            Storage.write(channel, ByteBuffer.wrap(image), 0);
        }
        Files.move(partial, file);
    }

    /** Permissions for one user, because another who may read the ledger could lock it. */
    private static FileAttribute<?>[] ofOwner(Path file) {
        if (!file.getFileSystem().supportedFileAttributeViews().contains("posix")) {
            return new FileAttribute<?>[0];
        }
        return new FileAttribute<?>[] {
            PosixFilePermissions.asFileAttribute(
                    EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE))
        };
    }

    /** Refuses links, which lead elsewhere, and pipes, which wait for their other end. */
    private static void mustBeRegular(Path file) throws IOException {
        if (Files.exists(file, LinkOption.NOFOLLOW_LINKS) && !Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            throw new IOException(file + " is not a regular file; remove it");
        }
    }

    /** Opens a regular file, or makes it. */
    private static FileChannel openBeside(Path file) throws IOException {
        mustBeRegular(file);
        return FileChannel.open(
                file,
                new HashSet<OpenOption>(
                        Arrays.asList(StandardOpenOption.CREATE, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)),
                ofOwner(file));
    }

    private static void check(long window) {
        if (window < 0) {
            throw new IllegalArgumentException("window " + window + " is negative");
        }
    }

    /** Refuses a counter that uses the ledger which asks it: what it spent would be forgotten. */
    private void begin() {
        if (closed) {
            throw new IllegalStateException("the ledger is closed");
        }
        if (busy) {
            throw new IllegalStateException("the ledger is in use by a call that has not returned");
        }
        busy = true;
    }

    /** The days since 1970, a window for a daily budget. */
    public static long today() {
        return System.currentTimeMillis() / 86_400_000;
    }

    /**
     * The budget left in a window, in micro-units; 0 if a record was lost. It is private if an
     * epsilon was chosen by looking at a text.
     *
     * @param window a public number that never decreases, such as {@link #today}
     * @throws IOException if the file cannot be read
     * @throws UndertoneException if the ledger is of a later window, or the file is no longer a
     *     ledger
     */
    public synchronized long remaining(long window) throws IOException {
        check(window);
        begin();
        try {
            return left(window);
        } finally {
            busy = false;
        }
    }

    private long left(long window) throws IOException {
        byte[] image = Arrays.copyOf(storage.buffer, storage.read());
        long counter = storage.isCounted() ? storage.readCounter() : -1;
        long[] micro = new long[1];
        Native.check(Native.ledgerRemaining(image, counter, unit.number, window, micro));
        return micro[0];
    }

    /**
     * The slots of a window in which this device releases, ascending. They are drawn without
     * looking at any text, and stay the same.
     *
     * @throws IOException if the file cannot be read
     * @throws UndertoneException if a number of the schedule is not in 1..=65535
     */
    public synchronized int[] appointment(long window, Schedule schedule) throws IOException {
        check(window);
        begin();
        try {
            byte[] image = Arrays.copyOf(storage.buffer, storage.read());
            ByteBuffer room = Native.room(2 * Math.max(0, Math.min(schedule.slots, schedule.appointments)));
            int count = Native.checked(
                    Native.ledgerAppointment(image, window, schedule.slots, schedule.appointments, room));
            int[] slots = new int[count];
            for (int i = 0; i < count; i++) {
                slots[i] = Short.toUnsignedInt(room.getShort());
            }
            return slots;
        } finally {
            busy = false;
        }
    }

    /**
     * Returns whether a release is due in a slot. It is due if, up to the end of the slot, the
     * device has more appointments in the window than releases that it has paid for. So a missed
     * slot is made up for in the next one.
     *
     * @param slot from 0 on, below the slots of the schedule
     * @throws IOException if the file cannot be read
     * @throws UndertoneException if the slot or the schedule is out of range, or the ledger is of a
     *     later window
     */
    public synchronized boolean isDue(long window, int slot, Schedule schedule) throws IOException {
        check(window);
        begin();
        try {
            byte[] image = Arrays.copyOf(storage.buffer, storage.read());
            long counter = storage.isCounted() ? storage.readCounter() : -1;
            return Native.checked(Native.ledgerIsDue(
                            image, counter, window, schedule.slots, schedule.appointments, slot, schedule.epsilonMicro))
                    == 1;
        } finally {
            busy = false;
        }
    }

    /**
     * Spends an epsilon. A grant is returned only once storage has recorded its cost, which stays
     * spent whatever becomes of the grant, and may be spent if this fails.
     *
     * @param epsilonMicro epsilon in micro-units, 1 to 1,000,000,000
     * @param window a public number that never decreases, such as {@link #today}; one far in the
     *     future locks the ledger until then
     * @throws IOException if the file cannot be read or written
     * @throws UndertoneException {@link Status#LEDGER_EXHAUSTED} if less is left, {@link
     *     Status#LEDGER_RECORD_LOST} if a record was torn in a power cut, after which the rest of
     *     the window is spent, {@link Status#LEDGER_FROM_FUTURE} if the ledger is of a later window
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
        ByteBuffer grant = Native.memory(Numbers.GRANT_HANDLE_SIZE);
        begin();
        try {
            Native.check(Native.ledgerSpend(
                    storage,
                    storage.buffer,
                    storage.isCounted(),
                    unit.number,
                    epsilonMicro,
                    words,
                    window,
                    Native.entropy(),
                    grant));
        } finally {
            busy = false;
        }
        return new Grant(grant);
    }

    /** Unlocks the file. Closing it again does nothing. */
    @Override
    public synchronized void close() throws IOException {
        // A field of its own: an interrupt closes the channel, and the file would stay in use.
        if (!closed) {
            closed = true;
            lock.close();
        }
    }
}
