// Prints one release of a text: consumer PACK < TEXT.
#include <undertone.hpp>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

namespace {

undertone::Result<undertone::Release> release(const char *path, const std::string &text)
{
    const auto pack = undertone::Pack::open(path);
    if (!pack) return pack.status();
    auto document = undertone::Document::create(*pack);
    if (!document) return document.status();
    const auto sentences = document->push_text(text);
    if (!sentences) return sentences.status();
    const auto epsilon = undertone::Epsilon::parse("10");
    if (!epsilon) return epsilon.status();
    auto grant = undertone::Grant::unrecorded(undertone::Unit::whole_text, *epsilon);
    if (!grant) return grant.status();
    return document->release_whole_text(*std::move(grant));
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    const auto released = release(argv[1], text);
    if (!released) {
        std::cerr << released.status().message() << '\n';
        return 1;
    }
    std::printf("{\"id\": \"cmake\", \"release\": \"");
    for (const std::uint8_t byte : *released) std::printf("%02x", byte);
    std::printf("\"}\n");
}
