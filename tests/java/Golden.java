import dev.undertone.AnswerReservoir;
import dev.undertone.Bag;
import dev.undertone.BagRelease;
import dev.undertone.Document;
import dev.undertone.Form;
import dev.undertone.Grant;
import dev.undertone.Noise;
import dev.undertone.Pack;
import dev.undertone.Release;
import dev.undertone.Rule;
import dev.undertone.Unit;
import dev.undertone.VectorMechanism;
import dev.undertone.VectorRelease;
import dev.undertone.Vocabulary;
import dev.undertone.WordMethod;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.Provider;
import java.security.SecureRandomSpi;
import java.security.Security;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The golden vectors: java Golden GOLDEN [FILE VECTORS]..., the folder tests/golden and files in
 * it, each a pack or a form and its vectors. The classes take no random bytes from a caller, so this program puts its own generator in the
 * place of the virtual machine's.
 */
public final class Golden {
    /** What the next draw gets, once. */
    private static byte[] key;

    private static String current;

    /** Java's way to exchange the generator of a whole program. */
    private static final class Prescribing extends Provider {
        private static final long serialVersionUID = 1;

        @SuppressWarnings("deprecation")
        Prescribing() {
            super("Prescribing", 1, "the entropy of the golden vectors");
            put("SecureRandom.Prescribed", Prescribed.class.getName());
        }
    }

    /** Made by the virtual machine. */
    public static final class Prescribed extends SecureRandomSpi {
        private static final long serialVersionUID = 1;

        @Override
        protected void engineSetSeed(byte[] seed) {
            throw new UnsupportedOperationException("nobody seeds");
        }

        @Override
        protected void engineNextBytes(byte[] bytes) {
            check(key != null && bytes.length == key.length, "random bytes that no case prescribes");
            System.arraycopy(key, 0, bytes, 0, key.length);
            key = null;
        }

        @Override
        protected byte[] engineGenerateSeed(int count) {
            throw new UnsupportedOperationException("nobody asks for a seed");
        }
    }

    private Golden() {}

    private static void check(boolean held, String what) {
        if (!held) {
            throw new AssertionError(current + ": " + what);
        }
    }

    private static byte[] fromHex(String text) {
        byte[] bytes = new byte[text.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(text.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }

    /** Bytes that are no UTF-8 cannot be a String; U+FFFD separates words as they do. */
    private static String text(String hex) {
        return new String(fromHex(hex), StandardCharsets.UTF_8);
    }

    private static float[] floats(String hex) {
        ByteBuffer bytes = ByteBuffer.wrap(fromHex(hex)).order(ByteOrder.LITTLE_ENDIAN);
        float[] floats = new float[bytes.remaining() / Float.BYTES];
        bytes.asFloatBuffer().get(floats);
        return floats;
    }

    /** The lines of a case, those that it has once also by their names. */
    private static final class Case {
        final List<String[]> lines = new ArrayList<>();
        final Map<String, String> fields = new HashMap<>();

        String get(String name) {
            check(fields.containsKey(name), "no line " + name);
            return fields.get(name);
        }

        boolean has(String name) {
            return fields.containsKey(name);
        }

        int number(String name) {
            return Integer.parseInt(get(name));
        }

        long epsilonMicro() {
            return Long.parseLong(get("epsilon_micro"));
        }

        Grant grant(Unit unit) {
            return Grant.unrecorded(unit, epsilonMicro());
        }
    }

    private static byte[] document(Pack pack, Case test) {
        try (Document into = new Document(pack)) {
            for (String[] line : test.lines) {
                if (line[0].equals("embedding")) {
                    into.push(floats(line[1]));
                } else if (line[0].equals("sentence")) {
                    into.pushSentence(text(line[1]));
                }
            }
            String rule = test.get("rule");
            boolean projective = rule.equals("projective");
            Unit unit = projective || rule.equals("whole-text") ? Unit.WHOLE_TEXT : Unit.SENTENCE;
            Grant grant = test.grant(unit);
            Release drawn = projective
                    ? into.releaseProjective(grant)
                    : unit == Unit.WHOLE_TEXT
                            ? into.releaseWholeText(grant)
                            : into.release(grant, Rule.values()[Integer.parseInt(rule) - 1]);
            check(into.sentenceCount() == 0, "sentences are left");
            check(drawn.unit() == unit && (drawn.order() != 0) == projective, "the unit or the order read back differs");
            check(drawn.epsilonMicro() == test.epsilonMicro(), "the epsilon read back differs");
            check(Arrays.equals(drawn.packId(), pack.id()), "the pack read back differs");
            boolean nothing = unit == Unit.WHOLE_TEXT && !projective && drawn.candidate() == pack.candidateCount();
            check(drawn.isNothingKnown(pack) == nothing, "whether nothing was known");
            return drawn.toBytes();
        }
    }

    private static byte[] bag(Pack pack, Case test) {
        Vocabulary vocabulary = new Vocabulary(pack);
        try (Bag into = new Bag(vocabulary)) {
            for (String[] line : test.lines) {
                if (line[0].equals("word")) {
                    into.push(text(line[1]));
                } else if (line[0].equals("text")) {
                    into.pushText(text(line[1]));
                }
            }
            int size = test.number("size");
            WordMethod method = WordMethod.values()[test.number("mechanism") - 1];
            BagRelease drawn = into.release(test.grant(Unit.WORD), size, method);
            check(drawn.words().length == size && drawn.method() == method, "the words or the method read back differ");
            for (int word : drawn.words()) {
                check(!vocabulary.word(word).isEmpty(), "a word without letters");
            }
            return drawn.toBytes();
        }
    }

    private static byte[] vector(Pack pack, Case test) {
        float[] values = floats(test.get("vector"));
        Noise noise = test.number("noise") == 3 ? Noise.LAPLACE : Noise.DISCRETE_LAPLACE;
        VectorMechanism mechanism = test.has("bound_exponent")
                ? new VectorMechanism(values.length, test.number("bound_exponent"), test.epsilonMicro(), noise)
                : VectorMechanism.projected(pack, test.epsilonMicro(), noise);
        check(mechanism.dimension() == values.length, "the dimension differs");
        VectorRelease drawn = mechanism.release(test.grant(Unit.VECTOR), values);
        check(drawn.noise() == noise && drawn.steps().length == drawn.dimension(), "the noise or the steps read back differ");
        return drawn.toBytes();
    }

    /** Checks that a release agrees with its case. */
    private static void agrees(Case test, Supplier<byte[]> release) {
        key = fromHex(test.get("entropy"));
        byte[] drawn = release.get();
        check(key == null, "no random bytes were drawn");
        check(Arrays.equals(drawn, fromHex(test.get("release"))), "another release");
    }

    private static int[] answers(String text) {
        return Arrays.stream(text.split(" ")).mapToInt(Integer::parseUnsignedInt).toArray();
    }

    /** The release of a reservoir that is stored and read after each line. */
    private static byte[] ofOneLine(Form form, Case test) {
        Iterator<byte[]> keys = test.lines.stream()
                .filter(line -> line[0].equals("entropy")).map(line -> fromHex(line[1])).iterator();
        key = keys.next();
        byte[] stored = AnswerReservoir.begin(form, Long.parseLong(test.get("slot")), test.number("places")).toBytes();
        for (String[] line : test.lines) {
            if (line[0].equals("answers")) {
                AnswerReservoir reservoir = AnswerReservoir.read(stored, form);
                key = keys.next();
                reservoir.push(answers(line[1]));
                stored = reservoir.toBytes();
            }
        }
        check(Arrays.equals(stored, fromHex(test.get("stored"))), "another reservoir");
        key = keys.next();
        return AnswerReservoir.read(stored, form).release(test.grant(Unit.WHOLE_TEXT)).toBytes();
    }

    private static void run(Form form, Case test) {
        agrees(test, () -> test.has("stored")
                ? ofOneLine(form, test)
                : form.release(answers(test.get("answers")), test.grant(Unit.WHOLE_TEXT)).toBytes());
    }

    /** Runs a case; one without a release has the vector of a sentence. */
    private static void run(Pack pack, Case test) {
        if (test.has("release")) {
            agrees(test, () -> test.has("noise")
                    ? vector(pack, test)
                    : test.has("mechanism") ? bag(pack, test) : document(pack, test));
        } else {
            boolean same = Arrays.equals(pack.embedSentence(text(test.get("sentence"))), floats(test.get("vector")));
            check(same, "another vector");
        }
    }

    private static int runAll(Consumer<Case> run, Path vectors) throws Exception {
        int cases = 0;
        Case test = new Case();
        for (String line : Files.readAllLines(vectors)) {
            if (line.isEmpty() || line.startsWith("#")) {
                test = new Case();
                continue;
            }
            int blank = line.indexOf(' ');
            String name = blank < 0 ? line : line.substring(0, blank);
            String value = blank < 0 ? "" : line.substring(blank + 1);
            current = vectors.getFileName() + ": " + (test.lines.isEmpty() ? line : String.join(" ", test.lines.get(0)));
            test.lines.add(new String[] {name, value});
            test.fields.put(name, value);
            // The last line of a case. That of a sentence's vector has no name.
            if (name.equals("release") || name.equals("vector") && !test.has("case")) {
                run.accept(test);
                cases++;
            }
        }
        return cases;
    }

    private static Consumer<Case> runner(String name, byte[] file) {
        if (name.endsWith(".form")) {
            Form form = Form.copyOf(file);
            return test -> run(form, test);
        }
        Pack pack = Pack.copyOf(file);
        return test -> run(pack, test);
    }

    public static void main(String[] arguments) throws Exception {
        // Before the library makes its generator.
        Security.insertProviderAt(new Prescribing(), 1);
        Path golden = Paths.get(arguments[0]);
        for (int i = 1; i + 1 < arguments.length; i += 2) {
            byte[] file = Files.readAllBytes(golden.resolve(arguments[i]));
            int cases = runAll(runner(arguments[i], file), golden.resolve(arguments[i + 1]));
            System.out.println(arguments[i + 1] + ": " + cases + " golden vectors agree");
        }
    }
}
