package dev.undertone;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The outcome of one line of a slot, which is drawn without looking at any. It holds no text.
 *
 * <p>A line is what one document holds; a slot is the stretch of time that one release is about.
 * Store {@link #toBytes} after each line: the bytes are as private as the lines. If they are lost,
 * begin with a new reservoir, which costs no privacy.
 */
public final class Reservoir {
    /** The length of what is stored. */
    public static final int BYTES = Numbers.RESERVOIR_BYTES;

    private final ByteBuffer memory = ByteBuffer.allocateDirect(BYTES);
    private final long[] slot = new long[1];

    private Reservoir() {}

    /**
     * An empty reservoir for documents like this one.
     *
     * @param slot a public number, which is stored
     * @param places a public number below the number of lines that most devices see in a slot, 1 to
     *     65535
     * @throws UndertoneException if the pack has no scores, or too many candidates
     */
    public static Reservoir begin(Document document, long slot, int places) {
        Reservoir reservoir = new Reservoir();
        reservoir.slot[0] = slot;
        byte[] entropy = Native.entropy();
        try {
            synchronized (document) {
                Native.check(Native.reservoirInit(document.open(), slot, places, entropy, reservoir.memory));
            }
        } finally {
            Arrays.fill(entropy, (byte) 0);
        }
        return reservoir;
    }

    /**
     * Reads what was stored.
     *
     * @throws UndertoneException if it is damaged, or of another pack
     */
    public static Reservoir read(byte[] bytes, Document document) {
        Reservoir reservoir = new Reservoir();
        synchronized (document) {
            Native.check(Native.reservoirRead(bytes, document.open(), reservoir.slot));
        }
        reservoir.memory.duplicate().put(bytes);
        return reservoir;
    }

    /** The number of the slot. */
    public long slot() {
        return slot[0];
    }

    /** What to store. */
    public synchronized byte[] toBytes() {
        return Native.bytes(memory.duplicate(), BYTES);
    }

    /**
     * Adds the line in a document, all its sentences as one text, and forgets them.
     *
     * @throws UndertoneException if the document has another pack; the sentences are still there
     *     then
     */
    public synchronized void push(Document document) {
        byte[] entropy = Native.entropy();
        try {
            synchronized (document) {
                Native.check(Native.reservoirPush(memory, document.open(), entropy));
            }
        } finally {
            Arrays.fill(entropy, (byte) 0);
        }
    }

    /**
     * Releases the kept outcome, and wipes the reservoir. Release even if nothing was typed, and
     * wipe what was stored.
     *
     * @throws UndertoneException if the grant was spent or is for another unit; the reservoir is
     *     unchanged then
     */
    public synchronized Release release(Document document, LineMechanism mechanism, Grant grant) {
        synchronized (document) {
            return Release.drawn(grant, (permission, entropy, out) ->
                    Native.reservoirRelease(memory, document.open(), mechanism.number, permission, entropy, out));
        }
    }
}
