// Private vectors.

#ifndef UNDERTONE_VECTOR_HPP
#define UNDERTONE_VECTOR_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "entropy.hpp"
#include "grant.hpp"
#include "pack.hpp"

#include "macros_begin.inc"

namespace undertone {

/// The noise on a released vector.
enum class Noise : std::int32_t {
    /// n-dimensional Laplace noise, the default: the least noise; its promise has a tiny delta.
    laplace = UNDERTONE_NOISE_LAPLACE,
    /// Discrete Laplace noise on each coordinate: about 1.5 times the noise, but no delta.
    discrete_laplace = UNDERTONE_NOISE_DISCRETE_LAPLACE,
};

/// The mechanism that releases private vectors, with its public parameters.
class VectorMechanism {
public:
    VectorMechanism() noexcept = default;

    /// Makes one that does not project vectors. Each coordinate is clamped to plus or minus
    /// 2^`bound_exponent`; an exponent of 0 is enough for vectors of norm 1.
    static Result<VectorMechanism> create(std::uint32_t dimension, std::int32_t bound_exponent, Epsilon epsilon,
                                          Noise noise = Noise::laplace) noexcept
    {
        return make(nullptr, [&](void *memory, std::size_t len, undertone_vector_mechanism **out) {
            return detail::call(undertone_vector_mechanism_init, memory, len, dimension, bound_exponent,
                                static_cast<std::int32_t>(noise), epsilon.micro(), out);
        });
    }

    /// Makes one that projects vectors with the projection of a pack, then releases them.
    static Result<VectorMechanism> projected(const Pack &pack, Epsilon epsilon, Noise noise = Noise::laplace) noexcept
    {
        return make(pack.bytes(), [&](void *memory, std::size_t len, undertone_vector_mechanism **out) {
            return detail::call(undertone_vector_mechanism_init_projected, memory, len, pack.capi(),
                                static_cast<std::int32_t>(noise), epsilon.micro(), out);
        });
    }

    /// The dimension of a vector that goes in.
    std::uint32_t dimension() const noexcept { return undertone_vector_mechanism_dimension(capi()); }
    /// The length of a release.
    std::size_t release_len() const noexcept { return undertone_vector_mechanism_release_len(capi()); }

    /// Draws the release of one private vector. The grant must have the epsilon of the mechanism.
    Result<std::vector<std::uint8_t>> release(Grant grant, const float *vector, std::size_t len, Entropy entropy) const
    {
        return detail::array<std::uint8_t>(
            release_len(), [&](std::uint8_t *out, std::size_t capacity, std::size_t *written) {
                return detail::call(undertone_vector_mechanism_release, capi(), grant.capi(), vector, len,
                                    entropy.function(), entropy.context(), out, capacity, written);
            });
    }
    Result<std::vector<std::uint8_t>> release(Grant grant, const std::vector<float> &vector, Entropy entropy) const
    {
        return release(std::move(grant), vector.data(), vector.size(), entropy);
    }
#if UNDERTONE_OS_ENTROPY
    Result<std::vector<std::uint8_t>> release(Grant grant, const float *vector, std::size_t len) const
    {
        return release(std::move(grant), vector, len, Entropy());
    }
    Result<std::vector<std::uint8_t>> release(Grant grant, const std::vector<float> &vector) const
    {
        return release(std::move(grant), vector, Entropy());
    }
#endif

    undertone_vector_mechanism *capi() noexcept { return handle_.get(); }
    const undertone_vector_mechanism *capi() const noexcept { return handle_.get(); }

private:
    explicit VectorMechanism(detail::Handle<undertone_vector_mechanism> handle) noexcept : handle_(std::move(handle)) {}

    template <class Init>
    static Result<VectorMechanism> make(detail::Owner bytes, Init init) noexcept
    {
        auto handle =
            detail::make<undertone_vector_mechanism>(UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE, std::move(bytes), init);
        if (!handle) return handle.status();
        return VectorMechanism(*std::move(handle));
    }

    detail::Handle<undertone_vector_mechanism> handle_;
};

/// The head of a released vector.
struct VectorReleaseContent {
    std::uint32_t dimension;
    Noise noise;
    /// The epsilon per unit of distance.
    Epsilon epsilon;
    /// The coordinates are multiples of 2^grid_exponent.
    std::int32_t grid_exponent;
    /// The identifier of the pack with the projection; zeroes without one.
    Pack::Id pack_id;
};

/// Reads the head of a released vector.
inline Result<VectorReleaseContent> read_vector_release(const std::uint8_t *bytes, std::size_t len) noexcept
{
    std::uint32_t dimension = 0;
    std::int32_t noise = 0;
    std::uint32_t micro = 0;
    std::int32_t grid_exponent = 0;
    Pack::Id id{};
    const Status status =
        detail::call(undertone_vector_release_read, bytes, len, &dimension, &noise, &micro, &grid_exponent, id.data());
    if (!status) return status;
    return VectorReleaseContent{dimension, static_cast<Noise>(noise), Epsilon::from_micro(micro), grid_exponent, id};
}
inline Result<VectorReleaseContent> read_vector_release(const std::vector<std::uint8_t> &bytes) noexcept
{
    return read_vector_release(bytes.data(), bytes.size());
}

/// The coordinates of a released vector in steps of its grid.
inline Result<std::vector<std::int32_t>> read_vector_release_steps(const std::uint8_t *bytes, std::size_t len)
{
    return detail::array<std::int32_t>(
        UNDERTONE_MAX_VECTOR_DIMENSION, [&](std::int32_t *out, std::size_t capacity, std::size_t *written) {
            return detail::call(undertone_vector_release_read_steps, bytes, len, out, capacity, written);
        });
}
inline Result<std::vector<std::int32_t>> read_vector_release_steps(const std::vector<std::uint8_t> &bytes)
{
    return read_vector_release_steps(bytes.data(), bytes.size());
}

/// The coordinates of a released vector.
inline Result<std::vector<double>> read_vector_release_values(const std::uint8_t *bytes, std::size_t len)
{
    return detail::array<double>(
        UNDERTONE_MAX_VECTOR_DIMENSION, [&](double *out, std::size_t capacity, std::size_t *written) {
            return detail::call(undertone_vector_release_read_values, bytes, len, out, capacity, written);
        });
}
inline Result<std::vector<double>> read_vector_release_values(const std::vector<std::uint8_t> &bytes)
{
    return read_vector_release_values(bytes.data(), bytes.size());
}

} // namespace undertone

#include "macros_end.inc"

#endif // UNDERTONE_VECTOR_HPP
