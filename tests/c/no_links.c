/* Preloaded: a file system without hard links. */

#include <errno.h>

int link(const char *from, const char *to);
int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags);

int link(const char *from, const char *to)
{
    (void)from;
    (void)to;
    errno = EPERM;
    return -1;
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    (void)from_folder;
    (void)from;
    (void)to_folder;
    (void)to;
    (void)flags;
    errno = EPERM;
    return -1;
}
