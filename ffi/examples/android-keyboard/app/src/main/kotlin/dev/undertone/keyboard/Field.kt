package dev.undertone.keyboard

/**
 * The settings of a text field: `inputType` and `imeOptions` of Android's `EditorInfo`. This file
 * and `Diary.kt` import nothing of Android, so they are tested on a desktop.
 */
class Field(private val inputType: Int, private val imeOptions: Int) {
    /**
     * Whether text of this field may be released. Only fields for prose are allowed, by a list,
     * because an unknown kind of field may be private. Passwords, addresses, numbers, fields in
     * incognito and fields without suggestions are not.
     */
    val mayBeReleased: Boolean
        get() = inputType and MASK_CLASS == CLASS_TEXT &&
            inputType and MASK_VARIATION in PROSE &&
            inputType and FLAG_NO_SUGGESTIONS == 0 &&
            imeOptions and FLAG_NO_PERSONALIZED_LEARNING == 0

    /**
     * The numbers of `android.text.InputType` and `EditorInfo`; the test of this example compares
     * them.
     */
    companion object {
        const val MASK_CLASS = 0xf
        const val CLASS_TEXT = 0x1
        const val MASK_VARIATION = 0xff0
        const val FLAG_NO_SUGGESTIONS = 0x80000

        /**
         * `EditorInfo.IME_FLAG_NO_PERSONALIZED_LEARNING`, of Android 8, which the test does not
         * have: incognito.
         */
        const val FLAG_NO_PERSONALIZED_LEARNING = 0x1000000

        const val VARIATION_NORMAL = 0x0
        const val VARIATION_EMAIL_SUBJECT = 0x30
        const val VARIATION_SHORT_MESSAGE = 0x40
        const val VARIATION_LONG_MESSAGE = 0x50
        const val VARIATION_WEB_EDIT_TEXT = 0xa0

        private val PROSE = setOf(
            VARIATION_NORMAL, VARIATION_EMAIL_SUBJECT, VARIATION_SHORT_MESSAGE, VARIATION_LONG_MESSAGE,
            VARIATION_WEB_EDIT_TEXT
        )
    }
}
