// The exact law of `EmojiDraw` in `ffi/examples/keyboard/year.hpp`: a few places and lines, with as
// many random words as show each number of a draw, and of a wrong draw of one number more, equally
// often.

#include "../../ffi/examples/keyboard/year.hpp"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

/// The random words for a number below `limit`.
std::uint64_t words(std::uint64_t limit)
{
    return limit * (limit + 1);
}

/// The number of draws that keep each of `lines` lines, or no line (the last element), out of all
/// words.
std::vector<std::uint64_t> law(std::uint32_t places, std::uint64_t lines)
{
    std::vector<std::uint64_t> kept(lines + 1);
    std::uint64_t draws = words(places);
    for (std::uint64_t line = 1; line <= lines; line++) draws *= words(line);
    for (std::uint64_t number = 0; number < draws; number++) {
        std::uint64_t rest = number;
        std::uint64_t limit = places;
        auto source = [&](std::uint8_t *out, std::size_t len) {
            const std::uint64_t word = rest % words(limit);
            rest /= words(limit);
            std::memcpy(out, &word, len);
            return true;
        };
        auto draw = keyboard::EmojiDraw::create(7, places, undertone::Entropy(source));
        for (std::uint64_t line = 0; draw && line < lines; line++) {
            limit = line + 1;
            if (!draw->push(static_cast<std::uint32_t>(line), undertone::Entropy(source))) std::abort();
            // A stored draw goes on like the one that was stored.
            const auto bytes = draw->bytes();
            auto stored = keyboard::EmojiDraw::read(bytes.data(), bytes.size(), places);
            if (!stored || stored->slot() != 7) std::abort();
            if (keyboard::EmojiDraw::read(bytes.data(), bytes.size(), places + 1)) std::abort();
            draw = *stored;
        }
        if (!draw) std::abort();
        kept[draw->emoji() == undertone::no_answer ? lines : draw->emoji()]++;
    }
    return kept;
}

} // namespace

int main()
{
    for (std::uint32_t places = 1; places <= 3; places++) {
        for (std::uint64_t lines = 0; lines <= 4; lines++) {
            const auto kept = law(places, lines);
            std::uint64_t all = 0;
            for (const std::uint64_t count : kept) all += count;
            for (std::uint64_t line = 0; line < lines; line++) {
                if (kept[line] * std::max<std::uint64_t>(places, lines) == all) continue;
                std::fprintf(stderr, "%u places: line %u of %u is kept in %u of %u draws\n", places,
                             static_cast<unsigned>(line + 1), static_cast<unsigned>(lines),
                             static_cast<unsigned>(kept[line]), static_cast<unsigned>(all));
                return 1;
            }
        }
    }
    return 0;
}
