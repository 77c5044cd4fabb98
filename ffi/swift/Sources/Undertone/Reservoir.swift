import CUndertone

/// The outcome of one line of a slot, which is drawn without looking at any. It holds no text.
///
/// A line is what one document holds; a slot is the stretch of time that one release is about.
/// Store `bytes` after each line: they are as private as the lines. If they are lost, begin with a
/// new reservoir, which costs no privacy. One thread at a time may use it.
public final class Reservoir {
    /// What to store.
    public private(set) var bytes: [UInt8]
    /// The number of the slot.
    public let slot: UInt64

    /// An empty reservoir for documents like this one. `slot`: a public number, which is stored.
    /// `places`: a public number below the number of lines that most devices see in a slot, 1 to
    /// 65535.
    public init(_ document: Document, slot: UInt64, places: UInt32) throws {
        var made = [UInt8](repeating: 0, count: Int(UNDERTONE_RESERVOIR_BYTES))
        try document.handle.use { try check(undertone_reservoir_init($0, slot, places, entropy, nil, &made)) }
        bytes = made
        self.slot = slot
    }

    /// Reads what was stored.
    public init(reading stored: [UInt8], for document: Document) throws {
        var found: UInt64 = 0
        try document.handle.use { try check(undertone_reservoir_read(stored, stored.count, $0, &found, nil)) }
        bytes = stored
        slot = found
    }

    /// Adds the line in a document, all its sentences as one text, and removes them from the
    /// document. If it fails, the line remains in the document and does not count.
    public func push(_ document: Document) throws {
        try document.handle.use { try check(undertone_reservoir_push(&bytes, $0, entropy, nil)) }
    }

    /// Releases the kept outcome, and wipes the reservoir. Release even if nothing was typed, and
    /// wipe what was stored. If it fails, the reservoir is unchanged.
    public func release(_ document: Document, by mechanism: LineMechanism, _ grant: Grant) throws -> Release {
        let release = switch mechanism {
        case .wholeText: undertone_reservoir_release_whole_text
        case .projective: undertone_reservoir_release_projective
        case .drawn: undertone_reservoir_release_drawn
        }
        return try document.handle.draw(grant) { release(&bytes, $0, $1, entropy, nil, $2, $3, $4) }
    }

    deinit { for i in bytes.indices { bytes[i] = 0 } }
}

/// The answer of one line of a slot to one question of a form, such as the emoji of a line. The
/// question and the line are drawn without looking at any answer. Store `bytes` after each line, as
/// for a `Reservoir`. One thread at a time may use it.
public final class AnswerReservoir {
    /// The bytes to store.
    public private(set) var bytes: [UInt8]
    /// The number of the slot.
    public let slot: UInt64
    private let form: Form

    /// Draws the question that will be released, and makes an empty reservoir. `slot`, `places`: as
    /// for a `Reservoir`.
    public init(_ form: Form, slot: UInt64, places: UInt32) throws {
        var made = [UInt8](repeating: 0, count: Int(UNDERTONE_RESERVOIR_BYTES))
        try form.handle.use { try check(undertone_answer_reservoir_init($0, slot, places, entropy, nil, &made)) }
        bytes = made
        self.slot = slot
        self.form = form
    }

    /// Reads stored bytes.
    public init(reading stored: [UInt8], for form: Form) throws {
        var found: UInt64 = 0
        try form.handle.use { try check(undertone_answer_reservoir_read(stored, stored.count, $0, &found, nil)) }
        bytes = stored
        slot = found
        self.form = form
    }

    /// Adds the answers of one line, as for `Form.release`. If it fails, the line does not count.
    public func push(_ answers: [UInt32]) throws {
        try form.handle.use {
            try check(undertone_answer_reservoir_push(&bytes, $0, answers, answers.count, entropy, nil))
        }
    }

    /// Releases the answer that was kept, and wipes the reservoir. The grant is for `.wholeText`.
    /// Release even if nothing was pushed, and wipe what was stored. If it fails, the reservoir is
    /// unchanged.
    public func release(_ grant: Grant) throws -> Release {
        try form.handle.draw(grant) {
            undertone_answer_reservoir_release(&bytes, $0, $1, entropy, nil, $2, $3, $4)
        }
    }

    deinit { for i in bytes.indices { bytes[i] = 0 } }
}
