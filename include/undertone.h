/*
 * undertone: say what a text is about without giving the text away.
 *
 * Generated from the crate undertone-ffi; do not edit.
 *
 * A pack (a public file) and the sentences of a private document go in; one release of
 * UNDERTONE_RELEASE_BYTES bytes comes out, which carries a proved differential-privacy guarantee
 * and is all that leaves the device:
 *
 *     undertone_pack_init       check the pack, in place
 *     undertone_document_init   an empty document
 *     undertone_document_push   once for each sentence (or undertone_document_push_sentence)
 *     undertone_document_release
 *
 * What every function keeps to:
 *
 * - Status. Fallible functions return UNDERTONE_OK or another UNDERTONE_ number, for which
 *   undertone_status_message has a sentence that says what to do. Besides the statuses that a
 *   function lists it may return those numbered 1 to 8, which say what is wrong with a pointer or
 *   a length. Numbers keep their meaning for ever. No status depends on the content of a sentence.
 * - Order of arguments. The object, then inputs, then outputs. An output is written only if the
 *   status is UNDERTONE_OK; the one exception is said where it is.
 * - Wrong arguments. NULL, misaligned memory, impossible lengths, memory that overlaps, a handle of
 *   the wrong kind or one that was moved or never initialised: a status, not a crash. An array
 *   may be NULL if its length is 0. What cannot be checked is whether memory is really there.
 * - Memory. Nothing is allocated, so nothing is freed. The caller brings memory for each handle:
 *   from malloc with the _size function, or an array of the UNDERTONE_..._BYTES constant, which is
 *   enough on every target, aligned to UNDERTONE_HANDLE_ALIGNMENT. A handle is the address of its
 *   memory and must stay there. No call takes more than 8 KiB of stack, not counting what the
 *   entropy function takes.
 * - Threads. There is no global state. Functions whose first argument is const may run at the same
 *   time on the same object; all others want the object for themselves.
 * - The library never prints, aborts, or sets errno.
 */

#ifndef UNDERTONE_H
#define UNDERTONE_H

#include <stddef.h>
#include <stdint.h>

/** The version of the library. */
#define UNDERTONE_VERSION "0.1.0"

/* A status must not be ignored. */
#ifndef UNDERTONE_MUST_USE
#if defined(__GNUC__) || defined(__clang__)
#define UNDERTONE_MUST_USE __attribute__((warn_unused_result))
#else
#define UNDERTONE_MUST_USE
#endif
#endif

/**
 * Raised whenever a program compiled with an older header could misbehave with this library.
 */
#define UNDERTONE_ABI_VERSION 1

/**
 * The version of the library as one number: major * 10000 + minor * 100 + patch.
 */
#define UNDERTONE_VERSION_NUMBER 100

/**
 * Done.
 */
#define UNDERTONE_OK 0

/**
 * A required pointer is NULL.
 */
#define UNDERTONE_NULL 1

/**
 * A pointer is not aligned for its type, or the memory for a handle not for the handle.
 */
#define UNDERTONE_MISALIGNED 2

/**
 * A length that no object in memory can have.
 */
#define UNDERTONE_IMPOSSIBLE_LENGTH 3

/**
 * Memory that is written overlaps another argument.
 */
#define UNDERTONE_OVERLAP 4

/**
 * The memory for a handle is shorter than its `_size` function says.
 */
#define UNDERTONE_MEMORY_TOO_SMALL 5

/**
 * Not a handle of this kind: never initialised, overwritten, or moved.
 */
#define UNDERTONE_BAD_HANDLE 6

/**
 * The handle is in use by a call that has not returned.
 */
#define UNDERTONE_BUSY 7

/**
 * The output buffer is too short; the needed length was written.
 */
#define UNDERTONE_BUFFER_TOO_SMALL 8

/**
 * The text is not a decimal number.
 */
#define UNDERTONE_EPSILON_NOT_A_NUMBER 16

/**
 * Epsilon is below 0.000001.
 */
#define UNDERTONE_EPSILON_TOO_SMALL 17

/**
 * Epsilon is above 1000.
 */
#define UNDERTONE_EPSILON_TOO_LARGE 18

/**
 * Not one of the `UNDERTONE_RULE_` numbers.
 */
#define UNDERTONE_UNKNOWN_RULE 19

/**
 * Fewer bytes than the header of a pack.
 */
#define UNDERTONE_PACK_TOO_SHORT 32

/**
 * The bytes are not a pack.
 */
#define UNDERTONE_NOT_A_PACK 33

/**
 * A pack of a format that this library does not read.
 */
#define UNDERTONE_PACK_VERSION 34

/**
 * The pack is not as long as it says.
 */
#define UNDERTONE_PACK_LENGTH 35

/**
 * The digest of the pack does not match its bytes.
 */
#define UNDERTONE_PACK_DAMAGED 36

/**
 * The pack is intact but breaks the rules of its format.
 */
#define UNDERTONE_PACK_MALFORMED 37

/**
 * The pack has no candidates.
 */
#define UNDERTONE_NO_CANDIDATES 48

/**
 * The pack has no lexicon.
 */
#define UNDERTONE_NO_LEXICON 49

/**
 * The pack has more projection directions than `UNDERTONE_MAX_DIRECTIONS`.
 */
#define UNDERTONE_TOO_MANY_DIRECTIONS 50

/**
 * The embedding has another length than the pack was built for.
 */
#define UNDERTONE_WRONG_DIMENSION 51

/**
 * The document has `UNDERTONE_MAX_SENTENCES` sentences.
 */
#define UNDERTONE_DOCUMENT_FULL 52

/**
 * The entropy function failed or gave nothing but zeroes.
 */
#define UNDERTONE_ENTROPY_FAILED 53

/**
 * The pack scores more candidates than `UNDERTONE_MAX_SCORED`.
 */
#define UNDERTONE_TOO_MANY_CANDIDATES 54

/**
 * The bytes are not a release.
 */
#define UNDERTONE_NOT_A_RELEASE 64

/**
 * Not `UNDERTONE_RELEASE_BYTES` bytes.
 */
#define UNDERTONE_RELEASE_LENGTH 65

/**
 * A release of a format that this library does not read.
 */
#define UNDERTONE_RELEASE_VERSION 66

/**
 * A field of the release has a value that is not allowed.
 */
#define UNDERTONE_RELEASE_MALFORMED 67

/**
 * A fault in the library.
 */
#define UNDERTONE_INTERNAL 127

/**
 * The largest epsilon, 1000, in micro-units. The smallest is 1 micro-unit, 0.000001.
 */
#define UNDERTONE_MAX_EPSILON_MICRO 1000000000

/**
 * Alignment that is enough for every handle on every target.
 */
#define UNDERTONE_HANDLE_ALIGNMENT 16

/**
 * Bytes that are enough for an `undertone_pack` on every target.
 */
#define UNDERTONE_PACK_BYTES 640

/**
 * The length of a pack's identifier.
 */
#define UNDERTONE_PACK_ID_BYTES 8

/**
 * The length of the digest that identifies an encoder.
 */
#define UNDERTONE_ENCODER_DIGEST_BYTES 32

/**
 * The largest length of an encoder's name, with its terminating zero.
 */
#define UNDERTONE_ENCODER_NAME_BYTES 33

/**
 * The most sentences in a document.
 */
#define UNDERTONE_MAX_SENTENCES 128

/**
 * The most projection directions in a pack that a document is made from.
 */
#define UNDERTONE_MAX_DIRECTIONS 100

/**
 * The most candidates in a pack with scores that a document is made from.
 */
#define UNDERTONE_MAX_SCORED 12800

/**
 * Bytes that are enough for an `undertone_document` on every target.
 */
#define UNDERTONE_DOCUMENT_BYTES 26624

/**
 * Permute-and-flip, the default: never worse than the exponential mechanism at the same epsilon.
 */
#define UNDERTONE_RULE_PERMUTE_AND_FLIP 1

/**
 * The exponential mechanism, for those who account in zCDP.
 */
#define UNDERTONE_RULE_EXPONENTIAL 2

/**
 * The length of a release.
 */
#define UNDERTONE_RELEASE_BYTES 24

/**
 * A private document: sentences go in, one private release comes out, and the document is empty
 * again. It lives in memory that the caller brings; most of it counts sentences or sums their scores,
 * and none of it holds a sentence.
 */
typedef struct undertone_document undertone_document;

/**
 * A pack: what the public side built and every device reads. It lives in memory that the caller
 * brings and points into the bytes it was made from.
 */
typedef struct undertone_pack undertone_pack;

/**
 * A source of secret, unpredictable bytes: `getrandom`, `SecRandomCopyBytes`, `BCryptGenRandom`, a
 * hardware generator. Never a seeded generator: whoever knows the bytes can undo the privacy.
 *
 * It fills all `len` bytes at `out` and returns 0, or returns anything else if it cannot (a short
 * read is a failure). It returns normally: no `longjmp`, no exception. `context` is what
 * the caller of `undertone_document_release` gave.
 */
typedef int32_t (*undertone_entropy_fn)(void *context, uint8_t *out, size_t len);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The ABI version of the library that was linked.
 *
 * A program that loads a shared library compares it with `UNDERTONE_ABI_VERSION` before it calls
 * anything else.
 *
 * Threads: any.
 */
uint32_t undertone_abi_version(void);

/**
 * The version of the library that was linked, a static string such as "0.1.0".
 *
 * Threads: any.
 */
const char *undertone_version(void);

/**
 * A sentence for a status: what is wrong and what to do, in English.
 *
 * `status`: any number. The result is a static string, never NULL.
 *
 * Threads: any.
 */
const char *undertone_status_message(int32_t status);

/**
 * Reads a decimal number such as "10", "0.5" or "1e-3" as an epsilon in micro-units, exactly,
 * rounding down.
 *
 * `text`: `len` bytes; no terminating zero is needed, and none may be counted.
 * `out_epsilon_micro`: the epsilon, 1 to `UNDERTONE_MAX_EPSILON_MICRO`.
 *
 * Statuses: `UNDERTONE_EPSILON_NOT_A_NUMBER`, `UNDERTONE_EPSILON_TOO_SMALL`,
 * `UNDERTONE_EPSILON_TOO_LARGE`.
 *
 * Threads: any.
 *
 * What the caller ensures:
 * `text` is NULL or `len` readable bytes; `out_epsilon_micro` is NULL or writable.
 */
UNDERTONE_MUST_USE
int32_t undertone_epsilon_parse(const char *text,
                                size_t len,
                                uint32_t *out_epsilon_micro);

/**
 * The bytes that `undertone_pack_init` needs, at most `UNDERTONE_PACK_BYTES`.
 *
 * Threads: any.
 */
size_t undertone_pack_size(void);

/**
 * The alignment that `undertone_pack_init` needs, at most `UNDERTONE_HANDLE_ALIGNMENT`.
 *
 * Threads: any.
 */
size_t undertone_pack_align(void);

/**
 * Checks a pack and makes a handle for it.
 *
 * `memory`: `memory_len` bytes for the handle, at least `undertone_pack_size()`, aligned to
 * `undertone_pack_align()`; what `malloc` returns is aligned. `bytes`: the `len` bytes of the file,
 * at any address; they are read in place (map the file), not copied. `out_pack`: the handle, which
 * lies in `memory`.
 *
 * The bytes must stay where they are, unchanged, as long as the pack or a document made from it
 * is used. There is nothing to free: when the pack is not used any more, its memory may be reused.
 * If the call fails, `memory` may have been written to.
 *
 * Statuses: `UNDERTONE_MEMORY_TOO_SMALL`, `UNDERTONE_PACK_TOO_SHORT`, `UNDERTONE_NOT_A_PACK`,
 * `UNDERTONE_PACK_VERSION`, `UNDERTONE_PACK_LENGTH`, `UNDERTONE_PACK_DAMAGED`,
 * `UNDERTONE_PACK_MALFORMED`.
 *
 * Threads: any, with `memory` of their own. One pack may be used by many threads at once.
 *
 * What the caller ensures:
 * `memory` is NULL or `memory_len` writable bytes; `bytes` is NULL or `len` readable bytes that
 * stay as described; `out_pack` is NULL or writable.
 */
UNDERTONE_MUST_USE
int32_t undertone_pack_init(void *memory,
                            size_t memory_len,
                            const uint8_t *bytes,
                            size_t len,
                            undertone_pack **out_pack);

/**
 * The number of coordinates in an embedding, 1 to 4096; 0 if `pack` is not a valid handle.
 *
 * Threads: any.
 *
 * What the caller ensures:
 * `pack` is NULL or what `undertone_pack_init` returned.
 */
uint32_t undertone_pack_dimension(const undertone_pack *pack);

/**
 * The number of candidates that a release is drawn from; 0 if the pack has none or `pack` is not
 * a valid handle.
 *
 * Threads: any.
 *
 * What the caller ensures:
 * `pack` is NULL or what `undertone_pack_init` returned.
 */
uint32_t undertone_pack_candidates(const undertone_pack *pack);

/**
 * The number of projection directions of a pack that selects by depth, which a document can hold if
 * it is at most `UNDERTONE_MAX_DIRECTIONS`; 0 for any other pack or if `pack` is not a valid handle.
 *
 * Threads: any.
 *
 * What the caller ensures:
 * `pack` is NULL or what `undertone_pack_init` returned.
 */
uint32_t undertone_pack_directions(const undertone_pack *pack);

/**
 * The number of words in the lexicon, which `undertone_document_push_sentence` needs; 0 if the
 * pack has none or `pack` is not a valid handle.
 *
 * Threads: any.
 *
 * What the caller ensures:
 * `pack` is NULL or what `undertone_pack_init` returned.
 */
uint32_t undertone_pack_words(const undertone_pack *pack);

/**
 * The identifier of the pack, which a release carries.
 *
 * `out_id`: `UNDERTONE_PACK_ID_BYTES` bytes.
 *
 * Threads: any.
 *
 * What the caller ensures:
 * `pack` is NULL or what `undertone_pack_init` returned; `out_id` is NULL or
 * `UNDERTONE_PACK_ID_BYTES` writable bytes outside the pack.
 */
UNDERTONE_MUST_USE int32_t undertone_pack_id(const undertone_pack *pack, uint8_t *out_id);

/**
 * The digest that identifies the encoder whose embeddings the pack was built from.
 *
 * `out_digest`: `UNDERTONE_ENCODER_DIGEST_BYTES` bytes.
 *
 * Threads: any.
 *
 * What the caller ensures:
 * `pack` is NULL or what `undertone_pack_init` returned; `out_digest` is NULL or
 * `UNDERTONE_ENCODER_DIGEST_BYTES` writable bytes outside the pack.
 */
UNDERTONE_MUST_USE
int32_t undertone_pack_encoder_digest(const undertone_pack *pack,
                                      uint8_t *out_digest);

/**
 * The name of that encoder, UTF-8, padded with zeroes and terminated by at least one.
 *
 * `out_name`: `UNDERTONE_ENCODER_NAME_BYTES` bytes.
 *
 * Threads: any.
 *
 * What the caller ensures:
 * `pack` is NULL or what `undertone_pack_init` returned; `out_name` is NULL or
 * `UNDERTONE_ENCODER_NAME_BYTES` writable bytes outside the pack.
 */
UNDERTONE_MUST_USE int32_t undertone_pack_encoder_name(const undertone_pack *pack, char *out_name);

/**
 * The bytes that `undertone_document_init` needs, at most `UNDERTONE_DOCUMENT_BYTES`.
 *
 * Threads: any.
 */
size_t undertone_document_size(void);

/**
 * The alignment that `undertone_document_init` needs, at most `UNDERTONE_HANDLE_ALIGNMENT`.
 *
 * Threads: any.
 */
size_t undertone_document_align(void);

/**
 * Makes an empty document for the candidates of a pack.
 *
 * `memory`: `memory_len` bytes for the handle, at least `undertone_document_size()`, aligned to
 * `undertone_document_align()`; what `malloc` returns is aligned. `pack`: not used after the call,
 * but the bytes it was made from are, as long as the document is used. `out_document`: the handle,
 * which lies in `memory` and must not be moved or copied.
 *
 * There is nothing to free. A document that may still hold sentences is wiped with
 * `undertone_document_reset` before its memory is reused. If the call fails, `memory` may have
 * been written to.
 *
 * Statuses: `UNDERTONE_MEMORY_TOO_SMALL`, `UNDERTONE_NO_CANDIDATES`,
 * `UNDERTONE_TOO_MANY_DIRECTIONS`, `UNDERTONE_TOO_MANY_CANDIDATES`.
 *
 * Threads: any, with `memory` of their own. A document is used by one thread at a time.
 *
 * What the caller ensures:
 * `memory` is NULL or `memory_len` writable bytes; `pack` is NULL or what `undertone_pack_init`
 * returned; `out_document` is NULL or writable.
 */
UNDERTONE_MUST_USE
int32_t undertone_document_init(void *memory,
                                size_t memory_len,
                                const undertone_pack *pack,
                                undertone_document **out_document);

/**
 * Adds one sentence by its embedding.
 *
 * `embedding`: `len` floats, `len` being `undertone_pack_dimension`. Any bits: a coordinate that
 * is not finite counts as 0. It must come from the encoder that the pack names, which must have
 * seen this sentence alone.
 *
 * Unless the status is `UNDERTONE_OK` the document is unchanged. No status depends on the content
 * of a sentence.
 *
 * Statuses: `UNDERTONE_WRONG_DIMENSION`, `UNDERTONE_DOCUMENT_FULL`.
 *
 * Threads: no other call may use the document at the same time.
 *
 * What the caller ensures:
 * `document` is NULL or what `undertone_document_init` returned; `embedding` is NULL or `len`
 * readable floats.
 */
UNDERTONE_MUST_USE
int32_t undertone_document_push(undertone_document *document,
                                const float *embedding,
                                size_t len);

/**
 * Adds one sentence by its text, through the lexicon in the pack.
 *
 * `text`: `len` bytes of UTF-8, taken as one sentence; no terminating zero is needed, and none may
 * be counted. Bytes that are not UTF-8 separate words. A sentence without a known word counts
 * as the zero vector.
 *
 * Unless the status is `UNDERTONE_OK` the document is unchanged. No status depends on the content
 * of a sentence, but the time the call takes does.
 *
 * Statuses: `UNDERTONE_NO_LEXICON`, `UNDERTONE_DOCUMENT_FULL`.
 *
 * Threads: no other call may use the document at the same time.
 *
 * What the caller ensures:
 * `document` is NULL or what `undertone_document_init` returned; `text` is NULL or `len` readable
 * bytes.
 */
UNDERTONE_MUST_USE
int32_t undertone_document_push_sentence(undertone_document *document,
                                         const char *text,
                                         size_t len);

/**
 * Forgets all sentences and wipes what they left in the document: back to the state after
 * `undertone_document_init`. Also what is called before the memory of a document is freed.
 *
 * Threads: no other call may use the document at the same time.
 *
 * What the caller ensures:
 * `document` is NULL or what `undertone_document_init` returned.
 */
int32_t undertone_document_reset(undertone_document *document);

/**
 * Draws the release of a document and forgets all its sentences.
 *
 * The release is epsilon-differentially private for one sentence exchanged, epsilon/2 for one
 * sentence more or less, for any pack. Releases of the same sentences add up. The pack, epsilon
 * and the rule must be chosen without looking at the document. A document without sentences
 * releases a uniformly random candidate.
 *
 * `epsilon_micro`: epsilon in micro-units, 1 to `UNDERTONE_MAX_EPSILON_MICRO`
 * (`undertone_epsilon_parse` reads text). `rule`: `UNDERTONE_RULE_PERMUTE_AND_FLIP` or
 * `UNDERTONE_RULE_EXPONENTIAL`. `entropy`: called once, with `context`, for 32 bytes, after all
 * arguments have been checked; it must not use the document. `out`: `out_capacity` bytes,
 * `UNDERTONE_RELEASE_BYTES` are enough. `out_written`: the bytes written; with
 * `UNDERTONE_BUFFER_TOO_SMALL` the bytes needed.
 *
 * Unless the status is `UNDERTONE_OK`, nothing was drawn and the sentences are still there.
 *
 * Statuses: `UNDERTONE_EPSILON_TOO_SMALL`, `UNDERTONE_EPSILON_TOO_LARGE`,
 * `UNDERTONE_UNKNOWN_RULE`, `UNDERTONE_BUFFER_TOO_SMALL`, `UNDERTONE_ENTROPY_FAILED`.
 *
 * Threads: no other call may use the document at the same time.
 *
 * What the caller ensures:
 * `document` is NULL or what `undertone_document_init` returned; `entropy` is NULL or keeps the
 * promises of `undertone_entropy_fn` with `context`; `out` is NULL or `out_capacity` writable
 * bytes; `out_written` is NULL or writable.
 */
UNDERTONE_MUST_USE
int32_t undertone_document_release(undertone_document *document,
                                   uint32_t epsilon_micro,
                                   int32_t rule,
                                   undertone_entropy_fn entropy,
                                   void *context,
                                   uint8_t *out,
                                   size_t out_capacity,
                                   size_t *out_written);

/**
 * Reads a release that came from a device.
 *
 * `bytes`: `len` bytes, anything. `out_candidate`: the index of the candidate drawn; compare it
 * with `undertone_pack_candidates`, since a release can be forged. `out_epsilon_micro`: the epsilon
 * that the device spent, in micro-units. `out_rule`: one of the `UNDERTONE_RULE_` numbers.
 * `out_pack_id`: `UNDERTONE_PACK_ID_BYTES` bytes, the identifier of the pack whose candidates the
 * index counts (`undertone_pack_id`).
 *
 * Statuses: `UNDERTONE_RELEASE_LENGTH`, `UNDERTONE_NOT_A_RELEASE`, `UNDERTONE_RELEASE_VERSION`,
 * `UNDERTONE_RELEASE_MALFORMED`.
 *
 * Threads: any.
 *
 * What the caller ensures:
 * `bytes` is NULL or `len` readable bytes; each output is NULL or writable.
 */
UNDERTONE_MUST_USE
int32_t undertone_release_read(const uint8_t *bytes,
                               size_t len,
                               uint32_t *out_candidate,
                               uint32_t *out_epsilon_micro,
                               int32_t *out_rule,
                               uint8_t *out_pack_id);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* UNDERTONE_H */
