// Private words.

#ifndef UNDERTONE_WORDS_HPP
#define UNDERTONE_WORDS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "entropy.hpp"
#include "grant.hpp"
#include "pack.hpp"

#include "macros_begin.inc"

namespace undertone {

/// The public vocabulary of private words: the words of a pack's lexicon, by number.
class Vocabulary {
public:
    Vocabulary() noexcept = default;

    static Result<Vocabulary> create(const Pack &pack) noexcept
    {
        auto handle = detail::make<undertone_vocabulary>(
            UNDERTONE_VOCABULARY_HANDLE_SIZE, pack.bytes(),
            [&](void *memory, std::size_t len, undertone_vocabulary **out) {
                return detail::call(undertone_vocabulary_init, memory, len, pack.capi(), out);
            });
        if (!handle) return handle.status();
        return Vocabulary(*std::move(handle));
    }

    /// The number of words.
    std::uint32_t word_count() const noexcept { return undertone_vocabulary_word_count(capi()); }

    struct Description {
        /// The public word that replaces all unknown words.
        std::uint32_t fallback;
        /// Distances between words are rounded to multiples of q = 2^unit_exponent. The promise of
        /// Bag::release contains q.
        std::int32_t unit_exponent;
    };
    Result<Description> describe() const noexcept
    {
        Description description{};
        const Status status =
            detail::call(undertone_vocabulary_describe, capi(), &description.fallback, &description.unit_exponent);
        if (!status) return status;
        return description;
    }

    /// The text of a word; it lives as long as the bytes of the pack.
    Result<std::string_view> word(std::uint32_t number) const noexcept
    {
        const char *text = nullptr;
        std::size_t len = 0;
        const Status status = detail::call(undertone_vocabulary_word, capi(), number, &text, &len);
        if (!status) return status;
        return std::string_view(text, len);
    }

    undertone_vocabulary *capi() noexcept { return handle_.get(); }
    const undertone_vocabulary *capi() const noexcept { return handle_.get(); }

private:
    explicit Vocabulary(detail::Handle<undertone_vocabulary> handle) noexcept : handle_(std::move(handle)) {}

    const detail::Owner &bytes() const noexcept { return handle_.get_deleter().bytes; }
    friend class Bag;

    detail::Handle<undertone_vocabulary> handle_;
};

/// How a word is made private.
enum class WordMethod : std::int32_t {
    /// Selection by permute-and-flip, the default.
    permute_and_flip = UNDERTONE_WORD_METHOD_PERMUTE_AND_FLIP,
    /// Selection by the exponential mechanism.
    exponential = UNDERTONE_WORD_METHOD_EXPONENTIAL,
    /// Noise on a word's vector, then the nearest word; for comparison.
    laplace_nearest = UNDERTONE_WORD_METHOD_LAPLACE_NEAREST,
};

/// The words of one private text: words go in, one private release comes out, and the bag is empty
/// again.
class Bag {
public:
    Bag() noexcept = default;

    static Result<Bag> create(const Vocabulary &vocabulary) noexcept
    {
        auto handle = detail::make<undertone_bag>(
            UNDERTONE_BAG_HANDLE_SIZE, vocabulary.bytes(), [&](void *memory, std::size_t len, undertone_bag **out) {
                return detail::call(undertone_bag_init, memory, len, vocabulary.capi(), out);
            });
        if (!handle) return handle.status();
        return Bag(*std::move(handle));
    }

    /// Adds one word.
    Status push(std::string_view word) noexcept
    {
        return detail::call(undertone_bag_push, capi(), word.data(), word.size());
    }

    /// Adds every word of a text.
    Status push_text(std::string_view text) noexcept
    {
        return detail::call(undertone_bag_push_text, capi(), text.data(), text.size());
    }

    /// Draws `word_count` words, replaces each by one of the vocabulary, and removes all words. The
    /// epsilon of the grant is for each word. A grant from a ledger must be for `word_count` words
    /// or more. If it fails, nothing was released and the words are still there, but the grant is
    /// gone.
    Result<std::vector<std::uint8_t>> release(Grant grant, std::uint32_t word_count, WordMethod method, Entropy entropy)
    {
        return detail::array<std::uint8_t>(
            undertone_bag_release_len(word_count), [&](std::uint8_t *out, std::size_t capacity, std::size_t *written) {
                return detail::call(undertone_bag_release, capi(), grant.capi(), word_count,
                                    static_cast<std::int32_t>(method), entropy.function(), entropy.context(), out,
                                    capacity, written);
            });
    }
#if UNDERTONE_OS_ENTROPY
    Result<std::vector<std::uint8_t>> release(Grant grant, std::uint32_t word_count,
                                              WordMethod method = WordMethod::permute_and_flip)
    {
        return release(std::move(grant), word_count, method, Entropy());
    }
#endif

    /// Removes all words.
    Status reset() noexcept { return detail::call(undertone_bag_reset, capi()); }

    undertone_bag *capi() noexcept { return handle_.get(); }
    const undertone_bag *capi() const noexcept { return handle_.get(); }

private:
    explicit Bag(detail::Handle<undertone_bag> handle) noexcept : handle_(std::move(handle)) {}

    detail::Handle<undertone_bag> handle_;
};

/// The head of a released bag.
struct BagReleaseContent {
    std::uint32_t word_count;
    WordMethod method;
    /// The epsilon of each word, per unit of distance.
    Epsilon epsilon;
    Pack::Id pack_id;
};

/// Reads the head of a released bag.
inline Result<BagReleaseContent> read_bag_release(const std::uint8_t *bytes, std::size_t len) noexcept
{
    std::uint32_t word_count = 0;
    std::int32_t method = 0;
    std::uint32_t micro = 0;
    Pack::Id id{};
    const Status status = detail::call(undertone_bag_release_read, bytes, len, &word_count, &method, &micro, id.data());
    if (!status) return status;
    return BagReleaseContent{word_count, static_cast<WordMethod>(method), Epsilon::from_micro(micro), id};
}
inline Result<BagReleaseContent> read_bag_release(const std::vector<std::uint8_t> &bytes) noexcept
{
    return read_bag_release(bytes.data(), bytes.size());
}

/// The words of a released bag, by number, ascending.
inline Result<std::vector<std::uint32_t>> read_bag_release_words(const std::uint8_t *bytes, std::size_t len)
{
    return detail::array<std::uint32_t>(
        UNDERTONE_MAX_RELEASED_WORDS, [&](std::uint32_t *out, std::size_t capacity, std::size_t *written) {
            return detail::call(undertone_bag_release_read_words, bytes, len, out, capacity, written);
        });
}
inline Result<std::vector<std::uint32_t>> read_bag_release_words(const std::vector<std::uint8_t> &bytes)
{
    return read_bag_release_words(bytes.data(), bytes.size());
}

} // namespace undertone

#include "macros_end.inc"

#endif // UNDERTONE_WORDS_HPP
