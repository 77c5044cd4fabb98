// The header again, twice, in a second translation unit: two of them make one program.
#include "undertone.hpp"
#include "undertone.hpp"

undertone::Result<undertone::Pack> open_elsewhere(const char *path)
{
    return undertone::Pack::open(path);
}
