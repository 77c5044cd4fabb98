#include "diary.hpp"

#include <cstring>
#include <filesystem>
#include <iterator>

#include "clock.hpp"

namespace {

using keyboard::WEEKS;
using undertone::Status;

/// For everything that is typed in a window of the ledger.
constexpr undertone::Epsilon EPSILON = undertone::Epsilon::from_micro(3000000);
constexpr undertone::Unit UNIT = undertone::Unit::whole_text;

constexpr std::string_view WITHDRAWN = "withdrawn\n";

/// A line of the outbox, around the hexadecimal digits of a release.
constexpr std::string_view BEFORE = "{\"release\":\"";
constexpr std::string_view AFTER = "\"}\n";

std::uint64_t this_week()
{
    return today() / 7;
}

std::string contents(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool exists(const std::string &path)
{
    return ::access(path.c_str(), F_OK) == 0;
}

/// Replaces a file after its first `keep` bytes, and returns once that is on storage.
Status write_after(const std::string &path, std::size_t keep, std::string_view text)
{
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (file < 0) return Status::system(errno);
    const auto len = static_cast<off_t>(keep);
    const bool written = ::ftruncate(file, len) == 0 &&
                         ::pwrite(file, text.data(), text.size(), len) == static_cast<ssize_t>(text.size()) &&
                         ::fsync(file) == 0;
    const int error = errno;
    ::close(file);
    return written ? Status() : Status::system(error);
}

/// Whether the amount spent is unknown, so that the present window must count as spent.
bool is_lost(Status status)
{
    switch (status.code()) {
    case UNDERTONE_STATUS_LEDGER_WRONG_LENGTH:
    case UNDERTONE_STATUS_NOT_A_LEDGER:
    case UNDERTONE_STATUS_LEDGER_DAMAGED:
    case UNDERTONE_STATUS_LEDGER_MIXED:
        return true;
    default:
        return status.system_error() == ENOENT;
    }
}

} // namespace

Diary::Diary(const std::string &pack, const std::string &candidates, const std::string &emoji,
             const std::string &folder)
    : folder_(folder), agreement_(folder + "/agreement"), agreed_(emoji.empty() ? "agreed\n" : "agreed, with emoji\n"),
      ledger_path_(folder + "/year.ledger"), outbox_path_(folder + "/outbox.jsonl"),
      reservoir_path_(folder + "/reservoir")
{
    has_agreed_ = contents(agreement_) == agreed_;
    // A withdrawal may have been interrupted.
    if (!has_agreed_) withdraw();
    std::string why;
    if (!emoji.empty() && !(emoji_ = keyboard::Emoji::read(emoji, why))) {
        problem_ = why;
        return;
    }
    auto opened = undertone::Pack::open(pack);
    if (!done("the pack", opened.status())) return;
    auto document = undertone::Document::create(*opened);
    if (!done("the pack", document.status()) || !done("the pack", document->promise(UNIT, EPSILON).status())) return;
    const auto id = opened->id();
    if (!done("the pack", id.status())) return;
    pack_id_ = *id;
    // Without names, candidates have their numbers.
    if (auto read = keyboard::read_candidates(candidates, *id, why)) candidates_ = std::move(*read);
    pack_ = *std::move(opened);
    document_ = *std::move(document);
}

std::string Diary::question() const
{
    return std::string("Release the topic ") + (emoji_ ? "or the first emoji " : "") + "of one line a year";
}

void Diary::agree()
{
    if (has_agreed_ || document_.capi() == nullptr) return;
    problem_.clear();
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    // The folder is the user's alone, because the reservoir is as private as the text.
    if (!error && ::chmod(folder_.c_str(), S_IRWXU) != 0) error.assign(errno, std::generic_category());
    if (!done("the folder", error ? Status::system(error.value()) : Status())) return;
    // The ledger is durable before the agreement, so a ledger that is missing later was lost.
    open(!exists(agreement_));
    has_agreed_ = year_ && done("the agreement", write_after(agreement_, 0, agreed_));
    if (has_agreed_) {
        turn();
    } else {
        year_.reset();
        ledger_ = {};
    }
}

void Diary::withdraw()
{
    year_.reset();
    ledger_ = {};
    has_agreed_ = false;
    week_ = UINT64_MAX;
    if (document_.capi() != nullptr) {
        problem_.clear();
        done("the document", document_.reset());
    }
    if (!exists(agreement_)) return;
    done("the agreement", write_after(agreement_, 0, WITHDRAWN));
    done("the reservoir", keyboard::wipe_file(reservoir_path_));
    done("the outbox", keyboard::wipe_file(outbox_path_));
}

void Diary::open(bool is_first)
{
    auto ledger = is_first ? undertone::LedgerFile::open_or_create(ledger_path_, UNIT, EPSILON.micro())
                           : undertone::LedgerFile::open(ledger_path_, UNIT);
    if (!ledger && is_lost(ledger.status()))
        ledger = undertone::LedgerFile::recreate_spent(ledger_path_, UNIT, EPSILON.micro(), this_week() / WEEKS);
    if (!done("the ledger", ledger.status())) return;
    ledger_ = *std::move(ledger);
    year_.emplace(document_, ledger_, EPSILON, reservoir_path_, emoji_ ? &emoji_->form : nullptr);
}

bool Diary::turn()
{
    const std::uint64_t week = this_week();
    if (!has_agreed_ || document_.capi() == nullptr || week == week_) return false;
    problem_.clear();
    // A daemon that is being replaced still has the ledger, so this is tried again.
    if (!year_) open(false);
    if (!year_) return true;
    Status appended;
    const auto finished =
        year_->finish(week, [&](const undertone::Release &release) { appended = append(release); });
    const bool is_finished = done("the last week", finished) && done("the outbox", appended);
    if (done("this week", year_->begin(week)) && is_finished) week_ = week;
    return true;
}

void Diary::add(std::string_view line)
{
    if (line.empty() || !is_drawing()) return;
    if (year_->push(line, emoji_ ? emoji_->first(line) : undertone::no_answer).ok()) return;
    // A line that could not be counted must not become a part of the next one.
    done("the document", document_.reset());
}

std::string Diary::promise() const
{
    return "ε = " + keyboard::epsilon_text(EPSILON.micro()) + " for all that you type in " + std::to_string(WEEKS) +
           " weeks" + (emoji_ ? ", emoji included" : "") +
           ", ε = " + keyboard::epsilon_text(keyboard::line_micro(EPSILON.micro())) + " for any one line";
}

std::string Diary::next()
{
    if (!problem_.empty()) return "nothing: " + problem_;
    if (!has_agreed_) return "nothing, because you have not agreed";
    const std::uint64_t week = this_week();
    const auto left = ledger_.remaining(week / WEEKS);
    const auto appointed = year_->appointed(week);
    if (!done("the ledger", left.status()) || !done("the ledger", appointed.status())) return next();
    const std::string of = " of " + std::to_string(WEEKS);
    const std::string now = ", and this is week " + std::to_string(week % WEEKS + 1) + of;
    if (*left < EPSILON.micro()) return "nothing more in these weeks" + now;
    const std::string what =
        "one of " + (appointed->is_emoji ? std::to_string(emoji_->names.size()) + " emoji or “no emoji”"
                                         : std::to_string(pack_.candidate_count()) + " topics or “nothing known”") +
        ", drawn ";
    if (is_drawing()) return what + "from this week's lines, when it is over" + now;
    return what + "in week " + std::to_string(appointed->week + 1) + now;
}

std::vector<Diary::Entry> Diary::outbox() const
{
    std::vector<Entry> entries;
    std::ifstream file(outbox_path_);
    for (std::string line; std::getline(file, line);) {
        if (line.size() != BEFORE.size() + 2 * UNDERTONE_RELEASE_BYTES + AFTER.size() - 1) continue;
        Entry entry{"", line.substr(BEFORE.size(), 2 * UNDERTONE_RELEASE_BYTES)};
        undertone::Release release{};
        for (std::size_t i = 0; i < release.size(); i++)
            release[i] =
                static_cast<std::uint8_t>(std::strtoul(entry.release.substr(2 * i, 2).c_str(), nullptr, 16));
        const auto content = undertone::read_release(release);
        if (!content) continue;
        if (content->pack_id != pack_id_) entry.name = emoji_ ? emoji_->named(*content) : "an emoji";
        else if (content->nothing_known(pack_)) entry.name = "nothing known";
        else if (content->candidate < candidates_.size()) entry.name = candidates_[content->candidate].name;
        else entry.name = "topic " + std::to_string(content->candidate);
        entries.push_back(std::move(entry));
    }
    return entries;
}

Status Diary::append(const undertone::Release &release) const
{
    // A line that was cut short by a kill is replaced.
    const std::size_t end = contents(outbox_path_).rfind('\n');
    const std::string digits = keyboard::hexadecimal(release.data(), release.size());
    return write_after(outbox_path_, end == std::string::npos ? 0 : end + 1,
                       std::string(BEFORE) + digits + std::string(AFTER));
}

bool Diary::done(const std::string &step, Status status)
{
    if (status.ok()) return true;
    if (problem_.empty()) {
        problem_ = step + ": " + status.message();
        if (status.system_error() != 0) problem_ += std::string(": ") + std::strerror(status.system_error());
    }
    return false;
}
