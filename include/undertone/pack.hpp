// The public file that every device reads.

#ifndef UNDERTONE_PACK_HPP
#define UNDERTONE_PACK_HPP

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "epsilon.hpp"
#include "handle.hpp"

#include "macros_begin.inc"

namespace undertone {

namespace detail {

struct CloseFile {
    void operator()(std::FILE *file) const noexcept { std::fclose(file); }
};

} // namespace detail

/// A pack: the public file that every device reads.
class Pack {
public:
    Pack() noexcept = default;

    /// A pack in memory (a mapped file): the bytes must stay where they are, unchanged, as long as
    /// the pack or any object made from it is used.
    static Result<Pack> view(const std::uint8_t *bytes, std::size_t len) noexcept { return make(bytes, len, nullptr); }

    /// A pack that owns its bytes. They live as long as the pack or any object made from it.
    static Result<Pack> own(std::vector<std::uint8_t> bytes)
    {
        auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
        const std::uint8_t *data = owner->data();
        const std::size_t len = owner->size();
        return make(data, len, std::move(owner));
    }

    /// Reads a file.
    static Result<Pack> open(const char *path)
    {
        const std::unique_ptr<std::FILE, detail::CloseFile> file(std::fopen(path, "rb"));
        if (!file) return Status::system(errno);
        std::vector<std::uint8_t> bytes;
        std::array<std::uint8_t, 65536> block;
        std::size_t got;
        while ((got = std::fread(block.data(), 1, block.size(), file.get())) > 0)
            bytes.insert(bytes.end(), block.data(), block.data() + got);
        if (std::ferror(file.get())) return Status::system(errno);
        return own(std::move(bytes));
    }
    static Result<Pack> open(const std::string &path) { return open(path.c_str()); }

    /// The dimension of an embedding.
    std::uint32_t dimension() const noexcept { return description().dimension; }
    /// The number of candidates that a release is drawn from.
    std::uint32_t candidate_count() const noexcept { return description().candidate_count; }
    /// The number of projection directions of a pack that selects by depth, else 0.
    std::uint32_t direction_count() const noexcept { return description().direction_count; }
    /// The number of words in the lexicon; 0 without one.
    std::uint32_t word_count() const noexcept { return description().word_count; }

    /// The dimension of a released vector after the pack's projection; 0 without one.
    std::uint32_t projected_dimension() const noexcept { return description().projected_dimension; }
    /// UNDERTONE_SELECTOR_DEPTH, UNDERTONE_SELECTOR_SCORES, or 0 without candidates.
    std::int32_t selector() const noexcept { return description().selector; }
    /// The largest score that one sentence can give a candidate; 0 without scores.
    std::uint32_t largest_score() const noexcept { return description().largest_score; }
    /// The number of levels: how far below the best sum of scores a candidate is, capped; 0 without
    /// scores.
    std::uint32_t level_count() const noexcept { return description().level_count; }
    /// The number of features of texts; 0 without them. With features, push the text of a sentence.
    std::uint32_t feature_count() const noexcept { return description().feature_count; }
    /// The number that means "nothing known" in a whole-text release, or one of a drawn sentence:
    /// the pack recognised nothing, or the noise picked this outcome. It is candidate_count(), or
    /// UINT32_MAX without scores.
    std::uint32_t nothing_known() const noexcept { return description().nothing_known; }

    /// The vector of one sentence by the lexicon of the pack. It is as private as the sentence.
    Result<std::vector<float>> embed_sentence(std::string_view text) const
    {
        return detail::array<float>(dimension(), [&](float *out, std::size_t capacity, std::size_t *written) {
            return detail::call(undertone_pack_embed_sentence, capi(), text.data(), text.size(), out, capacity,
                                written);
        });
    }

    using Id = std::array<std::uint8_t, UNDERTONE_PACK_ID_BYTES>;
    /// The identifier, which a release carries.
    Result<Id> id() const noexcept { return field(&undertone_pack_description::id); }

    using EncoderDigest = std::array<std::uint8_t, UNDERTONE_ENCODER_DIGEST_BYTES>;
    /// The digest of the encoder that the pack was built with.
    Result<EncoderDigest> encoder_digest() const noexcept { return field(&undertone_pack_description::encoder_digest); }

    /// The name of that encoder.
    Result<std::string> encoder_name() const
    {
        undertone_pack_description found;
        const Status status = describe(found);
        if (!status) return status;
        return std::string(found.encoder_name);
    }

    undertone_pack *capi() noexcept { return handle_.get(); }
    const undertone_pack *capi() const noexcept { return handle_.get(); }

private:
    explicit Pack(detail::Handle<undertone_pack> handle) noexcept : handle_(std::move(handle)) {}

    static Result<Pack> make(const std::uint8_t *bytes, std::size_t len, detail::Owner owner) noexcept
    {
        auto handle = detail::make<undertone_pack>(UNDERTONE_PACK_HANDLE_SIZE, std::move(owner),
                                                   [&](void *memory, std::size_t memory_len, undertone_pack **out) {
                                                       return detail::call(undertone_pack_init, memory, memory_len,
                                                                           bytes, len, out);
                                                   });
        if (!handle) return handle.status();
        return Pack(*std::move(handle));
    }

    Status describe(undertone_pack_description &out) const noexcept
    {
        return detail::call(undertone_pack_describe, capi(), &out);
    }

    /// Without a pack, there is nothing to describe.
    undertone_pack_description description() const noexcept
    {
        undertone_pack_description found{};
        found.nothing_known = UINT32_MAX;
        static_cast<void>(describe(found));
        return found;
    }

    template <std::size_t N>
    Result<std::array<std::uint8_t, N>> field(std::uint8_t (undertone_pack_description::*bytes)[N]) const noexcept
    {
        undertone_pack_description found;
        const Status status = describe(found);
        if (!status) return status;
        std::array<std::uint8_t, N> out;
        std::copy_n(found.*bytes, N, out.begin());
        return out;
    }

    const detail::Owner &bytes() const noexcept { return handle_.get_deleter().bytes; }
    friend class Document;
    friend class VectorMechanism;
    friend class Vocabulary;

    detail::Handle<undertone_pack> handle_;
};

} // namespace undertone

#include "macros_end.inc"

#endif // UNDERTONE_PACK_HPP
