package dev.undertone;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The answer of one line of a slot to one question of a form, such as the emoji of a line. The
 * question and the line are drawn without looking at any answer.
 *
 * <p>Store {@link #toBytes} after each line, as for a {@link Reservoir}.
 */
public final class AnswerReservoir {
    /** The length of what is stored. */
    public static final int BYTES = Numbers.RESERVOIR_BYTES;

    private final ByteBuffer memory = ByteBuffer.allocateDirect(BYTES);
    private final long[] slot = new long[1];
    private final Form form;

    private AnswerReservoir(Form form) {
        this.form = form;
    }

    /**
     * Draws the question that will be released, and returns an empty reservoir.
     *
     * @param slot a public number, which is stored
     * @param places a public number below the number of lines that most devices see in a slot, 1 to
     *     65535
     */
    public static AnswerReservoir begin(Form form, long slot, int places) {
        AnswerReservoir reservoir = new AnswerReservoir(form);
        reservoir.slot[0] = slot;
        byte[] entropy = Native.entropy();
        try {
            Native.check(Native.answerReservoirInit(
                    form.memory, form.bytes, slot, places, entropy, reservoir.memory));
        } finally {
            Arrays.fill(entropy, (byte) 0);
        }
        return reservoir;
    }

    /**
     * Reads stored bytes.
     *
     * @throws UndertoneException if they are damaged, or of another form
     */
    public static AnswerReservoir read(byte[] bytes, Form form) {
        AnswerReservoir reservoir = new AnswerReservoir(form);
        Native.check(Native.answerReservoirRead(bytes, form.memory, form.bytes, reservoir.slot));
        reservoir.memory.duplicate().put(bytes);
        return reservoir;
    }

    /** The number of the slot. */
    public long slot() {
        return slot[0];
    }

    /** The bytes to store. */
    public synchronized byte[] toBytes() {
        return Native.bytes(memory.duplicate(), BYTES);
    }

    /**
     * Adds the answers of one line.
     *
     * @param answers as for {@link Form#release}
     * @throws UndertoneException if the number of answers is not the number of attributes; the line
     *     does not count then
     */
    public synchronized void push(int[] answers) {
        if (answers == null) {
            throw new NullPointerException("answers");
        }
        byte[] entropy = Native.entropy();
        try {
            Native.check(Native.answerReservoirPush(memory, form.memory, form.bytes, answers, entropy));
        } finally {
            Arrays.fill(entropy, (byte) 0);
        }
    }

    /**
     * Releases the answer that was kept, and wipes the reservoir. Release even if nothing was
     * pushed, and wipe what was stored.
     *
     * @param grant for {@link Unit#WHOLE_TEXT}
     * @throws UndertoneException if the grant was spent or is for another unit; the reservoir is
     *     unchanged then
     */
    public synchronized Release release(Grant grant) {
        return Release.drawn(grant, (permission, entropy, out) -> Native.answerReservoirRelease(
                memory, form.memory, form.bytes, permission, entropy, out));
    }
}
