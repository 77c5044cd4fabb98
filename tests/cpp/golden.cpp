// The golden vectors (tests/golden) through the classes of C++:
//
//     golden FOLDER [FILE VECTORS]...     files in tests/golden: packs, or a form
//
// It prints the number that agree, a line for each file, and stops at the first that does not.

#include "undertone.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace undertone;

using Bytes = std::vector<std::uint8_t>;

static std::string current;

[[noreturn]] static void fail(const char *what)
{
    std::fprintf(stderr, "golden.cpp: %s: %s\n", current.c_str(), what);
    std::exit(1);
}

static void expect(bool held, const char *what)
{
    if (!held) fail(what);
}

template <class T>
static T take(Result<T> result)
{
    if (!result) fail(result.status().message());
    return *std::move(result);
}

static Bytes from_hex(const std::string &text)
{
    Bytes bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        bytes.push_back(static_cast<std::uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
    return bytes;
}

static Bytes load(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

static std::string text_of(const std::string &hex)
{
    const Bytes bytes = from_hex(hex);
    return std::string(bytes.begin(), bytes.end());
}

static std::vector<float> floats_of(const std::string &hex)
{
    const Bytes bytes = from_hex(hex);
    std::vector<float> floats(bytes.size() / 4);
    for (std::size_t i = 0; i < floats.size(); ++i) {
        std::uint32_t bits = 0;
        for (std::size_t place = 4; place > 0; --place) bits = bits << 8 | bytes[4 * i + place - 1];
        std::memcpy(&floats[i], &bits, sizeof bits);
    }
    return floats;
}

/// The bytes of a golden case, one call after the other. An app never gives such bytes to a release.
struct Prescribed {
    std::vector<Bytes> keys;
    std::size_t calls = 0;

    bool operator()(std::uint8_t *out, std::size_t len)
    {
        if (calls == keys.size() || len != keys[calls].size()) return false;
        std::memcpy(out, keys[calls++].data(), len);
        return true;
    }
};

using Lines = std::vector<std::pair<std::string, std::string>>;

/// The lines of a case; those that occur once are also found by name.
struct Case {
    Lines lines;
    std::map<std::string, std::string> fields;

    bool has(const char *name) const { return fields.count(name) != 0; }
    const std::string &text(const char *name) const
    {
        expect(has(name), name);
        return fields.at(name);
    }
    std::int32_t number(const char *name) const { return std::stoi(text(name)); }
    Grant grant(Unit unit) const { return take(Grant::unrecorded(unit, epsilon())); }
    Epsilon epsilon() const { return Epsilon::from_micro(static_cast<std::uint32_t>(number("epsilon_micro"))); }
};

static Bytes document(const Pack &pack, const Case &test, Entropy entropy)
{
    Document into = take(Document::create(pack));
    for (const auto &[name, value] : test.lines) {
        if (name == "embedding") expect(into.push(floats_of(value)).ok(), "push");
        if (name == "sentence") expect(into.push_sentence(text_of(value)).ok(), "push_sentence");
    }
    const std::string &rule = test.text("rule");
    const bool projective = rule == "projective";
    const Unit unit = projective || rule == "whole-text" ? Unit::whole_text : Unit::sentence;
    const Release drawn =
        take(projective                  ? into.release_projective(test.grant(unit), entropy)
             : unit == Unit::whole_text ? into.release_whole_text(test.grant(unit), entropy)
                                        : into.release(test.grant(unit), static_cast<Rule>(std::stoi(rule)), entropy));
    expect(into.sentence_count() == 0, "sentences are left");
    const ReleaseContent read = take(read_release(drawn));
    expect(read.unit == unit && (read.order != 0) == projective, "the unit or the order read back differs");
    expect(read.epsilon.micro() == test.epsilon().micro(), "the epsilon read back differs");
    expect(read.pack_id == take(pack.id()), "the pack read back differs");
    return Bytes(drawn.begin(), drawn.end());
}

static Bytes bag(const Pack &pack, const Case &test, Entropy entropy)
{
    const Vocabulary vocabulary = take(Vocabulary::create(pack));
    Bag into = take(Bag::create(vocabulary));
    for (const auto &[name, value] : test.lines) {
        if (name == "word") expect(into.push(text_of(value)).ok(), "push");
        if (name == "text") expect(into.push_text(text_of(value)).ok(), "push_text");
    }
    const auto method = static_cast<WordMethod>(test.number("mechanism"));
    const auto size = static_cast<std::uint32_t>(test.number("size"));
    const Bytes drawn = take(into.release(test.grant(Unit::word), size, method, entropy));
    const BagReleaseContent read = take(read_bag_release(drawn));
    expect(read.word_count == size && read.method == method, "the size or the method read back differs");
    const std::vector<std::uint32_t> words = take(read_bag_release_words(drawn));
    expect(words.size() == size, "the words read back differ");
    for (const std::uint32_t word : words) expect(!take(vocabulary.word(word)).empty(), "a word without letters");
    return drawn;
}

static Bytes vector(const Pack &pack, const Case &test, Entropy entropy)
{
    const std::vector<float> values = floats_of(test.text("vector"));
    const auto noise = static_cast<Noise>(test.number("noise"));
    const VectorMechanism mechanism =
        take(test.has("bound_exponent")
                 ? VectorMechanism::create(static_cast<std::uint32_t>(values.size()), test.number("bound_exponent"),
                                           test.epsilon(), noise)
                 : VectorMechanism::projected(pack, test.epsilon(), noise));
    expect(mechanism.dimension() == values.size(), "the dimension differs");
    const Bytes drawn = take(mechanism.release(test.grant(Unit::vector), values, entropy));
    const VectorReleaseContent read = take(read_vector_release(drawn));
    expect(read.noise == noise && read.dimension == take(read_vector_release_steps(drawn)).size(),
           "the noise or the dimension read back differs");
    return drawn;
}

/// Checks the release of a case, which takes all its random bytes.
template <class Draw>
static void agrees(const Case &test, Draw draw)
{
    Prescribed source;
    for (const auto &[name, value] : test.lines) {
        if (name == "entropy") source.keys.push_back(from_hex(value));
    }
    const Bytes drawn = draw(Entropy(source));
    expect(source.calls == source.keys.size(), "the source of entropy was not called for each key");
    expect(drawn == from_hex(test.text("release")), "another release");
}

/// Checks a case; one without a release has the vector of a sentence.
static void run(const Pack &pack, const Case &test)
{
    if (!test.has("release")) {
        expect(take(pack.embed_sentence(text_of(test.text("sentence")))) == floats_of(test.text("vector")),
               "another vector");
        return;
    }
    agrees(test, [&](Entropy entropy) {
        return test.has("noise")       ? vector(pack, test, entropy)
               : test.has("mechanism") ? bag(pack, test, entropy)
                                       : document(pack, test, entropy);
    });
}

static std::vector<std::uint32_t> numbers_of(const std::string &text)
{
    std::istringstream stream(text);
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t number = 0; stream >> number;) numbers.push_back(number);
    return numbers;
}

/// Checks answers, or those of one line of a slot, stored and read after each.
static void run(const Form &form, const Case &test)
{
    agrees(test, [&](Entropy entropy) {
        Grant grant = test.grant(Unit::whole_text);
        if (!test.has("slot")) {
            const Release drawn = take(form.release(numbers_of(test.text("answers")), std::move(grant), entropy));
            return Bytes(drawn.begin(), drawn.end());
        }
        const auto places = static_cast<std::uint32_t>(test.number("places"));
        AnswerReservoir reservoir =
            take(AnswerReservoir::create(form, std::stoull(test.text("slot")), places, entropy));
        for (const auto &[name, value] : test.lines) {
            if (name != "answers") continue;
            const AnswerReservoir::Bytes stored = reservoir.bytes();
            reservoir = take(AnswerReservoir::read(stored.data(), stored.size(), form));
            expect(reservoir.push(form, numbers_of(value), entropy).ok(), "push");
        }
        const Bytes stored = from_hex(test.text("stored"));
        expect(std::equal(stored.begin(), stored.end(), reservoir.bytes().begin()), "another reservoir");
        const Release drawn = take(reservoir.release(form, std::move(grant), entropy));
        return Bytes(drawn.begin(), drawn.end());
    });
}

template <class File>
static unsigned run_all(const File &of, const std::string &path)
{
    std::ifstream file(path);
    unsigned cases = 0;
    Case test;
    for (std::string line; std::getline(file, line);) {
        if (line.empty()) test = Case();
        if (line.empty() || line[0] == '#') continue;
        const std::size_t blank = line.find(' ');
        const std::string name = line.substr(0, blank);
        const std::string value = blank == std::string::npos ? "" : line.substr(blank + 1);
        test.lines.emplace_back(name, value);
        test.fields[name] = value;
        if (name == "case" || (name == "sentence" && !test.has("case"))) current = path + ": " + value;
        // The last line of a case. That of a sentence's vector has no name.
        if (name == "release" || (name == "vector" && !test.has("case"))) {
            run(of, test);
            ++cases;
        }
    }
    return cases;
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc % 2 != 0) {
        std::fputs("usage: golden FOLDER [FILE VECTORS]...\n", stderr);
        return 2;
    }
    const std::string folder = std::string(argv[1]) + "/";
    for (int i = 2; i + 1 < argc; i += 2) {
        current = argv[i];
        const std::string vectors = folder + argv[i + 1];
        const bool of_form = current.find(".form") != std::string::npos;
        const unsigned cases = of_form ? run_all(take(Form::own(load(folder + argv[i]))), vectors)
                                       : run_all(take(Pack::open(folder + argv[i])), vectors);
        std::printf("%s: %u golden vectors agree\n", argv[i + 1], cases);
    }
    return 0;
}
