import dev.undertone.Document;
import dev.undertone.Grant;
import dev.undertone.Ledger;
import dev.undertone.Pack;
import dev.undertone.Release;
import dev.undertone.Rule;
import dev.undertone.Status;
import dev.undertone.UndertoneException;
import dev.undertone.Unit;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;

/**
 * The steps of tests/faces/keyboard-day.md in Java: java KeyboardDay GOLDEN, the folder
 * tests/golden. It prints their names.
 */
public final class KeyboardDay {
    private static final long EPSILON = 1_000_000;
    private static final long BUDGET = 10 * EPSILON;
    private static final long DAY = 20_000;

    private final Path file = Files.createTempDirectory("day").resolve("budget.ledger");
    private final Pack pack;
    private final Document document;
    private Ledger ledger;

    private KeyboardDay(Path golden) throws Exception {
        pack = Pack.copyOf(Files.readAllBytes(golden.resolve("golden-scores.pack")));
        document = new Document(pack);
    }

    private interface Call {
        void run() throws Exception;
    }

    private static int refused(Call call) throws Exception {
        try {
            call.run();
        } catch (UndertoneException refused) {
            return refused.status();
        }
        return 0;
    }

    private static void check(String step, boolean held) {
        if (!held) {
            throw new AssertionError(step);
        }
        System.out.println("case " + step);
    }

    private void left(String step, long millions, long window) throws Exception {
        check(step, ledger.remaining(window) == millions * EPSILON);
    }

    private void release(String sentence, Grant grant) {
        document.pushSentence(sentence);
        document.release(grant);
    }

    /** The keyboard is killed; its storage has these bytes. */
    private void killed(byte[] stored) throws Exception {
        ledger.close();
        Files.write(file, stored);
        ledger = Ledger.open(file, Unit.SENTENCE);
    }

    private void run() throws Exception {
        ledger = Ledger.openOrCreate(file, Unit.SENTENCE, BUDGET);
        check("new_ledger", Files.size(file) == 128);
        left("new_ledger", 10, DAY);
        int sentences = document.pushText(
                "My doctor wants to repeat the blood test. The clinic called about the swollen node.");
        check("typed_text", sentences == 2 && document.sentenceCount() == 2);
        Grant grant = ledger.spend(3 * EPSILON, DAY);
        left("first_spend", 7, DAY);
        Release release = new Release(document.release(grant).toBytes());
        check("first_release", release.toBytes().length == 24
                && release.epsilonMicro() == 3 * EPSILON
                && release.unit() == Unit.SENTENCE
                && release.rule() == Rule.PERMUTE_AND_FLIP
                && release.order() == 0
                && release.candidate() < 200
                && Arrays.equals(release.packId(), new byte[] {0x16, (byte) 0xf4, (byte) 0xb6, 0x45, 0x59, (byte) 0xf9, 9, (byte) 0x96})
                && document.sentenceCount() == 0);
        release("We won the match.", ledger.spend(4 * EPSILON, DAY));
        left("second_release", 3, DAY);
        check("refused_spend", refused(() -> ledger.spend(4 * EPSILON, DAY)) == Status.LEDGER_EXHAUSTED);
        left("refused_spend", 3, DAY);
        ledger.close();
        ledger = Ledger.open(file, Unit.SENTENCE);
        left("reopened", 3, DAY);

        byte[] before = Files.readAllBytes(file);
        ledger.spend(EPSILON, DAY);
        byte[] after = Files.readAllBytes(file);
        killed(before);
        left("killed_before", 3, DAY);
        killed(after);
        left("killed_after", 2, DAY);
        int record = Arrays.equals(Arrays.copyOf(before, 64), Arrays.copyOf(after, 64)) ? 64 : 0;
        byte[] between = before.clone();
        System.arraycopy(after, record, between, record, 40);
        killed(between);
        left("killed_in_between", 0, DAY);
        check("lost_record", refused(() -> ledger.spend(EPSILON, DAY)) == Status.LEDGER_RECORD_LOST);
        left("lost_record", 0, DAY);
        check("rest_of_the_window", refused(() -> ledger.spend(EPSILON, DAY)) == Status.LEDGER_EXHAUSTED);
        left("rest_of_the_window", 0, DAY);

        release("The rehearsal is at seven.", ledger.spend(3 * EPSILON, DAY + 1));
        left("next_window", 7, DAY + 1);
        check("clock_back", refused(() -> ledger.spend(EPSILON, DAY)) == Status.LEDGER_FROM_FUTURE);
        left("clock_back", 7, DAY + 1);

        ledger.close();
        Files.write(file, new byte[0]);
        check("emptied", refused(() -> Ledger.open(file, Unit.SENTENCE)) == Status.LEDGER_WRONG_LENGTH);
        ledger = Ledger.recreateSpent(file, Unit.SENTENCE, BUDGET, DAY + 1);
        left("recreated", 0, DAY + 1);
        left("recreated", 10, DAY + 2);
        check("refused_anew", refused(() -> ledger.spend(EPSILON, DAY + 1)) == Status.LEDGER_EXHAUSTED);
        release("Good morning.", ledger.spend(3 * EPSILON, DAY + 2));
        left("new_day", 7, DAY + 2);
        ledger.close();
        document.close();
    }

    public static void main(String[] arguments) throws Exception {
        new KeyboardDay(Paths.get(arguments[0])).run();
    }
}
