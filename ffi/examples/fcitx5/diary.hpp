// The user's agreement, with the ledger, the year and the outbox that it opens.

#ifndef UNDERTONE_FCITX5_DIARY_HPP
#define UNDERTONE_FCITX5_DIARY_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../keyboard/people.hpp"
#include "../keyboard/year.hpp"

/// Draws one line in 52 weeks and writes the release of its topic or its first emoji to the outbox,
/// if the user has agreed. The folder keeps the agreement, the ledger (128 bytes), the outbox (24
/// bytes a release, as hexadecimal digits in JSON), and in the appointed week the reservoir (64
/// bytes). No file contains text. If storage or the ledger fails, nothing leaves, and next()
/// returns the reason.
class Diary {
public:
    /// A release in the outbox, for people.
    struct Entry {
        /// The name of a candidate or an emoji, "nothing known" or "no emoji".
        std::string name;
        /// The hexadecimal digits that leave the device.
        std::string release;
    };

    /// `pack`: a file that has whole-text releases. `candidates`: the output of `undertone inspect`
    /// for it. `emoji`: a form with one attribute, or an empty path; then only topics leave.
    /// `folder`: made when the user agrees.
    Diary(const std::string &pack, const std::string &candidates, const std::string &emoji,
          const std::string &folder);

    /// The question whether the user agrees, for a menu.
    std::string question() const;

    bool has_agreed() const { return has_agreed_; }
    void agree();
    /// Wipes what was drawn and the outbox. The ledger stays, because spent budget stays spent.
    void withdraw();

    /// Begins the present week, and releases what was drawn in a week that is over. Does nothing,
    /// and returns false, if the week has begun or the user has not agreed.
    bool turn();
    /// Whether this week's lines are drawn from. Otherwise a line need not be kept until its end.
    bool is_drawing() const { return year_ && year_->is_drawing(); }
    /// Adds a line that was typed, whatever its content. Call turn() before.
    void add(std::string_view line);

    /// The promise to a person and for a line.
    std::string promise() const;
    /// The next release, and when it leaves.
    std::string next();
    /// The releases in the outbox, which a program of the app uploads.
    std::vector<Entry> outbox() const;

private:
    void open(bool is_first);
    undertone::Status append(const undertone::Release &release) const;
    /// Returns whether a step succeeded. Otherwise next() returns the reason until a week begins.
    bool done(const std::string &step, undertone::Status status);

    std::string folder_;
    /// Present once the user has agreed, also after a withdrawal.
    std::string agreement_;
    /// The content of that file. Whoever agreed to topics alone is asked again about emoji.
    std::string_view agreed_;
    std::string ledger_path_;
    std::string outbox_path_;
    std::string reservoir_path_;
    undertone::Pack pack_;
    undertone::Document document_;
    undertone::Pack::Id pack_id_{};
    std::vector<keyboard::Candidate> candidates_;
    std::optional<keyboard::Emoji> emoji_;
    undertone::LedgerFile ledger_;
    bool has_agreed_ = false;
    /// Present while the ledger is open.
    std::optional<keyboard::Year> year_;
    std::uint64_t week_ = UINT64_MAX;
    std::string problem_;
};

#endif // UNDERTONE_FCITX5_DIARY_HPP
