// Calls everything in undertone.hpp, correctly and wrongly: a template that is never instantiated
// compiles even if it is wrong.
//
//     every_method PACK PROJECTION FEATURES FOLDER
//         the golden pack, which has a lexicon and candidates; a pack with a projection; a pack
//         with features, an encoder and the word "dentist"; a folder to write to
//     every_method --take PACK    takes the value of a failed Result, which ends the program

#include "undertone.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

using namespace undertone;

undertone::Result<undertone::Pack> open_elsewhere(const char *path);

static void fail(const char *what, long line)
{
    std::fprintf(stderr, "every_method.cpp:%ld: not so: %s\n", line, what);
    std::exit(1);
}

#define EXPECT(held) ((held) ? void() : fail(#held, __LINE__))

// The value of a call that must succeed.
template <class T>
static T take(Result<T> result)
{
    if (!result) {
        std::fprintf(stderr, "every_method: %s (status %ld)\n", result.status().message(),
                     static_cast<long>(result.status().code()));
        std::exit(1);
    }
    return *std::move(result);
}

template <class T>
static std::int32_t why(const Result<T> &result)
{
    EXPECT(!result.ok());
    return result.status().code();
}

// Moves, never copies, and is empty afterwards.
template <class T>
static void moves(T handle)
{
    static_assert(!std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>, "handles are move-only");
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>, "moves cannot fail");
    static_assert(std::is_nothrow_default_constructible_v<T>, "an empty handle needs no memory");
    const auto *address = std::as_const(handle).capi();
    EXPECT(address != nullptr && handle.capi() == address);
    T there(std::move(handle));
    EXPECT(there.capi() == address);
    T other;
    EXPECT(other.capi() == nullptr);
    other = std::move(there);
    EXPECT(other.capi() == address);
    // NOLINTNEXTLINE: the state of a moved-from handle is promised.
    EXPECT(there.capi() == nullptr && handle.capi() == nullptr);
}

// Public bytes.
struct KnownBytes {
    std::uint8_t next = 1;
    int calls = 0;
    bool works = true;

    bool operator()(std::uint8_t *out, std::size_t len)
    {
        ++calls;
        for (std::size_t i = 0; i < len; ++i) out[i] = next++;
        return works;
    }
};

static std::int32_t zeroes(void *context, std::uint8_t *out, std::size_t len)
{
    ++*static_cast<int *>(context);
    std::memset(out, 0, len);
    return 0;
}

static void statuses()
{
    EXPECT(Status().ok() && Status() && Status().code() == UNDERTONE_STATUS_OK);
    const Status refused(UNDERTONE_STATUS_DOCUMENT_FULL);
    EXPECT(!refused && refused.system_error() == 0);
    EXPECT(std::strcmp(refused.message(), undertone_status_message(UNDERTONE_STATUS_DOCUMENT_FULL)) == 0);
    const Status system = Status::system(ENOENT);
    EXPECT(system.code() == STATUS_FILE_FAILED && system.system_error() == ENOENT);
    for (const Status status : {system, Status(STATUS_OUT_OF_MEMORY), Status(STATUS_MOVED)})
        EXPECT(std::strcmp(status.message(), undertone_status_message(status.code())) != 0);

    Result<std::string> text(std::string("text"));
    EXPECT(text.ok() && text && text.status().ok() && *text == "text" && text->size() == 4);
    const Result<std::string> &constant = text;
    EXPECT(*constant == "text" && constant->size() == 4);
    EXPECT(*std::move(text) == "text");
    EXPECT(why(Result<int>(refused)) == UNDERTONE_STATUS_DOCUMENT_FULL);
    // A failure has a reason.
    EXPECT(why(Result<int>(Status())) == UNDERTONE_STATUS_INTERNAL);

    EXPECT(take(Epsilon::parse("2.5")).micro() == 2500000);
    EXPECT(why(Epsilon::parse("much")) == UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER);
    EXPECT(why(Epsilon::parse(std::string_view())) == UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER);
    EXPECT(why(Epsilon::parse("1001")) == UNDERTONE_STATUS_EPSILON_TOO_LARGE);
    EXPECT(why(Epsilon::parse("0")) == UNDERTONE_STATUS_EPSILON_TOO_SMALL);
    EXPECT(Epsilon::from_micro(7).micro() == 7);
}

static void exceptions()
{
#if UNDERTONE_EXCEPTIONS
    or_throw(Status());
    EXPECT(or_throw(Epsilon::parse("1")).micro() == 1000000);
    try {
        or_throw(Epsilon::parse("much"));
        fail("an error is thrown", __LINE__);
    } catch (const Error &error) {
        EXPECT(error.status().code() == UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER);
        EXPECT(std::strcmp(error.what(), error.status().message()) == 0);
    }
    try {
        or_throw(Status::system(ENOENT));
        fail("an error is thrown", __LINE__);
    } catch (const Error &error) {
        EXPECT(std::string(error.what()).find(std::strerror(ENOENT)) != std::string::npos);
    }
#endif
}

static Grant grant(Unit unit = Unit::sentence, std::uint32_t micro = 1000000)
{
    return take(Grant::unrecorded(unit, Epsilon::from_micro(micro)));
}

static std::vector<std::uint8_t> bytes_of(const char *path)
{
    std::vector<std::uint8_t> bytes;
    std::FILE *file = std::fopen(path, "rb");
    EXPECT(file != nullptr);
    for (int c; (c = std::fgetc(file)) != EOF;) bytes.push_back(static_cast<std::uint8_t>(c));
    std::fclose(file);
    return bytes;
}

static void packs(const char *path)
{
    const std::vector<std::uint8_t> bytes = bytes_of(path);
    const Pack view = take(Pack::view(bytes.data(), bytes.size()));
    const Pack own = take(Pack::own(bytes));
    const Pack file = take(Pack::open(std::string(path)));
    const Pack elsewhere = take(open_elsewhere(path));
    for (const Pack *pack : {&view, &own, &file, &elsewhere}) {
        EXPECT(pack->dimension() > 0 && pack->candidate_count() > 0 && pack->direction_count() > 0 &&
               pack->word_count() > 0);
        EXPECT(pack->selector() == UNDERTONE_SELECTOR_DEPTH && pack->largest_score() == 0);
        undertone_pack_description described{};
        EXPECT(undertone_pack_describe(pack->capi(), &described) == UNDERTONE_STATUS_OK);
        EXPECT(pack->projected_dimension() == described.projected_dimension);
        EXPECT(take(pack->id()) == take(view.id()));
        EXPECT(take(pack->encoder_digest()) == take(view.encoder_digest()));
        EXPECT(take(pack->encoder_name()) == "golden");
        EXPECT(take(pack->embed_sentence("any words")).size() == pack->dimension());
    }
    moves(take(Pack::open(path)));

    const Result<Pack> missing = Pack::open("/no/such.pack");
    EXPECT(why(missing) == STATUS_FILE_FAILED && missing.status().system_error() == ENOENT);
    EXPECT(why(Pack::open("/")) == STATUS_FILE_FAILED);
    EXPECT(why(Pack::own({})) == UNDERTONE_STATUS_PACK_TOO_SHORT);
    EXPECT(why(Pack::view(nullptr, 0)) == UNDERTONE_STATUS_PACK_TOO_SHORT);
    EXPECT(why(Pack::own(std::vector<std::uint8_t>(1000))) == UNDERTONE_STATUS_NOT_A_PACK);

    const Pack empty;
    EXPECT(empty.dimension() == 0 && empty.candidate_count() == 0 && empty.direction_count() == 0 &&
           empty.word_count() == 0);
    EXPECT(empty.projected_dimension() == 0 && empty.selector() == 0 && empty.largest_score() == 0);
    EXPECT(why(empty.id()) == STATUS_MOVED &&
           why(empty.encoder_digest()) == STATUS_MOVED);
    EXPECT(why(empty.encoder_name()) == STATUS_MOVED &&
           why(empty.embed_sentence("")) == STATUS_MOVED);
}

static void documents(const char *path)
{
    // The pack is destroyed, its bytes stay.
    Document document = take(Document::create(take(Pack::open(path))));
    const Pack pack = take(Pack::open(path));
    const std::vector<float> embedding(pack.dimension(), 0.25F);
    EXPECT(document.push(embedding));
    EXPECT(document.push(embedding.data(), embedding.size()));
    EXPECT(document.push_sentence("One sentence."));
    EXPECT(document.push_sentence(std::string_view()));
    std::vector<float> several(5 * embedding.size(), 0.5f);
    auto batch = take(Document::create(pack));
    EXPECT(take(batch.push_all(several)) == 5 && batch.sentence_count() == 5);
    EXPECT(take(batch.push_all(several.data(), embedding.size())) == 1 && take(batch.push_all({})) == 0);
    EXPECT(why(batch.push_all(several.data(), 1)) == UNDERTONE_STATUS_WRONG_DIMENSION);
    for (int i = 0; i < UNDERTONE_MAX_SENTENCES / 5; ++i) EXPECT(batch.push_all(several));
    EXPECT(batch.sentence_count() == UNDERTONE_MAX_SENTENCES && take(batch.push_all(several)) == 0);
    EXPECT(document.push(embedding.data(), 1).code() == UNDERTONE_STATUS_WRONG_DIMENSION);
    EXPECT(document.push(std::vector<float>()).code() == UNDERTONE_STATUS_WRONG_DIMENSION);

    // The same bytes, the same release; the entropy is asked once.
    const auto drawn = [&](Document &from, KnownBytes source) {
        EXPECT(from.push_sentence("One sentence."));
        const Release release = take(from.release(grant(), Rule::exponential, Entropy(source)));
        EXPECT(source.calls == 1);
        return release;
    };
    EXPECT(document.reset());
    Document second = take(Document::create(pack));
    EXPECT(drawn(document, KnownBytes()) == drawn(second, KnownBytes()));
    // Over a document that holds a sentence and other bytes.
    EXPECT(second.push_sentence("Forgotten."));
    second = std::move(document);
    EXPECT(drawn(second, KnownBytes()) == drawn(second, KnownBytes()));

    const Release release = take(second.release(grant(Unit::sentence, 2500000)));
    const ReleaseContent content = take(read_release(release));
    EXPECT(content.candidate < pack.candidate_count() && content.epsilon.micro() == 2500000);
    EXPECT(content.rule == Rule::permute_and_flip && content.pack_id == take(pack.id()));
    std::vector<std::uint8_t> longer(release.begin(), release.end());
    EXPECT(take(read_release(longer)).candidate == content.candidate);
    longer.push_back(0);
    EXPECT(why(read_release(longer)) == UNDERTONE_STATUS_RELEASE_WRONG_LENGTH);
    EXPECT(why(read_release(Release{})) == UNDERTONE_STATUS_NOT_A_RELEASE);
    EXPECT(why(read_release(nullptr, 0)) == UNDERTONE_STATUS_RELEASE_WRONG_LENGTH);

    KnownBytes broken;
    broken.works = false;
    EXPECT(why(second.release(grant(), Rule::exponential, Entropy(broken))) == UNDERTONE_STATUS_ENTROPY_FAILED);
    const auto never = [](std::uint8_t *, std::size_t) { return false; };
    EXPECT(why(second.release(grant(), Rule::exponential, Entropy(never))) == UNDERTONE_STATUS_ENTROPY_FAILED);
    int calls = 0;
    EXPECT(why(second.release(grant(), Rule::exponential, Entropy(zeroes, &calls))) == UNDERTONE_STATUS_ENTROPY_FAILED);
    EXPECT(calls == 1);
    EXPECT(why(second.release(grant(), static_cast<Rule>(9))) == UNDERTONE_STATUS_UNKNOWN_RULE);
    EXPECT(why(second.release(grant(), Rule::exponential, Entropy(nullptr, nullptr))) == UNDERTONE_STATUS_NULL_POINTER);
    EXPECT(why(second.release(Grant())) == STATUS_MOVED);
    Grant moved = grant();
    Grant held = std::move(moved);
    EXPECT(why(second.release(std::move(moved))) == STATUS_MOVED);
    EXPECT(second.release(std::move(held)).ok());
    EXPECT(why(Grant::unrecorded(Unit::sentence, Epsilon::from_micro(0))) == UNDERTONE_STATUS_EPSILON_TOO_SMALL);
    moves(grant());

    EXPECT(take(second.push_text("One. Two! Three")) == 3 && take(second.push_text("")) == 0);
    EXPECT(second.sentence_count() == 3 && second.reset() && second.sentence_count() == 0);
    for (int i = 0; i < UNDERTONE_MAX_SENTENCES; ++i) EXPECT(second.push_sentence("Another one."));
    EXPECT(second.push_sentence("One too many.").code() == UNDERTONE_STATUS_DOCUMENT_FULL);
    moves(std::move(second));

    Document none;
    EXPECT(none.push(embedding).code() == STATUS_MOVED &&
           none.push_sentence("").code() == STATUS_MOVED);
    EXPECT(why(none.push_text("")) == STATUS_MOVED &&
           why(none.push_all(embedding)) == STATUS_MOVED);
    EXPECT(none.sentence_count() == 0);
    EXPECT(none.reset().code() == STATUS_MOVED &&
           why(none.release(grant())) == STATUS_MOVED);
    EXPECT(why(Document::create(Pack())) == STATUS_MOVED);
}

static void whole_texts(const char *path, const char *features)
{
    const Pack depth = take(Pack::open(path));
    const Epsilon two = Epsilon::from_micro(2000000);
    EXPECT(depth.feature_count() == 0 && depth.level_count() == 0 && depth.nothing_known() == UINT32_MAX);
    Document none = take(Document::create(depth));
    EXPECT(take(none.promise(Unit::sentence, two)).sentence_micro == 2000000);
    EXPECT(why(none.promise(Unit::whole_text, two)) == UNDERTONE_STATUS_NO_SCORES);
    EXPECT(why(none.release_whole_text(grant(Unit::whole_text))) == UNDERTONE_STATUS_NO_SCORES);
    EXPECT(why(none.release_projective(grant(Unit::whole_text))) == UNDERTONE_STATUS_NO_SCORES);
    const std::vector<float> quarter(depth.dimension(), 0.25F);
    EXPECT(none.push_encoded("Not looked at.", quarter));
    EXPECT(none.sentence_count() == 1);
    const ReleaseContent by_sentence = take(read_release(take(none.release(grant()))));
    EXPECT(by_sentence.unit == Unit::sentence && !by_sentence.nothing_known(depth));

    const Pack pack = take(Pack::open(features));
    EXPECT(pack.feature_count() > 0 && pack.level_count() == 160 && pack.nothing_known() == pack.candidate_count());
    Document document = take(Document::create(pack));
    const std::vector<float> embedding(pack.dimension());
    EXPECT(document.push(embedding).code() == UNDERTONE_STATUS_NEEDS_TEXT);
    EXPECT(why(document.push_all(embedding)) == UNDERTONE_STATUS_NEEDS_TEXT);
    EXPECT(document.push_sentence("dentist").code() == UNDERTONE_STATUS_NO_LEXICON);
    EXPECT(document.push_encoded("dentist", embedding.data(), 1).code() == UNDERTONE_STATUS_WRONG_DIMENSION);
    const Promise sentence = take(document.promise(Unit::sentence, two));
    const Promise whole_text = take(document.promise(Unit::whole_text, two));
    EXPECT(sentence.sentence_micro == 2000000 && sentence.whole_text_micro == 20568149);
    EXPECT(whole_text.sentence_micro == 2000000 && whole_text.whole_text_micro == 2000000);
    EXPECT(why(document.promise(static_cast<Unit>(9), two)) == UNDERTONE_STATUS_UNKNOWN_UNIT);
    EXPECT(why(document.promise(Unit::sentence, Epsilon::from_micro(0))) == UNDERTONE_STATUS_EPSILON_TOO_SMALL);

    // At the largest epsilon another outcome has a chance of 2^-48.
    const auto drawn = [&](const char *text) {
        EXPECT(document.push_encoded(text, embedding));
        return take(read_release(take(document.release_whole_text(grant(Unit::whole_text, UNDERTONE_MAX_EPSILON_MICRO)))));
    };
    const ReleaseContent known = drawn("my dentist");
    EXPECT(known.unit == Unit::whole_text && known.rule == Rule::exponential && known.candidate == 0);
    EXPECT(!known.nothing_known(pack) && known.pack_id == take(pack.id()));
    EXPECT(drawn("zzz").nothing_known(pack));
    KnownBytes one;
    KnownBytes two_bytes;
    EXPECT(take(document.release_whole_text(grant(Unit::whole_text), Entropy(one))) ==
           take(document.release_whole_text(grant(Unit::whole_text), Entropy(two_bytes))));
    EXPECT(one.calls == 1);

    const auto point = [&](const char *text) {
        EXPECT(document.push_encoded(text, embedding));
        return take(read_release(take(document.release_projective(grant(Unit::whole_text, UNDERTONE_MAX_EPSILON_MICRO)))));
    };
    const ReleaseContent named = point("zzz");
    EXPECT(named.unit == Unit::whole_text && named.rule == Rule::exponential && named.order >= 2);
    EXPECT(!named.nothing_known(pack) && known.order == 0 && by_sentence.order == 0);
    EXPECT(take(document.release_projective(grant(Unit::whole_text), Entropy(one))) ==
           take(document.release_projective(grant(Unit::whole_text), Entropy(two_bytes))));
    EXPECT(one.calls == 2);

    Document moved_from;
    EXPECT(why(moved_from.release_projective(grant(Unit::whole_text))) == STATUS_MOVED);
    EXPECT(moved_from.push_encoded("", embedding).code() == STATUS_MOVED);
    EXPECT(why(moved_from.promise(Unit::sentence, two)) == STATUS_MOVED);
    EXPECT(why(moved_from.release_whole_text(grant(Unit::whole_text))) == STATUS_MOVED);
    EXPECT(Pack().feature_count() == 0 && Pack().level_count() == 0 && Pack().nothing_known() == UINT32_MAX);
}

static void vectors(const Pack &pack, const char *projection)
{
    const Epsilon epsilon = Epsilon::from_micro(1000000);
    const VectorMechanism mechanism = take(VectorMechanism::create(4, 0, epsilon));
    EXPECT(mechanism.dimension() == 4);
    const std::vector<float> embedding{0.5F, -0.5F, 0.5F, -0.5F};
    const std::vector<std::uint8_t> release = take(mechanism.release(grant(Unit::vector), embedding));
    EXPECT(release.size() == mechanism.release_len());
    EXPECT(take(mechanism.release(grant(Unit::vector), embedding.data(), embedding.size())).size() == release.size());
    KnownBytes one;
    KnownBytes two;
    EXPECT(take(mechanism.release(grant(Unit::vector), embedding, Entropy(one))) ==
           take(mechanism.release(grant(Unit::vector), embedding.data(), embedding.size(), Entropy(two))));

    const VectorReleaseContent content = take(read_vector_release(release));
    EXPECT(content.dimension == 4 && content.noise == Noise::laplace && content.epsilon.micro() == 1000000);
    EXPECT(content.pack_id == Pack::Id{});
    const std::vector<std::int32_t> steps = take(read_vector_release_steps(release));
    const std::vector<double> values = take(read_vector_release_values(release));
    EXPECT(steps.size() == 4 && values.size() == 4);
    for (std::size_t i = 0; i < steps.size(); ++i)
        EXPECT(std::abs(values[i] - std::ldexp(steps[i], content.grid_exponent)) == 0.0);

    const VectorMechanism discrete = take(VectorMechanism::create(4, 0, epsilon, Noise::discrete_laplace));
    EXPECT(take(read_vector_release(take(discrete.release(grant(Unit::vector), embedding)))).noise == Noise::discrete_laplace);
    moves(take(VectorMechanism::create(1, 0, epsilon)));

    EXPECT(why(mechanism.release(grant(Unit::vector), embedding.data(), 3)) == UNDERTONE_STATUS_WRONG_DIMENSION);
    EXPECT(!mechanism.release(grant(Unit::vector, 2000000), embedding).ok());
    EXPECT(why(mechanism.release(Grant(), embedding)) == STATUS_MOVED);
    EXPECT(why(VectorMechanism().release(grant(Unit::vector), embedding)) == STATUS_MOVED);
    EXPECT(VectorMechanism().dimension() == 0 && VectorMechanism().release_len() == 0);
    EXPECT(why(VectorMechanism::create(0, 0, epsilon)) == UNDERTONE_STATUS_DIMENSION_OUT_OF_RANGE);
    EXPECT(why(VectorMechanism::create(4, 0, epsilon, static_cast<Noise>(9))) == UNDERTONE_STATUS_UNKNOWN_NOISE);
    // The pack is destroyed, its bytes stay.
    const Pack::Id projected_by = take(take(Pack::open(projection)).id());
    const std::uint32_t coordinates = take(Pack::open(projection)).projected_dimension();
    const VectorMechanism projected =
        take(VectorMechanism::projected(take(Pack::open(projection)), epsilon, Noise::discrete_laplace));
    const std::vector<float> longer(projected.dimension(), 0.25F);
    const VectorReleaseContent behind = take(read_vector_release(take(projected.release(grant(Unit::vector), longer))));
    EXPECT(behind.dimension == coordinates && behind.noise == Noise::discrete_laplace);
    EXPECT(behind.pack_id == projected_by);
    EXPECT(why(VectorMechanism::projected(Pack(), epsilon)) == STATUS_MOVED);
    EXPECT(why(VectorMechanism::projected(pack, epsilon)) == UNDERTONE_STATUS_NO_PROJECTION);
    const std::vector<std::uint8_t> garbage(36);
    EXPECT(why(read_vector_release(garbage)) == UNDERTONE_STATUS_NOT_A_RELEASE);
    EXPECT(why(read_vector_release_steps(garbage)) == UNDERTONE_STATUS_NOT_A_RELEASE);
    EXPECT(why(read_vector_release_values(garbage)) == UNDERTONE_STATUS_NOT_A_RELEASE);
    EXPECT(why(read_vector_release_values(nullptr, 0)) == UNDERTONE_STATUS_RELEASE_WRONG_LENGTH);
}

static void words(const char *path)
{
    // The sources are destroyed, the bytes stay.
    Bag bag = take(Bag::create(take(Vocabulary::create(take(Pack::open(path))))));
    const Pack pack = take(Pack::open(path));
    const Vocabulary vocabulary = take(Vocabulary::create(pack));
    EXPECT(vocabulary.word_count() == pack.word_count());
    const Vocabulary::Description description = take(vocabulary.describe());
    EXPECT(description.fallback < vocabulary.word_count());
    EXPECT(!take(vocabulary.word(0)).empty());
    EXPECT(why(vocabulary.word(vocabulary.word_count())) == UNDERTONE_STATUS_NO_SUCH_WORD);

    EXPECT(bag.push(take(vocabulary.word(1))));
    EXPECT(bag.push("nosuchword"));
    EXPECT(bag.push_text("and a text of words"));
    const std::vector<std::uint8_t> release = take(bag.release(grant(Unit::word), 5));
    EXPECT(release.size() == undertone_bag_release_len(5));
    const BagReleaseContent content = take(read_bag_release(release));
    EXPECT(content.word_count == 5 && content.method == WordMethod::permute_and_flip);
    EXPECT(content.epsilon.micro() == 1000000 && content.pack_id == take(pack.id()));
    const std::vector<std::uint32_t> drawn = take(read_bag_release_words(release));
    EXPECT(drawn.size() == 5 && std::is_sorted(drawn.begin(), drawn.end()) && drawn.back() < vocabulary.word_count());

    const auto again = [&] {
        KnownBytes source;
        EXPECT(bag.push_text("and a text of words"));
        return take(bag.release(grant(Unit::word), 3, WordMethod::exponential, Entropy(source)));
    };
    EXPECT(again() == again());
    EXPECT(take(read_bag_release(take(bag.release(grant(Unit::word), 2, WordMethod::laplace_nearest)))).method ==
           WordMethod::laplace_nearest);
    EXPECT(bag.push("kept") && bag.reset());
    EXPECT(why(bag.release(grant(Unit::word), 0)) == UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE);
    EXPECT(why(bag.release(grant(Unit::word), 1, static_cast<WordMethod>(9))) == UNDERTONE_STATUS_UNKNOWN_WORD_METHOD);
    EXPECT(why(bag.release(Grant(), 1)) == STATUS_MOVED);
    EXPECT(why(read_bag_release(std::vector<std::uint8_t>(30))) == UNDERTONE_STATUS_NOT_A_RELEASE);
    EXPECT(why(read_bag_release_words(nullptr, 0)) == UNDERTONE_STATUS_RELEASE_WRONG_LENGTH);

    const Vocabulary none;
    EXPECT(none.word_count() == 0 && why(none.describe()) == STATUS_MOVED &&
           why(none.word(0)) == STATUS_MOVED);
    EXPECT(why(Vocabulary::create(Pack())) == STATUS_MOVED &&
           why(Bag::create(none)) == STATUS_MOVED);
    Bag empty;
    EXPECT(empty.push("a").code() == STATUS_MOVED &&
           empty.push_text("a").code() == STATUS_MOVED);
    EXPECT(empty.reset().code() == STATUS_MOVED &&
           why(empty.release(grant(Unit::word), 1)) == STATUS_MOVED);
    moves(take(Vocabulary::create(pack)));
    moves(std::move(bag));
}

static void sentence_count()
{
    const std::string_view text = "Dr. Wu paid 3.5 dollars. then he left. Why";
    EXPECT(*next_sentence(text) == "Dr. Wu paid 3.5 dollars.");
    EXPECT(*next_sentence(text, 24) == "then he left." && *next_sentence(text, 38) == "Why");
    EXPECT(!next_sentence(text, 42) && !next_sentence(text, 43) && !next_sentence(std::string_view()));
    EXPECT(*next_finished_sentence(text, 24) == "then he left.");
    EXPECT(!next_finished_sentence(text, 38) && !next_finished_sentence(std::string_view()));
}

static void ledgers()
{
    const Epsilon two = Epsilon::from_micro(2000000);
    Ledger::Image stored = take(Ledger::create_image(Unit::sentence, 5000000));
    KnownBytes source;
    EXPECT(take(Ledger::create_image(Unit::sentence, 5000000, Entropy(source))) != stored && source.calls == 1);
    Ledger ledger = take(Ledger::open(Unit::sentence, stored));
    const auto remaining = [&](std::uint64_t window) {
        return Ledger::remaining(Unit::sentence, window, stored.data(), stored.size());
    };
    EXPECT(take(remaining(7)) == 5000000);
    EXPECT(Ledger::open(Unit::sentence, stored.data(), stored.size()).ok() && Ledger::open(Unit::sentence, stored, Entropy(source)).ok());
    KnownBytes broken;
    broken.works = false;
    EXPECT(why(Ledger::open(Unit::sentence, stored, Entropy(broken))) == UNDERTONE_STATUS_ENTROPY_FAILED && broken.calls == 1);

    const Ledger::Record record = take(ledger.reserve(two, 7, stored.data(), stored.size()));
    // Not before it is stored.
    EXPECT(why(ledger.grant(stored.data(), stored.size())) == UNDERTONE_STATUS_LEDGER_NOT_PERSISTED);
    std::copy(record.bytes.begin(), record.bytes.end(), stored.begin() + static_cast<std::ptrdiff_t>(record.offset));
    moves(take(ledger.grant(stored.data(), stored.size())));
    EXPECT(why(ledger.grant(stored.data(), stored.size())) == UNDERTONE_STATUS_LEDGER_NOT_RESERVED);
    EXPECT(take(remaining(7)) == 3000000);
    EXPECT(take(remaining(8)) == 5000000 && why(remaining(6)) == UNDERTONE_STATUS_LEDGER_FROM_FUTURE);
    EXPECT(why(ledger.reserve(two, 7, stored.data(), 1)) == UNDERTONE_STATUS_LEDGER_WRONG_LENGTH);
    EXPECT(why(ledger.reserve(Epsilon::from_micro(3000001), 7, stored.data(), stored.size())) ==
           UNDERTONE_STATUS_LEDGER_EXHAUSTED);
    moves(std::move(ledger));

    EXPECT(why(Ledger::create_image(Unit::sentence, 0)) == UNDERTONE_STATUS_LEDGER_NO_BUDGET);
    EXPECT(why(Ledger::open(Unit::sentence, nullptr, 0)) == UNDERTONE_STATUS_LEDGER_WRONG_LENGTH);
    EXPECT(why(Ledger::open(Unit::sentence, Ledger::Image{})) == UNDERTONE_STATUS_NOT_A_LEDGER);
    Ledger none;
    EXPECT(why(none.grant(nullptr, 0)) == STATUS_MOVED);
    EXPECT(why(none.reserve(two, 0, nullptr, 0)) == STATUS_MOVED);
}

#if UNDERTONE_LEDGER_FILE
static void write_file(const std::string &path, const std::vector<std::uint8_t> &bytes)
{
    std::FILE *file = std::fopen(path.c_str(), "wb");
    EXPECT(file != nullptr);
    for (const std::uint8_t byte : bytes) EXPECT(std::fputc(byte, file) == byte);
    EXPECT(std::fclose(file) == 0);
}

/// Stands for a platform's counter.
class Counted : public Counter {
public:
    std::uint64_t value = 0;
    bool works = true;
    Result<std::uint64_t> read() noexcept override { return value; }
    Status raise(std::uint64_t to) noexcept override
    {
        if (!works) return Status::system(EIO);
        value = to;
        return Status();
    }
};

static void counted_ledgers(const std::string &path)
{
    const Epsilon one = Epsilon::from_micro(1000000);
    Counted counter;
    std::vector<std::uint8_t> older;
    {
        LedgerFile file = take(LedgerFile::open_or_create(path, Unit::word, 10000000, &counter));
        EXPECT(file.spend(one, 1, 5).ok() && take(file.remaining(1)) == 5000000);
        EXPECT(why(file.spend(one, 1, 257)) == UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE);
        older = bytes_of(path.c_str());
        EXPECT(file.spend(one, 1).ok() && file.spend(one, 1).ok() && counter.value == 4);
        counter.works = false;
        const Status failed = file.spend(one, 1).status();
        EXPECT(failed.code() == STATUS_FILE_FAILED && failed.system_error() == EIO);
        counter.works = true;
    }
    write_file(path, older);
    EXPECT(why(LedgerFile::open(path, Unit::word, &counter)) == UNDERTONE_STATUS_LEDGER_SET_BACK);
    EXPECT(std::remove(path.c_str()) == 0);
    EXPECT(why(LedgerFile::open_or_create(path, Unit::word, 10000000, &counter)) == UNDERTONE_STATUS_LEDGER_SET_BACK);
    for (const bool missing : {false, true}) {
        if (missing) EXPECT(std::remove(path.c_str()) == 0);
        LedgerFile anew = take(LedgerFile::recreate_spent(path, Unit::word, 10000000, 1, &counter));
        EXPECT(take(anew.remaining(1)) == 0 && take(anew.remaining(2)) == 10000000);
        EXPECT(anew.spend(one, 2).ok());
        EXPECT(why(LedgerFile::recreate_spent(path, Unit::word, 10000000, 1, &counter)) == STATUS_LEDGER_IN_USE);
    }
}

static void ledger_files(const std::string &folder, const Pack &pack)
{
    counted_ledgers(folder + "/counted");
    const Epsilon two = Epsilon::from_micro(2000000);
    const std::string path = folder + "/ledger";
    const Result<LedgerFile> missing = LedgerFile::open(path, Unit::sentence);
    EXPECT(why(missing) == STATUS_FILE_FAILED && missing.status().system_error() == ENOENT);
    {
        LedgerFile file = take(LedgerFile::open_or_create(path, Unit::sentence, 5000000));
        // One at a time, even within one program.
        EXPECT(why(LedgerFile::open(path, Unit::sentence)) == STATUS_LEDGER_IN_USE);
        EXPECT(why(LedgerFile::open_or_create(path, Unit::sentence, 5000000)) == STATUS_LEDGER_IN_USE);
        Document document = take(Document::create(pack));
        EXPECT(document.release(take(file.spend(two, 7))).ok());
        EXPECT(take(file.remaining(7)) == 3000000);
        LedgerFile other = std::move(file);
        EXPECT(other.remaining(7).ok() && why(file.remaining(7)) == STATUS_MOVED);
        // For one unit only.
        other = LedgerFile();
        for (const Unit unit : {Unit::whole_text, Unit::word, Unit::vector}) {
            EXPECT(why(LedgerFile::open(path, unit)) == UNDERTONE_STATUS_LEDGER_WRONG_UNIT);
            EXPECT(why(LedgerFile::open_or_create(path, unit, 5000000)) == UNDERTONE_STATUS_LEDGER_WRONG_UNIT);
        }
        EXPECT(why(LedgerFile::open(path, static_cast<Unit>(9))) == UNDERTONE_STATUS_UNKNOWN_UNIT);
    }
    EXPECT(LedgerFile::open(path, Unit::sentence).ok());
    {
        // A file without permission is not in use. The superuser may open any file, so it becomes
        // another user.
        EXPECT(chmod(path.c_str(), 0) == 0);
        const bool changed = geteuid() == 0 && seteuid(65534) == 0;
        const Result<LedgerFile> closed = LedgerFile::open(path, Unit::sentence);
        EXPECT(why(closed) == STATUS_FILE_FAILED && closed.status().system_error() == EACCES);
        EXPECT(!changed || seteuid(0) == 0);
        EXPECT(chmod(path.c_str(), S_IRUSR | S_IWUSR) == 0);
    }
    {
        KnownBytes source;
        EXPECT(take(LedgerFile::open(path, Unit::sentence, Entropy(source))).remaining(7).ok() && source.calls == 0);
        EXPECT(take(LedgerFile::open(path, Unit::sentence, Entropy(source))).spend(Epsilon::from_micro(1), 6).status().code() ==
               UNDERTONE_STATUS_LEDGER_FROM_FUTURE);
        EXPECT(source.calls == 1);
    }
    {
        // Its budget and what was spent stay.
        LedgerFile file = take(LedgerFile::open_or_create(path, Unit::sentence, 9000000));
        EXPECT(take(file.remaining(7)) == 3000000);
        EXPECT(file.spend(two, 7).ok());
        EXPECT(why(file.spend(two, 7)) == UNDERTONE_STATUS_LEDGER_EXHAUSTED);
        EXPECT(why(file.spend(Epsilon::from_micro(0), 7)) == UNDERTONE_STATUS_EPSILON_TOO_SMALL);
        EXPECT(file.spend(two, 8).ok());
        EXPECT(why(file.spend(two, 7)) == UNDERTONE_STATUS_LEDGER_FROM_FUTURE);
        // Another writer ignored the lock.
        std::vector<std::uint8_t> bytes = bytes_of(path.c_str());
        EXPECT(bytes.size() == UNDERTONE_LEDGER_IMAGE_BYTES);
        const std::vector<std::uint8_t> good = bytes;
        bytes[100] ^= 1;
        bytes[30] ^= 1;
        write_file(path, bytes);
        EXPECT(why(file.spend(two, 8)) == UNDERTONE_STATUS_LEDGER_DAMAGED);
        write_file(path, good);
        EXPECT(file.spend(two, 8).ok());
        bytes = bytes_of(path.c_str());
        bytes.push_back(0);
        write_file(path, bytes);
        EXPECT(why(file.spend(Epsilon::from_micro(1), 8)) == UNDERTONE_STATUS_LEDGER_WRONG_LENGTH);
    }
    EXPECT(why(LedgerFile::open(path, Unit::sentence)) == UNDERTONE_STATUS_LEDGER_WRONG_LENGTH);
    for (std::size_t len = 0; len < UNDERTONE_LEDGER_IMAGE_BYTES; ++len) {
        write_file(path, std::vector<std::uint8_t>(len));
        EXPECT(why(LedgerFile::open_or_create(path, Unit::sentence, 5000000)) == UNDERTONE_STATUS_LEDGER_WRONG_LENGTH);
    }
    EXPECT(why(LedgerFile::open_or_create(folder, Unit::sentence, 1)) == STATUS_FILE_FAILED);
    EXPECT(why(LedgerFile::open_or_create(folder + "/no/such/folder", Unit::sentence, 1)) == STATUS_FILE_FAILED);
    // A file that cannot be opened is not replaced, and the counter is not raised.
    Counted counter;
    EXPECT(why(LedgerFile::recreate_spent(folder, Unit::sentence, 1, 1, &counter)) == STATUS_FILE_FAILED);
    EXPECT(counter.value == 0);
    EXPECT(why(LedgerFile::recreate_spent(folder + "/no/such/folder", Unit::sentence, 1, 1)) == STATUS_FILE_FAILED);
    EXPECT(why(LedgerFile::open_or_create(folder + "/new", Unit::sentence, 0)) == UNDERTONE_STATUS_LEDGER_NO_BUDGET);
    KnownBytes broken;
    broken.works = false;
    EXPECT(why(LedgerFile::open_or_create(folder + "/new", Unit::sentence, 1, Entropy(broken))) ==
           UNDERTONE_STATUS_ENTROPY_FAILED);
    const Result<LedgerFile> nothing = LedgerFile::open(folder + "/new", Unit::sentence);
    EXPECT(nothing.status().system_error() == ENOENT);

    LedgerFile none;
    EXPECT(why(none.remaining(0)) == STATUS_MOVED &&
           why(none.spend(two, 0)) == STATUS_MOVED);
}
#endif

static void forms(const char *path)
{
    const std::vector<std::uint8_t> bytes = bytes_of(path);
    const auto grant = [] { return take(Grant::unrecorded(Unit::whole_text, Epsilon::from_micro(3000000))); };
    const Form view = take(Form::view(bytes.data(), bytes.size()));
    const Form own = take(Form::own(bytes));
    for (const Form *form : {&view, &own}) {
        const Release release = take(form->release({1, no_answer, 0}, grant()));
        const ReleaseContent fields = take(read_release(release));
        EXPECT(fields.unit == Unit::whole_text && fields.order > 0);
        EXPECT(why(form->release({1, 2}, grant(), Entropy())) == UNDERTONE_STATUS_WRONG_ANSWER_COUNT);
    }
    EXPECT(take(view.category_name(0, 1)) == take(own.category_name(0, 1)));
    EXPECT(!take(view.attribute_name(0)).empty());
    EXPECT(why(view.attribute_name(9)) == UNDERTONE_STATUS_NO_SUCH_CATEGORY);
    EXPECT(why(Form().category_name(0, 0)) == STATUS_MOVED);
    const auto broken = [](std::uint8_t *, std::size_t) { return false; };
    EXPECT(why(AnswerReservoir::create(own, 1, 1, Entropy(broken))) == UNDERTONE_STATUS_ENTROPY_FAILED);
    EXPECT(why(AnswerReservoir::create(Form(), 1, 1)) == STATUS_MOVED);
    AnswerReservoir answers = take(AnswerReservoir::create(own, 1, 1));
    const AnswerReservoir moved = std::move(answers);
    // NOLINTNEXTLINE: the behaviour of a moved-from reservoir is promised.
    EXPECT(answers.bytes() == AnswerReservoir::Bytes{} && moved.bytes() != answers.bytes());
    EXPECT(answers.push(own, {0, 0, 0}).code() == UNDERTONE_STATUS_RESERVOIR_DAMAGED);
    EXPECT(why(Form::own({})) == UNDERTONE_STATUS_FORM_DAMAGED);
    EXPECT(why(Form().release({}, grant())) == STATUS_MOVED);
    moves(take(Form::own(bytes)));
}

int main(int argc, char **argv)
{
    if (argc == 3 && std::strcmp(argv[1], "--take") == 0) {
        // Texts are in scope, and are not printed.
        Document document = take(Document::create(take(Pack::open(argv[2]))));
        EXPECT(document.push_text("My doctor wants to repeat the blood test."));
        const Result<Pack> failed = Pack::open("/no/doctor.pack");
        return failed->candidate_count() == 0 ? 0 : 1;
    }
    if (argc != 6) {
        std::fprintf(stderr, "usage: every_method PACK PROJECTION FEATURES FORM FOLDER\n");
        return 2;
    }
    statuses();
    exceptions();
    packs(argv[1]);
    documents(argv[1]);
    whole_texts(argv[1], argv[3]);
    vectors(take(Pack::open(argv[1])), argv[2]);
    words(argv[1]);
    forms(argv[4]);
    sentence_count();
    ledgers();
#if UNDERTONE_LEDGER_FILE
    ledger_files(argv[5], take(Pack::open(argv[1])));
#endif
    return 0;
}
