package dev.undertone;

/**
 * A device releases in some of the slots of a window, at one epsilon each, so a window costs
 * appointments times epsilon, which is the budget to give the ledger. Slots are numbered from 0 in
 * each window.
 */
public final class Schedule {
    final int slots;
    final int appointments;
    final long epsilonMicro;

    /**
     * A schedule, which the ledger checks.
     *
     * @param slots the slots of a window, such as the 52 weeks of a year, 1 to 65535
     * @param appointments the slots in which a device releases, 1 to 65535
     * @param epsilonMicro epsilon of a release in micro-units
     */
    public Schedule(int slots, int appointments, long epsilonMicro) {
        this.slots = slots;
        this.appointments = appointments;
        this.epsilonMicro = epsilonMicro;
    }
}
