/*
 * Golden vectors for faces that accept no random bytes from a caller, on Linux. It is part of no
 * library; a test preloads it,
 *
 *     cc -shared -fPIC replay.c -o replay.so && LD_PRELOAD=$PWD/replay.so TEST
 *
 * and sets the next answers of the system's generator with the function `replay`. All other draws
 * get the system's bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t prescribed[4096];
static size_t used, count, draw;

/* The next draws of `each` bytes get these, one after another. Returns the number of bytes that
 * were not drawn since the last call, or -1 if there is no room. */
ptrdiff_t replay(const uint8_t *bytes, size_t len, size_t each)
{
    ptrdiff_t left = -1;
    pthread_mutex_lock(&lock);
    if (len <= sizeof prescribed) {
        left = (ptrdiff_t)(count - used);
        memcpy(prescribed, bytes, len);
        used = 0;
        count = len;
        draw = each;
    }
    pthread_mutex_unlock(&lock);
    return left;
}

static int answered(void *out, size_t len)
{
    pthread_mutex_lock(&lock);
    const int held = len > 0 && len == draw && len <= count - used;
    if (held) {
        memcpy(out, prescribed + used, len);
        used += len;
    }
    pthread_mutex_unlock(&lock);
    return held;
}

/* Called by Rust's generators. */
ssize_t getrandom(void *out, size_t len, unsigned int flags)
{
    if (answered(out, len)) return (ssize_t)len;
    ssize_t (*system)(void *, size_t, unsigned int);
    *(void **)&system = dlsym(RTLD_NEXT, "getrandom");
    return system(out, len, flags);
}

/* Called by Swift's generator. */
long syscall(long number, ...)
{
    long argument[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++) argument[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_getrandom && answered((void *)argument[0], (size_t)argument[1])) return argument[1];
    long (*system)(long, ...);
    *(void **)&system = dlsym(RTLD_NEXT, "syscall");
    return system(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}
