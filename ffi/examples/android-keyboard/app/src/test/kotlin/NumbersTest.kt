import android.text.InputType
import android.view.inputmethod.EditorInfo
import dev.undertone.keyboard.Field

/**
 * The numbers that we have for Android's are Android's: compiled against android.jar, whose
 * constants the compiler copies.
 */
fun main() {
    val numbers = listOf(
        Field.MASK_CLASS to InputType.TYPE_MASK_CLASS,
        Field.CLASS_TEXT to InputType.TYPE_CLASS_TEXT,
        Field.MASK_VARIATION to InputType.TYPE_MASK_VARIATION,
        Field.FLAG_NO_SUGGESTIONS to InputType.TYPE_TEXT_FLAG_NO_SUGGESTIONS,
        Field.VARIATION_NORMAL to InputType.TYPE_TEXT_VARIATION_NORMAL,
        Field.VARIATION_EMAIL_SUBJECT to InputType.TYPE_TEXT_VARIATION_EMAIL_SUBJECT,
        Field.VARIATION_SHORT_MESSAGE to InputType.TYPE_TEXT_VARIATION_SHORT_MESSAGE,
        Field.VARIATION_LONG_MESSAGE to InputType.TYPE_TEXT_VARIATION_LONG_MESSAGE,
        Field.VARIATION_WEB_EDIT_TEXT to InputType.TYPE_TEXT_VARIATION_WEB_EDIT_TEXT,
        Kinds.CLASS_NUMBER to InputType.TYPE_CLASS_NUMBER,
        Kinds.PASSWORD to InputType.TYPE_TEXT_VARIATION_PASSWORD,
        Kinds.VISIBLE_PASSWORD to InputType.TYPE_TEXT_VARIATION_VISIBLE_PASSWORD,
        Kinds.WEB_PASSWORD to InputType.TYPE_TEXT_VARIATION_WEB_PASSWORD,
        Kinds.NUMBER_PASSWORD to InputType.TYPE_NUMBER_VARIATION_PASSWORD,
        Kinds.EMAIL_ADDRESS to InputType.TYPE_TEXT_VARIATION_EMAIL_ADDRESS,
        Kinds.ACTION_SEND to EditorInfo.IME_ACTION_SEND
    )
    for ((ours, theirs) in numbers) check(ours == theirs) { "$numbers" }
    println("${numbers.size} numbers of Android")
}
