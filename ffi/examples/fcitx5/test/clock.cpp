// A clock that a test sets: the file that is named by UNDERTONE_TEST_DAY has the day. `test.sh`
// builds it in place of `../clock.cpp`, so an add-on that is built by its own CMakeLists.txt lacks it.

#include "clock.hpp"

#include <cstdlib>
#include <fstream>

std::uint64_t today()
{
    std::ifstream file(std::getenv("UNDERTONE_TEST_DAY"));
    std::uint64_t day = 0;
    if (!(file >> day)) std::abort();
    return day;
}
