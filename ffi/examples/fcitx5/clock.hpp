// The clock of the add-on.

#ifndef UNDERTONE_FCITX5_CLOCK_HPP
#define UNDERTONE_FCITX5_CLOCK_HPP

#include <cstdint>

/// The number of days since 1970, in UTC.
std::uint64_t today();

#endif // UNDERTONE_FCITX5_CLOCK_HPP
