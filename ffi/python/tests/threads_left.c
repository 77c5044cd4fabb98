/* A machine that starts no more threads, for test_refusals.py, which preloads it: `threads_left`
 * more start, all of them if it is negative. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

int threads_left = -1;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    int (*system)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (threads_left == 0) return EAGAIN;
    if (threads_left > 0) threads_left--;
    *(void **)&system = dlsym(RTLD_NEXT, "pthread_create");
    return system(thread, attributes, start, argument);
}
