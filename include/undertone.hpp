// undertone for C++17: handles that clean up after themselves, over undertone.h, which says what each function
// promises.
//
//     using namespace undertone;
//     Result<Pack> pack = Pack::open("demo.pack");
//     if (!pack) return fail(pack.status().message()); // and so on for each
//     Result<Document> document = Document::create(*pack);
//     Result<LedgerFile> ledger =
//         LedgerFile::open_or_create("budget.ledger", Unit::sentence, 6000000); // epsilon 6 a day
//     Status pushed = document->push_sentence("My doctor wants to repeat the blood test.");
//     Result<Grant> grant = ledger->spend(Epsilon::from_micro(2000000), days_since_1970);
//     Result<Release> release = document->release(*std::move(grant)); // 24 bytes, which leave the device
//
// Header-only: link libundertone, and on Windows bcrypt. What every class keeps to:
//
// - Errors. What can fail returns a Status or a Result, which must not be ignored. Nothing throws but
//   std::vector and std::string without memory, and everything compiles without exceptions and RTTI. Where
//   exceptions are on, or_throw() turns a Status or a Result into a value or an undertone::Error. Taking the
//   value of a failed Result is a bug and ends the program (std::abort).
// - Handles are move-only. One that was moved from, or default-made, has capi() == nullptr, and its
//   functions return UNDERTONE_STATUS_NULL_POINTER. Its memory stays where it is when the object moves, and what is
//   private in it is wiped before it is freed.
// - Threads. const functions may run at the same time on one object; all others need it for themselves.
// - Text is UTF-8 in a std::string_view; bytes are a pointer and a length, or a std::vector.

#ifndef UNDERTONE_HPP
#define UNDERTONE_HPP

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "undertone.h"

// Whether the operating system is known to have a source of entropy; without it give your own Entropy.
#if defined(_WIN32)
#define UNDERTONE_OS_ENTROPY 1
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
// After windows.h.
#include <bcrypt.h>
#ifdef _MSC_VER
#pragma comment(lib, "bcrypt")
#endif
#elif defined(__APPLE__) || defined(__ANDROID__) || defined(__FreeBSD__) || defined(__OpenBSD__) || \
    defined(__NetBSD__)
#define UNDERTONE_OS_ENTROPY 1
#elif defined(__linux__)
#define UNDERTONE_OS_ENTROPY 1
#include <sys/random.h>
#else
#define UNDERTONE_OS_ENTROPY 0
#endif

#if defined(__unix__) || defined(__APPLE__)
#define UNDERTONE_LEDGER_FILE 1
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#else
#define UNDERTONE_LEDGER_FILE 0
#endif

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define UNDERTONE_EXCEPTIONS 1
#include <stdexcept>
#else
#define UNDERTONE_EXCEPTIONS 0
#endif

namespace undertone {

// Statuses of this header, beside those of undertone.h, which are not negative.

/// The system refused to read or write a file; Status::system_error() is its errno.
inline constexpr std::int32_t STATUS_FILE_FAILED = -1;
/// The system has no memory left.
inline constexpr std::int32_t STATUS_OUT_OF_MEMORY = -2;
/// Another LedgerFile, in this program or another, has the file open.
inline constexpr std::int32_t STATUS_LEDGER_IN_USE = UNDERTONE_STATUS_LEDGER_IN_USE;

/// Whether something was done, and if not, why.
class [[nodiscard]] Status {
public:
    /// Done.
    constexpr Status() noexcept = default;
    /// What a function of undertone.h returned.
    constexpr explicit Status(std::int32_t code) noexcept : code_(code) {}
    /// The system refused, with this errno.
    static constexpr Status system(int error) noexcept
    {
        Status status(STATUS_FILE_FAILED);
        status.system_error_ = error;
        return status;
    }

    constexpr bool ok() const noexcept { return code_ == UNDERTONE_STATUS_OK; }
    constexpr explicit operator bool() const noexcept { return ok(); }
    /// UNDERTONE_STATUS_OK, another number of undertone.h, or one of the numbers above.
    constexpr std::int32_t code() const noexcept { return code_; }
    /// The errno of STATUS_FILE_FAILED, else 0.
    constexpr int system_error() const noexcept { return system_error_; }
    /// What is wrong and what to do, in English; a static string.
    const char *message() const noexcept
    {
        switch (code_) {
        case STATUS_FILE_FAILED:
            return "the system refused to read or write a file; system_error() says why";
        case STATUS_OUT_OF_MEMORY:
            return "the system has no memory left";
        default:
            return undertone_status_message(code_);
        }
    }

private:
    std::int32_t code_ = UNDERTONE_STATUS_OK;
    int system_error_ = 0;
};

/// A value, or the Status that says why it is missing.
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) noexcept(std::is_nothrow_move_constructible_v<T>) : value_(std::move(value)) {}
    Result(Status why) noexcept : status_(why)
    {
        // A result without a value has a reason.
        if (why.ok()) status_ = Status(UNDERTONE_STATUS_INTERNAL);
    }

    bool ok() const noexcept { return value_.has_value(); }
    explicit operator bool() const noexcept { return ok(); }
    Status status() const noexcept { return status_; }

    T &operator*() & noexcept { return checked(); }
    const T &operator*() const & noexcept { return const_cast<Result *>(this)->checked(); }
    T &&operator*() && noexcept { return std::move(checked()); }
    T *operator->() noexcept { return &checked(); }
    const T *operator->() const noexcept { return &const_cast<Result *>(this)->checked(); }

private:
    T &checked() noexcept
    {
        if (!value_) std::abort();
        return *value_;
    }

    std::optional<T> value_;
    Status status_;
};

#if UNDERTONE_EXCEPTIONS
/// What or_throw() throws.
class Error : public std::runtime_error {
public:
    explicit Error(Status status) : std::runtime_error(text(status)), status_(status) {}
    Status status() const noexcept { return status_; }

private:
    static std::string text(Status status)
    {
        std::string text = status.message();
        if (status.system_error() != 0) text += std::string(": ") + std::strerror(status.system_error());
        return text;
    }

    Status status_;
};

/// Nothing, or throws Error.
inline void or_throw(Status status)
{
    if (!status) throw Error(status);
}

/// The value, or throws Error.
template <class T>
T or_throw(Result<T> result)
{
    if (!result) throw Error(result.status());
    return *std::move(result);
}
#endif

/// Where secret bytes come from.
class Entropy {
public:
#if UNDERTONE_OS_ENTROPY
    /// The generator of the operating system.
    Entropy() noexcept : function_(from_system) {}
#endif
    /// A function in the form of undertone.h.
    Entropy(undertone_entropy_fn fill, void *data) noexcept : function_(fill), context_(data) {}
    /// Anything that is called as bool(std::uint8_t *out, std::size_t len): it fills all of `out` and returns
    /// true, or returns false, and does not throw. It must live as long as this object. Never a seeded
    /// generator: whoever knows the bytes can undo the privacy.
    template <class Source,
              class = std::enable_if_t<std::is_object_v<Source> &&
                                       std::is_invocable_r_v<bool, Source &, std::uint8_t *, std::size_t>>>
    explicit Entropy(Source &source) noexcept
        : function_(call<Source>), context_(const_cast<void *>(static_cast<const void *>(&source)))
    {
    }

    undertone_entropy_fn function() const noexcept { return function_; }
    void *context() const noexcept { return context_; }

private:
    template <class Source>
    static std::int32_t call(void *source, std::uint8_t *out, std::size_t len) noexcept
    {
        return (*static_cast<Source *>(source))(out, len) ? 0 : -1;
    }

#if UNDERTONE_OS_ENTROPY
    static std::int32_t from_system(void *, std::uint8_t *out, std::size_t len) noexcept
    {
#if defined(_WIN32)
        return BCryptGenRandom(nullptr, out, static_cast<ULONG>(len), BCRYPT_USE_SYSTEM_PREFERRED_RNG);
#elif defined(__linux__) && !defined(__ANDROID__)
        while (len > 0) {
            const ssize_t got = getrandom(out, len, 0);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return -1;
            out += got;
            len -= static_cast<std::size_t>(got);
        }
        return 0;
#else
        // A generator for cryptography on all these systems, safe across fork. getentropy is not for apps
        // on iOS, and Android has getrandom since version 9 only.
        arc4random_buf(out, len);
        return 0;
#endif
    }
#endif

    undertone_entropy_fn function_ = nullptr;
    void *context_ = nullptr;
};

/// How a candidate is drawn.
enum class Rule : std::int32_t {
    /// The default: never worse than the exponential mechanism at the same epsilon.
    permute_and_flip = UNDERTONE_RULE_PERMUTE_AND_FLIP,
    /// For accounting in zCDP.
    exponential = UNDERTONE_RULE_EXPONENTIAL,
};

/// For what a release keeps its epsilon. Every unit has a ledger of its own.
enum class Unit : std::int32_t {
    /// Any one sentence may be exchanged: Document::release.
    sentence = UNDERTONE_UNIT_SENTENCE,
    /// The whole text may be exchanged for any other: Document::release_whole_text, Document::release_projective.
    whole_text = UNDERTONE_UNIT_WHOLE_TEXT,
    /// A bag of words may be exchanged for one at word mover's distance 1: Bag::release.
    word = UNDERTONE_UNIT_WORD,
    /// A vector may be exchanged for one at distance 1: VectorMechanism::release.
    vector = UNDERTONE_UNIT_VECTOR,
};

/// An epsilon: a whole number of micro-units, 1 to UNDERTONE_MAX_EPSILON_MICRO.
class Epsilon {
public:
    /// Reads "10", "0.5" or "1e-3", exactly, rounding down.
    static Result<Epsilon> parse(std::string_view text) noexcept
    {
        std::uint32_t micro = 0;
        const Status status(undertone_epsilon_parse(text.data(), text.size(), &micro));
        if (!status) return status;
        return Epsilon(micro);
    }

    /// Checked where it is used.
    static constexpr Epsilon from_micro(std::uint32_t micro) noexcept { return Epsilon(micro); }
    constexpr std::uint32_t micro() const noexcept { return micro_; }

private:
    constexpr explicit Epsilon(std::uint32_t micro) noexcept : micro_(micro) {}
    std::uint32_t micro_;
};

namespace detail {

/// What a handle forgets before its memory is freed.
inline void wipe(undertone_pack *) noexcept {}
inline void wipe(undertone_grant *) noexcept {}
inline void wipe(undertone_ledger *) noexcept {}
inline void wipe(undertone_document *document) noexcept { undertone_document_reset(document); }
inline void wipe(undertone_vector_mechanism *) noexcept {}
inline void wipe(undertone_vocabulary *) noexcept {}
inline void wipe(undertone_bag *bag) noexcept { undertone_bag_reset(bag); }

/// The bytes of a pack, if undertone.hpp keeps them; shared by all that looks into them.
using Owner = std::shared_ptr<const std::vector<std::uint8_t>>;

template <class T>
struct Wiper {
    // Here, so that they outlive the handle.
    Owner bytes;

    void operator()(T *handle) const noexcept
    {
        wipe(handle);
        std::free(handle);
    }
};

/// A handle of undertone.h in memory of its own. It is bound to its address, so it stays on the heap.
template <class T>
using Handle = std::unique_ptr<T, Wiper<T>>;

/// Memory for a handle, given to `init(memory, len, out_handle)`, which returns a status.
template <class T, class Init>
Result<Handle<T>> make(std::size_t size, Owner bytes, Init init) noexcept
{
    // What malloc returns is aligned for every handle.
    void *memory = std::malloc(size);
    if (memory == nullptr) return Status(STATUS_OUT_OF_MEMORY);
    T *handle = nullptr;
    const Status status(init(memory, size, &handle));
    if (!status) {
        std::free(memory);
        return status;
    }
    return Handle<T>(handle, Wiper<T>{std::move(bytes)});
}

/// An array of which `fill(out, capacity, out_written)`, which returns a status, says the length.
template <class T, class Fill>
Result<std::vector<T>> array(std::size_t capacity, Fill fill)
{
    std::vector<T> out(capacity);
    std::size_t written = 0;
    const Status status(fill(out.data(), out.size(), &written));
    if (!status) return status;
    out.resize(written);
    return Result<std::vector<T>>(std::move(out));
}

struct CloseFile {
    void operator()(std::FILE *file) const noexcept { std::fclose(file); }
};

} // namespace detail

/// Permission to spend an epsilon once: what every release takes.
class Grant {
public:
    Grant() noexcept = default;

    /// A grant without a ledger, for apps that count elsewhere what they spend, and for public text. A release for another
    /// unit refuses it, and does not spend it.
    static Result<Grant> unrecorded(Unit unit, Epsilon epsilon) noexcept
    {
        auto handle = detail::make<undertone_grant>(
            undertone_grant_handle_size(), nullptr, [&](void *memory, std::size_t len, undertone_grant **out) {
                return undertone_grant_init_unrecorded(memory, len, static_cast<std::int32_t>(unit), epsilon.micro(),
                                                       out);
            });
        if (!handle) return handle.status();
        return Grant(*std::move(handle));
    }

    undertone_grant *capi() noexcept { return handle_.get(); }
    const undertone_grant *capi() const noexcept { return handle_.get(); }

private:
    explicit Grant(detail::Handle<undertone_grant> handle) noexcept : handle_(std::move(handle)) {}
    friend class Ledger;
    friend class LedgerFile;

    detail::Handle<undertone_grant> handle_;
};

/// A privacy budget: an epsilon for every window of time, for one unit. For storage of your own; LedgerFile keeps it in a
/// file. The app keeps UNDERTONE_LEDGER_IMAGE_BYTES bytes, which one ledger at a time may use.
class Ledger {
public:
    using Image = std::array<std::uint8_t, UNDERTONE_LEDGER_IMAGE_BYTES>;

    /// What a reservation writes, and where.
    struct Record {
        std::array<std::uint8_t, UNDERTONE_LEDGER_RECORD_BYTES> bytes;
        std::size_t offset;
    };

    Ledger() noexcept = default;

    /// What is stored of a new ledger.
    static Result<Image> create_image(Unit unit, std::uint64_t budget_micro, Entropy entropy) noexcept
    {
        Image image{};
        std::size_t written = 0;
        const Status status(undertone_ledger_create_image(static_cast<std::int32_t>(unit), budget_micro,
                                                          entropy.function(), entropy.context(), image.data(),
                                                          image.size(), &written));
        if (!status) return status;
        return image;
    }
#if UNDERTONE_OS_ENTROPY
    static Result<Image> create_image(Unit unit, std::uint64_t budget_micro) noexcept
    {
        return create_image(unit, budget_micro, Entropy());
    }
#endif

    /// Opens a ledger from what is stored. A ledger of an older version, which names no unit, becomes one for this unit.
    static Result<Ledger> open(Unit unit, const std::uint8_t *stored, std::size_t len, Entropy entropy) noexcept
    {
        auto handle = detail::make<undertone_ledger>(
            undertone_ledger_handle_size(), nullptr, [&](void *memory, std::size_t memory_len, undertone_ledger **out) {
                return undertone_ledger_open(memory, memory_len, static_cast<std::int32_t>(unit), stored, len,
                                             entropy.function(), entropy.context(), out);
            });
        if (!handle) return handle.status();
        return Ledger(*std::move(handle));
    }
    static Result<Ledger> open(Unit unit, const Image &stored, Entropy entropy) noexcept
    {
        return open(unit, stored.data(), stored.size(), entropy);
    }
#if UNDERTONE_OS_ENTROPY
    static Result<Ledger> open(Unit unit, const std::uint8_t *stored, std::size_t len) noexcept
    {
        return open(unit, stored, len, Entropy());
    }
    static Result<Ledger> open(Unit unit, const Image &stored) noexcept { return open(unit, stored, Entropy()); }
#endif

    /// The budget left in a window, in micro-units. `window`: a public number that never decreases, such as the
    /// days since 1970.
    Result<std::uint64_t> remaining(std::uint64_t window) const noexcept
    {
        std::uint64_t micro = 0;
        const Status status(undertone_ledger_remaining(capi(), window, &micro));
        if (!status) return status;
        return micro;
    }

    /// Reserves an epsilon for each of so many words (1, unless for a bag), which is spent from now on. `stored`: what is
    /// stored now. Write the record, sync, and read again for grant(). If a record was lost, the record says that the rest of
    /// the window is spent, and grant() refuses.
    Result<Record> reserve(Epsilon epsilon, std::uint64_t window, const std::uint8_t *stored, std::size_t len,
                           std::uint32_t word_count = 1) noexcept
    {
        Record record{};
        std::size_t written = 0;
        const Status status(undertone_ledger_reserve_epsilon(capi(), epsilon.micro(), word_count, window, stored, len,
                                                             record.bytes.data(), record.bytes.size(), &written,
                                                             &record.offset));
        if (!status && status.code() != UNDERTONE_STATUS_LEDGER_RECORD_LOST) return status;
        return record;
    }

    /// The grant of the last reservation, for what is stored now.
    Result<Grant> grant(const std::uint8_t *stored, std::size_t len) noexcept
    {
        auto handle = detail::make<undertone_grant>(
            undertone_grant_handle_size(), nullptr, [&](void *memory, std::size_t memory_len, undertone_grant **out) {
                return undertone_ledger_grant(capi(), stored, len, memory, memory_len, out);
            });
        if (!handle) return handle.status();
        return Grant(*std::move(handle));
    }

    undertone_ledger *capi() noexcept { return handle_.get(); }
    const undertone_ledger *capi() const noexcept { return handle_.get(); }

private:
    explicit Ledger(detail::Handle<undertone_ledger> handle) noexcept : handle_(std::move(handle)) {}

    detail::Handle<undertone_ledger> handle_;
};

#if UNDERTONE_LEDGER_FILE
namespace detail {

/// A file of the system, which is closed, and with it unlocked, at the end. To write, nothing but a regular file is
/// opened; O_NONBLOCK, because a pipe would wait for its other end.
class File {
public:
    File() noexcept = default;
    File(const char *path, int flags) noexcept
    {
        do fd_ = ::open(path, flags | O_CLOEXEC | O_NONBLOCK, S_IRUSR | S_IWUSR);
        while (fd_ < 0 && errno == EINTR);
        struct stat about;
        if (fd_ < 0 || (flags & O_ACCMODE) == O_RDONLY) return;
        if (::fstat(fd_, &about) != 0 || !S_ISREG(about.st_mode)) {
            ::close(std::exchange(fd_, -1));
            errno = EINVAL;
        }
    }
    File(File &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    File &operator=(File &&other) noexcept
    {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~File()
    {
        if (fd_ >= 0) ::close(fd_);
    }

    bool is_open() const noexcept { return fd_ >= 0; }

    /// Locks the file for this object alone, by the rule that all languages keep (README of the folder ffi).
    Status lock(bool wait) noexcept
    {
        int result;
        do result = ::flock(fd_, wait ? LOCK_EX : LOCK_EX | LOCK_NB);
        while (result != 0 && errno == EINTR);
#if defined(__linux__)
        // Java takes a record lock; here, and only here, that and flock do not see each other. F_OFD_SETLK and
        // F_OFD_SETLKW by their numbers, because not every C library shows the names.
        struct flock whole = {};
        whole.l_type = F_WRLCK;
        whole.l_whence = SEEK_SET;
        if (result == 0) {
            do result = ::fcntl(fd_, wait ? 38 : 37, &whole);
            while (result != 0 && errno == EINTR);
        }
#endif
        if (result == 0) return Status();
        return errno == EWOULDBLOCK || errno == EACCES ? Status(STATUS_LEDGER_IN_USE) : Status::system(errno);
    }

    /// Reads from the start, at most `capacity` bytes.
    Result<std::size_t> read(std::uint8_t *out, std::size_t capacity) const noexcept
    {
        std::size_t len = 0;
        while (len < capacity) {
            const ssize_t got = ::pread(fd_, out + len, capacity - len, static_cast<off_t>(len));
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return Status::system(errno);
            if (got == 0) break;
            len += static_cast<std::size_t>(got);
        }
        return len;
    }

    /// Writes, and returns once storage has it.
    Status write(const std::uint8_t *bytes, std::size_t len, std::size_t offset) noexcept
    {
        while (len > 0) {
            const ssize_t put = ::pwrite(fd_, bytes, len, static_cast<off_t>(offset));
            if (put < 0 && errno == EINTR) continue;
            if (put < 0) return Status::system(errno);
            bytes += put;
            offset += static_cast<std::size_t>(put);
            len -= static_cast<std::size_t>(put);
        }
        return sync();
    }

    /// Makes these bytes the whole file, and returns once storage has them.
    Status replace(const std::uint8_t *bytes, std::size_t len) noexcept
    {
        if (::ftruncate(fd_, static_cast<off_t>(len)) != 0) return Status::system(errno);
        return write(bytes, len, 0);
    }

    Status sync() noexcept
    {
#ifdef F_FULLFSYNC
        // Here fsync leaves the bytes in the cache of the drive. Not every file system has the better one.
        if (::fcntl(fd_, F_FULLFSYNC) == 0) return Status();
#endif
        return ::fsync(fd_) == 0 ? Status() : Status::system(errno);
    }

private:
    int fd_ = -1;
};

} // namespace detail

/// A monotonic counter of the platform for one ledger, by which a file that was set back is noticed: 0 at first, never goes
/// back, kept where the file is not. The README of the folder ffi says what platforms have.
class Counter {
public:
    virtual ~Counter() = default;
    /// The counter as it is now.
    virtual Result<std::uint64_t> read() noexcept = 0;
    /// Raises the counter, and returns once it is `to` for good.
    virtual Status raise(std::uint64_t to) noexcept = 0;
};

/// A ledger in a file, for systems with POSIX files. It locks the file as long as it lives; a forked child
/// inherits the lock. Unless the platform counts, the file must not come back from a backup: what was spent since would be
/// forgotten. What the entropy and the counter refer to must live as long as the ledger.
class LedgerFile {
public:
    LedgerFile() noexcept = default;

    /// Opens a ledger that exists. Use this once the app has released: a ledger that is gone must not become a
    /// fresh budget. A ledger of an older version, which names no unit, becomes one for this unit.
    static Result<LedgerFile> open(const std::string &path, Unit unit, Entropy entropy,
                                   Counter *counter = nullptr) noexcept
    {
        detail::File file(path.c_str(), O_RDWR);
        if (!file.is_open()) return Status::system(errno);
        return from(std::move(file), unit, entropy, counter);
    }

    /// Opens a ledger, or makes one with this budget for every window if the file is missing. The budget of a
    /// ledger that exists stays as it is. With a counter, a ledger that was deleted is not made anew in silence.
    static Result<LedgerFile> open_or_create(const std::string &path, Unit unit, std::uint64_t budget_micro,
                                             Entropy entropy, Counter *counter = nullptr)
    {
        detail::File file(path.c_str(), O_RDWR);
        if (!file.is_open() && errno == ENOENT) {
            const Result<Ledger::Image> image = Ledger::create_image(unit, budget_micro, entropy);
            if (!image) return image.status();
            const Status status = create(path, *image);
            if (!status) return status;
            return open(path, unit, entropy, counter);
        }
        if (!file.is_open()) return Status::system(errno);
        return from(std::move(file), unit, entropy, counter);
    }

    /// Puts a ledger in the place of one that was lost, damaged or set back. What was spent is not known, so `window` counts as
    /// spent: it is the current one, or later. Only a person or a rule of the app's should decide this.
    static Result<LedgerFile> begin_anew(const std::string &path, Unit unit, std::uint64_t budget_micro,
                                         std::uint64_t window, Entropy entropy, Counter *counter = nullptr)
    {
        detail::File file(path.c_str(), O_RDWR);
        const bool missing = !file.is_open() && errno == ENOENT;
        if (!file.is_open() && !missing) return Status::system(errno);
        const Status locked = missing ? Status() : file.lock(false);
        if (!locked) return locked;
        Access access{&file, counter, Status()};
        const undertone_ledger_storage storage = access.storage();
        Ledger::Image image{};
        std::size_t written = 0;
        const Status made(undertone_ledger_begin_anew(&storage, static_cast<std::int32_t>(unit), budget_micro, window,
                                                      entropy.function(), entropy.context(), image.data(),
                                                      image.size(), &written));
        if (!made) return access.reason(made);
        const Status stored = missing ? create(path, image) : file.replace(image.data(), image.size());
        if (!stored) return stored;
        if (missing) return open(path, unit, entropy, counter);
        return LedgerFile(std::move(file), unit, entropy, counter);
    }
#if UNDERTONE_OS_ENTROPY
    static Result<LedgerFile> open(const std::string &path, Unit unit, Counter *counter = nullptr) noexcept
    {
        return open(path, unit, Entropy(), counter);
    }
    static Result<LedgerFile> open_or_create(const std::string &path, Unit unit, std::uint64_t budget_micro,
                                             Counter *counter = nullptr)
    {
        return open_or_create(path, unit, budget_micro, Entropy(), counter);
    }
    static Result<LedgerFile> begin_anew(const std::string &path, Unit unit, std::uint64_t budget_micro,
                                         std::uint64_t window, Counter *counter = nullptr)
    {
        return begin_anew(path, unit, budget_micro, window, Entropy(), counter);
    }
#endif

    /// The budget left in a window, in micro-units; 0 if a record was lost. `window`: a public number that never decreases,
    /// such as the days since 1970.
    Result<std::uint64_t> remaining(std::uint64_t window) noexcept
    {
        if (!file_.is_open()) return Status(UNDERTONE_STATUS_NULL_POINTER);
        Access access{&file_, counter_, Status()};
        const undertone_ledger_storage storage = access.storage();
        std::uint64_t micro = 0;
        const Status status(undertone_ledger_left(&storage, static_cast<std::int32_t>(unit_), window, &micro));
        if (!status) return access.reason(status);
        return micro;
    }

    /// Spends an epsilon: when this returns a grant, storage has recorded it. It stays spent, whatever becomes
    /// of the grant, and may be spent if this fails. `word_count`: 1, or for a bag the number of words it releases; each
    /// costs epsilon.
    Result<Grant> spend(Epsilon epsilon, std::uint64_t window, std::uint32_t word_count = 1) noexcept
    {
        if (!file_.is_open() || !entropy_) return Status(UNDERTONE_STATUS_NULL_POINTER);
        Access access{&file_, counter_, Status()};
        const undertone_ledger_storage storage = access.storage();
        auto handle = detail::make<undertone_grant>(
            undertone_grant_handle_size(), nullptr, [&](void *memory, std::size_t memory_len, undertone_grant **out) {
                return undertone_ledger_spend(&storage, static_cast<std::int32_t>(unit_), epsilon.micro(), word_count,
                                              window, entropy_->function(), entropy_->context(), memory, memory_len,
                                              out, nullptr);
            });
        if (!handle) return access.reason(handle.status());
        return Grant(*std::move(handle));
    }

private:
    /// What the library reads and writes by during a call, and why that failed.
    struct Access {
        detail::File *file;
        Counter *counter;
        Status failed;

        undertone_ledger_storage storage() noexcept
        {
            undertone_ledger_storage storage = {};
            storage.context = this;
            storage.read = [](void *context, std::uint8_t *out, std::size_t capacity, std::size_t *out_read) {
                auto &access = *static_cast<Access *>(context);
                const Result<std::size_t> len = access.file->read(out, capacity);
                if (len) *out_read = *len;
                return access.keep(len.status());
            };
            storage.write = [](void *context, std::size_t offset, const std::uint8_t *bytes, std::size_t len) {
                auto &access = *static_cast<Access *>(context);
                return access.keep(access.file->write(bytes, len, offset));
            };
            if (counter == nullptr) return storage;
            storage.read_counter = [](void *context, std::uint64_t *out) {
                auto &access = *static_cast<Access *>(context);
                const Result<std::uint64_t> counted = access.counter->read();
                if (counted) *out = *counted;
                return access.keep(counted.status());
            };
            storage.raise_counter = [](void *context, std::uint64_t to) {
                auto &access = *static_cast<Access *>(context);
                return access.keep(access.counter->raise(to));
            };
            return storage;
        }

        std::int32_t keep(Status status) noexcept
        {
            failed = status;
            return status.ok() ? 0 : -1;
        }

        Status reason(Status status) const noexcept
        {
            return status.code() == UNDERTONE_STATUS_LEDGER_STORAGE_FAILED ? failed : status;
        }
    };

    LedgerFile(detail::File file, Unit unit, Entropy entropy, Counter *counter) noexcept
        : file_(std::move(file)), unit_(unit), entropy_(entropy), counter_(counter)
    {
    }

    static Result<LedgerFile> from(detail::File file, Unit unit, Entropy entropy, Counter *counter) noexcept
    {
        const Status locked = file.lock(false);
        if (!locked) return locked;
        LedgerFile ledger(std::move(file), unit, entropy, counter);
        // Whether it is a ledger for this unit, and the one that was counted. No window is before the last.
        const Result<std::uint64_t> left = ledger.remaining(UINT64_MAX);
        if (!left) return left.status();
        return Result<LedgerFile>(std::move(ledger));
    }

    /// Makes the file of a new ledger, unless another program just did.
    static Status create(const std::string &path, const Ledger::Image &image)
    {
        const std::size_t slash = path.rfind('/');
        const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
        detail::File directory(folder.c_str(), O_RDONLY);
        if (!directory.is_open()) return Status::system(errno);
        // The rename below replaces what is there, and could replace a ledger that another program spent from.
        const std::string lock = path + ".lock";
        detail::File alone(lock.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW);
        if (!alone.is_open()) return Status::system(errno);
        const Status locked = alone.lock(true);
        if (!locked) return locked;
        struct stat there;
        if (::lstat(path.c_str(), &there) != 0) {
            const Status placed = errno == ENOENT ? place(path, image, directory) : Status::system(errno);
            if (!placed) return placed;
        }
        // Whoever waits for this lock, or makes the file anew, finds the ledger. A file that stays does no harm.
        ::unlink(lock.c_str());
        return Status();
    }

    /// Writes a file beside its place, then renames it: the ledger exists whole or not at all.
    static Status place(const std::string &path, const Ledger::Image &image, detail::File &directory)
    {
        const std::string partial = path + ".partial";
        {
            detail::File file(partial.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW);
            if (!file.is_open()) return Status::system(errno);
            const Status written = file.write(image.data(), image.size(), 0);
            if (!written) return written;
        }
        if (std::rename(partial.c_str(), path.c_str()) != 0) {
            const Status refused = Status::system(errno);
            ::unlink(partial.c_str());
            return refused;
        }
        return directory.sync();
    }

    detail::File file_;
    Unit unit_ = Unit::sentence;
    std::optional<Entropy> entropy_;
    Counter *counter_ = nullptr;
};
#endif

/// A pack: what the public side built and every device reads.
class Pack {
public:
    Pack() noexcept = default;

    /// A pack in memory (a mapped file): the bytes must stay where they are, unchanged, as long as the pack
    /// or a document made from it is used.
    static Result<Pack> view(const std::uint8_t *bytes, std::size_t len) noexcept { return make(bytes, len, nullptr); }

    /// A pack in memory that the pack, and all that is made from it, keeps.
    static Result<Pack> own(std::vector<std::uint8_t> bytes)
    {
        auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
        const std::uint8_t *data = owner->data();
        const std::size_t len = owner->size();
        return make(data, len, std::move(owner));
    }

    /// Reads a file.
    static Result<Pack> open(const char *path)
    {
        const std::unique_ptr<std::FILE, detail::CloseFile> file(std::fopen(path, "rb"));
        if (!file) return Status::system(errno);
        std::vector<std::uint8_t> bytes;
        std::array<std::uint8_t, 65536> block;
        std::size_t got;
        while ((got = std::fread(block.data(), 1, block.size(), file.get())) > 0)
            bytes.insert(bytes.end(), block.data(), block.data() + got);
        if (std::ferror(file.get())) return Status::system(errno);
        return own(std::move(bytes));
    }
    static Result<Pack> open(const std::string &path) { return open(path.c_str()); }

    /// The dimension of an embedding.
    std::uint32_t dimension() const noexcept { return undertone_pack_dimension(capi()); }
    /// The number of candidates that a release is drawn from.
    std::uint32_t candidate_count() const noexcept { return undertone_pack_candidate_count(capi()); }
    /// The number of projection directions of a pack that selects by depth, else 0.
    std::uint32_t direction_count() const noexcept { return undertone_pack_direction_count(capi()); }
    /// The number of words in the lexicon; 0 without one.
    std::uint32_t word_count() const noexcept { return undertone_pack_word_count(capi()); }

    /// The dimension of a released vector after the pack's projection; 0 without one.
    std::uint32_t projected_dimension() const noexcept { return undertone_pack_projected_dimension(capi()); }
    /// UNDERTONE_SELECTOR_DEPTH, UNDERTONE_SELECTOR_SCORES, or 0 without candidates.
    std::int32_t selector() const noexcept { return undertone_pack_selector(capi()); }
    /// The largest score that one sentence can give a candidate; 0 without scores.
    std::uint32_t largest_score() const noexcept { return undertone_pack_largest_score(capi()); }
    /// The number of levels of the scores; 0 without scores.
    std::uint32_t level_count() const noexcept { return undertone_pack_level_count(capi()); }
    /// The number of features of texts, which need the text of a sentence; 0 without them.
    std::uint32_t feature_count() const noexcept { return undertone_pack_feature_count(capi()); }
    /// What a release by the whole text has as its candidate if the pack knew nothing of the text; UINT32_MAX
    /// without scores.
    std::uint32_t nothing_known() const noexcept { return undertone_pack_nothing_known(capi()); }

    /// The unit whose releases were right more often where whoever made the pack measured it on public texts, for texts
    /// of so many sentences, or 0 for texts as those; nothing if the pack does not say. It depends on public things only.
    std::optional<Unit> recommended_unit(Epsilon epsilon, std::uint32_t sentences = 0) const noexcept
    {
        const std::int32_t unit = undertone_pack_recommended_unit(capi(), epsilon.micro(), sentences);
        if (unit == 0) return std::nullopt;
        return static_cast<Unit>(unit);
    }

    /// The vector of one sentence by the lexicon of the pack. It is as private as the sentence.
    Result<std::vector<float>> embed_sentence(std::string_view text) const
    {
        return detail::array<float>(dimension(), [&](float *out, std::size_t capacity, std::size_t *written) {
            return undertone_pack_embed_sentence(capi(), text.data(), text.size(), out, capacity, written);
        });
    }

    using Id = std::array<std::uint8_t, UNDERTONE_PACK_ID_BYTES>;
    /// The identifier, which a release carries.
    Result<Id> id() const noexcept
    {
        Id id{};
        const Status status(undertone_pack_id(capi(), id.data()));
        if (!status) return status;
        return id;
    }

    using EncoderDigest = std::array<std::uint8_t, UNDERTONE_ENCODER_DIGEST_BYTES>;
    /// The digest of the encoder that the pack was built with.
    Result<EncoderDigest> encoder_digest() const noexcept
    {
        EncoderDigest digest{};
        const Status status(undertone_pack_encoder_digest(capi(), digest.data()));
        if (!status) return status;
        return digest;
    }

    /// The name of that encoder.
    Result<std::string> encoder_name() const
    {
        char name[UNDERTONE_ENCODER_NAME_BYTES] = {};
        const Status status(undertone_pack_encoder_name(capi(), name));
        if (!status) return status;
        return std::string(name);
    }

    undertone_pack *capi() noexcept { return handle_.get(); }
    const undertone_pack *capi() const noexcept { return handle_.get(); }

private:
    explicit Pack(detail::Handle<undertone_pack> handle) noexcept : handle_(std::move(handle)) {}

    static Result<Pack> make(const std::uint8_t *bytes, std::size_t len, detail::Owner owner) noexcept
    {
        auto handle = detail::make<undertone_pack>(undertone_pack_handle_size(), std::move(owner),
                                                   [&](void *memory, std::size_t memory_len, undertone_pack **out) {
                                                       return undertone_pack_init(memory, memory_len, bytes, len, out);
                                                   });
        if (!handle) return handle.status();
        return Pack(*std::move(handle));
    }

    const detail::Owner &bytes() const noexcept { return handle_.get_deleter().bytes; }
    friend class Document;
    friend class VectorMechanism;
    friend class Vocabulary;

    detail::Handle<undertone_pack> handle_;
};

/// A release: the bytes that leave the device.
using Release = std::array<std::uint8_t, UNDERTONE_RELEASE_BYTES>;

/// What a release says.
struct ReleaseContent {
    /// Compare it with Pack::candidate_count: a release can be forged. With an order it is a point.
    std::uint32_t candidate;
    Epsilon epsilon;
    Rule rule;
    Pack::Id pack_id;
    Unit unit;
    /// Of a release by Document::release_projective the order of its geometry: then `candidate` is the number of a
    /// point. 0 for all others.
    std::uint32_t order;

    /// Whether a release by the whole text, under this pack, says that the pack knew nothing of the text.
    bool nothing_known(const Pack &pack) const noexcept
    {
        return unit == Unit::whole_text && order == 0 && candidate == pack.nothing_known();
    }
};

/// Reads a release that came from a device.
inline Result<ReleaseContent> read_release(const std::uint8_t *bytes, std::size_t len) noexcept
{
    std::uint32_t candidate = 0;
    std::uint32_t micro = 0;
    std::int32_t rule = 0;
    Pack::Id id{};
    const Status status(undertone_release_read(bytes, len, &candidate, &micro, &rule, id.data()));
    if (!status) return status;
    std::int32_t unit = 0;
    const Status unit_status(undertone_release_read_unit(bytes, len, &unit));
    if (!unit_status) return unit_status;
    std::uint32_t order = 0;
    const Status order_status(undertone_release_read_order(bytes, len, &order));
    if (!order_status) return order_status;
    return ReleaseContent{candidate, Epsilon::from_micro(micro), static_cast<Rule>(rule), id, static_cast<Unit>(unit),
                          order};
}
inline Result<ReleaseContent> read_release(const Release &release) noexcept
{
    return read_release(release.data(), release.size());
}
inline Result<ReleaseContent> read_release(const std::vector<std::uint8_t> &bytes) noexcept
{
    return read_release(bytes.data(), bytes.size());
}

namespace detail {

template <class Next>
std::optional<std::string_view> sentence(Next next, std::string_view text, std::size_t start) noexcept
{
    std::size_t found = 0;
    std::size_t len = 0;
    if (next(text.data(), text.size(), start, &found, &len) != UNDERTONE_STATUS_OK || len == 0) return std::nullopt;
    return text.substr(found, len);
}

} // namespace detail

/// The first sentence of a text from byte `start` on, which is 0 or the end of the sentence before.
inline std::optional<std::string_view> next_sentence(std::string_view text, std::size_t start = 0) noexcept
{
    return detail::sentence(undertone_sentence_next, text, start);
}

/// As next_sentence, for a text that is still being typed: it finds a sentence only once nothing typed after it
/// can change it.
inline std::optional<std::string_view> next_finished_sentence(std::string_view text, std::size_t start = 0) noexcept
{
    return detail::sentence(undertone_sentence_next_finished, text, start);
}

/// What a release promises, in micro-units; less is more private.
struct Promise {
    /// What replacing one sentence can cost at most.
    std::uint64_t sentence_micro;
    /// What replacing the whole text by any other can cost at most.
    std::uint64_t whole_text_micro;
};

/// A private document: sentences go in, one private release comes out, and the document is empty again.
class Document {
public:
    Document() noexcept = default;

    /// An empty document for the candidates of a pack.
    static Result<Document> create(const Pack &pack) noexcept
    {
        auto handle =
            detail::make<undertone_document>(undertone_document_handle_size(), pack.bytes(),
                                             [&](void *memory, std::size_t len, undertone_document **out) {
                                                 return undertone_document_init(memory, len, pack.capi(), out);
                                             });
        if (!handle) return handle.status();
        return Document(*std::move(handle));
    }

    /// Adds one sentence by its embedding.
    Status push(const float *embedding, std::size_t len) noexcept
    {
        return Status(undertone_document_push(capi(), embedding, len));
    }
    Status push(const std::vector<float> &embedding) noexcept { return push(embedding.data(), embedding.size()); }

    /// Adds sentences by their embeddings, one after another, until the document is full; faster than one by
    /// one. The number of sentences added is private.
    Result<std::size_t> push_all(const float *embeddings, std::size_t len) noexcept
    {
        std::size_t pushed = 0;
        const Status status(undertone_document_push_all(capi(), embeddings, len, &pushed));
        if (!status) return status;
        return pushed;
    }
    Result<std::size_t> push_all(const std::vector<float> &embeddings) noexcept
    {
        return push_all(embeddings.data(), embeddings.size());
    }

    /// Adds one sentence by its text and its embedding, for a pack with a neural encoder and features of texts.
    Status push_encoded(std::string_view text, const float *embedding, std::size_t len) noexcept
    {
        return Status(undertone_document_push_encoded(capi(), text.data(), text.size(), embedding, len));
    }
    Status push_encoded(std::string_view text, const std::vector<float> &embedding) noexcept
    {
        return push_encoded(text, embedding.data(), embedding.size());
    }

    /// Adds one sentence by its text, through the lexicon and the features in the pack.
    Status push_sentence(std::string_view text) noexcept
    {
        return Status(undertone_document_push_sentence(capi(), text.data(), text.size()));
    }

    /// Adds the sentences of a text, as next_sentence finds them, until the document is full. The number of
    /// sentences added is private.
    Result<std::size_t> push_text(std::string_view text) noexcept
    {
        std::size_t sentences = 0;
        const Status status(undertone_document_push_text(capi(), text.data(), text.size(), &sentences));
        if (!status) return status;
        return sentences;
    }

    /// The number of sentences. It is private.
    std::size_t sentence_count() const noexcept { return undertone_document_sentence_count(capi()); }

    /// What a release of this document promises. It does not depend on what is in the document. Ask before a ledger
    /// spends: a pack without a release by the whole text is refused here.
    Result<Promise> promise(Unit unit, Epsilon epsilon) const noexcept
    {
        Promise promise{};
        const Status status(undertone_document_promise(capi(), static_cast<std::int32_t>(unit), epsilon.micro(),
                                                       &promise.sentence_micro, &promise.whole_text_micro));
        if (!status) return status;
        return promise;
    }

    /// Draws a release that protects each sentence, for long texts, and forgets all sentences. Unless it succeeds,
    /// nothing was drawn and the sentences are still there; the grant is gone.
    Result<Release> release(Grant grant, Rule rule, Entropy entropy) noexcept
    {
        Release out{};
        std::size_t written = 0;
        const Status status(undertone_document_release(capi(), grant.capi(), static_cast<std::int32_t>(rule),
                                                       entropy.function(), entropy.context(), out.data(), out.size(),
                                                       &written));
        if (!status) return status;
        return out;
    }

    /// Draws a release that protects the whole text, for short ones, and forgets all sentences. Choose between the two
    /// without looking at the text, nor at its length. What is kept if it fails is as for release().
    Result<Release> release_whole_text(Grant grant, Entropy entropy) noexcept
    {
        Release out{};
        std::size_t written = 0;
        const Status status(undertone_document_release_whole_text(
            capi(), grant.capi(), entropy.function(), entropy.context(), out.data(), out.size(), &written));
        if (!status) return status;
        return out;
    }

    /// Draws a release that promises what release_whole_text() promises, and is made for counting: it names a point that
    /// many candidates prefer. It forgets all sentences. What is kept if it fails is as for release().
    Result<Release> release_projective(Grant grant, Entropy entropy) noexcept
    {
        Release out{};
        std::size_t written = 0;
        const Status status(undertone_document_release_projective(
            capi(), grant.capi(), entropy.function(), entropy.context(), out.data(), out.size(), &written));
        if (!status) return status;
        return out;
    }
#if UNDERTONE_OS_ENTROPY
    Result<Release> release(Grant grant, Rule rule = Rule::permute_and_flip) noexcept
    {
        return release(std::move(grant), rule, Entropy());
    }
    Result<Release> release_whole_text(Grant grant) noexcept { return release_whole_text(std::move(grant), Entropy()); }
    Result<Release> release_projective(Grant grant) noexcept { return release_projective(std::move(grant), Entropy()); }
#endif

    /// Forgets all sentences.
    Status reset() noexcept { return Status(undertone_document_reset(capi())); }

    undertone_document *capi() noexcept { return handle_.get(); }
    const undertone_document *capi() const noexcept { return handle_.get(); }

private:
    explicit Document(detail::Handle<undertone_document> handle) noexcept : handle_(std::move(handle)) {}

    detail::Handle<undertone_document> handle_;
};

/// The noise on a released vector.
enum class Noise : std::int32_t {
    /// n-dimensional Laplace noise, the default: the least noise.
    laplace = UNDERTONE_NOISE_LAPLACE,
    /// Discrete Laplace noise on each coordinate: no delta, for about 1.5 times the noise.
    discrete_laplace = UNDERTONE_NOISE_DISCRETE_LAPLACE,
};

/// The mechanism that releases private vectors, with its public parameters.
class VectorMechanism {
public:
    VectorMechanism() noexcept = default;

    /// Releases vectors as they are, clamped to plus or minus 2^`bound_exponent`; 0 is enough for norm 1.
    static Result<VectorMechanism> create(std::uint32_t dimension, std::int32_t bound_exponent, Epsilon epsilon,
                                          Noise noise = Noise::laplace) noexcept
    {
        return make(nullptr, [&](void *memory, std::size_t len, undertone_vector_mechanism **out) {
            return undertone_vector_mechanism_init(memory, len, dimension, bound_exponent,
                                                   static_cast<std::int32_t>(noise), epsilon.micro(), out);
        });
    }

    /// Projects vectors with the projection of a pack, then releases them.
    static Result<VectorMechanism> projected(const Pack &pack, Epsilon epsilon, Noise noise = Noise::laplace) noexcept
    {
        return make(pack.bytes(), [&](void *memory, std::size_t len, undertone_vector_mechanism **out) {
            return undertone_vector_mechanism_init_projected(memory, len, pack.capi(), static_cast<std::int32_t>(noise),
                                                             epsilon.micro(), out);
        });
    }

    /// The dimension of a vector that goes in.
    std::uint32_t dimension() const noexcept { return undertone_vector_mechanism_dimension(capi()); }
    /// The length of a release.
    std::size_t release_len() const noexcept { return undertone_vector_mechanism_release_len(capi()); }

    /// Draws the release of one private vector. The epsilon of the grant is that of the mechanism.
    Result<std::vector<std::uint8_t>> release(Grant grant, const float *vector, std::size_t len,
                                              Entropy entropy) const
    {
        return detail::array<std::uint8_t>(
            release_len(), [&](std::uint8_t *out, std::size_t capacity, std::size_t *written) {
                return undertone_vector_mechanism_release(capi(), grant.capi(), vector, len, entropy.function(),
                                                          entropy.context(), out, capacity, written);
            });
    }
    Result<std::vector<std::uint8_t>> release(Grant grant, const std::vector<float> &vector, Entropy entropy) const
    {
        return release(std::move(grant), vector.data(), vector.size(), entropy);
    }
#if UNDERTONE_OS_ENTROPY
    Result<std::vector<std::uint8_t>> release(Grant grant, const float *vector, std::size_t len) const
    {
        return release(std::move(grant), vector, len, Entropy());
    }
    Result<std::vector<std::uint8_t>> release(Grant grant, const std::vector<float> &vector) const
    {
        return release(std::move(grant), vector, Entropy());
    }
#endif

    undertone_vector_mechanism *capi() noexcept { return handle_.get(); }
    const undertone_vector_mechanism *capi() const noexcept { return handle_.get(); }

private:
    explicit VectorMechanism(detail::Handle<undertone_vector_mechanism> handle) noexcept : handle_(std::move(handle)) {}

    template <class Init>
    static Result<VectorMechanism> make(detail::Owner bytes, Init init) noexcept
    {
        auto handle =
            detail::make<undertone_vector_mechanism>(undertone_vector_mechanism_handle_size(), std::move(bytes), init);
        if (!handle) return handle.status();
        return VectorMechanism(*std::move(handle));
    }

    detail::Handle<undertone_vector_mechanism> handle_;
};

/// What a released vector says, besides its coordinates.
struct VectorReleaseContent {
    std::uint32_t dimension;
    Noise noise;
    /// Per unit of distance.
    Epsilon epsilon;
    /// A step of the coordinates is 2 to this.
    std::int32_t grid_exponent;
    /// Of the pack with the projection; zeroes without one.
    Pack::Id pack_id;
};

/// Reads what a released vector says about itself.
inline Result<VectorReleaseContent> read_vector_release(const std::uint8_t *bytes, std::size_t len) noexcept
{
    std::uint32_t dimension = 0;
    std::int32_t noise = 0;
    std::uint32_t micro = 0;
    std::int32_t grid_exponent = 0;
    Pack::Id id{};
    const Status status(
        undertone_vector_release_read(bytes, len, &dimension, &noise, &micro, &grid_exponent, id.data()));
    if (!status) return status;
    return VectorReleaseContent{dimension, static_cast<Noise>(noise), Epsilon::from_micro(micro), grid_exponent, id};
}
inline Result<VectorReleaseContent> read_vector_release(const std::vector<std::uint8_t> &bytes) noexcept
{
    return read_vector_release(bytes.data(), bytes.size());
}

/// The coordinates of a released vector in steps of its grid.
inline Result<std::vector<std::int32_t>> read_vector_release_steps(const std::uint8_t *bytes, std::size_t len)
{
    return detail::array<std::int32_t>(
        UNDERTONE_MAX_VECTOR_DIMENSION, [&](std::int32_t *out, std::size_t capacity, std::size_t *written) {
            return undertone_vector_release_read_steps(bytes, len, out, capacity, written);
        });
}
inline Result<std::vector<std::int32_t>> read_vector_release_steps(const std::vector<std::uint8_t> &bytes)
{
    return read_vector_release_steps(bytes.data(), bytes.size());
}

/// The coordinates of a released vector.
inline Result<std::vector<double>> read_vector_release_values(const std::uint8_t *bytes, std::size_t len)
{
    return detail::array<double>(
        UNDERTONE_MAX_VECTOR_DIMENSION, [&](double *out, std::size_t capacity, std::size_t *written) {
            return undertone_vector_release_read_values(bytes, len, out, capacity, written);
        });
}
inline Result<std::vector<double>> read_vector_release_values(const std::vector<std::uint8_t> &bytes)
{
    return read_vector_release_values(bytes.data(), bytes.size());
}

/// The public vocabulary of private words: the words of a pack's lexicon, by number.
class Vocabulary {
public:
    Vocabulary() noexcept = default;

    static Result<Vocabulary> create(const Pack &pack) noexcept
    {
        auto handle =
            detail::make<undertone_vocabulary>(undertone_vocabulary_handle_size(), pack.bytes(),
                                               [&](void *memory, std::size_t len, undertone_vocabulary **out) {
                                                   return undertone_vocabulary_init(memory, len, pack.capi(), out);
                                               });
        if (!handle) return handle.status();
        return Vocabulary(*std::move(handle));
    }

    /// The number of words.
    std::uint32_t word_count() const noexcept { return undertone_vocabulary_word_count(capi()); }

    struct Description {
        /// The public word that all unknown words map to.
        std::uint32_t fallback;
        /// The step q of the promise is 2 to this.
        std::int32_t unit_exponent;
    };
    Result<Description> describe() const noexcept
    {
        Description description{};
        const Status status(
            undertone_vocabulary_describe(capi(), &description.fallback, &description.unit_exponent));
        if (!status) return status;
        return description;
    }

    /// The text of a word; it lives as long as the bytes of the pack.
    Result<std::string_view> word(std::uint32_t number) const noexcept
    {
        const char *text = nullptr;
        std::size_t len = 0;
        const Status status(undertone_vocabulary_word(capi(), number, &text, &len));
        if (!status) return status;
        return std::string_view(text, len);
    }

    undertone_vocabulary *capi() noexcept { return handle_.get(); }
    const undertone_vocabulary *capi() const noexcept { return handle_.get(); }

private:
    explicit Vocabulary(detail::Handle<undertone_vocabulary> handle) noexcept : handle_(std::move(handle)) {}

    const detail::Owner &bytes() const noexcept { return handle_.get_deleter().bytes; }
    friend class Bag;

    detail::Handle<undertone_vocabulary> handle_;
};

/// How a word is made private.
enum class WordMethod : std::int32_t {
    /// Selection by permute-and-flip, the default.
    permute_and_flip = UNDERTONE_WORD_METHOD_PERMUTE_AND_FLIP,
    /// Selection by the exponential mechanism.
    exponential = UNDERTONE_WORD_METHOD_EXPONENTIAL,
    /// Noise on a word's vector, then the nearest word; for comparison.
    laplace_nearest = UNDERTONE_WORD_METHOD_LAPLACE_NEAREST,
};

/// The words of one private text: words go in, one private release comes out, and the bag is empty again.
class Bag {
public:
    Bag() noexcept = default;

    static Result<Bag> create(const Vocabulary &vocabulary) noexcept
    {
        auto handle = detail::make<undertone_bag>(
            undertone_bag_handle_size(), vocabulary.bytes(), [&](void *memory, std::size_t len, undertone_bag **out) {
                return undertone_bag_init(memory, len, vocabulary.capi(), out);
            });
        if (!handle) return handle.status();
        return Bag(*std::move(handle));
    }

    /// Adds one word.
    Status push(std::string_view word) noexcept { return Status(undertone_bag_push(capi(), word.data(), word.size())); }

    /// Adds every word of a text.
    Status push_text(std::string_view text) noexcept
    {
        return Status(undertone_bag_push_text(capi(), text.data(), text.size()));
    }

    /// Draws `word_count` words, replaces each by one of the vocabulary, and forgets all words. The epsilon of
    /// the grant is that of each word. Unless it succeeds, nothing was released and the words are still there;
    /// the grant is gone.
    Result<std::vector<std::uint8_t>> release(Grant grant, std::uint32_t word_count, WordMethod method,
                                              Entropy entropy)
    {
        return detail::array<std::uint8_t>(
            undertone_bag_release_len(word_count), [&](std::uint8_t *out, std::size_t capacity, std::size_t *written) {
                return undertone_bag_release(capi(), grant.capi(), word_count, static_cast<std::int32_t>(method),
                                             entropy.function(), entropy.context(), out, capacity, written);
            });
    }
#if UNDERTONE_OS_ENTROPY
    Result<std::vector<std::uint8_t>> release(Grant grant, std::uint32_t word_count,
                                              WordMethod method = WordMethod::permute_and_flip)
    {
        return release(std::move(grant), word_count, method, Entropy());
    }
#endif

    /// Forgets all words.
    Status reset() noexcept { return Status(undertone_bag_reset(capi())); }

    undertone_bag *capi() noexcept { return handle_.get(); }
    const undertone_bag *capi() const noexcept { return handle_.get(); }

private:
    explicit Bag(detail::Handle<undertone_bag> handle) noexcept : handle_(std::move(handle)) {}

    detail::Handle<undertone_bag> handle_;
};

/// What a released bag says, besides its words.
struct BagReleaseContent {
    std::uint32_t word_count;
    WordMethod method;
    /// Of each word, per unit of distance.
    Epsilon epsilon;
    Pack::Id pack_id;
};

/// Reads what a released bag says about itself.
inline Result<BagReleaseContent> read_bag_release(const std::uint8_t *bytes, std::size_t len) noexcept
{
    std::uint32_t word_count = 0;
    std::int32_t method = 0;
    std::uint32_t micro = 0;
    Pack::Id id{};
    const Status status(undertone_bag_release_read(bytes, len, &word_count, &method, &micro, id.data()));
    if (!status) return status;
    return BagReleaseContent{word_count, static_cast<WordMethod>(method), Epsilon::from_micro(micro), id};
}
inline Result<BagReleaseContent> read_bag_release(const std::vector<std::uint8_t> &bytes) noexcept
{
    return read_bag_release(bytes.data(), bytes.size());
}

/// The words of a released bag, by number, ascending.
inline Result<std::vector<std::uint32_t>> read_bag_release_words(const std::uint8_t *bytes, std::size_t len)
{
    return detail::array<std::uint32_t>(
        UNDERTONE_MAX_RELEASED_WORDS, [&](std::uint32_t *out, std::size_t capacity, std::size_t *written) {
            return undertone_bag_release_read_words(bytes, len, out, capacity, written);
        });
}
inline Result<std::vector<std::uint32_t>> read_bag_release_words(const std::vector<std::uint8_t> &bytes)
{
    return read_bag_release_words(bytes.data(), bytes.size());
}

} // namespace undertone

#endif // UNDERTONE_HPP
