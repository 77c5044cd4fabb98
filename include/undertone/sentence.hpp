// The sentences of a text.

#ifndef UNDERTONE_SENTENCE_HPP
#define UNDERTONE_SENTENCE_HPP

#include <cstddef>
#include <optional>
#include <string_view>

#include "../undertone.h"

#include "macros_begin.inc"

namespace undertone {

namespace detail {

template <class Next>
std::optional<std::string_view> sentence(Next next, std::string_view text, std::size_t start) noexcept
{
    std::size_t found = 0;
    std::size_t len = 0;
    if (next(text.data(), text.size(), start, &found, &len) != UNDERTONE_STATUS_OK || len == 0) return std::nullopt;
    return text.substr(found, len);
}

} // namespace detail

/// Finds the first sentence from byte `start` on, which is 0 or the end of the previous sentence.
inline std::optional<std::string_view> next_sentence(std::string_view text, std::size_t start = 0) noexcept
{
    return detail::sentence(undertone_sentence_next, text, start);
}

/// Like next_sentence, for a text that is still being typed: it finds a sentence only once nothing
/// typed after it can change it.
inline std::optional<std::string_view> next_finished_sentence(std::string_view text, std::size_t start = 0) noexcept
{
    return detail::sentence(undertone_sentence_next_finished, text, start);
}

} // namespace undertone

#include "macros_end.inc"

#endif // UNDERTONE_SENTENCE_HPP
