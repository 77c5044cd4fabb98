import CUndertone

/// The public vocabulary of private words: the words of a pack's lexicon, by number.
public final class Vocabulary: Sendable {
    let handle: Handle

    public init(_ pack: Pack) throws {
        handle = try Handle(size: UNDERTONE_VOCABULARY_HANDLE_SIZE, bytes: pack.handle.bytes) { memory, size, out in
            try pack.handle.use { undertone_vocabulary_init(memory, size, $0, out) }
        }
    }

    /// The number of words.
    public var wordCount: Int { (try? handle.use { Int(undertone_vocabulary_word_count($0)) }) ?? 0 }

    /// The public word that all unknown words map to, by number.
    public var fallback: UInt32 { description.fallback }
    /// The step q of the promise of `Bag.release` is 2 to this.
    public var unitExponent: Int32 { description.unitExponent }

    private var description: (fallback: UInt32, unitExponent: Int32) {
        var (fallback, exponent): (UInt32, Int32) = (0, 0)
        _ = try? handle.use { undertone_vocabulary_describe($0, &fallback, &exponent) }
        return (fallback, exponent)
    }

    /// The text of a word.
    public func word(_ number: UInt32) throws -> String {
        try handle.use { vocabulary in
            try foundText { undertone_vocabulary_word(vocabulary, number, $0, $1) }
        }
    }
}

/// The words of one private text: words go in, one private release comes out, and the bag is empty
/// again.
public final class Bag: Sendable {
    private let handle: Handle

    public init(_ vocabulary: Vocabulary) throws {
        let wipe: (OpaquePointer) -> Void = { undertone_bag_reset($0) }
        handle = try Handle(size: UNDERTONE_BAG_HANDLE_SIZE, bytes: vocabulary.handle.bytes, wipe: wipe) { memory, size, out in
            try vocabulary.handle.use { undertone_bag_init(memory, size, $0, out) }
        }
    }

    /// Adds one word. One that the vocabulary does not have counts as its `fallback`, and so does
    /// anything that is not one word.
    public func push(word: String) throws {
        try handle.use { bag in try check(withBytes(of: word) { undertone_bag_push(bag, $0, $1) }) }
    }

    /// Adds every word of a text, including stop words.
    public func push(text: String) throws {
        try handle.use { bag in try check(withBytes(of: text) { undertone_bag_push_text(bag, $0, $1) }) }
    }

    /// Draws `words` words, replaces each by one of the vocabulary, and forgets all words. The
    /// epsilon of the grant is that of each word.
    public func release(_ grant: Grant, words: UInt32, method: WordMethod = .permuteAndFlip) throws -> BagRelease {
        let bytes = try handle.use { bag in
            try grant.handle.use { grant in
                try array(undertone_bag_release_len(words), of: UInt8(0)) {
                    undertone_bag_release(bag, grant, words, method.rawValue, entropy, nil, $0, $1, &$2)
                }
            }
        }
        return try BagRelease(bytes)
    }

    /// Forgets all words.
    public func reset() throws { try handle.use { try check(undertone_bag_reset($0)) } }

    /// Forgets all words, for good. A second time does nothing.
    public func close() { handle.close() }
}

/// A bag of words as it leaves the device.
public struct BagRelease: Equatable, Sendable {
    public let bytes: [UInt8]
    /// By number, ascending; in a release that was forged, maybe more than the vocabulary has.
    public let words: [UInt32]
    public let method: WordMethod
    /// The epsilon of each word.
    public let epsilon: Epsilon
    /// The identifier of the pack.
    public let packID: [UInt8]

    /// Reads a release that came from a device.
    public init(_ bytes: [UInt8]) throws {
        var micro: UInt32 = 0
        var method: Int32 = 0
        var id = [UInt8](repeating: 0, count: Int(UNDERTONE_PACK_ID_BYTES))
        try check(undertone_bag_release_read(bytes, bytes.count, nil, &method, &micro, &id))
        guard let method = WordMethod(rawValue: method) else {
            throw UndertoneError.refused(UNDERTONE_STATUS_RELEASE_MALFORMED)
        }
        words = try array(Int(UNDERTONE_MAX_RELEASED_WORDS), of: UInt32(0)) {
            undertone_bag_release_read_words(bytes, bytes.count, $0, $1, &$2)
        }
        self.bytes = bytes
        self.method = method
        epsilon = Epsilon(micro: micro)
        packID = id
    }
}

/// The mechanism that releases private vectors, with its public parameters.
public final class VectorMechanism: Sendable {
    private let handle: Handle

    /// Releases vectors as they are, clamped to plus or minus 2^`boundExponent`; 0 is enough for
    /// norm 1.
    public init(dimension: UInt32, boundExponent: Int32 = 0, epsilon: Epsilon, noise: Noise = .laplace) throws {
        handle = try Handle(size: UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE) { memory, size, out in
            undertone_vector_mechanism_init(memory, size, dimension, boundExponent, noise.rawValue, epsilon.micro, out)
        }
    }

    /// Projects vectors with the projection of a pack, then releases them.
    public init(projectedBy pack: Pack, epsilon: Epsilon, noise: Noise = .laplace) throws {
        let size = UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE
        handle = try Handle(size: size, bytes: pack.handle.bytes) { memory, size, out in
            try pack.handle.use {
                undertone_vector_mechanism_init_projected(memory, size, $0, noise.rawValue, epsilon.micro, out)
            }
        }
    }

    /// The number of coordinates of a vector that goes in.
    public var dimension: Int { (try? handle.use { Int(undertone_vector_mechanism_dimension($0)) }) ?? 0 }

    /// Draws the release of one private vector. The epsilon of the grant is that of the mechanism.
    public func release(_ grant: Grant, _ vector: [Float]) throws -> VectorRelease {
        let bytes = try handle.use { mechanism in
            try grant.handle.use { grant in
                try array(undertone_vector_mechanism_release_len(mechanism), of: UInt8(0)) {
                    undertone_vector_mechanism_release(
                        mechanism, grant, vector, vector.count, entropy, nil, $0, $1, &$2)
                }
            }
        }
        return try VectorRelease(bytes)
    }
}

/// A vector with noise, as it leaves the device.
public struct VectorRelease: Equatable, Sendable {
    public let bytes: [UInt8]
    /// The coordinates: `steps` times 2 to `gridExponent`, exactly.
    public let values: [Double]
    public let steps: [Int32]
    public let gridExponent: Int32
    public let noise: Noise
    /// Per unit of distance.
    public let epsilon: Epsilon
    /// The identifier of the pack with the projection; zeroes without one.
    public let packID: [UInt8]

    /// Reads a release that came from a device.
    public init(_ bytes: [UInt8]) throws {
        var (dimension, micro): (UInt32, UInt32) = (0, 0)
        var (noise, exponent): (Int32, Int32) = (0, 0)
        var id = [UInt8](repeating: 0, count: Int(UNDERTONE_PACK_ID_BYTES))
        try check(undertone_vector_release_read(bytes, bytes.count, &dimension, &noise, &micro, &exponent, &id))
        guard let noise = Noise(rawValue: noise) else {
            throw UndertoneError.refused(UNDERTONE_STATUS_RELEASE_MALFORMED)
        }
        values = try array(Int(dimension), of: 0.0) {
            undertone_vector_release_read_values(bytes, bytes.count, $0, $1, &$2)
        }
        steps = try array(Int(dimension), of: Int32(0)) {
            undertone_vector_release_read_steps(bytes, bytes.count, $0, $1, &$2)
        }
        self.bytes = bytes
        self.noise = noise
        gridExponent = exponent
        epsilon = Epsilon(micro: micro)
        packID = id
    }
}
