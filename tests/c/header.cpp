// The header compiles as C++, more than once in a program, and links as C.
#include "undertone.h"
#include "undertone.h"

int main()
{
    return undertone_abi_version() == UNDERTONE_ABI_VERSION ? 0 : 1;
}
