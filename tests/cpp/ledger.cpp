// A program with a ledger, for tests/tests/ledger_lock.rs: ledger hold|spend PATH.
//
// Both open or make a ledger of epsilon 9 a window, and exit with 3 if it is in use. "spend" spends
// 1 in window 1. "hold" tries to open the file a second time, prints "open", and waits for the end
// of its input.

#include <cstdio>
#include <string>

#include "undertone.hpp"

using namespace undertone;

static int fail(Status status)
{
    std::fprintf(stderr, "%s (errno %d)\n", status.message(), status.system_error());
    return status.code() == STATUS_LEDGER_IN_USE ? 3 : 1;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    Result<LedgerFile> ledger = LedgerFile::open_or_create(argv[2], Unit::sentence, 9000000);
    if (!ledger) return fail(ledger.status());
    if (argv[1] == std::string("spend")) {
        const Result<Grant> grant = ledger->spend(Epsilon::from_micro(1000000), 1);
        return grant ? 0 : fail(grant.status());
    }
    if (LedgerFile::open_or_create(argv[2], Unit::sentence, 9000000).status().code() != STATUS_LEDGER_IN_USE) return 1;
    std::puts("open");
    std::fflush(stdout);
    while (std::getchar() != EOF) continue;
    return 0;
}
