import dev.undertone.Form
import dev.undertone.Ledger
import dev.undertone.Pack
import dev.undertone.Release
import dev.undertone.Unit as ReleaseUnit
import dev.undertone.keyboard.Cursor
import dev.undertone.keyboard.Diary
import dev.undertone.keyboard.Emoji
import dev.undertone.keyboard.Field
import java.io.ByteArrayOutputStream
import java.io.Closeable
import java.io.PrintStream
import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.Paths
import java.nio.file.StandardOpenOption

/**
 * Years of the keyboard on a desktop, without emoji and with them: DiaryTestKt PACK FORM, a pack
 * with a lexicon, and the form of `emoji.json`.
 */

/** Android's numbers of input types that [Field] lacks; `NumbersTest.kt` compares them. */
object Kinds {
    const val CLASS_NUMBER = 0x2
    const val PASSWORD = 0x80
    const val VISIBLE_PASSWORD = 0x90
    const val WEB_PASSWORD = 0xe0
    const val NUMBER_PASSWORD = 0x10
    const val EMAIL_ADDRESS = 0x20
    const val ACTION_SEND = 0x4
}

private const val YEAR = 55L

/** A day in the last week of a year, in which a release that was not made is due. */
private fun lastWeek(year: Long) = (year * Diary.WEEKS + Diary.WEEKS - 1) * 7

private val prose = Field(Field.CLASS_TEXT or Field.VARIATION_SHORT_MESSAGE, 0)

private class Phone(bytes: ByteArray, val emoji: Emoji?) : Closeable {
    private val pack = Pack.copyOf(bytes)
    val folder: Path = Files.createTempDirectory("keyboard")
    val ledger: Path = folder.resolve("year.ledger")
    var diary = start()

    private fun start(): Diary {
        val diary = Diary(pack, folder, emoji)
        diary.isAllowed = true
        return diary
    }

    /** The system ends the keyboard without a word, and starts it again. */
    fun kill() {
        diary = start()
    }

    fun begin(field: Field, year: Long) = diary.begin(field, lastWeek(year))

    fun write(text: String, field: Field, year: Long) {
        begin(field, year)
        for (letter in text) diary.type(letter.toString())
        diary.end()
    }

    fun releases(): List<Release> {
        if (!Files.exists(diary.outbox)) return emptyList()
        val bytes = Files.readAllBytes(diary.outbox)
        check(bytes.size % Release.BYTES == 0) { "the outbox has whole releases" }
        return (bytes.indices step Release.BYTES).map { Release(bytes.copyOfRange(it, it + Release.BYTES)) }
    }

    override fun close() = diary.close()
}

/** Fields of every class and variation that there can be: five kinds are prose. */
private fun privateFieldsAreLeftAlone(phone: Phone) {
    val secret = listOf(
        Field(Field.CLASS_TEXT or Kinds.PASSWORD, 0),
        Field(Field.CLASS_TEXT or Kinds.VISIBLE_PASSWORD, 0),
        Field(Field.CLASS_TEXT or Kinds.WEB_PASSWORD, 0),
        Field(Kinds.CLASS_NUMBER or Kinds.NUMBER_PASSWORD, 0),
        Field(Field.CLASS_TEXT or Kinds.EMAIL_ADDRESS, 0),
        Field(Field.CLASS_TEXT or Field.FLAG_NO_SUGGESTIONS, 0),
        Field(0, 0),
        // Incognito.
        Field(Field.CLASS_TEXT, Field.FLAG_NO_PERSONALIZED_LEARNING),
        Field(Field.CLASS_TEXT, Field.FLAG_NO_PERSONALIZED_LEARNING or Kinds.ACTION_SEND)
    )
    for (field in secret) {
        phone.write("Correct horse. Battery staple.", field, YEAR)
        check(phone.diary.sentenceCount == 0) { "a private field" }
    }
    var allowed = 0
    for (inputType in 0..0xfff) if (Field(inputType, 0).mayBeReleased) allowed++
    check(allowed == 5) { "$allowed kinds of fields" }
    // The same text in a field for prose: nothing of the private fields is left over.
    phone.write("Correct horse. Battery staple.", prose, YEAR)
    check(phone.diary.sentenceCount == 2) { "prose" }
}

private fun onlyFinishedSentencesCount(phone: Phone) {
    val diary = phone.diary
    phone.begin(prose, YEAR)
    for (letter in "Dr. Smith called. I wil") diary.type(letter.toString())
    check(diary.sentenceCount == 1) { "the finished one" }
    diary.delete(1)
    for (letter in "ll go. ") diary.type(letter.toString())
    check(diary.sentenceCount <= 2) { "one more at most" }
    diary.type("A")
    check(diary.sentenceCount == 2) { "one more" }
    diary.delete(1000)
    diary.type("half a sentence")
    diary.move()
    diary.end()
    check(diary.sentenceCount == 2) { "what was deleted, or left behind" }
    phone.begin(prose, YEAR)
    diary.type("no full stop")
    diary.end()
    check(diary.sentenceCount == 3) { "a field that was left is finished" }
    diary.end()
    diary.type("outside of any field. ")
    check(diary.sentenceCount == 3) { "outside of a field" }
    repeat(200) { phone.write("Again and again.", prose, YEAR) }
    check(diary.sentenceCount == 203) { "any number" }
}

private fun consentIsNeeded(phone: Phone) {
    val diary = phone.diary
    phone.write("We won the match.", prose, YEAR)
    diary.isAllowed = false
    check(diary.sentenceCount == 0) { "withdrawn" }
    phone.write("We won the match.", prose, YEAR + 1)
    phone.write("We won the match.", prose, YEAR + 2)
    check(diary.sentenceCount == 0 && phone.releases().isEmpty()) { "nothing without consent" }
    check(phone.folder.toFile().list()!!.toList() == listOf("year.ledger")) { "nothing of a text without consent" }
}

private fun aReleaseAYear(phone: Phone) {
    phone.write("My doctor wants to repeat the blood test.", prose, YEAR)
    check(phone.releases().isEmpty()) { "not in the week of the text" }
    check(phone.diary.isDue && phone.diary.appointed!!.week in 0 until Diary.WEEKS) { "what is said first" }
    phone.write("Good morning.", prose, YEAR + 1)
    val release = phone.releases().single()
    check(release.epsilonMicro() == Diary.EPSILON_MICRO && release.unit() == ReleaseUnit.WHOLE_TEXT) { "the promise" }
    check(phone.diary.sentenceCount == 1) { "a sentence is in one release only" }
    phone.write("And again.", prose, YEAR + 1)
    check(phone.releases().size == 1) { "one a year" }

    // Killed and started in the same week: the draw goes on.
    phone.kill()
    phone.write("I am back.", prose, YEAR + 1)
    check(phone.releases().size == 1 && phone.diary.sentenceCount == 1) { "started again" }
    phone.begin(Field(Kinds.CLASS_NUMBER, 0), YEAR + 2)
    check(phone.releases().size == 2 && phone.diary.sentenceCount == 0) { "the next year, in any field" }

    // A week without typed text has a release as well, so a release does not reveal that there was
    // text.
    phone.begin(prose, YEAR + 3)
    check(phone.releases().size == 3) { "an empty week" }
    // The clock was set back: nothing leaves, and nothing fails.
    phone.begin(prose, YEAR + 1)
    check(phone.releases().size == 3) { "the clock was set back" }
}

/** Week by week: in the appointed week sentences count, and the week after has the release. */
private fun everyYearHasOneRelease(phone: Phone) {
    val first = YEAR * Diary.WEEKS
    for (week in first..first + 2 * Diary.WEEKS) {
        phone.diary.begin(prose, 7 * week)
        val isAppointed = phone.diary.appointed!!.week == (week % Diary.WEEKS).toInt()
        check(phone.diary.isDue == isAppointed) { "week $week" }
        if (week % 3 == 0L) phone.kill()
        phone.diary.begin(prose, 7 * week)
        for (letter in "We won the match. ") phone.diary.type(letter.toString())
        phone.diary.end()
        check(phone.diary.sentenceCount == (if (isAppointed) 1 else 0)) { "sentences of week $week" }
    }
    val last = first + 2 * Diary.WEEKS + 1
    phone.diary.begin(prose, 7 * last)
    val begun = if (phone.diary.appointed!!.week == 0) 1 else 0
    check(phone.releases().size == 2 + begun) { "one a year" }
}

private fun killedInTheMiddleOfARecord(phone: Phone) {
    phone.write("One.", prose, YEAR)
    phone.write("Two.", prose, YEAR + 1)
    val before = Files.readAllBytes(phone.ledger)
    phone.write("Three.", prose, YEAR + 2)
    val after = Files.readAllBytes(phone.ledger)
    check(phone.releases().size == 2) { "two releases" }
    val record = if (before.copyOf(64).contentEquals(after.copyOf(64))) 64 else 0
    val torn = before.clone()
    System.arraycopy(after, record, torn, record, 40)
    Files.write(phone.ledger, torn)
    phone.kill()
    phone.write("Four.", prose, YEAR + 2)
    phone.write("Five.", prose, YEAR + 3)
    check(phone.releases().size == 2) { "the rest of the year is spent" }
    phone.write("Six.", prose, YEAR + 4)
    check(phone.releases().size == 3) { "the next year" }

    // A ledger that is gone or empty does not give the budget of the year again.
    Files.delete(phone.ledger)
    phone.write("Seven.", prose, YEAR + 5)
    check(phone.releases().size == 3 && phone.diary.sentenceCount == 0) { "a ledger that is gone" }
    phone.write("Eight.", prose, YEAR + 6)
    phone.write("Nine.", prose, YEAR + 7)
    check(phone.releases().size == 4) { "the years after" }
    Files.write(phone.ledger, ByteArray(0))
    phone.write("Ten.", prose, YEAR + 8)
    check(phone.releases().size == 4 && phone.diary.sentenceCount == 0) { "a ledger that is empty" }
    // Another program has it.
    Ledger.open(phone.ledger, ReleaseUnit.WHOLE_TEXT).use { phone.write("Eleven.", prose, YEAR + 9) }
    check(phone.releases().size == 4 && !phone.diary.isDue) { "in use" }
}

/** Storage that is full or broken ends no keyboard, and what it cut short is no release. */
private fun storageFails(phone: Phone) {
    phone.write("One.", prose, YEAR)
    phone.write("Two.", prose, YEAR + 1)
    check(phone.releases().size == 1) { "one release" }
    // Nothing can be written to the outbox, as on a full disk.
    val saved = Files.readAllBytes(phone.diary.outbox)
    Files.delete(phone.diary.outbox)
    Files.createDirectory(phone.diary.outbox)
    phone.write("Three.", prose, YEAR + 2)
    Files.delete(phone.diary.outbox)
    Files.write(phone.diary.outbox, saved + ByteArray(10))
    phone.write("Four.", prose, YEAR + 3)
    check(phone.releases().size == 2) { "one that was lost, and one that was cut short" }
    Files.write(phone.diary.outbox, ByteArray(23), StandardOpenOption.APPEND)
    phone.write("Five.", prose, YEAR + 4)
    check(phone.releases().size == 3) { "a release that was cut short" }
    Files.delete(phone.ledger)
    Files.createDirectory(phone.ledger)
    phone.write("Six.", prose, YEAR + 5)
    check(phone.releases().size == 3 && !phone.diary.isDue) { "a ledger that cannot be read" }
}

/** Text of two places does not become one sentence. */
private fun theCursorIsFollowed(phone: Phone) {
    val cursor = Cursor()
    cursor.place(0, 0)
    // Nothing to delete, so nothing is seen; the next move is the user's.
    cursor.delete(1)
    check(!cursor.isOurs(7, 7)) { "a move after a key that did nothing" }
    cursor.put(1)
    cursor.put(1)
    check(cursor.isOurs(8, 8) && cursor.isOurs(9, 9) && cursor.isOurs(9, 9)) { "one by one" }
    cursor.put(1)
    cursor.put(1)
    cursor.delete(1)
    check(cursor.isOurs(10, 10) && !cursor.isOurs(11, 11)) { "only the last" }
    cursor.put(1)
    check(!cursor.isOurs(3, 3)) { "elsewhere" }
    check(!cursor.isOurs(12, 12)) { "what was expected before" }
    check(!cursor.isOurs(2, 5)) { "a selection" }
    cursor.put(1)
    check(!cursor.isOurs(3, 3)) { "what replaces a selection" }
    cursor.place(-1, -1)
    cursor.put(1)
    check(!cursor.isOurs(0, 0)) { "a field that does not say where" }

    val diary = phone.diary
    phone.begin(prose, YEAR)
    diary.type("no full stop")
    diary.finish()
    diary.type("And here.")
    check(diary.sentenceCount == 1) { "a line that was sent" }
    diary.end()
    check(diary.sentenceCount == 2) { "the field goes on" }
}

/** No array keeps what was deleted, counted or forgotten, nor does one that became too small. */
private fun lettersAreOverwritten(phone: Phone) {
    val diary = phone.diary
    val field = Diary::class.java.getDeclaredField("typed")
    field.isAccessible = true
    fun array() = field.get(diary) as CharArray
    fun holds(letters: String) = String(array()).trimEnd('\u0000') == letters
    phone.begin(prose, YEAR)
    diary.type("half a sentence")
    diary.delete(8)
    check(holds("half a ")) { "what was deleted" }
    val small = array()
    diary.type("x".repeat(small.size))
    check(array() !== small && small.all { it == '\u0000' }) { "the array that was too small" }
    diary.type(". One more")
    check(diary.sentenceCount == 1 && holds(" One more")) { "what was counted" }
    diary.delete(1000)
    check(holds("")) { "all was deleted" }
    diary.type("left behind")
    diary.move()
    check(holds("")) { "what was forgotten" }
    diary.type("closed")
    diary.close()
    check(holds("")) { "what was there at the end" }
}

/**
 * After days of typing, storage has only a ledger and whole releases, without a word of the text.
 */
private fun nothingOfATextIsStored(phone: Phone) {
    val words = listOf("zugzwang", "quixotic", "xylophone")
    for (day in 0L..5L) for (word in words) phone.write("The $word is mine. ", prose, YEAR + day)
    for (file in phone.folder.toFile().walk().filter { it.isFile }) {
        val stored = String(file.readBytes(), Charsets.ISO_8859_1)
        check(words.none { it in stored }) { "$file has a word" }
        check(file.name in listOf("year.ledger", "outbox", "reservoir")) { "$file" }
    }
    check(Files.size(phone.ledger) == 128L && phone.releases().size == 5) { "a ledger and five releases" }
}

/**
 * One release leaves, about topics or emoji, as was announced. Of 101 equal sentences the reservoir
 * keeps the outcome. 60 ledgers in a row appoint the same kind with a probability of 2⁻⁵⁹.
 */
private fun aTopicOrAnEmojiLeaves(pack: ByteArray, emoji: Emoji) {
    check(emoji.first("Thanks 👍👍 ❤️") == 3 && emoji.first("❤️👍") == 1) { "the first emoji" }
    check(emoji.first("Thanks. 🦖") == Form.NO_ANSWER && emoji.first("") == Form.NO_ANSWER) { "no emoji" }
    val seen = mutableSetOf<Boolean>()
    for (number in 0 until 60) Phone(pack, emoji).use { phone ->
        repeat(101) { phone.write("We won the match. 🦖🥰", prose, YEAR) }
        val stored = Files.readAllBytes(phone.folder.resolve("reservoir"))
        val isEmoji = phone.diary.appointed!!.isEmoji
        check(stored[5].toInt() == (if (isEmoji) 0x41 else 0x56)) { "what is kept" }
        check(!isEmoji || stored[32].toInt() == emoji.first("🥰")) { "the emoji that is kept" }
        // Killed and started in the same week: the draw goes on.
        phone.kill()
        phone.begin(prose, YEAR)
        check(Files.readAllBytes(phone.folder.resolve("reservoir")).contentEquals(stored)) { "started again" }
        phone.begin(prose, YEAR + 1)
        // The release has its mechanism in the fifth byte.
        check(phone.releases().single().toBytes()[4].toInt() == (if (isEmoji) 10 else 7)) { "the release" }
        seen += isEmoji
        if (seen.size == 2) return
    }
    error("one kind alone")
}

fun main(arguments: Array<String>) {
    val (pack, form) = arguments.map { Files.readAllBytes(Paths.get(it)) }
    val emoji = Emoji(Form.copyOf(form))
    val tests = listOf(
        ::privateFieldsAreLeftAlone, ::onlyFinishedSentencesCount, ::consentIsNeeded, ::aReleaseAYear, ::everyYearHasOneRelease,
        ::killedInTheMiddleOfARecord, ::storageFails, ::theCursorIsFollowed, ::lettersAreOverwritten,
        ::nothingOfATextIsStored
    )
    // Nothing is printed or logged while the keyboard is used.
    val (out, err) = Pair(System.out, System.err)
    val said = ByteArrayOutputStream()
    System.setOut(PrintStream(said, true))
    System.setErr(PrintStream(said, true))
    try {
        for (test in tests) for (kind in listOf(null, emoji)) Phone(pack, kind).use(test)
        aTopicOrAnEmojiLeaves(pack, emoji)
    } finally {
        System.setOut(out)
        System.setErr(err)
    }
    check(said.size() == 0) { "something was printed" }
    println("${tests.size + 1} tests of the keyboard")
}
