import dev.undertone.Document;
import dev.undertone.Grant;
import dev.undertone.Ledger;
import dev.undertone.Pack;
import dev.undertone.Promise;
import dev.undertone.Release;
import dev.undertone.Rule;
import dev.undertone.Undertone;
import dev.undertone.UndertoneException;
import dev.undertone.Unit;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Right and wrong uses of the Java classes: java Checks PACK HEADER, a pack with a lexicon and undertone.h. */
public final class Checks {
    private static final long TEN = 10_000_000;

    private static Map<String, Integer> constants;
    private static final AtomicInteger CHECKS = new AtomicInteger();

    private interface Call {
        void run() throws Exception;
    }

    private static void check(boolean held, String what) {
        if (!held) {
            throw new AssertionError(what);
        }
        CHECKS.incrementAndGet();
    }

    private static void refuses(Class<? extends Exception> expected, Call call) {
        try {
            call.run();
        } catch (Exception found) {
            check(expected.isInstance(found), "expected " + expected + ", found " + found);
            return;
        }
        throw new AssertionError("not refused; expected " + expected);
    }

    private static void refuses(String status, Call call) {
        refuses(UndertoneException.class, () -> {
            try {
                call.run();
            } catch (UndertoneException found) {
                check(found.status() == constants.get("STATUS_" + status), "expected " + status + ", found " + found.status());
                check(found.getMessage().length() > 20, "a message: " + found.getMessage());
                throw found;
            }
        });
    }

    private static Map<String, Integer> constantsOf(String header) throws Exception {
        Map<String, Integer> found = new HashMap<>();
        Matcher lines = Pattern.compile("^#define UNDERTONE_(\\w+) (\\d+)$", Pattern.MULTILINE)
                .matcher(new String(Files.readAllBytes(Paths.get(header)), "UTF-8"));
        while (lines.find()) {
            found.put(lines.group(1), Integer.valueOf(lines.group(2)));
        }
        return found;
    }

    private static void constantsAreThoseOfTheHeader() {
        check(constants.get("RELEASE_BYTES") == Release.BYTES, "the length of a release");
        check(constants.get("MAX_SENTENCES") == Document.MAX_SENTENCES, "the most sentences");
        check(constants.get("VERSION_NUMBER") == versionNumber(), "the version: " + Undertone.version());
        check(constants.get("RULE_PERMUTE_AND_FLIP") == 1 + Rule.PERMUTE_AND_FLIP.ordinal(), "a rule");
        check(constants.get("RULE_EXPONENTIAL") == 1 + Rule.EXPONENTIAL.ordinal(), "a rule");
        check(constants.get("UNIT_SENTENCE") == 1 + Unit.SENTENCE.ordinal(), "a unit");
        check(constants.get("UNIT_WHOLE_TEXT") == 1 + Unit.WHOLE_TEXT.ordinal(), "a unit");
        check(constants.get("UNIT_WORD") == 1 + Unit.WORD.ordinal(), "a unit");
        check(constants.get("UNIT_VECTOR") == 1 + Unit.VECTOR.ordinal(), "a unit");
    }

    private static int versionNumber() {
        String[] parts = Undertone.version().split("\\.");
        return Integer.parseInt(parts[0]) * 10_000 + Integer.parseInt(parts[1]) * 100 + Integer.parseInt(parts[2]);
    }

    private static void epsilonsAreRead() {
        check(Undertone.epsilonMicro("0.5") == 500_000, "0.5");
        check(Undertone.epsilonMicro("1e-6") == 1, "1e-6");
        check(Undertone.epsilonMicro("1000") == 1_000_000_000, "1000");
        refuses("EPSILON_NOT_A_NUMBER", () -> Undertone.epsilonMicro(""));
        refuses("EPSILON_NOT_A_NUMBER", () -> Undertone.epsilonMicro("\ud800"));
        refuses("EPSILON_TOO_SMALL", () -> Undertone.epsilonMicro("0"));
        refuses("EPSILON_TOO_LARGE", () -> Undertone.epsilonMicro("1001"));
        refuses(NullPointerException.class, () -> Undertone.epsilonMicro(null));
    }

    private static void packsAreChecked(byte[] bytes) throws Exception {
        Pack pack = Pack.copyOf(bytes);
        check(pack.dimension() > 0 && pack.candidateCount() > 0 && pack.wordCount() > 0, "numbers of the pack");
        check(pack.id().length == constants.get("PACK_ID_BYTES"), "the identifier");
        check(pack.encoderDigest().length == constants.get("ENCODER_DIGEST_BYTES"), "the digest");
        check(!pack.encoderName().isEmpty(), "the name of the encoder");

        // A buffer that starts anywhere, and one that is read only.
        ByteBuffer shifted = ByteBuffer.allocateDirect(bytes.length + 3);
        shifted.position(3);
        shifted.put(bytes);
        shifted.position(3);
        check(Arrays.equals(Pack.wrap(shifted).id(), pack.id()), "a shifted buffer");
        check(Arrays.equals(Pack.wrap(shifted.asReadOnlyBuffer()).id(), pack.id()), "a buffer that is read only");

        refuses("PACK_TOO_SHORT", () -> Pack.copyOf(new byte[0]));
        refuses("NOT_A_PACK", () -> Pack.copyOf(new byte[bytes.length]));
        refuses("PACK_WRONG_LENGTH", () -> Pack.copyOf(Arrays.copyOf(bytes, bytes.length - 1)));
        byte[] damaged = bytes.clone();
        damaged[bytes.length - 1] ^= 1;
        refuses("PACK_DAMAGED", () -> Pack.copyOf(damaged));
        refuses(IllegalArgumentException.class, () -> Pack.wrap(ByteBuffer.wrap(bytes)));
        refuses(NullPointerException.class, () -> Pack.wrap(null));
        refuses(NullPointerException.class, () -> Pack.copyOf(null));
        refuses(NullPointerException.class, () -> new Document(null));
    }

    private static void documentsAreReleased(Pack pack) {
        try (Document document = new Document(pack)) {
            check(document.pack() == pack, "the pack of the document");
            document.pushSentence("The clinic called about the swollen node under my arm.");
            // Every text is one: unpaired surrogates, zeroes, nothing, very much.
            for (String odd : new String[] {"", "\ud800", "\udfff and \ud83d", "a\0b", "\ud83d\ude00", "\uffff"}) {
                document.pushSentence(odd);
            }
            document.pushSentence(new String(new char[1 << 20]).replace('\0', 'x'));
            check(document.pushText("Dr. Smith called. The test was fine! ") == 2, "the sentences of a text");
            check(document.pushText("\ud800") <= 1 && document.pushText("") == 0, "the sentences of odd texts");
            float[] embedding = new float[pack.dimension()];
            Arrays.fill(embedding, Float.NaN);
            document.push(embedding);

            Release release = document.release(Grant.unrecorded(Unit.SENTENCE, TEN));
            check(release.toBytes().length == Release.BYTES, "the length of a release");
            check(release.candidate() < pack.candidateCount(), "the candidate");
            check(release.epsilonMicro() == TEN, "the epsilon");
            check(release.rule() == Rule.PERMUTE_AND_FLIP, "the rule");
            check(Arrays.equals(release.packId(), pack.id()), "the identifier of the pack");
            check(new Release(release.toBytes()).equals(release), "a release read again");
            check(new Release(release.toBytes()).hashCode() == release.hashCode(), "its hash");

            release = document.release(Grant.unrecorded(Unit.SENTENCE, 1), Rule.EXPONENTIAL);
            check(release.rule() == Rule.EXPONENTIAL && release.epsilonMicro() == 1, "the other rule");
        }
        refuses("RELEASE_WRONG_LENGTH", () -> new Release(new byte[Release.BYTES - 1]));
        refuses("NOT_A_RELEASE", () -> new Release(new byte[Release.BYTES]));
        refuses(NullPointerException.class, () -> new Release(null));
    }

    /** The pack has a lexicon, scores and no features. At the largest epsilon each other outcome has a chance of 2^-48. */
    private static void wholeTextsAreReleased(Pack pack) {
        check(pack.featureCount() == 0, "features");
        try (Document document = new Document(pack)) {
            Promise sentence = document.promise(Unit.SENTENCE, 2_000_000);
            Promise text = document.promise(Unit.WHOLE_TEXT, 2_000_000);
            check(sentence.sentenceMicro() == 2_000_000 && sentence.wholeTextMicro() > 2_000_000, "by the sentence");
            check(text.sentenceMicro() == 2_000_000 && text.wholeTextMicro() == 2_000_000, "by the whole text");
            refuses("EPSILON_TOO_SMALL", () -> document.promise(Unit.SENTENCE, 0));
            refuses("EPSILON_TOO_LARGE", () -> document.promise(Unit.WHOLE_TEXT, (1L << 32) + 1));
            refuses(NullPointerException.class, () -> document.promise(null, 1));

            Release nothing = document.releaseWholeText(Grant.unrecorded(Unit.WHOLE_TEXT, 100 * TEN));
            check(nothing.unit() == Unit.WHOLE_TEXT && nothing.rule() == Rule.EXPONENTIAL, "the unit and the rule");
            check(nothing.isNothingKnown(pack) && nothing.candidate() == pack.candidateCount(), "nothing known");
            document.pushSentence("My doctor wants to repeat the blood test.");
            check(nothing.order() == 0, "no order");
            Release point = document.releaseProjective(Grant.unrecorded(Unit.WHOLE_TEXT, 100 * TEN));
            check(point.unit() == Unit.WHOLE_TEXT && point.rule() == Rule.EXPONENTIAL, "the unit of a point");
            check(point.order() >= 2 && !point.isNothingKnown(pack), "the order of a point");
            check(new Release(point.toBytes()).equals(point), "a point that came from elsewhere");
            document.pushSentence("My doctor wants to repeat the blood test.");
            Release known = document.releaseWholeText(Grant.unrecorded(Unit.WHOLE_TEXT, 100 * TEN));
            check(!known.isNothingKnown(pack) && known.candidate() < pack.candidateCount(), "something known");
            document.pushSentence("My doctor wants to repeat the blood test.");
            Release bySentence = document.release(Grant.unrecorded(Unit.SENTENCE, TEN));
            check(bySentence.unit() == Unit.SENTENCE && !bySentence.isNothingKnown(pack), "the other unit");

            document.pushEncoded("Not looked at without features.", new float[pack.dimension()]);
            refuses("WRONG_DIMENSION", () -> document.pushEncoded("text", new float[pack.dimension() - 1]));
            refuses(NullPointerException.class, () -> document.pushEncoded("text", null));
            refuses(NullPointerException.class, () -> document.pushEncoded(null, new float[pack.dimension()]));
            refuses(NullPointerException.class, () -> document.releaseWholeText(null));
            refuses(NullPointerException.class, () -> document.releaseProjective(null));
            Grant grant = Grant.unrecorded(Unit.WHOLE_TEXT, TEN);
            // A grant for another unit is refused, and not spent.
            refuses("GRANT_WRONG_UNIT", () -> document.release(grant));
            Grant other = Grant.unrecorded(Unit.SENTENCE, TEN);
            refuses("GRANT_WRONG_UNIT", () -> document.releaseWholeText(other));
            refuses("GRANT_WRONG_UNIT", () -> document.releaseProjective(other));
            document.releaseWholeText(grant);
            refuses("GRANT_SPENT", () -> document.releaseWholeText(grant));
            refuses("GRANT_SPENT", () -> document.releaseProjective(grant));
            document.close();
            refuses(IllegalStateException.class, () -> document.pushEncoded("late", new float[pack.dimension()]));
            refuses(IllegalStateException.class, () -> document.promise(Unit.SENTENCE, 1));
            refuses(IllegalStateException.class, () -> document.releaseWholeText(Grant.unrecorded(Unit.WHOLE_TEXT, TEN)));
            refuses(IllegalStateException.class, () -> document.releaseProjective(Grant.unrecorded(Unit.WHOLE_TEXT, TEN)));
        }
    }

    /** Ten equal sentences decide a release at this epsilon; an empty document releases anything. */
    private static void sentencesCountUntilTheyAreForgotten(Pack pack) {
        try (Document document = new Document(pack)) {
            Set<Integer> full = new HashSet<>();
            Set<Integer> empty = new HashSet<>();
            for (int i = 0; i < 50; i++) {
                for (int j = 0; j < 10; j++) {
                    document.pushSentence("My doctor wants to repeat the blood test, and the clinic called.");
                }
                if (i % 2 == 0) {
                    document.reset();
                    empty.add(document.release(Grant.unrecorded(Unit.SENTENCE, 50 * TEN)).candidate());
                } else {
                    full.add(document.release(Grant.unrecorded(Unit.SENTENCE, 50 * TEN)).candidate());
                }
            }
            check(full.size() == 1, "sentences decide: " + full);
            check(empty.size() > 3, "a document that was reset releases anything, by fresh entropy: " + empty);
        }
    }

    private static void wrongUseIsRefused(Pack pack) {
        Document document = new Document(pack);
        refuses(NullPointerException.class, () -> document.push(null));
        refuses(NullPointerException.class, () -> document.pushSentence(null));
        refuses(NullPointerException.class, () -> document.pushText(null));
        refuses(NullPointerException.class, () -> document.release(null));
        refuses(NullPointerException.class, () -> document.release(Grant.unrecorded(Unit.SENTENCE, TEN), null));
        refuses("WRONG_DIMENSION", () -> document.push(new float[0]));
        refuses("WRONG_DIMENSION", () -> document.push(new float[pack.dimension() - 1]));
        refuses("WRONG_DIMENSION", () -> document.push(new float[4 * pack.dimension()]));
        refuses("EPSILON_TOO_SMALL", () -> Grant.unrecorded(Unit.SENTENCE, 0));
        refuses("EPSILON_TOO_SMALL", () -> Grant.unrecorded(Unit.SENTENCE, -1));
        refuses("EPSILON_TOO_LARGE", () -> Grant.unrecorded(Unit.SENTENCE, 1_000_000_001));
        // As an int it would be 1.
        refuses("EPSILON_TOO_LARGE", () -> Grant.unrecorded(Unit.SENTENCE, (1L << 32) + 1));
        Grant grant = Grant.unrecorded(Unit.SENTENCE, TEN);
        document.release(grant);
        refuses("GRANT_SPENT", () -> document.release(grant));
        for (int i = 0; i < Document.MAX_SENTENCES; i++) {
            document.push(new float[pack.dimension()]);
        }
        refuses("DOCUMENT_FULL", () -> document.push(new float[pack.dimension()]));
        refuses("DOCUMENT_FULL", () -> document.pushSentence("one more"));
        check(document.pushText("One more. And another.") == 0, "no room for the sentences of a text");
        document.close();
        document.close();
        refuses(IllegalStateException.class, () -> document.push(new float[pack.dimension()]));
        refuses(IllegalStateException.class, () -> document.pushSentence("late"));
        refuses(IllegalStateException.class, () -> document.pushText("late"));
        refuses(IllegalStateException.class, () -> document.release(Grant.unrecorded(Unit.SENTENCE, TEN)));
        refuses(IllegalStateException.class, document::reset);
    }

    /** A platform's counter notices a file that is set back or deleted, and gives nothing if it does not count. */
    private static void countedLedgersAreNotSetBack() throws Exception {
        Path file = Files.createTempDirectory("counted").resolve("budget.ledger");
        long[] counted = {0};
        boolean[] stuck = {false};
        Ledger.Counter counter = new Ledger.Counter() {
            @Override
            public long read() {
                return counted[0];
            }

            @Override
            public void raise(long to) {
                counted[0] = stuck[0] ? counted[0] : to;
            }
        };
        try (Ledger ledger = Ledger.openOrCreate(file, Unit.WORD, TEN, counter)) {
            ledger.spend(1_000_000, 5, 1);
            check(ledger.remaining(1) == 5_000_000, "a bag costs what its words cost");
        }
        byte[] older = Files.readAllBytes(file);
        try (Ledger ledger = Ledger.open(file, Unit.WORD, counter)) {
            ledger.spend(1, 1);
            ledger.spend(1, 1);
            stuck[0] = true;
            refuses("LEDGER_NOT_RAISED", () -> ledger.spend(1, 1));
            stuck[0] = false;
        }
        check(counted[0] == 4, "counted");
        Files.write(file, older);
        refuses("LEDGER_SET_BACK", () -> Ledger.open(file, Unit.WORD, counter));
        Files.delete(file);
        refuses("LEDGER_SET_BACK", () -> Ledger.openOrCreate(file, Unit.WORD, TEN, counter));
    }

    private static void budgetsLast(Pack pack) throws Exception {
        Path folder = Files.createTempDirectory("ledger");
        Path file = folder.resolve("budget.ledger");
        long day = Ledger.today();
        check(day > 20_000, "today");

        refuses(IOException.class, () -> Ledger.open(file, Unit.SENTENCE));
        refuses("LEDGER_NO_BUDGET", () -> Ledger.openOrCreate(file, Unit.SENTENCE, 0));
        refuses("LEDGER_NO_BUDGET", () -> Ledger.openOrCreate(file, Unit.SENTENCE, -TEN));
        refuses(NullPointerException.class, () -> Ledger.open(null, Unit.SENTENCE));
        check(!Files.exists(file), "a ledger that was refused leaves no file");

        try (Ledger ledger = Ledger.openOrCreate(file, Unit.SENTENCE, TEN); Document document = new Document(pack)) {
            check(ledger.remaining(day) == TEN, "a fresh budget");
            Grant grant = ledger.spend(7_000_000, day);
            check(ledger.remaining(day) == 3_000_000, "what is left");
            check(document.release(grant).epsilonMicro() == 7_000_000, "the epsilon of the grant");
            refuses("GRANT_SPENT", () -> document.release(grant));
            refuses("LEDGER_EXHAUSTED", () -> ledger.spend(3_000_001, day));
            refuses("EPSILON_TOO_SMALL", () -> ledger.spend(0, day));
            refuses("WORD_COUNT_OUT_OF_RANGE", () -> ledger.spend(1, 0, day));
            refuses("WORD_COUNT_OUT_OF_RANGE", () -> ledger.spend(1, 257, day));
            refuses("EPSILON_TOO_LARGE", () -> ledger.spend((1L << 32) + 1, day));
            refuses(IllegalArgumentException.class, () -> ledger.spend(1, -1));
            refuses("LEDGER_IN_USE", () -> Ledger.open(file, Unit.SENTENCE));
            refuses("LEDGER_IN_USE", () -> Ledger.openOrCreate(file, Unit.SENTENCE, TEN));

            List<String> elsewhere = Arrays.asList(
                    System.getProperty("java.home") + "/bin/java",
                    "-Djava.library.path=" + System.getProperty("java.library.path"),
                    "-cp", System.getProperty("java.class.path"), "Checks", "--spend", file.toString());
            check(runs(elsewhere) != 0, "another program opens a ledger that is in use");
            ledger.close();
            ledger.close();
            refuses(IllegalStateException.class, () -> ledger.remaining(day));
            refuses(IllegalStateException.class, () -> ledger.spend(1, day));
            check(runs(elsewhere) == 0, "another program opens a ledger that is free");
            for (Unit unit : new Unit[] {Unit.WHOLE_TEXT, Unit.WORD, Unit.VECTOR}) {
                refuses("LEDGER_WRONG_UNIT", () -> Ledger.open(file, unit));
                refuses("LEDGER_WRONG_UNIT", () -> Ledger.openOrCreate(file, unit, TEN));
            }
        }

        // Threads want more than there is: what they get adds up to the rest.
        AtomicInteger spent = new AtomicInteger();
        AtomicInteger exhausted = new AtomicInteger();
        try (Ledger ledger = Ledger.openOrCreate(file, Unit.SENTENCE, 5 * TEN)) {
            check(ledger.remaining(day) == 2_000_000, "what two programs left of the first budget");
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                threads.add(new Thread(() -> {
                    try {
                        while (true) {
                            ledger.spend(300_000, day);
                            spent.incrementAndGet();
                        }
                    } catch (UndertoneException done) {
                        exhausted.addAndGet(done.status() == constants.get("STATUS_LEDGER_EXHAUSTED") ? 1 : 0);
                    } catch (IOException failure) {
                        throw new UncheckedIOException(failure);
                    }
                }));
            }
            for (Thread thread : threads) {
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            check(exhausted.get() == threads.size(), "all threads found the budget spent: " + exhausted);
            check(spent.get() == 6 && ledger.remaining(day) == 200_000, "grants add up: " + spent);
            check(ledger.remaining(day + 1) == TEN, "the next window");
            ledger.spend(1, day + 1);
            refuses("LEDGER_FROM_FUTURE", () -> ledger.remaining(day));
            refuses("LEDGER_FROM_FUTURE", () -> ledger.spend(1, day));

            byte[] image = Files.readAllBytes(file);
            check(image.length == constants.get("LEDGER_IMAGE_BYTES"), "the length of a ledger");
            ledger.close();
            Path other = folder.resolve("other.ledger");
            Files.write(other, Arrays.copyOf(image, image.length - 1));
            refuses("LEDGER_WRONG_LENGTH", () -> Ledger.open(other, Unit.SENTENCE));
            Files.write(other, Arrays.copyOf(image, image.length + 1));
            refuses("LEDGER_WRONG_LENGTH", () -> Ledger.openOrCreate(other, Unit.SENTENCE, TEN));
            Files.write(other, new byte[0]);
            refuses("LEDGER_WRONG_LENGTH", () -> Ledger.openOrCreate(other, Unit.SENTENCE, TEN));
            Files.write(other, new byte[image.length]);
            refuses("NOT_A_LEDGER", () -> Ledger.open(other, Unit.SENTENCE));
            // A refused ledger is not locked for ever.
            Files.write(other, image);
            Ledger.open(other, Unit.SENTENCE).close();
        }
        try (Stream<Path> files = Files.list(folder)) {
            check(files.noneMatch(path -> path.toString().endsWith(".partial")), "unfinished files");
        }
    }

    /** The exit status of a program. */
    private static int runs(List<String> command) throws Exception {
        return new ProcessBuilder(command).redirectErrorStream(true)
                .redirectOutput(new File("/dev/null"))
                .start()
                .waitFor();
    }

    /** Documents of many threads over one pack, one document of them all, and a collector that is kept busy. */
    private static void threadsShareAPack(Pack pack) throws Exception {
        List<Throwable> failures = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        Document shared = new Document(pack);
        for (int i = 0; i < 8; i++) {
            threads.add(new Thread(() -> {
                try {
                    for (int j = 0; j < 100; j++) {
                        try (Document own = new Document(pack)) {
                            for (int k = 0; k < 10; k++) {
                                own.pushSentence("The orchestra plays the old symphony, and the choir sings.");
                            }
                            Release release = own.release(Grant.unrecorded(Unit.SENTENCE, TEN));
                            check(release.candidate() < pack.candidateCount(), "the candidate");
                        }
                        shared.pushSentence("The orchestra plays the old symphony.");
                        check(shared.release(Grant.unrecorded(Unit.SENTENCE, TEN)).epsilonMicro() == TEN, "the epsilon");
                        if (j % 25 == 0) {
                            System.gc();
                        }
                    }
                } catch (Throwable failure) {
                    synchronized (failures) {
                        failures.add(failure);
                    }
                }
            }));
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        shared.close();
        check(failures.isEmpty(), "threads: " + failures);
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("--spend")) {
            try (Ledger ledger = Ledger.open(Paths.get(arguments[1]), Unit.SENTENCE)) {
                ledger.spend(1_000_000, Ledger.today());
            }
            return;
        }
        byte[] bytes = Files.readAllBytes(Paths.get(arguments[0]));
        constants = constantsOf(arguments[1]);
        constantsAreThoseOfTheHeader();
        epsilonsAreRead();
        packsAreChecked(bytes);
        Pack pack;
        try (RandomAccessFile file = new RandomAccessFile(arguments[0], "r")) {
            // The mapping outlives the file.
            pack = Pack.wrap(file.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, file.length())
                    .order(ByteOrder.LITTLE_ENDIAN));
        }
        documentsAreReleased(pack);
        wholeTextsAreReleased(pack);
        sentencesCountUntilTheyAreForgotten(pack);
        wrongUseIsRefused(pack);
        threadsShareAPack(pack);
        budgetsLast(pack);
        countedLedgersAreNotSetBack();
        System.out.println(CHECKS + " checks hold with undertone " + Undertone.version() + " on Java "
                + System.getProperty("java.version"));
    }
}
