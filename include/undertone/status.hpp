// Statuses and results. Read undertone.hpp first.

#ifndef UNDERTONE_STATUS_HPP
#define UNDERTONE_STATUS_HPP

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "../undertone.h"

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define UNDERTONE_EXCEPTIONS 1
#include <stdexcept>
#else
#define UNDERTONE_EXCEPTIONS 0
#endif

#include "macros_begin.inc"

namespace undertone {

// Statuses of this header, beside those of undertone.h, which are not negative.

/// The system refused to read or write a file; Status::system_error() is its errno.
inline constexpr std::int32_t STATUS_FILE_FAILED = -1;
/// The system has no memory left.
inline constexpr std::int32_t STATUS_OUT_OF_MEMORY = -2;
/// The object was moved from, or made without create() or open(), so it has no handle.
inline constexpr std::int32_t STATUS_MOVED = -3;
/// Another LedgerFile, in this program or another, has the file open.
inline constexpr std::int32_t STATUS_LEDGER_IN_USE = UNDERTONE_STATUS_LEDGER_IN_USE;

/// The outcome of a call: done, or the reason why not.
class [[nodiscard]] Status {
public:
    /// Done.
    constexpr Status() noexcept = default;
    /// From the result of a function of undertone.h.
    constexpr explicit Status(std::int32_t code) noexcept : code_(code) {}
    /// A refusal of the system, with its errno.
    static constexpr Status system(int error) noexcept
    {
        Status status(STATUS_FILE_FAILED);
        status.system_error_ = error;
        return status;
    }

    constexpr bool ok() const noexcept { return code_ == UNDERTONE_STATUS_OK; }
    constexpr explicit operator bool() const noexcept { return ok(); }
    /// UNDERTONE_STATUS_OK, another number of undertone.h, or one of the numbers above.
    constexpr std::int32_t code() const noexcept { return code_; }
    /// The errno of STATUS_FILE_FAILED, else 0.
    constexpr int system_error() const noexcept { return system_error_; }
    /// A static English string: what is wrong and what to do.
    const char *message() const noexcept
    {
        switch (code_) {
        case STATUS_FILE_FAILED:
            return "the system refused to read or write a file; system_error() says why";
        case STATUS_OUT_OF_MEMORY:
            return "the system has no memory left";
        case STATUS_MOVED:
            return "an object was moved from, or made without create() or open(), so it has no handle; use the object "
                   "that it was moved to";
        default:
            return undertone_status_message(code_);
        }
    }

private:
    std::int32_t code_ = UNDERTONE_STATUS_OK;
    int system_error_ = 0;
};

namespace detail {

/// Ends a program that takes a missing value. It prints only constant text and numbers.
[[noreturn]] inline void taken(Status why) noexcept
{
    std::fprintf(stderr, "undertone: the value of a failed Result was taken: %s (status %ld, errno %d)\n",
                 why.message(), static_cast<long>(why.code()), why.system_error());
    std::abort();
}

} // namespace detail

/// A value, or the Status with the reason why it is missing.
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) noexcept(std::is_nothrow_move_constructible_v<T>) : value_(std::move(value)) {}
    Result(Status why) noexcept : status_(why)
    {
        // A result without a value has a reason.
        if (why.ok()) status_ = Status(UNDERTONE_STATUS_INTERNAL);
    }

    bool ok() const noexcept { return value_.has_value(); }
    explicit operator bool() const noexcept { return ok(); }
    Status status() const noexcept { return status_; }

    T &operator*() & noexcept { return checked(); }
    const T &operator*() const & noexcept { return const_cast<Result *>(this)->checked(); }
    T &&operator*() && noexcept { return std::move(checked()); }
    T *operator->() noexcept { return &checked(); }
    const T *operator->() const noexcept { return &const_cast<Result *>(this)->checked(); }

private:
    T &checked() noexcept
    {
        if (!value_) detail::taken(status_);
        return *value_;
    }

    std::optional<T> value_;
    Status status_;
};

#if UNDERTONE_EXCEPTIONS
/// The exception of or_throw().
class Error : public std::runtime_error {
public:
    explicit Error(Status status) : std::runtime_error(text(status)), status_(status) {}
    Status status() const noexcept { return status_; }

private:
    static std::string text(Status status)
    {
        std::string text = status.message();
        if (status.system_error() != 0) text += std::string(": ") + std::strerror(status.system_error());
        return text;
    }

    Status status_;
};

/// Nothing, or throws Error.
inline void or_throw(Status status)
{
    if (!status) throw Error(status);
}

/// The value, or throws Error.
template <class T>
T or_throw(Result<T> result)
{
    if (!result) throw Error(result.status());
    return *std::move(result);
}
#endif

} // namespace undertone

#include "macros_end.inc"

#endif // UNDERTONE_STATUS_HPP
