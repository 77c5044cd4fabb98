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

/// Permission to spend an epsilon once: what every release takes.
public final class Grant: Sendable {
    let handle: Handle

    init(_ handle: Handle) { self.handle = handle }

    /// A grant that no ledger counts, for apps that count elsewhere what they spend, and for public
    /// text.
    public static func unrecorded(_ unit: PrivacyUnit, _ epsilon: Epsilon) throws -> Grant {
        Grant(try Handle(size: UNDERTONE_GRANT_HANDLE_SIZE) { memory, size, out in
            undertone_grant_init_unrecorded(memory, size, unit.rawValue, epsilon.micro, out)
        })
    }
}
