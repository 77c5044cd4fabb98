// Permission to spend an epsilon once.

#ifndef UNDERTONE_GRANT_HPP
#define UNDERTONE_GRANT_HPP

#include <cstddef>
#include <cstdint>
#include <utility>

#include "epsilon.hpp"
#include "handle.hpp"

#include "macros_begin.inc"

namespace undertone {

/// Permission to spend an epsilon once. Every release takes one.
class Grant {
public:
    Grant() noexcept = default;

    /// A grant without a ledger, for apps that count elsewhere what they spend, and for public
    /// text. A release uses up its grant even if the release fails, for example because the grant
    /// is for another unit.
    static Result<Grant> unrecorded(Unit unit, Epsilon epsilon) noexcept
    {
        auto handle = detail::make<undertone_grant>(
            UNDERTONE_GRANT_HANDLE_SIZE, nullptr, [&](void *memory, std::size_t len, undertone_grant **out) {
                return detail::call(undertone_grant_init_unrecorded, memory, len, static_cast<std::int32_t>(unit),
                                    epsilon.micro(), out);
            });
        if (!handle) return handle.status();
        return Grant(*std::move(handle));
    }

    undertone_grant *capi() noexcept { return handle_.get(); }
    const undertone_grant *capi() const noexcept { return handle_.get(); }

private:
    explicit Grant(detail::Handle<undertone_grant> handle) noexcept : handle_(std::move(handle)) {}
    friend class Ledger;
    friend class LedgerFile;

    detail::Handle<undertone_grant> handle_;
};

} // namespace undertone

#include "macros_end.inc"

#endif // UNDERTONE_GRANT_HPP
