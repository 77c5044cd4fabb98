/* The header of undertone 0.1, ABI version 1, without its comments: what tests/tests/abi.rs compiles an old program
 * with. It stays as it is. */

#ifndef UNDERTONE_H
#define UNDERTONE_H

#include <stddef.h>
#include <stdint.h>

#define UNDERTONE_VERSION "0.1.0"

#ifndef UNDERTONE_MUST_USE
#if defined(__GNUC__) || defined(__clang__)
#define UNDERTONE_MUST_USE __attribute__((warn_unused_result))
#else
#define UNDERTONE_MUST_USE
#endif
#endif

#define UNDERTONE_ABI_VERSION 1

#define UNDERTONE_VERSION_NUMBER 100

#define UNDERTONE_OK 0

#define UNDERTONE_NULL 1

#define UNDERTONE_MISALIGNED 2

#define UNDERTONE_IMPOSSIBLE_LENGTH 3

#define UNDERTONE_OVERLAP 4

#define UNDERTONE_MEMORY_TOO_SMALL 5

#define UNDERTONE_BAD_HANDLE 6

#define UNDERTONE_BUSY 7

#define UNDERTONE_BUFFER_TOO_SMALL 8

#define UNDERTONE_EPSILON_NOT_A_NUMBER 16

#define UNDERTONE_EPSILON_TOO_SMALL 17

#define UNDERTONE_EPSILON_TOO_LARGE 18

#define UNDERTONE_UNKNOWN_RULE 19

#define UNDERTONE_UNKNOWN_NOISE 20

#define UNDERTONE_UNKNOWN_MECHANISM 21

#define UNDERTONE_EPSILON_TOO_SMALL_FOR_NOISE 22

#define UNDERTONE_DIMENSION_OUT_OF_RANGE 23

#define UNDERTONE_BOUND_OUT_OF_RANGE 24

#define UNDERTONE_BAG_SIZE_OUT_OF_RANGE 25

#define UNDERTONE_NO_SUCH_WORD 26

#define UNDERTONE_PACK_TOO_SHORT 32

#define UNDERTONE_NOT_A_PACK 33

#define UNDERTONE_PACK_VERSION 34

#define UNDERTONE_PACK_LENGTH 35

#define UNDERTONE_PACK_DAMAGED 36

#define UNDERTONE_PACK_MALFORMED 37

#define UNDERTONE_NO_CANDIDATES 48

#define UNDERTONE_NO_LEXICON 49

#define UNDERTONE_TOO_MANY_DIRECTIONS 50

#define UNDERTONE_WRONG_DIMENSION 51

#define UNDERTONE_DOCUMENT_FULL 52

#define UNDERTONE_ENTROPY_FAILED 53

#define UNDERTONE_TOO_MANY_CANDIDATES 54

#define UNDERTONE_NO_PROJECTION 55

#define UNDERTONE_PROJECTION_TOO_STEEP 56

#define UNDERTONE_NOT_A_RELEASE 64

#define UNDERTONE_RELEASE_LENGTH 65

#define UNDERTONE_RELEASE_VERSION 66

#define UNDERTONE_RELEASE_MALFORMED 67

#define UNDERTONE_GRANT_SPENT 80

#define UNDERTONE_LEDGER_NO_BUDGET 81

#define UNDERTONE_LEDGER_LENGTH 82

#define UNDERTONE_NOT_A_LEDGER 83

#define UNDERTONE_LEDGER_VERSION 84

#define UNDERTONE_LEDGER_DAMAGED 85

#define UNDERTONE_LEDGER_MIXED 86

#define UNDERTONE_LEDGER_CHANGED 87

#define UNDERTONE_LEDGER_FROM_FUTURE 88

#define UNDERTONE_LEDGER_EXHAUSTED 89

#define UNDERTONE_LEDGER_WORN_OUT 90

#define UNDERTONE_LEDGER_NOT_RESERVED 91

#define UNDERTONE_LEDGER_NOT_PERSISTED 92

#define UNDERTONE_LEDGER_LOST 93

#define UNDERTONE_GRANT_OF_ANOTHER_EPSILON 94

#define UNDERTONE_INTERNAL 127

#define UNDERTONE_MAX_EPSILON_MICRO 1000000000

#define UNDERTONE_HANDLE_ALIGNMENT 16

#define UNDERTONE_PACK_BYTES 640

#define UNDERTONE_PACK_ID_BYTES 8

#define UNDERTONE_ENCODER_DIGEST_BYTES 32

#define UNDERTONE_ENCODER_NAME_BYTES 33

#define UNDERTONE_SELECTOR_DEPTH 1

#define UNDERTONE_SELECTOR_SCORES 2

#define UNDERTONE_GRANT_BYTES 32

#define UNDERTONE_LEDGER_BYTES 512

#define UNDERTONE_LEDGER_IMAGE_BYTES 128

#define UNDERTONE_LEDGER_RECORD_BYTES 64

#define UNDERTONE_MAX_SENTENCES 128

#define UNDERTONE_MAX_DIRECTIONS 100

#define UNDERTONE_MAX_SCORED 12800

#define UNDERTONE_DOCUMENT_BYTES 26624

#define UNDERTONE_RULE_PERMUTE_AND_FLIP 1

#define UNDERTONE_RULE_EXPONENTIAL 2

#define UNDERTONE_RELEASE_BYTES 24

#define UNDERTONE_MAX_VECTOR_DIMENSION 1024

#define UNDERTONE_VECTOR_BYTES 256

#define UNDERTONE_MAX_VECTOR_RELEASE_BYTES 4132

#define UNDERTONE_NOISE_LAPLACE 3

#define UNDERTONE_NOISE_DISCRETE_LAPLACE 4

#define UNDERTONE_VOCABULARY_BYTES 192

#define UNDERTONE_BAG_BYTES 2304

#define UNDERTONE_MAX_BAG_WORDS 1024

#define UNDERTONE_MAX_BAG_SIZE 256

#define UNDERTONE_MAX_BAG_RELEASE_BYTES 536

#define UNDERTONE_WORDS_PERMUTE_AND_FLIP 1

#define UNDERTONE_WORDS_EXPONENTIAL 2

#define UNDERTONE_WORDS_LAPLACE_NEAREST 3

typedef struct undertone_bag undertone_bag;

typedef struct undertone_document undertone_document;

typedef struct undertone_grant undertone_grant;

typedef struct undertone_ledger undertone_ledger;

typedef struct undertone_pack undertone_pack;

typedef struct undertone_vector undertone_vector;

typedef struct undertone_vocabulary undertone_vocabulary;

typedef int32_t (*undertone_entropy_fn)(void *context, uint8_t *out, size_t len);

#ifdef __cplusplus
extern "C" {
#endif 

uint32_t undertone_abi_version(void);

const char *undertone_version(void);

const char *undertone_backend(void);

const char *undertone_status_message(int32_t status);

UNDERTONE_MUST_USE
int32_t undertone_epsilon_parse(const char *text,
                                size_t len,
                                uint32_t *out_epsilon_micro);

size_t undertone_pack_size(void);

size_t undertone_pack_align(void);

UNDERTONE_MUST_USE
int32_t undertone_pack_init(void *memory,
                            size_t memory_len,
                            const uint8_t *bytes,
                            size_t len,
                            undertone_pack **out_pack);

uint32_t undertone_pack_dimension(const undertone_pack *pack);

uint32_t undertone_pack_candidates(const undertone_pack *pack);

int32_t undertone_pack_selector(const undertone_pack *pack);

uint32_t undertone_pack_largest_score(const undertone_pack *pack);

uint32_t undertone_pack_projected_dimension(const undertone_pack *pack);

uint32_t undertone_pack_directions(const undertone_pack *pack);

uint32_t undertone_pack_words(const undertone_pack *pack);

UNDERTONE_MUST_USE
int32_t undertone_pack_sentence_vector(const undertone_pack *pack,
                                       const char *text,
                                       size_t len,
                                       float *out,
                                       size_t out_capacity,
                                       size_t *out_written);

UNDERTONE_MUST_USE int32_t undertone_pack_id(const undertone_pack *pack, uint8_t *out_id);

UNDERTONE_MUST_USE
int32_t undertone_pack_encoder_digest(const undertone_pack *pack,
                                      uint8_t *out_digest);

UNDERTONE_MUST_USE int32_t undertone_pack_encoder_name(const undertone_pack *pack, char *out_name);

size_t undertone_grant_size(void);

size_t undertone_grant_align(void);

UNDERTONE_MUST_USE
int32_t undertone_grant_unrecorded(void *memory,
                                   size_t memory_len,
                                   uint32_t epsilon_micro,
                                   undertone_grant **out_grant);

UNDERTONE_MUST_USE
int32_t undertone_ledger_create(uint64_t budget_micro,
                                undertone_entropy_fn entropy,
                                void *context,
                                uint8_t *out_image,
                                size_t out_capacity,
                                size_t *out_written);

size_t undertone_ledger_size(void);

size_t undertone_ledger_align(void);

UNDERTONE_MUST_USE
int32_t undertone_ledger_init(void *memory,
                              size_t memory_len,
                              const uint8_t *image,
                              size_t image_len,
                              undertone_entropy_fn entropy,
                              void *context,
                              undertone_ledger **out_ledger);

UNDERTONE_MUST_USE
int32_t undertone_ledger_remaining(const undertone_ledger *ledger,
                                   uint64_t window,
                                   uint64_t *out_micro);

UNDERTONE_MUST_USE
int32_t undertone_ledger_reserve(undertone_ledger *ledger,
                                 uint32_t epsilon_micro,
                                 uint64_t window,
                                 const uint8_t *stored,
                                 size_t stored_len,
                                 uint8_t *out_record,
                                 size_t out_capacity,
                                 size_t *out_written,
                                 size_t *out_offset);

UNDERTONE_MUST_USE
int32_t undertone_ledger_grant(undertone_ledger *ledger,
                               const uint8_t *read_back,
                               size_t len,
                               void *memory,
                               size_t memory_len,
                               undertone_grant **out_grant);

size_t undertone_document_size(void);

size_t undertone_document_align(void);

UNDERTONE_MUST_USE
int32_t undertone_document_init(void *memory,
                                size_t memory_len,
                                const undertone_pack *pack,
                                undertone_document **out_document);

UNDERTONE_MUST_USE
int32_t undertone_document_push(undertone_document *document,
                                const float *embedding,
                                size_t len);

UNDERTONE_MUST_USE
int32_t undertone_document_push_all(undertone_document *document,
                                    const float *embeddings,
                                    size_t len,
                                    size_t *out_pushed);

UNDERTONE_MUST_USE
int32_t undertone_document_push_sentence(undertone_document *document,
                                         const char *text,
                                         size_t len);

UNDERTONE_MUST_USE
int32_t undertone_document_push_text(undertone_document *document,
                                     const char *text,
                                     size_t len,
                                     size_t *out_sentences);

size_t undertone_document_sentences(const undertone_document *document);

int32_t undertone_document_reset(undertone_document *document);

UNDERTONE_MUST_USE
int32_t undertone_document_release(undertone_document *document,
                                   undertone_grant *grant,
                                   int32_t rule,
                                   undertone_entropy_fn entropy,
                                   void *context,
                                   uint8_t *out,
                                   size_t out_capacity,
                                   size_t *out_written);

UNDERTONE_MUST_USE
int32_t undertone_sentence_next(const char *text,
                                size_t len,
                                size_t start,
                                size_t *out_start,
                                size_t *out_len);

UNDERTONE_MUST_USE
int32_t undertone_sentence_next_finished(const char *text,
                                         size_t len,
                                         size_t start,
                                         size_t *out_start,
                                         size_t *out_len);

UNDERTONE_MUST_USE
int32_t undertone_release_read(const uint8_t *bytes,
                               size_t len,
                               uint32_t *out_candidate,
                               uint32_t *out_epsilon_micro,
                               int32_t *out_rule,
                               uint8_t *out_pack_id);

size_t undertone_vector_size(void);

size_t undertone_vector_align(void);

UNDERTONE_MUST_USE
int32_t undertone_vector_init(void *memory,
                              size_t memory_len,
                              uint32_t dimension,
                              int32_t bound_exponent,
                              int32_t noise,
                              uint32_t epsilon_micro,
                              undertone_vector **out_vector);

UNDERTONE_MUST_USE
int32_t undertone_vector_init_projected(void *memory,
                                        size_t memory_len,
                                        const undertone_pack *pack,
                                        int32_t noise,
                                        uint32_t epsilon_micro,
                                        undertone_vector **out_vector);

uint32_t undertone_vector_dimension(const undertone_vector *vector);

size_t undertone_vector_release_bytes(const undertone_vector *vector);

UNDERTONE_MUST_USE
int32_t undertone_vector_release(const undertone_vector *vector,
                                 undertone_grant *grant,
                                 const float *embedding,
                                 size_t len,
                                 undertone_entropy_fn entropy,
                                 void *context,
                                 uint8_t *out,
                                 size_t out_capacity,
                                 size_t *out_written);

UNDERTONE_MUST_USE
int32_t undertone_vector_read(const uint8_t *bytes,
                              size_t len,
                              uint32_t *out_dimension,
                              int32_t *out_noise,
                              uint32_t *out_epsilon_micro,
                              int32_t *out_grid_exponent,
                              uint8_t *out_pack_id);

UNDERTONE_MUST_USE
int32_t undertone_vector_read_steps(const uint8_t *bytes,
                                    size_t len,
                                    int32_t *out,
                                    size_t out_capacity,
                                    size_t *out_written);

UNDERTONE_MUST_USE
int32_t undertone_vector_read_values(const uint8_t *bytes,
                                     size_t len,
                                     double *out,
                                     size_t out_capacity,
                                     size_t *out_written);

size_t undertone_vocabulary_size(void);

size_t undertone_vocabulary_align(void);

UNDERTONE_MUST_USE
int32_t undertone_vocabulary_init(void *memory,
                                  size_t memory_len,
                                  const undertone_pack *pack,
                                  undertone_vocabulary **out_vocabulary);

uint32_t undertone_vocabulary_words(const undertone_vocabulary *vocabulary);

UNDERTONE_MUST_USE
int32_t undertone_vocabulary_describe(const undertone_vocabulary *vocabulary,
                                      uint32_t *out_fallback,
                                      int32_t *out_unit_exponent);

UNDERTONE_MUST_USE
int32_t undertone_vocabulary_word(const undertone_vocabulary *vocabulary,
                                  uint32_t word,
                                  const char **out_text,
                                  size_t *out_len);

size_t undertone_bag_size(void);

size_t undertone_bag_align(void);

UNDERTONE_MUST_USE
int32_t undertone_bag_init(void *memory,
                           size_t memory_len,
                           const undertone_vocabulary *vocabulary,
                           undertone_bag **out_bag);

UNDERTONE_MUST_USE
int32_t undertone_bag_push(undertone_bag *bag,
                           const char *word,
                           size_t len);

UNDERTONE_MUST_USE
int32_t undertone_bag_push_text(undertone_bag *bag,
                                const char *text,
                                size_t len);

int32_t undertone_bag_reset(undertone_bag *bag);

size_t undertone_bag_release_bytes(uint32_t size);

UNDERTONE_MUST_USE
int32_t undertone_bag_release(undertone_bag *bag,
                              undertone_grant *grant,
                              uint32_t size,
                              int32_t mechanism,
                              undertone_entropy_fn entropy,
                              void *context,
                              uint8_t *out,
                              size_t out_capacity,
                              size_t *out_written);

UNDERTONE_MUST_USE
int32_t undertone_bag_read(const uint8_t *bytes,
                           size_t len,
                           uint32_t *out_size,
                           int32_t *out_mechanism,
                           uint32_t *out_epsilon_micro,
                           uint8_t *out_pack_id);

UNDERTONE_MUST_USE
int32_t undertone_bag_read_words(const uint8_t *bytes,
                                 size_t len,
                                 uint32_t *out,
                                 size_t out_capacity,
                                 size_t *out_written);

#ifdef __cplusplus
}  
#endif  

#endif
