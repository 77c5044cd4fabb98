/* Preloaded by tests/tests/ledger_lock.rs. Reports each sync of a folder, or ends the program there, as a crash would. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_folder(int descriptor)
{
    struct stat about;
    if (fstat(descriptor, &about) != 0 || !S_ISDIR(about.st_mode)) return 0;
    if (getenv("UNDERTONE_TEST_DIES_AT_SYNC") != NULL) _exit(9);
    return 1;
}

static int synced(int descriptor, const char *name)
{
    static const char message[] = "synced a folder\n";
    if (is_folder(descriptor) && write(2, message, sizeof message - 1) < 0) return -1;
    return ((int (*)(int))dlsym(RTLD_NEXT, name))(descriptor);
}

int fsync(int descriptor) { return synced(descriptor, "fsync"); }

int fdatasync(int descriptor) { return synced(descriptor, "fdatasync"); }
