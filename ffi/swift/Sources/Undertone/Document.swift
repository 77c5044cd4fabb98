import CUndertone

/// The 24 bytes that leave the device.
public struct Release: Equatable, Sendable {
    public let bytes: [UInt8]
    /// Compare it with `Pack.candidateCount`: a release can be forged. With an order it is a point.
    public let candidate: UInt32
    public let epsilon: Epsilon
    public let rule: Rule
    public let unit: PrivacyUnit
    /// The order of the geometry of a release by `releaseProjective`: then `candidate` is the
    /// number of a point. The same for an answer to a form, where `candidate` is 2^24 times the
    /// number of the question plus that of the point. The places of a drawn sentence. 0 for others.
    public let order: UInt32
    /// The identifier of the pack.
    public let packID: [UInt8]

    /// Reads a release that came from a device.
    public init(_ bytes: [UInt8]) throws {
        var (candidate, micro, order): (UInt32, UInt32, UInt32) = (0, 0, 0)
        var (rule, unit): (Int32, Int32) = (0, 0)
        var id = [UInt8](repeating: 0, count: Int(UNDERTONE_PACK_ID_BYTES))
        try check(undertone_release_read(bytes, bytes.count, &candidate, &micro, &rule, &unit, &order, &id))
        guard let rule = Rule(rawValue: rule), let unit = PrivacyUnit(rawValue: unit) else {
            throw UndertoneError.refused(UNDERTONE_STATUS_RELEASE_MALFORMED)
        }
        self.bytes = bytes
        self.candidate = candidate
        self.epsilon = Epsilon(micro: micro)
        self.rule = rule
        self.unit = unit
        self.order = order
        packID = id
    }

    /// True for a release of the whole text, or of a drawn sentence, whose outcome is that this pack
    /// recognised nothing.
    public func isNothingKnown(_ pack: Pack) -> Bool {
        (unit == .wholeText) == (order == 0) && candidate == pack.nothingKnown
    }
}

/// The promise of a release, in micro-units; less is more private.
public struct Promise: Equatable, Sendable {
    /// The epsilon if one sentence is replaced.
    public let sentenceMicro: UInt64
    /// The epsilon if the whole text is replaced by any other.
    public let wholeTextMicro: UInt64
}

/// A private document: sentences go in, one private release comes out, and the document is empty
/// again. What is private in it is wiped when it is released, reset, closed or let go.
public final class Document: Sendable {
    let handle: Handle

    /// An empty document for the candidates of a pack.
    public init(_ pack: Pack) throws {
        let wipe: (OpaquePointer) -> Void = { undertone_document_reset($0) }
        handle = try Handle(size: UNDERTONE_DOCUMENT_HANDLE_SIZE, bytes: pack.handle.bytes, wipe: wipe) { memory, size, out in
            try pack.handle.use { undertone_document_init(memory, size, $0, out) }
        }
    }

    /// Adds the sentences of a text until the document is full. The number of sentences added is
    /// private.
    @discardableResult
    public func push(text: String) throws -> Int {
        var count = 0
        try handle.use { document in
            try check(withBytes(of: text) { undertone_document_push_text(document, $0, $1, &count) })
        }
        return count
    }

    /// Adds one sentence by its text.
    public func push(sentence: String) throws {
        try handle.use { document in
            try check(withBytes(of: sentence) { undertone_document_push_sentence(document, $0, $1) })
        }
    }

    /// Adds one sentence by its embedding, from the encoder that the pack names.
    public func push(embedding: [Float]) throws {
        try handle.use { try check(undertone_document_push($0, embedding, embedding.count)) }
    }

    /// Adds one sentence by its text and its embedding, for a pack with a neural encoder and
    /// features of texts.
    public func push(sentence: String, embedding: [Float]) throws {
        try handle.use { document in
            try check(withBytes(of: sentence) {
                undertone_document_push_encoded(document, $0, $1, embedding, embedding.count)
            })
        }
    }

    /// Adds sentences by their embeddings, one after another, until the document is full. The
    /// number added is private.
    @discardableResult
    public func push(embeddings: [Float]) throws -> Int {
        var count = 0
        try handle.use { try check(undertone_document_push_all($0, embeddings, embeddings.count, &count)) }
        return count
    }

    /// The number of sentences. It is private.
    public var sentenceCount: Int { (try? handle.use { Int(undertone_document_sentence_count($0)) }) ?? 0 }

    /// The promise of a release, which does not depend on the sentences.
    public func promise(_ unit: PrivacyUnit, _ epsilon: Epsilon) throws -> Promise {
        var (sentence, wholeText): (UInt64, UInt64) = (0, 0)
        try handle.use { try check(undertone_document_promise($0, unit.rawValue, epsilon.micro, &sentence, &wholeText)) }
        return Promise(sentenceMicro: sentence, wholeTextMicro: wholeText)
    }

    /// Draws a release that protects each sentence, for long texts, and forgets all sentences.
    public func release(_ grant: Grant, rule: Rule = .permuteAndFlip) throws -> Release {
        try handle.draw(grant) { undertone_document_release($0, $1, rule.rawValue, entropy, nil, $2, $3, $4) }
    }

    /// Draws a release that protects the whole text, for short ones, and forgets all sentences.
    /// Choose between the two without looking at the text, nor at its length.
    public func releaseWholeText(_ grant: Grant) throws -> Release {
        try handle.draw(grant) { undertone_document_release_whole_text($0, $1, entropy, nil, $2, $3, $4) }
    }

    /// Draws a release that promises what `releaseWholeText` promises, and is made for counting.
    public func releaseProjective(_ grant: Grant) throws -> Release {
        try handle.draw(grant) { undertone_document_release_projective($0, $1, entropy, nil, $2, $3, $4) }
    }

    /// Forgets all sentences.
    public func reset() throws { try handle.use { try check(undertone_document_reset($0)) } }

    /// Forgets all sentences, for good. A second time does nothing.
    public func close() { handle.close() }
}

extension Handle {
    /// Draws a release by a grant.
    func draw(
        _ grant: Grant,
        _ by: (OpaquePointer, OpaquePointer, UnsafeMutablePointer<UInt8>?, Int, UnsafeMutablePointer<Int>) -> Int32
    ) throws -> Release {
        let bytes = try use { handle in
            try grant.handle.use { grant in
                try array(Int(UNDERTONE_RELEASE_BYTES), of: UInt8(0)) { by(handle, grant, $0, $1, &$2) }
            }
        }
        return try Release(bytes)
    }
}
