import CUndertone
import Foundation

/// A monotonic counter of the platform for one ledger, by which a file that was set back is
/// noticed: 0 at first, never goes back, kept where the file is not. While it is asked, its ledger
/// is busy and refuses to spend.
public protocol Counter: AnyObject {
    /// The counter as it is now.
    func read() throws -> UInt64
    /// Raises the counter, and returns once it is `to` for good.
    func raise(to: UInt64) throws
}

/// A device releases in `appointments` of the `slots` of a window, at `epsilon` each, so a window
/// costs `appointments` times `epsilon`, which is the budget to give the ledger. Slots are numbered
/// from 0 in each window.
public struct Schedule: Sendable {
    public let slots: UInt32
    public let appointments: UInt32
    public let epsilon: Epsilon

    public init(slots: UInt32, appointments: UInt32, epsilon: Epsilon) {
        self.slots = slots
        self.appointments = appointments
        self.epsilon = epsilon
    }
}

/// A privacy budget in a file: an epsilon for every window of time, for one unit. The file is
/// locked until the ledger is closed or deinitialised. Exclude the file from backups
/// (`isExcludedFromBackup`): after restoring one, what was spent since would be forgotten.
public final class Ledger: @unchecked Sendable {
    /// Recursive, so that a counter that uses its ledger is refused instead of waiting for itself.
    private let lock = NSRecursiveLock()
    private var busy = false
    private var closing = false
    private let access: Access
    private let unit: PrivacyUnit

    /// Opens a ledger that exists. Use this once the app has released: a missing ledger must not
    /// become a fresh budget.
    ///
    /// - Throws: `UndertoneError.refused(UNDERTONE_STATUS_LEDGER_IN_USE)` if another program or
    ///   object has it open.
    public init(opening path: String, for unit: PrivacyUnit, counter: Counter? = nil) throws {
        access = Access(path, counter)
        self.unit = unit
        try access.open()
        // Whether it is a ledger for this unit, and the one that was counted. No window is later.
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

    /// Replaces a ledger that was lost, damaged or set back, or whose window is in the future
    /// because a clock was wrong. The present `window` counts as spent. A person or a rule of the
    /// app should decide this.
    public static func recreateSpent(
        _ path: String, for unit: PrivacyUnit, budgetMicro: UInt64, window: UInt64, counter: Counter? = nil
    ) throws -> Ledger {
        let access = Access(path, counter)
        try access.with { storage in
            undertone_posix_recreate_spent(&access.file, &storage, unit.rawValue, budgetMicro, window, entropy, nil)
        }
        return try Ledger(opening: path, for: unit, counter: counter)
    }

    /// The budget left in a window, in micro-units; 0 if a record was lost. `window`: a public
    /// number that never decreases, such as the days since 1970.
    public func remaining(in window: UInt64) throws -> UInt64 {
        var micro: UInt64 = 0
        try alone { try access.with { undertone_posix_remaining(&$0, unit.rawValue, window, &micro) } }
        return micro
    }

    /// The slots of a window in which this device releases, ascending. They are drawn without
    /// looking at any text, and stay the same.
    public func appointment(in window: UInt64, _ schedule: Schedule) throws -> [UInt16] {
        let image = try self.image()
        return try array(Int(min(schedule.slots, schedule.appointments)), of: UInt16(0)) {
            undertone_ledger_appointment(
                image, image.count, window, schedule.slots, schedule.appointments, $0, $1, &$2)
        }
    }

    /// Returns whether a release is due in a slot. It is due if, up to the end of the slot, the
    /// device has more appointments in the window than releases that it has paid for. So a missed
    /// slot is made up for in the next one.
    public func isDue(in window: UInt64, slot: UInt32, _ schedule: Schedule) throws -> Bool {
        let image = try self.image()
        var isDue: Int32 = 0
        try check(
            undertone_ledger_is_due(
                image, image.count, window, nil, schedule.slots, schedule.appointments, slot,
                schedule.epsilon.micro, &isDue))
        return isDue != 0
    }

    /// The bytes of the file.
    private func image() throws -> [UInt8] {
        try alone {
            try array(Int(UNDERTONE_LEDGER_IMAGE_BYTES), of: UInt8(0)) { start, capacity, count in
                try access.with { storage in
                    let failed = storage.read!(storage.context, start, capacity, &count) != 0
                    return failed ? UNDERTONE_STATUS_LEDGER_STORAGE_FAILED : UNDERTONE_STATUS_OK
                }
                return UNDERTONE_STATUS_OK
            }
        }
    }

    /// Spends an epsilon. A grant is returned only once storage has recorded its cost, which stays
    /// spent whatever becomes of the grant, and may be spent if this fails. `words`: 1, or the
    /// number of words that a bag releases; each costs epsilon.
    public func spend(_ epsilon: Epsilon, in window: UInt64, words: UInt32 = 1) throws -> Grant {
        try alone {
            Grant(try Handle(size: UNDERTONE_GRANT_HANDLE_SIZE) { memory, size, out in
                try access.with { storage in
                    undertone_ledger_spend(
                        &storage, unit.rawValue, epsilon.micro, words, window, entropy, nil, memory, size, out, nil)
                }
                return UNDERTONE_STATUS_OK
            })
        }
    }

    /// Unlocks the file. Closing it again does nothing. Called by its counter, it closes once that
    /// call is done.
    public func close() {
        lock.lock()
        defer { lock.unlock() }
        closing = true
        if !busy { undertone_posix_unlock(&access.file) }
    }

    /// Runs `body` while no other thread uses the file.
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

/// The storage of the library's calls, and the reason why one failed.
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
        file.descriptor = undertone_posix_open_locked(&file)
        if file.descriptor < 0 {
            let why = errno
            let taken = undertone_posix_is_locked(why) != 0
            throw taken ? UndertoneError.refused(UNDERTONE_STATUS_LEDGER_IN_USE) : UndertoneError.system(why)
        }
    }

    func check(_ status: Int32) throws {
        if status == UNDERTONE_STATUS_LEDGER_STORAGE_FAILED { throw failure ?? UndertoneError.system(file.error) }
        try Undertone.check(status)
    }

    /// Calls the library with the file. Without a lock, which is held as long as the file is open.
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
