package dev.undertone.keyboard

import dev.undertone.AnswerReservoir
import dev.undertone.Document
import dev.undertone.Form
import dev.undertone.Grant
import dev.undertone.Ledger
import dev.undertone.LineMechanism
import dev.undertone.Pack
import dev.undertone.Release
import dev.undertone.Reservoir
import dev.undertone.Schedule
import dev.undertone.Sentence
import dev.undertone.Status
import dev.undertone.UndertoneException
import dev.undertone.Unit as ReleaseUnit
import java.io.Closeable
import java.io.IOException
import java.io.RandomAccessFile
import java.nio.file.Files
import java.nio.file.NoSuchFileException
import java.nio.file.Path
import java.nio.file.StandardCopyOption

/** A form whose only attribute has emoji as categories. */
class Emoji(val form: Form) {
    private val names = generateSequence(0) { it + 1 }.map { name(0, it) }.takeWhile { it != null }.filterNotNull().toList()

    init {
        require(name(1, 0) == null) { "the form has several attributes; make a form with one" }
    }

    private fun name(attribute: Int, category: Int): String? = try {
        form.categoryName(attribute, category)
    } catch (none: UndertoneException) {
        null
    }

    /** The number of the first emoji in a text; of two that start alike, the longer one. */
    fun first(text: String): Int {
        for (start in text.indices) {
            var found = Form.NO_ANSWER
            for ((number, name) in names.withIndex()) {
                val isLonger = found == Form.NO_ANSWER || name.length > names[found].length
                if (isLonger && text.startsWith(name, start)) found = number
            }
            if (found != Form.NO_ANSWER) return found
        }
        return Form.NO_ANSWER
    }
}

/** The week of a window from which a sentence is drawn, from 0, and what leaves about it. */
data class Appointment(val week: Int, val isEmoji: Boolean)

/**
 * Releases the topic or the first emoji of one sentence in [WEEKS] weeks, drawn from the finished
 * sentences of a week.
 *
 * Everything that is typed in [WEEKS] weeks is protected by [EPSILON_MICRO] together, and any one
 * sentence by about 0.175. The week is drawn when the ledger is made, without looking at any text,
 * and [appointed] names it before anything is typed. In other weeks, sentences are forgotten. In
 * that week a reservoir of 64 bytes keeps the topic of one sentence that is drawn, and no text. It
 * is as private as the text, so it is wiped with the release. The ledger is a file of 128 bytes, and
 * the outbox has 24 bytes for each release.
 *
 * With [emoji], the draw of the week also draws, with equal probabilities, whether the topic or the
 * first emoji of the sentence leaves. There is one release either way, at the same epsilon.
 *
 * @param folder a folder that no backup restores: `Context.getNoBackupFilesDir`
 */
class Diary(pack: Pack, folder: Path, private val emoji: Emoji? = null) : Closeable {
    private val document = Document(pack)
    /** A week has a slot for each kind of release that its sentences can have. */
    private val kinds = if (emoji == null) 1 else 2
    private val schedule = Schedule(WEEKS * kinds, 1, EPSILON_MICRO)
    private val ledgerFile = folder.resolve("year.ledger")
    private val stored = folder.resolve("reservoir")

    /** Of this week, if a release is due. */
    private var drawn: Drawn? = null

    /**
     * What may leave the device: releases, one after another. The program that uploads it takes
     * whole ones, and empties it.
     */
    val outbox: Path = folder.resolve("outbox")

    /**
     * The end of the text in the field that is not yet a finished sentence, [length] letters.
     * Zeroes follow.
     */
    private var typed = CharArray(64)
    private var length = 0
    private var isCounting = false
    private var week = -1L

    /**
     * Whether the user agreed, which nobody does for them. To withdraw it forgets all sentences.
     */
    var isAllowed = false
        set(allowed) {
            field = allowed
            if (!allowed) {
                isCounting = false
                week = -1
                wipe()
                forget()
            }
        }

    /** The sentences in the reservoir's draw, of this run. Private: it must not leave the device. */
    var sentenceCount = 0
        private set

    /** What is appointed in these [WEEKS] weeks; null if that is not known. */
    var appointed: Appointment? = null
        private set

    /** Whether one of this week's sentences is drawn. A release leaves when the week is over. */
    val isDue: Boolean get() = drawn != null

    /**
     * The user begins to type in a field. The first field of a week releases what was drawn in a
     * week that is over, even if nothing was typed: whether there is a release may depend on the use
     * of the keyboard, but not on the typed text.
     *
     * @param today the days since 1970
     */
    fun begin(field: Field, today: Long) {
        wipe()
        isCounting = isAllowed && field.mayBeReleased
        if (!isAllowed || today / 7 == week) return
        week = today / 7
        turn()
    }

    /** The keyboard puts text in front of the cursor. */
    fun type(text: CharSequence) {
        if (!isCounting) return
        makeRoom(length + text.length)
        for (letter in text) typed[length++] = letter
        take { all, start -> Sentence.nextFinished(all, start) }
    }

    /**
     * The keyboard deletes characters in front of the cursor. A sentence that was finished before
     * stays.
     */
    fun delete(characters: Int) = wipe(maxOf(0, length - characters))

    /** The cursor went elsewhere: what was not finished is forgotten. */
    fun move() = wipe()

    /** The text is finished as it is. */
    fun finish() {
        if (isCounting) take { all, start -> Sentence.next(all, start) }
        wipe()
    }

    /** The user leaves the field. */
    fun end() {
        finish()
        isCounting = false
    }

    private fun take(next: (String, Int) -> java.util.Optional<Sentence>) {
        val all = String(typed, 0, length)
        var end = 0
        while (true) {
            val sentence = next(all, end).orElse(null) ?: break
            draw(sentence.text())
            end = sentence.end()
        }
        typed.copyInto(typed, 0, end, length)
        wipe(length - end)
    }

    /** The array that was too small keeps nothing. */
    private fun makeRoom(letters: Int) {
        if (letters <= typed.size) return
        val larger = typed.copyOf(maxOf(letters, 2 * typed.size))
        typed.fill('\u0000')
        typed = larger
    }

    /** Overwrites what was typed before it forgets it. Strings cannot be overwritten. */
    private fun wipe(from: Int = 0) {
        typed.fill('\u0000', from, length)
        length = from
    }

    /** The draw goes on if it cannot be stored: a restart then loses some sentences. */
    private fun draw(sentence: String) {
        val drawn = drawn ?: return
        drawn.push(sentence)
        sentenceCount++
        try {
            store(drawn)
        } catch (failed: IOException) {
            return
        }
    }

    private fun store(drawn: Drawn) {
        val partial = stored.resolveSibling("reservoir.partial")
        Files.write(partial, drawn.toBytes())
        Files.move(partial, stored, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
    }

    /** Wipes what was drawn, also on storage. */
    private fun forget() {
        drawn = null
        sentenceCount = 0
        document.reset()
        if (Files.exists(stored)) {
            Files.write(stored, ByteArray(Reservoir.BYTES))
            Files.delete(stored)
        }
    }

    /**
     * A week begins. A keyboard continues if the ledger refuses or storage is full: without a grant
     * nothing leaves.
     */
    private fun turn() {
        drawn = null
        sentenceCount = 0
        try {
            ledger().use { ledger ->
                val slot = ledger.appointment(week / WEEKS, schedule).first()
                val isEmoji = slot % kinds == 1
                appointed = Appointment(slot / kinds, isEmoji)
                resume(ledger, isEmoji)
                val now = (week % WEEKS).toInt() * kinds + slot % kinds
                if (drawn == null && ledger.isDue(week / WEEKS, now, schedule)) {
                    drawn = begin(isEmoji).also { store(it) }
                }
            }
        } catch (refused: UndertoneException) {
            return
        } catch (failed: IOException) {
            return
        }
    }

    /**
     * Goes on with this week's reservoir, or releases that of a week that is over: spends first, in
     * the window of its week. A release that cannot be written is lost.
     */
    private fun resume(ledger: Ledger, isEmoji: Boolean) {
        if (Files.notExists(stored)) return
        val found = read(Files.readAllBytes(stored)) ?: return forget()
        if (found.slot == week && found.isEmoji == isEmoji) drawn = found
        if (found.slot >= week) return
        val release = try {
            found.release(ledger.spend(EPSILON_MICRO, found.slot / WEEKS))
        } catch (refused: UndertoneException) {
            return forget()
        }
        forget()
        try {
            append(release.toBytes())
        } catch (lost: IOException) {
            return
        }
    }

    /** A reservoir of topics or of emoji. */
    private interface Drawn {
        val isEmoji: Boolean
        val slot: Long
        fun push(sentence: String)
        fun release(grant: Grant): Release
        fun toBytes(): ByteArray
    }

    private inner class Topic(private val reservoir: Reservoir) : Drawn {
        override val isEmoji get() = false
        override val slot get() = reservoir.slot()
        override fun push(sentence: String) {
            document.pushSentence(sentence)
            reservoir.push(document)
        }
        override fun release(grant: Grant): Release = reservoir.release(document, LineMechanism.WHOLE_TEXT, grant)
        override fun toBytes(): ByteArray = reservoir.toBytes()
    }

    private class FirstEmoji(private val emoji: Emoji, private val reservoir: AnswerReservoir) : Drawn {
        override val isEmoji get() = true
        override val slot get() = reservoir.slot()
        override fun push(sentence: String) = reservoir.push(intArrayOf(emoji.first(sentence)))
        override fun release(grant: Grant): Release = reservoir.release(grant)
        override fun toBytes(): ByteArray = reservoir.toBytes()
    }

    private fun begin(isEmoji: Boolean): Drawn = if (emoji != null && isEmoji) {
        FirstEmoji(emoji, AnswerReservoir.begin(emoji.form, week, PLACES))
    } else {
        Topic(Reservoir.begin(document, week, PLACES))
    }

    /** Null for bytes that are damaged, or of another pack or form. */
    private fun read(bytes: ByteArray): Drawn? = try {
        Topic(Reservoir.read(bytes, document))
    } catch (other: UndertoneException) {
        try {
            emoji?.let { FirstEmoji(it, AnswerReservoir.read(bytes, it.form)) }
        } catch (damaged: UndertoneException) {
            null
        }
    }

    /**
     * Returns once the release is on storage. One that was cut short before is none: this one takes
     * its place.
     */
    private fun append(release: ByteArray) {
        RandomAccessFile(outbox.toFile(), "rw").use { file ->
            file.seek(file.length() / Release.BYTES * Release.BYTES)
            file.write(release)
            file.fd.sync()
        }
    }

    private fun ledger(): Ledger = try {
        // Once there was a release, a ledger that is gone must not become a fresh budget.
        // That nobody can tell is not that there was none.
        if (Files.notExists(outbox)) {
            Ledger.openOrCreate(ledgerFile, ReleaseUnit.WHOLE_TEXT, EPSILON_MICRO)
        } else {
            Ledger.open(ledgerFile, ReleaseUnit.WHOLE_TEXT)
        }
    } catch (gone: NoSuchFileException) {
        Ledger.recreateSpent(ledgerFile, ReleaseUnit.WHOLE_TEXT, EPSILON_MICRO, week / WEEKS)
    } catch (refused: UndertoneException) {
        if (refused.status() !in UNKNOWN_SPENT) throw refused
        Ledger.recreateSpent(ledgerFile, ReleaseUnit.WHOLE_TEXT, EPSILON_MICRO, week / WEEKS)
    }

    /** Wipes what was typed. */
    override fun close() {
        wipe()
        document.close()
    }

    companion object {
        /** A window of the ledger: about a year. */
        const val WEEKS = 52

        /** Epsilon 3 for everything that is typed in a window. */
        const val EPSILON_MICRO = 3_000_000L

        /** Below the number of sentences that most people type in a week. */
        const val PLACES = 100

        /** What was spent is not known, so this window counts as spent. */
        private val UNKNOWN_SPENT = setOf(
            Status.LEDGER_WRONG_LENGTH, Status.NOT_A_LEDGER, Status.LEDGER_DAMAGED, Status.LEDGER_MIXED,
            Status.LEDGER_SET_BACK
        )
    }
}
