package dev.undertone.keyboard

import dev.undertone.Document
import dev.undertone.Ledger
import dev.undertone.Pack
import dev.undertone.Release
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

/**
 * Collects the finished sentences that are typed, and once a day makes a release of them.
 *
 * Every sentence is in at most one release, which protects it by [EPSILON_MICRO]. The app chooses
 * the sentence as the unit of privacy, because a day has many; the pack does not choose it.
 * Sentences exist in memory alone, as counts, and a keyboard that is killed loses them. The ledger
 * is a file of 128 bytes, and the outbox has 24 bytes for each release.
 *
 * @param folder a folder that no backup restores: `Context.getNoBackupFilesDir`
 */
class Diary(pack: Pack, folder: Path) : Closeable {
    private val document = Document(pack)
    private val ledgerFile = folder.resolve("sentences.ledger")

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
    private var day = -1L

    /**
     * Whether the user agreed, which nobody does for them. To withdraw it forgets all sentences.
     */
    var isAllowed = false
        set(allowed) {
            field = allowed
            if (!allowed) {
                isCounting = false
                wipe()
                document.reset()
            }
        }

    /** The sentences since the last release. Private: it must not leave the device. */
    val sentenceCount: Int get() = document.sentenceCount()

    /**
     * The user begins to type in a field. The first field of a day releases the sentences before
     * it, even if there are none: whether there is a release may depend on the use of the keyboard,
     * but not on the typed text.
     *
     * @param today the days since 1970
     */
    fun begin(field: Field, today: Long) {
        wipe()
        isCounting = isAllowed && field.mayBeReleased
        if (!isAllowed || today == day) return
        if (day >= 0) release(today)
        day = today
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
            // A full document leaves the rest of the day out.
            if (document.sentenceCount() < Document.MAX_SENTENCES) document.pushSentence(sentence.text())
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

    /**
     * Spends first, then releases. A keyboard continues if the ledger refuses or storage is full:
     * without a grant nothing leaves, and the sentences wait for the next day. A release that
     * cannot be written is lost.
     */
    private fun release(today: Long) {
        try {
            val grant = ledger(today).use { it.spend(EPSILON_MICRO, today) }
            append(document.release(grant).toBytes())
        } catch (refused: UndertoneException) {
            return
        } catch (failed: IOException) {
            return
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

    private fun ledger(today: Long): Ledger = try {
        // Once there was a release, a ledger that is gone must not become a fresh budget.
        // That nobody can tell is not that there was none.
        if (Files.notExists(outbox)) {
            Ledger.openOrCreate(ledgerFile, ReleaseUnit.SENTENCE, EPSILON_MICRO)
        } else {
            Ledger.open(ledgerFile, ReleaseUnit.SENTENCE)
        }
    } catch (gone: NoSuchFileException) {
        Ledger.recreateSpent(ledgerFile, ReleaseUnit.SENTENCE, EPSILON_MICRO, today)
    } catch (refused: UndertoneException) {
        if (refused.status() !in UNKNOWN_SPENT) throw refused
        Ledger.recreateSpent(ledgerFile, ReleaseUnit.SENTENCE, EPSILON_MICRO, today)
    }

    /** Wipes what was typed. */
    override fun close() {
        wipe()
        document.close()
    }

    companion object {
        /** Epsilon 2 a day, and for every sentence. */
        const val EPSILON_MICRO = 2_000_000L

        /** What was spent is not known, so today counts as spent. */
        private val UNKNOWN_SPENT = setOf(
            Status.LEDGER_WRONG_LENGTH, Status.NOT_A_LEDGER, Status.LEDGER_DAMAGED, Status.LEDGER_MIXED,
            Status.LEDGER_SET_BACK
        )
    }
}
