// undertone for C++17: handles that clean up behind themselves over undertone.h, which explains what
// each function promises.
//
//     undertone::Result<undertone::Pack> pack = undertone::Pack::open("demo.pack");
//     if (!pack) return fail(pack.status().message());
//     undertone::Result<undertone::Document> document = undertone::Document::create(*pack);
//     ...
//
// Header-only; link libundertone. What every class keeps to:
//
// - Errors. What can fail returns a Status or a Result, which must not be ignored. Nothing throws, and
//   everything compiles without exceptions and RTTI. Where exceptions are on, or_throw() turns a Status or
//   a Result into a value or an undertone::Error. To take the value of a failed Result is a bug in the
//   program, which ends it (std::abort).
// - Handles are move-only. One that was moved from, or default-made, has capi() == nullptr, and its
//   functions return UNDERTONE_NULL. Its memory stays where it is when the object moves, and is wiped
//   before it is freed.
// - Threads. const functions may run at the same time on one object; all others want it for themselves.
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
inline constexpr std::int32_t FILE_FAILED = -1;
/// The system has no memory left.
inline constexpr std::int32_t OUT_OF_MEMORY = -2;

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
        Status status(FILE_FAILED);
        status.system_error_ = error;
        return status;
    }

    constexpr bool ok() const noexcept { return code_ == UNDERTONE_OK; }
    constexpr explicit operator bool() const noexcept { return ok(); }
    /// UNDERTONE_OK, another number of undertone.h, or one of the numbers above.
    constexpr std::int32_t code() const noexcept { return code_; }
    /// The errno of FILE_FAILED, else 0.
    constexpr int system_error() const noexcept { return system_error_; }
    /// What is wrong and what to do, in English; a static string.
    const char *message() const noexcept
    {
        switch (code_) {
        case FILE_FAILED:
            return "the system refused to read or write a file; system_error() says why";
        case OUT_OF_MEMORY:
            return "the system has no memory left";
        default:
            return undertone_status_message(code_);
        }
    }

private:
    std::int32_t code_ = UNDERTONE_OK;
    int system_error_ = 0;
};

/// A value, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) noexcept(std::is_nothrow_move_constructible_v<T>) : value_(std::move(value)) {}
    Result(Status why) noexcept : status_(why)
    {
        // A result without a value has a reason.
        if (why.ok()) status_ = Status(UNDERTONE_INTERNAL);
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
    template <class Source, class = std::enable_if_t<std::is_invocable_r_v<bool, Source &, std::uint8_t *, std::size_t> &&
                                                     !std::is_same_v<std::decay_t<Source>, Entropy>>>
    explicit Entropy(Source &source) noexcept : function_(call<Source>), context_(&source)
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
    /// For those who account in zCDP.
    exponential = UNDERTONE_RULE_EXPONENTIAL,
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
inline void wipe(undertone_document *document) noexcept { undertone_document_reset(document); }

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
    if (memory == nullptr) return Status(OUT_OF_MEMORY);
    T *handle = nullptr;
    const Status status(init(memory, size, &handle));
    if (!status) {
        std::free(memory);
        return status;
    }
    return Handle<T>(handle, Wiper<T>{std::move(bytes)});
}

struct CloseFile {
    void operator()(std::FILE *file) const noexcept { std::fclose(file); }
};

} // namespace detail

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

    /// The number of coordinates in an embedding.
    std::uint32_t dimension() const noexcept { return undertone_pack_dimension(capi()); }
    /// The number of candidates that a release is drawn from.
    std::uint32_t candidates() const noexcept { return undertone_pack_candidates(capi()); }
    /// The number of projection directions of a pack that selects by depth, else 0.
    std::uint32_t directions() const noexcept { return undertone_pack_directions(capi()); }
    /// The number of words in the lexicon; 0 without one.
    std::uint32_t words() const noexcept { return undertone_pack_words(capi()); }

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

    const undertone_pack *capi() const noexcept { return handle_.get(); }

private:
    explicit Pack(detail::Handle<undertone_pack> handle) noexcept : handle_(std::move(handle)) {}

    static Result<Pack> make(const std::uint8_t *bytes, std::size_t len, detail::Owner owner) noexcept
    {
        auto handle = detail::make<undertone_pack>(
            undertone_pack_size(), std::move(owner), [&](void *memory, std::size_t memory_len, undertone_pack **out) {
                return undertone_pack_init(memory, memory_len, bytes, len, out);
            });
        if (!handle) return handle.status();
        return Pack(*std::move(handle));
    }

    const detail::Owner &bytes() const noexcept { return handle_.get_deleter().bytes; }
    friend class Document;

    detail::Handle<undertone_pack> handle_;
};

/// A release: the bytes that leave the device.
using Release = std::array<std::uint8_t, UNDERTONE_RELEASE_BYTES>;

/// What stands in a release.
struct ReleaseContent {
    /// Compare it with Pack::candidates: a release can be forged.
    std::uint32_t candidate;
    Epsilon epsilon;
    Rule rule;
    Pack::Id pack_id;
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
    return ReleaseContent{candidate, Epsilon::from_micro(micro), static_cast<Rule>(rule), id};
}
inline Result<ReleaseContent> read_release(const Release &release) noexcept
{
    return read_release(release.data(), release.size());
}
inline Result<ReleaseContent> read_release(const std::vector<std::uint8_t> &bytes) noexcept
{
    return read_release(bytes.data(), bytes.size());
}

/// A private document: sentences go in, one private release comes out, and the document is empty again.
class Document {
public:
    Document() noexcept = default;

    /// An empty document for the candidates of a pack.
    static Result<Document> create(const Pack &pack) noexcept
    {
        auto handle = detail::make<undertone_document>(
            undertone_document_size(), pack.bytes(), [&](void *memory, std::size_t memory_len, undertone_document **out) {
                return undertone_document_init(memory, memory_len, pack.capi(), out);
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

    /// Adds one sentence by its text, through the lexicon in the pack.
    Status push_sentence(std::string_view text) noexcept
    {
        return Status(undertone_document_push_sentence(capi(), text.data(), text.size()));
    }

    /// Draws the release and forgets all sentences. Unless it succeeds, nothing was drawn and the sentences are
    /// still there.
    Result<Release> release(Epsilon epsilon, Rule rule, Entropy entropy) noexcept
    {
        Release out{};
        std::size_t written = 0;
        const Status status(undertone_document_release(capi(), epsilon.micro(), static_cast<std::int32_t>(rule),
                                                       entropy.function(), entropy.context(), out.data(), out.size(),
                                                       &written));
        if (!status) return status;
        return out;
    }
#if UNDERTONE_OS_ENTROPY
    Result<Release> release(Epsilon epsilon, Rule rule = Rule::permute_and_flip) noexcept
    {
        return release(epsilon, rule, Entropy());
    }
#endif

    /// Forgets all sentences.
    Status reset() noexcept { return Status(undertone_document_reset(capi())); }

    undertone_document *capi() noexcept { return handle_.get(); }
    const undertone_document *capi() const noexcept { return handle_.get(); }

private:
    explicit Document(detail::Handle<undertone_document> handle) noexcept : handle_(std::move(handle)) {}

    detail::Handle<undertone_document> handle_;
};

} // namespace undertone

#endif // UNDERTONE_HPP
