import CUndertone
import Foundation

/// A pack: what the public side built and every device reads.
public final class Pack: Sendable {
    let handle: Handle

    /// Checks a pack, and keeps a copy of its bytes.
    public init(_ bytes: some Collection<UInt8>) throws {
        let bytes = Bytes(bytes)
        handle = try Handle(size: undertone_pack_handle_size(), bytes: bytes) { memory, size, out in
            undertone_pack_init(memory, size, bytes.buffer.baseAddress, bytes.buffer.count, out)
        }
    }

    /// Reads a file.
    public convenience init(contentsOf file: URL) throws { try self.init(Data(contentsOf: file)) }

    func number<T>(_ of: (OpaquePointer) -> T) -> T { try! handle.use(of) } // A pack is never closed.

    /// The number of coordinates of an embedding.
    public var dimension: Int { Int(number(undertone_pack_dimension)) }
    /// The number of candidates that a release is drawn from.
    public var candidateCount: Int { Int(number(undertone_pack_candidate_count)) }
    /// The number of words in the lexicon; 0 without one.
    public var wordCount: Int { Int(number(undertone_pack_word_count)) }
    /// The number of features of texts, which need the text of a sentence; 0 without them.
    public var featureCount: Int { Int(number(undertone_pack_feature_count)) }
    /// What a release by the whole text has as its candidate if the pack knew nothing of the text; `UInt32.max` without scores.
    public var nothingKnown: UInt32 { number(undertone_pack_nothing_known) }

    /// The unit whose releases were right more often where the pack was measured, for texts of so many sentences, or 0 for
    /// texts as those; nil if the pack does not say. It looks at no text.
    public func recommendedUnit(_ epsilon: Epsilon, sentences: UInt32 = 0) -> PrivacyUnit? {
        PrivacyUnit(rawValue: number { undertone_pack_recommended_unit($0, epsilon.micro, sentences) })
    }

    /// The identifier, which a release carries: 8 bytes.
    public var id: [UInt8] { read(Int(UNDERTONE_PACK_ID_BYTES), undertone_pack_id) }
    /// The digest of the encoder that the pack was built with: 32 bytes.
    public var encoderDigest: [UInt8] { read(Int(UNDERTONE_ENCODER_DIGEST_BYTES), undertone_pack_encoder_digest) }

    private func read(_ count: Int, _ from: (OpaquePointer, UnsafeMutablePointer<UInt8>) -> Int32) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        _ = number { pack in bytes.withUnsafeMutableBufferPointer { from(pack, $0.baseAddress!) } }
        return bytes
    }
}

/// The sentences of a text: those that `Document.push(text:)` adds.
public func sentences(of text: String) -> [String] {
    withBytes(of: text) { bytes, count in
        var found: [String] = []
        var (start, len) = (0, 0)
        while undertone_sentence_next(bytes, count, start, &start, &len) == UNDERTONE_STATUS_OK, len > 0 {
            let sentence = UnsafeBufferPointer(start: bytes! + start, count: len)
            found.append(String(decoding: sentence.map { UInt8(bitPattern: $0) }, as: UTF8.self))
            start += len
        }
        return found
    }
}
