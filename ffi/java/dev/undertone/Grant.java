package dev.undertone;

/** Permission to spend an epsilon once. */
public final class Grant {
    private long epsilonMicro;

    private Grant(long epsilonMicro) {
        this.epsilonMicro = epsilonMicro;
    }

    /**
     * A permission that no ledger has recorded, for those who account for the budget elsewhere.
     *
     * @param epsilonMicro epsilon in micro-units, 1 to 1,000,000,000; {@link Undertone#epsilonMicro} reads text
     */
    public static Grant unrecorded(long epsilonMicro) {
        return new Grant(epsilonMicro);
    }

    synchronized long spend() {
        long all = epsilonMicro;
        epsilonMicro = 0;
        return all;
    }
}
