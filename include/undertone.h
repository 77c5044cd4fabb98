/*
 * undertone: report the topic of a text without giving the text away.
 *
 * Generated from the crate undertone-ffi; do not edit.
 *
 * A pack (a public file) and the sentences of a private document go in. One release of
 * UNDERTONE_RELEASE_BYTES bytes comes out. It carries a proved differential-privacy guarantee, and
 * nothing else leaves the device:
 *
 *     undertone_pack_init               check the pack, in place
 *     undertone_document_init           make an empty document
 *     undertone_document_push_text      push the sentences of a text (or push them one by one)
 *     undertone_ledger_spend            take a grant, the right to spend an epsilon once
 *                                       (or undertone_grant_init_unrecorded, which counts nothing)
 *     undertone_document_release_whole_text   spend the grant on a whole-text release, which
 *                                       protects the whole text (a message, a line);
 *     undertone_document_release        or spend it on a sentence release, which protects each
 *                                       sentence of a long text
 *
 * Choose between the two without looking at the text or its length. undertone_document_promise
 * computes the epsilon of either release, for one sentence and for the whole text.
 *
 * An app can also spend one epsilon for a whole year: it draws one line from many (a line is one
 * text, such as a message) and releases its outcome, which is the candidate that the line is about
 * or "nothing known". undertone_ledger_is_due returns whether the device releases in a slot, such
 * as a week. In such a slot the app calls undertone_reservoir_init, then undertone_reservoir_push
 * for each line, and undertone_reservoir_release_whole_text when the slot has ended.
 *
 * Vectors (undertone_vector_mechanism_init, undertone_vector_mechanism_release) and words
 * (undertone_vocabulary_init, undertone_bag_init, undertone_bag_push, undertone_bag_release) have
 * releases of their own. Those guarantee metric privacy, which the release functions define.
 *
 * Rules of every function:
 *
 * - Status. Functions that can fail return UNDERTONE_STATUS_OK or another UNDERTONE_STATUS_ number.
 *   undertone_status_message explains it in one sentence, with what to do. A function lists its
 *   statuses; any function may also return the statuses 1 to 8, which concern pointers, lengths and
 *   handles, or UNDERTONE_STATUS_INTERNAL. Numbers keep their meaning for ever. Later versions may
 *   add statuses, so treat an unknown status as a failure. No status depends on the content of a
 *   sentence, a word or a vector.
 * - Arguments. The object comes first, then inputs, then outputs. An output is written only if the
 *   status is UNDERTONE_STATUS_OK, with three exceptions: UNDERTONE_STATUS_BUFFER_TOO_SMALL writes
 *   the needed length to out_written, undertone_ledger_spend may write out_left if it refuses, and
 *   undertone_ledger_reserve_epsilon writes its outputs with UNDERTONE_STATUS_LEDGER_RECORD_LOST.
 *   An output may be NULL where the function allows it. The length of a text does not count a
 *   terminating zero.
 * - Wrong arguments. NULL, misaligned memory, impossible lengths, overlapping memory, a handle of
 *   the wrong kind, a moved or uninitialised handle: each gives a status, not a crash. An array may
 *   be NULL if its length is 0. The library cannot check that memory really exists. So the caller
 *   ensures that each pointer is NULL or correct: a handle was returned by its init function, an
 *   array has the length that is passed, inputs can be read, outputs and the memory of handles can
 *   be written, and a callback does what its type documents. The caller also ensures that during a
 *   call nobody else writes to its arguments, or reads arguments that are not const.
 * - Memory. The library allocates nothing, so there is nothing to free. The caller provides
 *   the memory of each handle (memory and memory_len of the function that makes the handle):
 *   UNDERTONE_..._HANDLE_SIZE bytes or more, aligned to UNDERTONE_HANDLE_ALIGNMENT, as memory from
 *   malloc is. A handle is the address of its memory and must not be moved or copied. If the
 *   call that makes a handle fails, its memory may have been overwritten. A call uses at most 8 KiB
 *   of stack (x86-64: 16 KiB); a call that releases words or vectors uses at most 16 KiB (x86-64:
 *   20 KiB). The stack of the entropy function comes on top.
 * - Threads. There is no global state. Functions whose first argument is const may run at the same
 *   time on the same object. During any other function no other call may use the object.
 * - The library never prints, aborts, or sets errno.
 *
 * One word for each thing:
 *
 *     dimension   the number of coordinates of a vector
 *     count       the number of other things, such as candidates
 *     len         the length of an array argument, in elements
 *     BYTES       the length of a file, a record or an identifier, in bytes
 *     buffer      memory that a result is written to; out_capacity is its length
 *     memory      memory that a handle lives in; HANDLE_SIZE is its length in bytes
 *     image       the bytes of a ledger's file
 *     embedding   the vector of a sentence, from an encoder or from the lexicon of a pack
 *     unit        the unit of privacy: one sentence, the whole text, words, or a vector
 *     slot        the stretch of time that one release is about, such as a week
 *     reservoir   the outcome of one line of a slot, in UNDERTONE_RESERVOIR_BYTES bytes
 *     micro       millionths: an epsilon_micro of 500000 is an epsilon of 0.5
 *     window      a period, such as a day or a year, with a budget of its own in a ledger; some are
 *                 divided into slots
 *     candidate   an entry of the public list of a pack; a release of a document names one
 *
 * Sentences. undertone_document_push_text splits a text by a public rule that looks at nothing but
 * the text. A sentence ends:
 *
 * - at an empty line, and at the end of a line that was not wrapped. A line counts as not wrapped
 *   if it has fewer than 40 or more than 100 columns, or if an item of a list follows;
 * - after "!", "?" and their like in other scripts, with the quotes, brackets and emoji that
 *   follow;
 * - after a full stop and a space, except after an abbreviation, an initial or the number of an
 *   item of a list;
 * - after an emoji, if a word follows that does not start with a lower-case letter;
 * - after 600 bytes, between two words or after a comma if that is possible.
 *
 * White space around a sentence is left out, and so is a piece without a letter or digit. Invisible
 * characters (combining marks, joiners, format characters such as a byte order mark) after a stop
 * do not change where a sentence ends; they belong to the sentence that they follow. An app with a
 * better rule can split a text itself and push one sentence after another. core/src/sentences.rs
 * has the rule in full.
 *
 * A release of a document, or of an answer to a form, has this layout, which undertone_release_read
 * reads. Numbers are little-endian:
 *
 *     0   3   "UTR"
 *     3   1   version of the layout, 1
 *     4   1   mechanism: 1 sentence release by depth; 2 sentence release by scores; 7 whole-text
 *             release; 8 projective whole-text release; 9 release of a drawn sentence; 10 answer to
 *             a form
 *     5   1   rule, a UNDERTONE_RULE_ number
 *     6   2   for mechanisms 8 and 10, order of the geometry; for mechanism 9, number of places of
 *             the reservoir; otherwise 0
 *     8   4   epsilon in micro-units
 *     12  4   number of the candidate. For mechanism 8, number of a point, which stands for a set
 *             of candidates. For mechanism 10, 2^24 times the index of the question, plus the point
 *     16  8   identifier of the pack, or of the form
 *
 * It contains nothing else: no text, no length, no time. core/FORMAT.md has the layouts of releases
 * of vectors and words, of packs, forms and ledgers.
 *
 * Versions. UNDERTONE_ABI_VERSION rises when a program compiled with an older header could
 * misbehave. If such a program meets a newer library:
 *
 * - If it is linked to the shared library on Linux, the loader refuses to start it, because the
 *   name of the library ends in the ABI version (libundertone.so.2).
 * - If it loads the library at run time (dlopen, Android, Java), it must first call
 *   undertone_abi_version, which has the same signature in all versions, and stop unless that
 *   returns UNDERTONE_ABI_VERSION.
 * - In any other case the linker or the loader names the missing symbol, because a function that
 *   changed in any way has a new name. A function that keeps its name keeps its arguments and
 *   their meaning. The name of a removed function is never used again.
 *
 * Packs, releases and ledgers have versions of their own. This library reads those that older
 * versions of the library wrote.
 */

#ifndef UNDERTONE_H
#define UNDERTONE_H

#include <stddef.h>
#include <stdint.h>

/** The version of the library. */
#define UNDERTONE_VERSION "0.2.0"

/** Done. */
#define UNDERTONE_STATUS_OK 0

/** A required pointer is NULL; an array may be NULL only if its length is 0. */
#define UNDERTONE_STATUS_NULL_POINTER 1

/** A pointer is not aligned; align memory for handles to 16 bytes, as malloc does. */
#define UNDERTONE_STATUS_MISALIGNED 2

/** A length is larger than any object in memory; was a negative number passed? */
#define UNDERTONE_STATUS_IMPOSSIBLE_LENGTH 3

/** Memory that the call writes overlaps another argument; give each its own memory. */
#define UNDERTONE_STATUS_OVERLAP 4

/** The memory is too small for the handle. */
#define UNDERTONE_STATUS_MEMORY_TOO_SMALL 5

/** Not a valid handle: it was moved or overwritten, or never initialised. */
#define UNDERTONE_STATUS_BAD_HANDLE 6

/** The handle is in use by a call that has not returned. */
#define UNDERTONE_STATUS_BUSY 7

/** The buffer for the result is too short. */
#define UNDERTONE_STATUS_BUFFER_TOO_SMALL 8

/** Epsilon is not a decimal number such as 10, 0.5 or 1e-3. */
#define UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER 16

/** Epsilon is below 0.000001; it must lie in 0.000001..=1000. */
#define UNDERTONE_STATUS_EPSILON_TOO_SMALL 17

/** Epsilon is above 1000; it must lie in 0.000001..=1000. */
#define UNDERTONE_STATUS_EPSILON_TOO_LARGE 18

/** Unknown rule; the default is permute-and-flip, 1. */
#define UNDERTONE_STATUS_UNKNOWN_RULE 19

/** Unknown noise; the default is Laplace noise, 3. */
#define UNDERTONE_STATUS_UNKNOWN_NOISE 20

/** Unknown method for words; the default is permute-and-flip, 1. */
#define UNDERTONE_STATUS_UNKNOWN_WORD_METHOD 21

/** Epsilon is below 0.1; Laplace noise on vectors needs 0.1..=1000. */
#define UNDERTONE_STATUS_EPSILON_TOO_SMALL_FOR_NOISE 22

/** The dimension of the vector is not in 1..=1024; project longer vectors. */
#define UNDERTONE_STATUS_DIMENSION_OUT_OF_RANGE 23

/** The bound on the coordinates does not fit the noise; scale the vectors or change epsilon. */
#define UNDERTONE_STATUS_BOUND_OUT_OF_RANGE 24

/** The number of words to release is not in 1..=256. */
#define UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE 25

/** The vocabulary has no word with this number; was the release made with the same pack? */
#define UNDERTONE_STATUS_NO_SUCH_WORD 26

/** Unknown unit of privacy, or one that this call does not take. */
#define UNDERTONE_STATUS_UNKNOWN_UNIT 27

/**
 * A number of places, slots or appointments is not in 1..=65535, or the window has no such slot.
 */
#define UNDERTONE_STATUS_SCHEDULE_OUT_OF_RANGE 29

/** Too few bytes for a pack; is the file complete? */
#define UNDERTONE_STATUS_PACK_TOO_SHORT 32

/** Not a pack: the first eight bytes are not "UNDRTONE"; is it the right file? */
#define UNDERTONE_STATUS_NOT_A_PACK 33

/** This library cannot read the version of the pack; update the older of the two. */
#define UNDERTONE_STATUS_PACK_UNSUPPORTED_VERSION 34

/** The length of the pack differs from the one in its header; copy the whole file again. */
#define UNDERTONE_STATUS_PACK_WRONG_LENGTH 35

/** The digest of the pack does not match its bytes; copy the file again. */
#define UNDERTONE_STATUS_PACK_DAMAGED 36

/** The pack breaks the rules of its format; build it again. */
#define UNDERTONE_STATUS_PACK_MALFORMED 37

/** The pack has no candidates. */
#define UNDERTONE_STATUS_NO_CANDIDATES 48

/**
 * The pack cannot read text, as it has no lexicon; push embeddings, or build a pack with a lexicon.
 */
#define UNDERTONE_STATUS_NO_LEXICON 49

/** The pack has more than 100 projection directions; build it with fewer. */
#define UNDERTONE_STATUS_TOO_MANY_DIRECTIONS 50

/** The vector does not have the dimension of its pack or mechanism; is it the same encoder? */
#define UNDERTONE_STATUS_WRONG_DIMENSION 51

/** The document already has 128 sentences; release it, or leave the rest out. */
#define UNDERTONE_STATUS_DOCUMENT_FULL 52

/** The source of entropy failed or returned only zeroes, so nothing was released. */
#define UNDERTONE_STATUS_ENTROPY_FAILED 53

/**
 * The pack has too many candidates for this release: more than 12800 with scores, 2560 with
 * features, or 4224 for a whole-text release.
 */
#define UNDERTONE_STATUS_TOO_MANY_CANDIDATES 54

/** The pack has no projection for vectors. */
#define UNDERTONE_STATUS_NO_PROJECTION 55

/** The projection of the pack stretches distances by more than 4096; scale it down. */
#define UNDERTONE_STATUS_PROJECTION_TOO_STEEP 56

/** The pack has features of texts; push the text of a sentence, not only its embedding. */
#define UNDERTONE_STATUS_NEEDS_TEXT 57

/** The pack selects by depth, and a whole-text release needs scores. */
#define UNDERTONE_STATUS_NO_SCORES 58

/** Not a release: the first three bytes are not "UTR". */
#define UNDERTONE_STATUS_NOT_A_RELEASE 64

/** The release has the wrong number of bytes (a document's has 24); is it complete? */
#define UNDERTONE_STATUS_RELEASE_WRONG_LENGTH 65

/** This library cannot read the version of the release; update the older of the two. */
#define UNDERTONE_STATUS_RELEASE_UNSUPPORTED_VERSION 66

/** A field of the release has an invalid value; was it damaged on the way? */
#define UNDERTONE_STATUS_RELEASE_MALFORMED 67

/** The grant was spent by an earlier release; every release needs its own grant. */
#define UNDERTONE_STATUS_GRANT_SPENT 80

/** A budget of 0 grants nothing; the smallest is 0.000001. */
#define UNDERTONE_STATUS_LEDGER_NO_BUDGET 81

/** A ledger has 128 bytes; is it the right file? If so, recreate the ledger. */
#define UNDERTONE_STATUS_LEDGER_WRONG_LENGTH 82

/** No record begins with "UTLEDG"; is it the right file? If so, recreate the ledger. */
#define UNDERTONE_STATUS_NOT_A_LEDGER 83

/**
 * This library cannot read the version of the ledger; a newer version of undertone wrote it; use
 * that version.
 */
#define UNDERTONE_STATUS_LEDGER_UNSUPPORTED_VERSION 84

/** No record of the ledger is intact; recreate the ledger. */
#define UNDERTONE_STATUS_LEDGER_DAMAGED 85

/** The records are not of one ledger; recreate the ledger. */
#define UNDERTONE_STATUS_LEDGER_MIXED 86

/** Another program wrote to the ledger's file, so nothing is granted; lock it and try again. */
#define UNDERTONE_STATUS_LEDGER_CHANGED 87

/**
 * The ledger has recorded a later window; set the clock right, or if it is right, recreate the
 * ledger with this window spent.
 */
#define UNDERTONE_STATUS_LEDGER_FROM_FUTURE 88

/** This window has less left than the call needs; wait for the next window. */
#define UNDERTONE_STATUS_LEDGER_EXHAUSTED 89

/** The ledger's counter has reached its maximum; make a new ledger. */
#define UNDERTONE_STATUS_LEDGER_WORN_OUT 90

/** Nothing is reserved; reserve an epsilon once before each grant. */
#define UNDERTONE_STATUS_LEDGER_NOT_RESERVED 91

/** The file does not have the new record, so nothing is granted; write, sync and read again. */
#define UNDERTONE_STATUS_LEDGER_NOT_PERSISTED 92

/**
 * A record of the ledger was lost in a power cut or damaged, so the rest of this window counts as
 * spent; wait for the next window.
 */
#define UNDERTONE_STATUS_LEDGER_RECORD_LOST 93

/** The epsilon of the grant is not that of the mechanism; take a grant of the same epsilon. */
#define UNDERTONE_STATUS_GRANT_WRONG_EPSILON 94

/** The grant is for another unit than the release; every unit has a ledger of its own. */
#define UNDERTONE_STATUS_GRANT_WRONG_UNIT 95

/** The grant is for fewer words than the release has; take a grant for at least as many. */
#define UNDERTONE_STATUS_GRANT_TOO_FEW_WORDS 96

/** The ledger is for another unit; every unit has a ledger of its own. */
#define UNDERTONE_STATUS_LEDGER_WRONG_UNIT 97

/** The ledger was set back or exchanged; recreate the ledger. */
#define UNDERTONE_STATUS_LEDGER_SET_BACK 98

/**
 * The platform's counter did not rise as asked, so nothing is granted; does another program use it?
 */
#define UNDERTONE_STATUS_LEDGER_NOT_RAISED 99

/** The storage of the ledger failed, so nothing is granted; the epsilon may stay spent. */
#define UNDERTONE_STATUS_LEDGER_STORAGE_FAILED 100

/** The ledger is in use, here or in another program; only one at a time can spend. */
#define UNDERTONE_STATUS_LEDGER_IN_USE 101

/** Not an intact reservoir of this version; begin with a new one, which costs no privacy. */
#define UNDERTONE_STATUS_RESERVOIR_DAMAGED 112

/** The reservoir is of another pack or form; begin with a new one, which costs no privacy. */
#define UNDERTONE_STATUS_RESERVOIR_OTHER_PACK 113

/** Not a form: the first six bytes are not "UTFORM"; is it the right file? */
#define UNDERTONE_STATUS_NOT_A_FORM 114

/** This library cannot read the version of the form; update the older of the two. */
#define UNDERTONE_STATUS_FORM_UNSUPPORTED_VERSION 115

/** The length or the digest of the form does not match its bytes; copy the file again. */
#define UNDERTONE_STATUS_FORM_DAMAGED 116

/** The form breaks the rules of its format; build it again. */
#define UNDERTONE_STATUS_FORM_MALFORMED 117

/** The number of answers is not the form's number of attributes; give one answer for each. */
#define UNDERTONE_STATUS_WRONG_ANSWER_COUNT 118

/** The form has no attribute or no category with this number. */
#define UNDERTONE_STATUS_NO_SUCH_CATEGORY 119

/**
 * The form has no topic for the document's pack; make the form again with the candidates of this
 * pack.
 */
#define UNDERTONE_STATUS_FORM_OTHER_PACK 120

/** A bug in undertone; please report it with the call that returned it. */
#define UNDERTONE_STATUS_INTERNAL 127

/* A status must not be ignored. */
#ifndef UNDERTONE_MUST_USE
#if defined(__GNUC__) || defined(__clang__)
#define UNDERTONE_MUST_USE __attribute__((warn_unused_result))
#else
#define UNDERTONE_MUST_USE
#endif
#endif

/**
 * One sentence is protected: any one sentence of the text may be replaced.
 */
#define UNDERTONE_UNIT_SENTENCE 1

/**
 * The whole text is protected: any other text may replace it.
 */
#define UNDERTONE_UNIT_WHOLE_TEXT 2

/**
 * A bag of words is protected: another bag at word mover's distance W costs epsilon * W for each
 * released word.
 */
#define UNDERTONE_UNIT_WORD 3

/**
 * A vector is protected: another vector at distance D costs epsilon * D.
 */
#define UNDERTONE_UNIT_VECTOR 4

/**
 * Permute-and-flip, the default: never less accurate than the exponential mechanism at the same
 * epsilon.
 */
#define UNDERTONE_RULE_PERMUTE_AND_FLIP 1

/**
 * The exponential mechanism, for accounting in zCDP.
 */
#define UNDERTONE_RULE_EXPONENTIAL 2

/**
 * Candidates are selected by approximate Tukey depth.
 */
#define UNDERTONE_SELECTOR_DEPTH 1

/**
 * Candidates are selected by bounded scores.
 */
#define UNDERTONE_SELECTOR_SCORES 2

/**
 * The whole-text rule: protects a whole text, or all lines of a slot together.
 */
#define UNDERTONE_MECHANISM_WHOLE_TEXT 7

/**
 * Projective geometry, for counting among many candidates: protects a whole text, or all lines of
 * a slot together.
 */
#define UNDERTONE_MECHANISM_PROJECTIVE 8

/**
 * The whole-text rule on one line that a reservoir has drawn, at more than the grant's epsilon.
 * Each line, such as a sentence of a text, keeps the promise of the grant.
 */
#define UNDERTONE_MECHANISM_DRAWN 9

/**
 * n-dimensional Laplace noise, the default: the least noise.
 */
#define UNDERTONE_NOISE_LAPLACE 3

/**
 * Discrete Laplace noise on each coordinate: about 1.5 times as much noise, without the small
 * delta of `UNDERTONE_NOISE_LAPLACE`, and computed in integers.
 */
#define UNDERTONE_NOISE_DISCRETE_LAPLACE 4

/**
 * Selection of words by permute-and-flip, the default.
 */
#define UNDERTONE_WORD_METHOD_PERMUTE_AND_FLIP 1

/**
 * Selection of words by the exponential mechanism.
 */
#define UNDERTONE_WORD_METHOD_EXPONENTIAL 2

/**
 * Noise on a word's vector, then the nearest word: the method of earlier papers, for comparison.
 */
#define UNDERTONE_WORD_METHOD_LAPLACE_NEAREST 3

/**
 * The largest epsilon, 1000, in micro-units. The smallest is 1 micro-unit, 0.000001.
 */
#define UNDERTONE_MAX_EPSILON_MICRO 1000000000

/**
 * The most sentences in a document.
 */
#define UNDERTONE_MAX_SENTENCES 128

/**
 * The most projection directions in a pack for documents.
 */
#define UNDERTONE_MAX_DIRECTIONS 100

/**
 * The most candidates that a pack with scores may have if it is used for documents.
 */
#define UNDERTONE_MAX_SCORED_CANDIDATES 12800

/**
 * The most candidates that a pack with features may have if it is used for documents.
 */
#define UNDERTONE_MAX_FEATURED_CANDIDATES 2560

/**
 * The most candidates of a pack for whole-text releases.
 */
#define UNDERTONE_MAX_WHOLE_TEXT_CANDIDATES 4224

/**
 * The most coordinates of a released vector.
 */
#define UNDERTONE_MAX_VECTOR_DIMENSION 1024

/**
 * The most words that a bag keeps of a text; the rest is left out.
 */
#define UNDERTONE_MAX_BAG_WORDS 1024

/**
 * The most words in a release of a bag.
 */
#define UNDERTONE_MAX_RELEASED_WORDS 256

/**
 * The length of a release of a document or an answer; the top of this header has its layout.
 */
#define UNDERTONE_RELEASE_BYTES 24

/**
 * The largest length of a released vector: 36 bytes, and 4 for each of 1024 coordinates.
 */
#define UNDERTONE_MAX_VECTOR_RELEASE_BYTES 4132

/**
 * The largest length of a release of a bag: 24 bytes, and 2 for each of 256 words.
 */
#define UNDERTONE_MAX_BAG_RELEASE_BYTES 536

/**
 * The length of a reservoir.
 */
#define UNDERTONE_RESERVOIR_BYTES 64

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
 * The length of a ledger's file.
 */
#define UNDERTONE_LEDGER_IMAGE_BYTES 128

/**
 * The length of a record, which is what a reservation writes.
 */
#define UNDERTONE_LEDGER_RECORD_BYTES 64

/**
 * The alignment of the memory for handles.
 */
#define UNDERTONE_HANDLE_ALIGNMENT 16

/**
 * The length of the memory for an `undertone_pack` on every target.
 */
#define UNDERTONE_PACK_HANDLE_SIZE 640

/**
 * The length of the memory for an `undertone_form` on every target.
 */
#define UNDERTONE_FORM_HANDLE_SIZE 192

/**
 * The length of the memory for an `undertone_grant` on every target.
 */
#define UNDERTONE_GRANT_HANDLE_SIZE 32

/**
 * The length of the memory for an `undertone_ledger` on every target.
 */
#define UNDERTONE_LEDGER_HANDLE_SIZE 512

/**
 * The length of the memory for an `undertone_document` on every target.
 */
#define UNDERTONE_DOCUMENT_HANDLE_SIZE 26624

/**
 * The length of the memory for an `undertone_vector_mechanism` on every target.
 */
#define UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE 256

/**
 * The length of the memory for an `undertone_vocabulary` on every target.
 */
#define UNDERTONE_VOCABULARY_HANDLE_SIZE 192

/**
 * The length of the memory for an `undertone_bag` on every target.
 */
#define UNDERTONE_BAG_HANDLE_SIZE 2304

/**
 * Raised whenever a program compiled with an older header could misbehave with this library.
 */
#define UNDERTONE_ABI_VERSION 2

/**
 * The version of the library as one number: major * 10000 + minor * 100 + patch.
 */
#define UNDERTONE_VERSION_NUMBER 200

/**
 * The words of one private text: words go in, one private release comes out, and the bag is empty
 * again.
 */
typedef struct undertone_bag undertone_bag;

/**
 * A private document: sentences go in, one private release comes out, and the document is empty
 * again. It holds counts (pack by depth) or sums of scores (pack by scores), and never a sentence.
 */
typedef struct undertone_document undertone_document;

/**
 * A form: a public file of questions whose answers the app has. The handle points into the bytes
 * of the file.
 */
typedef struct undertone_form undertone_form;

/**
 * Permission to spend an epsilon once; every release takes one. A later grant may reuse its
 * memory.
 */
typedef struct undertone_grant undertone_grant;

/**
 * A privacy budget, opened by an app whose storage is asynchronous. With synchronous storage,
 * `undertone_ledger_spend` does all steps in one call, without this handle.
 *
 * The steps: lock the file by the rule in ffi/README.md, read it, `undertone_ledger_open`,
 * `undertone_ledger_reserve_epsilon`, write the record at the offset returned, sync, read the file
 * again, `undertone_ledger_grant`. These steps do not raise a monotonic counter, so do not use
 * them for a ledger that has a counter.
 */
typedef struct undertone_ledger undertone_ledger;

/**
 * A pack: the public file that every device reads. The handle points into the bytes of the file.
 */
typedef struct undertone_pack undertone_pack;

/**
 * The mechanism that releases private vectors, with its public parameters. It holds no private
 * data.
 */
typedef struct undertone_vector_mechanism undertone_vector_mechanism;

/**
 * The public vocabulary of private words: the words of a pack's lexicon, by number.
 */
typedef struct undertone_vocabulary undertone_vocabulary;

/**
 * The public facts about a pack, for `undertone_pack_describe`. The fields never change: what a
 * later version adds has a function of its own.
 */
typedef struct {
    /**
     * The dimension of an embedding, 1 to 4096.
     */
    uint32_t dimension;
    /**
     * The number of candidates that a release is drawn from; 0 if the pack has none.
     */
    uint32_t candidate_count;
    /**
     * The number that means "nothing known" in a whole-text release. If the pack recognises
     * nothing in the text, for example because the text is empty or in another language, this is
     * the most likely number. It is equal to `candidate_count`. Like every candidate, it may also
     * be drawn by chance. A pack may leave this outcome out of the releases of documents; then
     * only the release of a reservoir has it, if no line was drawn. `UINT32_MAX` if the pack has
     * no scores.
     */
    uint32_t nothing_known;
    /**
     * How candidates are selected, a `UNDERTONE_SELECTOR_` number; 0 if the pack has no
     * candidates.
     */
    int32_t selector;
    /**
     * The largest score that one sentence can give a candidate, 1 to 255; 0 if the pack has no
     * scores.
     */
    uint32_t largest_score;
    /**
     * The number of levels, 2 to 160; 0 if the pack has no scores. The level of a candidate is the
     * distance of its sum of scores below the best sum; a candidate whose distance is larger than
     * the last level counts as on the last level. With fewer levels, a sentence release protects
     * the whole text better (`undertone_document_promise`).
     */
    uint32_t level_count;
    /**
     * The number of features of texts (words, pairs, symbols, runs of letters) that add to the
     * scores; 0 if the pack has none. A pack with features needs the text of each sentence: use
     * `undertone_document_push_sentence`, or `undertone_document_push_encoded` if the pack was
     * built with a neural encoder.
     */
    uint32_t feature_count;
    /**
     * The number of projection directions of a pack that selects by depth; 0 for any other pack.
     * A pack with more than `UNDERTONE_MAX_DIRECTIONS` cannot be used for documents.
     */
    uint32_t direction_count;
    /**
     * The number of words in the lexicon; 0 if the pack has none.
     */
    uint32_t word_count;
    /**
     * The dimension of a released vector after the projection of the pack
     * (`undertone_vector_mechanism_init_projected`); 0 if it has no projection.
     */
    uint32_t projected_dimension;
    /**
     * The identifier of the pack, which a release carries.
     */
    uint8_t id[UNDERTONE_PACK_ID_BYTES];
    /**
     * The digest that identifies the encoder whose embeddings the pack was built from.
     */
    uint8_t encoder_digest[UNDERTONE_ENCODER_DIGEST_BYTES];
    /**
     * The name of that encoder: UTF-8, followed by one or more zero bytes that fill the field.
     */
    char encoder_name[UNDERTONE_ENCODER_NAME_BYTES];
} undertone_pack_description;

/**
 * Functions of the app that read and write a ledger's file, and raise the platform's monotonic
 * counter if it has one. Each receives `context` as its first argument, and returns 0 for success
 * or another number for failure. It must return normally: no `longjmp`, no exception. Neither
 * these functions nor the entropy function may call a function of this library on the same ledger,
 * because the nested call would get a second grant for one payment.
 *
 * `lock` and `unlock` are NULL if nothing else can use the file. `lock` locks the file by the rule
 * in ffi/README.md. If the ledger is in use, `lock` does not wait but returns a number other than
 * 0. `unlock` is called once after each `lock` that returned 0. `read` reads at most `capacity`
 * bytes from the start of the file and writes the number of bytes read to `out_read`; `capacity`
 * is one byte more than the length of a ledger. `write` writes `len` bytes at `offset` and returns
 * once they are durable (`fsync`).
 *
 * A monotonic counter reveals that a file was set back (ffi/README.md). It starts at 0, never
 * decreases, is stored apart from the file, and counts this ledger alone. On a platform without a
 * counter, `read_counter` and `raise_counter` are NULL. `raise_counter` returns once the counter
 * is durably at `to`. If the platform can only increment its counter, increment it until it is at
 * `to`; one increment is nearly always enough.
 */
typedef struct {
    /**
     * The first argument of each function.
     */
    void *context;
    /**
     * Locks the file unless it is in use.
     */
    int32_t (*lock)(void *context);
    /**
     * Unlocks the file.
     */
    void (*unlock)(void *context);
    /**
     * Reads the file.
     */
    int32_t (*read)(void *context, uint8_t *out, size_t capacity, size_t *out_read);
    /**
     * Writes to the file, durably.
     */
    int32_t (*write)(void *context, size_t offset, const uint8_t *bytes, size_t len);
    /**
     * Reads the counter.
     */
    int32_t (*read_counter)(void *context, uint64_t *out_counter);
    /**
     * Raises the counter, durably.
     */
    int32_t (*raise_counter)(void *context, uint64_t to);
} undertone_ledger_storage;

/**
 * A source of secret, unpredictable bytes: `getrandom`, `SecRandomCopyBytes`, `BCryptGenRandom`, a
 * hardware generator. A seeded generator must not be used, because whoever learns the seed can
 * undo the privacy.
 *
 * The function fills all `len` bytes at `out` and returns 0. If it cannot, it returns another
 * number; a short read is a failure. It must return normally: no `longjmp`, no exception.
 * `context` is the pointer that was passed beside the function.
 */
typedef int32_t (*undertone_entropy_fn)(void *context, uint8_t *out, size_t len);

#ifdef __cplusplus
extern "C" {
#endif /* __cplusplus */

/**
 * Returns the ABI version of the linked library.
 *
 * A program that loads a shared library compares it with `UNDERTONE_ABI_VERSION` before it calls
 * anything else.
 */
uint32_t undertone_abi_version(void);

/**
 * Returns the version of the linked library, a static string such as "0.2.0".
 */
const char *undertone_version(void);

/**
 * Returns the name of the kernels that the library uses on this processor, a static string:
 * "avx512", "avx2", "neon" or "portable". The kernels differ in speed only.
 */
const char *undertone_backend(void);

/**
 * Returns the meaning of a status in English: what is wrong and what to do.
 *
 * `status`: any number. The result is a static string, never NULL.
 */
const char *undertone_status_message(int32_t status);

/**
 * Reads a decimal number such as "10", "0.5" or "1e-3" as an epsilon in micro-units, rounded down
 * to a whole number of micro-units.
 *
 * `text`: `len` bytes. `out_epsilon_micro`: receives 1 to `UNDERTONE_MAX_EPSILON_MICRO`.
 *
 * Statuses: `UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER`, `UNDERTONE_STATUS_EPSILON_TOO_SMALL`,
 * `UNDERTONE_STATUS_EPSILON_TOO_LARGE`.
 */
UNDERTONE_MUST_USE
int32_t undertone_epsilon_parse(const char *text,
                                size_t len,
                                uint32_t *out_epsilon_micro);

/**
 * Checks a pack and makes a handle for it. One pack may be used by many threads at once.
 *
 * `bytes`: the `len` bytes of the file, at any address. They are read in place, not copied, and
 * must stay unchanged as long as the pack or an object made from it is used.
 *
 * Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_PACK_TOO_SHORT`,
 * `UNDERTONE_STATUS_NOT_A_PACK`, `UNDERTONE_STATUS_PACK_UNSUPPORTED_VERSION`,
 * `UNDERTONE_STATUS_PACK_WRONG_LENGTH`, `UNDERTONE_STATUS_PACK_DAMAGED`,
 * `UNDERTONE_STATUS_PACK_MALFORMED`.
 */
UNDERTONE_MUST_USE
int32_t undertone_pack_init(void *memory,
                            size_t memory_len,
                            const uint8_t *bytes,
                            size_t len,
                            undertone_pack **out_pack);

/**
 * Describes a pack.
 */
UNDERTONE_MUST_USE
int32_t undertone_pack_describe(const undertone_pack *pack,
                                undertone_pack_description *out_description);

/**
 * Computes, with the lexicon of the pack, the embedding of one sentence, which is the vector that
 * `undertone_document_push_sentence` adds. **It is as private as the sentence.**
 *
 * `text`: `len` bytes of UTF-8, taken as one sentence. `out`: `out_capacity` floats; the pack's
 * `dimension` is enough. `out_written`: receives the floats written, or those needed with
 * `UNDERTONE_STATUS_BUFFER_TOO_SMALL`. The time of the call depends on the sentence.
 *
 * Statuses: `UNDERTONE_STATUS_NO_LEXICON`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
 */
UNDERTONE_MUST_USE
int32_t undertone_pack_embed_sentence(const undertone_pack *pack,
                                      const char *text,
                                      size_t len,
                                      float *out,
                                      size_t out_capacity,
                                      size_t *out_written);

/**
 * Makes a grant without a ledger, for apps that count elsewhere what they spend, and for public
 * text. The epsilons of several releases of the same text or vector add up.
 *
 * `unit`: the `UNDERTONE_UNIT_` number of the release. `epsilon_micro`: epsilon in micro-units, 1
 * to `UNDERTONE_MAX_EPSILON_MICRO` (`undertone_epsilon_parse` reads text).
 *
 * Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_UNKNOWN_UNIT`,
 * `UNDERTONE_STATUS_EPSILON_TOO_SMALL`, `UNDERTONE_STATUS_EPSILON_TOO_LARGE`.
 */
UNDERTONE_MUST_USE
int32_t undertone_grant_init_unrecorded(void *memory,
                                        size_t memory_len,
                                        int32_t unit,
                                        uint32_t epsilon_micro,
                                        undertone_grant **out_grant);

/**
 * Spends an epsilon from a ledger: locks and reads the file, raises the platform's counter if
 * there is one, writes the new record, reads it back, and makes the grant.
 *
 * `unit`: the `UNDERTONE_UNIT_` number of the release and of the ledger. `epsilon_micro`: epsilon
 * in micro-units, 1 to `UNDERTONE_MAX_EPSILON_MICRO`. `word_count`: 1, or the number of words that
 * a bag releases, because each word costs epsilon. `window`: a public number that never decreases,
 * such as the days since 1970. A window far in the future locks the ledger until that window
 * comes. `entropy`: called once with `context`, for 8 bytes that mark the record of this call.
 * `memory`: for the grant. `out_left`: NULL, or receives the budget left in the window in
 * micro-units whenever the ledger could be read, even if it refuses. The budget left is private if
 * an epsilon was chosen by looking at a text.
 *
 * ffi/README.md has a table of the statuses and what an app does about them. After
 * `UNDERTONE_STATUS_LEDGER_STORAGE_FAILED`, `UNDERTONE_STATUS_LEDGER_NOT_RAISED` and
 * `UNDERTONE_STATUS_LEDGER_NOT_PERSISTED` nothing is granted, although the epsilon may be spent.
 * `read` must fail if the file is missing.
 *
 * Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_UNKNOWN_UNIT`,
 * `UNDERTONE_STATUS_EPSILON_TOO_SMALL`, `UNDERTONE_STATUS_EPSILON_TOO_LARGE`,
 * `UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE`, `UNDERTONE_STATUS_LEDGER_IN_USE`,
 * `UNDERTONE_STATUS_LEDGER_STORAGE_FAILED`, `UNDERTONE_STATUS_LEDGER_SET_BACK`,
 * `UNDERTONE_STATUS_LEDGER_NOT_RAISED`, and all statuses of `undertone_ledger_open`,
 * `undertone_ledger_reserve_epsilon` and `undertone_ledger_grant`.
 */
UNDERTONE_MUST_USE
int32_t undertone_ledger_spend(const undertone_ledger_storage *storage,
                               int32_t unit,
                               uint32_t epsilon_micro,
                               uint32_t word_count,
                               uint64_t window,
                               undertone_entropy_fn entropy,
                               void *context,
                               void *memory,
                               size_t memory_len,
                               undertone_grant **out_grant,
                               uint64_t *out_left);

/**
 * Reads the budget left in a window from a ledger's file.
 *
 * `unit`, `window`: as for `undertone_ledger_spend`. `image`: the `image_len` bytes of the file,
 * read under its lock. `counter`: NULL, or the present value of the platform's counter.
 * `out_micro`: receives the budget left in micro-units, or 0 if a record was lost. The budget left
 * is private if an epsilon was chosen by looking at a text.
 *
 * Statuses: `UNDERTONE_STATUS_UNKNOWN_UNIT`, `UNDERTONE_STATUS_LEDGER_SET_BACK`,
 * `UNDERTONE_STATUS_LEDGER_FROM_FUTURE`, and those of `undertone_ledger_open` except
 * `UNDERTONE_STATUS_MEMORY_TOO_SMALL` and `UNDERTONE_STATUS_ENTROPY_FAILED`.
 */
UNDERTONE_MUST_USE
int32_t undertone_ledger_remaining(int32_t unit,
                                   const uint8_t *image,
                                   size_t image_len,
                                   uint64_t window,
                                   const uint64_t *counter,
                                   uint64_t *out_micro);

/**
 * Reads the appointments of this device: the slots of a window in which it releases. They are
 * drawn without looking at any text, so an app can show them before anything is typed. Whoever
 * can read the ledger's file can compute them.
 *
 * A window has `slot_count` slots, from 0 on, such as the weeks of a year. With
 * `appointment_count` releases in a window, each at `epsilon` for all lines of its slot,
 * everything that somebody types in the window has the promise `appointment_count * epsilon`,
 * which is the budget to give the ledger. Restarts, power cuts and other processes find the same
 * slots.
 *
 * `image`: the `image_len` bytes of the file. `window`: as for `undertone_ledger_spend`.
 * `slot_count`, `appointment_count`: 1 to 65535. `out_slots`: `out_capacity` numbers;
 * `appointment_count` are enough. `out_written`: receives the number of slots, or the number
 * needed with `UNDERTONE_STATUS_BUFFER_TOO_SMALL`. The slots ascend; if `slot_count` is smaller
 * than `appointment_count`, all slots are appointed.
 *
 * Statuses: `UNDERTONE_STATUS_SCHEDULE_OUT_OF_RANGE`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, and
 * those of `undertone_ledger_open` about the image.
 */
UNDERTONE_MUST_USE
int32_t undertone_ledger_appointment(const uint8_t *image,
                                     size_t image_len,
                                     uint64_t window,
                                     uint32_t slot_count,
                                     uint32_t appointment_count,
                                     uint16_t *out_slots,
                                     size_t out_capacity,
                                     size_t *out_written);

/**
 * Reads whether a release is due in a slot. It is due if, up to the end of the slot, the device
 * has more appointments in the window than releases that it has paid for. So a slot that the
 * device missed is made up for in the next slot in which the app asks.
 *
 * If a release is due, the app begins a reservoir for the slot. When the slot has ended, it
 * spends `epsilon_micro` in the window of that slot and releases, even if nothing was typed.
 *
 * `image`, `image_len`, `window`, `slot_count`, `appointment_count`: as for
 * `undertone_ledger_appointment`. `counter`: as for `undertone_ledger_remaining`. `slot`: below
 * `slot_count`. `epsilon_micro`: the epsilon of each release; the app must spend nothing else from
 * this ledger. `out_is_due`: receives 1 or 0; it is 0 if the budget left is too small.
 *
 * Statuses: `UNDERTONE_STATUS_SCHEDULE_OUT_OF_RANGE`, `UNDERTONE_STATUS_EPSILON_TOO_SMALL`,
 * `UNDERTONE_STATUS_EPSILON_TOO_LARGE`, and those of `undertone_ledger_remaining` about the image.
 */
UNDERTONE_MUST_USE
int32_t undertone_ledger_is_due(const uint8_t *image,
                                size_t image_len,
                                uint64_t window,
                                const uint64_t *counter,
                                uint32_t slot_count,
                                uint32_t appointment_count,
                                uint32_t slot,
                                uint32_t epsilon_micro,
                                int32_t *out_is_due);

/**
 * Makes the image of a new ledger in the place of an old one that was lost, damaged or set back,
 * or that recorded a window in the future because a clock was wrong. `window` is the present
 * window. In the new ledger it counts as spent, earlier windows are refused, and each later window
 * has its whole budget. So no budget is restored, provided that the clock is now right.
 *
 * The app locks the file and overwrites it with the image. If the file is missing, the app creates
 * it as for `undertone_ledger_create_image`. If `storage` has a counter, this function reads and
 * raises it, so that older files are refused. It neither locks, reads nor writes the file.
 *
 * `storage`: see `undertone_ledger_storage`. `unit`: as for `undertone_ledger_spend`.
 * `budget_micro`, `entropy`, `context`, `out_image`, `out_capacity`, `out_written`: as for
 * `undertone_ledger_create_image`.
 *
 * Statuses: `UNDERTONE_STATUS_UNKNOWN_UNIT`, `UNDERTONE_STATUS_LEDGER_NO_BUDGET`,
 * `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, `UNDERTONE_STATUS_ENTROPY_FAILED`,
 * `UNDERTONE_STATUS_LEDGER_WORN_OUT`, `UNDERTONE_STATUS_LEDGER_STORAGE_FAILED`,
 * `UNDERTONE_STATUS_LEDGER_NOT_RAISED`.
 */
UNDERTONE_MUST_USE
int32_t undertone_ledger_recreate_spent(const undertone_ledger_storage *storage,
                                        int32_t unit,
                                        uint64_t budget_micro,
                                        uint64_t window,
                                        undertone_entropy_fn entropy,
                                        void *context,
                                        uint8_t *out_image,
                                        size_t out_capacity,
                                        size_t *out_written);

/**
 * Makes the image of a new ledger.
 *
 * The app writes the image to a temporary file in the same folder, syncs that file, renames it,
 * and syncs the folder before anything is spent. The budget of a ledger cannot be changed, because
 * another budget is another promise: make another ledger for it. To replace a ledger, call
 * `undertone_ledger_recreate_spent` instead, because a new ledger forgets what was spent.
 *
 * `unit`: the `UNDERTONE_UNIT_` number of the releases. `budget_micro`: epsilon for every window
 * in micro-units, at least 1. `entropy`: called once with `context`, for 8 bytes that identify the
 * ledger. `out_image`: `out_capacity` bytes; `UNDERTONE_LEDGER_IMAGE_BYTES` are enough.
 * `out_written`: receives the bytes written, or the bytes needed with
 * `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
 *
 * Statuses: `UNDERTONE_STATUS_UNKNOWN_UNIT`, `UNDERTONE_STATUS_LEDGER_NO_BUDGET`,
 * `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, `UNDERTONE_STATUS_ENTROPY_FAILED`.
 */
UNDERTONE_MUST_USE
int32_t undertone_ledger_create_image(int32_t unit,
                                      uint64_t budget_micro,
                                      undertone_entropy_fn entropy,
                                      void *context,
                                      uint8_t *out_image,
                                      size_t out_capacity,
                                      size_t *out_written);

/**
 * Opens a ledger from the bytes of its file.
 *
 * The app locks the file before it reads the image, and unlocks it when it has finished with the
 * ledger. Without the lock, each of two writers would overwrite the record of the other.
 *
 * `unit`: as for `undertone_ledger_spend`. `image`: the `image_len` bytes of the file, which are
 * copied. `entropy`: called once with `context`, for 8 bytes that mark the records of this handle.
 *
 * Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_UNKNOWN_UNIT`,
 * `UNDERTONE_STATUS_LEDGER_WRONG_UNIT`, `UNDERTONE_STATUS_LEDGER_WRONG_LENGTH`,
 * `UNDERTONE_STATUS_NOT_A_LEDGER`, `UNDERTONE_STATUS_LEDGER_UNSUPPORTED_VERSION`,
 * `UNDERTONE_STATUS_LEDGER_DAMAGED`, `UNDERTONE_STATUS_LEDGER_MIXED`,
 * `UNDERTONE_STATUS_ENTROPY_FAILED`.
 */
UNDERTONE_MUST_USE
int32_t undertone_ledger_open(void *memory,
                              size_t memory_len,
                              int32_t unit,
                              const uint8_t *image,
                              size_t image_len,
                              undertone_entropy_fn entropy,
                              void *context,
                              undertone_ledger **out_ledger);

/**
 * Reserves an epsilon in a window. The handle counts it as spent from now on, even if the
 * reservation is not used. Unless the status is `UNDERTONE_STATUS_OK` or
 * `UNDERTONE_STATUS_LEDGER_RECORD_LOST`, nothing was reserved.
 *
 * `epsilon_micro`, `word_count`, `window`: as for `undertone_ledger_spend`. `image`: the
 * `image_len` bytes of the file, as it is now. `out_record`: `out_capacity` bytes for the record
 * to write; `UNDERTONE_LEDGER_RECORD_BYTES` are enough. `out_written`: receives the bytes written,
 * or the bytes needed with `UNDERTONE_STATUS_BUFFER_TOO_SMALL`. `out_offset`: receives the offset
 * of the record in the file.
 *
 * The app writes the record at that offset, syncs, reads the file and calls
 * `undertone_ledger_grant`. It does the same after `UNDERTONE_STATUS_LEDGER_RECORD_LOST`, which
 * means that an earlier record was lost, in a power cut for example. In this case the new record
 * marks the rest of the window as spent, and there will be no grant.
 *
 * Statuses: `UNDERTONE_STATUS_LEDGER_RECORD_LOST`, `UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE`,
 * `UNDERTONE_STATUS_EPSILON_TOO_SMALL`, `UNDERTONE_STATUS_EPSILON_TOO_LARGE`,
 * `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, `UNDERTONE_STATUS_LEDGER_WRONG_LENGTH`,
 * `UNDERTONE_STATUS_LEDGER_CHANGED`, `UNDERTONE_STATUS_LEDGER_FROM_FUTURE`,
 * `UNDERTONE_STATUS_LEDGER_EXHAUSTED`, `UNDERTONE_STATUS_LEDGER_WORN_OUT`.
 */
UNDERTONE_MUST_USE
int32_t undertone_ledger_reserve_epsilon(undertone_ledger *ledger,
                                         uint32_t epsilon_micro,
                                         uint32_t word_count,
                                         uint64_t window,
                                         const uint8_t *image,
                                         size_t image_len,
                                         uint8_t *out_record,
                                         size_t out_capacity,
                                         size_t *out_written,
                                         size_t *out_offset);

/**
 * Makes the grant for the last reservation, after its record was stored.
 *
 * `image`: the `image_len` bytes of the file, read after the record was written and synced. The
 * function checks that the record is there. `memory`: for the grant.
 *
 * After `UNDERTONE_STATUS_LEDGER_NOT_PERSISTED` the app may write the record and read the file
 * again; the reserved epsilon stays spent either way. If `undertone_ledger_reserve_epsilon`
 * returned `UNDERTONE_STATUS_LEDGER_RECORD_LOST`, so does this function: the rest of the window is
 * now recorded as spent.
 *
 * Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_LEDGER_NOT_RESERVED`,
 * `UNDERTONE_STATUS_LEDGER_WRONG_LENGTH`, `UNDERTONE_STATUS_LEDGER_NOT_PERSISTED`,
 * `UNDERTONE_STATUS_LEDGER_RECORD_LOST`.
 */
UNDERTONE_MUST_USE
int32_t undertone_ledger_grant(undertone_ledger *ledger,
                               const uint8_t *image,
                               size_t image_len,
                               void *memory,
                               size_t memory_len,
                               undertone_grant **out_grant);

/**
 * Makes an empty document for the candidates of a pack.
 *
 * The handle `pack` is not needed after the call. Keep the bytes of the pack, unchanged, while the
 * document is in use. Wipe a document that may hold sentences with `undertone_document_reset`
 * before you reuse its memory.
 *
 * Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_NO_CANDIDATES`,
 * `UNDERTONE_STATUS_TOO_MANY_DIRECTIONS`, `UNDERTONE_STATUS_TOO_MANY_CANDIDATES`.
 */
UNDERTONE_MUST_USE
int32_t undertone_document_init(void *memory,
                                size_t memory_len,
                                const undertone_pack *pack,
                                undertone_document **out_document);

/**
 * Adds one sentence by its embedding.
 *
 * `embedding`: `len` floats, where `len` is the `dimension` of the pack
 * (`undertone_pack_describe`). They were computed for this sentence alone by the encoder that the
 * pack names. A coordinate that is not finite counts as 0.
 *
 * Statuses: `UNDERTONE_STATUS_WRONG_DIMENSION`, `UNDERTONE_STATUS_DOCUMENT_FULL`, and
 * `UNDERTONE_STATUS_NEEDS_TEXT` for a pack with features. The document is then unchanged.
 */
UNDERTONE_MUST_USE
int32_t undertone_document_push(undertone_document *document,
                                const float *embedding,
                                size_t len);

/**
 * Adds several sentences by their embeddings, until the document is full; the rest is left out.
 * This equals `undertone_document_push` for each embedding, but is faster, because it reads the
 * pack once for every four embeddings.
 *
 * `embeddings`: `len` floats, a multiple of the pack's `dimension`, one embedding after another.
 * `out_sentence_count`: NULL, or receives the number of sentences added, which is private and must
 * not leave the device.
 *
 * Statuses: `UNDERTONE_STATUS_WRONG_DIMENSION`, and `UNDERTONE_STATUS_NEEDS_TEXT` for a pack with
 * features. The document is then unchanged.
 */
UNDERTONE_MUST_USE
int32_t undertone_document_push_all(undertone_document *document,
                                    const float *embeddings,
                                    size_t len,
                                    size_t *out_sentence_count);

/**
 * Adds one sentence by its text. The pack must have a lexicon, or have features and be built
 * without a neural encoder.
 *
 * `text`: `len` bytes of UTF-8, taken as one sentence. Bytes that are not UTF-8 end a word, as a
 * space does. A sentence without a known word counts as the zero vector.
 *
 * Statuses: `UNDERTONE_STATUS_NO_LEXICON`, `UNDERTONE_STATUS_DOCUMENT_FULL`. The document is then
 * unchanged. The time of the call depends on the sentence.
 */
UNDERTONE_MUST_USE
int32_t undertone_document_push_sentence(undertone_document *document,
                                         const char *text,
                                         size_t len);

/**
 * Adds one sentence by its text and its embedding, for a pack that was built with a neural encoder
 * and has features of texts. Without features this equals `undertone_document_push`.
 *
 * `text`, `text_len`: as for `undertone_document_push_sentence`. `embedding`, `embedding_len`: as
 * for `undertone_document_push`.
 *
 * Statuses: `UNDERTONE_STATUS_WRONG_DIMENSION`, `UNDERTONE_STATUS_DOCUMENT_FULL`. The document is
 * then unchanged. The time of the call depends on the sentence.
 */
UNDERTONE_MUST_USE
int32_t undertone_document_push_encoded(undertone_document *document,
                                        const char *text,
                                        size_t text_len,
                                        const float *embedding,
                                        size_t embedding_len);

/**
 * Adds the sentences of a text, as `undertone_sentence_next` finds them, until the document is
 * full; the rest is left out. Each is added as `undertone_document_push_sentence` does. A pack
 * that takes whole texts gets the text as one sentence.
 *
 * `text`: `len` bytes of UTF-8. `out_sentence_count`: NULL, or receives the number of sentences
 * added, which is private and must not leave the device.
 *
 * Statuses: `UNDERTONE_STATUS_NO_LEXICON`. The time of the call depends on the text.
 */
UNDERTONE_MUST_USE
int32_t undertone_document_push_text(undertone_document *document,
                                     const char *text,
                                     size_t len,
                                     size_t *out_sentence_count);

/**
 * Returns the number of sentences in a document, at most `UNDERTONE_MAX_SENTENCES`; 0 if
 * `document` is not a valid handle. It is private and must not leave the device.
 */
size_t undertone_document_sentence_count(const undertone_document *document);

/**
 * Removes all sentences and wipes their traces from the document. Call it before you free the
 * memory of a document.
 */
int32_t undertone_document_reset(undertone_document *document);

/**
 * Computes what a release of this document promises, for a sentence and for the whole text, so
 * that an app can show both. The promise depends on the pack, the unit and epsilon, not on the
 * sentences. It is an epsilon without a delta; a smaller epsilon promises more. Call this function
 * before you spend: it fails if this document cannot make such a release.
 *
 * `unit`: `UNDERTONE_UNIT_SENTENCE` for `undertone_document_release` with either rule, or
 * `UNDERTONE_UNIT_WHOLE_TEXT` for `undertone_document_release_whole_text` and
 * `undertone_document_release_projective`. `epsilon_micro`: the epsilon of the grant in
 * micro-units. `out_sentence_micro`: NULL, or receives the epsilon for replacing one sentence.
 * `out_whole_text_micro`: NULL, or receives the epsilon for replacing the whole text by any other.
 * For a whole-text release, both are epsilon. For a sentence release, the second is computed for
 * the worst two texts of at most `UNDERTONE_MAX_SENTENCES` sentences, and grows with the pack's
 * `level_count`. A draw uses integer weights, which limit the epsilon that it can use. If epsilon
 * is above that limit, both outputs are computed for the limit; for a whole-text release the limit
 * is 33.271065.
 *
 * Statuses: `UNDERTONE_STATUS_UNKNOWN_UNIT`, `UNDERTONE_STATUS_EPSILON_TOO_SMALL`,
 * `UNDERTONE_STATUS_EPSILON_TOO_LARGE`; for the whole text also `UNDERTONE_STATUS_NO_SCORES` and
 * `UNDERTONE_STATUS_TOO_MANY_CANDIDATES`.
 */
UNDERTONE_MUST_USE
int32_t undertone_document_promise(const undertone_document *document,
                                   int32_t unit,
                                   uint32_t epsilon_micro,
                                   uint64_t *out_sentence_micro,
                                   uint64_t *out_whole_text_micro);

/**
 * Draws a sentence release, which protects each sentence, and removes all sentences. Use it for
 * long texts; `undertone_document_release_whole_text` protects a text of a few sentences better.
 * Choose between the two without looking at the text or its length.
 *
 * Guarantee: for any pack, replacing any one sentence changes the probability of any release by at
 * most a factor of e^epsilon. Adding or removing one sentence changes it by at most a factor of
 * e^(epsilon/2), or of e^epsilon if the text has more than `UNDERTONE_MAX_SENTENCES` sentences,
 * because then another sentence takes its place. There is no delta. The epsilons of several
 * releases of the same sentences add up.
 *
 * Leaks: that there is a release, its time, pack, rule and epsilon, all of which must be chosen
 * without looking at the document. The work does not depend on the content of the sentences.
 * Programs that observe the lines of the processor's cache are out of scope. A document without
 * sentences releases a uniformly random candidate.
 *
 * `grant`: for `UNDERTONE_UNIT_SENTENCE`, from a ledger or `undertone_grant_init_unrecorded`.
 * `rule`: a `UNDERTONE_RULE_` number. `entropy`: called once with `context`, for 32 bytes, after
 * all arguments were checked; it must not use the document. `out`: `out_capacity` bytes;
 * `UNDERTONE_RELEASE_BYTES` are enough. `out_written`: receives the bytes written, or the bytes
 * needed with `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
 *
 * Unless the status is `UNDERTONE_STATUS_OK`, nothing was drawn and the document keeps its
 * sentences. A call spends the grant when it calls the entropy function, even if that function
 * fails. No other failure spends the grant.
 *
 * Statuses: `UNDERTONE_STATUS_UNKNOWN_RULE`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`,
 * `UNDERTONE_STATUS_GRANT_WRONG_UNIT`, `UNDERTONE_STATUS_GRANT_SPENT`,
 * `UNDERTONE_STATUS_ENTROPY_FAILED`.
 */
UNDERTONE_MUST_USE
int32_t undertone_document_release(undertone_document *document,
                                   undertone_grant *grant,
                                   int32_t rule,
                                   undertone_entropy_fn entropy,
                                   void *context,
                                   uint8_t *out,
                                   size_t out_capacity,
                                   size_t *out_written);

/**
 * Draws a whole-text release, which protects the whole text, and removes all sentences. Use it for
 * short texts: a message, a search, a typed line.
 *
 * Guarantee: for any pack, replacing the whole text by any other, of any number of sentences,
 * changes the probability of any release by at most a factor of e^epsilon. There is no delta. The
 * epsilons of several releases of the same text add up. To protect a person, add up the epsilons
 * of all texts of that person. Choose the kind of release without looking at the text or its
 * length.
 *
 * The release favours the candidate whose scores, added over all sentences, are the highest. The
 * larger epsilon is, the more it does so. If the pack recognises nothing in the text, the pack's
 * `nothing_known` takes the place of the best candidate, or one candidate of the pack if it leaves
 * that outcome out.
 *
 * Leaks: that there is a release, its time, pack and epsilon. The work does not depend on the
 * content of the sentences. Programs that observe the lines of the processor's cache are out of
 * scope.
 *
 * `grant`: for `UNDERTONE_UNIT_WHOLE_TEXT`. All other arguments, and what a failure spends, are as
 * for `undertone_document_release`.
 *
 * Statuses: those of `undertone_document_release` without `UNDERTONE_STATUS_UNKNOWN_RULE`, and
 * `UNDERTONE_STATUS_NO_SCORES`, `UNDERTONE_STATUS_TOO_MANY_CANDIDATES`.
 */
UNDERTONE_MUST_USE
int32_t undertone_document_release_whole_text(undertone_document *document,
                                              undertone_grant *grant,
                                              undertone_entropy_fn entropy,
                                              void *context,
                                              uint8_t *out,
                                              size_t out_capacity,
                                              size_t *out_written);

/**
 * Draws a projective release, which protects the whole text and is meant for counting, and removes
 * all sentences. It names a point of a projective geometry instead of a candidate, and each point
 * stands for many candidates. So a single release carries little information. Shares that are
 * estimated from many releases have a smaller error than with
 * `undertone_document_release_whole_text` only if the pack has enough candidates: at least about 6
 * at an epsilon of 1, 32 at 3 and 230 at 5.
 *
 * Guarantee: the same as for `undertone_document_release_whole_text`. `undertone_release_read`
 * returns the order of the geometry, a number that fixes its points.
 *
 * Leaks: the same as for `undertone_document_release_whole_text`. It also has the same arguments.
 *
 * Statuses: those of `undertone_document_release_whole_text`.
 */
UNDERTONE_MUST_USE
int32_t undertone_document_release_projective(undertone_document *document,
                                              undertone_grant *grant,
                                              undertone_entropy_fn entropy,
                                              void *context,
                                              uint8_t *out,
                                              size_t out_capacity,
                                              size_t *out_written);

/**
 * Makes an empty reservoir. A reservoir gets the lines of a slot one after another and keeps the
 * outcome of one line, which is drawn without looking at any line. It never keeps text.
 *
 * A line is one text: a message, a search, a typed line. A slot is the stretch of time that one
 * release is about, such as a week. With `undertone_reservoir_release_drawn` the lines are the
 * sentences of one text, and the slot is that text.
 *
 * `document`: names the pack; its sentences do not matter. `slot`: the number of the slot, which
 * is stored. `place_count`: k, a public number of places from 1 to 65535, below the number of
 * lines that most devices see in a slot. Line i is kept with probability 1/k if i <= k, and
 * otherwise replaces the kept line with probability 1/i. A device with m lines, m < k, keeps
 * "nothing known" with probability at least 1 - m/k. `entropy`: called once with `context`, for 32
 * bytes. `out_reservoir`: receives `UNDERTONE_RESERVOIR_BYTES` bytes, which are the reservoir. The
 * app stores them after each call, with its own means. **They are as private as the lines.** If
 * they are lost, begin with a new reservoir, which costs no privacy.
 *
 * Statuses: `UNDERTONE_STATUS_SCHEDULE_OUT_OF_RANGE`, `UNDERTONE_STATUS_NO_SCORES`,
 * `UNDERTONE_STATUS_TOO_MANY_CANDIDATES`, `UNDERTONE_STATUS_ENTROPY_FAILED`.
 */
UNDERTONE_MUST_USE
int32_t undertone_reservoir_init(undertone_document *document,
                                 uint64_t slot,
                                 uint32_t place_count,
                                 undertone_entropy_fn entropy,
                                 void *context,
                                 uint8_t *out_reservoir);

/**
 * Adds the line that a document holds, all its sentences as one text, and removes them from the
 * document. The work is the same for every line, whether it is kept or not.
 *
 * `reservoir`: `UNDERTONE_RESERVOIR_BYTES` bytes, which are replaced. `document`: of the same pack
 * as the reservoir. `entropy`: called once with `context`, for 32 bytes; it must use neither the
 * reservoir nor the document.
 *
 * Statuses: `UNDERTONE_STATUS_RESERVOIR_DAMAGED`, `UNDERTONE_STATUS_RESERVOIR_OTHER_PACK`,
 * `UNDERTONE_STATUS_ENTROPY_FAILED`. The line then remains in the document and does not count.
 */
UNDERTONE_MUST_USE
int32_t undertone_reservoir_push(uint8_t *reservoir,
                                 undertone_document *document,
                                 undertone_entropy_fn entropy,
                                 void *context);

/**
 * Checks stored bytes of a reservoir and reads its slot, for an app that starts again. After a
 * slot that has ended, release the reservoir, and pay for it in the window of its slot.
 *
 * `reservoir`: `len` bytes. `document`: names the pack. `out_slot`: NULL, or receives the number
 * of the slot. `out_place_count`: NULL, or receives the number of places.
 *
 * Statuses: `UNDERTONE_STATUS_RESERVOIR_DAMAGED`, `UNDERTONE_STATUS_RESERVOIR_OTHER_PACK`.
 */
UNDERTONE_MUST_USE
int32_t undertone_reservoir_read(const uint8_t *reservoir,
                                 size_t len,
                                 const undertone_document *document,
                                 uint64_t *out_slot,
                                 uint32_t *out_place_count);

/**
 * Releases the kept outcome by the whole-text rule, and wipes the reservoir. The app also wipes
 * what it stored.
 *
 * Guarantee: let k be the number of places. Replacing all lines of the slot changes the
 * probability of any release by at most a factor of e^epsilon; exchanging, adding or removing any
 * j <= k lines, by at most a factor of 1 + j * (e^epsilon - 1) / k. There is no delta.
 *
 * Leaks: that there is a release, its time, pack, mechanism and epsilon, all of which must be
 * chosen without looking at a line. Release even if nothing was typed. The work is always the
 * same.
 *
 * `reservoir`, `document`: as for `undertone_reservoir_push`; the sentences of the document do not
 * matter. `grant`: for `UNDERTONE_UNIT_WHOLE_TEXT`. All other arguments, and what a failure
 * spends, are as for `undertone_document_release`. Unless the status is `UNDERTONE_STATUS_OK`, the
 * reservoir is unchanged.
 *
 * Statuses: `UNDERTONE_STATUS_RESERVOIR_DAMAGED`, `UNDERTONE_STATUS_RESERVOIR_OTHER_PACK`,
 * `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, `UNDERTONE_STATUS_GRANT_WRONG_UNIT`,
 * `UNDERTONE_STATUS_GRANT_SPENT`, `UNDERTONE_STATUS_ENTROPY_FAILED`.
 */
UNDERTONE_MUST_USE
int32_t undertone_reservoir_release_whole_text(uint8_t *reservoir,
                                               const undertone_document *document,
                                               undertone_grant *grant,
                                               undertone_entropy_fn entropy,
                                               void *context,
                                               uint8_t *out,
                                               size_t out_capacity,
                                               size_t *out_written);

/**
 * Releases the kept outcome by projective geometry, and wipes the reservoir. Use it to estimate
 * shares of many candidates.
 *
 * Guarantee: the same as for `undertone_reservoir_release_whole_text`.
 *
 * Leaks: the same as for `undertone_reservoir_release_whole_text`.
 *
 * The arguments are those of `undertone_reservoir_release_whole_text`.
 *
 * Statuses: those of `undertone_reservoir_release_whole_text`.
 */
UNDERTONE_MUST_USE
int32_t undertone_reservoir_release_projective(uint8_t *reservoir,
                                               const undertone_document *document,
                                               undertone_grant *grant,
                                               undertone_entropy_fn entropy,
                                               void *context,
                                               uint8_t *out,
                                               size_t out_capacity,
                                               size_t *out_written);

/**
 * Releases the kept outcome so that each line has the promise epsilon, and wipes the reservoir.
 * The lines are the sentences of one text.
 *
 * Guarantee: exchanging, adding or removing one line changes the probability of any release by at
 * most a factor of e^epsilon, and replacing all lines, by at most a factor of
 * 1 + k * (e^epsilon - 1), where k is the number of places. There is no delta.
 *
 * Leaks: the same as for `undertone_reservoir_release_whole_text`, and k.
 *
 * `grant`: for `UNDERTONE_UNIT_SENTENCE`. All other arguments are those of
 * `undertone_reservoir_release_whole_text`.
 *
 * Statuses: those of `undertone_reservoir_release_whole_text`.
 */
UNDERTONE_MUST_USE
int32_t undertone_reservoir_release_drawn(uint8_t *reservoir,
                                          const undertone_document *document,
                                          undertone_grant *grant,
                                          undertone_entropy_fn entropy,
                                          void *context,
                                          uint8_t *out,
                                          size_t out_capacity,
                                          size_t *out_written);

/**
 * Makes an empty reservoir for lists of answers to a form, such as an emoji of each line. The
 * question that will be released is drawn here, once and without looking at any answer, and
 * stored. The reservoir keeps the outcome of that question for one line.
 *
 * `form`: names the form. The other arguments are those of `undertone_reservoir_init`. The bytes
 * are as private as the answers. A device that pushes fewer lines than there are places often
 * keeps "no answer".
 *
 * Statuses: `UNDERTONE_STATUS_SCHEDULE_OUT_OF_RANGE`, `UNDERTONE_STATUS_ENTROPY_FAILED`.
 */
UNDERTONE_MUST_USE
int32_t undertone_answer_reservoir_init(const undertone_form *form,
                                        uint64_t slot,
                                        uint32_t place_count,
                                        undertone_entropy_fn entropy,
                                        void *context,
                                        uint8_t *out_reservoir);

/**
 * Adds the answers of one line. Push a line without an answer as well: its answer is a number that
 * is no category, such as `UINT32_MAX`. The work is the same for all answers, whether they are
 * kept or not; it depends on the question that was drawn, which the release states.
 *
 * `reservoir`: `UNDERTONE_RESERVOIR_BYTES` bytes, which are replaced. `form`: the one of the
 * reservoir. `answers`, `count`: as for `undertone_form_release`. `entropy`: called once with
 * `context`, for 32 bytes; it must not use the reservoir.
 *
 * Statuses: `UNDERTONE_STATUS_RESERVOIR_DAMAGED`, `UNDERTONE_STATUS_RESERVOIR_OTHER_PACK`,
 * `UNDERTONE_STATUS_WRONG_ANSWER_COUNT`, `UNDERTONE_STATUS_ENTROPY_FAILED`. The line then does not
 * count.
 */
UNDERTONE_MUST_USE
int32_t undertone_answer_reservoir_push(uint8_t *reservoir,
                                        const undertone_form *form,
                                        const uint32_t *answers,
                                        size_t count,
                                        undertone_entropy_fn entropy,
                                        void *context);

/**
 * Checks stored bytes of a reservoir of answers and reads its slot, as `undertone_reservoir_read`
 * does for lines.
 *
 * Statuses: `UNDERTONE_STATUS_RESERVOIR_DAMAGED`, `UNDERTONE_STATUS_RESERVOIR_OTHER_PACK`.
 */
UNDERTONE_MUST_USE
int32_t undertone_answer_reservoir_read(const uint8_t *reservoir,
                                        size_t len,
                                        const undertone_form *form,
                                        uint64_t *out_slot,
                                        uint32_t *out_place_count);

/**
 * Releases the answer that was kept, as `undertone_form_release` does, and wipes the reservoir.
 * The app also wipes what it stored.
 *
 * Guarantee: let k be the number of places. Replacing all answers of all lines of the slot changes
 * the probability of any release by at most a factor of e^epsilon; exchanging, adding or removing
 * any j <= k lines, by at most a factor of 1 + j * (e^epsilon - 1) / k. There is no delta.
 *
 * Leaks: that there is a release, its time, form and epsilon, which must be chosen without looking
 * at an answer, and the question that was drawn. Release even if no line was pushed. The work
 * depends on the question alone.
 *
 * `reservoir`, `form`: as for `undertone_answer_reservoir_push`. `grant`: for
 * `UNDERTONE_UNIT_WHOLE_TEXT`. All other arguments, and what a failure spends, are as for
 * `undertone_form_release`. Unless the status is `UNDERTONE_STATUS_OK`, the reservoir is
 * unchanged.
 *
 * Statuses: `UNDERTONE_STATUS_RESERVOIR_DAMAGED`, `UNDERTONE_STATUS_RESERVOIR_OTHER_PACK`,
 * `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, `UNDERTONE_STATUS_GRANT_WRONG_UNIT`,
 * `UNDERTONE_STATUS_GRANT_SPENT`, `UNDERTONE_STATUS_ENTROPY_FAILED`.
 */
UNDERTONE_MUST_USE
int32_t undertone_answer_reservoir_release(uint8_t *reservoir,
                                           const undertone_form *form,
                                           undertone_grant *grant,
                                           undertone_entropy_fn entropy,
                                           void *context,
                                           uint8_t *out,
                                           size_t out_capacity,
                                           size_t *out_written);

/**
 * Checks a form and makes a handle for it. One form may be used by many threads at once.
 *
 * `bytes`: the `len` bytes of the file, at any address. They are read in place, not copied, and
 * must stay unchanged as long as the form is used.
 *
 * Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_NOT_A_FORM`,
 * `UNDERTONE_STATUS_FORM_UNSUPPORTED_VERSION`, `UNDERTONE_STATUS_FORM_DAMAGED`,
 * `UNDERTONE_STATUS_FORM_MALFORMED`.
 */
UNDERTONE_MUST_USE
int32_t undertone_form_init(void *memory,
                            size_t memory_len,
                            const uint8_t *bytes,
                            size_t len,
                            undertone_form **out_form);

/**
 * Finds the name of an attribute.
 *
 * `attribute`: its index, from 0. `out_name`: receives the start of its UTF-8, in the bytes of the
 * form; no zero follows it. `out_len`: receives its length in bytes.
 *
 * Statuses: `UNDERTONE_STATUS_NO_SUCH_CATEGORY`.
 */
UNDERTONE_MUST_USE
int32_t undertone_form_attribute_name(const undertone_form *form,
                                      uint32_t attribute,
                                      const char **out_name,
                                      size_t *out_len);

/**
 * Finds the name of a category, for instance to look up the number of an answer.
 *
 * `attribute`: the index of its attribute. `category`: its index in the attribute, from 0. The
 * other arguments are those of `undertone_form_attribute_name`.
 *
 * Statuses: `UNDERTONE_STATUS_NO_SUCH_CATEGORY`.
 */
UNDERTONE_MUST_USE
int32_t undertone_form_category_name(const undertone_form *form,
                                     uint32_t attribute,
                                     uint32_t category,
                                     const char **out_name,
                                     size_t *out_len);

/**
 * Writes what a text is about as the answer to the topic of a form: the attribute whose categories
 * are the candidates of the document's pack. Removes all sentences from the document.
 *
 * Guarantee: nothing is released. `undertone_form_release` protects the text together with all
 * other answers: its epsilon is for exchanging the whole text and all answers at once.
 *
 * Leaks: the work does not depend on the content of the sentences. The answer is as private as the
 * text: pass it to `undertone_form_release` or `undertone_answer_reservoir_push` only.
 *
 * `answers`: one number for each of the `count` attributes of the form. That of the topic is
 * replaced by the number of the candidate that `undertone_document_release_whole_text` favours, or
 * by a number that means no answer if the pack recognises nothing in the text.
 *
 * Statuses: `UNDERTONE_STATUS_WRONG_ANSWER_COUNT`, `UNDERTONE_STATUS_FORM_OTHER_PACK`,
 * `UNDERTONE_STATUS_NO_SCORES`, `UNDERTONE_STATUS_TOO_MANY_CANDIDATES`. The answers and the
 * document are then unchanged.
 */
UNDERTONE_MUST_USE
int32_t undertone_form_answer_topic(const undertone_form *form,
                                    undertone_document *document,
                                    uint32_t *answers,
                                    size_t count);

/**
 * Releases the answer to one question of a form. The question, an attribute or a pair of
 * attributes, is drawn without looking at any answer.
 *
 * Guarantee: any two lists of answers give every release with probabilities within a factor of
 * e^epsilon of each other. So a release costs epsilon for all answers of the form together. The
 * unit of the grant is `UNDERTONE_UNIT_WHOLE_TEXT`.
 *
 * Leaks: that there is a release, its time, form and epsilon, which must be chosen without looking
 * at an answer. The time of the call depends on the question that was drawn, which the release
 * states, and on no answer.
 *
 * `answers`: one number for each of the `count` attributes of the form: the index of one of the
 * categories of that attribute. Any other number, such as `UINT32_MAX`, means no answer; it gives
 * the same status and takes the same time. `entropy`, `context`: the source. `out`:
 * `UNDERTONE_RELEASE_BYTES` bytes. `out_written`: receives the bytes written, or those needed with
 * `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
 *
 * Statuses: `UNDERTONE_STATUS_WRONG_ANSWER_COUNT`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`,
 * `UNDERTONE_STATUS_GRANT_SPENT`, `UNDERTONE_STATUS_GRANT_WRONG_UNIT`; with these the grant
 * remains. `UNDERTONE_STATUS_ENTROPY_FAILED`; then the grant is spent and nothing was released.
 */
UNDERTONE_MUST_USE
int32_t undertone_form_release(const undertone_form *form,
                               const uint32_t *answers,
                               size_t count,
                               undertone_grant *grant,
                               undertone_entropy_fn entropy,
                               void *context,
                               uint8_t *out,
                               size_t out_capacity,
                               size_t *out_written);

/**
 * Finds the next sentence of a text, as `undertone_document_push_text` does. The top of this
 * header defines a sentence.
 *
 * `text`: `len` bytes of UTF-8, the whole text on every call. `start`: 0, or the end of the
 * previous sentence. `out_start` and `out_len`: receive the start and the length of the sentence
 * without the spaces around it; the length is 0 if no sentence is left. Both are as private as the
 * text. The time of the call depends on the text.
 */
UNDERTONE_MUST_USE
int32_t undertone_sentence_next(const char *text,
                                size_t len,
                                size_t start,
                                size_t *out_start,
                                size_t *out_len);

/**
 * Finds the next sentence of a text that is still being typed: like `undertone_sentence_next`, but
 * finds a sentence only when no text typed after the sentence can change it.
 */
UNDERTONE_MUST_USE
int32_t undertone_sentence_next_finished(const char *text,
                                         size_t len,
                                         size_t start,
                                         size_t *out_start,
                                         size_t *out_len);

/**
 * Reads a release of a document, or of an answer to a form.
 *
 * `bytes`: any `len` bytes. Each output may be NULL:
 *
 * - `out_candidate`: the index of the candidate; compare it with the pack's `candidate_count`,
 *   since a release can be forged. A release of the whole text, or by
 *   `UNDERTONE_MECHANISM_DRAWN`, may have the pack's `nothing_known` instead.
 * - `out_epsilon_micro`: the epsilon of the release in micro-units.
 * - `out_rule`: a `UNDERTONE_RULE_` number.
 * - `out_unit`: the privacy unit, `UNDERTONE_UNIT_SENTENCE` or `UNDERTONE_UNIT_WHOLE_TEXT`.
 * - `out_order`: for a projective release or an answer, the order of the geometry; then
 *   `out_candidate` is the number of a point instead of a candidate, for an answer plus 2^24 times
 *   the index of the question. Count such releases with the Rust crates or `undertone count`;
 *   `core/FORMAT.md` defines the candidates of a point. For `undertone_reservoir_release_drawn`,
 *   whose unit is `UNDERTONE_UNIT_SENTENCE`, the number of places. Otherwise 0.
 * - `out_pack_id`: `UNDERTONE_PACK_ID_BYTES` bytes, the identifier of the pack
 *   (`undertone_pack_describe`) or of the form.
 *
 * Statuses: `UNDERTONE_STATUS_RELEASE_WRONG_LENGTH`, `UNDERTONE_STATUS_NOT_A_RELEASE`,
 * `UNDERTONE_STATUS_RELEASE_UNSUPPORTED_VERSION`, `UNDERTONE_STATUS_RELEASE_MALFORMED`.
 */
UNDERTONE_MUST_USE
int32_t undertone_release_read(const uint8_t *bytes,
                               size_t len,
                               uint32_t *out_candidate,
                               uint32_t *out_epsilon_micro,
                               int32_t *out_rule,
                               int32_t *out_unit,
                               uint32_t *out_order,
                               uint8_t *out_pack_id);

/**
 * Makes a mechanism that releases vectors without a projection. All parameters must be chosen
 * without looking at private vectors.
 *
 * `dimension`: 1 to `UNDERTONE_MAX_VECTOR_DIMENSION`. `bound_exponent`: coordinates are clamped to
 * plus or minus 2^`bound_exponent`; 0 is enough for vectors of norm 1. `noise`: a
 * `UNDERTONE_NOISE_` number. `epsilon_micro`: epsilon in micro-units for each unit of distance,
 * 100000 (0.1) to `UNDERTONE_MAX_EPSILON_MICRO`.
 *
 * Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_EPSILON_TOO_SMALL`,
 * `UNDERTONE_STATUS_EPSILON_TOO_LARGE`, `UNDERTONE_STATUS_EPSILON_TOO_SMALL_FOR_NOISE`,
 * `UNDERTONE_STATUS_UNKNOWN_NOISE`, `UNDERTONE_STATUS_DIMENSION_OUT_OF_RANGE`,
 * `UNDERTONE_STATUS_BOUND_OUT_OF_RANGE` (the bound must lie between about 2^-46 and 2^15 times the
 * scale of the noise of one coordinate; between 2^-43 and 2^18 times for discrete Laplace noise).
 */
UNDERTONE_MUST_USE
int32_t undertone_vector_mechanism_init(void *memory,
                                        size_t memory_len,
                                        uint32_t dimension,
                                        int32_t bound_exponent,
                                        int32_t noise,
                                        uint32_t epsilon_micro,
                                        undertone_vector_mechanism **out_mechanism);

/**
 * Makes a mechanism that projects vectors with the projection of a pack before it releases them. A
 * vector has the pack's `dimension`, its release the `projected_dimension`
 * (`undertone_pack_describe`). The pack contains the bound of the coordinates.
 *
 * The handle `pack` is not needed after the call. Keep the bytes of the pack, unchanged, while the
 * mechanism is in use. The other arguments are as for `undertone_vector_mechanism_init`.
 *
 * The call computes the sensitivity of the projection, which sets the noise. For a projection of r
 * rows and c columns it takes about r * r * c multiplications: a second on a phone for the largest
 * projection. So make the mechanism once and keep it.
 *
 * Statuses: those of `undertone_vector_mechanism_init`, `UNDERTONE_STATUS_NO_PROJECTION`,
 * `UNDERTONE_STATUS_PROJECTION_TOO_STEEP`.
 */
UNDERTONE_MUST_USE
int32_t undertone_vector_mechanism_init_projected(void *memory,
                                                  size_t memory_len,
                                                  const undertone_pack *pack,
                                                  int32_t noise,
                                                  uint32_t epsilon_micro,
                                                  undertone_vector_mechanism **out_mechanism);

/**
 * Returns the dimension of a vector that goes in; 0 if `mechanism` is not a valid handle.
 */
uint32_t undertone_vector_mechanism_dimension(const undertone_vector_mechanism *mechanism);

/**
 * Returns the length of a release of this mechanism in bytes, at most
 * `UNDERTONE_MAX_VECTOR_RELEASE_BYTES`; 0 if `mechanism` is not a valid handle.
 */
size_t undertone_vector_mechanism_release_len(const undertone_vector_mechanism *mechanism);

/**
 * Draws the release of one private vector.
 *
 * Guarantee: metric privacy. For two vectors at Euclidean distance D, the probabilities of any
 * release differ by at most a factor of e^(epsilon*D). Rounding to a grid increases D by far less
 * than one step of the grid, and `UNDERTONE_NOISE_LAPLACE` adds a loss of at most 2^-23 and a
 * delta of about (1 + e^(epsilon*D))*2^-60 (core/README.md). The larger the distance, the weaker
 * the guarantee: a release can distinguish two distant vectors almost with certainty. The epsilons
 * of several releases of the same vector add up.
 *
 * Leaks: that there is a release, its time, and the parameters of the mechanism, which must be
 * chosen without looking at the vector. On processors that emulate double precision the time of
 * the call depends on the noise of `UNDERTONE_NOISE_LAPLACE`, so hide on such a processor how long
 * a release takes.
 *
 * `grant`: for `UNDERTONE_UNIT_VECTOR`, with the same epsilon as the mechanism. `vector`: `len`
 * floats; one that is not finite counts as 0. `entropy`: called once with `context`, for 32 bytes,
 * after all arguments were checked. `out`: `out_capacity` bytes;
 * `undertone_vector_mechanism_release_len` are enough. `out_written`: receives the bytes written,
 * or the bytes needed with `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
 *
 * Unless the status is `UNDERTONE_STATUS_OK`, nothing was drawn. A call that calls the entropy
 * function spends the grant, even if the function fails. No status depends on a coordinate.
 *
 * Statuses: `UNDERTONE_STATUS_WRONG_DIMENSION`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`,
 * `UNDERTONE_STATUS_GRANT_WRONG_UNIT`, `UNDERTONE_STATUS_GRANT_WRONG_EPSILON`,
 * `UNDERTONE_STATUS_GRANT_SPENT`, `UNDERTONE_STATUS_ENTROPY_FAILED`.
 */
UNDERTONE_MUST_USE
int32_t undertone_vector_mechanism_release(const undertone_vector_mechanism *mechanism,
                                           undertone_grant *grant,
                                           const float *vector,
                                           size_t len,
                                           undertone_entropy_fn entropy,
                                           void *context,
                                           uint8_t *out,
                                           size_t out_capacity,
                                           size_t *out_written);

/**
 * Reads the head of a released vector.
 *
 * `bytes`: any `len` bytes. Each output may be NULL: `out_dimension`, the dimension of the
 * released vector; `out_noise`, a `UNDERTONE_NOISE_` number; `out_epsilon_micro`, the epsilon in
 * micro-units for each unit of distance; `out_grid_exponent`, the exponent g of the grid, whose
 * step is 2^g; `out_pack_id`, `UNDERTONE_PACK_ID_BYTES` bytes, the identifier of the pack with the
 * projection, zeroes without one.
 *
 * Statuses: those of `undertone_release_read`.
 */
UNDERTONE_MUST_USE
int32_t undertone_vector_release_read(const uint8_t *bytes,
                                      size_t len,
                                      uint32_t *out_dimension,
                                      int32_t *out_noise,
                                      uint32_t *out_epsilon_micro,
                                      int32_t *out_grid_exponent,
                                      uint8_t *out_pack_id);

/**
 * Reads the coordinates of a released vector, in steps of its grid: exact integers.
 *
 * `bytes`: any `len` bytes. `out`: `out_capacity` integers; `UNDERTONE_MAX_VECTOR_DIMENSION` are
 * enough. `out_written`: receives the integers written, or those needed with
 * `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
 *
 * Statuses: those of `undertone_release_read`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
 */
UNDERTONE_MUST_USE
int32_t undertone_vector_release_read_steps(const uint8_t *bytes,
                                            size_t len,
                                            int32_t *out,
                                            size_t out_capacity,
                                            size_t *out_written);

/**
 * Reads the coordinates of a released vector as numbers: each is the integer of
 * `undertone_vector_release_read_steps` times the step 2^g of the grid, exactly.
 *
 * `out`: `out_capacity` numbers. All else is as for `undertone_vector_release_read_steps`.
 */
UNDERTONE_MUST_USE
int32_t undertone_vector_release_read_values(const uint8_t *bytes,
                                             size_t len,
                                             double *out,
                                             size_t out_capacity,
                                             size_t *out_written);

/**
 * Makes the vocabulary of a pack, in one pass over the words' vectors. It holds nothing private.
 *
 * `pack` is not used after the call, but the bytes of the pack are, as long as the vocabulary or a
 * bag made from it is used.
 *
 * Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_NO_LEXICON`.
 */
UNDERTONE_MUST_USE
int32_t undertone_vocabulary_init(void *memory,
                                  size_t memory_len,
                                  const undertone_pack *pack,
                                  undertone_vocabulary **out_vocabulary);

/**
 * Returns the number of words, 1 to 65536; 0 if `vocabulary` is not a valid handle.
 */
uint32_t undertone_vocabulary_word_count(const undertone_vocabulary *vocabulary);

/**
 * Describes the vocabulary. Each output may be NULL.
 *
 * `out_fallback`: receives the number of the public word that replaces all unknown words.
 * `out_unit_exponent`: receives u. Distances between words are rounded to multiples of q = 2^u,
 * which the guarantee of `undertone_bag_release` uses.
 */
UNDERTONE_MUST_USE
int32_t undertone_vocabulary_describe(const undertone_vocabulary *vocabulary,
                                      uint32_t *out_fallback,
                                      int32_t *out_unit_exponent);

/**
 * Finds the text of a word.
 *
 * `word`: its number, for instance from `undertone_bag_release_read_words`. `out_text`: receives
 * the start of its UTF-8, in the bytes of the pack; no zero follows it. `out_len`: receives its
 * length in bytes.
 *
 * Statuses: `UNDERTONE_STATUS_NO_SUCH_WORD`.
 */
UNDERTONE_MUST_USE
int32_t undertone_vocabulary_word(const undertone_vocabulary *vocabulary,
                                  uint32_t word,
                                  const char **out_text,
                                  size_t *out_len);

/**
 * Makes an empty bag of words of a vocabulary.
 *
 * `vocabulary` is not used after the call, but the bytes of its pack are, as long as the bag is
 * used. Wipe a bag that may hold words with `undertone_bag_reset` before you reuse its memory.
 *
 * Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`.
 */
UNDERTONE_MUST_USE
int32_t undertone_bag_init(void *memory,
                           size_t memory_len,
                           const undertone_vocabulary *vocabulary,
                           undertone_bag **out_bag);

/**
 * Adds one word.
 *
 * `word`: `len` bytes of UTF-8. A word is letters and digits with apostrophes inside. Anything
 * else, and a word that is not in the vocabulary, counts as the fallback word. A bag with
 * `UNDERTONE_MAX_BAG_WORDS` words stays as it is. The time of the call depends on the word.
 */
UNDERTONE_MUST_USE int32_t undertone_bag_push(undertone_bag *bag, const char *word, size_t len);

/**
 * Adds every word of a text, including stop words; to leave those out, push words one by one.
 *
 * `text`: `len` bytes of UTF-8. Bytes that are not UTF-8 separate words, and words of more than 48
 * bytes are left out. All else is as for `undertone_bag_push`.
 */
UNDERTONE_MUST_USE
int32_t undertone_bag_push_text(undertone_bag *bag,
                                const char *text,
                                size_t len);

/**
 * Removes all words and wipes them. Call it before you free the memory of a bag.
 */
int32_t undertone_bag_reset(undertone_bag *bag);

/**
 * Returns the length of a release of `word_count` words in bytes, at most
 * `UNDERTONE_MAX_BAG_RELEASE_BYTES`; 0 if `word_count` is not in
 * 1..=`UNDERTONE_MAX_RELEASED_WORDS`.
 */
size_t undertone_bag_release_len(uint32_t word_count);

/**
 * Draws `word_count` words of a bag at random with replacement, in proportion to their counts,
 * replaces each by a word of the vocabulary, and empties the bag.
 *
 * Guarantee: metric privacy. Let b and b' be the `word_count` words that are drawn from two bags.
 * The probabilities of any release differ by at most a factor of e^(epsilon*word_count*(q + WMD(b,
 * b'))), where WMD is the word mover's distance and q comes from `undertone_vocabulary_describe`.
 * With `UNDERTONE_WORD_METHOD_LAPLACE_NEAREST` q does not count, and each word adds the loss and
 * the delta that `undertone_vector_mechanism_release` states for `UNDERTONE_NOISE_LAPLACE`. The
 * larger the distance, the weaker the guarantee: a release can distinguish two distant bags almost
 * with certainty. The epsilons of several releases of the same text add up.
 *
 * Leaks: that there is a release, its time and pack, and `word_count`, epsilon and the method, all
 * of which must be chosen without looking at the text. The work is the same for all words, except
 * for the addresses that are read. With `UNDERTONE_WORD_METHOD_LAPLACE_NEAREST` the time also
 * depends on the noisy point. A bag without words counts as the fallback word.
 *
 * `grant`: for `UNDERTONE_UNIT_WORD`. Its epsilon is for each word, per unit of distance.
 * `word_count`: 1 to `UNDERTONE_MAX_RELEASED_WORDS`, and at most the word_count with which the
 * grant was taken; an unrecorded grant is for any number. `method`: a `UNDERTONE_WORD_METHOD_`
 * number. `entropy`: called once with `context`, for 32 bytes, after all arguments were checked;
 * it must not use the bag. `out`: `out_capacity` bytes; `undertone_bag_release_len` are enough.
 * `out_written`: receives the bytes written, or the bytes needed with
 * `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
 *
 * Unless the status is `UNDERTONE_STATUS_OK`, nothing was drawn and the bag keeps its words.
 * A call that calls the entropy function spends the grant, even if the function fails.
 *
 * Statuses: `UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE`, `UNDERTONE_STATUS_UNKNOWN_WORD_METHOD`,
 * `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, `UNDERTONE_STATUS_GRANT_WRONG_UNIT`,
 * `UNDERTONE_STATUS_GRANT_TOO_FEW_WORDS`, `UNDERTONE_STATUS_GRANT_SPENT`,
 * `UNDERTONE_STATUS_ENTROPY_FAILED`; for `UNDERTONE_WORD_METHOD_LAPLACE_NEAREST` also
 * `UNDERTONE_STATUS_EPSILON_TOO_SMALL_FOR_NOISE` and `UNDERTONE_STATUS_BOUND_OUT_OF_RANGE`.
 */
UNDERTONE_MUST_USE
int32_t undertone_bag_release(undertone_bag *bag,
                              undertone_grant *grant,
                              uint32_t word_count,
                              int32_t method,
                              undertone_entropy_fn entropy,
                              void *context,
                              uint8_t *out,
                              size_t out_capacity,
                              size_t *out_written);

/**
 * Reads the head of a released bag.
 *
 * `bytes`: any `len` bytes. Each output may be NULL: `out_word_count`, the number of words;
 * `out_method`, a `UNDERTONE_WORD_METHOD_` number; `out_epsilon_micro`, the epsilon of each word
 * in micro-units; `out_pack_id`, `UNDERTONE_PACK_ID_BYTES` bytes, the identifier of the pack that
 * has the words.
 *
 * Statuses: those of `undertone_release_read`.
 */
UNDERTONE_MUST_USE
int32_t undertone_bag_release_read(const uint8_t *bytes,
                                   size_t len,
                                   uint32_t *out_word_count,
                                   int32_t *out_method,
                                   uint32_t *out_epsilon_micro,
                                   uint8_t *out_pack_id);

/**
 * Reads the words of a released bag, by number, in ascending order; repeated words are repeated.
 *
 * `bytes`: any `len` bytes. `out`: `out_capacity` numbers; `UNDERTONE_MAX_RELEASED_WORDS` are
 * enough. `out_written`: receives the numbers written, or those needed with
 * `UNDERTONE_STATUS_BUFFER_TOO_SMALL`. Numbers in a forged release may be too large for the
 * vocabulary; `undertone_vocabulary_word` refuses them.
 *
 * Statuses: those of `undertone_release_read`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
 */
UNDERTONE_MUST_USE
int32_t undertone_bag_release_read_words(const uint8_t *bytes,
                                         size_t len,
                                         uint32_t *out,
                                         size_t out_capacity,
                                         size_t *out_written);

#ifdef __cplusplus
}  /* extern "C" */
#endif  /* __cplusplus */

#endif  /* UNDERTONE_H */
