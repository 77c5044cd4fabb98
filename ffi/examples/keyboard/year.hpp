// A year of a keyboard with one release, by the topic of one line.

#ifndef KEYBOARD_YEAR_HPP
#define KEYBOARD_YEAR_HPP

#include <undertone.hpp>

#if !UNDERTONE_LEDGER_FILE
#error "the keyboards need POSIX files for their ledger; elsewhere, use undertone::Ledger"
#endif

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace keyboard {

/// A window of the ledger: about a year.
constexpr std::uint32_t WEEKS = 52;
/// Below the number of lines that most people send in a week.
constexpr std::uint32_t PLACES = 100;

/// The epsilon of any one line, if `micro` is the epsilon of all lines together, in micro-units:
/// ln(1 + (e^ε − 1)/k), rounded up to thousandths, and at most ε.
inline std::uint64_t line_micro(std::uint64_t micro)
{
    const double line = std::log1p(std::expm1(static_cast<double>(micro) / 1e6) / PLACES);
    return std::min(micro, static_cast<std::uint64_t>(std::ceil(line * 1e3)) * 1000);
}

/// Overwrites a file with zeroes on storage and removes it, if it exists.
inline undertone::Status wipe_file(const std::string &path)
{
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return errno == ENOENT ? undertone::Status() : undertone::Status::system(errno);
    const off_t len = ::lseek(file, 0, SEEK_END);
    const std::string zeroes(len < 0 ? 0 : static_cast<std::size_t>(len), '\0');
    const bool wiped = len >= 0 && ::pwrite(file, zeroes.data(), zeroes.size(), 0) == len && ::fsync(file) == 0 &&
                       ::unlink(path.c_str()) == 0;
    const int error = errno;
    ::close(file);
    return wiped ? undertone::Status() : undertone::Status::system(error);
}

/// Draws a line in the week that is appointed, and releases its topic when that week is over. Weeks
/// are numbered since 1970. The document and the ledger must outlive it.
class Year {
public:
    /// `stored`: the file of the reservoir, which is as private as the lines.
    Year(undertone::Document &document, undertone::LedgerFile &ledger, undertone::Epsilon epsilon, std::string stored)
        : document_(document), ledger_(ledger), epsilon_(epsilon), stored_(std::move(stored))
    {
    }

    /// Releases what was drawn in a week before `week`, gives the release to `outbox`, and wipes
    /// the reservoir. Call it before begin().
    template <class Outbox>
    undertone::Status finish(std::uint64_t week, Outbox outbox)
    {
        auto drawn = read();
        if (!drawn || drawn->slot() >= week) return {};
        // The ledger records the cost before anything is drawn, in the year of the lines.
        auto grant = ledger_.spend(epsilon_, drawn->slot() / WEEKS);
        if (!grant) {
            const auto wiped = wipe();
            if (grant.status().code() != UNDERTONE_STATUS_LEDGER_EXHAUSTED) return grant.status();
            return wiped;
        }
        const auto release = drawn->release(document_, undertone::LineMechanism::whole_text, *std::move(grant));
        if (!release) return release.status();
        outbox(*release);
        return wipe();
    }

    /// Begins or continues a week: with a reservoir if a release is due, otherwise without.
    undertone::Status begin(std::uint64_t week)
    {
        reservoir_.reset();
        const auto due = ledger_.is_due(week / WEEKS, schedule(), static_cast<std::uint32_t>(week % WEEKS));
        if (!due) return due.status();
        if (!*due) return wipe();
        auto stored = read();
        if (stored && stored->slot() == week) {
            reservoir_.emplace(*std::move(stored));
            return {};
        }
        auto begun = undertone::Reservoir::create(document_, week, PLACES);
        if (!begun) return begun.status();
        reservoir_.emplace(*std::move(begun));
        return store();
    }

    /// Whether lines are drawn this week.
    bool is_drawing() const { return reservoir_.has_value(); }

    /// The week of the window of `week` that is appointed, from 0.
    undertone::Result<std::uint32_t> appointed(std::uint64_t week)
    {
        const auto slots = ledger_.appointment(week / WEEKS, schedule());
        if (!slots) return slots.status();
        return slots->front();
    }

    /// Adds a line that was sent, whatever its content, if this week's lines are drawn from.
    undertone::Status push(std::string_view line)
    {
        if (!reservoir_) return {};
        const auto sentences = document_.push_text(line);
        if (!sentences) return sentences.status();
        const auto status = reservoir_->push(document_);
        if (!status) return status;
        return store();
    }

    /// Overwrites and removes what was drawn, if anything was.
    undertone::Status wipe()
    {
        reservoir_.reset();
        return wipe_file(stored_);
    }

private:
    undertone::Schedule schedule() const { return {WEEKS, 1, epsilon_}; }

    /// The stored reservoir; nothing if it is missing, damaged or of another pack.
    std::optional<undertone::Reservoir> read() const
    {
        const int file = ::open(stored_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (file < 0) return std::nullopt;
        // One byte more than fits, so that a longer file is refused.
        std::array<std::uint8_t, UNDERTONE_RESERVOIR_BYTES + 1> bytes{};
        const ssize_t len = ::read(file, bytes.data(), bytes.size());
        ::close(file);
        if (len < 0) return std::nullopt;
        auto found = undertone::Reservoir::read(bytes.data(), static_cast<std::size_t>(len), document_);
        for (volatile std::uint8_t &byte : bytes) byte = 0;
        if (!found) return std::nullopt;
        return *std::move(found);
    }

    /// Writes in place, so that no older reservoir remains elsewhere on storage. A kill cannot
    /// divide 64 bytes of one page, and what a power cut divides has a wrong checksum.
    undertone::Status store() const
    {
        const int file =
            ::open(stored_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
        if (file < 0) return undertone::Status::system(errno);
        const auto &bytes = reservoir_->bytes();
        const bool written = ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
                             ::ftruncate(file, UNDERTONE_RESERVOIR_BYTES) == 0;
        const int error = errno;
        ::close(file);
        return written ? undertone::Status() : undertone::Status::system(error);
    }

    undertone::Document &document_;
    undertone::LedgerFile &ledger_;
    undertone::Epsilon epsilon_;
    std::string stored_;
    std::optional<undertone::Reservoir> reservoir_;
};

} // namespace keyboard

#endif // KEYBOARD_YEAR_HPP
