package dev.undertone;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.Arrays;

/**
 * The methods of the native library, in ffi/src/jni.rs. No argument may be null except `held`, an
 * object that the call reads through another argument, so that no garbage collector frees it.
 */
final class Native {
    /**
     * The system's generator, seeded by the system: its bytes would undo the privacy.
     */
    private static final SecureRandom RANDOM = new SecureRandom();

    static {
        System.loadLibrary("undertone");
        if (abiVersion() != Numbers.ABI_VERSION) {
            throw new UnsatisfiedLinkError("the native library undertone has ABI version " + abiVersion()
                    + ", these classes need " + Numbers.ABI_VERSION + ": take both from the same version of undertone");
        }
    }

    private Native() {}

    /** The result of a call that returns a status with its sign changed if it fails. */
    static int checked(int result) {
        check(Math.max(-result, 0));
        return result;
    }

    /** Throws the exception of a status, unless it is OK. */
    static void check(int status) {
        if (status != 0) {
            throw new UndertoneException(status, statusMessage(status));
        }
    }

    /**
     * A text in UTF-8. Half a surrogate pair becomes U+FFFD, which separates words: {@code
     * getBytes} makes it a question mark, which ends a sentence. The caller wipes the bytes.
     */
    static byte[] utf8(String text) {
        CharsetEncoder encoder = StandardCharsets.UTF_8.newEncoder()
                .onMalformedInput(CodingErrorAction.REPLACE)
                .replaceWith(new byte[] {(byte) 0xef, (byte) 0xbf, (byte) 0xbd});
        // A char has at most three bytes, and a pair four.
        byte[] room = new byte[Math.multiplyExact(3, text.length())];
        ByteBuffer out = ByteBuffer.wrap(room);
        encoder.encode(CharBuffer.wrap(text), out, true);
        encoder.flush(out);
        byte[] bytes = Arrays.copyOf(room, out.position());
        Arrays.fill(room, (byte) 0);
        return bytes;
    }

    /** The most secret bytes that a call takes. The caller wipes them if they must stay secret. */
    static byte[] entropy() {
        byte[] entropy = new byte[32];
        RANDOM.nextBytes(entropy);
        return entropy;
    }

    /** Memory for a handle of this size, which is aligned wherever the buffer starts. */
    static ByteBuffer memory(int size) {
        return ByteBuffer.allocateDirect(size + Numbers.HANDLE_ALIGNMENT);
    }

    /** Room for what a call writes: numbers in the order of bytes of this machine. */
    static ByteBuffer room(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    /** The first bytes of a buffer. */
    static byte[] bytes(ByteBuffer buffer, int count) {
        byte[] bytes = new byte[count];
        buffer.get(bytes);
        return bytes;
    }

    /** A text in the bytes of a file, by its start and its length. */
    static String text(ByteBuffer file, long[] range) {
        // Another position, so that threads do not move one another's.
        ByteBuffer bytes = file.duplicate();
        bytes.position((int) range[0]);
        return new String(bytes(bytes, (int) range[1]), StandardCharsets.UTF_8);
    }

    private static native int abiVersion();

    static native String version();

    static native String backend();

    static native String statusMessage(int status);

    static native int epsilonParse(byte[] text);

    static native int packInit(ByteBuffer memory, ByteBuffer bytes);

    static native int packDescribe(ByteBuffer pack, ByteBuffer held, ByteBuffer out);

    static native int packEmbedSentence(ByteBuffer pack, ByteBuffer held, byte[] text, ByteBuffer out);

    static native int sentenceNext(byte[] text, int start, boolean finished, long[] outRange);

    static native int grantInitUnrecorded(ByteBuffer memory, int unit, long epsilonMicro);

    static native int ledgerCreateImage(int unit, long budgetMicro, byte[] entropy, byte[] outImage);

    static native int ledgerSpend(
            Storage storage,
            byte[] buffer,
            boolean counted,
            int unit,
            long epsilonMicro,
            int words,
            long window,
            byte[] entropy,
            ByteBuffer grantMemory)
            throws IOException;

    static native int ledgerRemaining(byte[] image, long counter, int unit, long window, long[] outMicro);

    static native int ledgerAppointment(byte[] image, long window, int slots, int appointments, ByteBuffer out);

    static native int ledgerIsDue(
            byte[] image, long counter, long window, int slots, int appointments, int slot, long epsilonMicro);

    static native int ledgerRecreateSpent(
            Storage storage,
            byte[] buffer,
            boolean counted,
            int unit,
            long budgetMicro,
            long window,
            byte[] entropy,
            byte[] outImage)
            throws IOException;

    static native int documentInit(ByteBuffer memory, ByteBuffer pack, ByteBuffer held);

    static native int documentPush(ByteBuffer document, float[] embedding);

    static native int documentPushAll(ByteBuffer document, float[] embeddings);

    static native int documentPushEncoded(ByteBuffer document, byte[] text, float[] embedding);

    static native int documentPushSentence(ByteBuffer document, byte[] text);

    static native int documentPushText(ByteBuffer document, byte[] text);

    static native int documentSentenceCount(ByteBuffer document);

    static native int documentReset(ByteBuffer document);

    static native int documentPromise(ByteBuffer document, int unit, long epsilonMicro, long[] outMicro);

    static native int documentRelease(
            ByteBuffer document, ByteBuffer grant, int rule, byte[] entropy, byte[] out);

    static native int documentReleaseWholeText(
            ByteBuffer document, ByteBuffer grant, boolean projective, byte[] entropy, byte[] out);

    static native int reservoirInit(ByteBuffer document, long slot, int places, byte[] entropy, ByteBuffer out);

    static native int reservoirPush(ByteBuffer reservoir, ByteBuffer document, byte[] entropy);

    static native int reservoirRead(byte[] bytes, ByteBuffer document, long[] outSlot);

    static native int reservoirRelease(
            ByteBuffer reservoir, ByteBuffer document, int mechanism, ByteBuffer grant, byte[] entropy, byte[] out);

    static native int formInit(ByteBuffer memory, ByteBuffer bytes);

    static native int formAttributeName(ByteBuffer form, ByteBuffer held, int attribute, long[] outRange);

    static native int formCategoryName(
            ByteBuffer form, ByteBuffer held, int attribute, int category, long[] outRange);

    static native int answerReservoirInit(
            ByteBuffer form, ByteBuffer held, long slot, int places, byte[] entropy, ByteBuffer out);

    static native int answerReservoirPush(
            ByteBuffer reservoir, ByteBuffer form, ByteBuffer held, int[] answers, byte[] entropy);

    static native int formAnswerTopic(ByteBuffer form, ByteBuffer held, ByteBuffer document, int[] answers);

    static native int answerReservoirRead(byte[] bytes, ByteBuffer form, ByteBuffer held, long[] outSlot);

    static native int answerReservoirRelease(
            ByteBuffer reservoir, ByteBuffer form, ByteBuffer held, ByteBuffer grant, byte[] entropy, byte[] out);

    static native int formRelease(
            ByteBuffer form, ByteBuffer held, int[] answers, ByteBuffer grant, byte[] entropy, byte[] out);

    static native int releaseRead(byte[] bytes, long[] outFields, byte[] outPackId);

    static native int vectorMechanismInit(
            ByteBuffer memory, int dimension, int boundExponent, int noise, long epsilonMicro);

    static native int vectorMechanismInitProjected(
            ByteBuffer memory, ByteBuffer pack, ByteBuffer held, int noise, long epsilonMicro);

    static native int vectorMechanismDimension(ByteBuffer mechanism, Pack held);

    static native int vectorMechanismReleaseLength(ByteBuffer mechanism, Pack held);

    static native int vectorMechanismRelease(
            ByteBuffer mechanism, Pack held, ByteBuffer grant, float[] vector, byte[] entropy, ByteBuffer out);

    static native int vectorReleaseRead(byte[] bytes, long[] outFields, byte[] outPackId);

    static native int vectorReleaseReadSteps(byte[] bytes, ByteBuffer out);

    static native int vectorReleaseReadValues(byte[] bytes, ByteBuffer out);

    static native int vocabularyInit(ByteBuffer memory, ByteBuffer pack, ByteBuffer held);

    static native int vocabularyWordCount(ByteBuffer vocabulary, ByteBuffer held);

    static native int vocabularyDescribe(ByteBuffer vocabulary, ByteBuffer held, long[] outNumbers);

    static native int vocabularyWord(ByteBuffer vocabulary, ByteBuffer packBytes, int word, long[] outRange);

    static native int bagInit(ByteBuffer memory, ByteBuffer vocabulary, ByteBuffer held);

    static native int bagPush(ByteBuffer bag, byte[] text, boolean wholeText);

    static native int bagReset(ByteBuffer bag);

    static native int bagReleaseLength(int words);

    static native int bagRelease(
            ByteBuffer bag, ByteBuffer grant, int words, int method, byte[] entropy, ByteBuffer out);

    static native int bagReleaseRead(byte[] bytes, long[] outFields, byte[] outPackId);

    static native int bagReleaseReadWords(byte[] bytes, ByteBuffer out);
}
