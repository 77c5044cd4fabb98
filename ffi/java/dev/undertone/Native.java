package dev.undertone;

import java.nio.ByteBuffer;
import java.security.SecureRandom;

/** The functions of the native library, in ffi/src/jni.rs. No argument may be null. */
final class Native {
    /** The ABI version that these classes were written for. */
    private static final int ABI_VERSION = 2;

    /** The system's generator, seeded by the system: whoever knows its bytes can undo the privacy. */
    private static final SecureRandom RANDOM = new SecureRandom();

    static {
        System.loadLibrary("undertone");
        if (abiVersion() != ABI_VERSION) {
            throw new UnsatisfiedLinkError("the native library undertone has ABI version " + abiVersion()
                    + ", these classes need " + ABI_VERSION + ": take both from the same version of undertone");
        }
    }

    private Native() {}

    /** The result of a call that returns a status with its sign changed if it fails. */
    static int checked(int result) {
        check(Math.max(-result, 0));
        return result;
    }

    /** Statuses that the classes look at. */
    static final int LEDGER_RECORD_LOST = 93;

    static final int LEDGER_NOT_RAISED = 99;

    /** Throws what a status says, unless it is OK. */
    static void check(int status) {
        if (status != 0) {
            throw new UndertoneException(status, statusMessage(status));
        }
    }

    /** The most secret bytes that a call takes. The caller wipes them if they must stay secret. */
    static byte[] entropy() {
        byte[] entropy = new byte[32];
        RANDOM.nextBytes(entropy);
        return entropy;
    }

    private static native int abiVersion();

    static native String version();

    static native String statusMessage(int status);

    static native int epsilonParse(byte[] text);

    static native int packHandleMemory();

    static native int packInit(ByteBuffer memory, ByteBuffer bytes);

    static native int packDimension(ByteBuffer pack);

    static native int packCandidateCount(ByteBuffer pack);

    static native int packWordCount(ByteBuffer pack);

    static native int packFeatureCount(ByteBuffer pack);

    static native int packNothingKnown(ByteBuffer pack);

    static native int packRecommendedUnit(ByteBuffer pack, long epsilonMicro, int sentences);

    static native int packId(ByteBuffer pack, byte[] out);

    static native int packEncoderDigest(ByteBuffer pack, byte[] out);

    static native int packEncoderName(ByteBuffer pack, byte[] out);

    static native int grantHandleMemory();

    static native int grantInitUnrecorded(ByteBuffer memory, int unit, long epsilonMicro);

    static native int ledgerCreateImage(int unit, long budgetMicro, byte[] entropy, byte[] outImage);

    static native int ledgerHandleMemory();

    static native int ledgerOpen(ByteBuffer memory, int unit, byte[] image, byte[] entropy);

    static native int ledgerMeet(ByteBuffer ledger, long counter);

    static native int ledgerRemaining(ByteBuffer ledger, long window, long[] outMicro);

    static native int ledgerReserve(
            ByteBuffer ledger,
            long epsilonMicro,
            int words,
            long window,
            long counter,
            byte[] stored,
            byte[] outRecord,
            long[] outNumbers);

    static native int ledgerGrant(ByteBuffer ledger, byte[] readBack, ByteBuffer memory);

    static native int documentHandleMemory();

    static native int documentInit(ByteBuffer memory, ByteBuffer pack);

    static native int documentPush(ByteBuffer document, float[] embedding);

    static native int documentPushEncoded(ByteBuffer document, byte[] text, float[] embedding);

    static native int documentPushSentence(ByteBuffer document, byte[] text);

    static native int documentPushText(ByteBuffer document, byte[] text);

    static native int documentReset(ByteBuffer document);

    static native int documentPromise(ByteBuffer document, int unit, long epsilonMicro, long[] outMicro);

    static native int documentRelease(
            ByteBuffer document, ByteBuffer grant, int rule, byte[] entropy, byte[] out);

    static native int documentReleaseWholeText(
            ByteBuffer document, ByteBuffer grant, byte[] entropy, byte[] out);

    static native int documentReleaseProjective(
            ByteBuffer document, ByteBuffer grant, byte[] entropy, byte[] out);

    static native int releaseRead(byte[] bytes, long[] outFields, byte[] outPackId);
}
