import CUndertone
import Foundation

/// Why something was not done.
public enum UndertoneError: Error, Equatable, CustomStringConvertible {
    /// The library refused, with one of the `UNDERTONE_STATUS_` numbers of its header. No number
    /// depends on a text.
    case refused(Int32)
    /// The system refused to read or write a file, with this `errno`.
    case system(Int32)
    /// The object was closed.
    case closed

    /// The fault and the remedy. No text is quoted.
    public var description: String {
        switch self {
        case .refused(let status): return String(cString: undertone_status_message(status))
        case .system(let error): return "the system refused to read or write a file: \(String(cString: strerror(error)))"
        case .closed: return "the object was closed; make a new one"
        }
    }
}

func check(_ status: Int32) throws {
    if status != UNDERTONE_STATUS_OK { throw UndertoneError.refused(status) }
}

/// The generator of the operating system.
let entropy: undertone_entropy_fn = { _, out, len in
    var system = SystemRandomNumberGenerator()
    for index in 0..<len { out![index] = system.next() }
    return 0
}

/// A handle of the library in memory of its own. One thread at a time uses it; others wait.
final class Handle: @unchecked Sendable {
    private let lock = NSLock()
    private let memory: UnsafeMutableRawPointer
    private let wipe: (OpaquePointer) -> Void
    private var pointer: OpaquePointer?
    /// Bytes that the handle looks into.
    let bytes: Bytes?

    init(
        size: Int32, bytes: Bytes? = nil, wipe: @escaping (OpaquePointer) -> Void = { _ in },
        make: (UnsafeMutableRawPointer, Int, UnsafeMutablePointer<OpaquePointer?>) throws -> Int32
    ) throws {
        memory = .allocate(byteCount: Int(size), alignment: Int(UNDERTONE_HANDLE_ALIGNMENT))
        self.bytes = bytes
        self.wipe = wipe
        try check(make(memory, Int(size), &pointer))
    }

    func use<T>(_ body: (OpaquePointer) throws -> T) throws -> T {
        lock.lock()
        defer { lock.unlock() }
        guard let pointer else { throw UndertoneError.closed }
        return try body(pointer)
    }

    func close() {
        lock.lock()
        defer { lock.unlock() }
        if let pointer { wipe(pointer) }
        pointer = nil
    }

    deinit {
        close()
        memory.deallocate()
    }
}

/// Bytes that stay where they are.
final class Bytes: @unchecked Sendable {
    let buffer: UnsafeMutableBufferPointer<UInt8>

    init(_ bytes: some Collection<UInt8>) {
        buffer = .allocate(capacity: bytes.count)
        _ = buffer.initialize(from: bytes)
    }

    deinit { buffer.deallocate() }
}

/// The UTF-8 of a text, as C takes it: a copy, because what Swift copies to get at it would not be
/// wiped.
func withBytes<T>(of text: String, _ body: (UnsafePointer<CChar>?, Int) throws -> T) rethrows -> T {
    let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.utf8.count)
    defer {
        wipe(copy)
        copy.deallocate()
    }
    _ = copy.initialize(from: text.utf8)
    return try copy.withMemoryRebound(to: CChar.self) { try body($0.baseAddress, $0.count) }
}

/// A text in the bytes of a file, whose start and length `find` writes.
func foundText(
    _ find: (UnsafeMutablePointer<UnsafePointer<CChar>?>, UnsafeMutablePointer<Int>) -> Int32
) throws -> String {
    var start: UnsafePointer<CChar>?
    var len = 0
    try check(find(&start, &len))
    return String(decoding: UnsafeBufferPointer(start: start, count: len).map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Writes zeroes by a function that no compiler leaves out.
private func wipe(_ bytes: UnsafeMutableBufferPointer<UInt8>) {
    #if canImport(Darwin)
    memset_s(bytes.baseAddress!, bytes.count, 0, bytes.count)
    #else
    explicit_bzero(bytes.baseAddress!, bytes.count)
    #endif
}

/// An array whose length the library returns.
func array<T>(_ capacity: Int, of zero: T, fill: (UnsafeMutablePointer<T>?, Int, inout Int) throws -> Int32) throws -> [T] {
    var out = [T](repeating: zero, count: capacity)
    var written = 0
    try check(out.withUnsafeMutableBufferPointer { try fill($0.baseAddress, $0.count, &written) })
    return Array(out[..<written])
}
