// A keyboard's suggestion engine. Typed text stays on the device. Once in 52 weeks one line leaves:
// in a week that is drawn beforehand, a reservoir draws one of the lines that are sent, keeps its
// topic and no text, and makes a private release when the week is over. With --emoji, whether the
// topic or the emoji of that line leaves is drawn with the week. The program prints it before
// anything is typed. A ledger file limits the epsilon of the 52 weeks. With --every the text is
// long, like a letter: each finished sentence is added to sums and forgotten, and every N sentences
// a release leaves that protects each of them. The program chooses the unit of privacy, not the
// pack, which anybody may have made.
//
//     keyboard --pack FILE --ledger FILE [--candidates FILE] [--emoji FORM] [--epsilon E]
//              [--budget E] [--every N] [--day N] [TEXT]
//
// Reads TEXT, or what is typed.

#include "people.hpp"
#include "year.hpp"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyboard::Candidate;
using keyboard::Emoji;
using keyboard::epsilon_text;
using keyboard::hexadecimal;
using keyboard::WEEKS;

struct Options {
    std::string pack;
    std::string ledger;
    std::string candidates;
    std::string emoji;
    std::string text;
    std::string epsilon = "3";
    std::string budget = "9";
    // 0: a line a year.
    unsigned every = 0;
    // Days since 1970, in UTC: a clock that all of the app agrees on.
    std::uint64_t day = static_cast<std::uint64_t>(std::time(nullptr)) / 86400;
};

int usage()
{
    std::fprintf(stderr,
                 "usage: keyboard --pack FILE --ledger FILE [--candidates FILE] [--emoji FORM] [--epsilon E]\n"
                 "                [--budget E] [--every N] [--day N] [TEXT]\n"
                 "\n"
                 "  --pack FILE        what `undertone demo --save FILE` or `undertone pack` wrote, with a lexicon\n"
                 "  --ledger FILE      where the budget is kept; made if it is not there\n"
                 "  --candidates FILE  what `undertone inspect` printed, to show what the server learns\n"
                 "  --emoji FORM       a form whose one attribute has emoji as categories: the line's topic or its\n"
                 "                     first emoji leaves; not with --every\n"
                 "  --epsilon E        spent on each release [3]\n"
                 "  --every N          a release for every N sentences, 1 to %d, that protects each of them\n"
                 "                     [a release of one line in 52 weeks, that protects all of their lines]\n"
                 "  --budget E         for each day, with --every; an existing ledger keeps its own [9]\n"
                 "  --day N            days since 1970 [today]\n"
                 "  TEXT               a file of typed text [standard input]\n",
                 UNDERTONE_MAX_SENTENCES);
    return 2;
}

/// A number of at most `most`.
std::optional<std::uint64_t> number(const char *text, std::uint64_t most)
{
    if (*text < '0' || *text > '9') return std::nullopt;
    char *end = nullptr;
    errno = 0;
    const unsigned long long value = std::strtoull(text, &end, 10);
    if (*end != '\0' || errno != 0 || value > most) return std::nullopt;
    return value;
}

std::optional<Options> parse(int argc, char **argv)
{
    Options options;
    for (int i = 1; i < argc; i++) {
        const std::string_view name = argv[i];
        if (name.substr(0, 2) != "--") {
            if (!options.text.empty()) return std::nullopt;
            options.text = name;
            continue;
        }
        if (++i == argc) return std::nullopt;
        const char *value = argv[i];
        if (name == "--pack") options.pack = value;
        else if (name == "--ledger") options.ledger = value;
        else if (name == "--candidates") options.candidates = value;
        else if (name == "--emoji") options.emoji = value;
        else if (name == "--epsilon") options.epsilon = value;
        else if (name == "--budget") options.budget = value;
        else if (name == "--every") {
            const auto every = number(value, UNDERTONE_MAX_SENTENCES);
            if (!every || *every == 0) return std::nullopt;
            options.every = static_cast<unsigned>(*every);
        } else if (name == "--day") {
            const auto day = number(value, UINT64_MAX);
            if (!day) return std::nullopt;
            options.day = *day;
        } else return std::nullopt;
    }
    if (options.pack.empty() || options.ledger.empty()) return std::nullopt;
    if (options.every != 0 && !options.emoji.empty()) return std::nullopt;
    return options;
}

/// Says what could not be done, and why.
bool failed(const std::string &what, undertone::Status status)
{
    if (status.ok()) return false;
    std::fprintf(stderr, "keyboard: %s: %s", what.c_str(), status.message());
    if (status.system_error() != 0) std::fprintf(stderr, ": %s", std::strerror(status.system_error()));
    std::fprintf(stderr, "\n");
    return true;
}

class Keyboard {
public:
    Keyboard(undertone::Pack pack, undertone::Document document, undertone::LedgerFile ledger,
             std::vector<Candidate> candidates, std::optional<Emoji> emoji, undertone::Epsilon epsilon,
             undertone::Unit unit, const Options &options)
        : pack_(std::move(pack)), document_(std::move(document)), ledger_(std::move(ledger)),
          candidates_(std::move(candidates)), emoji_(std::move(emoji)), epsilon_(epsilon), every_(options.every),
          unit_(unit), day_(options.day),
          year_(document_, ledger_, epsilon, options.ledger + ".reservoir", emoji_ ? &emoji_->form : nullptr)
    {
    }

    /// Prints the promise of a release before anything is spent. Fails for packs that lack such
    /// releases.
    bool promise() const
    {
        const auto promise = document_.promise(unit_, epsilon_);
        if (failed("the pack", promise.status())) return false;
        if (every_ == 0) {
            // One release leaves, and an answer to a form costs all of its epsilon.
            const std::uint64_t person = std::max<std::uint64_t>(promise->whole_text_micro, epsilon_.micro());
            std::printf("a release protects all lines%s of %u weeks by epsilon %s, each line by epsilon %s\n",
                        emoji_ ? " and their emoji" : "", WEEKS, epsilon_text(person).c_str(),
                        epsilon_text(keyboard::line_micro(person)).c_str());
        } else {
            std::printf("each release protects a sentence by epsilon %s, a whole text by epsilon %s\n\n",
                        epsilon_text(promise->sentence_micro).c_str(), epsilon_text(promise->whole_text_micro).c_str());
        }
        std::fflush(stdout);
        return true;
    }

    /// Says when the next release leaves. Makes the release of a week that is over, and begins with
    /// the lines of this week if one is due.
    bool begin_week()
    {
        const std::uint64_t week = day_ / 7;
        const auto finished = year_.finish(week, [this](const undertone::Release &release) { show(release); });
        if (failed("the last week", finished)) return false;
        const auto appointed = year_.appointed(week);
        if (failed("the ledger", appointed.status())) return false;
        const char *what = appointed->is_emoji ? "first emoji" : "topic";
        std::printf("  week of the year    %" PRIu64 " of %u; appointed is week %" PRIu32 ", for the %s of a line\n",
                    week % WEEKS + 1, WEEKS, appointed->week + 1, what);
        if (failed("this week", year_.begin(week))) return false;
        if (year_.is_drawing())
            std::printf("  your lines          one is drawn, and its %s leaves after this week\n\n", what);
        else std::printf("  your lines          are forgotten: nothing leaves about this week\n\n");
        std::fflush(stdout);
        return true;
    }

    /// Takes a line that was sent, whatever its content.
    bool send(std::string_view line)
    {
        // Nothing was sent.
        if (line.empty()) return true;
        return !failed("a line", year_.push(line, emoji_ ? emoji_->first(line) : undertone::no_answer));
    }

    /// Adds typed text of a long text. `complete`: it was sent, or ended.
    bool type(std::string_view text, bool complete)
    {
        typed_ += text;
        std::size_t done = 0;
        while (const auto sentence = complete ? undertone::next_sentence(typed_, done)
                                              : undertone::next_finished_sentence(typed_, done)) {
            if (!finish(*sentence)) return false;
            done = static_cast<std::size_t>(sentence->data() - typed_.data()) + sentence->size();
        }
        typed_.erase(0, complete ? typed_.size() : done);
        return true;
    }

private:
    /// A release leaves after every `every_` sentences, whatever their content.
    bool finish(std::string_view sentence)
    {
        if (failed("a sentence", document_.push_sentence(sentence))) return false;
        if (++sentences_ < every_) return true;
        sentences_ = 0;
        return upload(std::to_string(every_) + " sentences finished");
    }

    bool upload(const std::string &what)
    {
        // The ledger records the cost before anything is drawn.
        auto grant = ledger_.spend(epsilon_, day_);
        if (grant.status().code() == UNDERTONE_STATUS_LEDGER_EXHAUSTED) {
            std::printf("%s, but the budget of the day is used up: nothing leaves\n\n", what.c_str());
            std::fflush(stdout);
            return !failed("the document", document_.reset());
        }
        if (failed("the ledger", grant.status())) return false;
        const auto release = document_.release(*std::move(grant));
        if (failed("the release", release.status())) return false;
        std::printf("%s\n", what.c_str());
        show(*release);
        return true;
    }

    void show(const undertone::Release &release)
    {
        std::printf("  leaves the device   %s\n", hexadecimal(release.data(), release.size()).c_str());
        const auto content = undertone::read_release(release);
        const auto pack = pack_.id();
        if (content && pack && content->pack_id != *pack) {
            std::printf("  the server learns   %s\n", emoji_->named(*content).c_str());
        } else if (content && content->nothing_known(pack_)) {
            std::printf("  the server learns   nothing: the pack knew nothing of the text, or chance says so\n");
        } else if (content && content->candidate < candidates_.size()) {
            const Candidate &candidate = candidates_[content->candidate];
            std::printf("  the server learns   %s, as in \"%s\"\n", candidate.name.c_str(), candidate.excerpt.c_str());
        } else if (content) {
            std::printf("  the server learns   candidate %" PRIu32 "\n", content->candidate);
        }
        if (every_ != 0) {
            if (const auto left = ledger_.remaining(day_))
                std::printf("  left for the day    epsilon %s\n", epsilon_text(*left).c_str());
        }
        std::printf("\n");
        std::fflush(stdout);
    }

    undertone::Pack pack_;
    undertone::Document document_;
    undertone::LedgerFile ledger_;
    std::vector<Candidate> candidates_;
    std::optional<Emoji> emoji_;
    undertone::Epsilon epsilon_;
    unsigned every_;
    undertone::Unit unit_;
    std::uint64_t day_;
    keyboard::Year year_;
    std::string typed_;
    unsigned sentences_ = 0;
};

} // namespace

int main(int argc, char **argv)
{
    const auto options = parse(argc, argv);
    if (!options) return usage();

    const auto epsilon = undertone::Epsilon::parse(options->epsilon);
    if (failed("--epsilon " + options->epsilon, epsilon.status())) return 2;
    const auto budget = undertone::Epsilon::parse(options->budget);
    if (failed("--budget " + options->budget, budget.status())) return 2;

    auto pack = undertone::Pack::open(options->pack);
    if (failed(options->pack, pack.status())) return 1;
    auto document = undertone::Document::create(*pack);
    if (failed(options->pack, document.status())) return 1;
    // The app chooses the unit of privacy, of releases and ledger, before any letter is typed.
    const auto unit = options->every == 0 ? undertone::Unit::whole_text : undertone::Unit::sentence;
    const auto limit = options->every == 0 ? *epsilon : *budget;
    auto ledger = undertone::LedgerFile::open_or_create(options->ledger, unit, limit.micro());
    if (failed(options->ledger, ledger.status())) return 1;
    std::string why;
    std::vector<Candidate> candidates;
    if (!options->candidates.empty()) {
        const auto id = pack->id();
        if (failed(options->pack, id.status())) return 1;
        if (auto read = keyboard::read_candidates(options->candidates, *id, why)) candidates = std::move(*read);
    }
    std::optional<Emoji> emoji;
    if (why.empty() && !options->emoji.empty()) emoji = Emoji::read(options->emoji, why);
    if (!why.empty()) {
        std::fprintf(stderr, "keyboard: %s\n", why.c_str());
        return 1;
    }

    std::ifstream file;
    if (!options->text.empty()) {
        file.open(options->text);
        if (!file) {
            std::fprintf(stderr, "keyboard: cannot read %s\n", options->text.c_str());
            return 1;
        }
    }
    std::istream &input = options->text.empty() ? std::cin : file;
    // At a terminal each line is a message.
    const bool sent = options->text.empty() && isatty(STDIN_FILENO) == 1;
    if (sent) std::printf("Type; a line is a message. End with Ctrl-D.\n\n");

    Keyboard keyboard(*std::move(pack), *std::move(document), *std::move(ledger), std::move(candidates),
                      std::move(emoji), *epsilon, unit, *options);
    if (!keyboard.promise() || (options->every == 0 && !keyboard.begin_week())) return 1;
    for (std::string line; std::getline(input, line);)
        if (!(options->every == 0 ? keyboard.send(line) : keyboard.type(line + '\n', sent))) return 1;
    return keyboard.type("", true) ? 0 : 1;
}
