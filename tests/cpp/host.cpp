// The host from C++: a server or desktop program that uses undertone_host.h.
//
//     host PACK CANDIDATES TEXT [MODEL]
//
// Prints the vector of the first sentence as hexadecimal floats, then the server's view of a
// release of the text. Without MODEL, sentences are encoded with the pack's lexicon. Every refusal
// is also tried.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "undertone.hpp"
#include "undertone_host.h"

namespace host = undertone::host;

static void expect(bool held, const char *what)
{
    if (!held) {
        std::fprintf(stderr, "host: not so: %s\n", what);
        std::exit(1);
    }
}

// The call throws, and the message names the error.
template <class Call>
static void refuses(const char *fault, Call call)
{
    try {
        call();
    } catch (const rust::Error &error) {
        if (std::string(error.what()).find(fault) != std::string::npos) return;
        std::fprintf(stderr, "host: \"%s\" does not say \"%s\"\n", error.what(), fault);
        std::exit(1);
    }
    std::fprintf(stderr, "host: accepted, in spite of: %s\n", fault);
    std::exit(1);
}

static undertone::Grant grant(const char *epsilon, undertone::Unit unit = undertone::Unit::sentence)
{
    return undertone::or_throw(undertone::Grant::unrecorded(unit, undertone::or_throw(undertone::Epsilon::parse(epsilon))));
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc > 5) {
        std::fprintf(stderr, "usage: host PACK CANDIDATES TEXT [MODEL]\n");
        return 2;
    }
    std::ifstream file(argv[3], std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    expect(!text.empty(), "there is a text");

    const auto open = [&] {
        return argc == 5 ? host::Pipeline::with_model(argv[1], argv[4], "") : host::Pipeline::with_lexicon(argv[1]);
    };
    const rust::Box<host::Pipeline> pipeline = open();
    const rust::Box<host::Candidates> candidates = host::Candidates::open(argv[2]);

    const rust::Vec<rust::String> sentences = host::sentences(text);
    expect(!sentences.empty(), "the text has sentences");
    const rust::Vec<float> vector = pipeline->encode(std::string(sentences[0]));
    expect(vector.size() == pipeline->dimension(), "a vector has the dimension");
    for (const float x : vector) std::printf("%a ", static_cast<double>(x));
    std::printf("\n");

    const rust::Vec<std::uint8_t> release =
        pipeline->release(text, grant("1000").capi(), host::Rule::PermuteAndFlip);
    const rust::Slice<const std::uint8_t> bytes(release.data(), release.size());
    const host::Decoded decoded = candidates->decode(bytes);
    expect(decoded.candidate < candidates->count(), "the candidate exists");
    expect(decoded.epsilon == "1000", "the release says its epsilon");
    expect(decoded.embedding.size() == vector.size(), "the candidate has an embedding");
    expect(!decoded.excerpt.empty(), "the candidate has an excerpt");
    std::printf("%s\n", std::string(decoded.name).c_str());

    // By the whole text; at this epsilon each other outcome has a chance of 2^-48.
    const auto whole_text = [&](const std::string &what) {
        const rust::Vec<std::uint8_t> drawn = pipeline->release_whole_text(what, grant("1000", undertone::Unit::whole_text).capi());
        return candidates->decode(rust::Slice<const std::uint8_t>(drawn.data(), drawn.size()));
    };
    const host::Decoded known = whole_text(text);
    expect(decoded.unit == host::Unit::Sentence && known.unit == host::Unit::WholeText, "a release says its unit");
    expect(!decoded.nothing_known && !known.nothing_known && known.candidate < candidates->count(), "a topic is known");
    const host::Decoded unknown = whole_text(std::string());
    expect(unknown.nothing_known && unknown.candidate == candidates->count(), "of an empty text nothing is known");
    expect(unknown.name.empty() && unknown.epsilon == "1000", "there is no candidate");

    // One ledger serves the host and the device side.
    const std::string path = std::string(argv[2]) + ".ledger";
    std::remove(path.c_str());
    undertone::LedgerFile ledger = undertone::or_throw(
        undertone::LedgerFile::open_or_create(path, undertone::Unit::sentence, 3000000));
    const undertone::Epsilon two = undertone::Epsilon::from_micro(2000000);
    undertone::Grant recorded = undertone::or_throw(ledger.spend(two, 1));
    expect(pipeline->release(text, recorded.capi(), host::Rule::Exponential).size() == release.size(),
           "a grant of the ledger is spent");
    expect(!ledger.spend(two, 1), "the budget is used up");

    // No content of a text is refused: the status of a release must not depend on it.
    const std::string broken("\xff\xfe\0 broken \xc3", 12);
    for (const std::string &odd : {std::string(), broken, std::string(100000, 'x')})
        expect(pipeline->release(odd, grant("0.5").capi(), host::Rule::Exponential).size() == release.size(),
               "any text is released");

    undertone::Grant once = grant("1");
    // An error before the release leaves the grant unspent.
    refuses("9 is not a rule", [&] { pipeline->release(text, once.capi(), static_cast<host::Rule>(9)); });
    refuses("another unit", [&] { pipeline->release_whole_text(text, once.capi()); });
    pipeline->release(text, once.capi(), host::Rule::PermuteAndFlip);
    refuses("spent by an earlier release", [&] { pipeline->release(text, once.capi(), host::Rule::PermuteAndFlip); });
    refuses("NULL", [&] { pipeline->release(text, nullptr, host::Rule::PermuteAndFlip); });
    refuses("spent by an earlier release", [&] { pipeline->release_whole_text(text, once.capi()); });
    refuses("NULL", [&] { pipeline->release_whole_text(text, nullptr); });
    refuses("`/missing.pack`", [] { host::Pipeline::with_lexicon("/missing.pack"); });
    refuses("not a usable pack", [&] { host::Pipeline::with_lexicon(argv[2]); });
    refuses("/missing.model", [&] { host::Pipeline::with_model(argv[1], "/missing.model", ""); });
    refuses("not a candidates file", [&] { host::Candidates::open(argv[1]); });
    refuses("0 bytes", [&] { candidates->decode(rust::Slice<const std::uint8_t>()); });
    rust::Vec<std::uint8_t> other = release;
    other[16] ^= 1; // the identifier of the pack
    refuses("under pack", [&] {
        candidates->decode(rust::Slice<const std::uint8_t>(other.data(), other.size()));
    });
    if (argc == 5) refuses("has no lexicon", [&] { host::Pipeline::with_lexicon(argv[1]); });
    return 0;
}
