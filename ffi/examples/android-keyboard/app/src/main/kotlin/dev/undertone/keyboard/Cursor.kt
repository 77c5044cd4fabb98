package dev.undertone.keyboard

import java.util.ArrayDeque

/**
 * Distinguishes moves of the cursor by our own keys from all others, by the position of the cursor.
 * A move that our keys do not explain is another one: at worst an unfinished sentence is forgotten,
 * but text of two places does not become one sentence.
 */
class Cursor {
    /** Where the cursor is once the field has taken all our keys; negative if that is not known. */
    private var position = -1

    /** Where it will be seen on the way. A field may leave some out. */
    private val expected = ArrayDeque<Int>()

    /** The cursor is where the field says, or a text is selected. */
    fun place(start: Int, end: Int) {
        expected.clear()
        position = if (start == end) start else -1
    }

    /** A key puts characters in front of the cursor. */
    fun put(characters: Int) = go(position + characters)

    /**
     * A key deletes characters in front of the cursor. At the start of a field it does nothing, and
     * nothing will be seen.
     */
    fun delete(characters: Int) = go(maxOf(0, position - characters))

    private fun go(to: Int) {
        if (position < 0 || to == position) return
        position = to
        expected.add(to)
    }

    /** Whether our keys explain where the cursor is now. If not, it counts from there. */
    fun isOurs(start: Int, end: Int): Boolean {
        if (start == end && start in expected) {
            val last = expected.lastIndexOf(start)
            repeat(last + 1) { expected.remove() }
            return true
        }
        if (start == end && start == position && expected.isEmpty()) return true
        place(start, end)
        return false
    }
}
