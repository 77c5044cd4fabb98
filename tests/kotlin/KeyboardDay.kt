import dev.undertone.Document
import dev.undertone.Grant
import dev.undertone.Ledger
import dev.undertone.Pack
import dev.undertone.Release
import dev.undertone.Rule
import dev.undertone.Status
import dev.undertone.UndertoneException
import dev.undertone.Unit as ReleaseUnit
import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.Paths

/**
 * The steps of tests/faces/keyboard-day.md in Kotlin: KeyboardDayKt GOLDEN, the folder
 * tests/golden. It prints their names.
 */

private const val EPSILON = 1_000_000L
private const val BUDGET = 10 * EPSILON
private const val DAY = 20_000L

private class Keyboard(golden: Path) {
    private val file = Files.createTempDirectory("day").resolve("budget.ledger")
    private val pack = Pack.copyOf(Files.readAllBytes(golden.resolve("golden-scores.pack")))
    private val document = Document(pack)
    private var ledger = Ledger.openOrCreate(file, ReleaseUnit.SENTENCE, BUDGET)

    private fun step(name: String, held: Boolean, found: String = "not so") {
        check(held) { "$name: $found" }
        println("case $name")
    }

    private fun left(step: String, millions: Long, window: Long) {
        val left = ledger.remaining(window)
        step(step, left == millions * EPSILON, "$left is left")
    }

    private fun refuses(step: String, status: Int, call: () -> Any) {
        val found = try {
            call()
            0
        } catch (refused: UndertoneException) {
            refused.status()
        }
        step(step, found == status, "status $found")
    }

    private fun release(sentence: String, grant: Grant) {
        document.pushSentence(sentence)
        document.release(grant)
    }

    /** The keyboard is killed; its storage has these bytes. */
    private fun killed(stored: ByteArray) {
        ledger.close()
        Files.write(file, stored)
        ledger = Ledger.open(file, ReleaseUnit.SENTENCE)
    }

    fun run() {
        step("new_ledger", Files.size(file) == 128L)
        left("new_ledger", 10, DAY)
        val text = "My doctor wants to repeat the blood test. The clinic called about the swollen node."
        step("typed_text", document.pushText(text) == 2 && document.sentenceCount() == 2)
        val grant = ledger.spend(3 * EPSILON, DAY)
        left("first_spend", 7, DAY)
        val release = Release(document.release(grant).toBytes())
        step(
            "first_release",
            release.toBytes().size == 24 && release.epsilonMicro() == 3 * EPSILON &&
                release.unit() == ReleaseUnit.SENTENCE && release.rule() == Rule.PERMUTE_AND_FLIP &&
                release.order() == 0 && release.candidate() < 200 && document.sentenceCount() == 0 &&
                release.packId().joinToString("") { "%02x".format(it) } == "16f4b64559f90996"
        )
        release("We won the match.", ledger.spend(4 * EPSILON, DAY))
        left("second_release", 3, DAY)
        refuses("refused_spend", Status.LEDGER_EXHAUSTED) { ledger.spend(4 * EPSILON, DAY) }
        left("refused_spend", 3, DAY)
        ledger.close()
        ledger = Ledger.open(file, ReleaseUnit.SENTENCE)
        left("reopened", 3, DAY)

        val before = Files.readAllBytes(file)
        ledger.spend(EPSILON, DAY)
        val after = Files.readAllBytes(file)
        killed(before)
        left("killed_before", 3, DAY)
        killed(after)
        left("killed_after", 2, DAY)
        val record = if (before.copyOf(64).contentEquals(after.copyOf(64))) 64 else 0
        val between = before.clone()
        System.arraycopy(after, record, between, record, 40)
        killed(between)
        left("killed_in_between", 0, DAY)
        refuses("lost_record", Status.LEDGER_RECORD_LOST) { ledger.spend(EPSILON, DAY) }
        left("lost_record", 0, DAY)
        refuses("rest_of_the_window", Status.LEDGER_EXHAUSTED) { ledger.spend(EPSILON, DAY) }
        left("rest_of_the_window", 0, DAY)

        release("The rehearsal is at seven.", ledger.spend(3 * EPSILON, DAY + 1))
        left("next_window", 7, DAY + 1)
        refuses("clock_back", Status.LEDGER_FROM_FUTURE) { ledger.spend(EPSILON, DAY) }
        left("clock_back", 7, DAY + 1)

        ledger.close()
        Files.write(file, ByteArray(0))
        refuses("emptied", Status.LEDGER_WRONG_LENGTH) { Ledger.open(file, ReleaseUnit.SENTENCE) }
        ledger = Ledger.recreateSpent(file, ReleaseUnit.SENTENCE, BUDGET, DAY + 1)
        left("recreated", 0, DAY + 1)
        left("recreated", 10, DAY + 2)
        refuses("refused_anew", Status.LEDGER_EXHAUSTED) { ledger.spend(EPSILON, DAY + 1) }
        release("Good morning.", ledger.spend(3 * EPSILON, DAY + 2))
        left("new_day", 7, DAY + 2)
        ledger.close()
        document.close()
    }
}

fun main(arguments: Array<String>) = Keyboard(Paths.get(arguments[0])).run()
