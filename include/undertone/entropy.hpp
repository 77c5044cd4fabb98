// Sources of secret bytes.

#ifndef UNDERTONE_ENTROPY_HPP
#define UNDERTONE_ENTROPY_HPP

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include "../undertone.h"

// 1 if the operating system has a known source of entropy; otherwise pass your own Entropy.
#if defined(_WIN32)
#define UNDERTONE_OS_ENTROPY 1
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
// Must follow windows.h.
#include <bcrypt.h>
#ifdef _MSC_VER
#pragma comment(lib, "bcrypt")
#endif
#elif defined(__APPLE__) || defined(__ANDROID__) || defined(__FreeBSD__) || defined(__OpenBSD__) || \
    defined(__NetBSD__)
#define UNDERTONE_OS_ENTROPY 1
#elif defined(__linux__)
#define UNDERTONE_OS_ENTROPY 1
#include <sys/random.h>
#else
#define UNDERTONE_OS_ENTROPY 0
#endif

#include "macros_begin.inc"

namespace undertone {

/// A source of secret bytes.
class Entropy {
public:
#if UNDERTONE_OS_ENTROPY
    /// The generator of the operating system.
    Entropy() noexcept : function_(from_system) {}
#endif
    /// A function in the form of undertone.h.
    Entropy(undertone_entropy_fn fill, void *data) noexcept : function_(fill), context_(data) {}
    /// A function object bool(std::uint8_t *out, std::size_t len): it fills all of `out` and
    /// returns true, or returns false, and does not throw. It must live as long as this object.
    /// It must not be a seeded generator, because whoever learns the seed can undo the privacy.
    template <class Source,
              class = std::enable_if_t<std::is_object_v<Source> &&
                                       std::is_invocable_r_v<bool, Source &, std::uint8_t *, std::size_t>>>
    explicit Entropy(Source &source) noexcept
        : function_(call<Source>), context_(const_cast<void *>(static_cast<const void *>(&source)))
    {
    }

    undertone_entropy_fn function() const noexcept { return function_; }
    void *context() const noexcept { return context_; }

private:
    template <class Source>
    static std::int32_t call(void *source, std::uint8_t *out, std::size_t len) noexcept
    {
        return (*static_cast<Source *>(source))(out, len) ? 0 : -1;
    }

#if UNDERTONE_OS_ENTROPY
    static std::int32_t from_system(void *, std::uint8_t *out, std::size_t len) noexcept
    {
#if defined(_WIN32)
        return BCryptGenRandom(nullptr, out, static_cast<ULONG>(len), BCRYPT_USE_SYSTEM_PREFERRED_RNG);
#elif defined(__linux__) && !defined(__ANDROID__)
        while (len > 0) {
            const ssize_t got = getrandom(out, len, 0);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return -1;
            out += got;
            len -= static_cast<std::size_t>(got);
        }
        return 0;
#else
        // A generator for cryptography on all these systems, safe across fork. getentropy is not
        // for apps on iOS, and Android has getrandom since version 9 only.
        arc4random_buf(out, len);
        return 0;
#endif
    }
#endif

    undertone_entropy_fn function_ = nullptr;
    void *context_ = nullptr;
};

} // namespace undertone

#include "macros_end.inc"

#endif // UNDERTONE_ENTROPY_HPP
