/*
 * What a POSIX system has for the library: a ledger in a file, for undertone_ledger_spend, and entropy. Header only, beside
 * undertone.h. C++ has undertone::LedgerFile, which is made of it.
 *
 *     undertone_posix_ledger file = {"budget.ledger", -1, 0};
 *     const undertone_ledger_storage storage = undertone_posix_storage(&file);
 *     undertone_posix_create(&file, UNDERTONE_UNIT_SENTENCE, 10000000, undertone_posix_entropy, NULL);   once: epsilon 10 a window
 *     undertone_ledger_spend(&storage, UNDERTONE_UNIT_SENTENCE, ...);
 *
 * If a status is UNDERTONE_STATUS_LEDGER_STORAGE_FAILED, file.error says why (an errno). An app with a monotonic counter of its
 * platform sets read_counter and raise_counter of the storage; they get the address of the undertone_posix_ledger.
 *
 * The lock keeps to the rule in the README of the folder ffi, so programs in all languages keep each other out. Two threads of a
 * program exclude each other, too, whether they share an undertone_posix_ledger or each has its own: one of them gets
 * UNDERTONE_STATUS_LEDGER_IN_USE.
 */

#ifndef UNDERTONE_POSIX_H
#define UNDERTONE_POSIX_H

/* Strict ISO C (-std=c11) hides what POSIX adds. This asks for it, if no system header came before. */
#if !defined(_POSIX_C_SOURCE) && !defined(_XOPEN_SOURCE) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "undertone.h"

#if !defined(O_CLOEXEC) || !defined(O_NOFOLLOW)
#error "undertone_posix.h needs POSIX.1-2008: include it first, or define _POSIX_C_SOURCE as 200809L"
#endif

typedef struct undertone_posix_ledger {
    const char *path;
    /* -1, or the open file while it is locked; -2 while a call has found no file, or is about to lock it. */
    int descriptor;
    /* The errno of what failed last. */
    int error;
} undertone_posix_ledger;

/* Secret bytes from the operating system, as every function with an undertone_entropy_fn takes them. The context is not used. */
static inline int32_t undertone_posix_entropy(void *context, uint8_t *out, size_t len)
{
    int source;
    (void)context;
    do source = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    while (source < 0 && errno == EINTR);
    if (source < 0) return -1;
    while (len > 0) {
        const ssize_t got = read(source, out, len);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        out += got;
        len -= (size_t)got;
    }
    close(source);
    return len == 0 ? 0 : -1;
}

/* Opens a regular file. O_NONBLOCK, because a pipe would wait for its other end. */
static inline int undertone_posix_open(const char *path, int flags)
{
    struct stat about;
    int descriptor;
    do descriptor = open(path, flags | O_CLOEXEC | O_NONBLOCK, S_IRUSR | S_IWUSR);
    while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) return -1;
    if (fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode)) return descriptor;
    close(descriptor);
    errno = EINVAL;
    return -1;
}

/* Locks an open file for whoever opened it. */
static inline int undertone_posix_lock_file(int descriptor, int wait)
{
    int result;
    do result = flock(descriptor, wait ? LOCK_EX : LOCK_EX | LOCK_NB);
    while (result != 0 && errno == EINTR);
#if defined(__linux__)
    /* Java takes a record lock; here that and flock do not see each other. F_OFD_SETLK and F_OFD_SETLKW by their numbers,
     * because not every C library shows the names. */
    if (result == 0) {
#if defined(__ANDROID__) && !defined(__LP64__)
        /* Android's libc passes it on as it is, and the system takes offsets of 64 bits. */
        struct flock64 whole;
#else
        struct flock whole;
#endif
#if !defined(__GLIBC__)
        /* Does not compile if they are shorter. glibc converts them. */
        (void)sizeof(char[sizeof whole.l_len == 8 ? 1 : -1]);
#endif
        memset(&whole, 0, sizeof whole);
        whole.l_type = F_WRLCK;
        whole.l_whence = SEEK_SET;
        do result = fcntl(descriptor, wait ? 38 : 37, &whole);
        while (result != 0 && errno == EINTR);
    }
#endif
    return result;
}

/* Whether that failed because another has the lock. */
static inline int undertone_posix_is_locked(int error)
{
    return error == EAGAIN || error == EACCES;
}

/* Returns once storage has what was written. */
static inline int undertone_posix_sync(int descriptor)
{
#ifdef F_FULLFSYNC
    /* Here fsync leaves the bytes in the cache of the drive. Not every file system has the better one. */
    if (fcntl(descriptor, F_FULLFSYNC) == 0) return 0;
#endif
    return fsync(descriptor);
}

/* Another thread may say so meanwhile. */
static inline void undertone_posix_failed(undertone_posix_ledger *file, int error)
{
    __atomic_store_n(&file->error, error, __ATOMIC_RELAXED);
}

/* Another thread may be trying to lock the file meanwhile. */
static inline int undertone_posix_descriptor(const undertone_posix_ledger *file)
{
    return __atomic_load_n(&file->descriptor, __ATOMIC_RELAXED);
}

static inline int32_t undertone_posix_lock(void *context)
{
    undertone_posix_ledger *file = (undertone_posix_ledger *)context;
    int descriptor, error, nobody = -1;
    /* Another thread is in a call, or a counter uses the ledger that asks it. */
    if (!__atomic_compare_exchange_n(&file->descriptor, &nobody, -2, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return -1;
    descriptor = undertone_posix_open(file->path, O_RDWR);
    if (descriptor >= 0 && undertone_posix_lock_file(descriptor, 0) == 0) {
        __atomic_store_n(&file->descriptor, descriptor, __ATOMIC_RELAXED);
        return 0;
    }
    error = errno;
    undertone_posix_failed(file, error);
    if (descriptor >= 0) close(descriptor);
    /* That it is missing, or cannot be opened or locked, is for `read` to say. */
    if (descriptor < 0 || !undertone_posix_is_locked(error)) return 0;
    __atomic_store_n(&file->descriptor, -1, __ATOMIC_RELEASE);
    return -1;
}

static inline void undertone_posix_unlock(void *context)
{
    undertone_posix_ledger *file = (undertone_posix_ledger *)context;
    const int descriptor = undertone_posix_descriptor(file);
    if (descriptor >= 0) close(descriptor);
    __atomic_store_n(&file->descriptor, -1, __ATOMIC_RELEASE);
}

static inline int32_t undertone_posix_read(void *context, uint8_t *out, size_t capacity, size_t *out_read)
{
    undertone_posix_ledger *file = (undertone_posix_ledger *)context;
    const int descriptor = undertone_posix_descriptor(file);
    size_t len = 0;
    if (descriptor < 0) return -1;
    while (len < capacity) {
        const ssize_t got = pread(descriptor, out + len, capacity - len, (off_t)len);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            undertone_posix_failed(file, errno);
            return -1;
        }
        if (got == 0) break;
        len += (size_t)got;
    }
    *out_read = len;
    return 0;
}

static inline int32_t undertone_posix_write(void *context, size_t offset, const uint8_t *bytes, size_t len)
{
    undertone_posix_ledger *file = (undertone_posix_ledger *)context;
    const int descriptor = undertone_posix_descriptor(file);
    while (len > 0) {
        const ssize_t put = pwrite(descriptor, bytes, len, (off_t)offset);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) {
            undertone_posix_failed(file, errno);
            return -1;
        }
        bytes += put;
        offset += (size_t)put;
        len -= (size_t)put;
    }
    if (undertone_posix_sync(descriptor) == 0) return 0;
    undertone_posix_failed(file, errno);
    return -1;
}

/* How undertone_ledger_spend reads and writes the file, which must stay where it is. A counter that you add must not use it:
 * while a call asks the counter, the file is in use. */
static inline undertone_ledger_storage undertone_posix_storage(undertone_posix_ledger *file)
{
    undertone_ledger_storage storage;
    memset(&storage, 0, sizeof storage);
    storage.context = file;
    storage.lock = undertone_posix_lock;
    storage.unlock = undertone_posix_unlock;
    storage.read = undertone_posix_read;
    storage.write = undertone_posix_write;
    return storage;
}

/* Writes an image beside its place, syncs, renames it and syncs the folder, unless the ledger is there: it exists whole or
 * not at all. */
static inline int32_t undertone_posix_place(undertone_posix_ledger *file, const uint8_t *image)
{
    char lock_name[4096], partial_name[4096], folder_name[4096];
    const char *slash = strrchr(file->path, '/');
    undertone_posix_ledger partial;
    int32_t status = UNDERTONE_STATUS_LEDGER_STORAGE_FAILED;
    int lock, folder;
    struct stat there;
    if (strlen(file->path) + sizeof ".partial" > sizeof partial_name) {
        undertone_posix_failed(file, ENAMETOOLONG);
        return status;
    }
    snprintf(lock_name, sizeof lock_name, "%s.lock", file->path);
    snprintf(partial_name, sizeof partial_name, "%s.partial", file->path);
    snprintf(folder_name, sizeof folder_name, "%.*s", slash ? (int)(slash - file->path) + 1 : 1,
             slash ? file->path : ".");
    /* The rename below replaces what is there, and could replace a ledger that another program spent from. */
    lock = undertone_posix_open(lock_name, O_RDWR | O_CREAT | O_NOFOLLOW);
    folder = open(folder_name, O_RDONLY | O_CLOEXEC);
    partial.path = partial_name;
    partial.descriptor = -1;
    partial.error = 0;
    if (lock >= 0 && folder >= 0 && undertone_posix_lock_file(lock, 1) == 0) {
        if (lstat(file->path, &there) == 0) {
            status = UNDERTONE_STATUS_OK;
        } else if (errno == ENOENT) {
            partial.descriptor = undertone_posix_open(partial_name, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW);
            if (partial.descriptor >= 0 &&
                undertone_posix_write(&partial, 0, image, UNDERTONE_LEDGER_IMAGE_BYTES) == 0 &&
                rename(partial_name, file->path) == 0 && undertone_posix_sync(folder) == 0)
                status = UNDERTONE_STATUS_OK;
        }
        /* Whoever waits for this lock, or makes the file anew, finds the ledger. A file that stays does no harm. */
        if (status == UNDERTONE_STATUS_OK) unlink(lock_name);
    }
    if (status != UNDERTONE_STATUS_OK) undertone_posix_failed(file, partial.error != 0 ? partial.error : errno);
    if (status != UNDERTONE_STATUS_OK && partial.descriptor >= 0) unlink(partial_name);
    undertone_posix_unlock(&partial);
    if (folder >= 0) close(folder);
    if (lock >= 0) close(lock);
    return status;
}

/* Makes the ledger, unless it is there. Its budget stays as it is. */
static inline int32_t undertone_posix_create(undertone_posix_ledger *file, int32_t unit, uint64_t budget_micro,
                                             undertone_entropy_fn entropy, void *context)
{
    uint8_t image[UNDERTONE_LEDGER_IMAGE_BYTES];
    struct stat there;
    size_t len;
    int32_t status;
    if (lstat(file->path, &there) == 0) return UNDERTONE_STATUS_OK;
    status = undertone_ledger_create_image(unit, budget_micro, entropy, context, image, sizeof image, &len);
    return status == UNDERTONE_STATUS_OK ? undertone_posix_place(file, image) : status;
}

/* Puts a ledger in the place of one that was lost, damaged or set back (undertone_ledger_begin_anew): `window` counts as
 * spent. Only a person or a rule of the app's should decide this. `storage`: that of the file, with its counter if any. If this
 * fails, the file may be one that is refused: begin anew again. */
static inline int32_t undertone_posix_begin_anew(undertone_posix_ledger *file, const undertone_ledger_storage *storage,
                                                 int32_t unit, uint64_t budget_micro, uint64_t window,
                                                 undertone_entropy_fn entropy, void *context)
{
    uint8_t image[UNDERTONE_LEDGER_IMAGE_BYTES];
    size_t len;
    int32_t status, locked = undertone_posix_lock(file);
    if (locked == 0 && undertone_posix_descriptor(file) < 0 && file->error == ENOENT) {
        /* A file to lock, from which nobody spends. If another program makes a ledger first, that is overwritten below: its
         * budget would be a second one for this window. */
        memset(image, 0, sizeof image);
        status = undertone_posix_place(file, image);
        undertone_posix_unlock(file);
        if (status != UNDERTONE_STATUS_OK) return status;
        locked = undertone_posix_lock(file);
    }
    if (locked != 0) return UNDERTONE_STATUS_LEDGER_IN_USE;
    /* Before the counter is raised: what is there and cannot be opened cannot be replaced. */
    if (undertone_posix_descriptor(file) < 0) {
        undertone_posix_unlock(file);
        return UNDERTONE_STATUS_LEDGER_STORAGE_FAILED;
    }
    status = undertone_ledger_begin_anew(storage, unit, budget_micro, window, entropy, context, image, sizeof image, &len);
    if (status == UNDERTONE_STATUS_OK) {
        /* In place, so that whoever has opened the file has the new one. A power cut leaves one that is refused. */
        status = UNDERTONE_STATUS_LEDGER_STORAGE_FAILED;
        if (ftruncate(undertone_posix_descriptor(file), sizeof image) != 0) undertone_posix_failed(file, errno);
        else if (undertone_posix_write(file, 0, image, sizeof image) == 0) status = UNDERTONE_STATUS_OK;
    }
    undertone_posix_unlock(file);
    return status;
}

#endif
