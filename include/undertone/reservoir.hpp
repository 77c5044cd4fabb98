// A reservoir: one text of many, or its answers, for a release.

#ifndef UNDERTONE_RESERVOIR_HPP
#define UNDERTONE_RESERVOIR_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "document.hpp"
#include "form.hpp"

#include "macros_begin.inc"

namespace undertone {

/// How a line of a slot is released.
enum class LineMechanism {
    /// Protects all lines of a slot together.
    whole_text,
    /// The same, for counting among many candidates.
    projective,
    /// Protects each line, such as a sentence of a text. The grant is for Unit::sentence.
    drawn,
};

namespace detail {

/// The bytes of a reservoir, which are overwritten when it is moved or destroyed.
class ReservoirBytes {
public:
    using Bytes = std::array<std::uint8_t, UNDERTONE_RESERVOIR_BYTES>;

    ReservoirBytes(ReservoirBytes &&other) noexcept : bytes_(other.bytes_), slot_(other.slot_) { other.wipe(); }
    ReservoirBytes &operator=(ReservoirBytes &&other) noexcept
    {
        if (this != &other) {
            bytes_ = other.bytes_;
            slot_ = other.slot_;
            other.wipe();
        }
        return *this;
    }
    ~ReservoirBytes() { wipe(); }

    /// The number of the slot.
    std::uint64_t slot() const noexcept { return slot_; }
    /// The bytes to store.
    const Bytes &bytes() const noexcept { return bytes_; }

protected:
    ReservoirBytes() noexcept = default;

    /// Copies stored bytes if `read`, a function of C, accepts them for `source`.
    template <class Read, class Source>
    Status copy(Read read, const std::uint8_t *bytes, std::size_t len, const Source *source) noexcept
    {
        const Status status = call(read, bytes, len, source, &slot_, static_cast<std::uint32_t *>(nullptr));
        for (std::size_t i = 0; status && i < bytes_.size(); i++) bytes_[i] = bytes[i];
        return status;
    }

    Bytes bytes_{};
    std::uint64_t slot_ = 0;

private:
    void wipe() noexcept
    {
        for (volatile std::uint8_t &octet : bytes_) octet = 0;
    }
};

} // namespace detail

/// Draws one line of a slot without looking at any, and keeps its best candidate, but no text. A
/// line is a message, or a sentence of a text; a slot is the time or the text it is from. Store
/// bytes() after each call; they are as private as the lines. If they are lost, begin with a new
/// reservoir, which costs no privacy.
class Reservoir : public detail::ReservoirBytes {
public:
    /// Makes an empty reservoir for documents of the same pack as `document`. `slot`: a public
    /// number, which is stored. `place_count`: k, a public number from 1 to 65535, below the number
    /// of lines that most devices see in a slot. Each line is kept with probability at most 1/k.
    static Result<Reservoir> create(Document &document, std::uint64_t slot, std::uint32_t place_count,
                                    Entropy entropy) noexcept
    {
        Reservoir made;
        made.slot_ = slot;
        const Status status = detail::call(undertone_reservoir_init, document.capi(), slot, place_count,
                                           entropy.function(), entropy.context(), made.bytes_.data());
        if (!status) return status;
        return made;
    }

    /// Reads stored bytes.
    static Result<Reservoir> read(const std::uint8_t *bytes, std::size_t len, const Document &document) noexcept
    {
        Reservoir stored;
        const Status status = stored.copy(undertone_reservoir_read, bytes, len, document.capi());
        if (!status) return status;
        return stored;
    }

    /// Adds one line: all sentences in the document, taken together. Removes them from the
    /// document. If it fails, the line remains in the document and does not count.
    Status push(Document &document, Entropy entropy) noexcept
    {
        return detail::call(undertone_reservoir_push, bytes_.data(), document.capi(), entropy.function(),
                            entropy.context());
    }

    /// Releases the kept outcome and wipes the reservoir. Release even if nothing was typed, and
    /// wipe what was stored.
    Result<Release> release(const Document &document, LineMechanism mechanism, Grant grant, Entropy entropy) noexcept
    {
        Release out{};
        std::size_t written = 0;
        const auto draw = mechanism == LineMechanism::whole_text   ? undertone_reservoir_release_whole_text
                          : mechanism == LineMechanism::projective ? undertone_reservoir_release_projective
                                                                   : undertone_reservoir_release_drawn;
        const Status status = detail::call(draw, bytes_.data(), document.capi(), grant.capi(), entropy.function(),
                                           entropy.context(), out.data(), out.size(), &written);
        if (!status) return status;
        return out;
    }
#if UNDERTONE_OS_ENTROPY
    static Result<Reservoir> create(Document &document, std::uint64_t slot, std::uint32_t place_count) noexcept
    {
        return create(document, slot, place_count, Entropy());
    }
    Status push(Document &document) noexcept { return push(document, Entropy()); }
    Result<Release> release(const Document &document, LineMechanism mechanism, Grant grant) noexcept
    {
        return release(document, mechanism, std::move(grant), Entropy());
    }
#endif

private:
    Reservoir() noexcept = default;
};

/// Draws the answers of one line of a slot to one question of a form, such as the emoji of a line,
/// without looking at any answer. Otherwise as a Reservoir: store bytes() after each call.
class AnswerReservoir : public detail::ReservoirBytes {
public:
    /// Draws the question that will be released, and makes an empty reservoir. `slot`,
    /// `place_count`: as for a Reservoir.
    static Result<AnswerReservoir> create(const Form &form, std::uint64_t slot, std::uint32_t place_count,
                                          Entropy entropy) noexcept
    {
        AnswerReservoir made;
        made.slot_ = slot;
        const Status status = detail::call(undertone_answer_reservoir_init, form.capi(), slot, place_count,
                                           entropy.function(), entropy.context(), made.bytes_.data());
        if (!status) return status;
        return made;
    }

    /// Reads stored bytes.
    static Result<AnswerReservoir> read(const std::uint8_t *bytes, std::size_t len, const Form &form) noexcept
    {
        AnswerReservoir stored;
        const Status status = stored.copy(undertone_answer_reservoir_read, bytes, len, form.capi());
        if (!status) return status;
        return stored;
    }

    /// Adds the answers of one line, as for Form::release. If it fails, the line does not count.
    Status push(const Form &form, const std::vector<std::uint32_t> &answers, Entropy entropy) noexcept
    {
        return detail::call(undertone_answer_reservoir_push, bytes_.data(), form.capi(), answers.data(), answers.size(),
                            entropy.function(), entropy.context());
    }

    /// Releases the answer that was kept and wipes the reservoir. The grant is for
    /// Unit::whole_text. Release even if nothing was pushed, and wipe what was stored.
    Result<Release> release(const Form &form, Grant grant, Entropy entropy) noexcept
    {
        Release out{};
        std::size_t written = 0;
        const Status status =
            detail::call(undertone_answer_reservoir_release, bytes_.data(), form.capi(), grant.capi(),
                         entropy.function(), entropy.context(), out.data(), out.size(), &written);
        if (!status) return status;
        return out;
    }
#if UNDERTONE_OS_ENTROPY
    static Result<AnswerReservoir> create(const Form &form, std::uint64_t slot, std::uint32_t place_count) noexcept
    {
        return create(form, slot, place_count, Entropy());
    }
    Status push(const Form &form, const std::vector<std::uint32_t> &answers) noexcept
    {
        return push(form, answers, Entropy());
    }
    Result<Release> release(const Form &form, Grant grant) noexcept
    {
        return release(form, std::move(grant), Entropy());
    }
#endif

private:
    AnswerReservoir() noexcept = default;
};

} // namespace undertone

#include "macros_end.inc"

#endif // UNDERTONE_RESERVOIR_HPP
