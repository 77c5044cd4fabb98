// One release a year from a keyboard: the topic or the emoji of one line.

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
#include <variant>

namespace keyboard {

/// A window of the ledger: about a year.
constexpr std::uint32_t WEEKS = 52;
/// k, the number of places of a reservoir: less than the lines that most people send in a week.
constexpr std::uint32_t PLACES = 100;

/// The epsilon of any one line, in micro-units: ln(1 + (e^ε − 1)/k), rounded up to thousandths, and
/// at most ε. ε is that of all lines together, `micro` in micro-units.
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

/// The week in which a line is drawn, counted from 0 in its window, and whether the line's emoji is
/// released instead of its topic.
struct Appointment {
    std::uint32_t week;
    bool is_emoji;
};

/// Draws a line in the week that is appointed, and releases its topic or its emoji when that week
/// is over. Weeks are numbered since 1970. The document, the ledger and the form must outlive it.
class Year {
public:
    /// `stored`: the file of what was drawn, which is as private as the lines. `emoji`: NULL, or a
    /// form with one attribute. With a form, the topic or the emoji is released, drawn with equal
    /// probabilities together with the week. There is one release either way, so a person's epsilon
    /// stays the same.
    Year(undertone::Document &document, undertone::LedgerFile &ledger, undertone::Epsilon epsilon, std::string stored,
         const undertone::Form *emoji = nullptr)
        : document_(document), ledger_(ledger), epsilon_(epsilon), stored_(std::move(stored)), form_(emoji)
    {
    }

    /// Releases what was drawn in a week before `week`, gives the release to `outbox`, and wipes
    /// what was drawn. Call it before begin().
    template <class Outbox>
    undertone::Status finish(std::uint64_t week, Outbox outbox)
    {
        auto drawn = read();
        if (!drawn || slot(*drawn) >= week) return {};
        // The ledger records the cost before the release is drawn, in the year of the lines.
        auto grant = ledger_.spend(epsilon_, slot(*drawn) / WEEKS);
        if (!grant) {
            const auto wiped = wipe();
            if (grant.status().code() != UNDERTONE_STATUS_LEDGER_EXHAUSTED) return grant.status();
            return wiped;
        }
        const auto release = this->release(*drawn, *std::move(grant));
        if (!release) return release.status();
        outbox(*release);
        return wipe();
    }

    /// Begins or continues a week: draws from its lines if a release is due, otherwise not.
    undertone::Status begin(std::uint64_t week)
    {
        drawn_.reset();
        const auto appointed = this->appointed(week);
        if (!appointed) return appointed.status();
        const auto now = static_cast<std::uint32_t>(week % WEEKS);
        const auto due = ledger_.is_due(week / WEEKS, schedule(), now * kinds() + appointed->is_emoji);
        if (!due) return due.status();
        if (!*due) return wipe();
        drawn_ = read();
        if (drawn_ && slot(*drawn_) == week && std::holds_alternative<Emoji>(*drawn_) == appointed->is_emoji) return {};
        drawn_.reset();
        const auto begun = appointed->is_emoji ? draw(Emoji::create(*form_, week, PLACES))
                                               : draw(Topic::create(document_, week, PLACES));
        return begun ? store() : begun;
    }

    /// Whether lines are drawn this week.
    bool is_drawing() const { return drawn_.has_value(); }

    /// The week, and the kind of release, that are appointed in the window of `week`.
    undertone::Result<Appointment> appointed(std::uint64_t week)
    {
        const auto slots = ledger_.appointment(week / WEEKS, schedule());
        if (!slots) return slots.status();
        return Appointment{slots->front() / kinds(), slots->front() % kinds() == 1};
    }

    /// Adds a line that was sent, whatever its content. Does nothing in a week without a release.
    /// `emoji`: the index of the line's emoji in the form.
    undertone::Status push(std::string_view line, std::uint32_t emoji = undertone::no_answer)
    {
        if (!drawn_) return {};
        const auto status = std::visit([&](auto &drawn) { return push(drawn, line, emoji); }, *drawn_);
        return status ? store() : status;
    }

    /// Overwrites and removes what was drawn, if anything was.
    undertone::Status wipe()
    {
        drawn_.reset();
        return wipe_file(stored_);
    }

private:
    using Topic = undertone::Reservoir;
    using Emoji = undertone::AnswerReservoir;
    using Drawn = std::variant<Topic, Emoji>;

    /// The schedule has one slot for each week and kind of release.
    std::uint32_t kinds() const { return form_ == nullptr ? 1 : 2; }
    undertone::Schedule schedule() const { return {WEEKS * kinds(), 1, epsilon_}; }

    static std::uint64_t slot(const Drawn &drawn)
    {
        return std::visit([](const auto &either) { return either.slot(); }, drawn);
    }

    template <class Kind>
    undertone::Status draw(undertone::Result<Kind> begun)
    {
        if (begun) drawn_.emplace(*std::move(begun));
        return begun.status();
    }

    undertone::Status push(Topic &reservoir, std::string_view line, std::uint32_t)
    {
        const auto sentences = document_.push_text(line);
        if (!sentences) return sentences.status();
        return reservoir.push(document_);
    }

    undertone::Status push(Emoji &reservoir, std::string_view, std::uint32_t emoji)
    {
        return reservoir.push(*form_, {emoji});
    }

    undertone::Result<undertone::Release> release(Drawn &drawn, undertone::Grant grant)
    {
        if (auto *emoji = std::get_if<Emoji>(&drawn)) return emoji->release(*form_, std::move(grant));
        return std::get<Topic>(drawn).release(document_, undertone::LineMechanism::whole_text, std::move(grant));
    }

    /// The stored draw; nothing if it is missing, damaged, or of another pack or form.
    std::optional<Drawn> read() const
    {
        const int file = ::open(stored_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (file < 0) return std::nullopt;
        // One byte more than fits, so that a longer file is refused.
        std::array<std::uint8_t, UNDERTONE_RESERVOIR_BYTES + 1> bytes{};
        const ssize_t len = ::read(file, bytes.data(), bytes.size());
        ::close(file);
        std::optional<Drawn> drawn;
        if (len >= 0) {
            const auto size = static_cast<std::size_t>(len);
            if (auto topic = Topic::read(bytes.data(), size, document_)) drawn.emplace(*std::move(topic));
            else if (form_ != nullptr) {
                if (auto emoji = Emoji::read(bytes.data(), size, *form_)) drawn.emplace(*std::move(emoji));
            }
        }
        for (volatile std::uint8_t &byte : bytes) byte = 0;
        return drawn;
    }

    /// Writes in place, so that no older copy of what was drawn remains on storage. If the process
    /// is killed, the 64 bytes, which are in one page, are written whole or not at all. A power cut
    /// may leave half of them, which costs accuracy and no privacy.
    undertone::Status store() const
    {
        const int file =
            ::open(stored_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
        if (file < 0) return undertone::Status::system(errno);
        auto bytes = std::visit([](const auto &drawn) { return drawn.bytes(); }, *drawn_);
        const bool written = ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
                             ::ftruncate(file, UNDERTONE_RESERVOIR_BYTES) == 0;
        const int error = errno;
        for (volatile std::uint8_t &byte : bytes) byte = 0;
        ::close(file);
        return written ? undertone::Status() : undertone::Status::system(error);
    }

    undertone::Document &document_;
    undertone::LedgerFile &ledger_;
    undertone::Epsilon epsilon_;
    std::string stored_;
    const undertone::Form *form_;
    std::optional<Drawn> drawn_;
};

} // namespace keyboard

#endif // KEYBOARD_YEAR_HPP
