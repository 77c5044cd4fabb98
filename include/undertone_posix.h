/*
 * A ledger in a file, and entropy, on POSIX systems. Header only. C++ has undertone::LedgerFile,
 * which is built on this.
 *
 *     undertone_posix_ledger file = {"budget.ledger", -1, 0};
 *     const undertone_ledger_storage storage = undertone_posix_storage(&file);
 *     const int32_t unit = UNDERTONE_UNIT_WHOLE_TEXT;
 *     undertone_posix_create(&file, unit, 10000000, undertone_posix_entropy, NULL);
 *     undertone_ledger_spend(&storage, unit, ...);
 *
 * After UNDERTONE_STATUS_LEDGER_STORAGE_FAILED, file.error is the errno, unless a function of the
 * counter failed. If the platform has a monotonic counter, set read_counter and raise_counter of
 * the storage. Their context is the undertone_posix_ledger.
 *
 * The lock follows the rule in ffi/README.md, so a program that uses this header excludes programs
 * in every other language. Two threads of a program also exclude each other, whether or not they
 * share an undertone_posix_ledger: one of them gets UNDERTONE_STATUS_LEDGER_IN_USE.
 */

#ifndef UNDERTONE_POSIX_H
#define UNDERTONE_POSIX_H

/* Strict ISO C (-std=c11) hides the functions of POSIX. This requests them, if no system header
 * came before. */
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
#error "undertone_posix.h needs POSIX.1-2008: include it first or set _POSIX_C_SOURCE to 200809L"
#endif

typedef struct undertone_posix_ledger {
    const char *path;
    /* The descriptor of the file while it is locked. -2 while a call acquires the lock, and until it
     * unlocks if it could not open the file. Otherwise -1. */
    int descriptor;
    /* The errno of the last failure. */
    int error;
} undertone_posix_ledger;

/* The operating system's source of entropy, as an undertone_entropy_fn. The context is not used. */
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

/* Opens a regular file. O_NONBLOCK, because opening a FIFO would wait for its other end. */
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

/* Locks an open file. Closing the file unlocks it. */
static inline int undertone_posix_lock_file(int descriptor, int wait)
{
    int result;
    do result = flock(descriptor, wait ? LOCK_EX : LOCK_EX | LOCK_NB);
    while (result != 0 && errno == EINTR);
#if defined(__linux__)
    /* Java takes a record lock alone, which does not exclude flock on Linux. F_OFD_SETLK and
     * F_OFD_SETLKW are numbers here, because some C libraries do not define the names. */
    if (result == 0) {
#if defined(__ANDROID__) && !defined(__LP64__)
        /* Android's libc passes the structure to the kernel unchanged, which expects offsets of 64
         * bits. */
        struct flock64 whole;
#else
        struct flock whole;
#endif
#if !defined(__GLIBC__)
        /* Fails to compile if the offsets are shorter. glibc converts them. */
        (void)sizeof(char[sizeof whole.l_len == 8 ? 1 : -1]);
#endif
        memset(&whole, 0, sizeof whole);
        whole.l_type = F_WRLCK;
        whole.l_whence = SEEK_SET;
        do result = fcntl(descriptor, wait ? 38 : 37, &whole);
        while (result != 0 && errno == EINTR);
    }
#endif
    /* POSIX allows both numbers. Opening a file without permission fails with EACCES, too. */
    if (result != 0 && errno == EACCES) errno = EAGAIN;
    return result;
}

/* Returns true for an errno of undertone_posix_open_locked which means that another program has
 * the lock. */
static inline int undertone_posix_is_locked(int error)
{
    return error == EAGAIN;
}

/* Returns once all writes are durable. */
static inline int undertone_posix_sync(int descriptor)
{
#ifdef F_FULLFSYNC
    /* On Apple's systems fsync leaves the bytes in the drive's cache. Some file systems lack
     * F_FULLFSYNC. */
    if (fcntl(descriptor, F_FULLFSYNC) == 0) return 0;
#endif
    return fsync(descriptor);
}

/* Stores an errno; atomic, because another thread may fail at the same time. */
static inline void undertone_posix_failed(undertone_posix_ledger *file, int error)
{
    __atomic_store_n(&file->error, error, __ATOMIC_RELAXED);
}

/* Loads the descriptor; atomic, because another thread may lock the file at the same time. */
static inline int undertone_posix_descriptor(const undertone_posix_ledger *file)
{
    return __atomic_load_n(&file->descriptor, __ATOMIC_RELAXED);
}

static inline void undertone_posix_unlock(void *context)
{
    undertone_posix_ledger *file = (undertone_posix_ledger *)context;
    const int descriptor = undertone_posix_descriptor(file);
    if (descriptor >= 0) close(descriptor);
    __atomic_store_n(&file->descriptor, -1, __ATOMIC_RELEASE);
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

/* The size of a buffer for the path of a ledger and its terminating zero. */
#define UNDERTONE_POSIX_NAME 4000

/* Writes to `name` the path that the links at `path` lead to, so that programs that know the ledger
 * by different names use the same NAME.lock. Returns -1 with an errno; with ENOENT, nothing is
 * there and `name` is complete. */
static inline int undertone_posix_target(const char *path, char *name)
{
    char target[UNDERTONE_POSIX_NAME];
    int links;
    if (strlen(path) >= sizeof target) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(name, path);
    for (links = 0; links < 40; links++) {
        char *base = strrchr(name, '/');
        const ssize_t len = readlink(name, target, sizeof target - 1);
        /* EINVAL: this is not a link. */
        if (len < 0) return errno == EINVAL ? 0 : -1;
        target[len] = '\0';
        base = base == NULL || target[0] == '/' ? name : base + 1;
        if ((size_t)(base - name) + (size_t)len >= sizeof target) {
            errno = ENAMETOOLONG;
            return -1;
        }
        strcpy(base, target);
    }
    errno = ELOOP;
    return -1;
}

/* Makes the name of the ledger durable (ffi/README.md, "The lock"). Does nothing if `image` is NULL
 * and NAME.lock does not exist. Otherwise locks NAME.lock. If `image` is not NULL and the ledger is
 * missing, writes the image to NAME.partial, syncs that and renames it to NAME, so that the ledger
 * exists whole or not at all. Then syncs the folder and removes NAME.lock, which therefore exists
 * until the name is durable. */
static inline int undertone_posix_settle(undertone_posix_ledger *file, const uint8_t *image)
{
    char name[UNDERTONE_POSIX_NAME], lock_name[4096], partial_name[4096];
    char *slash;
    undertone_posix_ledger partial;
    int lock, folder, settled = -1;
    struct stat there;
    /* If a ledger is to be made, the path may lead to nothing. It is made below, and only if nothing
     * has that path, not even a link. */
    if (undertone_posix_target(file->path, name) != 0 && (image == NULL || errno != ENOENT)) {
        undertone_posix_failed(file, errno);
        return -1;
    }
    snprintf(lock_name, sizeof lock_name, "%s.lock", name);
    snprintf(partial_name, sizeof partial_name, "%s.partial", name);
    slash = strrchr(name, '/');
    strcpy(slash == NULL ? name : slash + 1, ".");
    partial.path = partial_name;
    partial.descriptor = -1;
    partial.error = 0;
    if (image == NULL && lstat(lock_name, &there) != 0 && errno == ENOENT) return 0;
    /* Without the lock, the rename could replace a ledger from which another program has spent. */
    lock = undertone_posix_open(lock_name, O_RDWR | O_CREAT | O_NOFOLLOW);
    folder = open(name, O_RDONLY | O_CLOEXEC);
    if (lock >= 0 && folder >= 0 && undertone_posix_lock_file(lock, 1) == 0) {
        settled = image == NULL || lstat(file->path, &there) == 0 ? 0 : -1;
        if (settled != 0 && errno == ENOENT) {
            partial.descriptor = undertone_posix_open(partial_name, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW);
            if (partial.descriptor >= 0 &&
                undertone_posix_write(&partial, 0, image, UNDERTONE_LEDGER_IMAGE_BYTES) == 0)
                settled = rename(partial_name, file->path);
        }
        if (settled == 0) settled = undertone_posix_sync(folder);
        /* Other programs may wait for NAME.lock, or make it again. They will find the ledger. */
        if (settled == 0) unlink(lock_name);
    }
    if (settled != 0) undertone_posix_failed(file, partial.error != 0 ? partial.error : errno);
    if (settled != 0 && partial.descriptor >= 0) unlink(partial_name);
    undertone_posix_unlock(&partial);
    if (folder >= 0) close(folder);
    if (lock >= 0) close(lock);
    return settled;
}

/* Opens and locks the file, and makes its name durable. Returns the descriptor, or -1 with an
 * errno. */
static inline int undertone_posix_open_locked(undertone_posix_ledger *file)
{
    int error, descriptor = undertone_posix_open(file->path, O_RDWR);
    if (descriptor < 0) return -1;
    if (undertone_posix_lock_file(descriptor, 0) == 0) {
        /* Look for NAME.lock only now, because a program that makes a ledger makes NAME.lock first. */
        if (undertone_posix_settle(file, NULL) == 0) return descriptor;
        /* Replace an errno that would mean that another program has the lock. */
        errno = undertone_posix_is_locked(file->error) ? EIO : file->error;
    }
    error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

static inline int32_t undertone_posix_lock(void *context)
{
    undertone_posix_ledger *file = (undertone_posix_ledger *)context;
    int descriptor, error, nobody = -1;
    /* Fails while another thread is in a call, and if the functions of the counter use the ledger. */
    if (!__atomic_compare_exchange_n(&file->descriptor, &nobody, -2, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return -1;
    descriptor = undertone_posix_open_locked(file);
    if (descriptor >= 0) {
        __atomic_store_n(&file->descriptor, descriptor, __ATOMIC_RELAXED);
        return 0;
    }
    error = errno;
    undertone_posix_failed(file, error);
    /* Nobody else has locked a file that is missing or cannot be opened. So this succeeds, and
     * `read` fails; file->error has the reason. */
    if (!undertone_posix_is_locked(error)) return 0;
    __atomic_store_n(&file->descriptor, -1, __ATOMIC_RELEASE);
    return -1;
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

/* The storage of the file for undertone_ledger_spend; the undertone_posix_ledger must stay where it
 * is. A counter that you add must not use the ledger, because the file is locked while the counter
 * is read or raised. */
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

/* Reads the budget left in a window (undertone_ledger_remaining), from any storage. */
static inline int32_t undertone_posix_remaining(const undertone_ledger_storage *storage, int32_t unit, uint64_t window,
                                                uint64_t *out_micro)
{
    uint8_t image[UNDERTONE_LEDGER_IMAGE_BYTES + 1];
    uint64_t counter = 0;
    size_t len = 0;
    int failed;
    if (storage->lock && storage->lock(storage->context) != 0) return UNDERTONE_STATUS_LEDGER_IN_USE;
    failed = storage->read(storage->context, image, sizeof image, &len) != 0 ||
             (storage->read_counter && storage->read_counter(storage->context, &counter) != 0);
    if (storage->unlock) storage->unlock(storage->context);
    if (failed) return UNDERTONE_STATUS_LEDGER_STORAGE_FAILED;
    return undertone_ledger_remaining(unit, image, len, window, storage->read_counter ? &counter : NULL, out_micro);
}

/* Makes the ledger unless it exists. The budget of an existing ledger does not change. */
static inline int32_t undertone_posix_create(undertone_posix_ledger *file, int32_t unit, uint64_t budget_micro,
                                             undertone_entropy_fn entropy, void *context)
{
    uint8_t image[UNDERTONE_LEDGER_IMAGE_BYTES];
    struct stat there;
    size_t len;
    int32_t status;
    if (lstat(file->path, &there) == 0) return UNDERTONE_STATUS_OK;
    status = undertone_ledger_create_image(unit, budget_micro, entropy, context, image, sizeof image, &len);
    if (status != UNDERTONE_STATUS_OK) return status;
    return undertone_posix_settle(file, image) == 0 ? UNDERTONE_STATUS_OK : UNDERTONE_STATUS_LEDGER_STORAGE_FAILED;
}

/* Replaces a ledger that was lost, damaged or set back, or whose window is in the future because a
 * clock was wrong (undertone_ledger_recreate_spent). The present `window` counts as spent. Call
 * this only if a person or a rule of the app decides so. `storage`: the storage of `file`, with its
 * counter if it has one. If this function fails, the file may be left in a state that is refused;
 * call the function again. */
static inline int32_t undertone_posix_recreate_spent(undertone_posix_ledger *file, const undertone_ledger_storage *storage,
                                                     int32_t unit, uint64_t budget_micro, uint64_t window,
                                                     undertone_entropy_fn entropy, void *context)
{
    uint8_t image[UNDERTONE_LEDGER_IMAGE_BYTES];
    size_t len;
    int32_t status, locked = undertone_posix_lock(file);
    if (locked == 0 && undertone_posix_descriptor(file) < 0 && file->error == ENOENT) {
        int made;
        /* This makes a file to lock, from which nobody can spend. If another program makes a ledger
         * first, that ledger is overwritten below: otherwise this window would have a second
         * budget. */
        memset(image, 0, sizeof image);
        made = undertone_posix_settle(file, image);
        undertone_posix_unlock(file);
        if (made != 0) return UNDERTONE_STATUS_LEDGER_STORAGE_FAILED;
        locked = undertone_posix_lock(file);
    }
    if (locked != 0) return UNDERTONE_STATUS_LEDGER_IN_USE;
    /* Checked before the counter is raised, because a file that cannot be opened cannot be replaced. */
    if (undertone_posix_descriptor(file) < 0) {
        undertone_posix_unlock(file);
        return UNDERTONE_STATUS_LEDGER_STORAGE_FAILED;
    }
    status = undertone_ledger_recreate_spent(storage, unit, budget_micro, window, entropy, context, image, sizeof image, &len);
    if (status == UNDERTONE_STATUS_OK) {
        /* Overwrite the file in place, so that programs that already have it open see the new ledger.
         * If the power is cut meanwhile, the file may be refused. */
        status = UNDERTONE_STATUS_LEDGER_STORAGE_FAILED;
        if (ftruncate(undertone_posix_descriptor(file), sizeof image) != 0) undertone_posix_failed(file, errno);
        else if (undertone_posix_write(file, 0, image, sizeof image) == 0) status = UNDERTONE_STATUS_OK;
    }
    undertone_posix_unlock(file);
    return status;
}

#endif
