// Releases of answers that the app already has.

#ifndef UNDERTONE_FORM_HPP
#define UNDERTONE_FORM_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "document.hpp"
#include "entropy.hpp"
#include "grant.hpp"
#include "handle.hpp"
#include "release.hpp"

#include "macros_begin.inc"

namespace undertone {

/// An answer that is no category of any attribute.
constexpr std::uint32_t no_answer = UINT32_MAX;

/// A form: a public file of attributes, each with categories. A question is one attribute, or a
/// pair of them that the form lists; the app has the answers.
class Form {
public:
    Form() noexcept = default;

    /// A form in memory: the bytes must stay where they are, unchanged, as long as the form is used.
    static Result<Form> view(const std::uint8_t *bytes, std::size_t len) noexcept { return make(bytes, len, nullptr); }

    /// A form that owns its bytes.
    static Result<Form> own(std::vector<std::uint8_t> bytes)
    {
        auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
        const std::uint8_t *data = owner->data();
        const std::size_t len = owner->size();
        return make(data, len, std::move(owner));
    }

    /// The name of an attribute, which points into the bytes of the form.
    Result<std::string_view> attribute_name(std::uint32_t attribute) const noexcept
    {
        return name(undertone_form_attribute_name, attribute);
    }

    /// The name of a category of an attribute, which points into the bytes of the form.
    Result<std::string_view> category_name(std::uint32_t attribute, std::uint32_t category) const noexcept
    {
        return name(undertone_form_category_name, attribute, category);
    }

    /// Writes what a text is about as the answer to the topic of the form: the attribute whose
    /// categories are the candidates of the document's pack. Removes the sentences from the
    /// document. The answer is as private as the text; release() protects the text together with
    /// all other answers. `answers`: as for release(). If it fails, nothing is changed.
    Status answer_topic(Document &document, std::vector<std::uint32_t> &answers) const noexcept
    {
        return detail::call(undertone_form_answer_topic, capi(), document.capi(), answers.data(), answers.size());
    }

    /// Draws one question without looking at any answer, and releases the answer to it. The epsilon
    /// of the grant protects all answers together. The grant is for Unit::whole_text. `answers`:
    /// the index of a category for each attribute, or any other number, such as no_answer. If it
    /// fails, nothing was released, but the grant is gone.
    Result<Release> release(const std::vector<std::uint32_t> &answers, Grant grant, Entropy entropy) const noexcept
    {
        Release out{};
        std::size_t written = 0;
        const Status status =
            detail::call(undertone_form_release, capi(), answers.data(), answers.size(), grant.capi(),
                         entropy.function(), entropy.context(), out.data(), out.size(), &written);
        if (!status) return status;
        return out;
    }
#if UNDERTONE_OS_ENTROPY
    Result<Release> release(const std::vector<std::uint32_t> &answers, Grant grant) const noexcept
    {
        return release(answers, std::move(grant), Entropy());
    }
#endif

    const undertone_form *capi() const noexcept { return handle_.get(); }

private:
    explicit Form(detail::Handle<undertone_form> handle) noexcept : handle_(std::move(handle)) {}

    template <class Find, class... Indices>
    Result<std::string_view> name(Find find, Indices... indices) const noexcept
    {
        const char *start = nullptr;
        std::size_t len = 0;
        const Status status = detail::call(find, capi(), indices..., &start, &len);
        if (!status) return status;
        return std::string_view(start, len);
    }

    static Result<Form> make(const std::uint8_t *bytes, std::size_t len, detail::Owner owner) noexcept
    {
        auto handle = detail::make<undertone_form>(UNDERTONE_FORM_HANDLE_SIZE, std::move(owner),
                                                   [&](void *memory, std::size_t memory_len, undertone_form **out) {
                                                       return detail::call(undertone_form_init, memory, memory_len,
                                                                           bytes, len, out);
                                                   });
        if (!handle) return handle.status();
        return Form(*std::move(handle));
    }

    detail::Handle<undertone_form> handle_;
};

} // namespace undertone

#include "macros_end.inc"

#endif // UNDERTONE_FORM_HPP
