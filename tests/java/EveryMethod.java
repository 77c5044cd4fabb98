import dev.undertone.AnswerReservoir;
import dev.undertone.Bag;
import dev.undertone.BagRelease;
import dev.undertone.Document;
import dev.undertone.Form;
import dev.undertone.Grant;
import dev.undertone.Ledger;
import dev.undertone.LineMechanism;
import dev.undertone.Noise;
import dev.undertone.Pack;
import dev.undertone.Release;
import dev.undertone.Reservoir;
import dev.undertone.Rule;
import dev.undertone.Schedule;
import dev.undertone.Selector;
import dev.undertone.Sentence;
import dev.undertone.Status;
import dev.undertone.Undertone;
import dev.undertone.UndertoneException;
import dev.undertone.Unit;
import dev.undertone.VectorMechanism;
import dev.undertone.VectorRelease;
import dev.undertone.Vocabulary;
import dev.undertone.WordMethod;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The methods of the classes, without misuse and the day of a keyboard: java EveryMethod GOLDEN
 * HEADER [TOPICS], the folder tests/golden, undertone.h, and a pack with features of two topics.
 */
public final class EveryMethod {
    private static final long ONE = 1_000_000;
    private static final long WINDOW = 20_000;

    private static Path golden;
    private static int checks;

    private interface Call {
        void run() throws Exception;
    }

    private static void check(boolean held, String what) {
        if (!held) {
            throw new AssertionError(what);
        }
        checks++;
    }

    private static Exception thrown(Call call) {
        try {
            call.run();
        } catch (Exception found) {
            return found;
        }
        throw new AssertionError("nothing was thrown");
    }

    private static void refuses(int status, Call call) {
        Exception found = thrown(call);
        boolean refused = found instanceof UndertoneException && ((UndertoneException) found).status() == status;
        check(refused, "expected status " + status + ", found " + found);
        check(!found.getMessage().contains("undertone_") && !found.getMessage().contains("UNDERTONE_"), found.getMessage());
    }

    private static Pack pack(String name) throws IOException {
        return Pack.copyOf(Files.readAllBytes(golden.resolve(name)));
    }

    /** Constants and statuses are those of C, none more and none less. */
    private static void numbersAreThoseOfTheHeader(String header) throws Exception {
        Map<String, Integer> constants = new TreeMap<>();
        Map<String, Integer> statuses = new TreeMap<>();
        Matcher lines = Pattern.compile("^#define UNDERTONE_(\\w+) (\\d+)$", Pattern.MULTILINE)
                .matcher(new String(Files.readAllBytes(Paths.get(header)), "UTF-8"));
        while (lines.find()) {
            String name = lines.group(1);
            boolean isStatus = name.startsWith("STATUS_") && !name.equals("STATUS_OK");
            (isStatus ? statuses : constants).put(name.replaceFirst("^STATUS_", ""), Integer.valueOf(lines.group(2)));
        }
        Map<String, Integer> ours = new TreeMap<>();
        for (Field field : Status.class.getFields()) {
            ours.put(field.getName(), field.getInt(null));
        }
        check(ours.size() > 60 && ours.equals(statuses), "statuses: " + ours + " and " + statuses);
        check(constants.get("MAX_SENTENCES") == Document.MAX_SENTENCES, "the most sentences");
        check(constants.get("MAX_BAG_WORDS") == Bag.MAX_WORDS, "the most words");
        check(constants.get("MAX_RELEASED_WORDS") == Bag.MAX_RELEASED_WORDS, "the most released words");
        check(constants.get("MAX_VECTOR_DIMENSION") == VectorMechanism.MAX_DIMENSION, "the largest dimension");
        check(constants.get("RELEASE_BYTES") == Release.BYTES, "the length of a release");
        check(Arrays.asList("avx512", "avx2", "neon", "portable").contains(Undertone.backend()), Undertone.backend());
        String[] version = Undertone.version().split("\\.");
        int number = 0;
        for (String part : version) {
            number = 100 * number + Integer.parseInt(part);
        }
        check(version.length == 3 && constants.get("VERSION_NUMBER") == number, Undertone.version());
    }

    private static void packsSayWhatTheyAre() throws Exception {
        Pack scores = pack("golden-scores.pack");
        check(scores.selector().equals(Optional.of(Selector.SCORES)), "the selector");
        check(scores.largestScore() > 0 && scores.levelCount() > 1, "levels");
        check(scores.directionCount() == 0 && scores.projectedDimension() == 0, "directions");
        float[] embedding = scores.embedSentence("The clinic called.");
        check(embedding.length == scores.dimension() && embedding.length == 16, "an embedding");
        check(Arrays.equals(embedding, scores.embedSentence("The clinic called.")), "the same again");
        check(!Arrays.equals(embedding, scores.embedSentence("We won the match.")), "another sentence");
        Pack depth = pack("golden.pack");
        check(depth.selector().equals(Optional.of(Selector.DEPTH)) && depth.directionCount() > 0, "by depth");
        check(depth.largestScore() == 0 && depth.levelCount() == 0, "no levels");
        Pack vectors = pack("golden-vectors.pack");
        check(!vectors.selector().isPresent() && vectors.projectedDimension() > 0, "a projection");
        check(vectors.candidateCount() == 0 && scores.candidateCount() == 200, "candidates");
        check(scores.featureCount() == 0 && pack("golden-features.pack").featureCount() > 0, "features");
        check(scores.encoderName().equals("golden"), "the name of the encoder");
        check(scores.encoderDigest().length == 32 && Arrays.equals(scores.encoderDigest(), depth.encoderDigest()), "its digest");
    }

    private static Release wholeText(Document document, String sentence, float[] embedding) {
        document.pushEncoded(sentence, embedding);
        check(document.sentenceCount() == 1, "a sentence");
        return document.releaseWholeText(Grant.unrecorded(Unit.WHOLE_TEXT, 1000 * ONE));
    }

    /** What a text says counts, also beside an embedding that says nothing. */
    private static void featuresCount(Pack topics) throws Exception {
        check(topics.featureCount() > 0, "features");
        float[] nothing = new float[topics.dimension()];
        try (Document document = new Document(topics)) {
            // At this epsilon another outcome has a chance of 2^-48.
            check(wholeText(document, "my dentist", nothing).candidate() == 0, "a word of the first topic");
            check(wholeText(document, "one goal", nothing).candidate() == 1, "a word of the second");
            check(wholeText(document, "zzz", nothing).isNothingKnown(topics), "no word of either");
            refuses(Status.WRONG_DIMENSION, () -> document.pushEncoded("dentist", new float[1]));
        }
        Pack pack = pack("golden-features.pack");
        try (Document document = new Document(pack)) {
            String sentence = "The clinic called.";
            Release release = wholeText(document, sentence, pack.embedSentence(sentence));
            check(release.unit() == Unit.WHOLE_TEXT && Arrays.equals(release.packId(), pack.id()), "a whole text");
            document.pushEncoded(sentence, pack.embedSentence(sentence));
            check(document.release(Grant.unrecorded(Unit.SENTENCE, ONE)).unit() == Unit.SENTENCE, "a sentence");
        }
    }

    private static List<String> sentences(String text, boolean finished) {
        List<String> found = new ArrayList<>();
        int end = 0;
        while (true) {
            Optional<Sentence> next = finished ? Sentence.nextFinished(text, end) : Sentence.next(text, end);
            if (!next.isPresent()) {
                return found;
            }
            Sentence sentence = next.get();
            check(sentence.start() >= end && sentence.end() > sentence.start(), "the order of sentences");
            check(text.substring(sentence.start(), sentence.end()).equals(sentence.text()), "where a sentence is");
            end = sentence.end();
            found.add(sentence.text());
        }
    }

    /** Whatever the text has: letters of one to four bytes, halves of pairs, spaces around. */
    private static void sentencesAreFound() {
        String text = "  Dr. Smith called. Καλημέρα κόσμε! 😀 It was 😀 fine? 今日は。Not yet";
        List<String> all = sentences(text, false);
        check(all.contains("Dr. Smith called.") && all.contains("Καλημέρα κόσμε! 😀"), "sentences: " + all);
        check(all.get(all.size() - 1).equals("Not yet"), "the last: " + all);
        List<String> finished = sentences(text, true);
        check(finished.equals(all.subList(0, all.size() - 1)), "finished: " + finished);
        check(sentences("", false).isEmpty() && sentences(" \n ", true).isEmpty(), "no sentences");
        check(sentences("\ud83d Half. \ude00 Other half.", false).size() == 2, "halves of pairs");
        check(sentences("It \udc00 snows.", false).equals(Arrays.asList("It \udc00 snows.")), "half a pair ends none");
        // A keyboard may cut a text anywhere: in a pair, and before a letter of one, which may be a
        // small one after a stop.
        String typed = "It rains \ud83c\udf27 Dr. Smith sleeps! \ud83d\ude34\r\n\nMore? approx. \ud801\udc28\ud801\udc29 and"
                + " \ud800 so. \ud83d\udc69\u200d\ud83d\udd2c It is a \udfff b. \ud83d";
        List<String> whole = sentences(typed, false);
        check(whole.size() > 3, "sentences of what is typed: " + whole);
        for (int cut = 0; cut <= typed.length(); cut++) {
            List<String> early = sentences(typed.substring(0, cut), true);
            check(early.size() < whole.size() && early.equals(whole.subList(0, early.size())), "cut at " + cut + ": " + early);
        }
        // In the middle of a pair, and after the end.
        check(Sentence.next("😀 One.", 1).get().text().equals("One."), "a start within a pair");
        check(!Sentence.next("One.", 5).isPresent() && !Sentence.next("One.", 1 << 30).isPresent(), "after the end");
        check(thrown(() -> Sentence.next("One.", -1)) instanceof IllegalArgumentException, "a negative start");
        check(thrown(() -> Sentence.nextFinished(null, 0)) instanceof NullPointerException, "no text");
    }

    private static void manySentencesAtOnce() throws Exception {
        Pack pack = pack("golden-scores.pack");
        try (Document document = new Document(pack)) {
            float[] three = new float[3 * pack.dimension()];
            Arrays.fill(three, 0.5f);
            check(document.pushAll(three) == 3 && document.pushAll(new float[0]) == 0, "three embeddings");
            check(document.sentenceCount() == 3, "three sentences");
            check(document.pushAll(new float[Document.MAX_SENTENCES * pack.dimension()]) == 125, "as many as fit");
            refuses(Status.WRONG_DIMENSION, () -> document.pushAll(new float[pack.dimension() + 1]));
            document.reset();
            check(document.sentenceCount() == 0, "no sentences");
        }
    }

    private static void wordsAreReleased() throws Exception {
        Pack pack = pack("golden-scores.pack");
        Vocabulary vocabulary = new Vocabulary(pack);
        check(vocabulary.pack() == pack && vocabulary.wordCount() == pack.wordCount(), "the words of the pack");
        check(vocabulary.fallback() < vocabulary.wordCount() && vocabulary.unitExponent() < 0, "a description");
        String first = vocabulary.word(0);
        check(!first.isEmpty() && !first.equals(vocabulary.word(1)), "words: " + first);
        // Also from a buffer that starts anywhere.
        byte[] bytes = Files.readAllBytes(golden.resolve("golden-scores.pack"));
        ByteBuffer shifted = ByteBuffer.allocateDirect(bytes.length + 3);
        shifted.position(3);
        shifted.put(bytes);
        shifted.position(3);
        check(new Vocabulary(Pack.wrap(shifted)).word(0).equals(first), "the same word elsewhere");
        refuses(Status.NO_SUCH_WORD, () -> vocabulary.word(vocabulary.wordCount()));
        refuses(Status.NO_SUCH_WORD, () -> vocabulary.word(-1));
        refuses(Status.NO_LEXICON, () -> new Vocabulary(pack("golden-vectors.pack")));

        Bag bag = new Bag(vocabulary);
        check(bag.vocabulary() == vocabulary, "the vocabulary of the bag");
        // Every other word is at a distance of more than 1, so at this epsilon it has a chance
        // below 2^-50.
        int cat = 0;
        while (!vocabulary.word(cat).equals("cat")) {
            cat++;
        }
        bag.push("cat");
        BagRelease release = bag.release(Grant.unrecorded(Unit.WORD, 1000 * ONE), 3);
        check(Arrays.equals(release.words(), new int[] {cat, cat, cat}) && release.wordCount() == 3, "the word itself");
        check(release.epsilonMicro() == 1000 * ONE && release.method() == WordMethod.PERMUTE_AND_FLIP, "its numbers");
        check(Arrays.equals(release.packId(), pack.id()), "its pack");
        BagRelease again = new BagRelease(release.toBytes());
        check(again.equals(release) && again.hashCode() == release.hashCode(), "read again");
        bag.pushText("The clinic called about the " + first + ".");
        for (WordMethod method : WordMethod.values()) {
            BagRelease other = bag.release(Grant.unrecorded(Unit.WORD, 10 * ONE), Bag.MAX_RELEASED_WORDS, method);
            check(other.method() == method && other.words().length == Bag.MAX_RELEASED_WORDS, "method " + method);
        }
        bag.push("odd \ud800 word");
        bag.reset();
        refuses(Status.WORD_COUNT_OUT_OF_RANGE, () -> bag.release(Grant.unrecorded(Unit.WORD, ONE), 0));
        refuses(Status.WORD_COUNT_OUT_OF_RANGE, () -> bag.release(Grant.unrecorded(Unit.WORD, ONE), 257));
        refuses(Status.GRANT_WRONG_UNIT, () -> bag.release(Grant.unrecorded(Unit.SENTENCE, ONE), 1));
        refuses(Status.RELEASE_WRONG_LENGTH, () -> new BagRelease(new byte[3]));
        check(thrown(() -> bag.push(null)) instanceof NullPointerException, "no word");
        check(thrown(() -> bag.release(null, 1)) instanceof NullPointerException, "no grant");
        bag.close();
        bag.close();
        check(thrown(() -> bag.pushText("late")) instanceof IllegalStateException, "a closed bag");
        check(thrown(() -> bag.release(Grant.unrecorded(Unit.WORD, ONE), 1)) instanceof IllegalStateException, "closed");
    }

    private static void vectorsAreReleased() throws Exception {
        VectorMechanism plain = new VectorMechanism(3, 0, 1000 * ONE, Noise.DISCRETE_LAPLACE);
        check(plain.dimension() == 3 && plain.releaseLength() == 36 + 12 && plain.pack() == null, "a mechanism");
        Grant grant = Grant.unrecorded(Unit.VECTOR, 1000 * ONE);
        VectorRelease release = plain.release(grant, new float[] {0.5f, -0.5f, Float.NaN});
        check(release.dimension() == 3 && release.noise() == Noise.DISCRETE_LAPLACE, "its numbers");
        check(release.epsilonMicro() == 1000 * ONE && Arrays.equals(release.packId(), new byte[8]), "no pack");
        double[] values = release.values();
        int[] steps = release.steps();
        for (int i = 0; i < 3; i++) {
            check(values[i] == steps[i] * Math.pow(2, release.gridExponent()), "steps of the grid");
        }
        // At this epsilon a coordinate is off by 0.4 with a chance below e^-200.
        check(Math.abs(values[0] - 0.5) < 0.4 && Math.abs(values[1] + 0.5) < 0.4 && Math.abs(values[2]) < 0.4, "near");
        VectorRelease again = new VectorRelease(release.toBytes());
        check(again.equals(release) && again.hashCode() == release.hashCode(), "read again");

        Pack pack = pack("golden-vectors.pack");
        VectorMechanism projected = VectorMechanism.projected(pack, 10 * ONE, Noise.LAPLACE);
        check(projected.pack() == pack && projected.dimension() == pack.dimension(), "a projection");
        VectorRelease short_ =
                projected.release(Grant.unrecorded(Unit.VECTOR, 10 * ONE), new float[pack.dimension()]);
        check(short_.dimension() == pack.projectedDimension() && short_.noise() == Noise.LAPLACE, "projected");
        check(Arrays.equals(short_.packId(), pack.id()), "its pack");

        refuses(Status.GRANT_SPENT, () -> plain.release(grant, new float[3]));
        refuses(Status.WRONG_DIMENSION, () -> plain.release(Grant.unrecorded(Unit.VECTOR, ONE), new float[2]));
        refuses(Status.GRANT_WRONG_UNIT, () -> plain.release(Grant.unrecorded(Unit.WORD, ONE), new float[3]));
        refuses(Status.DIMENSION_OUT_OF_RANGE, () -> new VectorMechanism(0, 0, ONE, Noise.LAPLACE));
        refuses(Status.DIMENSION_OUT_OF_RANGE, () -> new VectorMechanism(1025, 0, ONE, Noise.LAPLACE));
        refuses(Status.EPSILON_TOO_SMALL_FOR_NOISE, () -> new VectorMechanism(3, 0, 99_999, Noise.LAPLACE));
        refuses(Status.BOUND_OUT_OF_RANGE, () -> new VectorMechanism(3, 1000, ONE, Noise.LAPLACE));
        refuses(Status.NO_PROJECTION, () -> VectorMechanism.projected(pack("golden-scores.pack"), ONE, Noise.LAPLACE));
        refuses(Status.NOT_A_RELEASE, () -> new VectorRelease(new byte[40]));
        check(thrown(() -> plain.release(grant, null)) instanceof NullPointerException, "no vector");
    }

    /** A counter that the test drives. */
    private static final class Counter implements Ledger.Counter {
        long counted;
        Call onRead = () -> { };
        Call onRaise = () -> { };

        @Override
        public long read() throws IOException {
            call(onRead);
            return counted;
        }

        @Override
        public void raise(long to) throws IOException {
            call(onRaise);
            counted = to;
        }

        private static void call(Call call) throws IOException {
            try {
                call.run();
            } catch (IOException | RuntimeException failed) {
                throw failed;
            } catch (Exception other) {
                throw new AssertionError(other);
            }
        }
    }

    private static void ledgersAreRecreated() throws Exception {
        Path folder = Files.createTempDirectory("anew");
        Path file = folder.resolve("budget.ledger");
        Counter counter = new Counter();
        try (Ledger ledger = Ledger.openOrCreate(file, Unit.WHOLE_TEXT, 5 * ONE, counter)) {
            ledger.spend(ONE, WINDOW);
            ledger.spend(ONE, WINDOW);
        }
        byte[] before = Files.readAllBytes(file);
        Files.delete(file);
        refuses(Status.LEDGER_SET_BACK, () -> Ledger.openOrCreate(file, Unit.WHOLE_TEXT, 5 * ONE, counter));
        Files.delete(file);
        // In the place of a file that is gone, and of one that is too long.
        Ledger.recreateSpent(file, Unit.WHOLE_TEXT, 5 * ONE, WINDOW, counter).close();
        Files.write(file, new byte[500]);
        try (Ledger ledger = Ledger.recreateSpent(file, Unit.WHOLE_TEXT, 5 * ONE, WINDOW, counter)) {
            check(Files.size(file) == 128, "a whole ledger");
            check(ledger.remaining(WINDOW) == 0 && ledger.remaining(WINDOW + 1) == 5 * ONE, "a window is spent");
            refuses(Status.LEDGER_IN_USE, () -> Ledger.open(file, Unit.WHOLE_TEXT, counter));
            ledger.spend(ONE, WINDOW + 1);
        }
        Files.write(file, before);
        refuses(Status.LEDGER_SET_BACK, () -> Ledger.open(file, Unit.WHOLE_TEXT, counter));
        refuses(Status.LEDGER_NO_BUDGET, () -> Ledger.recreateSpent(file, Unit.WHOLE_TEXT, 0, WINDOW));
        check(Arrays.equals(Files.readAllBytes(file), before), "what was refused changed nothing");
        try (Ledger ledger = Ledger.open(file, Unit.WHOLE_TEXT)) {
            check(ledger.remaining(WINDOW) == 3 * ONE, "nobody counts");
        }
    }

    /** What a counter throws, the caller gets, and nothing is granted. */
    private static void countersMayFail() throws Exception {
        Path file = Files.createTempDirectory("failing").resolve("budget.ledger");
        Counter counter = new Counter();
        try (Ledger ledger = Ledger.openOrCreate(file, Unit.SENTENCE, 5 * ONE, counter)) {
            IOException broken = new IOException("the secure element does not answer");
            counter.onRead = () -> {
                throw broken;
            };
            check(thrown(() -> ledger.spend(ONE, WINDOW)) == broken, "what read threw");
            check(thrown(() -> ledger.remaining(WINDOW)) == broken, "what read threw");
            counter.onRead = () -> { };
            counter.onRaise = () -> {
                throw new IllegalArgumentException("a bug of the app");
            };
            check(thrown(() -> ledger.spend(ONE, WINDOW)) instanceof IllegalArgumentException, "what raise threw");
            counter.onRaise = () -> ledger.spend(ONE, WINDOW);
            check(thrown(() -> ledger.spend(ONE, WINDOW)) instanceof IllegalStateException, "a counter that spends");
            counter.onRaise = ledger::close;
            check(thrown(() -> ledger.spend(ONE, WINDOW)) instanceof IOException, "a counter that closes the ledger");
            counter.onRaise = () -> { };
        }
        counter.counted = -1;
        check(thrown(() -> Ledger.open(file, Unit.SENTENCE, counter)) instanceof IOException, "a negative counter");
        counter.counted = 1;
        try (Ledger ledger = Ledger.open(file, Unit.SENTENCE, counter)) {
            check(ledger.remaining(WINDOW) == 5 * ONE, "nothing was spent");
            ledger.spend(ONE, WINDOW);
            check(counter.counted == 2 && ledger.remaining(WINDOW) == 4 * ONE, "counted");
        }
    }

    /** A new ledger replaces none, and is not written through a second name of another file. */
    private static void ledgersReplaceNone() throws Exception {
        Path folder = Files.createTempDirectory("meanwhile");
        Path file = folder.resolve("budget.ledger");
        try (Ledger ledger = Ledger.openOrCreate(file, Unit.SENTENCE, 5 * ONE)) {
            ledger.spend(ONE, WINDOW);
        }
        byte[] made = Files.readAllBytes(file);
        Files.createLink(folder.resolve("budget.ledger.java.partial"), file);
        Method place = Ledger.class.getDeclaredMethod("place", Path.class, byte[].class);
        place.setAccessible(true);
        try {
            place.invoke(null, file, new byte[128]);
            check(false, "a ledger was replaced");
        } catch (InvocationTargetException refused) {
            check(refused.getCause() instanceof FileAlreadyExistsException, "the ledger is there");
        }
        check(Arrays.equals(Files.readAllBytes(file), made), "the ledger that was there");
        // Now it is gone, and another one may come.
        Files.move(file, folder.resolve("kept"));
        place.invoke(null, file, new byte[128]);
        check(Arrays.equals(Files.readAllBytes(file), new byte[128]), "the new one");
        check(Arrays.equals(Files.readAllBytes(folder.resolve("kept")), made), "the old one");
    }

    /** That nobody can tell whether there is a ledger does not make one. */
    private static void onlyMissingLedgersAreMissing() throws Exception {
        Path folder = Files.createTempDirectory("missing");
        Method isMissing = Ledger.class.getDeclaredMethod("isMissing", Path.class);
        isMissing.setAccessible(true);
        check((boolean) isMissing.invoke(null, folder.resolve("budget.ledger")), "a free name");
        Path file = Files.write(folder.resolve("file"), new byte[128]);
        check(!(boolean) isMissing.invoke(null, file), "a file");
        Path link = Files.createSymbolicLink(folder.resolve("link"), folder.resolve("nowhere"));
        check(!(boolean) isMissing.invoke(null, link), "a link that leads nowhere");
        // The system reports neither.
        Path odd = file.resolve("budget.ledger");
        Throwable cause = thrown(() -> isMissing.invoke(null, odd)).getCause();
        check(cause instanceof IOException && !(cause instanceof NoSuchFileException), "no answer: " + cause);
        Counter counter = new Counter();
        check(thrown(() -> Ledger.recreateSpent(odd, Unit.SENTENCE, ONE, WINDOW, counter)) instanceof IOException, "no ledger");
        check(counter.counted == 0, "nothing was counted");
    }

    /** A ledger that was interrupted, refused or forgotten does not stay in use. */
    private static void ledgersAreLetGo() throws Exception {
        Path file = Files.createTempDirectory("let-go").resolve("budget.ledger");
        Counter counter = new Counter();
        Ledger interrupted = Ledger.openOrCreate(file, Unit.SENTENCE, 5 * ONE, counter);
        counter.onRaise = () -> Thread.currentThread().interrupt();
        check(thrown(() -> interrupted.spend(ONE, WINDOW)) instanceof ClosedByInterruptException, "an interrupt");
        check(Thread.interrupted(), "the thread stays interrupted");
        counter.onRaise = () -> { };
        check(thrown(() -> interrupted.spend(ONE, WINDOW)) instanceof IOException, "after an interrupt");
        refuses(Status.LEDGER_IN_USE, () -> Ledger.open(file, Unit.SENTENCE, counter));
        interrupted.close();

        counter.onRead = () -> {
            throw new StackOverflowError("a bug of the app");
        };
        try {
            Ledger.open(file, Unit.SENTENCE, counter).close();
            throw new AssertionError("a counter with a bug was read");
        } catch (StackOverflowError bug) {
            counter.onRead = () -> { };
        }

        forget(file, counter);
        System.gc();
        try (Ledger ledger = Ledger.open(file, Unit.SENTENCE, counter)) {
            refuses(Status.LEDGER_RECORD_LOST, () -> ledger.spend(ONE, WINDOW));
            ledger.spend(ONE, WINDOW + 1);
            // Closed again, the first one takes nothing from this one.
            interrupted.close();
            refuses(Status.LEDGER_IN_USE, () -> Ledger.open(file, Unit.SENTENCE, counter));
        }
    }

    private static void forget(Path file, Counter counter) throws IOException {
        check(Ledger.open(file, Unit.SENTENCE, counter).remaining(WINDOW) == 0, "a record that was interrupted is lost");
    }

    private static void promisesAreNumbers() throws Exception {
        try (Document document = new Document(pack("golden-scores.pack"))) {
            check(document.promise(Unit.WHOLE_TEXT, ONE).wholeTextMicro() == ONE, "the whole text");
            check(document.promise(Unit.SENTENCE, ONE).sentenceMicro() == ONE, "a sentence");
            refuses(Status.UNKNOWN_UNIT, () -> document.promise(Unit.WORD, ONE));
            document.pushSentence("The clinic called.");
            Release point = document.releaseProjective(Grant.unrecorded(Unit.WHOLE_TEXT, ONE));
            check(point.order() > 1 && point.rule() == Rule.EXPONENTIAL, "a point");
        }
    }

    /** A device that releases once in 52 weeks, and starts again for each line. */
    private static void aYearHasOneRelease() throws Exception {
        Schedule schedule = new Schedule(52, 1, 3 * ONE);
        Path file = Files.createTempDirectory("year").resolve("budget.ledger");
        List<Integer> due = new ArrayList<>();
        try (Document document = new Document(pack("golden-scores.pack"));
                Ledger ledger = Ledger.openOrCreate(file, Unit.WHOLE_TEXT, 3 * ONE)) {
            int[] appointed = ledger.appointment(2026, schedule);
            check(appointed.length == 1 && appointed[0] < 52, "an appointment");
            int[] all = ledger.appointment(2026, new Schedule(3, 5, ONE));
            check(Arrays.equals(all, new int[] {0, 1, 2}), "all slots");
            for (int week = 0; week < 52; week++) {
                if (!ledger.isDue(2026, week, schedule)) {
                    continue;
                }
                due.add(week);
                byte[] stored = Reservoir.begin(document, 2026 * 52 + week, 2).toBytes();
                for (int line = 0; line < 5; line++) {
                    Reservoir reservoir = Reservoir.read(stored, document);
                    document.pushSentence("The choir sings.");
                    reservoir.push(document);
                    stored = reservoir.toBytes();
                }
                Reservoir reservoir = Reservoir.read(stored, document);
                check(reservoir.slot() == 2026 * 52 + week && document.sentenceCount() == 0, "the slot");
                Release release =
                        reservoir.release(document, LineMechanism.WHOLE_TEXT, ledger.spend(3 * ONE, 2026));
                check(release.unit() == Unit.WHOLE_TEXT && release.order() == 0, "a release");
                check(Arrays.equals(reservoir.toBytes(), new byte[Reservoir.BYTES]), "nothing is left");
            }
            check(due.equals(Arrays.asList(appointed[0])), "one release in its week");
            refuses(Status.SCHEDULE_OUT_OF_RANGE, () -> ledger.isDue(2026, 52, schedule));
            refuses(Status.SCHEDULE_OUT_OF_RANGE, () -> ledger.isDue(2026, -1, schedule));
            refuses(Status.SCHEDULE_OUT_OF_RANGE, () -> ledger.appointment(2026, new Schedule(0, 1, ONE)));
            refuses(Status.SCHEDULE_OUT_OF_RANGE, () -> Reservoir.begin(document, 0, 65_536));
            Release drawn = Reservoir.begin(document, 0, 3)
                    .release(document, LineMechanism.DRAWN, Grant.unrecorded(Unit.SENTENCE, ONE));
            check(drawn.unit() == Unit.SENTENCE && drawn.order() == 3, "a drawn sentence");
        }
    }

    private static void answersAreReleased() throws Exception {
        Form form = Form.copyOf(Files.readAllBytes(golden.resolve("golden.form")));
        Path file = Files.createTempDirectory("answers").resolve("budget.ledger");
        try (Ledger ledger = Ledger.openOrCreate(file, Unit.WHOLE_TEXT, 3 * ONE)) {
            int[] answers = {1, Form.NO_ANSWER, 0};
            Release release = form.release(answers, ledger.spend(3 * ONE, WINDOW));
            check(release.unit() == Unit.WHOLE_TEXT && release.order() > 0, "an answer");
            check(release.candidate() >>> 24 < 4 && release.epsilonMicro() == 3 * ONE, "a question");
            refuses(Status.LEDGER_EXHAUSTED, () -> form.release(answers, ledger.spend(1, WINDOW)));
            Grant sentence = Grant.unrecorded(Unit.SENTENCE, ONE);
            refuses(Status.GRANT_WRONG_UNIT, () -> form.release(answers, sentence));
        }
        check(form.attributeName(0).length() > 0 && !form.categoryName(0, 0).equals(form.categoryName(0, 3)), "names");
        Form topic = Form.copyOf(Files.readAllBytes(golden.resolve("golden-topic.form")));
        try (Document document = new Document(Pack.copyOf(Files.readAllBytes(golden.resolve("golden-scores.pack"))))) {
            int[] answers = {1, 0};
            document.pushText("the garden dog");
            topic.answerTopic(document, answers);
            check(answers[0] == 1 && answers[1] == 124 && document.sentenceCount() == 0, "a topic");
            document.pushText("qqq");
            topic.answerTopic(document, answers);
            check(answers[1] == 200, "no answer");
            refuses(Status.WRONG_ANSWER_COUNT, () -> topic.answerTopic(document, new int[3]));
        }
        AnswerReservoir reservoir = AnswerReservoir.begin(form, 9, 2);
        for (int line = 0; line < 5; line++) {
            reservoir = AnswerReservoir.read(reservoir.toBytes(), form);
            reservoir.push(new int[] {1, Form.NO_ANSWER, 0});
        }
        check(reservoir.slot() == 9, "the slot");
        AnswerReservoir filled = reservoir;
        refuses(Status.WRONG_ANSWER_COUNT, () -> filled.push(new int[2]));
        refuses(Status.GRANT_WRONG_UNIT, () -> filled.release(Grant.unrecorded(Unit.SENTENCE, ONE)));
        Release release = filled.release(Grant.unrecorded(Unit.WHOLE_TEXT, ONE));
        check(release.unit() == Unit.WHOLE_TEXT && release.candidate() >>> 24 < 4, "an answer of a line");
        check(Arrays.equals(filled.toBytes(), new byte[AnswerReservoir.BYTES]), "nothing is left of answers");
        refuses(Status.SCHEDULE_OUT_OF_RANGE, () -> AnswerReservoir.begin(form, 0, 0));
    }

    public static void main(String[] arguments) throws Exception {
        golden = Paths.get(arguments[0]);
        numbersAreThoseOfTheHeader(arguments[1]);
        packsSayWhatTheyAre();
        if (arguments.length > 2) {
            featuresCount(Pack.copyOf(Files.readAllBytes(Paths.get(arguments[2]))));
        }
        sentencesAreFound();
        manySentencesAtOnce();
        wordsAreReleased();
        vectorsAreReleased();
        ledgersAreRecreated();
        ledgersReplaceNone();
        onlyMissingLedgersAreMissing();
        countersMayFail();
        ledgersAreLetGo();
        promisesAreNumbers();
        aYearHasOneRelease();
        answersAreReleased();
        System.out.println(checks + " checks of every method");
    }
}
