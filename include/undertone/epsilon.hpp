// The public parameters of a release: an epsilon, a rule, a unit.

#ifndef UNDERTONE_EPSILON_HPP
#define UNDERTONE_EPSILON_HPP

#include <cstdint>
#include <string_view>

#include "status.hpp"

#include "macros_begin.inc"

namespace undertone {

/// How a candidate is drawn.
enum class Rule : std::int32_t {
    /// The default: never less accurate than the exponential mechanism at the same epsilon.
    permute_and_flip = UNDERTONE_RULE_PERMUTE_AND_FLIP,
    /// For programs that add up losses as zero-concentrated differential privacy (zCDP).
    exponential = UNDERTONE_RULE_EXPONENTIAL,
};

/// The unit of privacy. Every unit has a ledger of its own.
enum class Unit : std::int32_t {
    /// One sentence: Document::release, LineMechanism::drawn.
    sentence = UNDERTONE_UNIT_SENTENCE,
    /// The whole text, all lines of a slot, or all answers of a form: all other releases of
    /// Document, Reservoir and Form.
    whole_text = UNDERTONE_UNIT_WHOLE_TEXT,
    /// A bag of words: Bag::release. Epsilon counts per unit of word mover's distance.
    word = UNDERTONE_UNIT_WORD,
    /// A vector: VectorMechanism::release. Epsilon counts per unit of Euclidean distance.
    vector = UNDERTONE_UNIT_VECTOR,
};

/// An epsilon: a whole number of micro-units, 1 to UNDERTONE_MAX_EPSILON_MICRO.
class Epsilon {
public:
    /// Reads a decimal number such as "10", "0.5" or "1e-3", and rounds it down to whole
    /// micro-units.
    static Result<Epsilon> parse(std::string_view text) noexcept
    {
        std::uint32_t micro = 0;
        const Status status(undertone_epsilon_parse(text.data(), text.size(), &micro));
        if (!status) return status;
        return Epsilon(micro);
    }

    /// Does not check the number. The function that uses the epsilon does.
    static constexpr Epsilon from_micro(std::uint32_t micro) noexcept { return Epsilon(micro); }
    constexpr std::uint32_t micro() const noexcept { return micro_; }

private:
    constexpr explicit Epsilon(std::uint32_t micro) noexcept : micro_(micro) {}
    std::uint32_t micro_;
};

} // namespace undertone

#include "macros_end.inc"

#endif // UNDERTONE_EPSILON_HPP
