package dev.undertone;

import java.nio.ByteBuffer;

/**
 * Permission to spend an epsilon once. Every release takes one, from a {@link Ledger} or
 * unrecorded.
 */
public final class Grant {
    /** Used under the monitor of this object. */
    final ByteBuffer memory;

    /** Made of memory that the native side made a grant in. */
    Grant(ByteBuffer memory) {
        this.memory = memory;
    }

    /**
     * A grant without a ledger, for apps that count elsewhere what they spend, and for public text.
     * Several releases of the same text add up.
     *
     * @param unit what the release keeps its epsilon for; a release refuses a grant for another
     *     unit, and does not spend it
     * @param epsilonMicro epsilon in micro-units, 1 to 1,000,000,000; {@link
     *     Undertone#epsilonMicro} reads text
     * @throws UndertoneException if it is less or more
     */
    public static Grant unrecorded(Unit unit, long epsilonMicro) {
        ByteBuffer memory = Native.memory(Numbers.GRANT_HANDLE_SIZE);
        Native.check(Native.grantInitUnrecorded(memory, unit.number, epsilonMicro));
        return new Grant(memory);
    }
}
