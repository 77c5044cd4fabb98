// A privacy budget over storage of your own.

#ifndef UNDERTONE_LEDGER_HPP
#define UNDERTONE_LEDGER_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "entropy.hpp"
#include "grant.hpp"

#include "macros_begin.inc"

namespace undertone {

/// A device releases in `appointments` of the `slot_count` slots of a window, at `epsilon` each. So
/// a window costs `appointments` times `epsilon`, which is the budget to give its ledger. Slots are
/// numbered from 0 in each window.
struct Schedule {
    std::uint32_t slot_count;
    std::uint32_t appointments;
    Epsilon epsilon;
};

/// A privacy budget: an epsilon for every window of time, for one unit, over storage of your own.
/// LedgerFile keeps it in a file. The app stores UNDERTONE_LEDGER_IMAGE_BYTES bytes, which one
/// ledger at a time may use.
class Ledger {
public:
    using Image = std::array<std::uint8_t, UNDERTONE_LEDGER_IMAGE_BYTES>;

    /// The record of a reservation, and its place in what is stored.
    struct Record {
        std::array<std::uint8_t, UNDERTONE_LEDGER_RECORD_BYTES> bytes;
        std::size_t offset;
    };

    Ledger() noexcept = default;

    /// The bytes to store for a new ledger.
    static Result<Image> create_image(Unit unit, std::uint64_t budget_micro, Entropy entropy) noexcept
    {
        Image image{};
        std::size_t written = 0;
        const Status status = detail::call(undertone_ledger_create_image, static_cast<std::int32_t>(unit), budget_micro,
                                           entropy.function(), entropy.context(), image.data(), image.size(), &written);
        if (!status) return status;
        return image;
    }
#if UNDERTONE_OS_ENTROPY
    static Result<Image> create_image(Unit unit, std::uint64_t budget_micro) noexcept
    {
        return create_image(unit, budget_micro, Entropy());
    }
#endif

    /// Opens a ledger from what is stored.
    static Result<Ledger> open(Unit unit, const std::uint8_t *stored, std::size_t len, Entropy entropy) noexcept
    {
        auto handle = detail::make<undertone_ledger>(
            UNDERTONE_LEDGER_HANDLE_SIZE, nullptr, [&](void *memory, std::size_t memory_len, undertone_ledger **out) {
                return detail::call(undertone_ledger_open, memory, memory_len, static_cast<std::int32_t>(unit), stored,
                                    len, entropy.function(), entropy.context(), out);
            });
        if (!handle) return handle.status();
        return Ledger(*std::move(handle));
    }
    static Result<Ledger> open(Unit unit, const Image &stored, Entropy entropy) noexcept
    {
        return open(unit, stored.data(), stored.size(), entropy);
    }
#if UNDERTONE_OS_ENTROPY
    static Result<Ledger> open(Unit unit, const std::uint8_t *stored, std::size_t len) noexcept
    {
        return open(unit, stored, len, Entropy());
    }
    static Result<Ledger> open(Unit unit, const Image &stored) noexcept { return open(unit, stored, Entropy()); }
#endif

    /// The budget left in a window, in micro-units. `window`: a public number that never decreases,
    /// such as the days since 1970. `stored`: what is stored now.
    static Result<std::uint64_t> remaining(Unit unit, std::uint64_t window, const std::uint8_t *stored,
                                           std::size_t len) noexcept
    {
        std::uint64_t micro = 0;
        const Status status = detail::call(undertone_ledger_remaining, static_cast<std::int32_t>(unit), stored, len,
                                           window, nullptr, &micro);
        if (!status) return status;
        return micro;
    }

    /// The slots of a window in which this device releases, ascending. They are drawn without
    /// looking at any text, and stay the same.
    static Result<std::vector<std::uint16_t>> appointment(std::uint64_t window, const Schedule &schedule,
                                                          const std::uint8_t *stored, std::size_t len)
    {
        return detail::array<std::uint16_t>(
            schedule.appointments, [&](std::uint16_t *out, std::size_t capacity, std::size_t *written) {
                return detail::call(undertone_ledger_appointment, stored, len, window, schedule.slot_count,
                                    schedule.appointments, out, capacity, written);
            });
    }

    /// Returns whether a release is due in a slot. It is due if, up to the end of the slot, the
    /// device has more appointments in the window than releases that it has paid for. So a missed
    /// slot is made up for in the next one. No release is due if less than its epsilon is left.
    static Result<bool> is_due(std::uint64_t window, const Schedule &schedule, std::uint32_t slot,
                               const std::uint8_t *stored, std::size_t len) noexcept
    {
        std::int32_t is_due = 0;
        const Status status =
            detail::call(undertone_ledger_is_due, stored, len, window, static_cast<const std::uint64_t *>(nullptr),
                         schedule.slot_count, schedule.appointments, slot, schedule.epsilon.micro(), &is_due);
        if (!status) return status;
        return is_due != 0;
    }

    /// Reserves an epsilon for each of `word_count` words (1, unless for a bag), which is spent
    /// from now on. `stored`: what is stored now. Write the record, sync, and read again for
    /// grant(). If a record was lost, the new one marks the rest of the window as spent, and
    /// grant() refuses.
    Result<Record> reserve(Epsilon epsilon, std::uint64_t window, const std::uint8_t *stored, std::size_t len,
                           std::uint32_t word_count = 1) noexcept
    {
        Record record{};
        std::size_t written = 0;
        const Status status =
            detail::call(undertone_ledger_reserve_epsilon, capi(), epsilon.micro(), word_count, window, stored, len,
                         record.bytes.data(), record.bytes.size(), &written, &record.offset);
        if (!status && status.code() != UNDERTONE_STATUS_LEDGER_RECORD_LOST) return status;
        return record;
    }

    /// The grant of the last reservation, if its record is stored.
    Result<Grant> grant(const std::uint8_t *stored, std::size_t len) noexcept
    {
        auto handle = detail::make<undertone_grant>(
            UNDERTONE_GRANT_HANDLE_SIZE, nullptr, [&](void *memory, std::size_t memory_len, undertone_grant **out) {
                return detail::call(undertone_ledger_grant, capi(), stored, len, memory, memory_len, out);
            });
        if (!handle) return handle.status();
        return Grant(*std::move(handle));
    }

    undertone_ledger *capi() noexcept { return handle_.get(); }
    const undertone_ledger *capi() const noexcept { return handle_.get(); }

private:
    explicit Ledger(detail::Handle<undertone_ledger> handle) noexcept : handle_(std::move(handle)) {}

    detail::Handle<undertone_ledger> handle_;
};

} // namespace undertone

#include "macros_end.inc"

#endif // UNDERTONE_LEDGER_HPP
