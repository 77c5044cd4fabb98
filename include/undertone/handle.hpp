// Handles of undertone.h in memory of their own. For the other headers, not for programs.

#ifndef UNDERTONE_HANDLE_HPP
#define UNDERTONE_HANDLE_HPP

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "status.hpp"

#include "macros_begin.inc"

namespace undertone {

namespace detail {

/// Wipes a handle before its memory is freed.
inline void wipe(undertone_pack *) noexcept {}
inline void wipe(undertone_form *) noexcept {}
inline void wipe(undertone_grant *) noexcept {}
inline void wipe(undertone_ledger *) noexcept {}
inline void wipe(undertone_document *document) noexcept { undertone_document_reset(document); }
inline void wipe(undertone_vector_mechanism *) noexcept {}
inline void wipe(undertone_vocabulary *) noexcept {}
inline void wipe(undertone_bag *bag) noexcept { undertone_bag_reset(bag); }

template <class T, class = void>
struct IsHandle : std::false_type {};
template <class T>
struct IsHandle<T, std::void_t<decltype(wipe(std::declval<T *>()))>> : std::true_type {};

/// Whether an argument is a handle that is missing.
template <class T>
constexpr bool is_missing(T) noexcept
{
    return false;
}
template <class T>
constexpr bool is_missing(T *pointer) noexcept
{
    return IsHandle<std::remove_const_t<T>>::value && pointer == nullptr;
}

/// Calls a function of undertone.h. Returns STATUS_MOVED if an argument is a missing handle.
template <class... Parameters, class... Arguments>
Status call(std::int32_t (*function)(Parameters...), Arguments... arguments) noexcept
{
    const std::int32_t code = function(arguments...);
    const bool missing = (is_missing(arguments) || ...);
    return Status(code == UNDERTONE_STATUS_NULL_POINTER && missing ? STATUS_MOVED : code);
}

/// The bytes of a pack or a form, if undertone.hpp keeps them; shared by all objects that point into them.
using Owner = std::shared_ptr<const std::vector<std::uint8_t>>;

template <class T>
struct Wiper {
    // In the deleter, so that they outlive the handle.
    Owner bytes;

    void operator()(T *handle) const noexcept
    {
        wipe(handle);
        std::free(handle);
    }
};

/// A handle of undertone.h in memory of its own. It is bound to its address, so it stays on the
/// heap.
template <class T>
using Handle = std::unique_ptr<T, Wiper<T>>;

/// Memory for a handle, given to `init(memory, len, out_handle)`, which returns a Status.
template <class T, class Init>
Result<Handle<T>> make(std::size_t size, Owner bytes, Init init) noexcept
{
    // Memory from malloc is aligned for every handle.
    void *memory = std::malloc(size);
    if (memory == nullptr) return Status(STATUS_OUT_OF_MEMORY);
    T *handle = nullptr;
    const Status status = init(memory, size, &handle);
    if (!status) {
        std::free(memory);
        return status;
    }
    return Handle<T>(handle, Wiper<T>{std::move(bytes)});
}

/// An array with the values that `fill(out, capacity, out_written)` writes; it returns a Status.
template <class T, class Fill>
Result<std::vector<T>> array(std::size_t capacity, Fill fill)
{
    std::vector<T> out(capacity);
    std::size_t written = 0;
    const Status status = fill(out.data(), out.size(), &written);
    if (!status) return status;
    out.resize(written);
    return Result<std::vector<T>>(std::move(out));
}

} // namespace detail

} // namespace undertone

#include "macros_end.inc"

#endif // UNDERTONE_HANDLE_HPP
