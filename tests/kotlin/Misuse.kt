import dev.undertone.AnswerReservoir
import dev.undertone.Bag
import dev.undertone.Document
import dev.undertone.Form
import dev.undertone.Grant
import dev.undertone.Ledger
import dev.undertone.Noise
import dev.undertone.Pack
import dev.undertone.Release
import dev.undertone.Reservoir
import dev.undertone.Status
import dev.undertone.Undertone
import dev.undertone.UndertoneException
import dev.undertone.Unit as ReleaseUnit
import dev.undertone.VectorMechanism
import dev.undertone.Vocabulary
import java.io.IOException
import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.Paths
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger
import kotlin.concurrent.thread

/**
 * The cases of tests/faces/misuse.md in Kotlin: MisuseKt GOLDEN, the folder tests/golden. None
 * crashes. It prints their names.
 */

private const val ONE = 1_000_000L
private const val TEN = 10_000_000L
private const val WINDOW = 20_000L

/** What the call throws, in the words of the list. */
private fun outcome(call: () -> Any?): String = try {
    call()
    "OK"
} catch (refused: UndertoneException) {
    Status::class.java.fields.firstOrNull { it.getInt(null) == refused.status() }?.name ?: "status ${refused.status()}"
} catch (refused: IllegalStateException) {
    "CLOSED"
} catch (refused: NullPointerException) {
    "ARGUMENT"
} catch (refused: IllegalArgumentException) {
    "ARGUMENT"
} catch (refused: IOException) {
    "SYSTEM"
}

private fun test(name: String, expected: String, vararg calls: () -> Any?) {
    for (call in calls) {
        val found = outcome(call)
        check(found == expected) { "$name: expected $expected, found $found" }
    }
    println("case $name")
}

private fun grant(unit: ReleaseUnit) = Grant.unrecorded(unit, ONE)

private fun packs(golden: Path, bytes: ByteArray) {
    test("short_pack", "PACK_TOO_SHORT", { Pack.copyOf(ByteArray(0)) })
    test("foreign_pack", "NOT_A_PACK", { Pack.copyOf(ByteArray(1000)) })
    test("cut_pack", "PACK_WRONG_LENGTH", { Pack.copyOf(bytes.copyOf(bytes.size - 1)) })
    val damaged = bytes.clone()
    damaged[bytes.size - 1] = (damaged[bytes.size - 1].toInt() xor 1).toByte()
    test("damaged_pack", "PACK_DAMAGED", { Pack.copyOf(damaged) })
    val vectors = Pack.copyOf(Files.readAllBytes(golden.resolve("golden-vectors.pack")))
    test("pack_without_candidates", "NO_CANDIDATES", { Document(vectors) })
    test("pack_closed_first", "OK", {
        Document(Pack.copyOf(bytes)).use { document ->
            // Nothing here holds the pack now.
            System.gc()
            document.pushSentence("The clinic called.")
            document.release(grant(ReleaseUnit.SENTENCE))
        }
    })
}

private fun texts(golden: Path, pack: Pack) {
    val document = Document(pack)
    // A value from Java may be null, which Kotlin's types do not show.
    test(
        "null_argument", "ARGUMENT",
        { document.pushSentence(null) }, { document.pushText(null) }, { document.push(null) }, { document.release(null) },
        { Document(null) }, { Pack.copyOf(null) }, { Ledger.open(null, ReleaseUnit.SENTENCE) }, { Grant.unrecorded(null, ONE) }
    )
    test("empty_text", "OK", {
        check(document.pushText("") == 0)
        document.pushSentence("")
        check(document.sentenceCount() == 1)
    })
    test(
        "text_that_is_no_unicode", "OK",
        { document.pushSentence("\ud800") }, { check(document.pushText("It \udc00 snows.") == 1) }
    )
    test("long_text", "OK", { document.pushSentence("x".repeat(1 shl 20)) })
    val odd = FloatArray(16)
    odd[0] = Float.NaN
    odd[1] = Float.POSITIVE_INFINITY
    odd[2] = Float.NEGATIVE_INFINITY
    test("embedding_of_nan", "OK", { document.push(odd) }, { document.pushAll(odd) })
    test("short_embedding", "WRONG_DIMENSION", { document.push(FloatArray(15)) }, { document.pushAll(FloatArray(33)) })
    val featured = Document(Pack.copyOf(Files.readAllBytes(golden.resolve("golden-features.pack"))))
    test("embedding_without_text", "NEEDS_TEXT", { featured.push(FloatArray(16)) })
    test("full_document", "DOCUMENT_FULL", { repeat(129) { document.pushSentence("One more.") } })
}

private fun forms(golden: Path) {
    val scores = Files.readAllBytes(golden.resolve("golden-scores.pack"))
    test("foreign_form", "NOT_A_FORM", { Form.copyOf(scores) })
    val bytes = Files.readAllBytes(golden.resolve("golden.form"))
    val form = Form.copyOf(bytes)
    bytes[bytes.size - 1] = (bytes[bytes.size - 1].toInt() xor 1).toByte()
    test("damaged_form", "FORM_DAMAGED", { Form.copyOf(bytes) })
    val grant = grant(ReleaseUnit.WHOLE_TEXT)
    test(
        "wrong_answer_count", "WRONG_ANSWER_COUNT",
        { form.release(IntArray(2), grant) }, { form.release(IntArray(4), grant) }
    )
    test("answers_out_of_range", "OK", { form.release(intArrayOf(4, 2600, Form.NO_ANSWER), grant) })
    test("no_such_category", "NO_SUCH_CATEGORY", { form.attributeName(3) }, { form.categoryName(0, 4) })
    val document = Document(Pack.copyOf(scores))
    test("topic_of_another_pack", "FORM_OTHER_PACK", { form.answerTopic(document, IntArray(3)) })
    val lines = Reservoir.begin(document, 7, 1).toBytes()
    test("lines_as_answers", "RESERVOIR_OTHER_PACK", { AnswerReservoir.read(lines, form) })
}

private fun releases(golden: Path, pack: Pack) {
    val document = Document(pack)
    test("release_of_nothing", "OK", { document.release(grant(ReleaseUnit.SENTENCE)) })
    document.pushSentence("The clinic called.")
    test(
        "release_twice", "OK",
        { document.release(grant(ReleaseUnit.SENTENCE)) }, { document.release(grant(ReleaseUnit.SENTENCE)) }
    )
    val byDepth = Document(Pack.copyOf(Files.readAllBytes(golden.resolve("golden.pack"))))
    test("whole_text_without_scores", "NO_SCORES", { byDepth.releaseWholeText(grant(ReleaseUnit.WHOLE_TEXT)) })
    forms(golden)
    val reservoir = Reservoir.begin(document, 7, 1)
    val stored = reservoir.toBytes()
    stored[63] = (stored[63].toInt() xor 1).toByte()
    test("damaged_reservoir", "RESERVOIR_DAMAGED", { Reservoir.read(stored, document) })
    val other = Document(Pack.copyOf(Files.readAllBytes(golden.resolve("golden-vote.pack"))))
    test("reservoir_of_another_pack", "RESERVOIR_OTHER_PACK", { reservoir.push(other) })
    val used = grant(ReleaseUnit.SENTENCE)
    document.release(used)
    test("used_grant", "GRANT_SPENT", { document.release(used) })
    val whole = grant(ReleaseUnit.WHOLE_TEXT)
    test("grant_of_another_unit", "GRANT_WRONG_UNIT", { document.release(whole) })
    test("grant_kept_after_wrong_unit", "OK", { document.releaseWholeText(whole) })
    document.close()
    test(
        "document_after_close", "CLOSED",
        { document.pushSentence("late") }, { document.pushText("late") }, { document.push(FloatArray(16)) },
        { document.sentenceCount() }, { document.release(grant(ReleaseUnit.SENTENCE)) }, { document.reset() }
    )
    test("short_release", "RELEASE_WRONG_LENGTH", { Release(ByteArray(23)) })
    test("foreign_release", "NOT_A_RELEASE", { Release(ByteArray(24)) })
    val forged = Document(pack).release(grant(ReleaseUnit.SENTENCE)).toBytes()
    forged[4] = 99
    test("forged_release", "RELEASE_MALFORMED", { Release(forged) })
    test(
        "epsilon_not_a_number", "EPSILON_NOT_A_NUMBER",
        { Undertone.epsilonMicro("much") }, { Undertone.epsilonMicro("nan") }
    )
    test("epsilon_zero", "EPSILON_TOO_SMALL", { Grant.unrecorded(ReleaseUnit.SENTENCE, 0) })
    test("epsilon_too_large", "EPSILON_TOO_LARGE", { Grant.unrecorded(ReleaseUnit.SENTENCE, 1_000_000_001) })
    test("grant_of_another_epsilon", "GRANT_WRONG_EPSILON", {
        val two = Grant.unrecorded(ReleaseUnit.VECTOR, 2 * ONE)
        VectorMechanism(16, 0, ONE, Noise.LAPLACE).release(two, FloatArray(16))
    })
}

private fun ledgers(folder: Path, pack: Pack) {
    val file = folder.resolve("budget.ledger")
    val unit = ReleaseUnit.SENTENCE
    test("missing_ledger", "SYSTEM", { Ledger.open(file, unit) })
    test("ledger_without_budget", "LEDGER_NO_BUDGET", { Ledger.openOrCreate(file, unit, 0) })
    val ledger = Ledger.openOrCreate(file, unit, TEN)
    test(
        "ledger_in_use", "LEDGER_IN_USE",
        { Ledger.open(file, unit) }, { Ledger.openOrCreate(file, unit, TEN) },
        { Ledger.recreateSpent(file, unit, TEN, WINDOW) }
    )
    test(
        "negative_window", "ARGUMENT",
        { ledger.spend(ONE, -1) }, { ledger.remaining(-1) }, { Ledger.recreateSpent(file, unit, TEN, -1) }
    )
    ledger.spend(7 * ONE, WINDOW)
    test("over_budget", "LEDGER_EXHAUSTED", { ledger.spend(4 * ONE, WINDOW) })
    ledger.spend(ONE, WINDOW + 1)
    test("clock_set_back", "LEDGER_FROM_FUTURE", { ledger.spend(ONE, WINDOW) })
    ledger.close()
    test("ledger_after_close", "CLOSED", { ledger.spend(ONE, WINDOW + 1) }, { ledger.remaining(WINDOW + 1) })
    val document = Document(pack)
    document.close()
    test("close_twice", "OK", { document.close() }, { ledger.close() })
    test("ledger_of_another_unit", "LEDGER_WRONG_UNIT", { Ledger.open(file, ReleaseUnit.WHOLE_TEXT) })

    val image = Files.readAllBytes(file)
    Files.write(file, image.copyOf(127))
    test("short_ledger", "LEDGER_WRONG_LENGTH", { Ledger.open(file, unit) })
    Files.write(file, ByteArray(128))
    test("foreign_ledger", "NOT_A_LEDGER", { Ledger.open(file, unit) })
    for (i in listOf(30, 100)) image[i] = (image[i].toInt() xor 1).toByte()
    Files.write(file, image)
    test("damaged_ledger", "LEDGER_DAMAGED", { Ledger.open(file, unit) })

    Ledger.openOrCreate(folder.resolve("words.ledger"), ReleaseUnit.WORD, TEN).use { words ->
        test(
            "words_out_of_range", "WORD_COUNT_OUT_OF_RANGE",
            { words.spend(1, 0, WINDOW) }, { words.spend(1, 257, WINDOW) }
        )
        val one = words.spend(ONE, 1, WINDOW)
        val bag = Bag(Vocabulary(pack))
        test("bag_of_more_words", "GRANT_TOO_FEW_WORDS", { bag.release(one, 2) })
    }
    setBack(folder.resolve("counted.ledger"))
    counterUsesItsLedger(folder.resolve("reentrant.ledger"))
}

private fun setBack(file: Path) {
    val counter = object : Ledger.Counter {
        var counted = 0L
        override fun read() = counted
        override fun raise(to: Long) {
            counted = to
        }
    }
    Ledger.openOrCreate(file, ReleaseUnit.SENTENCE, TEN, counter).close()
    val before = Files.readAllBytes(file)
    Ledger.open(file, ReleaseUnit.SENTENCE, counter).use { ledger -> repeat(2) { ledger.spend(ONE, WINDOW) } }
    Files.write(file, before)
    test("set_back_ledger", "LEDGER_SET_BACK", { Ledger.open(file, ReleaseUnit.SENTENCE, counter) })
}

/** Refused as after the close, because the class is the same; the message is another. */
private fun counterUsesItsLedger(file: Path) {
    val refusals = mutableListOf<String?>()
    val counter = object : Ledger.Counter {
        lateinit var ledger: Ledger
        var counted = 0L
        override fun read() = counted
        override fun raise(to: Long) {
            for (call in listOf<() -> Any>({ ledger.spend(ONE, WINDOW) }, { ledger.remaining(WINDOW) })) {
                refusals += try { "no refusal: ${call()}" } catch (refused: IllegalStateException) { refused.message }
            }
            counted = to
        }
    }
    counter.ledger = Ledger.openOrCreate(file, ReleaseUnit.SENTENCE, TEN, counter)
    test("counter_uses_its_ledger", "OK", {
        for (left in listOf(TEN - ONE, TEN - 2 * ONE)) {
            refusals.clear()
            counter.ledger.spend(ONE, WINDOW)
            check(refusals == List(2) { "the ledger is in use by a call that has not returned" }) { "$refusals" }
            check(counter.ledger.remaining(WINDOW) == left) { "what is left" }
        }
    })
    counter.ledger.close()
}

/** Runs a task in many threads at once; what one throws is thrown. */
private fun inThreads(count: Int, task: () -> Any?) {
    val failures = ConcurrentLinkedQueue<Throwable>()
    val threads = List(count) {
        thread {
            try {
                repeat(25) { task() }
            } catch (failure: Throwable) {
                failures.add(failure)
            }
        }
    }
    threads.forEach { it.join() }
    failures.firstOrNull()?.let { throw it }
}

private fun threads(folder: Path, pack: Pack) {
    test("pack_from_many_threads", "OK", {
        inThreads(4) {
            Document(pack).use { own ->
                own.pushSentence("The orchestra plays.")
                own.release(grant(ReleaseUnit.SENTENCE))
            }
        }
    })
    val shared = Document(pack)
    test("document_from_two_threads", "OK", {
        inThreads(2) {
            shared.pushSentence("The orchestra plays.")
            shared.release(grant(ReleaseUnit.SENTENCE))
        }
    })
    val grants = AtomicInteger()
    Ledger.openOrCreate(folder.resolve("shared.ledger"), ReleaseUnit.SENTENCE, TEN).use { ledger ->
        test("ledger_from_two_threads", "OK", {
            inThreads(2) {
                try {
                    ledger.spend(ONE, WINDOW)
                    grants.incrementAndGet()
                } catch (refused: UndertoneException) {
                    check(refused.status() == Status.LEDGER_EXHAUSTED) { "$refused" }
                }
            }
            check(grants.get() == 10) { "$grants grants of 10" }
        })
    }
}

fun main(arguments: Array<String>) {
    val golden = Paths.get(arguments[0])
    val bytes = Files.readAllBytes(golden.resolve("golden-scores.pack"))
    val pack = Pack.copyOf(bytes)
    packs(golden, bytes)
    texts(golden, pack)
    releases(golden, pack)
    val folder = Files.createTempDirectory("misuse")
    ledgers(folder, pack)
    threads(folder, pack)
}
