// A C++17 program that prints one release: consumer PACK < SENTENCES, one sentence a line.
#include <undertone.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

std::int32_t os_entropy(void *, std::uint8_t *out, std::size_t len)
{
    // Not a seeded generator: the system's own, by /dev/urandom or an instruction.
    std::random_device device;
    for (std::size_t i = 0; i < len; i++) out[i] = static_cast<std::uint8_t>(device());
    return 0;
}

bool failed(std::int32_t status)
{
    if (status != UNDERTONE_OK) std::cerr << undertone_status_message(status) << '\n';
    return status != UNDERTONE_OK;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    std::ifstream file(argv[1], std::ios::binary);
    const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
    const auto pack_memory = std::make_unique<unsigned char[]>(undertone_pack_size());
    const auto document_memory = std::make_unique<unsigned char[]>(undertone_document_size());
    undertone_pack *pack;
    undertone_document *document;
    if (failed(undertone_pack_init(pack_memory.get(), undertone_pack_size(), bytes.data(), bytes.size(), &pack)))
        return 1;
    if (failed(undertone_document_init(document_memory.get(), undertone_document_size(), pack, &document))) return 1;
    for (std::string sentence; std::getline(std::cin, sentence);)
        if (failed(undertone_document_push_sentence(document, sentence.data(), sentence.size()))) return 1;
    const auto grant_memory = std::make_unique<unsigned char[]>(undertone_grant_size());
    undertone_grant *grant;
    if (failed(undertone_grant_unrecorded(grant_memory.get(), undertone_grant_size(), 10'000'000, &grant))) return 1;
    std::uint8_t release[UNDERTONE_RELEASE_BYTES];
    std::size_t written;
    if (failed(undertone_document_release(document, grant, UNDERTONE_RULE_PERMUTE_AND_FLIP, os_entropy, nullptr,
                                          release, sizeof release, &written)))
        return 1;
    std::printf("{\"id\": \"cmake\", \"release\": \"");
    for (std::size_t i = 0; i < written; i++) std::printf("%02x", release[i]);
    std::printf("\"}\n");
    return 0;
}
