package dev.undertone;

/**
 * What an {@link UndertoneException} says is wrong, as a number. Numbers keep their meaning for ever. Later versions may add some, so
 * treat one that you do not know as a failure.
 */
public final class Status {
    /** An argument of the native side is missing. */
    public static final int NULL_POINTER = 1;

    /** Memory of the native side is not aligned. */
    public static final int MISALIGNED = 2;

    /** A length is larger than any array. */
    public static final int IMPOSSIBLE_LENGTH = 3;

    /** Memory of the native side overlaps. */
    public static final int OVERLAP = 4;

    /** Memory of the native side is too short. */
    public static final int MEMORY_TOO_SMALL = 5;

    /** Not an object of the native side. */
    public static final int BAD_HANDLE = 6;

    /** An object of the native side is in use. */
    public static final int BUSY = 7;

    /** Room of the native side is too short. */
    public static final int BUFFER_TOO_SMALL = 8;

    /** The text is not a decimal number. */
    public static final int EPSILON_NOT_A_NUMBER = 16;

    /** Epsilon is below 0.000001. */
    public static final int EPSILON_TOO_SMALL = 17;

    /** Epsilon is above 1000. */
    public static final int EPSILON_TOO_LARGE = 18;

    /** Not a number of a {@link Rule}. */
    public static final int UNKNOWN_RULE = 19;

    /** Not a number of a {@link Noise}. */
    public static final int UNKNOWN_NOISE = 20;

    /** Not a number of a {@link WordMethod}. */
    public static final int UNKNOWN_WORD_METHOD = 21;

    /** Epsilon is below 0.1, the smallest for Laplace noise on vectors. */
    public static final int EPSILON_TOO_SMALL_FOR_NOISE = 22;

    /** The dimension of a vector is 0 or more than {@link VectorMechanism#MAX_DIMENSION}. */
    public static final int DIMENSION_OUT_OF_RANGE = 23;

    /** The bound on the coordinates is too large or too small for the noise. */
    public static final int BOUND_OUT_OF_RANGE = 24;

    /** The number of words to release is 0 or more than {@link Bag#MAX_RELEASED_WORDS}. */
    public static final int WORD_COUNT_OUT_OF_RANGE = 25;

    /** The vocabulary has no word with this number. */
    public static final int NO_SUCH_WORD = 26;

    /** Not a number of a {@link Unit}. */
    public static final int UNKNOWN_UNIT = 27;

    /** There are fewer bytes than the header of a pack has. */
    public static final int PACK_TOO_SHORT = 32;

    /** The bytes are not a pack. */
    public static final int NOT_A_PACK = 33;

    /** The pack has a format version that this library does not read. */
    public static final int PACK_UNSUPPORTED_VERSION = 34;

    /** The pack is not as long as it says. */
    public static final int PACK_WRONG_LENGTH = 35;

    /** The digest of the pack does not match its bytes. */
    public static final int PACK_DAMAGED = 36;

    /** The pack is intact but breaks the rules of its format. */
    public static final int PACK_MALFORMED = 37;

    /** The pack has no candidates. */
    public static final int NO_CANDIDATES = 48;

    /** The pack has no lexicon. */
    public static final int NO_LEXICON = 49;

    /** The pack has more than 100 projection directions. */
    public static final int TOO_MANY_DIRECTIONS = 50;

    /** The vector does not have the dimension of the pack or mechanism. */
    public static final int WRONG_DIMENSION = 51;

    /** The document already has {@link Document#MAX_SENTENCES} sentences. */
    public static final int DOCUMENT_FULL = 52;

    /** The system's source of entropy returned only zeroes. */
    public static final int ENTROPY_FAILED = 53;

    /** The pack has more candidates than this release can hold: 12800 with scores, 2560 with features, 4224 by the whole text. */
    public static final int TOO_MANY_CANDIDATES = 54;

    /** The pack has no projection. */
    public static final int NO_PROJECTION = 55;

    /** The projection of the pack stretches distances by more than 4096. */
    public static final int PROJECTION_TOO_STEEP = 56;

    /** The pack has features of texts, which an embedding alone does not tell. */
    public static final int NEEDS_TEXT = 57;

    /** The pack selects by depth, and a release by the whole text needs scores. */
    public static final int NO_SCORES = 58;

    /** The bytes are not a release. */
    public static final int NOT_A_RELEASE = 64;

    /** The release does not have the length of its kind; that of a document has {@link Release#BYTES} bytes. */
    public static final int RELEASE_WRONG_LENGTH = 65;

    /** The release has a format version that this library does not read. */
    public static final int RELEASE_UNSUPPORTED_VERSION = 66;

    /** A field of the release has an invalid value. */
    public static final int RELEASE_MALFORMED = 67;

    /** The grant was spent by an earlier release. */
    public static final int GRANT_SPENT = 80;

    /** The budget is 0. */
    public static final int LEDGER_NO_BUDGET = 81;

    /** The file of the ledger does not have 128 bytes. */
    public static final int LEDGER_WRONG_LENGTH = 82;

    /** The bytes are not a ledger. */
    public static final int NOT_A_LEDGER = 83;

    /** The ledger has a format version that this library does not read. */
    public static final int LEDGER_UNSUPPORTED_VERSION = 84;

    /** No record of the ledger is intact. */
    public static final int LEDGER_DAMAGED = 85;

    /** The records belong to different ledgers. */
    public static final int LEDGER_MIXED = 86;

    /** The file changed while the ledger was open. */
    public static final int LEDGER_CHANGED = 87;

    /** The newest record belongs to a later window. */
    public static final int LEDGER_FROM_FUTURE = 88;

    /** The window has less left than this call needs. */
    public static final int LEDGER_EXHAUSTED = 89;

    /** The counter of the ledger has reached its maximum. */
    public static final int LEDGER_WORN_OUT = 90;

    /** Nothing is reserved; the classes see to it. */
    public static final int LEDGER_NOT_RESERVED = 91;

    /** The file does not have the record that was written to it. */
    public static final int LEDGER_NOT_PERSISTED = 92;

    /** A record was lost; the rest of the window counts as spent. */
    public static final int LEDGER_RECORD_LOST = 93;

    /** The epsilon of the grant is not that of the mechanism. */
    public static final int GRANT_WRONG_EPSILON = 94;

    /** The grant is for another unit than the release. */
    public static final int GRANT_WRONG_UNIT = 95;

    /** The grant is for fewer words than the release has. */
    public static final int GRANT_TOO_FEW_WORDS = 96;

    /** The ledger is for another unit. */
    public static final int LEDGER_WRONG_UNIT = 97;

    /** The ledger is not the one that the platform's counter counted: an older one, or another. */
    public static final int LEDGER_SET_BACK = 98;

    /** The platform's counter is not where it was raised to. */
    public static final int LEDGER_NOT_RAISED = 99;

    /** The file or the counter could not be used; the classes throw what was thrown. */
    public static final int LEDGER_STORAGE_FAILED = 100;

    /** The ledger could not be locked: another program has it. */
    public static final int LEDGER_IN_USE = 101;

    /** A bug in the library. */
    public static final int INTERNAL = 127;

    private Status() {}
}
