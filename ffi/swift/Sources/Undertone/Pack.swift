import CUndertone
import Foundation

/// A pack: what the public side built and every device reads.
public final class Pack: Sendable {
    let handle: Handle
    private let description: undertone_pack_description

    /// Checks a pack, and keeps a copy of its bytes.
    public init(_ bytes: some Collection<UInt8>) throws {
        let bytes = Bytes(bytes)
        handle = try Handle(size: UNDERTONE_PACK_HANDLE_SIZE, bytes: bytes) { memory, size, out in
            undertone_pack_init(memory, size, bytes.buffer.baseAddress, bytes.buffer.count, out)
        }
        var found = undertone_pack_description()
        try handle.use { try check(undertone_pack_describe($0, &found)) }
        description = found
    }

    /// Reads a file.
    public convenience init(contentsOf file: URL) throws { try self.init(Data(contentsOf: file)) }

    /// The number of coordinates of an embedding.
    public var dimension: Int { Int(description.dimension) }
    /// The number of candidates that a release is drawn from.
    public var candidateCount: Int { Int(description.candidate_count) }
    /// The number of words in the lexicon; 0 without one.
    public var wordCount: Int { Int(description.word_count) }
    /// The number of features of texts, which need the text of a sentence; 0 without them.
    public var featureCount: Int { Int(description.feature_count) }
    /// The number of projection directions of a pack that selects by depth; 0 for any other.
    public var directionCount: Int { Int(description.direction_count) }
    /// The dimension of a vector released through the pack's projection; 0 without one.
    public var projectedDimension: Int { Int(description.projected_dimension) }
    /// How a candidate is selected; nil without candidates.
    public var selector: Selection? { Selection(rawValue: description.selector) }
    /// The largest score that one sentence can give a candidate; 0 without scores.
    public var largestScore: Int { Int(description.largest_score) }
    /// The number of levels of the scores; 0 without scores.
    public var levelCount: Int { Int(description.level_count) }
    /// The candidate number of "nothing known" in a whole-text release; `UInt32.max` without
    /// scores.
    public var nothingKnown: UInt32 { description.nothing_known }

    /// The identifier, which a release carries: 8 bytes.
    public var id: [UInt8] { withUnsafeBytes(of: description.id, Array.init) }
    /// The digest of the encoder that the pack was built with: 32 bytes.
    public var encoderDigest: [UInt8] { withUnsafeBytes(of: description.encoder_digest, Array.init) }
    /// The name of that encoder.
    public var encoderName: String {
        withUnsafeBytes(of: description.encoder_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    /// The embedding of one sentence by the lexicon of the pack. It is as private as the sentence.
    public func embed(sentence: String) throws -> [Float] {
        let dimension = dimension
        return try handle.use { pack in
            try withBytes(of: sentence) { text, count in
                try array(dimension, of: Float(0)) { undertone_pack_embed_sentence(pack, text, count, $0, $1, &$2) }
            }
        }
    }
}

/// The sentences of a text: those that `Document.push(text:)` adds.
public func sentences(of text: String) -> [String] { split(text, undertone_sentence_next).sentences }

/// The sentences of a text that is still being typed that nothing typed later can change, and the
/// rest, to which more is typed.
public func finishedSentences(of text: String) -> (sentences: [String], rest: String) {
    split(text, undertone_sentence_next_finished)
}

private func split(
    _ text: String, _ next: (UnsafePointer<CChar>?, Int, Int, UnsafeMutablePointer<Int>, UnsafeMutablePointer<Int>) -> Int32
) -> (sentences: [String], rest: String) {
    withBytes(of: text) { bytes, count in
        let utf8 = UnsafeRawBufferPointer(start: bytes, count: count)
        var found: [String] = []
        var (end, start, len) = (0, 0, 0)
        while next(bytes, count, end, &start, &len) == UNDERTONE_STATUS_OK, len > 0 {
            end = start + len
            found.append(String(decoding: utf8[start..<end], as: UTF8.self))
        }
        return (found, String(decoding: utf8[end...], as: UTF8.self))
    }
}
