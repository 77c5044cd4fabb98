#include "clock.hpp"

#include <ctime>

std::uint64_t today()
{
    return static_cast<std::uint64_t>(std::time(nullptr)) / 86400;
}
