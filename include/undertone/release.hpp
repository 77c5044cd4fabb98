// Releases, and their content.

#ifndef UNDERTONE_RELEASE_HPP
#define UNDERTONE_RELEASE_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pack.hpp"

#include "macros_begin.inc"

namespace undertone {

/// A release: the bytes that leave the device.
using Release = std::array<std::uint8_t, UNDERTONE_RELEASE_BYTES>;

/// The content of a release.
struct ReleaseContent {
    /// The number of the outcome. Check its range, because a release can be forged.
    /// - For a candidate: below Pack::candidate_count, or equal to Pack::nothing_known.
    /// - For release_projective(): the number of a point, which is a set of candidates.
    /// - For Form::release: 2^24 times the number of the question, plus the number of the point.
    std::uint32_t candidate;
    Epsilon epsilon;
    Rule rule;
    Pack::Id pack_id;
    Unit unit;
    /// For a point: the order of its geometry, which determines the candidates that a point stands
    /// for. For LineMechanism::drawn: the number of places. Otherwise 0.
    std::uint32_t order;

    /// True if the outcome of a whole-text release, or of a drawn sentence, with this pack is
    /// "nothing known": the pack recognised nothing, or the noise picked this outcome.
    bool nothing_known(const Pack &pack) const noexcept
    {
        return (unit == Unit::whole_text) == (order == 0) && candidate == pack.nothing_known();
    }
};

/// Reads a release that came from a device.
inline Result<ReleaseContent> read_release(const std::uint8_t *bytes, std::size_t len) noexcept
{
    std::uint32_t candidate = 0;
    std::uint32_t micro = 0;
    std::int32_t rule = 0;
    Pack::Id id{};
    std::int32_t unit = 0;
    std::uint32_t order = 0;
    const Status status(undertone_release_read(bytes, len, &candidate, &micro, &rule, &unit, &order, id.data()));
    if (!status) return status;
    return ReleaseContent{candidate, Epsilon::from_micro(micro), static_cast<Rule>(rule), id, static_cast<Unit>(unit),
                          order};
}
inline Result<ReleaseContent> read_release(const Release &release) noexcept
{
    return read_release(release.data(), release.size());
}
inline Result<ReleaseContent> read_release(const std::vector<std::uint8_t> &bytes) noexcept
{
    return read_release(bytes.data(), bytes.size());
}

} // namespace undertone

#include "macros_end.inc"

#endif // UNDERTONE_RELEASE_HPP
