import CUndertone
import Foundation

/// A monotonic counter of the platform for one ledger, by which a file that was set back is noticed: 0 at first, never goes
/// back, kept where the file is not. While it is asked, its ledger is busy: what it spends there is refused.
public protocol Counter: AnyObject {
    /// The counter as it is now.
    func read() throws -> UInt64
    /// Raises the counter, and returns once it is `to` for good.
    func raise(to: UInt64) throws
}

/// A privacy budget in a file: an epsilon for every window of time, for one unit. It locks the file until it is closed or let
/// go. Exclude the file from backups (`isExcludedFromBackup`): what was spent since would be forgotten.
public final class Ledger: @unchecked Sendable {
    /// One that lets its own thread in again: a counter that uses its ledger is refused and does not wait for itself.
    private let lock = NSRecursiveLock()
    private var busy = false
    private var closing = false
    private let access: Access
    private let unit: PrivacyUnit

    /// Opens a ledger that exists. Use this once the app has released: a ledger that is gone must not become a fresh budget.
    public init(opening path: String, for unit: PrivacyUnit, counter: Counter? = nil) throws {
        access = Access(path, counter)
        self.unit = unit
        try access.open()
        // Whether it is a ledger for this unit, and the one that was counted. No window is before the last.
        _ = try remaining(in: .max)
    }

    /// Opens a ledger, or makes one with this budget for every window if the file is missing.
    public convenience init(
        openingOrCreating path: String, for unit: PrivacyUnit, budgetMicro: UInt64, counter: Counter? = nil
    ) throws {
        let access = Access(path, nil)
        try access.check(undertone_posix_create(&access.file, unit.rawValue, budgetMicro, entropy, nil))
        try self.init(opening: path, for: unit, counter: counter)
    }

    /// Puts a ledger in the place of one that was lost, damaged or set back. What was spent is not known, so `window` counts as
    /// spent: it is the current one, or later. Only a person or a rule of the app's should decide this.
    public static func beginAnew(
        _ path: String, for unit: PrivacyUnit, budgetMicro: UInt64, window: UInt64, counter: Counter? = nil
    ) throws -> Ledger {
        let access = Access(path, counter)
        try access.with { storage in
            undertone_posix_begin_anew(&access.file, &storage, unit.rawValue, budgetMicro, window, entropy, nil)
        }
        return try Ledger(opening: path, for: unit, counter: counter)
    }

    /// The budget left in a window, in micro-units; 0 if a record was lost. `window`: a public number that never decreases, such
    /// as the days since 1970.
    public func remaining(in window: UInt64) throws -> UInt64 {
        var micro: UInt64 = 0
        try alone { try access.with { undertone_ledger_left(&$0, unit.rawValue, window, &micro) } }
        return micro
    }

    /// Spends an epsilon: when this returns a grant, storage has recorded it. It stays spent, whatever becomes of the grant, and
    /// may be spent if this fails. `words`: 1, or for a bag the number of words it releases; each costs epsilon.
    public func spend(_ epsilon: Epsilon, in window: UInt64, words: UInt32 = 1) throws -> Grant {
        try alone {
            Grant(try Handle(size: undertone_grant_handle_size()) { memory, size, out in
                try access.with { storage in
                    undertone_ledger_spend(
                        &storage, unit.rawValue, epsilon.micro, words, window, entropy, nil, memory, size, out, nil)
                }
                return UNDERTONE_STATUS_OK
            })
        }
    }

    /// Lets others open the file. A second time does nothing. From within a counter, it closes once the call is done.
    public func close() {
        lock.lock()
        defer { lock.unlock() }
        closing = true
        if !busy { undertone_posix_unlock(&access.file) }
    }

    /// Does something with the open file while no other thread does.
    private func alone<T>(_ body: () throws -> T) throws -> T {
        lock.lock()
        defer { lock.unlock() }
        if busy { throw UndertoneError.refused(UNDERTONE_STATUS_BUSY) }
        if closing { throw UndertoneError.closed }
        busy = true
        defer {
            busy = false
            if closing { undertone_posix_unlock(&access.file) }
        }
        return try body()
    }
}

/// What the library reads and writes by, and why that failed.
private final class Access {
    var file: undertone_posix_ledger
    let counter: Counter?
    var failure: Error?

    init(_ path: String, _ counter: Counter?) {
        file = undertone_posix_ledger(path: strdup(path), descriptor: -1, error: 0)
        self.counter = counter
    }

    deinit {
        undertone_posix_unlock(&file)
        free(UnsafeMutableRawPointer(mutating: file.path))
    }

    func open() throws {
        file.descriptor = undertone_posix_open(file.path, O_RDWR)
        if file.descriptor < 0 { throw UndertoneError.system(errno) }
        if undertone_posix_lock_file(file.descriptor, 0) != 0 {
            let why = errno
            let taken = undertone_posix_is_locked(why) != 0
            throw taken ? UndertoneError.refused(UNDERTONE_STATUS_LEDGER_IN_USE) : UndertoneError.system(why)
        }
    }

    func check(_ status: Int32) throws {
        if status == UNDERTONE_STATUS_LEDGER_STORAGE_FAILED { throw failure ?? UndertoneError.system(file.error) }
        try Undertone.check(status)
    }

    /// Calls the library with the file. Without a lock: that is held as long as the file is open.
    func with(_ body: (inout undertone_ledger_storage) -> Int32) throws {
        failure = nil
        var storage = undertone_ledger_storage()
        storage.context = Unmanaged.passUnretained(self).toOpaque()
        storage.read = { undertone_posix_read(&Access.of($0).file, $1, $2, $3) }
        storage.write = { undertone_posix_write(&Access.of($0).file, $1, $2, $3) }
        if counter != nil {
            storage.read_counter = { context, out in Access.of(context).count { out!.pointee = try $0.read() } }
            storage.raise_counter = { context, to in Access.of(context).count { try $0.raise(to: to) } }
        }
        try check(body(&storage))
    }

    private func count(_ call: (Counter) throws -> Void) -> Int32 {
        do {
            try call(counter!)
            return 0
        } catch {
            failure = error
            return -1
        }
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> Access {
        Unmanaged<Access>.fromOpaque(context!).takeUnretainedValue()
    }
}
