// A privacy budget in a POSIX file.

#ifndef UNDERTONE_LEDGER_FILE_HPP
#define UNDERTONE_LEDGER_FILE_HPP

#if defined(__unix__) || defined(__APPLE__)
#define UNDERTONE_LEDGER_FILE 1
#else
#define UNDERTONE_LEDGER_FILE 0
#endif

#if UNDERTONE_LEDGER_FILE
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../undertone_posix.h"
#include "entropy.hpp"
#include "grant.hpp"
#include "ledger.hpp"

#include "macros_begin.inc"

namespace undertone {

namespace detail {

/// The open file of a ledger. Closing it unlocks it.
class File {
public:
    File() noexcept = default;
    explicit File(int descriptor) noexcept : descriptor_(descriptor) {}
    File(File &&other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    File &operator=(File &&other) noexcept
    {
        if (this != &other) {
            if (is_open()) ::close(descriptor_);
            descriptor_ = std::exchange(other.descriptor_, -1);
        }
        return *this;
    }
    ~File()
    {
        if (is_open()) ::close(descriptor_);
    }

    bool is_open() const noexcept { return descriptor_ >= 0; }
    int descriptor() const noexcept { return descriptor_; }

private:
    int descriptor_ = -1;
};

} // namespace detail

/// A monotonic counter of the platform for one ledger, which shows that a file was set back. It
/// starts at 0, never goes back, and is kept apart from the file (ffi/README.md). Its functions
/// must not call the ledger that calls them: such a call returns `UNDERTONE_STATUS_BUSY`, because
/// the outer call would overwrite its record.
class Counter {
public:
    virtual ~Counter() = default;
    /// Reads the present value of the counter.
    virtual Result<std::uint64_t> read() noexcept = 0;
    /// Raises the counter, and returns once it is `to` for good.
    virtual Status raise(std::uint64_t to) noexcept = 0;
};

/// A ledger in a file, for systems with POSIX files. It locks the file as long as it lives; a
/// forked child inherits the lock. Without a counter, the file must not be restored from a backup,
/// because that restores spent budget. The context of the entropy and the counter must outlive the
/// ledger.
class LedgerFile {
public:
    LedgerFile() noexcept = default;

    /// Opens a ledger that exists. After the app's first release, use this instead of
    /// open_or_create(), because a missing ledger must not become a fresh budget.
    /// `STATUS_LEDGER_IN_USE` if another program or object has it open.
    static Result<LedgerFile> open(const std::string &path, Unit unit, Entropy entropy,
                                   Counter *counter = nullptr) noexcept
    {
        Access access(path.c_str());
        detail::File file(undertone_posix_open_locked(&access));
        if (!file.is_open()) {
            return undertone_posix_is_locked(errno) ? Status(STATUS_LEDGER_IN_USE) : Status::system(errno);
        }
        LedgerFile ledger(std::move(file), unit, entropy, counter);
        // Checks that the file is a ledger for this unit and agrees with the counter. No window is
        // later than UINT64_MAX, so the ledger cannot be from the future.
        const Result<std::uint64_t> left = ledger.remaining(UINT64_MAX);
        if (!left) return left.status();
        return Result<LedgerFile>(std::move(ledger));
    }

    /// Opens a ledger, or makes one with this budget for every window if the file is missing. The
    /// budget of an existing ledger stays as it is. With a counter, a deleted ledger does not
    /// become a fresh budget: the new file is refused, or the rest of the window counts as spent.
    static Result<LedgerFile> open_or_create(const std::string &path, Unit unit, std::uint64_t budget_micro,
                                             Entropy entropy, Counter *counter = nullptr)
    {
        Access access(path.c_str());
        const Status status(undertone_posix_create(&access, static_cast<std::int32_t>(unit), budget_micro,
                                                   entropy.function(), entropy.context()));
        if (!status) return access.reason(status);
        return open(path, unit, entropy, counter);
    }

    /// Replaces a ledger that was lost, damaged or set back, or whose window is in the future
    /// because a clock was wrong. The present `window` counts as spent. Call this only if a person
    /// or a rule of the app decides so.
    static Result<LedgerFile> recreate_spent(const std::string &path, Unit unit, std::uint64_t budget_micro,
                                             std::uint64_t window, Entropy entropy, Counter *counter = nullptr)
    {
        Access access(path.c_str(), -1, counter);
        const undertone_ledger_storage storage = access.storage();
        const Status status(undertone_posix_recreate_spent(&access, &storage, static_cast<std::int32_t>(unit),
                                                           budget_micro, window, entropy.function(),
                                                           entropy.context()));
        if (!status) return access.reason(status);
        return open(path, unit, entropy, counter);
    }
#if UNDERTONE_OS_ENTROPY
    static Result<LedgerFile> open(const std::string &path, Unit unit, Counter *counter = nullptr) noexcept
    {
        return open(path, unit, Entropy(), counter);
    }
    static Result<LedgerFile> open_or_create(const std::string &path, Unit unit, std::uint64_t budget_micro,
                                             Counter *counter = nullptr)
    {
        return open_or_create(path, unit, budget_micro, Entropy(), counter);
    }
    static Result<LedgerFile> recreate_spent(const std::string &path, Unit unit, std::uint64_t budget_micro,
                                             std::uint64_t window, Counter *counter = nullptr)
    {
        return recreate_spent(path, unit, budget_micro, window, Entropy(), counter);
    }
#endif

    /// The budget left in a window, in micro-units; 0 if a record was lost. `window`: a public
    /// number that never decreases, such as the days since 1970.
    Result<std::uint64_t> remaining(std::uint64_t window) noexcept
    {
        if (!file_.is_open()) return Status(STATUS_MOVED);
        if (busy_) return Status(UNDERTONE_STATUS_BUSY);
        const InUse in_use(busy_);
        Access access(nullptr, file_.descriptor(), counter_);
        const undertone_ledger_storage storage = access.storage();
        std::uint64_t micro = 0;
        const Status status(undertone_posix_remaining(&storage, static_cast<std::int32_t>(unit_), window, &micro));
        if (!status) return access.reason(status);
        return micro;
    }

    /// The slots of a window in which this device releases, ascending; see Schedule.
    Result<std::vector<std::uint16_t>> appointment(std::uint64_t window, const Schedule &schedule)
    {
        const Result<Ledger::Image> image = read();
        if (!image) return image.status();
        return Ledger::appointment(window, schedule, image->data(), image->size());
    }

    /// Returns whether a release is due in a slot. It is due if, up to the end of the slot, the
    /// device has more appointments in the window than releases that it has paid for. No release
    /// is due if less than its epsilon is left.
    Result<bool> is_due(std::uint64_t window, const Schedule &schedule, std::uint32_t slot) noexcept
    {
        const Result<Ledger::Image> image = read();
        if (!image) return image.status();
        return Ledger::is_due(window, schedule, slot, image->data(), image->size());
    }

    /// Spends an epsilon. It returns a grant only once storage has recorded the cost. The cost
    /// stays spent even if the grant is not used. If this fails, the cost may be spent without a
    /// grant. `word_count`: 1, or the number of words that a bag releases; each costs epsilon.
    Result<Grant> spend(Epsilon epsilon, std::uint64_t window, std::uint32_t word_count = 1) noexcept
    {
        if (!file_.is_open() || !entropy_) return Status(STATUS_MOVED);
        if (busy_) return Status(UNDERTONE_STATUS_BUSY);
        const InUse in_use(busy_);
        Access access(nullptr, file_.descriptor(), counter_);
        const undertone_ledger_storage storage = access.storage();
        auto handle = detail::make<undertone_grant>(
            UNDERTONE_GRANT_HANDLE_SIZE, nullptr, [&](void *memory, std::size_t memory_len, undertone_grant **out) {
                return detail::call(undertone_ledger_spend, &storage, static_cast<std::int32_t>(unit_), epsilon.micro(),
                                    word_count, window, entropy_->function(), entropy_->context(), memory, memory_len,
                                    out, nullptr);
            });
        if (!handle) return access.reason(handle.status());
        return Grant(*std::move(handle));
    }

private:
    /// Marks the ledger as busy during a call.
    class InUse {
    public:
        explicit InUse(bool &busy) noexcept : busy_(busy) { busy_ = true; }
        ~InUse() { busy_ = false; }
        InUse(const InUse &) = delete;
        InUse &operator=(const InUse &) = delete;

    private:
        bool &busy_;
    };

    /// The storage of one call, and the reason why it failed.
    struct Access : undertone_posix_ledger {
        explicit Access(const char *place, int opened = -1, Counter *platform = nullptr) noexcept
            : undertone_posix_ledger{place, opened, 0}, counter(platform)
        {
        }

        /// Its functions do not lock, because the LedgerFile holds the lock already.
        undertone_ledger_storage storage() noexcept
        {
            undertone_ledger_storage storage = undertone_posix_storage(this);
            storage.lock = nullptr;
            storage.unlock = nullptr;
            if (counter == nullptr) return storage;
            storage.read_counter = [](void *context, std::uint64_t *out) {
                Access &access = of(context);
                const Result<std::uint64_t> value = access.counter->read();
                if (value) *out = *value;
                return access.keep(value.status());
            };
            storage.raise_counter = [](void *context, std::uint64_t to) {
                Access &access = of(context);
                return access.keep(access.counter->raise(to));
            };
            return storage;
        }

        static Access &of(void *context) noexcept
        {
            return static_cast<Access &>(*static_cast<undertone_posix_ledger *>(context));
        }

        std::int32_t keep(Status status) noexcept
        {
            counted = status;
            return status.ok() ? 0 : -1;
        }

        Status reason(Status status) const noexcept
        {
            if (status.code() != UNDERTONE_STATUS_LEDGER_STORAGE_FAILED) return status;
            return counted.ok() ? Status::system(error) : counted;
        }

        Counter *counter;
        Status counted;
    };

    Result<Ledger::Image> read() noexcept
    {
        if (!file_.is_open()) return Status(STATUS_MOVED);
        if (busy_) return Status(UNDERTONE_STATUS_BUSY);
        Access access(nullptr, file_.descriptor());
        const undertone_ledger_storage storage = access.storage();
        Ledger::Image image{};
        std::size_t len = 0;
        if (storage.read(storage.context, image.data(), image.size(), &len) != 0) return Status::system(access.error);
        if (len != image.size()) return Status(UNDERTONE_STATUS_LEDGER_WRONG_LENGTH);
        return image;
    }

    LedgerFile(detail::File file, Unit unit, Entropy entropy, Counter *counter) noexcept
        : file_(std::move(file)), unit_(unit), entropy_(entropy), counter_(counter)
    {
    }

    detail::File file_;
    Unit unit_ = Unit::sentence;
    std::optional<Entropy> entropy_;
    Counter *counter_ = nullptr;
    bool busy_ = false;
};

} // namespace undertone
#endif

#include "macros_end.inc"

#endif // UNDERTONE_LEDGER_FILE_HPP
