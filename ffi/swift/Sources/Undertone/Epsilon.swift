import CUndertone

/// An epsilon: a whole number of micro-units, 1 to 1,000,000,000.
public struct Epsilon: Equatable, Sendable {
    public let micro: UInt32

    /// Checked where it is used.
    public init(micro: UInt32) { self.micro = micro }

    /// Reads "10", "0.5" or "1e-3", exactly, rounding down.
    public init(_ text: String) throws {
        var micro: UInt32 = 0
        try check(withBytes(of: text) { undertone_epsilon_parse($0, $1, &micro) })
        self.micro = micro
    }
}

/// For what a release keeps its epsilon. Every unit has a ledger of its own.
public enum PrivacyUnit: Int32, CaseIterable, Sendable {
    /// Any one sentence may be exchanged: `Document.release`.
    case sentence = 1
    /// The whole text may be exchanged for any other: `releaseWholeText`, `releaseProjective`.
    case wholeText
    /// A bag of words may be exchanged for one at word mover's distance 1: `Bag.release`.
    case word
    /// A vector may be exchanged for one at distance 1: `VectorMechanism.release`.
    case vector
}

/// How a candidate is drawn.
public enum Rule: Int32, Sendable {
    /// The default: never worse than the exponential mechanism at the same epsilon.
    case permuteAndFlip = 1
    /// For accounting in zCDP.
    case exponential
}

/// Permission to spend an epsilon once: what every release takes.
public final class Grant: Sendable {
    let handle: Handle

    init(_ handle: Handle) { self.handle = handle }

    /// A grant that no ledger counts, for apps that count elsewhere what they spend, and for public
    /// text.
    public static func unrecorded(_ unit: PrivacyUnit, _ epsilon: Epsilon) throws -> Grant {
        Grant(try Handle(size: undertone_grant_handle_size()) { memory, size, out in
            undertone_grant_init_unrecorded(memory, size, unit.rawValue, epsilon.micro, out)
        })
    }
}
