// One line of a slot, and its release.

#ifndef UNDERTONE_RESERVOIR_HPP
#define UNDERTONE_RESERVOIR_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "document.hpp"

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

/// Draws one line of a slot without looking at any line, and keeps its outcome, but no text. A line
/// is one text, such as a message; a slot is the time that one release is about. Store bytes()
/// after each call; they are as private as the lines. If they are lost, begin with a new reservoir,
/// which costs no privacy.
class Reservoir {
public:
    using Bytes = std::array<std::uint8_t, UNDERTONE_RESERVOIR_BYTES>;

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

    Reservoir(Reservoir &&other) noexcept : bytes_(other.bytes_), slot_(other.slot_) { other.wipe(); }
    Reservoir &operator=(Reservoir &&other) noexcept
    {
        if (this != &other) {
            bytes_ = other.bytes_;
            slot_ = other.slot_;
            other.wipe();
        }
        return *this;
    }
    ~Reservoir() { wipe(); }

    /// Reads stored bytes.
    static Result<Reservoir> read(const std::uint8_t *bytes, std::size_t len, const Document &document) noexcept
    {
        Reservoir stored;
        const Status status = detail::call(undertone_reservoir_read, bytes, len, document.capi(), &stored.slot_,
                                           static_cast<std::uint32_t *>(nullptr));
        if (!status) return status;
        for (std::size_t i = 0; i < len; i++) stored.bytes_[i] = bytes[i];
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

    /// The number of the slot.
    std::uint64_t slot() const noexcept { return slot_; }
    /// The bytes to store.
    const Bytes &bytes() const noexcept { return bytes_; }

private:
    Reservoir() noexcept = default;

    void wipe() noexcept
    {
        for (volatile std::uint8_t &byte : bytes_) byte = 0;
    }

    Bytes bytes_{};
    std::uint64_t slot_ = 0;
};

} // namespace undertone

#include "macros_end.inc"

#endif // UNDERTONE_RESERVOIR_HPP
