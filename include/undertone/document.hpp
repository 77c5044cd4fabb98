// A private document, from its sentences to its release.

#ifndef UNDERTONE_DOCUMENT_HPP
#define UNDERTONE_DOCUMENT_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "entropy.hpp"
#include "grant.hpp"
#include "pack.hpp"
#include "release.hpp"

#include "macros_begin.inc"

namespace undertone {

/// The promise of a release, in micro-units; a smaller number is more private.
struct Promise {
    /// The epsilon that bounds the effect of replacing one sentence.
    std::uint64_t sentence_micro;
    /// The epsilon that bounds the effect of replacing the whole text by any other.
    std::uint64_t whole_text_micro;
};

/// A private document: sentences go in, one private release comes out, and the document is empty
/// again.
class Document {
public:
    Document() noexcept = default;

    /// Makes an empty document for the candidates of a pack.
    static Result<Document> create(const Pack &pack) noexcept
    {
        auto handle = detail::make<undertone_document>(UNDERTONE_DOCUMENT_HANDLE_SIZE, pack.bytes(),
                                                       [&](void *memory, std::size_t len, undertone_document **out) {
                                                           return detail::call(undertone_document_init, memory, len,
                                                                               pack.capi(), out);
                                                       });
        if (!handle) return handle.status();
        return Document(*std::move(handle));
    }

    /// Adds one sentence by its embedding.
    Status push(const float *embedding, std::size_t len) noexcept
    {
        return detail::call(undertone_document_push, capi(), embedding, len);
    }
    Status push(const std::vector<float> &embedding) noexcept { return push(embedding.data(), embedding.size()); }

    /// Adds sentences by their embeddings, in order, until the document is full. This is faster
    /// than a call of push() for each. Returns the number of sentences added, which is private.
    Result<std::size_t> push_all(const float *embeddings, std::size_t len) noexcept
    {
        std::size_t pushed = 0;
        const Status status = detail::call(undertone_document_push_all, capi(), embeddings, len, &pushed);
        if (!status) return status;
        return pushed;
    }
    Result<std::size_t> push_all(const std::vector<float> &embeddings) noexcept
    {
        return push_all(embeddings.data(), embeddings.size());
    }

    /// Adds one sentence by its text and its embedding, for a pack with a neural encoder and
    /// features of texts.
    Status push_encoded(std::string_view text, const float *embedding, std::size_t len) noexcept
    {
        return detail::call(undertone_document_push_encoded, capi(), text.data(), text.size(), embedding, len);
    }
    Status push_encoded(std::string_view text, const std::vector<float> &embedding) noexcept
    {
        return push_encoded(text, embedding.data(), embedding.size());
    }

    /// Adds one sentence by its text, through the lexicon and the features in the pack.
    Status push_sentence(std::string_view text) noexcept
    {
        return detail::call(undertone_document_push_sentence, capi(), text.data(), text.size());
    }

    /// Adds the sentences of a text, as next_sentence finds them, until the document is full.
    /// Returns the number of sentences added, which is private.
    Result<std::size_t> push_text(std::string_view text) noexcept
    {
        std::size_t sentences = 0;
        const Status status = detail::call(undertone_document_push_text, capi(), text.data(), text.size(), &sentences);
        if (!status) return status;
        return sentences;
    }

    /// The number of sentences, which is private.
    std::size_t sentence_count() const noexcept { return undertone_document_sentence_count(capi()); }

    /// The promise of a release of this document, which does not depend on the sentences. Call it
    /// before a ledger spends: for Unit::whole_text it fails if the pack has no scores or too many
    /// candidates.
    Result<Promise> promise(Unit unit, Epsilon epsilon) const noexcept
    {
        Promise promise{};
        const Status status = detail::call(undertone_document_promise, capi(), static_cast<std::int32_t>(unit),
                                           epsilon.micro(), &promise.sentence_micro, &promise.whole_text_micro);
        if (!status) return status;
        return promise;
    }

    /// Draws a release that protects each sentence, for long texts, and removes all sentences. If
    /// it fails, nothing was drawn and the sentences are still there, but the grant is gone.
    Result<Release> release(Grant grant, Rule rule, Entropy entropy) noexcept
    {
        Release out{};
        std::size_t written = 0;
        const Status status =
            detail::call(undertone_document_release, capi(), grant.capi(), static_cast<std::int32_t>(rule),
                         entropy.function(), entropy.context(), out.data(), out.size(), &written);
        if (!status) return status;
        return out;
    }

    /// Draws a release that protects the whole text, for short texts, and removes all sentences.
    /// Choose between this and release() without looking at the text or its length. A failure is as
    /// for release().
    Result<Release> release_whole_text(Grant grant, Entropy entropy) noexcept
    {
        Release out{};
        std::size_t written = 0;
        const Status status = detail::call(undertone_document_release_whole_text, capi(), grant.capi(),
                                           entropy.function(), entropy.context(), out.data(), out.size(), &written);
        if (!status) return status;
        return out;
    }

    /// Draws a release for counting, with the promise of release_whole_text(). The release names a
    /// *point*, which is a fixed public set of candidates. Removes all sentences. A failure is as
    /// for release().
    Result<Release> release_projective(Grant grant, Entropy entropy) noexcept
    {
        Release out{};
        std::size_t written = 0;
        const Status status = detail::call(undertone_document_release_projective, capi(), grant.capi(),
                                           entropy.function(), entropy.context(), out.data(), out.size(), &written);
        if (!status) return status;
        return out;
    }
#if UNDERTONE_OS_ENTROPY
    Result<Release> release(Grant grant, Rule rule = Rule::permute_and_flip) noexcept
    {
        return release(std::move(grant), rule, Entropy());
    }
    Result<Release> release_whole_text(Grant grant) noexcept { return release_whole_text(std::move(grant), Entropy()); }
    Result<Release> release_projective(Grant grant) noexcept { return release_projective(std::move(grant), Entropy()); }
#endif

    /// Removes all sentences.
    Status reset() noexcept { return detail::call(undertone_document_reset, capi()); }

    undertone_document *capi() noexcept { return handle_.get(); }
    const undertone_document *capi() const noexcept { return handle_.get(); }

private:
    explicit Document(detail::Handle<undertone_document> handle) noexcept : handle_(std::move(handle)) {}

    detail::Handle<undertone_document> handle_;
};

} // namespace undertone

#include "macros_end.inc"

#endif // UNDERTONE_DOCUMENT_HPP
