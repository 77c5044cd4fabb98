import dev.undertone.AnswerReservoir;
import dev.undertone.Bag;
import dev.undertone.Document;
import dev.undertone.Form;
import dev.undertone.Grant;
import dev.undertone.Ledger;
import dev.undertone.Noise;
import dev.undertone.Pack;
import dev.undertone.Release;
import dev.undertone.Reservoir;
import dev.undertone.Status;
import dev.undertone.Undertone;
import dev.undertone.UndertoneException;
import dev.undertone.Unit;
import dev.undertone.VectorMechanism;
import dev.undertone.Vocabulary;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The cases of tests/faces/misuse.md in Java: java Misuse GOLDEN, the folder tests/golden. None
 * crashes. It prints their names.
 */
public final class Misuse {
    private static final long ONE = 1_000_000;
    private static final long TEN = 10_000_000;
    private static final long WINDOW = 20_000;

    private static Path golden;
    private static Path folder;

    private interface Call {
        void run() throws Exception;
    }

    /** What the call throws, in the words of the list. */
    private static String outcome(Call call) {
        try {
            call.run();
            return "OK";
        } catch (UndertoneException refused) {
            return statusName(refused.status());
        } catch (IllegalStateException refused) {
            return "CLOSED";
        } catch (NullPointerException | IllegalArgumentException refused) {
            return "ARGUMENT";
        } catch (IOException refused) {
            return "SYSTEM";
        } catch (Exception other) {
            return other.toString();
        }
    }

    private static String statusName(int status) {
        return Arrays.stream(Status.class.getFields())
                .filter(field -> {
                    try {
                        return field.getInt(null) == status;
                    } catch (IllegalAccessException hidden) {
                        throw new AssertionError(hidden);
                    }
                })
                .findFirst()
                .map(field -> field.getName())
                .orElse("status " + status);
    }

    private static void test(String name, String expected, Call... calls) {
        for (Call call : calls) {
            String found = outcome(call);
            if (!found.equals(expected)) {
                throw new AssertionError(name + ": expected " + expected + ", found " + found);
            }
        }
        System.out.println("case " + name);
    }

    private static byte[] bytes(String name) throws IOException {
        return Files.readAllBytes(golden.resolve(name));
    }

    private static Grant grant(Unit unit) {
        return Grant.unrecorded(unit, ONE);
    }

    private static void packs(byte[] bytes) throws Exception {
        test("short_pack", "PACK_TOO_SHORT", () -> Pack.copyOf(new byte[0]));
        test("foreign_pack", "NOT_A_PACK", () -> Pack.copyOf(new byte[1000]));
        test("cut_pack", "PACK_WRONG_LENGTH", () -> Pack.copyOf(Arrays.copyOf(bytes, bytes.length - 1)));
        byte[] damaged = bytes.clone();
        damaged[bytes.length - 1] ^= 1;
        test("damaged_pack", "PACK_DAMAGED", () -> Pack.copyOf(damaged));
        Pack vectors = Pack.copyOf(bytes("golden-vectors.pack"));
        test("pack_without_candidates", "NO_CANDIDATES", () -> new Document(vectors));
        test("pack_closed_first", "OK", () -> {
            try (Document document = new Document(Pack.copyOf(bytes))) {
                // Nothing here holds the pack now.
                System.gc();
                document.pushSentence("The clinic called.");
                document.release(grant(Unit.SENTENCE));
            }
        });
    }

    private static void texts(Pack pack) throws Exception {
        Document document = new Document(pack);
        test("null_argument", "ARGUMENT",
                () -> document.pushSentence(null),
                () -> document.pushText(null),
                () -> document.push(null),
                () -> document.pushAll(null),
                () -> document.pushEncoded(null, new float[16]),
                () -> document.release(null),
                () -> document.releaseWholeText(null),
                () -> new Document(null),
                () -> new Bag(null),
                () -> new Vocabulary(null),
                () -> Pack.copyOf(null),
                () -> Form.copyOf(null),
                () -> Form.copyOf(bytes("golden.form")).release(null, grant(Unit.WHOLE_TEXT)),
                () -> Form.copyOf(bytes("golden.form")).release(new int[3], null),
                () -> new Release(null),
                () -> Ledger.open(null, Unit.SENTENCE),
                () -> Grant.unrecorded(null, ONE));
        test("empty_text", "OK", () -> {
            check(document.pushText("") == 0, "sentences of the empty text");
            document.pushSentence("");
            check(document.sentenceCount() == 1, "the empty sentence");
        });
        test("text_that_is_no_unicode", "OK",
                () -> document.pushSentence("\ud800"),
                () -> check(document.pushText("It \udc00 snows.") == 1, "half a pair ends no sentence"),
                () -> check(document.pushText("\udfff and \ud83d") == 1, "half a pair at the end"));
        test("long_text", "OK", () -> document.pushSentence(new String(new char[1 << 20]).replace('\0', 'x')));
        float[] odd = new float[16];
        odd[0] = Float.NaN;
        odd[1] = Float.POSITIVE_INFINITY;
        odd[2] = Float.NEGATIVE_INFINITY;
        test("embedding_of_nan", "OK", () -> document.push(odd), () -> document.pushAll(odd));
        test("short_embedding", "WRONG_DIMENSION",
                () -> document.push(new float[15]),
                () -> document.pushAll(new float[33]));
        Document featured = new Document(Pack.copyOf(bytes("golden-features.pack")));
        test("embedding_without_text", "NEEDS_TEXT", () -> featured.push(new float[16]));
        test("full_document", "DOCUMENT_FULL", () -> {
            for (int i = 0; i <= 128; i++) {
                document.pushSentence("One more.");
            }
        });
    }

    private static void forms() throws Exception {
        byte[] scores = bytes("golden-scores.pack");
        test("foreign_form", "NOT_A_FORM", () -> Form.copyOf(scores));
        byte[] bytes = bytes("golden.form");
        Form form = Form.copyOf(bytes);
        bytes[bytes.length - 1] ^= 1;
        test("damaged_form", "FORM_DAMAGED", () -> Form.copyOf(bytes));
        Grant grant = grant(Unit.WHOLE_TEXT);
        test("wrong_answer_count", "WRONG_ANSWER_COUNT",
                () -> form.release(new int[2], grant),
                () -> form.release(new int[4], grant));
        test("answers_out_of_range", "OK", () -> form.release(new int[] {4, 2600, Form.NO_ANSWER}, grant));
        test("no_such_category", "NO_SUCH_CATEGORY", () -> form.attributeName(3), () -> form.categoryName(0, 4));
        try (Document document = new Document(Pack.copyOf(scores))) {
            test("topic_of_another_pack", "FORM_OTHER_PACK", () -> form.answerTopic(document, new int[3]));
            byte[] lines = Reservoir.begin(document, 7, 1).toBytes();
            test("lines_as_answers", "RESERVOIR_OTHER_PACK", () -> AnswerReservoir.read(lines, form));
        }
    }

    private static void releases(Pack pack) throws Exception {
        Document document = new Document(pack);
        test("release_of_nothing", "OK", () -> document.release(grant(Unit.SENTENCE)));
        document.pushSentence("The clinic called.");
        test("release_twice", "OK",
                () -> document.release(grant(Unit.SENTENCE)),
                () -> document.release(grant(Unit.SENTENCE)));
        Document byDepth = new Document(Pack.copyOf(bytes("golden.pack")));
        test("whole_text_without_scores", "NO_SCORES", () -> byDepth.releaseWholeText(grant(Unit.WHOLE_TEXT)));
        forms();
        Reservoir reservoir = Reservoir.begin(document, 7, 1);
        byte[] stored = reservoir.toBytes();
        stored[63] ^= 1;
        test("damaged_reservoir", "RESERVOIR_DAMAGED", () -> Reservoir.read(stored, document));
        Document other = new Document(Pack.copyOf(bytes("golden-vote.pack")));
        test("reservoir_of_another_pack", "RESERVOIR_OTHER_PACK", () -> reservoir.push(other));
        Grant used = grant(Unit.SENTENCE);
        document.release(used);
        test("used_grant", "GRANT_SPENT", () -> document.release(used));
        Grant whole = grant(Unit.WHOLE_TEXT);
        test("grant_of_another_unit", "GRANT_WRONG_UNIT", () -> document.release(whole));
        test("grant_kept_after_wrong_unit", "OK", () -> document.releaseWholeText(whole));
        document.close();
        test("document_after_close", "CLOSED",
                () -> document.pushSentence("late"),
                () -> document.pushText("late"),
                () -> document.push(new float[16]),
                () -> document.sentenceCount(),
                () -> document.release(grant(Unit.SENTENCE)),
                () -> document.reset());
        test("short_release", "RELEASE_WRONG_LENGTH", () -> new Release(new byte[23]));
        test("foreign_release", "NOT_A_RELEASE", () -> new Release(new byte[24]));
        byte[] forged = new Document(pack).release(grant(Unit.SENTENCE)).toBytes();
        forged[4] = 99;
        test("forged_release", "RELEASE_MALFORMED", () -> new Release(forged));
        test("epsilon_not_a_number", "EPSILON_NOT_A_NUMBER",
                () -> Undertone.epsilonMicro("much"),
                () -> Undertone.epsilonMicro("nan"));
        test("epsilon_zero", "EPSILON_TOO_SMALL", () -> Grant.unrecorded(Unit.SENTENCE, 0));
        test("epsilon_too_large", "EPSILON_TOO_LARGE", () -> Grant.unrecorded(Unit.SENTENCE, 1_000_000_001));
        test("grant_of_another_epsilon", "GRANT_WRONG_EPSILON",
                () -> new VectorMechanism(16, 0, ONE, Noise.LAPLACE)
                        .release(Grant.unrecorded(Unit.VECTOR, 2 * ONE), new float[16]));
    }

    private static void ledgers(Pack pack) throws Exception {
        Path file = folder.resolve("budget.ledger");
        test("missing_ledger", "SYSTEM", () -> Ledger.open(file, Unit.SENTENCE));
        test("ledger_without_budget", "LEDGER_NO_BUDGET", () -> Ledger.openOrCreate(file, Unit.SENTENCE, 0));
        Ledger ledger = Ledger.openOrCreate(file, Unit.SENTENCE, TEN);
        test("ledger_in_use", "LEDGER_IN_USE",
                () -> Ledger.open(file, Unit.SENTENCE),
                () -> Ledger.openOrCreate(file, Unit.SENTENCE, TEN),
                () -> Ledger.recreateSpent(file, Unit.SENTENCE, TEN, WINDOW));
        test("negative_window", "ARGUMENT",
                () -> ledger.spend(ONE, -1),
                () -> ledger.remaining(-1),
                () -> Ledger.recreateSpent(file, Unit.SENTENCE, TEN, -1));
        ledger.spend(7 * ONE, WINDOW);
        test("over_budget", "LEDGER_EXHAUSTED", () -> ledger.spend(4 * ONE, WINDOW));
        ledger.spend(ONE, WINDOW + 1);
        test("clock_set_back", "LEDGER_FROM_FUTURE", () -> ledger.spend(ONE, WINDOW));
        ledger.close();
        test("ledger_after_close", "CLOSED",
                () -> ledger.spend(ONE, WINDOW + 1),
                () -> ledger.remaining(WINDOW + 1));
        Document document = new Document(pack);
        document.close();
        test("close_twice", "OK", document::close, ledger::close);
        test("ledger_of_another_unit", "LEDGER_WRONG_UNIT", () -> Ledger.open(file, Unit.WHOLE_TEXT));

        byte[] image = Files.readAllBytes(file);
        Path other = folder.resolve("other.ledger");
        Files.write(other, Arrays.copyOf(image, 127));
        test("short_ledger", "LEDGER_WRONG_LENGTH", () -> Ledger.open(other, Unit.SENTENCE));
        Files.write(other, new byte[128]);
        test("foreign_ledger", "NOT_A_LEDGER", () -> Ledger.open(other, Unit.SENTENCE));
        byte[] damaged = image.clone();
        damaged[30] ^= 1;
        damaged[100] ^= 1;
        Files.write(other, damaged);
        test("damaged_ledger", "LEDGER_DAMAGED", () -> Ledger.open(other, Unit.SENTENCE));

        try (Ledger words = Ledger.openOrCreate(folder.resolve("words.ledger"), Unit.WORD, TEN)) {
            test("words_out_of_range", "WORD_COUNT_OUT_OF_RANGE",
                    () -> words.spend(1, 0, WINDOW),
                    () -> words.spend(1, 257, WINDOW));
            Grant one = words.spend(ONE, 1, WINDOW);
            Bag bag = new Bag(new Vocabulary(pack));
            test("bag_of_more_words", "GRANT_TOO_FEW_WORDS", () -> bag.release(one, 2));
        }
        setBack(folder.resolve("counted.ledger"));
        counterUsesItsLedger(folder.resolve("reentrant.ledger"));
    }

    private static void setBack(Path file) throws Exception {
        long[] counted = {0};
        Ledger.Counter counter = new Ledger.Counter() {
            @Override
            public long read() {
                return counted[0];
            }

            @Override
            public void raise(long to) {
                counted[0] = to;
            }
        };
        Ledger.openOrCreate(file, Unit.SENTENCE, TEN, counter).close();
        byte[] before = Files.readAllBytes(file);
        try (Ledger ledger = Ledger.open(file, Unit.SENTENCE, counter)) {
            ledger.spend(ONE, WINDOW);
            ledger.spend(ONE, WINDOW);
        }
        Files.write(file, before);
        test("set_back_ledger", "LEDGER_SET_BACK", () -> Ledger.open(file, Unit.SENTENCE, counter));
    }

    /** Refused as after the close, because the class is the same; the message is another. */
    private static void counterUsesItsLedger(Path file) throws Exception {
        Ledger[] asks = new Ledger[1];
        List<String> refusals = new ArrayList<>();
        Ledger.Counter counter = new Ledger.Counter() {
            private long counted;

            @Override
            public long read() {
                return counted;
            }

            @Override
            public void raise(long to) {
                for (Call call : new Call[] {() -> asks[0].spend(ONE, WINDOW), () -> asks[0].remaining(WINDOW)}) {
                    try {
                        call.run();
                        refusals.add("OK");
                    } catch (IllegalStateException refused) {
                        refusals.add(refused.getMessage());
                    } catch (Exception other) {
                        refusals.add(other.toString());
                    }
                }
                counted = to;
            }
        };
        asks[0] = Ledger.openOrCreate(file, Unit.SENTENCE, TEN, counter);
        test("counter_uses_its_ledger", "OK", () -> {
            for (long left = TEN - ONE; left >= TEN - 2 * ONE; left -= ONE) {
                refusals.clear();
                asks[0].spend(ONE, WINDOW);
                String busy = "the ledger is in use by a call that has not returned";
                check(refusals.equals(Arrays.asList(busy, busy)), refusals.toString());
                check(asks[0].remaining(WINDOW) == left, "what is left");
            }
        });
        asks[0].close();
    }

    /** Runs a task in many threads at once; what one throws is thrown. */
    private static void inThreads(int count, Call task) throws Exception {
        List<Throwable> failures = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            threads.add(new Thread(() -> {
                try {
                    for (int j = 0; j < 25; j++) {
                        task.run();
                    }
                } catch (Throwable failure) {
                    synchronized (failures) {
                        failures.add(failure);
                    }
                }
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        if (!failures.isEmpty()) {
            throw new Exception(failures.get(0));
        }
    }

    private static void threads(Pack pack) throws Exception {
        test("pack_from_many_threads", "OK", () -> inThreads(4, () -> {
            try (Document own = new Document(pack)) {
                own.pushSentence("The orchestra plays.");
                own.release(grant(Unit.SENTENCE));
            }
        }));
        Document shared = new Document(pack);
        test("document_from_two_threads", "OK", () -> inThreads(2, () -> {
            shared.pushSentence("The orchestra plays.");
            shared.release(grant(Unit.SENTENCE));
        }));
        AtomicInteger grants = new AtomicInteger();
        try (Ledger ledger = Ledger.openOrCreate(folder.resolve("shared.ledger"), Unit.SENTENCE, TEN)) {
            test("ledger_from_two_threads", "OK", () -> {
                inThreads(2, () -> {
                    try {
                        ledger.spend(ONE, WINDOW);
                        grants.incrementAndGet();
                    } catch (UndertoneException refused) {
                        check(refused.status() == Status.LEDGER_EXHAUSTED, refused.toString());
                    }
                });
                check(grants.get() == 10, grants + " grants of 10");
            });
        }
    }

    private static void check(boolean held, String what) {
        if (!held) {
            throw new AssertionError(what);
        }
    }

    public static void main(String[] arguments) throws Exception {
        golden = Paths.get(arguments[0]);
        folder = Files.createTempDirectory("misuse");
        byte[] bytes = bytes("golden-scores.pack");
        Pack pack = Pack.copyOf(bytes);
        packs(bytes);
        texts(pack);
        releases(pack);
        ledgers(pack);
        threads(pack);
    }
}
