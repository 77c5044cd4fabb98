// The cases of misuse and the day of a keyboard that every face runs (tests/faces):
//
//     faces misuse|day GOLDEN FOLDER     the folder with the golden packs, and an empty one for ledgers
//
// It prints the name of each case, and stops at the first with an unexpected result.

#include "undertone.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace undertone;

static const char *current = "before the first case";

static void fail(const char *what, long line)
{
    std::fprintf(stderr, "faces.cpp:%ld: %s: not so: %s\n", line, current, what);
    std::exit(1);
}

#define EXPECT(held) ((held) ? void() : fail(#held, __LINE__))
#define CASE(name) std::puts("case " #name), current = #name
// Checks that a call is refused with the expected status.
#define REFUSED(status, call) EXPECT(why(call) == UNDERTONE_STATUS_##status)
#define MOVED(call) EXPECT(why(call) == STATUS_MOVED)

static std::int32_t why(Status status) { return status.code(); }
template <class T>
static std::int32_t why(const Result<T> &result)
{
    return result.status().code();
}

template <class T>
static T take(Result<T> result)
{
    if (!result) fail(result.status().message(), result.status().code());
    return *std::move(result);
}

using Bytes = std::vector<std::uint8_t>;

static Bytes load(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(file), {});
}

static void store(const std::string &path, const Bytes &bytes)
{
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    EXPECT(file.flush().good());
}

static Grant grant(Unit unit = Unit::sentence, std::uint32_t whole_epsilon = 1)
{
    return take(Grant::unrecorded(unit, Epsilon::from_micro(whole_epsilon * 1000000)));
}

static Result<Grant> spend(LedgerFile &ledger, std::uint32_t whole_epsilon, std::uint64_t window)
{
    return ledger.spend(Epsilon::from_micro(whole_epsilon * 1000000), window);
}

/// Stands for a platform's counter.
class Counted : public Counter {
public:
    std::uint64_t value = 0;
    Result<std::uint64_t> read() noexcept override { return value; }
    Status raise(std::uint64_t to) noexcept override
    {
        value = to;
        return Status();
    }
};

/// A counter that uses the ledger which called it. Without a check its spending would be
/// overwritten: two grants for the price of one.
class Reentrant : public Counted {
public:
    LedgerFile *file = nullptr;
    Result<Grant> spent = Status();
    Result<std::uint64_t> left = Status();
    Status raise(std::uint64_t to) noexcept override
    {
        spent = spend(*file, 1, 20000);
        left = file->remaining(20000);
        return Counted::raise(to);
    }
};

static void misuse_of_packs(const std::string &golden)
{
    const Bytes bytes = load(golden + "golden-scores.pack");
    CASE(short_pack);
    REFUSED(PACK_TOO_SHORT, Pack::own({}));
    CASE(foreign_pack);
    REFUSED(NOT_A_PACK, Pack::own(Bytes(1000)));
    CASE(cut_pack);
    REFUSED(PACK_WRONG_LENGTH, Pack::own(Bytes(bytes.begin(), bytes.end() - 1)));
    CASE(damaged_pack);
    Bytes damaged = bytes;
    damaged.back() ^= 1;
    REFUSED(PACK_DAMAGED, Pack::own(damaged));
    CASE(pack_without_candidates);
    REFUSED(NO_CANDIDATES, Document::create(take(Pack::open(golden + "golden-vectors.pack"))));
    CASE(pack_closed_first);
    Document document = take(Document::create(take(Pack::own(bytes))));
    EXPECT(document.push_sentence("The pack is gone.") && document.release(grant()).ok());
    CASE(pack_from_many_threads);
    const Pack pack = take(Pack::own(bytes));
    std::vector<std::thread> threads;
    std::array<bool, 4> right{};
    for (bool &held : right) {
        threads.emplace_back([&pack, &held] {
            held = true;
            for (int i = 0; i < 25; ++i) {
                Document own = take(Document::create(pack));
                held = own.push_sentence("The choir sings.") && own.release(grant()).ok() && held;
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
    EXPECT(std::all_of(right.begin(), right.end(), [](bool held) { return held; }));
}

static void misuse_of_forms(const std::string &golden)
{
    CASE(foreign_form);
    REFUSED(NOT_A_FORM, Form::own(load(golden + "golden-scores.pack")));
    CASE(damaged_form);
    Bytes bytes = load(golden + "golden.form");
    const Form form = take(Form::own(bytes));
    bytes.back() ^= 1;
    REFUSED(FORM_DAMAGED, Form::own(bytes));
    CASE(wrong_answer_count);
    REFUSED(WRONG_ANSWER_COUNT, form.release({0, 0}, grant(Unit::whole_text)));
    REFUSED(WRONG_ANSWER_COUNT, form.release({0, 0, 0, 0}, grant(Unit::whole_text)));
    CASE(answers_out_of_range);
    EXPECT(form.release({4, 2600, no_answer}, grant(Unit::whole_text)).ok());
    CASE(topic_of_another_pack);
    Document document = take(Document::create(take(Pack::open(golden + "golden-scores.pack"))));
    std::vector<std::uint32_t> answers{4, 2600, no_answer};
    EXPECT(form.answer_topic(document, answers).code() == UNDERTONE_STATUS_FORM_OTHER_PACK);
    EXPECT((answers == std::vector<std::uint32_t>{4, 2600, no_answer}));
    const Form topic = take(Form::own(load(golden + "golden-topic.form")));
    for (const auto &[text, best] : {std::pair("the garden dog", 124u), std::pair("qqq", 200u)}) {
        answers = {1, 0};
        EXPECT(document.push_text(text).ok() && topic.answer_topic(document, answers).ok());
        EXPECT((answers == std::vector<std::uint32_t>{1, best}) && document.sentence_count() == 0);
    }
    CASE(no_such_category);
    REFUSED(NO_SUCH_CATEGORY, form.attribute_name(3));
    REFUSED(NO_SUCH_CATEGORY, form.category_name(0, 4));
    CASE(lines_as_answers);
    const Reservoir::Bytes lines = take(Reservoir::create(document, 7, 1)).bytes();
    REFUSED(RESERVOIR_OTHER_PACK, AnswerReservoir::read(lines.data(), lines.size(), form));
}

static void misuse_of_documents(const std::string &golden)
{
    const Pack pack = take(Pack::open(golden + "golden-scores.pack"));
    Document document = take(Document::create(pack));
    CASE(null_argument);
    MOVED(Document::create(Pack()));
    MOVED(document.release(Grant()));
    REFUSED(NULL_POINTER, document.push(nullptr, 16));
    REFUSED(NULL_POINTER, document.release(grant(), Rule::exponential, Entropy(nullptr, nullptr)));
    CASE(empty_text);
    EXPECT(take(document.push_text("")) == 0 && document.push_sentence(std::string_view()));
    EXPECT(document.sentence_count() == 1);
    CASE(text_that_is_no_unicode);
    EXPECT(document.push_sentence("\xff"));
    EXPECT(take(document.push_text("It \xff snows.")) == 1);
    CASE(long_text);
    EXPECT(document.push_sentence(std::string(1 << 20, 'x')));
    CASE(embedding_of_nan);
    std::vector<float> odd(16, 0.5F);
    odd[3] = std::nanf("");
    odd[4] = HUGE_VALF;
    odd[5] = -HUGE_VALF;
    EXPECT(document.push(odd));
    CASE(short_embedding);
    REFUSED(WRONG_DIMENSION, document.push(odd.data(), 15));
    CASE(embedding_without_text);
    REFUSED(NEEDS_TEXT, take(Document::create(take(Pack::open(golden + "golden-features.pack")))).push(odd));
    CASE(full_document);
    EXPECT(document.reset());
    for (int i = 0; i < UNDERTONE_MAX_SENTENCES; ++i) EXPECT(document.push_sentence("Another one."));
    REFUSED(DOCUMENT_FULL, document.push_sentence("One more."));

    CASE(release_of_nothing);
    EXPECT(document.reset() && document.release(grant()).ok());
    CASE(release_twice);
    EXPECT(document.push_sentence("Once.") && document.release(grant()).ok() && document.release(grant()).ok());
    CASE(whole_text_without_scores);
    Document depth = take(Document::create(take(Pack::open(golden + "golden.pack"))));
    REFUSED(NO_SCORES, depth.release_whole_text(grant(Unit::whole_text)));
    Reservoir reservoir = take(Reservoir::create(document, 7, 1));
    CASE(reservoir_of_another_pack);
    Document other = take(Document::create(take(Pack::open(golden + "golden-vote.pack"))));
    REFUSED(RESERVOIR_OTHER_PACK, reservoir.push(other));
    CASE(damaged_reservoir);
    Reservoir::Bytes flipped = reservoir.bytes();
    flipped.back() ^= 1;
    REFUSED(RESERVOIR_DAMAGED, Reservoir::read(flipped.data(), flipped.size(), document));
    CASE(used_grant);
    Grant once = grant();
    EXPECT(document.release(std::move(once)).ok());
    // NOLINTNEXTLINE: the behaviour of a moved-from grant is promised.
    MOVED(document.release(std::move(once)));
    CASE(grant_of_another_unit);
    REFUSED(GRANT_WRONG_UNIT, document.release(grant(Unit::whole_text)));
    CASE(failed_entropy);
    const auto never = [](std::uint8_t *, std::size_t) { return false; };
    EXPECT(document.push_sentence("It stays."));
    REFUSED(ENTROPY_FAILED, document.release(grant(), Rule::exponential, Entropy(never)));
    EXPECT(document.sentence_count() == 1);
    CASE(release_from_the_entropy);
    Status within;
    auto reentrant = [&](std::uint8_t *out, std::size_t len) {
        within = document.push_sentence("In between.");
        std::fill(out, out + len, std::uint8_t{7}); // known to all, as is the text
        return true;
    };
    EXPECT(document.release(grant(), Rule::exponential, Entropy(reentrant)).ok());
    REFUSED(BUSY, within);
    CASE(unknown_rule);
    REFUSED(UNKNOWN_RULE, document.release(grant(), static_cast<Rule>(9)));
    CASE(unknown_unit);
    REFUSED(UNKNOWN_UNIT, Grant::unrecorded(static_cast<Unit>(9), Epsilon::from_micro(1)));
    CASE(moved_handle);
    Document there = std::move(document);
    // NOLINTNEXTLINE: the behaviour of a moved-from document is promised.
    MOVED(document.push_sentence("Nowhere."));
    CASE(document_after_close);
    there = Document();
    MOVED(there.push_sentence("Nowhere."));
    MOVED(there.push_text("Nowhere."));
    MOVED(there.release(grant()));

    CASE(short_release);
    Document last = take(Document::create(pack));
    Release release = take(last.release(grant()));
    REFUSED(RELEASE_WRONG_LENGTH, read_release(release.data(), 23));
    CASE(foreign_release);
    REFUSED(NOT_A_RELEASE, read_release(Release{}));
    CASE(forged_release);
    release[4] = 99;
    REFUSED(RELEASE_MALFORMED, read_release(release));

    CASE(epsilon_not_a_number);
    REFUSED(EPSILON_NOT_A_NUMBER, Epsilon::parse("much"));
    REFUSED(EPSILON_NOT_A_NUMBER, Epsilon::parse("nan"));
    CASE(epsilon_zero);
    REFUSED(EPSILON_TOO_SMALL, Grant::unrecorded(Unit::sentence, Epsilon::from_micro(0)));
    CASE(epsilon_too_large);
    REFUSED(EPSILON_TOO_LARGE, Grant::unrecorded(Unit::sentence, Epsilon::from_micro(1000000001)));
    REFUSED(EPSILON_TOO_LARGE, Epsilon::parse("1000.000001"));
}

static void misuse_of_ledgers(const std::string &golden, const std::string &folder)
{
    const std::string path = folder + "/misuse";
    CASE(missing_ledger);
    EXPECT(why(LedgerFile::open(path, Unit::sentence)) == STATUS_FILE_FAILED);
    CASE(ledger_without_budget);
    REFUSED(LEDGER_NO_BUDGET, LedgerFile::open_or_create(path, Unit::sentence, 0));
    LedgerFile ledger = take(LedgerFile::open_or_create(path, Unit::sentence, 10000000));
    CASE(ledger_in_use);
    REFUSED(LEDGER_IN_USE, LedgerFile::open(path, Unit::sentence));
    CASE(over_budget);
    EXPECT(spend(ledger, 7, 20000).ok());
    REFUSED(LEDGER_EXHAUSTED, spend(ledger, 4, 20000));
    CASE(clock_set_back);
    EXPECT(spend(ledger, 1, 20001).ok());
    REFUSED(LEDGER_FROM_FUTURE, spend(ledger, 1, 20000));
    CASE(ledger_after_close);
    ledger = LedgerFile();
    MOVED(spend(ledger, 1, 20001));
    MOVED(ledger.remaining(20001));
    CASE(ledger_of_another_unit);
    REFUSED(LEDGER_WRONG_UNIT, LedgerFile::open(path, Unit::whole_text));
    const Bytes whole = load(path);
    CASE(short_ledger);
    store(path, Bytes(whole.begin(), whole.end() - 1));
    REFUSED(LEDGER_WRONG_LENGTH, LedgerFile::open(path, Unit::sentence));
    CASE(foreign_ledger);
    store(path, Bytes(whole.size()));
    REFUSED(NOT_A_LEDGER, LedgerFile::open(path, Unit::sentence));
    CASE(damaged_ledger);
    Bytes damaged = whole;
    damaged[30] ^= 1;
    damaged[100] ^= 1;
    store(path, damaged);
    REFUSED(LEDGER_DAMAGED, LedgerFile::open(path, Unit::sentence));

    LedgerFile words = take(LedgerFile::open_or_create(folder + "/words", Unit::word, 10000000));
    const Epsilon one = Epsilon::from_micro(1000000);
    CASE(words_out_of_range);
    REFUSED(WORD_COUNT_OUT_OF_RANGE, words.spend(one, 20000, 0));
    REFUSED(WORD_COUNT_OUT_OF_RANGE, words.spend(one, 20000, 257));
    CASE(bag_of_more_words);
    Bag bag = take(Bag::create(take(Vocabulary::create(take(Pack::open(golden + "golden-scores.pack"))))));
    REFUSED(GRANT_TOO_FEW_WORDS, bag.release(take(words.spend(one, 20000)), 2));
    CASE(grant_of_another_epsilon);
    const VectorMechanism mechanism = take(VectorMechanism::create(4, 0, one));
    REFUSED(GRANT_WRONG_EPSILON, mechanism.release(grant(Unit::vector, 2), std::vector<float>(4)));

    CASE(set_back_ledger);
    Counted counter;
    const std::string counted = folder + "/counted";
    Bytes older;
    {
        LedgerFile file = take(LedgerFile::open_or_create(counted, Unit::sentence, 10000000, &counter));
        older = load(counted);
        EXPECT(spend(file, 1, 20000).ok() && spend(file, 1, 20000).ok());
    }
    store(counted, older);
    REFUSED(LEDGER_SET_BACK, LedgerFile::open(counted, Unit::sentence, &counter));

    CASE(counter_uses_its_ledger);
    Reentrant reentrant;
    LedgerFile file = take(LedgerFile::open_or_create(folder + "/reentrant", Unit::sentence, 10000000, &reentrant));
    reentrant.file = &file;
    for (const std::uint64_t left : {9000000U, 8000000U}) {
        EXPECT(spend(file, 1, 20000).ok());
        REFUSED(BUSY, reentrant.spent);
        REFUSED(BUSY, reentrant.left);
        EXPECT(take(file.remaining(20000)) == left);
    }
}

static void day(const std::string &golden, const std::string &folder)
{
    const std::string path = folder + "/day";
    const Pack pack = take(Pack::open(golden + "golden-scores.pack"));
    LedgerFile ledger;
    const auto left = [&](std::uint64_t window) { return take(ledger.remaining(window)); };
    const auto reopen = [&] {
        ledger = LedgerFile();
        ledger = take(LedgerFile::open(path, Unit::sentence));
    };
    const auto restore = [&](const Bytes &bytes) {
        ledger = LedgerFile();
        store(path, bytes);
        reopen();
    };

    CASE(new_ledger);
    ledger = take(LedgerFile::open_or_create(path, Unit::sentence, 10000000));
    EXPECT(load(path).size() == 128 && left(20000) == 10000000);
    CASE(typed_text);
    Document document = take(Document::create(pack));
    const char *const typed = "My doctor wants to repeat the blood test. The clinic called about the swollen node.";
    EXPECT(take(document.push_text(typed)) == 2);
    CASE(first_spend);
    Grant first = take(spend(ledger, 3, 20000));
    EXPECT(left(20000) == 7000000);
    CASE(first_release);
    const Release release = take(document.release(std::move(first)));
    const ReleaseContent content = take(read_release(release));
    EXPECT(release.size() == 24 && content.epsilon.micro() == 3000000 && content.unit == Unit::sentence);
    EXPECT(content.rule == Rule::permute_and_flip && content.order == 0 && content.candidate < 200);
    EXPECT((content.pack_id == Pack::Id{0x16, 0xf4, 0xb6, 0x45, 0x59, 0xf9, 0x09, 0x96}));
    EXPECT(document.sentence_count() == 0);
    CASE(second_release);
    EXPECT(document.push_sentence("We won the match.") && document.release(take(spend(ledger, 4, 20000))).ok());
    EXPECT(left(20000) == 3000000);
    CASE(refused_spend);
    REFUSED(LEDGER_EXHAUSTED, spend(ledger, 4, 20000));
    EXPECT(left(20000) == 3000000);
    CASE(reopened);
    reopen();
    EXPECT(left(20000) == 3000000);

    CASE(killed_before);
    const Bytes before = load(path);
    EXPECT(spend(ledger, 1, 20000).ok() && left(20000) == 2000000);
    const Bytes after = load(path);
    restore(before);
    EXPECT(left(20000) == 3000000);
    CASE(killed_after);
    restore(after);
    EXPECT(left(20000) == 2000000);
    CASE(killed_in_between);
    const bool second_half = std::equal(before.begin(), before.begin() + 64, after.begin());
    EXPECT(second_half || std::equal(before.begin() + 64, before.end(), after.begin() + 64));
    Bytes torn = before;
    std::copy_n(after.begin() + (second_half ? 64 : 0), 40, torn.begin() + (second_half ? 64 : 0));
    restore(torn);
    EXPECT(left(20000) == 0);
    CASE(lost_record);
    REFUSED(LEDGER_RECORD_LOST, spend(ledger, 1, 20000));
    EXPECT(left(20000) == 0);
    CASE(rest_of_the_window);
    REFUSED(LEDGER_EXHAUSTED, spend(ledger, 1, 20000));
    EXPECT(left(20000) == 0);
    CASE(next_window);
    Grant next = take(spend(ledger, 3, 20001));
    EXPECT(document.push_sentence("The rehearsal is at seven.") && document.release(std::move(next)).ok());
    EXPECT(left(20001) == 7000000);
    CASE(clock_back);
    REFUSED(LEDGER_FROM_FUTURE, spend(ledger, 1, 20000));
    EXPECT(left(20001) == 7000000);

    CASE(emptied);
    ledger = LedgerFile();
    store(path, {});
    REFUSED(LEDGER_WRONG_LENGTH, LedgerFile::open(path, Unit::sentence));
    CASE(recreated);
    ledger = take(LedgerFile::recreate_spent(path, Unit::sentence, 10000000, 20001));
    EXPECT(left(20001) == 0 && left(20002) == 10000000);
    CASE(refused_anew);
    REFUSED(LEDGER_EXHAUSTED, spend(ledger, 1, 20001));
    CASE(new_day);
    Grant fresh = take(spend(ledger, 3, 20002));
    EXPECT(document.push_sentence("Good morning.") && document.release(std::move(fresh)).ok());
    EXPECT(left(20002) == 7000000);
}

/// A device that releases once in 52 weeks, and starts again for each line.
static void year(const std::string &golden, const std::string &folder)
{
    const Schedule schedule{52, 1, Epsilon::from_micro(3000000)};
    const std::string path = folder + "/year";
    Document document = take(Document::create(take(Pack::open(golden + "golden-scores.pack"))));
    LedgerFile ledger = take(LedgerFile::open_or_create(path, Unit::whole_text, 3000000));
    const std::vector<std::uint16_t> slots = take(ledger.appointment(2026, schedule));
    EXPECT(slots.size() == 1 && slots[0] < 52);
    EXPECT(take(ledger.appointment(2026, {3, 5, schedule.epsilon})) == std::vector<std::uint16_t>({0, 1, 2}));
    REFUSED(SCHEDULE_OUT_OF_RANGE, ledger.is_due(2026, schedule, 52));
    int releases = 0;
    for (std::uint32_t week = 0; week < 52; ++week) {
        const bool due = take(ledger.is_due(2026, schedule, week));
        EXPECT(due == (week == slots[0]));
        if (!due) continue;
        Reservoir::Bytes stored = take(Reservoir::create(document, 2026 * 52 + week, 2)).bytes();
        for (int line = 0; line < 5; ++line) {
            Reservoir reservoir = take(Reservoir::read(stored.data(), stored.size(), document));
            EXPECT(document.push_sentence("The choir sings.") && reservoir.push(document));
            stored = reservoir.bytes();
        }
        Reservoir reservoir = take(Reservoir::read(stored.data(), stored.size(), document));
        EXPECT(reservoir.slot() == 2026 * 52 + week);
        Grant paid = take(ledger.spend(schedule.epsilon, 2026));
        const Release release = take(reservoir.release(document, LineMechanism::whole_text, std::move(paid)));
        EXPECT(take(read_release(release)).unit == Unit::whole_text);
        EXPECT(reservoir.bytes() == Reservoir::Bytes{});
        ++releases;
    }
    EXPECT(releases == 1);

    const Form form = take(Form::own(load(golden + "golden.form")));
    AnswerReservoir answers = take(AnswerReservoir::create(form, 9, 2));
    for (int line = 0; line < 5; ++line) {
        const AnswerReservoir::Bytes stored = answers.bytes();
        answers = take(AnswerReservoir::read(stored.data(), stored.size(), form));
        EXPECT(answers.push(form, {2, no_answer, 0}));
    }
    EXPECT(answers.slot() == 9);
    REFUSED(WRONG_ANSWER_COUNT, answers.push(form, {2}));
    const Release answer = take(answers.release(form, grant(Unit::whole_text)));
    EXPECT(take(read_release(answer)).unit == Unit::whole_text);
    EXPECT(answers.bytes() == AnswerReservoir::Bytes{});

    Reservoir sentences = take(Reservoir::create(document, 0, 3));
    EXPECT(document.push_sentence("One.") && sentences.push(document));
    const Release drawn = take(sentences.release(document, LineMechanism::drawn, grant(Unit::sentence)));
    EXPECT(take(read_release(drawn)).unit == Unit::sentence && take(read_release(drawn)).order == 3);
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    const std::string golden = std::string(argv[2]) + "/";
    if (argv[1] == std::string("day")) {
        day(golden, argv[3]);
    } else {
        misuse_of_packs(golden);
        misuse_of_forms(golden);
        misuse_of_documents(golden);
        misuse_of_ledgers(golden, argv[3]);
        year(golden, argv[3]);
    }
    return 0;
}
