package dev.undertone.keyboard

import android.content.Context
import android.inputmethodservice.InputMethodService
import android.view.KeyEvent
import android.view.View
import android.view.inputmethod.EditorInfo
import android.widget.Button
import android.widget.LinearLayout
import android.widget.TextView
import dev.undertone.Form
import dev.undertone.Ledger
import dev.undertone.Pack
import java.nio.file.Paths

/**
 * A small keyboard whose user may agree to release, once a year, the topic or the first emoji of
 * one sentence. All of that is in [Diary]. A line over the keys announces each release.
 */
class KeyboardService : InputMethodService() {
    private var diary: Diary? = null
    /** Present if the app has a form of emoji. */
    private var emoji: Emoji? = null

    private val cursor = Cursor()
    private var notice: TextView? = null

    override fun onCreate() {
        super.onCreate()
        val pack = assets.open("topics.pack").use { Pack.copyOf(it.readBytes()) }
        if ("emoji.form" in assets.list("").orEmpty()) {
            emoji = Emoji(assets.open("emoji.form").use { Form.copyOf(it.readBytes()) })
        }
        diary = Diary(pack, Paths.get(noBackupFilesDir.path), emoji)
    }

    override fun onStartInput(attribute: EditorInfo, restarting: Boolean) {
        super.onStartInput(attribute, restarting)
        cursor.place(attribute.initialSelStart, attribute.initialSelEnd)
        // Set by the settings of the app, where the user can read what is released. Off until then.
        // Who agreed to topics alone has not agreed to emoji.
        val settings = getSharedPreferences("settings", Context.MODE_PRIVATE)
        diary?.isAllowed = settings.getBoolean(if (emoji == null) "release" else "release_emoji", false)
        diary?.begin(Field(attribute.inputType, attribute.imeOptions), Ledger.today())
        notice?.text = notice()
    }

    /** What will leave, and when, before anything is typed. */
    private fun notice(): String {
        val appointed = diary?.appointed
        return when {
            diary?.isAllowed != true -> getString(R.string.off)
            appointed == null -> getString(R.string.nothing)
            diary?.isDue == true -> getString(if (appointed.isEmoji) R.string.due_emoji else R.string.due)
            else -> {
                val text = if (appointed.isEmoji) R.string.appointed_emoji else R.string.appointed
                getString(text, appointed.week + 1, Diary.WEEKS)
            }
        }
    }

    override fun onFinishInput() {
        diary?.end()
        super.onFinishInput()
    }

    override fun onUpdateSelection(
        oldSelStart: Int, oldSelEnd: Int, newSelStart: Int, newSelEnd: Int, candidatesStart: Int, candidatesEnd: Int
    ) {
        super.onUpdateSelection(oldSelStart, oldSelEnd, newSelStart, newSelEnd, candidatesStart, candidatesEnd)
        if (!cursor.isOurs(newSelStart, newSelEnd)) diary?.move()
    }

    override fun onDestroy() {
        diary?.close()
        diary = null
        super.onDestroy()
    }

    override fun onCreateInputView(): View {
        val keyboard = LinearLayout(this)
        keyboard.orientation = LinearLayout.VERTICAL
        notice = TextView(this).also {
            it.text = notice()
            keyboard.addView(it)
        }
        for (letters in listOf("qwertyuiop", "asdfghjkl", "zxcvbnm,.?")) {
            keyboard.addView(row(letters.map { letter -> key(letter.toString()) { put(letter.toString()) } }))
        }
        keyboard.addView(row(listOf(key("space") { put(" ") }, key("delete") { delete() }, key("enter") { enter() })))
        return keyboard
    }

    private fun row(keys: List<Button>): LinearLayout {
        val row = LinearLayout(this)
        for (key in keys) row.addView(key, LinearLayout.LayoutParams(0, LinearLayout.LayoutParams.WRAP_CONTENT, 1f))
        return row
    }

    private fun key(label: String, press: () -> Unit): Button {
        val key = Button(this)
        key.text = label
        key.setOnClickListener { press() }
        return key
    }

    private fun put(text: String) {
        cursor.put(text.length)
        currentInputConnection?.commitText(text, 1)
        diary?.type(text)
    }

    private fun delete() {
        cursor.delete(1)
        currentInputConnection?.deleteSurroundingText(1, 0)
        diary?.delete(1)
    }

    /**
     * A new line in some fields, in others it sends what was typed. So the text is finished, and
     * the cursor may be anywhere.
     */
    private fun enter() {
        diary?.finish()
        sendDownUpKeyEvents(KeyEvent.KEYCODE_ENTER)
    }
}
