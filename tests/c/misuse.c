/*
 * Every misuse of the library that a program survives, with the expected status.
 *
 *     misuse PACK VECTORS FEATURES FORM
 *
 * The packs are valid: PACK has depth and a lexicon, VECTORS a projection, FEATURES features. FORM has
 * three attributes.
 *
 * It prints the name of each case of tests/faces/misuse.md that it runs. Run it under a memory
 * checker: blocks have exactly the size that a call is given.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "undertone.h"
#ifdef __has_include
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif
#endif

static int failures;

static void expect(int32_t expected, int32_t found, const char *call, int line)
{
    if (expected != found) {
        fprintf(stderr, "misuse.c:%d: %s\n    expected %ld (%s)\n    found    %ld (%s)\n", line,
                call, (long)expected, undertone_status_message(expected), (long)found,
                undertone_status_message(found));
        failures++;
    }
}

static void hold(int condition, const char *text, int line)
{
    if (!condition) {
        fprintf(stderr, "misuse.c:%d: not so: %s\n", line, text);
        failures++;
    }
}

#define EXPECT(status, call) expect((status), (call), #call, __LINE__)
#define HOLD(condition) hold((condition) != 0, #condition, __LINE__)
/* Marks the next case as one that every face has. */
#define CASE(name) puts("case " #name)

static void *allocate(size_t len)
{
    void *memory = malloc(len == 0 ? 1 : len);
    if (memory == NULL) {
        fputs("misuse: no memory\n", stderr);
        exit(1);
    }
    return memory;
}

static void *copy_of(const void *bytes, size_t len)
{
    void *copy = allocate(len);
    memcpy(copy, bytes, len);
    return copy;
}

/* Shared by the tests: a valid pack and memory for handles. */
struct fixture {
    uint8_t *bytes;
    size_t len;
    void *pack_memory;
    size_t pack_size;
    undertone_pack *pack;
    uint8_t *projection_bytes;
    void *projection_memory;
    undertone_pack *projection;
    uint8_t *features_bytes;
    void *features_memory;
    undertone_pack *features;
    void *document_memory;
    size_t document_size;
    void *grant_memory;
    size_t grant_size;
    undertone_bag *bag;
    size_t dimension;
    float *embedding;
};

static void *const untouched = (void *)&failures;

static undertone_pack_description describe(const undertone_pack *pack)
{
    undertone_pack_description description;
    EXPECT(UNDERTONE_STATUS_OK, undertone_pack_describe(pack, &description));
    return description;
}

static int has_scores(const struct fixture *f)
{
    return describe(f->pack).selector == UNDERTONE_SELECTOR_SCORES;
}

static undertone_grant *new_grant(const struct fixture *f, int32_t unit, uint32_t epsilon_micro)
{
    undertone_grant *grant = NULL;
    EXPECT(UNDERTONE_STATUS_OK,
           undertone_grant_init_unrecorded(f->grant_memory, f->grant_size, unit, epsilon_micro, &grant));
    HOLD(grant == f->grant_memory);
    return grant;
}

/* --- Entropy --- */

static int calls;

static int32_t counting_entropy(void *context, uint8_t *out, size_t len)
{
    memset(out, context == NULL ? 0x5a : *(const uint8_t *)context, len);
    calls++;
    return 0;
}

static int32_t failing_entropy(void *context, uint8_t *out, size_t len)
{
    (void)context;
    memset(out, 0x5a, len);
    calls++;
    return -1;
}

static int32_t silent_entropy(void *context, uint8_t *out, size_t len)
{
    (void)context;
    (void)out;
    (void)len;
    calls++;
    return 0;
}

/* Breaks the promise not to use the document. */
static int32_t reentrant_entropy(void *context, uint8_t *out, size_t len)
{
    const struct fixture *f = context;
    undertone_document *document = f->document_memory;
    undertone_grant *grant = f->grant_memory;
    uint8_t release[UNDERTONE_RELEASE_BYTES];
    size_t written = 99;
    EXPECT(UNDERTONE_STATUS_BUSY, undertone_document_push_sentence(document, "word", 4));
    EXPECT(UNDERTONE_STATUS_BUSY, undertone_document_push_text(document, "word", 4, &written));
    EXPECT(UNDERTONE_STATUS_BUSY,
           undertone_document_push_encoded(document, "word", 4, f->embedding, f->dimension));
    EXPECT(UNDERTONE_STATUS_BUSY, undertone_document_push_all(document, f->embedding, f->dimension, &written));
    EXPECT(UNDERTONE_STATUS_BUSY, undertone_document_reset(document));
    HOLD(undertone_document_sentence_count(document) == 0);
    EXPECT(UNDERTONE_STATUS_BUSY,
           undertone_document_release(document, grant, 1, counting_entropy, NULL, release,
                                      sizeof release, &written));
    EXPECT(UNDERTONE_STATUS_BUSY,
           undertone_document_release_whole_text(document, grant, counting_entropy, NULL, release,
                                                 sizeof release, &written));
    EXPECT(UNDERTONE_STATUS_BUSY,
           undertone_document_release_projective(document, grant, counting_entropy, NULL, release,
                                                 sizeof release, &written));
    uint64_t sentence = 99, whole_text = 99;
    EXPECT(UNDERTONE_STATUS_BUSY, undertone_document_promise(document, UNDERTONE_UNIT_SENTENCE, 1,
                                                             &sentence, &whole_text));
    HOLD(written == 99 && sentence == 99 && whole_text == 99);
    return counting_entropy(NULL, out, len);
}

/* --- Version and messages --- */

static void versions_agree(void)
{
    HOLD(undertone_abi_version() == UNDERTONE_ABI_VERSION);
    HOLD(undertone_backend() && strlen(undertone_backend()) > 3);
    HOLD(strcmp(undertone_version(), UNDERTONE_VERSION) == 0);
    unsigned major, minor, patch;
    HOLD(sscanf(undertone_version(), "%u.%u.%u", &major, &minor, &patch) == 3);
    HOLD(major * 10000 + minor * 100 + patch == UNDERTONE_VERSION_NUMBER);
}

static void every_number_has_a_message(void)
{
    for (int32_t status = -300; status <= 300; status++) {
        HOLD(strlen(undertone_status_message(status)) > 3);
    }
    HOLD(strlen(undertone_status_message(INT32_MIN)) > 3);
    HOLD(strlen(undertone_status_message(INT32_MAX)) > 3);
}

/* --- Epsilon --- */

static void epsilon_is_checked(void)
{
    static const struct {
        const char *text;
        int32_t status;
        uint32_t micro;
    } cases[] = {
        {"10", UNDERTONE_STATUS_OK, 10000000},
        {"0.5", UNDERTONE_STATUS_OK, 500000},
        {"1e-6", UNDERTONE_STATUS_OK, 1},
        {"1000", UNDERTONE_STATUS_OK, UNDERTONE_MAX_EPSILON_MICRO},
        {"", UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER, 7},
        {"ten", UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER, 7},
        {"nan", UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER, 7},
        {"inf", UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER, 7},
        {"1\xff", UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER, 7},
        {"0", UNDERTONE_STATUS_EPSILON_TOO_SMALL, 7},
        {"-1", UNDERTONE_STATUS_EPSILON_TOO_SMALL, 7},
        {"1e-7", UNDERTONE_STATUS_EPSILON_TOO_SMALL, 7},
        {"1000.000001", UNDERTONE_STATUS_EPSILON_TOO_LARGE, 7},
        {"1e99", UNDERTONE_STATUS_EPSILON_TOO_LARGE, 7},
    };
    uint32_t micro;
    CASE(epsilon_not_a_number);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t len = strlen(cases[i].text);
        /* Without the terminating zero. */
        char *text = copy_of(cases[i].text, len);
        micro = 7;
        EXPECT(cases[i].status, undertone_epsilon_parse(text, len, &micro));
        HOLD(micro == cases[i].micro);
        free(text);
    }
    micro = 7;
    EXPECT(UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER, undertone_epsilon_parse("1", 2, &micro));
    EXPECT(UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER, undertone_epsilon_parse(NULL, 0, &micro));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_epsilon_parse(NULL, 1, &micro));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_epsilon_parse("1", 1, NULL));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, undertone_epsilon_parse("1", SIZE_MAX, &micro));
    uint8_t room[8];
    EXPECT(UNDERTONE_STATUS_MISALIGNED,
           undertone_epsilon_parse("1", 1, (void *)(room + 1 + ((uintptr_t)room & 1))));
    HOLD(micro == 7);
}

/* --- Pack --- */

static int32_t init_pack(const struct fixture *f, const uint8_t *bytes, size_t len)
{
    undertone_pack *pack = untouched;
    const int32_t status = undertone_pack_init(f->pack_memory, f->pack_size, bytes, len, &pack);
    HOLD((status == UNDERTONE_STATUS_OK) == (pack == f->pack_memory));
    HOLD((status == UNDERTONE_STATUS_OK) == (pack != untouched));
    return status;
}

static void pack_pointers_are_checked(const struct fixture *f)
{
    undertone_pack *pack = untouched;
    uint8_t *memory = allocate(f->pack_size + 1);
    const size_t size = f->pack_size;
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_pack_init(NULL, 0, NULL, 0, NULL));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_pack_init(NULL, size, f->bytes, f->len, &pack));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_pack_init(memory, size, NULL, f->len, &pack));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_pack_init(memory, size, f->bytes, f->len, NULL));
    CASE(short_pack);
    EXPECT(UNDERTONE_STATUS_PACK_TOO_SHORT, undertone_pack_init(memory, size, NULL, 0, &pack));
    EXPECT(UNDERTONE_STATUS_MISALIGNED, undertone_pack_init(memory + 1, size, f->bytes, f->len, &pack));
    EXPECT(UNDERTONE_STATUS_MEMORY_TOO_SMALL,
           undertone_pack_init(memory, size - 1, f->bytes, f->len, &pack));
    EXPECT(UNDERTONE_STATUS_MEMORY_TOO_SMALL, undertone_pack_init(memory, 0, f->bytes, f->len, &pack));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH,
           undertone_pack_init(memory, size, f->bytes, SIZE_MAX, &pack));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH,
           undertone_pack_init(memory, size, f->bytes, SIZE_MAX / 2 + 1, &pack));
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_pack_init(memory, size, memory, size, &pack));
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_pack_init(memory, size, f->bytes, f->len, (void *)memory));
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           undertone_pack_init(memory, size, f->bytes, f->len, (void *)f->bytes));
    HOLD(pack == untouched);
    free(memory);
}

static void damaged_packs_are_refused(const struct fixture *f)
{
    CASE(cut_pack);
    /* Truncated, in a block of exactly that size. */
    for (size_t len = 0; len < f->len; len += len < 200 ? 1 : 97) {
        uint8_t *cut = copy_of(f->bytes, len);
        EXPECT(len < 128 ? UNDERTONE_STATUS_PACK_TOO_SHORT : UNDERTONE_STATUS_PACK_WRONG_LENGTH,
               init_pack(f, cut, len));
        free(cut);
    }
    uint8_t *longer = allocate(f->len + 1);
    memcpy(longer, f->bytes, f->len);
    longer[f->len] = 0;
    EXPECT(UNDERTONE_STATUS_PACK_WRONG_LENGTH, init_pack(f, longer, f->len + 1));
    free(longer);

    CASE(damaged_pack);
    /* One bit flipped. */
    uint8_t *flipped = copy_of(f->bytes, f->len);
    for (size_t at = 0; at < f->len; at += at < 256 ? 1 : 61) {
        const uint8_t bit = (uint8_t)(1u << at % 8);
        flipped[at] ^= bit;
        EXPECT(at < 8                ? UNDERTONE_STATUS_NOT_A_PACK
               : at < 10             ? UNDERTONE_STATUS_PACK_UNSUPPORTED_VERSION
               : at >= 16 && at < 24 ? UNDERTONE_STATUS_PACK_WRONG_LENGTH
                                     : UNDERTONE_STATUS_PACK_DAMAGED,
               init_pack(f, flipped, f->len));
        flipped[at] ^= bit;
    }
    EXPECT(UNDERTONE_STATUS_OK, init_pack(f, flipped, f->len));
    free(flipped);

    CASE(foreign_pack);
    /* Garbage. */
    uint8_t garbage[4096];
    uint32_t state = 1;
    for (size_t i = 0; i < sizeof garbage; i++) {
        state = state * 1664525 + 1013904223;
        garbage[i] = (uint8_t)(state >> 24);
    }
    EXPECT(UNDERTONE_STATUS_NOT_A_PACK, init_pack(f, garbage, sizeof garbage));
    memset(garbage, 0, sizeof garbage);
    EXPECT(UNDERTONE_STATUS_NOT_A_PACK, init_pack(f, garbage, sizeof garbage));
}

static void packs_are_read_at_any_address(const struct fixture *f)
{
    uint8_t *memory = allocate(f->len + 1);
    memcpy(memory + 1, f->bytes, f->len);
    EXPECT(UNDERTONE_STATUS_OK, init_pack(f, memory + 1, f->len));
    free(memory);
}

static void pack_handles_are_checked(const struct fixture *f)
{
    const undertone_pack_description pack = describe(f->pack), projection = describe(f->projection);
    HOLD(pack.dimension > 0);
    HOLD(pack.candidate_count > 0);
    HOLD(pack.direction_count > 0);
    HOLD(pack.word_count > 0);
    HOLD(pack.selector == UNDERTONE_SELECTOR_DEPTH || has_scores(f));
    HOLD(has_scores(f) == (pack.largest_score > 0));
    HOLD(has_scores(f) == (pack.level_count > 0));
    HOLD(pack.feature_count == 0);
    HOLD(pack.nothing_known == (has_scores(f) ? pack.candidate_count : UINT32_MAX));
    HOLD(projection.nothing_known == UINT32_MAX);
    HOLD(pack.projected_dimension == 0);
    HOLD(projection.projected_dimension > 0);
    HOLD(projection.selector == 0);
    HOLD(projection.candidate_count == 0);
    /* Where the format says they are. */
    HOLD(memcmp(pack.id, f->bytes + 32, sizeof pack.id) == 0);
    HOLD(memcmp(pack.encoder_digest, f->bytes + 64, sizeof pack.encoder_digest) == 0);
    HOLD(memcmp(pack.encoder_name, f->bytes + 96, sizeof pack.encoder_name - 1) == 0);
    HOLD(pack.encoder_name[sizeof pack.encoder_name - 1] == '\0');
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_pack_describe(f->pack, NULL));
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_pack_describe(f->pack, f->pack_memory));

    /* Not a handle: NULL, zeroes, a copy, misaligned. */
    void *zeroes = calloc(1, f->pack_size);
    void *moved = copy_of(f->pack_memory, f->pack_size);
    HOLD(zeroes != NULL);
    const undertone_pack *wrong[] = {NULL, zeroes, moved, (void *)((uint8_t *)f->pack_memory + 1)};
    const int32_t statuses[] = {UNDERTONE_STATUS_NULL_POINTER, UNDERTONE_STATUS_BAD_HANDLE, UNDERTONE_STATUS_BAD_HANDLE,
                                UNDERTONE_STATUS_MISALIGNED};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        undertone_document *document = untouched;
        undertone_vocabulary *vocabulary = untouched;
        undertone_vector_mechanism *vector = untouched;
        float coordinates[4096];
        size_t written = 99;
        EXPECT(statuses[i], undertone_vocabulary_init(f->document_memory, f->document_size,
                                                      wrong[i], &vocabulary));
        EXPECT(statuses[i],
               undertone_vector_mechanism_init_projected(f->document_memory, f->document_size, wrong[i],
                                                         UNDERTONE_NOISE_LAPLACE, 1000000, &vector));
        EXPECT(statuses[i],
               undertone_pack_embed_sentence(wrong[i], "word", 4, coordinates, 4096, &written));
        HOLD(vocabulary == untouched && vector == untouched && written == 99);
        undertone_pack_description description, before;
        memset(&description, 0xee, sizeof description);
        before = description;
        EXPECT(statuses[i], undertone_pack_describe(wrong[i], &description));
        HOLD(memcmp(&description, &before, sizeof before) == 0);
        EXPECT(statuses[i], undertone_document_init(f->document_memory, f->document_size, wrong[i],
                                                    &document));
        HOLD(document == untouched);
    }
    free(zeroes);
    free(moved);
}

/* --- Document --- */

static undertone_document *new_document(const struct fixture *f)
{
    undertone_document *document = NULL;
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_init(f->document_memory, f->document_size, f->pack,
                                                        &document));
    HOLD(document == f->document_memory);
    return document;
}

static void document_pointers_are_checked(const struct fixture *f)
{
    undertone_document *document = untouched;
    uint8_t *memory = allocate(f->document_size + 1);
    const size_t size = f->document_size;
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_document_init(NULL, size, f->pack, &document));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_document_init(memory, size, f->pack, NULL));
    EXPECT(UNDERTONE_STATUS_MISALIGNED, undertone_document_init(memory + 1, size, f->pack, &document));
    EXPECT(UNDERTONE_STATUS_MEMORY_TOO_SMALL,
           undertone_document_init(memory, size - 1, f->pack, &document));
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_document_init(memory, size, f->pack, (void *)memory));
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_document_init(f->pack_memory, size, f->pack, &document));
    HOLD(document == untouched);
    free(memory);

    uint8_t release[UNDERTONE_RELEASE_BYTES];
    size_t written = 99;
    void *zeroes = calloc(1, size);
    HOLD(zeroes != NULL);
    document = new_document(f);
    undertone_grant *grant = new_grant(f, UNDERTONE_UNIT_SENTENCE, 1);
    void *moved = copy_of(document, size);
    CASE(document_after_close);
    CASE(moved_handle);
    CASE(handle_of_another_kind);
    undertone_document *wrong[] = {NULL, zeroes, moved, f->pack_memory,
                                   (void *)((uint8_t *)document + 1)};
    const int32_t statuses[] = {UNDERTONE_STATUS_NULL_POINTER, UNDERTONE_STATUS_BAD_HANDLE, UNDERTONE_STATUS_BAD_HANDLE,
                                UNDERTONE_STATUS_BAD_HANDLE, UNDERTONE_STATUS_MISALIGNED};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        EXPECT(statuses[i], undertone_document_push(wrong[i], f->embedding, f->dimension));
        EXPECT(statuses[i],
               undertone_document_push_all(wrong[i], f->embedding, f->dimension, &written));
        EXPECT(statuses[i], undertone_document_push_sentence(wrong[i], "word", 4));
        EXPECT(statuses[i],
               undertone_document_push_encoded(wrong[i], "word", 4, f->embedding, f->dimension));
        uint64_t sentence = 99, whole_text = 99;
        EXPECT(statuses[i], undertone_document_promise(wrong[i], UNDERTONE_UNIT_SENTENCE, 1, &sentence, &whole_text));
        HOLD(sentence == 99 && whole_text == 99);
        EXPECT(statuses[i], undertone_document_release_whole_text(wrong[i], grant, counting_entropy, NULL, release,
                                                                  sizeof release, &written));
        EXPECT(statuses[i], undertone_document_release_projective(wrong[i], grant, counting_entropy, NULL, release,
                                                                  sizeof release, &written));
        EXPECT(statuses[i], undertone_document_reset(wrong[i]));
        EXPECT(statuses[i], undertone_document_release(wrong[i], grant, 1, counting_entropy,
                                                       NULL, release, sizeof release, &written));
    }
    HOLD(calls == 0 && written == 99);
    undertone_pack_description description;
    EXPECT(UNDERTONE_STATUS_BAD_HANDLE, undertone_pack_describe((void *)document, &description));
    free(zeroes);
    free(moved);
}

static void batches_are_checked(const struct fixture *f)
{
    undertone_document *document = new_document(f);
    const size_t dimension = f->dimension;
    size_t pushed = 99;
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_document_push_all(document, NULL, dimension, &pushed));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH,
           undertone_document_push_all(document, f->embedding, SIZE_MAX, &pushed));
    EXPECT(UNDERTONE_STATUS_MISALIGNED,
           undertone_document_push_all(document, (void *)((uint8_t *)f->embedding + 1), dimension,
                                       &pushed));
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           undertone_document_push_all(document, (void *)document, dimension, &pushed));
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           undertone_document_push_all(document, f->embedding, dimension, (void *)document));
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_document_push_all(document, f->embedding, dimension,
                                                                 (void *)f->embedding));

    /* The stated number, and no float after them is read. */
    const size_t rows = UNDERTONE_MAX_SENTENCES + 2;
    float *embeddings = allocate(rows * dimension * sizeof *embeddings);
    for (size_t i = 0; i < rows * dimension; i++) {
        embeddings[i] = (float)i;
    }
    EXPECT(UNDERTONE_STATUS_WRONG_DIMENSION,
           undertone_document_push_all(document, embeddings, dimension - 1, &pushed));
    EXPECT(UNDERTONE_STATUS_WRONG_DIMENSION,
           undertone_document_push_all(document, embeddings, rows * dimension - 1, &pushed));
    HOLD(pushed == 99 && undertone_document_sentence_count(document) == 0);
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_push_all(document, NULL, 0, &pushed));
    HOLD(pushed == 0);
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_push_all(document, embeddings, 3 * dimension, &pushed));
    HOLD(pushed == 3 && undertone_document_sentence_count(document) == 3);
    EXPECT(UNDERTONE_STATUS_OK,
           undertone_document_push_all(document, embeddings, rows * dimension, &pushed));
    HOLD(pushed == UNDERTONE_MAX_SENTENCES - 3);
    EXPECT(UNDERTONE_STATUS_OK,
           undertone_document_push_all(document, embeddings, rows * dimension, &pushed));
    HOLD(pushed == 0 && undertone_document_sentence_count(document) == UNDERTONE_MAX_SENTENCES);
    free(embeddings);
}

static void sentences_are_checked(const struct fixture *f)
{
    undertone_document *document = new_document(f);
    CASE(null_argument);
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_document_push(document, NULL, f->dimension));
    EXPECT(UNDERTONE_STATUS_WRONG_DIMENSION, undertone_document_push(document, NULL, 0));
    CASE(short_embedding);
    EXPECT(UNDERTONE_STATUS_WRONG_DIMENSION,
           undertone_document_push(document, f->embedding, f->dimension - 1));
    EXPECT(UNDERTONE_STATUS_WRONG_DIMENSION,
           undertone_document_push(document, f->embedding, f->dimension + 1));
    EXPECT(UNDERTONE_STATUS_WRONG_DIMENSION,
           undertone_document_push(document, f->embedding, f->dimension * sizeof(float)));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, undertone_document_push(document, f->embedding, SIZE_MAX));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH,
           undertone_document_push(document, f->embedding, SIZE_MAX / 4));
    EXPECT(UNDERTONE_STATUS_MISALIGNED,
           undertone_document_push(document, (void *)((uint8_t *)f->embedding + 1), f->dimension));
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_document_push(document, (void *)document, f->dimension));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_document_push_sentence(document, NULL, 1));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH,
           undertone_document_push_sentence(document, "word", SIZE_MAX));
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_document_push_sentence(document, (void *)document, 8));

    CASE(embedding_of_nan);
    /* Empty content is no error. Exactly 128 sentences fit. */
    const float odd[] = {NAN, INFINITY, -INFINITY, 3.4e38f, -3.4e38f, 1e-45f, -0.0f, 1e9f};
    float *embedding = allocate(f->dimension * sizeof *embedding);
    for (size_t i = 0; i < 100; i++) {
        for (size_t j = 0; j < f->dimension; j++) {
            embedding[j] = odd[(i + j) % (sizeof odd / sizeof *odd)];
        }
        EXPECT(UNDERTONE_STATUS_OK, undertone_document_push(document, embedding, f->dimension));
    }
    free(embedding);
    CASE(text_that_is_no_unicode);
    size_t one = 0;
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_push_text(document, "It \xff snows.", 12, &one));
    HOLD(one == 1);
    for (size_t i = 101; i < UNDERTONE_MAX_SENTENCES; i++) {
        static const char bytes[] = "\xff\xc0\x80\xed\xa0\x80 word\0word \xf4\x90\x80\x80";
        char *text = copy_of(bytes, i % sizeof bytes);
        EXPECT(UNDERTONE_STATUS_OK, undertone_document_push_sentence(document, text, i % sizeof bytes));
        free(text);
    }
    CASE(full_document);
    EXPECT(UNDERTONE_STATUS_DOCUMENT_FULL, undertone_document_push(document, f->embedding, f->dimension));
    EXPECT(UNDERTONE_STATUS_DOCUMENT_FULL, undertone_document_push_sentence(document, "word", 4));
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_reset(document));
    CASE(empty_text);
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_push_sentence(document, NULL, 0));
    size_t sentences = 99;
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_push_text(document, NULL, 0, &sentences));
    HOLD(sentences == 0 && undertone_document_sentence_count(document) == 1);
    /* The number may be NULL. */
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_push_text(document, "One. Two.", 9, NULL));
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_push_all(document, f->embedding, f->dimension, NULL));
    HOLD(undertone_document_sentence_count(document) == 4);
    CASE(long_text);
    char *text = allocate(1 << 20);
    memset(text, 'x', 1 << 20);
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_push_sentence(document, text, 1 << 20));
    free(text);
}

/* --- Release --- */

/* Releases into a block of exactly the right size. */
static int32_t release_with(const struct fixture *f, undertone_document *document,
                            undertone_entropy_fn entropy, void *context, uint8_t *release)
{
    undertone_grant *grant = new_grant(f, UNDERTONE_UNIT_SENTENCE, 5000000);
    uint8_t *out = allocate(UNDERTONE_RELEASE_BYTES);
    size_t written = 99;
    memset(out, 0xee, UNDERTONE_RELEASE_BYTES);
    memset(release, 0xee, UNDERTONE_RELEASE_BYTES);
    const int32_t status = undertone_document_release(
        document, grant, UNDERTONE_RULE_EXPONENTIAL, entropy, context, out, UNDERTONE_RELEASE_BYTES,
        &written);
    HOLD(written == (status == UNDERTONE_STATUS_OK ? (size_t)UNDERTONE_RELEASE_BYTES : 99));
    HOLD(status == UNDERTONE_STATUS_OK || memcmp(out, release, UNDERTONE_RELEASE_BYTES) == 0);
    memcpy(release, out, UNDERTONE_RELEASE_BYTES);
    free(out);
    return status;
}

static void release_arguments_are_checked_before_entropy(const struct fixture *f)
{
    undertone_document *document = new_document(f);
    uint8_t out[64];
    size_t written = 99;
    memset(out, 0xee, sizeof out);
    calls = 0;
    undertone_grant *grant = new_grant(f, UNDERTONE_UNIT_SENTENCE, 1);
#define RELEASE(rule, entropy, out, capacity, written)                                             \
    undertone_document_release(document, grant, rule, entropy, NULL, out, capacity, written)
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RELEASE(1, NULL, out, 24, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RELEASE(1, counting_entropy, NULL, 24, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RELEASE(1, counting_entropy, out, 24, NULL));
    CASE(unknown_rule);
    EXPECT(UNDERTONE_STATUS_UNKNOWN_RULE, RELEASE(0, counting_entropy, out, 24, &written));
    EXPECT(UNDERTONE_STATUS_UNKNOWN_RULE, RELEASE(3, counting_entropy, out, 24, &written));
    EXPECT(UNDERTONE_STATUS_UNKNOWN_RULE, RELEASE(INT32_MIN, counting_entropy, out, 24, &written));
    EXPECT(UNDERTONE_STATUS_UNKNOWN_RULE, RELEASE(257, counting_entropy, out, 24, &written));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, RELEASE(1, counting_entropy, out, SIZE_MAX, &written));
    EXPECT(UNDERTONE_STATUS_MISALIGNED,
           RELEASE(1, counting_entropy, out, 24, (void *)((uint8_t *)f->embedding + 1)));
    CASE(overlapping_memory);
    EXPECT(UNDERTONE_STATUS_OVERLAP, RELEASE(1, counting_entropy, (void *)document, 24, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP, RELEASE(1, counting_entropy, (void *)&written, 24, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP, RELEASE(1, counting_entropy, out, 24, (void *)document));
    HOLD(written == 99);
    CASE(short_buffer);
    for (size_t capacity = 0; capacity < UNDERTONE_RELEASE_BYTES; capacity++) {
        uint8_t *exact = allocate(capacity);
        written = 99;
        EXPECT(UNDERTONE_STATUS_BUFFER_TOO_SMALL,
               RELEASE(1, counting_entropy, exact, capacity, &written));
        HOLD(written == UNDERTONE_RELEASE_BYTES);
        free(exact);
    }
    EXPECT(UNDERTONE_STATUS_BUFFER_TOO_SMALL, RELEASE(1, counting_entropy, NULL, 0, &written));
    HOLD(calls == 0);
    for (size_t i = 0; i < sizeof out; i++) {
        HOLD(out[i] == 0xee);
    }
    CASE(release_of_nothing);
    EXPECT(UNDERTONE_STATUS_OK, RELEASE(1, counting_entropy, out, sizeof out, &written));
    HOLD(calls == 1 && written == UNDERTONE_RELEASE_BYTES && out[written] == 0xee);
    uint32_t itself[UNDERTONE_RELEASE_BYTES / 4];
    memcpy(itself, out, sizeof itself);
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           undertone_release_read((const uint8_t *)itself, sizeof itself, &itself[1], NULL, NULL, NULL, NULL, NULL));
    HOLD(memcmp(itself, out, sizeof itself) == 0);

    CASE(used_grant);
    /* A grant is spent once. Nothing is drawn for a spent grant. */
    written = 99;
    EXPECT(UNDERTONE_STATUS_GRANT_SPENT, RELEASE(1, counting_entropy, out, sizeof out, &written));
    HOLD(calls == 1 && written == 99);
    grant = new_grant(f, UNDERTONE_UNIT_SENTENCE, 1);
    EXPECT(UNDERTONE_STATUS_ENTROPY_FAILED, RELEASE(1, failing_entropy, out, sizeof out, &written));
    EXPECT(UNDERTONE_STATUS_GRANT_SPENT, RELEASE(1, counting_entropy, out, sizeof out, &written));
    HOLD(calls == 2 && written == 99);
#undef RELEASE
}

static void encoded_sentences_are_checked(const struct fixture *f)
{
    undertone_document *document = new_document(f);
    const size_t dimension = f->dimension;
    float *embedding = f->embedding;
#define PUSH(text, len, embedding, count)                                                          \
    undertone_document_push_encoded(document, text, len, embedding, count)
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, PUSH(NULL, 1, embedding, dimension));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, PUSH("word", 4, NULL, dimension));
    EXPECT(UNDERTONE_STATUS_WRONG_DIMENSION, PUSH("word", 4, NULL, 0));
    EXPECT(UNDERTONE_STATUS_WRONG_DIMENSION, PUSH("word", 4, embedding, dimension - 1));
    EXPECT(UNDERTONE_STATUS_WRONG_DIMENSION, PUSH("word", 4, embedding, dimension * sizeof(float)));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, PUSH("word", SIZE_MAX, embedding, dimension));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, PUSH("word", 4, embedding, SIZE_MAX));
    EXPECT(UNDERTONE_STATUS_MISALIGNED, PUSH("word", 4, (void *)((uint8_t *)embedding + 1), dimension));
    EXPECT(UNDERTONE_STATUS_OVERLAP, PUSH((void *)document, 8, embedding, dimension));
    EXPECT(UNDERTONE_STATUS_OVERLAP, PUSH("word", 4, (void *)document, dimension));
    HOLD(undertone_document_sentence_count(document) == 0);
    for (size_t i = 0; i < UNDERTONE_MAX_SENTENCES; i++) {
        EXPECT(UNDERTONE_STATUS_OK, PUSH(i % 2 == 0 ? NULL : "\xff", i % 2, embedding, dimension));
    }
    EXPECT(UNDERTONE_STATUS_DOCUMENT_FULL, PUSH("word", 4, embedding, dimension));
#undef PUSH
}

static void promises_are_checked(const struct fixture *f)
{
    undertone_document *document = new_document(f);
    const int scores = has_scores(f);
    uint64_t sentence = 99, whole_text = 99;
#define PROMISE(unit, micro) undertone_document_promise(document, unit, micro, &sentence, &whole_text)
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           undertone_document_promise(document, UNDERTONE_UNIT_SENTENCE, 1, &sentence, &sentence));
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           undertone_document_promise(document, UNDERTONE_UNIT_SENTENCE, 1, (void *)document, &whole_text));
    EXPECT(UNDERTONE_STATUS_UNKNOWN_UNIT, PROMISE(0, 1));
    EXPECT(UNDERTONE_STATUS_UNKNOWN_UNIT, PROMISE(3, 1));
    EXPECT(UNDERTONE_STATUS_UNKNOWN_UNIT, PROMISE(INT32_MIN, 1));
    EXPECT(UNDERTONE_STATUS_EPSILON_TOO_SMALL, PROMISE(UNDERTONE_UNIT_SENTENCE, 0));
    EXPECT(UNDERTONE_STATUS_EPSILON_TOO_LARGE, PROMISE(UNDERTONE_UNIT_WHOLE_TEXT, UINT32_MAX));
    HOLD(sentence == 99 && whole_text == 99);
    /* Either number alone, and neither. */
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_promise(document, UNDERTONE_UNIT_SENTENCE, 7, &sentence, NULL));
    HOLD(sentence == 7 && whole_text == 99);
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_promise(document, UNDERTONE_UNIT_SENTENCE, 7, NULL, &whole_text));
    HOLD(whole_text != 99);
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_promise(document, UNDERTONE_UNIT_SENTENCE, 7, NULL, NULL));
    static const uint32_t epsilons[] = {1, 1000000, UNDERTONE_MAX_EPSILON_MICRO};
    for (size_t i = 0; i < 3; i++) {
        EXPECT(UNDERTONE_STATUS_OK, PROMISE(UNDERTONE_UNIT_SENTENCE, epsilons[i]));
        HOLD(i < 2 ? sentence == epsilons[i] : sentence <= epsilons[i] && sentence <= whole_text);
        HOLD(whole_text > 0);
        /* The promise does not depend on the document's content. */
        const uint64_t empty = whole_text;
        EXPECT(UNDERTONE_STATUS_OK, undertone_document_push(document, f->embedding, f->dimension));
        EXPECT(UNDERTONE_STATUS_OK, PROMISE(UNDERTONE_UNIT_SENTENCE, epsilons[i]));
        HOLD(whole_text == empty);
        sentence = whole_text = 99;
        EXPECT(scores ? UNDERTONE_STATUS_OK : UNDERTONE_STATUS_NO_SCORES,
               PROMISE(UNDERTONE_UNIT_WHOLE_TEXT, epsilons[i]));
        /* The largest epsilon that is served. */
        const uint64_t served = epsilons[i] < 33271065 ? epsilons[i] : 33271065;
        HOLD(sentence == (scores ? served : 99) && whole_text == sentence);
    }
#undef PROMISE
}

/* By the whole text, and by projective geometry. */
typedef int32_t (*whole_release)(undertone_document *, undertone_grant *, undertone_entropy_fn, void *, uint8_t *, size_t,
                                 size_t *);

static void releases_of_whole_texts_are_checked(const struct fixture *f, whole_release by, int projective)
{
    undertone_document *document = new_document(f);
    const int scores = has_scores(f);
    const size_t bytes = UNDERTONE_RELEASE_BYTES;
    uint8_t out[64];
    size_t written = 99;
    memset(out, 0xee, sizeof out);
    calls = 0;
    undertone_grant *grant = new_grant(f, UNDERTONE_UNIT_WHOLE_TEXT, 3000000);
#define RELEASE(entropy, out, capacity, written)                                                   \
    by(document, grant, entropy, NULL, out, capacity, written)
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RELEASE(NULL, out, bytes, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RELEASE(counting_entropy, NULL, bytes, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RELEASE(counting_entropy, out, bytes, NULL));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER,
           by(document, NULL, counting_entropy, NULL, out, bytes, &written));
    EXPECT(UNDERTONE_STATUS_BAD_HANDLE, by(document, f->pack_memory, counting_entropy,
                                                                              NULL, out, bytes, &written));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, RELEASE(counting_entropy, out, SIZE_MAX, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP, RELEASE(counting_entropy, (void *)document, bytes, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP, RELEASE(counting_entropy, (void *)grant, bytes, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP, RELEASE(counting_entropy, out, bytes, (void *)document));
    HOLD(calls == 0 && written == 99 && out[0] == 0xee);
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_push(document, f->embedding, f->dimension));
    if (!scores) {
        CASE(whole_text_without_scores);
        /* Refused before the grant is spent, and the sentence stays. */
        EXPECT(UNDERTONE_STATUS_NO_SCORES, RELEASE(counting_entropy, out, bytes, &written));
        HOLD(calls == 0 && written == 99 && undertone_document_sentence_count(document) == 1);
        grant = new_grant(f, UNDERTONE_UNIT_SENTENCE, 3000000);
        EXPECT(UNDERTONE_STATUS_OK,
               undertone_document_release(document, grant, UNDERTONE_RULE_EXPONENTIAL, counting_entropy, NULL, out,
                                          bytes, &written));
    } else {
        EXPECT(UNDERTONE_STATUS_BUFFER_TOO_SMALL, RELEASE(counting_entropy, out, bytes - 1, &written));
        HOLD(calls == 0 && written == bytes && out[0] == 0xee);
        EXPECT(UNDERTONE_STATUS_OK, RELEASE(counting_entropy, out, sizeof out, &written));
        HOLD(calls == 1 && written == bytes && out[bytes] == 0xee);
        HOLD(undertone_document_sentence_count(document) == 0);
        EXPECT(UNDERTONE_STATUS_GRANT_SPENT, RELEASE(counting_entropy, out, sizeof out, &written));
        HOLD(calls == 1);
        /* Failed entropy keeps the sentences, and the grant is spent. */
        EXPECT(UNDERTONE_STATUS_OK, undertone_document_push(document, f->embedding, f->dimension));
        grant = new_grant(f, UNDERTONE_UNIT_WHOLE_TEXT, 3000000);
        EXPECT(UNDERTONE_STATUS_ENTROPY_FAILED, RELEASE(failing_entropy, out, bytes, &written));
        EXPECT(UNDERTONE_STATUS_GRANT_SPENT, RELEASE(counting_entropy, out, bytes, &written));
        HOLD(undertone_document_sentence_count(document) == 1);
        grant = new_grant(f, UNDERTONE_UNIT_WHOLE_TEXT, 3000000);
        EXPECT(UNDERTONE_STATUS_OK,
               by(document, grant, reentrant_entropy, (void *)f, out, bytes,
                                                     &written));
    }
#undef RELEASE
    int32_t unit = 77;
    uint32_t order = 77;
#define READ(release, len) undertone_release_read(release, len, NULL, NULL, NULL, &unit, &order, NULL)
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, READ(NULL, bytes));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, READ(out, SIZE_MAX));
    EXPECT(UNDERTONE_STATUS_RELEASE_WRONG_LENGTH, READ(out, bytes - 1));
    out[0] ^= 0x80;
    EXPECT(UNDERTONE_STATUS_NOT_A_RELEASE, READ(out, bytes));
    out[0] ^= 0x80;
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           undertone_release_read(out, bytes, NULL, NULL, NULL, &unit, (void *)&unit, NULL));
    HOLD(unit == 77 && order == 77);
    EXPECT(UNDERTONE_STATUS_OK, READ(out, bytes));
    HOLD(unit == (scores ? UNDERTONE_UNIT_WHOLE_TEXT : UNDERTONE_UNIT_SENTENCE));
    HOLD((order != 0) == (scores && projective));
    if (scores) {
        /* There is only one rule. */
        out[5] = UNDERTONE_RULE_PERMUTE_AND_FLIP;
        EXPECT(UNDERTONE_STATUS_RELEASE_MALFORMED, READ(out, bytes));
        /* 9 is no prime and not even, and no other release has an order. */
        out[5] = UNDERTONE_RULE_EXPONENTIAL;
        out[6] = 9;
        out[7] = 0;
        EXPECT(UNDERTONE_STATUS_RELEASE_MALFORMED, READ(out, bytes));
        out[6] = projective ? 0 : 3;
        EXPECT(UNDERTONE_STATUS_RELEASE_MALFORMED, READ(out, bytes));
    }
#undef READ
}

static void whole_texts_are_checked(const struct fixture *f)
{
    releases_of_whole_texts_are_checked(f, undertone_document_release_whole_text, 0);
    releases_of_whole_texts_are_checked(f, undertone_document_release_projective, 1);
}

static void grants_are_checked(const struct fixture *f)
{
    undertone_grant *grant = untouched;
    const size_t size = f->grant_size;
    uint8_t *memory = allocate(size + 1);
#define GRANT(memory, len, micro, out) undertone_grant_init_unrecorded(memory, len, UNDERTONE_UNIT_VECTOR, micro, out)
    CASE(unknown_unit);
    EXPECT(UNDERTONE_STATUS_UNKNOWN_UNIT, undertone_grant_init_unrecorded(memory, size, 0, 1, &grant));
    EXPECT(UNDERTONE_STATUS_UNKNOWN_UNIT, undertone_grant_init_unrecorded(memory, size, 5, 1, &grant));
    EXPECT(UNDERTONE_STATUS_UNKNOWN_UNIT, undertone_grant_init_unrecorded(memory, size, INT32_MIN, 1, &grant));
    EXPECT(UNDERTONE_STATUS_UNKNOWN_UNIT, undertone_grant_init_unrecorded(memory, size, 257, 1, &grant));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, GRANT(NULL, size, 1, &grant));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, GRANT(memory, size, 1, NULL));
    EXPECT(UNDERTONE_STATUS_MISALIGNED, GRANT(memory + 1, size, 1, &grant));
    EXPECT(UNDERTONE_STATUS_MEMORY_TOO_SMALL, GRANT(memory, size - 1, 1, &grant));
    EXPECT(UNDERTONE_STATUS_OVERLAP, GRANT(memory, size, 1, (void *)memory));
    CASE(epsilon_zero);
    EXPECT(UNDERTONE_STATUS_EPSILON_TOO_SMALL, GRANT(memory, size, 0, &grant));
    CASE(epsilon_too_large);
    EXPECT(UNDERTONE_STATUS_EPSILON_TOO_LARGE, GRANT(memory, size, 1000000001, &grant));
    EXPECT(UNDERTONE_STATUS_EPSILON_TOO_LARGE, GRANT(memory, size, UINT32_MAX, &grant));
    HOLD(grant == untouched);
#undef GRANT
    free(memory);

    undertone_document *document = new_document(f);
    uint8_t release[UNDERTONE_RELEASE_BYTES];
    size_t written = 99;
    grant = new_grant(f, UNDERTONE_UNIT_SENTENCE, 1);
    void *zeroes = calloc(1, f->grant_size);
    HOLD(zeroes != NULL);
    void *moved = copy_of(grant, f->grant_size);
    undertone_grant *wrong[] = {NULL, zeroes, moved, f->pack_memory, f->document_memory,
                                (void *)((uint8_t *)grant + 1)};
    const int32_t statuses[] = {UNDERTONE_STATUS_NULL_POINTER, UNDERTONE_STATUS_BAD_HANDLE, UNDERTONE_STATUS_BAD_HANDLE,
                                UNDERTONE_STATUS_BAD_HANDLE, UNDERTONE_STATUS_BAD_HANDLE, UNDERTONE_STATUS_MISALIGNED};
    calls = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        EXPECT(statuses[i], undertone_document_release(document, wrong[i], 1, counting_entropy,
                                                       NULL, release, sizeof release, &written));
    }
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           undertone_document_release(document, grant, 1, counting_entropy, NULL,
                                      (void *)grant, sizeof release, &written));
    HOLD(calls == 0 && written == 99);
    /* It is still there. */
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_release(document, grant, 1, counting_entropy, NULL,
                                                           release, sizeof release, &written));
    free(zeroes);
    free(moved);
}

/* 60 sentences on both sides of the candidates: a deep document, unlike an empty one. */
static void push_deep(const struct fixture *f, undertone_document *document)
{
    for (int i = 0; i < 60; i++) {
        EXPECT(UNDERTONE_STATUS_OK, undertone_document_push(document, f->embedding, f->dimension));
        for (size_t j = 0; j < f->dimension; j++) {
            f->embedding[j] = -f->embedding[j];
        }
    }
}

static void failed_entropy_releases_nothing_and_keeps_the_sentences(const struct fixture *f)
{
    uint8_t expected[UNDERTONE_RELEASE_BYTES], empty[UNDERTONE_RELEASE_BYTES];
    uint8_t release[UNDERTONE_RELEASE_BYTES];
    undertone_document *document = new_document(f);
    /* Find entropy that distinguishes a document with sentences from an empty one. */
    uint8_t context = 0;
    do {
        context++;
        EXPECT(UNDERTONE_STATUS_OK, release_with(f, document, counting_entropy, &context, empty));
        push_deep(f, document);
        EXPECT(UNDERTONE_STATUS_OK, release_with(f, document, counting_entropy, &context, expected));
    } while (memcmp(expected, empty, sizeof empty) == 0 && context != 255);
    HOLD(memcmp(expected, empty, sizeof empty) != 0);

    push_deep(f, document);
    CASE(failed_entropy);
    uint8_t zero = 0;
    EXPECT(UNDERTONE_STATUS_ENTROPY_FAILED, release_with(f, document, failing_entropy, NULL, release));
    EXPECT(UNDERTONE_STATUS_ENTROPY_FAILED, release_with(f, document, silent_entropy, NULL, release));
    EXPECT(UNDERTONE_STATUS_ENTROPY_FAILED, release_with(f, document, counting_entropy, &zero, release));
    EXPECT(UNDERTONE_STATUS_OK, release_with(f, document, counting_entropy, &context, release));
    HOLD(memcmp(release, expected, sizeof release) == 0);

    CASE(release_twice);
    /* A release and a reset both leave an empty document. */
    EXPECT(UNDERTONE_STATUS_OK, release_with(f, document, counting_entropy, &context, release));
    HOLD(memcmp(release, empty, sizeof release) == 0);
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_push(document, f->embedding, f->dimension));
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_reset(document));
    EXPECT(UNDERTONE_STATUS_OK, release_with(f, document, counting_entropy, &context, release));
    HOLD(memcmp(release, empty, sizeof release) == 0);

    CASE(release_from_the_entropy);
    EXPECT(UNDERTONE_STATUS_OK, release_with(f, document, reentrant_entropy, (void *)f, release));
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_push(document, f->embedding, f->dimension));
}

/* Parts of a handle that its pack does not use are never written, so a comparison may read them. */
static void compare_whatever_is_there(const void *bytes, size_t len)
{
#ifdef VALGRIND_MAKE_MEM_DEFINED
    VALGRIND_MAKE_MEM_DEFINED(bytes, len);
#endif
    (void)bytes;
    (void)len;
}

static void wiped_documents_hold_no_trace(const struct fixture *f)
{
    memset(f->document_memory, 0, f->document_size);
    undertone_document *document = new_document(f);
    uint8_t release[UNDERTONE_RELEASE_BYTES];
    EXPECT(UNDERTONE_STATUS_OK, release_with(f, document, counting_entropy, NULL, release));
    compare_whatever_is_there(document, f->document_size);
    void *before = copy_of(document, f->document_size);
    for (int i = 0; i < 3; i++) {
        EXPECT(UNDERTONE_STATUS_OK, undertone_document_push(document, f->embedding, f->dimension));
    }
    HOLD(memcmp(before, document, f->document_size) != 0);
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_reset(document));
    HOLD(memcmp(before, document, f->document_size) == 0);
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_push(document, f->embedding, f->dimension));
    EXPECT(UNDERTONE_STATUS_OK, release_with(f, document, counting_entropy, NULL, release));
    HOLD(memcmp(before, document, f->document_size) == 0);
    if (has_scores(f)) {
        size_t written;
        EXPECT(UNDERTONE_STATUS_OK, undertone_document_push(document, f->embedding, f->dimension));
        EXPECT(UNDERTONE_STATUS_OK,
               undertone_document_release_whole_text(document, new_grant(f, UNDERTONE_UNIT_WHOLE_TEXT, 1), counting_entropy, NULL, release,
                                                     sizeof release, &written));
        HOLD(memcmp(before, document, f->document_size) == 0);
        EXPECT(UNDERTONE_STATUS_OK, undertone_document_push(document, f->embedding, f->dimension));
        EXPECT(UNDERTONE_STATUS_OK,
               undertone_document_release_projective(document, new_grant(f, UNDERTONE_UNIT_WHOLE_TEXT, 1), counting_entropy, NULL, release,
                                                     sizeof release, &written));
        HOLD(memcmp(before, document, f->document_size) == 0);
    }
    free(before);
}

/* --- Ledger --- */

enum { IMAGE = UNDERTONE_LEDGER_IMAGE_BYTES, RECORD = UNDERTONE_LEDGER_RECORD_BYTES };

static void create_ledger(uint64_t budget, uint8_t *image)
{
    uint8_t *exact = allocate(IMAGE);
    size_t written = 0;
    EXPECT(UNDERTONE_STATUS_OK, undertone_ledger_create_image(UNDERTONE_UNIT_SENTENCE, budget, counting_entropy, NULL,
                                                              exact, IMAGE, &written));
    HOLD(written == IMAGE);
    memcpy(image, exact, IMAGE);
    free(exact);
}

/* In memory of exactly the right size; the byte identifies the handle. */
static undertone_ledger *open_ledger(const uint8_t *image, uint8_t name)
{
    undertone_ledger *ledger = NULL;
    void *memory = allocate(UNDERTONE_LEDGER_HANDLE_SIZE);
    EXPECT(UNDERTONE_STATUS_OK, undertone_ledger_open(memory, UNDERTONE_LEDGER_HANDLE_SIZE, UNDERTONE_UNIT_SENTENCE,
                                                      image, IMAGE, counting_entropy, &name, &ledger));
    HOLD(ledger == memory);
    return ledger;
}

/* Reserves and returns the status; on success the record is in place. */
static int32_t reserve(undertone_ledger *ledger, uint32_t epsilon, uint64_t window, uint8_t *file)
{
    uint8_t *record = allocate(RECORD);
    size_t written = 99, offset = 99;
    const int32_t status =
        undertone_ledger_reserve_epsilon(ledger, epsilon, 1, window, file, IMAGE, record, RECORD, &written, &offset);
    const int recorded = status == UNDERTONE_STATUS_OK || status == UNDERTONE_STATUS_LEDGER_RECORD_LOST;
    HOLD(recorded == (written == RECORD));
    HOLD(recorded == (offset == 0 || offset == RECORD));
    if (recorded) {
        memcpy(file + offset, record, RECORD);
    }
    free(record);
    return status;
}

static int32_t grant_of(const struct fixture *f, undertone_ledger *ledger, const uint8_t *file,
                        undertone_grant **grant)
{
    *grant = untouched;
    const int32_t status =
        undertone_ledger_grant(ledger, file, IMAGE, f->grant_memory, f->grant_size, grant);
    HOLD(*grant == (status == UNDERTONE_STATUS_OK ? f->grant_memory : untouched));
    return status;
}

static int32_t left_in(const uint8_t *file, int32_t unit, uint64_t window, const uint64_t *counter, uint64_t *micro)
{
    return undertone_ledger_remaining(unit, file, IMAGE, window, counter, micro);
}

static uint64_t remaining(const uint8_t *file, uint64_t window)
{
    uint64_t micro = 99;
    EXPECT(UNDERTONE_STATUS_OK, left_in(file, UNDERTONE_UNIT_SENTENCE, window, NULL, &micro));
    return micro;
}

static void ledger_arguments_are_checked(const struct fixture *f)
{
    uint8_t file[IMAGE + 8], out[IMAGE + 8];
    size_t written = 99, offset = 99;
    uint64_t micro = 99;

    memset(file, 0, sizeof file);
    memset(out, 0xee, sizeof out);
    calls = 0;
#define CREATE(budget, entropy, out, capacity, written)                                            \
    undertone_ledger_create_image(UNDERTONE_UNIT_SENTENCE, budget, entropy, NULL, out, capacity, written)
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, CREATE(1, NULL, out, IMAGE, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, CREATE(1, counting_entropy, NULL, IMAGE, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, CREATE(1, counting_entropy, out, IMAGE, NULL));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, CREATE(1, counting_entropy, out, SIZE_MAX, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP, CREATE(1, counting_entropy, (void *)&written, IMAGE, &written));
    CASE(ledger_without_budget);
    EXPECT(UNDERTONE_STATUS_LEDGER_NO_BUDGET, CREATE(0, counting_entropy, out, IMAGE, &written));
    HOLD(calls == 0 && written == 99);
    EXPECT(UNDERTONE_STATUS_ENTROPY_FAILED, CREATE(1, failing_entropy, out, IMAGE, &written));
    EXPECT(UNDERTONE_STATUS_ENTROPY_FAILED, CREATE(1, silent_entropy, out, IMAGE, &written));
    HOLD(written == 99);
    for (size_t capacity = 0; capacity < IMAGE; capacity++) {
        uint8_t *exact = allocate(capacity);
        written = 99;
        EXPECT(UNDERTONE_STATUS_BUFFER_TOO_SMALL, CREATE(1, counting_entropy, exact, capacity, &written));
        HOLD(written == IMAGE);
        free(exact);
    }
    for (size_t i = 0; i < sizeof out; i++) {
        HOLD(out[i] == 0xee);
    }
#undef CREATE

    create_ledger(10, file);
    const size_t size = UNDERTONE_LEDGER_HANDLE_SIZE;
    uint8_t *memory = allocate(size + 1);
    undertone_ledger *ledger = untouched;
#define INIT(memory, size, image, len, entropy, out)                                               \
    undertone_ledger_open(memory, size, UNDERTONE_UNIT_SENTENCE, image, len, entropy, NULL, out)
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, INIT(NULL, size, file, IMAGE, counting_entropy, &ledger));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, INIT(memory, size, NULL, IMAGE, counting_entropy, &ledger));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, INIT(memory, size, file, IMAGE, NULL, &ledger));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, INIT(memory, size, file, IMAGE, counting_entropy, NULL));
    EXPECT(UNDERTONE_STATUS_MISALIGNED, INIT(memory + 1, size, file, IMAGE, counting_entropy, &ledger));
    EXPECT(UNDERTONE_STATUS_MEMORY_TOO_SMALL, INIT(memory, size - 1, file, IMAGE, counting_entropy, &ledger));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, INIT(memory, size, file, SIZE_MAX, counting_entropy, &ledger));
    EXPECT(UNDERTONE_STATUS_OVERLAP, INIT(memory, size, memory, IMAGE, counting_entropy, &ledger));
    EXPECT(UNDERTONE_STATUS_OVERLAP, INIT(memory, size, file, IMAGE, counting_entropy, (void *)memory));
    EXPECT(UNDERTONE_STATUS_ENTROPY_FAILED, INIT(memory, size, file, IMAGE, failing_entropy, &ledger));
    EXPECT(UNDERTONE_STATUS_ENTROPY_FAILED, INIT(memory, size, file, IMAGE, silent_entropy, &ledger));
    EXPECT(UNDERTONE_STATUS_LEDGER_WRONG_LENGTH, INIT(memory, size, NULL, 0, counting_entropy, &ledger));
    for (size_t len = 0; len < sizeof file; len++) {
        uint8_t *cut = copy_of(file, len);
        EXPECT(len == IMAGE ? UNDERTONE_STATUS_OK : UNDERTONE_STATUS_LEDGER_WRONG_LENGTH,
               INIT(memory, size, cut, len, counting_entropy, &ledger));
        HOLD((ledger == untouched) == (len < IMAGE));
        free(cut);
    }
    /* A call that failed may have written to the memory. */
    EXPECT(UNDERTONE_STATUS_OK, INIT(memory, size, file, IMAGE, counting_entropy, &ledger));
    HOLD(ledger == (void *)memory);
#undef INIT

    /* An invalid handle. */
    undertone_grant *grant = untouched;
    void *zeroes = calloc(1, size);
    HOLD(zeroes != NULL);
    void *moved = copy_of(memory, size);
    undertone_ledger *wrong[] = {NULL, zeroes, moved, f->pack_memory, (void *)(memory + 1)};
    const int32_t statuses[] = {UNDERTONE_STATUS_NULL_POINTER, UNDERTONE_STATUS_BAD_HANDLE, UNDERTONE_STATUS_BAD_HANDLE,
                                UNDERTONE_STATUS_BAD_HANDLE, UNDERTONE_STATUS_MISALIGNED};
    written = 99;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        EXPECT(statuses[i], undertone_ledger_reserve_epsilon(wrong[i], 1, 1, 1, file, IMAGE, out, RECORD,
                                                     &written, &offset));
        EXPECT(statuses[i], undertone_ledger_grant(wrong[i], file, IMAGE, f->grant_memory,
                                                   f->grant_size, &grant));
    }
    free(zeroes);
    free(moved);

    const uint64_t none = 0;
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, left_in(file, 1, 1, NULL, NULL));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, left_in(NULL, 1, 1, NULL, &micro));
    EXPECT(UNDERTONE_STATUS_LEDGER_WRONG_LENGTH, undertone_ledger_remaining(1, NULL, 0, 1, NULL, &micro));
    EXPECT(UNDERTONE_STATUS_MISALIGNED, left_in(file, 1, 1, (const void *)((const char *)&none + 1), &micro));
    EXPECT(UNDERTONE_STATUS_OVERLAP, left_in((void *)&micro, 1, 1, NULL, &micro));
    EXPECT(UNDERTONE_STATUS_OVERLAP, left_in(file, 1, 1, &micro, &micro));
    EXPECT(UNDERTONE_STATUS_UNKNOWN_UNIT, left_in(file, 5, 1, &none, &micro));
    HOLD(micro == 99);
#define RESERVE(epsilon, stored, len, record, capacity, written, offset)                           \
    undertone_ledger_reserve_epsilon(ledger, epsilon, 1, 1, stored, len, record, capacity, written, offset)
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RESERVE(1, NULL, IMAGE, out, RECORD, &written, &offset));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RESERVE(1, file, IMAGE, NULL, RECORD, &written, &offset));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RESERVE(1, file, IMAGE, out, RECORD, NULL, &offset));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RESERVE(1, file, IMAGE, out, RECORD, &written, NULL));
    EXPECT(UNDERTONE_STATUS_EPSILON_TOO_SMALL, RESERVE(0, file, IMAGE, out, RECORD, &written, &offset));
    EXPECT(UNDERTONE_STATUS_EPSILON_TOO_LARGE,
           RESERVE(UINT32_MAX, file, IMAGE, out, RECORD, &written, &offset));
    EXPECT(UNDERTONE_STATUS_OVERLAP, RESERVE(1, file, IMAGE, file, RECORD, &written, &offset));
    EXPECT(UNDERTONE_STATUS_OVERLAP, RESERVE(1, file, IMAGE, (void *)ledger, RECORD, &written, &offset));
    EXPECT(UNDERTONE_STATUS_OVERLAP, RESERVE(1, file, IMAGE, out, RECORD, &written, &written));
    EXPECT(UNDERTONE_STATUS_LEDGER_WRONG_LENGTH, RESERVE(1, NULL, 0, out, RECORD, &written, &offset));
    EXPECT(UNDERTONE_STATUS_LEDGER_WRONG_LENGTH, RESERVE(1, file, IMAGE + 1, out, RECORD, &written, &offset));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, RESERVE(1, file, SIZE_MAX, out, RECORD, &written, &offset));
    HOLD(written == 99 && offset == 99 && micro == 99 && grant == untouched);
    for (size_t capacity = 0; capacity < RECORD; capacity++) {
        uint8_t *exact = allocate(capacity);
        written = 99;
        EXPECT(UNDERTONE_STATUS_BUFFER_TOO_SMALL,
               RESERVE(1, file, IMAGE, exact, capacity, &written, &offset));
        HOLD(written == RECORD && offset == 99);
        free(exact);
    }
#undef RESERVE
    /* None of that reserved anything. */
    EXPECT(UNDERTONE_STATUS_LEDGER_NOT_RESERVED, grant_of(f, ledger, file, &grant));
    HOLD(remaining(file, 1) == 10);

    EXPECT(UNDERTONE_STATUS_OK, reserve(ledger, 1, 1, file));
    uint8_t *room = allocate(f->grant_size + 1);
#define GRANT(read_back, len, memory, size, out)                                                   \
    undertone_ledger_grant(ledger, read_back, len, memory, size, out)
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, GRANT(NULL, IMAGE, room, f->grant_size, &grant));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, GRANT(file, IMAGE, NULL, f->grant_size, &grant));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, GRANT(file, IMAGE, room, f->grant_size, NULL));
    EXPECT(UNDERTONE_STATUS_MISALIGNED, GRANT(file, IMAGE, room + 1, f->grant_size, &grant));
    EXPECT(UNDERTONE_STATUS_MEMORY_TOO_SMALL, GRANT(file, IMAGE, room, f->grant_size - 1, &grant));
    EXPECT(UNDERTONE_STATUS_OVERLAP, GRANT(file, IMAGE, (void *)ledger, size, &grant));
    EXPECT(UNDERTONE_STATUS_OVERLAP, GRANT((void *)ledger, IMAGE, room, f->grant_size, &grant));
    EXPECT(UNDERTONE_STATUS_OVERLAP, GRANT(file, IMAGE, room, f->grant_size, (void *)room));
    EXPECT(UNDERTONE_STATUS_LEDGER_WRONG_LENGTH, GRANT(file, IMAGE - 1, room, f->grant_size, &grant));
    EXPECT(UNDERTONE_STATUS_LEDGER_WRONG_LENGTH, GRANT(NULL, 0, room, f->grant_size, &grant));
    HOLD(grant == untouched);
    EXPECT(UNDERTONE_STATUS_OK, GRANT(file, IMAGE, room, f->grant_size, &grant));
    HOLD(grant == (void *)room);
#undef GRANT
    free(room);
    free(memory);
}

static void ledgers_grant_what_is_recorded_and_no_more(const struct fixture *f)
{
    uint8_t file[IMAGE], before[IMAGE], torn[IMAGE];
    undertone_grant *grant;
    undertone_document *document = new_document(f);
    uint8_t release[UNDERTONE_RELEASE_BYTES];
    size_t written = 99;
    create_ledger(10, file);
    undertone_ledger *ledger = open_ledger(file, 1);
    HOLD(remaining(file, 20000) == 10);

    /* A grant for each reservation, a release for each grant. */
    EXPECT(UNDERTONE_STATUS_OK, reserve(ledger, 4, 20000, file));
    HOLD(remaining(file, 20000) == 6);
    EXPECT(UNDERTONE_STATUS_OK, grant_of(f, ledger, file, &grant));
    undertone_grant *const first = grant;
    EXPECT(UNDERTONE_STATUS_LEDGER_NOT_RESERVED, grant_of(f, ledger, file, &grant));
    calls = 0;
#define RELEASE(grant)                                                                             \
    undertone_document_release(document, grant, 1, counting_entropy, NULL, release, sizeof release, \
                               &written)
    EXPECT(UNDERTONE_STATUS_OK, RELEASE(first));
    EXPECT(UNDERTONE_STATUS_GRANT_SPENT, RELEASE(first));
    HOLD(calls == 1 && release[8] == 4);

    /* The read-back is stale, torn, or somebody else's. */
    memcpy(before, file, IMAGE);
    EXPECT(UNDERTONE_STATUS_OK, reserve(ledger, 1, 20000, file));
    EXPECT(UNDERTONE_STATUS_LEDGER_NOT_PERSISTED, grant_of(f, ledger, before, &grant));
    for (size_t at = 0; at < IMAGE; at++) {
        memcpy(torn, file, IMAGE);
        torn[at] ^= 0x10;
        EXPECT(UNDERTONE_STATUS_LEDGER_NOT_PERSISTED, grant_of(f, ledger, torn, &grant));
    }
    /* The earlier grant stays valid, and a reservation that failed stays spent. */
    EXPECT(UNDERTONE_STATUS_GRANT_SPENT, RELEASE(first));
    HOLD(remaining(file, 20000) == 5);
    EXPECT(UNDERTONE_STATUS_OK, grant_of(f, ledger, file, &grant));

    /* Two handles over one file: the second is stale, or loses. */
    undertone_ledger *other = open_ledger(file, 2);
    EXPECT(UNDERTONE_STATUS_OK, reserve(other, 1, 20000, file));
    EXPECT(UNDERTONE_STATUS_OK, grant_of(f, other, file, &grant));
    EXPECT(UNDERTONE_STATUS_LEDGER_CHANGED, reserve(ledger, 1, 20000, file));
    free(ledger);
    ledger = open_ledger(file, 1);
    memcpy(before, file, IMAGE);
    EXPECT(UNDERTONE_STATUS_OK, reserve(ledger, 1, 20000, before));
    EXPECT(UNDERTONE_STATUS_OK, reserve(other, 1, 20000, file));
    EXPECT(UNDERTONE_STATUS_LEDGER_NOT_PERSISTED, grant_of(f, ledger, file, &grant));
    EXPECT(UNDERTONE_STATUS_OK, grant_of(f, other, file, &grant));
    free(ledger);
    free(other);

    /* Empty until the next window; a clock that goes back is noticed. */
    ledger = open_ledger(file, 1);
    HOLD(remaining(file, 20000) == 3);
    EXPECT(UNDERTONE_STATUS_LEDGER_EXHAUSTED, reserve(ledger, 4, 20000, file));
    EXPECT(UNDERTONE_STATUS_OK, reserve(ledger, 3, 20000, file));
    EXPECT(UNDERTONE_STATUS_OK, grant_of(f, ledger, file, &grant));
    EXPECT(UNDERTONE_STATUS_LEDGER_EXHAUSTED, reserve(ledger, 1, 20000, file));
    EXPECT(UNDERTONE_STATUS_OK, reserve(ledger, 1, 20001, file));
    EXPECT(UNDERTONE_STATUS_OK, grant_of(f, ledger, file, &grant));
    uint64_t micro = 99;
    EXPECT(UNDERTONE_STATUS_LEDGER_FROM_FUTURE, left_in(file, UNDERTONE_UNIT_SENTENCE, 20000, NULL, &micro));
    EXPECT(UNDERTONE_STATUS_LEDGER_FROM_FUTURE, reserve(ledger, 1, 20000, file));
    HOLD(micro == 99);
    free(ledger);

    /* A torn record costs the rest of its window. */
    memcpy(torn, file, IMAGE);
    torn[30] ^= 1;
    ledger = open_ledger(torn, 1);
    HOLD(remaining(torn, 20001) == 0);
    EXPECT(UNDERTONE_STATUS_LEDGER_RECORD_LOST, reserve(ledger, 1, 20001, torn));
    EXPECT(UNDERTONE_STATUS_LEDGER_RECORD_LOST, grant_of(f, ledger, torn, &grant));
    EXPECT(UNDERTONE_STATUS_LEDGER_EXHAUSTED, reserve(ledger, 1, 20001, torn));
    HOLD(remaining(torn, 20002) == 10);
    free(ledger);

    /* Not a ledger. */
    void *memory = allocate(UNDERTONE_LEDGER_HANDLE_SIZE);
    undertone_ledger *none = untouched;
#define INIT() \
    undertone_ledger_open(memory, UNDERTONE_LEDGER_HANDLE_SIZE, UNDERTONE_UNIT_SENTENCE, torn, IMAGE, \
                          counting_entropy, NULL, &none)
    memset(torn, 0, IMAGE);
    EXPECT(UNDERTONE_STATUS_NOT_A_LEDGER, INIT());
    memcpy(torn, file, IMAGE);
    torn[30] ^= 1;
    CASE(damaged_ledger);
    torn[RECORD + 30] ^= 1;
    EXPECT(UNDERTONE_STATUS_LEDGER_DAMAGED, INIT());
    memcpy(torn, file, RECORD);
    memcpy(torn + RECORD, file, RECORD);
    EXPECT(UNDERTONE_STATUS_LEDGER_MIXED, INIT());
    HOLD(none == untouched);
#undef INIT
#undef RELEASE
    free(memory);
}

/* A file in memory, and the planned failures. */
struct stored {
    uint8_t file[IMAGE + 1];
    size_t len;
    uint64_t counter;
    /* A letter for each call: Lock, Read, Write, Counter, Up, eXit. */
    char said[32];
    /* The call that fails, from 0; those after it work. */
    size_t fails;
    int stuck;
};

static int32_t say(struct stored *stored, char what)
{
    const size_t call = strlen(stored->said);
    HOLD(call + 1 < sizeof stored->said);
    stored->said[call] = what;
    return call == stored->fails ? 7 : 0;
}

static int32_t stored_lock(void *context) { return say(context, 'L'); }

static void stored_unlock(void *context) { (void)say(context, 'X'); }

static int32_t stored_read(void *context, uint8_t *out, size_t capacity, size_t *out_read)
{
    struct stored *stored = context;
    HOLD(capacity == IMAGE + 1);
    memcpy(out, stored->file, stored->len < capacity ? stored->len : capacity);
    *out_read = stored->len;
    return say(stored, 'R');
}

static int32_t stored_write(void *context, size_t offset, const uint8_t *bytes, size_t len)
{
    struct stored *stored = context;
    HOLD(len == RECORD && (offset == 0 || offset == RECORD));
    const int32_t status = say(stored, 'W');
    if (status == 0) memcpy(stored->file + offset, bytes, len);
    return status;
}

static int32_t stored_counter(void *context, uint64_t *out_counter)
{
    struct stored *stored = context;
    *out_counter = stored->counter;
    return say(stored, 'C');
}

static int32_t stored_raise(void *context, uint64_t to)
{
    struct stored *stored = context;
    const int32_t status = say(stored, 'U');
    if (status == 0 && !stored->stuck) stored->counter = to;
    return status;
}

static undertone_ledger_storage storage_of(struct stored *stored, int counts)
{
    undertone_ledger_storage storage = {stored,       stored_lock,  stored_unlock,
                                        stored_read,  stored_write, counts ? stored_counter : NULL,
                                        counts ? stored_raise : NULL};
    memset(stored, 0, sizeof *stored);
    create_ledger(10, stored->file);
    stored->len = IMAGE;
    stored->fails = SIZE_MAX;
    return storage;
}

/* Spends, and records the order of the calls. */
static int32_t spend_one(const struct fixture *f, const undertone_ledger_storage *storage, uint32_t epsilon,
                         uint64_t window, undertone_grant **grant, uint64_t *left)
{
    struct stored *stored = storage->context;
    memset(stored->said, 0, sizeof stored->said);
    *grant = untouched;
    *left = 99;
    return undertone_ledger_spend(storage, UNDERTONE_UNIT_SENTENCE, epsilon, 1, window, counting_entropy, NULL,
                                  f->grant_memory, f->grant_size, grant, left);
}

static void spending_arguments_are_checked(const struct fixture *f)
{
    struct stored stored;
    const undertone_ledger_storage storage = storage_of(&stored, 1);
    undertone_grant *grant = untouched;
    uint64_t left = 99;
    uint8_t image[IMAGE];
    size_t written = 99;
    uint8_t *memory = f->grant_memory;
    const size_t size = f->grant_size;
#define SPEND(storage, unit, epsilon, words, entropy, memory, size, out, left) \
    undertone_ledger_spend(storage, unit, epsilon, words, 1, entropy, NULL, memory, size, out, left)
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, SPEND(NULL, 1, 1, 1, counting_entropy, memory, size, &grant, &left));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, SPEND(&storage, 1, 1, 1, NULL, memory, size, &grant, &left));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, SPEND(&storage, 1, 1, 1, counting_entropy, NULL, size, &grant, &left));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, SPEND(&storage, 1, 1, 1, counting_entropy, memory, size, NULL, &left));
    EXPECT(UNDERTONE_STATUS_MEMORY_TOO_SMALL, SPEND(&storage, 1, 1, 1, counting_entropy, memory, size - 1, &grant, &left));
    EXPECT(UNDERTONE_STATUS_MISALIGNED, SPEND(&storage, 1, 1, 1, counting_entropy, memory + 1, size, &grant, &left));
    EXPECT(UNDERTONE_STATUS_OVERLAP, SPEND(&storage, 1, 1, 1, counting_entropy, memory, size, (void *)memory, &left));
    EXPECT(UNDERTONE_STATUS_OVERLAP, SPEND(&storage, 1, 1, 1, counting_entropy, memory, size, &grant, (void *)memory));
    for (int32_t unit = -1; unit <= 6; unit += unit == 0 ? 5 : 1)
        EXPECT(UNDERTONE_STATUS_UNKNOWN_UNIT, SPEND(&storage, unit, 1, 1, counting_entropy, memory, size, &grant, &left));
    EXPECT(UNDERTONE_STATUS_EPSILON_TOO_SMALL, SPEND(&storage, 1, 0, 1, counting_entropy, memory, size, &grant, &left));
    EXPECT(UNDERTONE_STATUS_EPSILON_TOO_LARGE,
           SPEND(&storage, 1, 1000000001, 1, counting_entropy, memory, size, &grant, &left));
    CASE(words_out_of_range);
    const uint32_t words[] = {0, 257, 65537, UINT32_MAX};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        EXPECT(UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE,
               SPEND(&storage, 1, 1, words[i], counting_entropy, memory, size, &grant, &left));
    undertone_ledger_storage odd[] = {storage, storage, storage, storage, storage, storage};
    odd[0].lock = NULL;
    odd[1].unlock = NULL;
    odd[2].read = NULL;
    odd[3].write = NULL;
    odd[4].read_counter = NULL;
    odd[5].raise_counter = NULL;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        EXPECT(UNDERTONE_STATUS_NULL_POINTER, SPEND(&odd[i], 1, 1, 1, counting_entropy, memory, size, &grant, &left));
        EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_ledger_recreate_spent(&odd[i], 1, 9, 1, counting_entropy, NULL, image,
                                                                          IMAGE, &written));
    }
#define RECREATE(storage, unit, budget, entropy, out, capacity, written) \
    undertone_ledger_recreate_spent(storage, unit, budget, 1, entropy, NULL, out, capacity, written)
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RECREATE(NULL, 1, 9, counting_entropy, image, IMAGE, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RECREATE(&storage, 1, 9, NULL, image, IMAGE, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RECREATE(&storage, 1, 9, counting_entropy, NULL, IMAGE, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RECREATE(&storage, 1, 9, counting_entropy, image, IMAGE, NULL));
    EXPECT(UNDERTONE_STATUS_UNKNOWN_UNIT, RECREATE(&storage, 0, 9, counting_entropy, image, IMAGE, &written));
    HOLD(written == 99 && stored.counter == 0);
    EXPECT(UNDERTONE_STATUS_LEDGER_NO_BUDGET, RECREATE(&storage, 1, 0, counting_entropy, image, IMAGE, &written));
    EXPECT(UNDERTONE_STATUS_BUFFER_TOO_SMALL, RECREATE(&storage, 1, 9, counting_entropy, image, IMAGE - 1, &written));
    HOLD(written == IMAGE && grant == untouched && left == 99 && stored.counter == 0);
#undef RECREATE
#undef SPEND
    /* Only the counter was called, by the earlier calls. */
    for (const char *c = stored.said; *c != '\0'; c++) HOLD(*c == 'C');
}

static void one_call_spends(const struct fixture *f)
{
    struct stored stored, before;
    undertone_grant *grant;
    uint64_t left;
    uint8_t release[UNDERTONE_RELEASE_BYTES], image[IMAGE];
    size_t written;
    undertone_document *document = new_document(f);
    undertone_ledger_storage storage = storage_of(&stored, 0);

    /* Everything in the right order, and the grant is good for one release for its unit. */
    EXPECT(UNDERTONE_STATUS_OK, spend_one(f, &storage, 4, 7, &grant, &left));
    HOLD(left == 6 && strcmp(stored.said, "LRRWRX") == 0);
    EXPECT(UNDERTONE_STATUS_GRANT_WRONG_UNIT, undertone_bag_release(f->bag, grant, 1, 1, counting_entropy, NULL, release,
                                                                    sizeof release + 2, &written));
    EXPECT(UNDERTONE_STATUS_OK,
           undertone_document_release(document, grant, 1, counting_entropy, NULL, release, sizeof release, &written));
    EXPECT(UNDERTONE_STATUS_OK, left_in(stored.file, UNDERTONE_UNIT_SENTENCE, 7, NULL, &left));
    HOLD(left == 6);
    CASE(over_budget);
    EXPECT(UNDERTONE_STATUS_LEDGER_EXHAUSTED, spend_one(f, &storage, 7, 7, &grant, &left));
    HOLD(left == 6 && grant == untouched && strcmp(stored.said, "LRRX") == 0);
    CASE(clock_set_back);
    EXPECT(UNDERTONE_STATUS_LEDGER_FROM_FUTURE, spend_one(f, &storage, 1, 6, &grant, &left));
    HOLD(left == 99);
    CASE(ledger_of_another_unit);
    for (int32_t unit = UNDERTONE_UNIT_WHOLE_TEXT; unit <= UNDERTONE_UNIT_VECTOR; unit++) {
        EXPECT(UNDERTONE_STATUS_LEDGER_WRONG_UNIT, left_in(stored.file, unit, 7, NULL, &left));
        EXPECT(UNDERTONE_STATUS_LEDGER_WRONG_UNIT,
               undertone_ledger_spend(&storage, unit, 1, 1, 7, counting_entropy, NULL, f->grant_memory, f->grant_size,
                                      &grant, NULL));
    }

    /* A torn record: every call returns the same, and the next window works. */
    stored.file[30] ^= 1;
    EXPECT(UNDERTONE_STATUS_OK, left_in(stored.file, UNDERTONE_UNIT_SENTENCE, 7, NULL, &left));
    HOLD(left == 0);
    EXPECT(UNDERTONE_STATUS_LEDGER_RECORD_LOST, spend_one(f, &storage, 1, 7, &grant, &left));
    HOLD(left == 0 && grant == untouched);
    EXPECT(UNDERTONE_STATUS_LEDGER_EXHAUSTED, spend_one(f, &storage, 1, 7, &grant, &left));
    EXPECT(UNDERTONE_STATUS_OK, spend_one(f, &storage, 1, 8, &grant, &left));
    HOLD(left == 9);

    CASE(missing_ledger);
    CASE(ledger_in_use);
    /* Whatever step fails: no grant, and the file is unlocked. */
    for (int counts = 0; counts < 2; counts++) {
        const char *const steps = counts ? "LRRCUCWRX" : "LRRWRX";
        for (size_t step = 0; step + 1 < strlen(steps); step++) {
            storage = storage_of(&stored, counts);
            stored.fails = step;
            EXPECT(step == 0 ? UNDERTONE_STATUS_LEDGER_IN_USE : UNDERTONE_STATUS_LEDGER_STORAGE_FAILED,
                   spend_one(f, &storage, 4, 7, &grant, &left));
            HOLD(grant == untouched && strncmp(stored.said, steps, step + 1) == 0);
            HOLD(step == 0 ? stored.said[1] == '\0' : strcmp(stored.said + step + 1, "X") == 0);
            /* A write counts; a counter that was raised costs the window. */
            stored.fails = SIZE_MAX;
            const int32_t again = spend_one(f, &storage, 10, 7, &grant, &left);
            const int raised = counts && step >= 5, kept = step + 2 == strlen(steps);
            HOLD(again == (kept               ? UNDERTONE_STATUS_LEDGER_EXHAUSTED
                           : raised           ? UNDERTONE_STATUS_LEDGER_RECORD_LOST
                                              : UNDERTONE_STATUS_OK));
        }
    }

    CASE(short_ledger);
    /* A file of another length, and one that is none. */
    storage = storage_of(&stored, 0);
    for (size_t len = 0; len <= IMAGE + 40; len++) {
        stored.len = len;
        if (len != IMAGE) EXPECT(UNDERTONE_STATUS_LEDGER_WRONG_LENGTH, spend_one(f, &storage, 1, 1, &grant, &left));
    }
    stored.len = IMAGE;
    CASE(foreign_ledger);
    memset(stored.file, 0, IMAGE);
    EXPECT(UNDERTONE_STATUS_NOT_A_LEDGER, spend_one(f, &storage, 1, 1, &grant, &left));

    /* Recreated: this window is spent. */
    EXPECT(UNDERTONE_STATUS_OK, undertone_ledger_recreate_spent(&storage, UNDERTONE_UNIT_SENTENCE, 10, 1, counting_entropy,
                                                            NULL, image, IMAGE, &written));
    memcpy(stored.file, image, IMAGE);
    EXPECT(UNDERTONE_STATUS_LEDGER_EXHAUSTED, spend_one(f, &storage, 1, 1, &grant, &left));
    EXPECT(UNDERTONE_STATUS_OK, spend_one(f, &storage, 1, 2, &grant, &left));

    CASE(set_back_ledger);
    /* With a counter, an older file gives nothing. */
    storage = storage_of(&stored, 1);
    before = stored;
    EXPECT(UNDERTONE_STATUS_OK, spend_one(f, &storage, 4, 7, &grant, &left));
    HOLD(left == 6 && strcmp(stored.said, "LRRCUCWRX") == 0 && stored.counter == 2);
    EXPECT(UNDERTONE_STATUS_OK, spend_one(f, &storage, 4, 7, &grant, &left));
    const struct stored newest = stored;
    memcpy(stored.file, before.file, IMAGE);
    EXPECT(UNDERTONE_STATUS_LEDGER_SET_BACK, spend_one(f, &storage, 1, 7, &grant, &left));
    EXPECT(UNDERTONE_STATUS_LEDGER_SET_BACK, left_in(stored.file, UNDERTONE_UNIT_SENTENCE, 7, &stored.counter, &left));
    EXPECT(UNDERTONE_STATUS_OK, undertone_ledger_recreate_spent(&storage, UNDERTONE_UNIT_SENTENCE, 10, 7, counting_entropy,
                                                            NULL, image, IMAGE, &written));
    memcpy(stored.file, newest.file, IMAGE);
    EXPECT(UNDERTONE_STATUS_LEDGER_RECORD_LOST, spend_one(f, &storage, 1, 7, &grant, &left));
    memcpy(stored.file, image, IMAGE);
    EXPECT(UNDERTONE_STATUS_LEDGER_RECORD_LOST, spend_one(f, &storage, 1, 7, &grant, &left));
    stored.stuck = 1;
    EXPECT(UNDERTONE_STATUS_LEDGER_NOT_RAISED, spend_one(f, &storage, 1, 8, &grant, &left));

    storage = storage_of(&stored, 0);
    EXPECT(UNDERTONE_STATUS_OK, undertone_ledger_create_image(UNDERTONE_UNIT_WORD, 5000000, counting_entropy, NULL, stored.file,
                                                              IMAGE, &written));
    /* Five words cost five times as much, and the grant is for no more. */
    uint8_t words[64];
    EXPECT(UNDERTONE_STATUS_OK,
           undertone_ledger_spend(&storage, UNDERTONE_UNIT_WORD, 900000, 5, 7, counting_entropy, NULL, f->grant_memory,
                                  f->grant_size, &grant, &left));
    HOLD(left == 500000);
    CASE(bag_of_more_words);
    EXPECT(UNDERTONE_STATUS_GRANT_TOO_FEW_WORDS,
           undertone_bag_release(f->bag, grant, 6, UNDERTONE_WORD_METHOD_EXPONENTIAL, counting_entropy, NULL, words,
                                 sizeof words, &written));
    EXPECT(UNDERTONE_STATUS_OK,
           undertone_bag_release(f->bag, grant, 5, UNDERTONE_WORD_METHOD_EXPONENTIAL, counting_entropy, NULL, words,
                                 sizeof words, &written));
    EXPECT(UNDERTONE_STATUS_LEDGER_WRONG_UNIT, spend_one(f, &storage, 1, 7, &grant, &left));
}

static void releases_are_read_back(const struct fixture *f)
{
    uint8_t release[UNDERTONE_RELEASE_BYTES + 1];
    EXPECT(UNDERTONE_STATUS_OK, release_with(f, new_document(f), counting_entropy, NULL, release));
    release[UNDERTONE_RELEASE_BYTES] = 0;
    uint32_t candidate = 77, epsilon = 77;
    int32_t rule = 77;
    uint8_t id[UNDERTONE_PACK_ID_BYTES] = {0};
#define READ(bytes, len)                                                                           \
    undertone_release_read(bytes, len, &candidate, &epsilon, &rule, NULL, NULL, id)
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, READ(NULL, 24));
    EXPECT(UNDERTONE_STATUS_RELEASE_WRONG_LENGTH, READ(NULL, 0));
    EXPECT(UNDERTONE_STATUS_RELEASE_WRONG_LENGTH, READ(release, 25));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, READ(release, SIZE_MAX));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_release_read(NULL, 24, NULL, NULL, NULL, NULL, NULL, NULL));
    EXPECT(UNDERTONE_STATUS_MISALIGNED,
           undertone_release_read(release, 24, (void *)((uint8_t *)f->embedding + 1), NULL, NULL, NULL, NULL, NULL));
    EXPECT(UNDERTONE_STATUS_RELEASE_WRONG_LENGTH, undertone_release_read(release, 25, NULL, NULL, NULL, NULL, NULL, NULL));
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           undertone_release_read(release, 24, &candidate, &candidate, &rule, NULL, NULL, id));
    CASE(short_release);
    for (size_t len = 0; len < 24; len++) {
        uint8_t *cut = copy_of(release, len);
        EXPECT(UNDERTONE_STATUS_RELEASE_WRONG_LENGTH, READ(cut, len));
        free(cut);
    }
    CASE(foreign_release);
    CASE(forged_release);
    for (size_t at = 0; at < 8; at++) {
        uint8_t *wrong = copy_of(release, 24);
        wrong[at] ^= 0x80;
        EXPECT(at < 3    ? UNDERTONE_STATUS_NOT_A_RELEASE
               : at == 3 ? UNDERTONE_STATUS_RELEASE_UNSUPPORTED_VERSION
                         : UNDERTONE_STATUS_RELEASE_MALFORMED,
               READ(wrong, 24));
        free(wrong);
    }
    memset(release + 8, 0, 4);
    EXPECT(UNDERTONE_STATUS_RELEASE_MALFORMED, READ(release, 24));
    memset(release + 8, 0xff, 4);
    EXPECT(UNDERTONE_STATUS_RELEASE_MALFORMED, READ(release, 24));
    HOLD(candidate == 77 && epsilon == 77 && rule == 77);

    EXPECT(UNDERTONE_STATUS_OK, release_with(f, new_document(f), counting_entropy, NULL, release));
    EXPECT(UNDERTONE_STATUS_OK, READ(release, 24));
    HOLD(candidate < describe(f->pack).candidate_count);
    HOLD(epsilon == 5000000 && rule == UNDERTONE_RULE_EXPONENTIAL);
    HOLD(memcmp(id, f->bytes + 32, sizeof id) == 0);
    /* Each alone, as the four together, and none: whether it is a release. */
    uint32_t alone[2] = {77, 77};
    int32_t alone_rule = 77;
    uint8_t alone_id[UNDERTONE_PACK_ID_BYTES] = {0};
    EXPECT(UNDERTONE_STATUS_OK, undertone_release_read(release, 24, &alone[0], NULL, NULL, NULL, NULL, NULL));
    HOLD(alone[0] == candidate && alone[1] == 77 && alone_rule == 77);
    EXPECT(UNDERTONE_STATUS_OK, undertone_release_read(release, 24, NULL, &alone[1], NULL, NULL, NULL, NULL));
    EXPECT(UNDERTONE_STATUS_OK, undertone_release_read(release, 24, NULL, NULL, &alone_rule, NULL, NULL, NULL));
    EXPECT(UNDERTONE_STATUS_OK, undertone_release_read(release, 24, NULL, NULL, NULL, NULL, NULL, alone_id));
    HOLD(alone[1] == epsilon && alone_rule == rule && memcmp(id, alone_id, sizeof id) == 0);
    EXPECT(UNDERTONE_STATUS_OK, undertone_release_read(release, 24, NULL, NULL, NULL, NULL, NULL, NULL));
#undef READ
}

/* --- Sentences of a text --- */

static void sentences_are_found(const struct fixture *f)
{
    static const char text[] = "One. two! \xf0\x9f\x99\x82 Three (3.5)";
    const size_t len = sizeof text - 1;
    size_t start = 99, length = 99;
    typedef int32_t next(const char *, size_t, size_t, size_t *, size_t *);
    next *const functions[] = {undertone_sentence_next, undertone_sentence_next_finished};
    for (size_t i = 0; i < 2; i++) {
        EXPECT(UNDERTONE_STATUS_NULL_POINTER, functions[i](NULL, 1, 0, &start, &length));
        EXPECT(UNDERTONE_STATUS_NULL_POINTER, functions[i](text, len, 0, NULL, &length));
        EXPECT(UNDERTONE_STATUS_NULL_POINTER, functions[i](text, len, 0, &start, NULL));
        EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, functions[i](text, SIZE_MAX, 0, &start, &length));
        EXPECT(UNDERTONE_STATUS_OVERLAP, functions[i](text, len, 0, &start, &start));
        EXPECT(UNDERTONE_STATUS_OVERLAP, functions[i]((void *)&start, 8, 0, &start, &length));
        HOLD(start == 99 && length == 99);
        static const size_t behind[] = {sizeof text - 1, sizeof text, SIZE_MAX / 2, SIZE_MAX};
        for (size_t j = 0; j < sizeof behind / sizeof *behind; j++) {
            EXPECT(UNDERTONE_STATUS_OK, functions[i](text, len, behind[j], &start, &length));
            HOLD(length == 0 && start == len);
        }
        EXPECT(UNDERTONE_STATUS_OK, functions[i](NULL, 0, 0, &start, &length));
        HOLD(length == 0 && start == 0);
        /* Any start, also inside of a character, in a block that ends where the text does. */
        char *copy = copy_of(text, len);
        for (size_t from = 0; from < len; from++) {
            EXPECT(UNDERTONE_STATUS_OK, functions[i](copy, len, from, &start, &length));
            HOLD(start <= len && length <= len - start);
        }
        free(copy);
        start = 99, length = 99;
    }
    size_t count = 0, at = 0;
    for (;; count++, at = start + length) {
        EXPECT(UNDERTONE_STATUS_OK, undertone_sentence_next(text, len, at, &start, &length));
        if (length == 0) {
            break;
        }
    }
    HOLD(count == 3);
    EXPECT(UNDERTONE_STATUS_OK, undertone_sentence_next_finished(text, len, at, &start, &length));
    HOLD(length == 0);

    undertone_document *document = new_document(f);
    size_t added = 99;
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_document_push_text(document, NULL, 1, &added));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_document_push_text(NULL, text, len, &added));
    EXPECT(UNDERTONE_STATUS_BAD_HANDLE,
           undertone_document_push_text((void *)f->pack, text, len, &added));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH,
           undertone_document_push_text(document, text, SIZE_MAX, &added));
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_document_push_text(document, (void *)document, 8, &added));
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_document_push_text(document, text, len, (void *)document));
    HOLD(added == 99 && undertone_document_sentence_count(document) == 0);
    HOLD(undertone_document_sentence_count(NULL) == 0);
    HOLD(undertone_document_sentence_count((void *)f->pack) == 0);
    size_t sum = 0;
    for (int i = 0; i < 50; i++) {
        EXPECT(UNDERTONE_STATUS_OK, undertone_document_push_text(document, text, len, &added));
        sum += added;
        HOLD(undertone_document_sentence_count(document) == sum);
    }
    /* Those that there was no room for are left out. */
    HOLD(sum == UNDERTONE_MAX_SENTENCES && added == 0);
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_push_text(document, NULL, 0, &added));
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_reset(document));
    HOLD(undertone_document_sentence_count(document) == 0);
}

/* --- Sentence vectors --- */

static void sentence_vectors_are_checked(const struct fixture *f)
{
    float *out = allocate(f->dimension * sizeof *out);
    size_t written = 99;
#define VECTOR(text, len, out, capacity, written)                                                  \
    undertone_pack_embed_sentence(f->pack, text, len, out, capacity, written)
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, VECTOR(NULL, 1, out, f->dimension, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, VECTOR("word", 4, NULL, f->dimension, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, VECTOR("word", 4, out, f->dimension, NULL));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, VECTOR("word", SIZE_MAX, out, f->dimension, &written));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, VECTOR("word", 4, out, SIZE_MAX, &written));
    EXPECT(UNDERTONE_STATUS_MISALIGNED,
           VECTOR("word", 4, (void *)((uint8_t *)out + 1), f->dimension - 1, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP, VECTOR((void *)out, 4, out, f->dimension, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP, VECTOR("word", 4, (void *)f->pack, 4, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP, VECTOR("word", 4, (void *)&written, 1, &written));
    EXPECT(UNDERTONE_STATUS_NO_LEXICON,
           undertone_pack_embed_sentence(f->projection, "word", 4, out, f->dimension, &written));
    HOLD(written == 99);
    for (size_t capacity = 0; capacity < f->dimension; capacity++) {
        float *exact = allocate(capacity * sizeof *exact);
        EXPECT(UNDERTONE_STATUS_BUFFER_TOO_SMALL, VECTOR("word", 4, exact, capacity, &written));
        HOLD(written == f->dimension);
        free(exact);
    }
    static const char bytes[] = "\xff the good \xf0\x9f dog";
    EXPECT(UNDERTONE_STATUS_OK, VECTOR(bytes, sizeof bytes - 1, out, f->dimension, &written));
    HOLD(written == f->dimension);
    int any = 0;
    for (size_t i = 0; i < f->dimension; i++) {
        any |= out[i] > 0 || out[i] < 0;
    }
    HOLD(any);
    EXPECT(UNDERTONE_STATUS_OK, VECTOR(NULL, 0, out, f->dimension, &written));
    for (size_t i = 0; i < f->dimension; i++) {
        HOLD(!(out[i] > 0 || out[i] < 0));
    }
#undef VECTOR
    free(out);
}

/* --- Vectors --- */

static void vector_parameters_are_checked(const struct fixture *f)
{
    const size_t size = UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE;
    uint8_t *memory = allocate(size + 1);
    undertone_vector_mechanism *vector = untouched;
    const uint32_t micro = 1000000;
#define INIT(memory, size, dimension, bound, noise, epsilon)                                       \
    undertone_vector_mechanism_init(memory, size, dimension, bound, noise, epsilon, &vector)
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, INIT(NULL, size, 3, 0, UNDERTONE_NOISE_LAPLACE, micro));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_vector_mechanism_init(memory, size, 3, 0, UNDERTONE_NOISE_LAPLACE,
                                                                          micro, NULL));
    EXPECT(UNDERTONE_STATUS_MISALIGNED, INIT(memory + 1, size, 3, 0, UNDERTONE_NOISE_LAPLACE, micro));
    for (size_t len = 0; len < size; len++) {
        EXPECT(UNDERTONE_STATUS_MEMORY_TOO_SMALL, INIT(memory, len, 3, 0, UNDERTONE_NOISE_LAPLACE, micro));
    }
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_vector_mechanism_init(memory, size, 3, 0, UNDERTONE_NOISE_LAPLACE,
                                                                     micro, (void *)memory));
    EXPECT(UNDERTONE_STATUS_EPSILON_TOO_SMALL, INIT(memory, size, 3, 0, UNDERTONE_NOISE_LAPLACE, 0));
    EXPECT(UNDERTONE_STATUS_EPSILON_TOO_LARGE,
           INIT(memory, size, 3, 0, UNDERTONE_NOISE_LAPLACE, UINT32_MAX));
    EXPECT(UNDERTONE_STATUS_EPSILON_TOO_SMALL_FOR_NOISE,
           INIT(memory, size, 3, 0, UNDERTONE_NOISE_DISCRETE_LAPLACE, 99999));
    static const int32_t no_noise[] = {0, 1, 2, 5, -3, 259, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof no_noise / sizeof *no_noise; i++) {
        EXPECT(UNDERTONE_STATUS_UNKNOWN_NOISE, INIT(memory, size, 3, 0, no_noise[i], micro));
    }
    EXPECT(UNDERTONE_STATUS_DIMENSION_OUT_OF_RANGE,
           INIT(memory, size, 0, 0, UNDERTONE_NOISE_LAPLACE, micro));
    EXPECT(UNDERTONE_STATUS_DIMENSION_OUT_OF_RANGE,
           INIT(memory, size, UNDERTONE_MAX_VECTOR_DIMENSION + 1, 0, UNDERTONE_NOISE_LAPLACE,
                micro));
    EXPECT(UNDERTONE_STATUS_DIMENSION_OUT_OF_RANGE,
           INIT(memory, size, UINT32_MAX, 0, UNDERTONE_NOISE_LAPLACE, micro));
    static const int32_t no_bound[] = {40, -90, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof no_bound / sizeof *no_bound; i++) {
        EXPECT(UNDERTONE_STATUS_BOUND_OUT_OF_RANGE,
               INIT(memory, size, 3, no_bound[i], UNDERTONE_NOISE_LAPLACE, micro));
    }
#undef INIT
#define INIT(memory, size, pack)                                                                   \
    undertone_vector_mechanism_init_projected(memory, size, pack, UNDERTONE_NOISE_LAPLACE, micro, &vector)
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, INIT(NULL, size, f->projection));
    EXPECT(UNDERTONE_STATUS_MISALIGNED, INIT(memory + 1, size, f->projection));
    EXPECT(UNDERTONE_STATUS_MEMORY_TOO_SMALL, INIT(memory, size - 1, f->projection));
    EXPECT(UNDERTONE_STATUS_NO_PROJECTION, INIT(memory, size, f->pack));
    EXPECT(UNDERTONE_STATUS_OVERLAP, INIT((void *)f->projection, UNDERTONE_PACK_HANDLE_SIZE, f->projection));
    EXPECT(UNDERTONE_STATUS_UNKNOWN_NOISE, undertone_vector_mechanism_init_projected(memory, size, f->projection, 0,
                                                                                     micro, &vector));
    EXPECT(UNDERTONE_STATUS_EPSILON_TOO_SMALL_FOR_NOISE,
           undertone_vector_mechanism_init_projected(memory, size, f->projection, UNDERTONE_NOISE_LAPLACE, 1,
                                                     &vector));
#undef INIT
    HOLD(vector == untouched);
    free(memory);
}

static void vectors_are_checked(const struct fixture *f)
{
    const size_t size = UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE;
    void *memory = allocate(size);
    undertone_vector_mechanism *vector = NULL;
    EXPECT(UNDERTONE_STATUS_OK, undertone_vector_mechanism_init(memory, size, 3, 0, UNDERTONE_NOISE_DISCRETE_LAPLACE,
                                                                2000000, &vector));
    HOLD((void *)vector == memory);
    HOLD(undertone_vector_mechanism_dimension(vector) == 3);
    const size_t needed = undertone_vector_mechanism_release_len(vector);
    HOLD(needed == 48);
    const float point[3] = {NAN, -INFINITY, 0.5f};
    uint8_t *out = allocate(needed);
    memset(out, 0xee, needed);
    size_t written = 99;
    calls = 0;
    undertone_grant *grant = new_grant(f, UNDERTONE_UNIT_VECTOR, 2000000);
#define RELEASE(point, len, entropy, out, capacity, written)                                       \
    undertone_vector_mechanism_release(vector, grant, point, len, entropy, NULL, out, capacity, written)
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RELEASE(NULL, 3, counting_entropy, out, needed, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RELEASE(point, 3, NULL, out, needed, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RELEASE(point, 3, counting_entropy, NULL, needed, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RELEASE(point, 3, counting_entropy, out, needed, NULL));
    EXPECT(UNDERTONE_STATUS_WRONG_DIMENSION, RELEASE(point, 2, counting_entropy, out, needed, &written));
    EXPECT(UNDERTONE_STATUS_WRONG_DIMENSION, RELEASE(NULL, 0, counting_entropy, out, needed, &written));
    EXPECT(UNDERTONE_STATUS_WRONG_DIMENSION,
           RELEASE(f->embedding, 4, counting_entropy, out, needed, &written));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH,
           RELEASE(point, SIZE_MAX, counting_entropy, out, needed, &written));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH,
           RELEASE(point, 3, counting_entropy, out, SIZE_MAX, &written));
    EXPECT(UNDERTONE_STATUS_MISALIGNED, RELEASE((void *)((uint8_t *)f->embedding + 1), 3,
                                                counting_entropy, out, needed, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP, RELEASE(point, 3, counting_entropy, (void *)point, 12, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP, RELEASE(point, 3, counting_entropy, memory, size, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP, RELEASE(point, 3, counting_entropy, (void *)&written, 8, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP, RELEASE(point, 3, counting_entropy, out, needed, memory));
    HOLD(written == 99);
    for (size_t capacity = 0; capacity < needed; capacity++) {
        uint8_t *exact = allocate(capacity);
        written = 99;
        EXPECT(UNDERTONE_STATUS_BUFFER_TOO_SMALL,
               RELEASE(point, 3, counting_entropy, exact, capacity, &written));
        HOLD(written == needed);
        free(exact);
    }
    written = 99;
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           RELEASE(point, 3, counting_entropy, (void *)grant, f->grant_size, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           RELEASE((void *)grant, 3, counting_entropy, out, needed, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER,
           undertone_vector_mechanism_release(vector, NULL, point, 3, counting_entropy, NULL, out, needed, &written));
    EXPECT(UNDERTONE_STATUS_BAD_HANDLE,
           undertone_vector_mechanism_release(vector, (void *)f->pack, point, 3, counting_entropy, NULL, out,
                                              needed, &written));
    CASE(grant_of_another_epsilon);
    /* A grant of another epsilon is not spent. */
    grant = new_grant(f, UNDERTONE_UNIT_VECTOR, 2000001);
    EXPECT(UNDERTONE_STATUS_GRANT_WRONG_EPSILON,
           RELEASE(point, 3, counting_entropy, out, needed, &written));
    EXPECT(UNDERTONE_STATUS_GRANT_WRONG_EPSILON,
           RELEASE(point, 3, counting_entropy, out, needed, &written));
    HOLD(calls == 0);
    grant = new_grant(f, UNDERTONE_UNIT_VECTOR, 2000000);
    EXPECT(UNDERTONE_STATUS_ENTROPY_FAILED, RELEASE(point, 3, failing_entropy, out, needed, &written));
    EXPECT(UNDERTONE_STATUS_GRANT_SPENT, RELEASE(point, 3, counting_entropy, out, needed, &written));
    grant = new_grant(f, UNDERTONE_UNIT_VECTOR, 2000000);
    EXPECT(UNDERTONE_STATUS_ENTROPY_FAILED, RELEASE(point, 3, silent_entropy, out, needed, &written));
    grant = new_grant(f, UNDERTONE_UNIT_VECTOR, 2000000);
    uint8_t zero = 0;
    EXPECT(UNDERTONE_STATUS_ENTROPY_FAILED,
           undertone_vector_mechanism_release(vector, grant, point, 3, counting_entropy, &zero, out, needed,
                                              &written));
    grant = new_grant(f, UNDERTONE_UNIT_VECTOR, 2000000);
    HOLD(written == 99 && calls == 3);
    for (size_t i = 0; i < needed; i++) {
        HOLD(out[i] == 0xee);
    }
    EXPECT(UNDERTONE_STATUS_OK, RELEASE(point, 3, counting_entropy, out, needed, &written));
    HOLD(written == needed && calls == 4);
    EXPECT(UNDERTONE_STATUS_GRANT_SPENT, RELEASE(point, 3, counting_entropy, out, needed, &written));
    grant = new_grant(f, UNDERTONE_UNIT_VECTOR, 2000000);
#undef RELEASE

    void *zeroes = calloc(1, size);
    void *moved = copy_of(memory, size);
    HOLD(zeroes != NULL);
    const undertone_vector_mechanism *wrong[] = {NULL, zeroes, moved, (void *)f->pack,
                                       (void *)((uint8_t *)memory + 1)};
    const int32_t statuses[] = {UNDERTONE_STATUS_NULL_POINTER, UNDERTONE_STATUS_BAD_HANDLE, UNDERTONE_STATUS_BAD_HANDLE,
                                UNDERTONE_STATUS_BAD_HANDLE, UNDERTONE_STATUS_MISALIGNED};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        HOLD(undertone_vector_mechanism_dimension(wrong[i]) == 0);
        HOLD(undertone_vector_mechanism_release_len(wrong[i]) == 0);
        EXPECT(statuses[i], undertone_vector_mechanism_release(wrong[i], grant, point, 3, counting_entropy,
                                                               NULL, out, needed, &written));
    }
    HOLD(calls == 4);
    free(zeroes);
    free(moved);

    uint32_t dimension = 77, epsilon = 77;
    int32_t noise = 77, grid = 77, steps[3] = {77, 77, 77};
    double values[3] = {77, 77, 77};
    uint8_t id[UNDERTONE_PACK_ID_BYTES] = {0};
#define READ(bytes, len)                                                                           \
    undertone_vector_release_read(bytes, len, &dimension, &noise, &epsilon, &grid, id)
#define STEPS(bytes, len) undertone_vector_release_read_steps(bytes, len, steps, 3, &written)
#define VALUES(bytes, len) undertone_vector_release_read_values(bytes, len, values, 3, &written)
    written = 99;
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, READ(NULL, needed));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, STEPS(NULL, needed));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, VALUES(NULL, needed));
    EXPECT(UNDERTONE_STATUS_OK, undertone_vector_release_read(out, needed, NULL, NULL, NULL, NULL, NULL));
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           undertone_vector_release_read(out, needed, &dimension, &noise, &dimension, &grid, id));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_vector_release_read_steps(out, needed, NULL, 3, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_vector_release_read_steps(out, needed, steps, 3, NULL));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_vector_release_read_values(out, needed, NULL, 3, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           undertone_vector_release_read_steps(out, needed, (void *)out, 3, &written));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH,
           undertone_vector_release_read_values(out, needed, values, SIZE_MAX / 4, &written));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, READ(out, SIZE_MAX));
    for (size_t len = 0; len < needed; len++) {
        uint8_t *cut = copy_of(out, len);
        EXPECT(UNDERTONE_STATUS_RELEASE_WRONG_LENGTH, READ(cut, len));
        EXPECT(UNDERTONE_STATUS_RELEASE_WRONG_LENGTH, STEPS(cut, len));
        EXPECT(UNDERTONE_STATUS_RELEASE_WRONG_LENGTH, VALUES(cut, len));
        free(cut);
    }
    for (size_t at = 0; at < 8; at++) {
        uint8_t *changed = copy_of(out, needed);
        changed[at] ^= 0x80;
        EXPECT(at < 3    ? UNDERTONE_STATUS_NOT_A_RELEASE
               : at == 3 ? UNDERTONE_STATUS_RELEASE_UNSUPPORTED_VERSION
                         : UNDERTONE_STATUS_RELEASE_MALFORMED,
               READ(changed, needed));
        free(changed);
    }
    HOLD(dimension == 77 && epsilon == 77 && noise == 77 && grid == 77);
    for (size_t capacity = 0; capacity < 3; capacity++) {
        written = 99;
        EXPECT(UNDERTONE_STATUS_BUFFER_TOO_SMALL,
               undertone_vector_release_read_steps(out, needed, steps, capacity, &written));
        HOLD(written == 3);
        EXPECT(UNDERTONE_STATUS_BUFFER_TOO_SMALL,
               undertone_vector_release_read_values(out, needed, values, capacity, &written));
    }
    HOLD(steps[0] == 77);
    EXPECT(UNDERTONE_STATUS_OK, READ(out, needed));
    HOLD(dimension == 3 && epsilon == 2000000 && noise == UNDERTONE_NOISE_DISCRETE_LAPLACE);
    dimension = epsilon = 77;
    EXPECT(UNDERTONE_STATUS_OK, undertone_vector_release_read(out, needed, &dimension, NULL, NULL, NULL, NULL));
    EXPECT(UNDERTONE_STATUS_OK, undertone_vector_release_read(out, needed, NULL, NULL, &epsilon, NULL, NULL));
    HOLD(dimension == 3 && epsilon == 2000000);
    EXPECT(UNDERTONE_STATUS_OK, STEPS(out, needed));
    EXPECT(UNDERTONE_STATUS_OK, VALUES(out, needed));
    HOLD(written == 3);
    /* One kind of release is not another. */
    uint32_t number;
    EXPECT(UNDERTONE_STATUS_RELEASE_WRONG_LENGTH,
           undertone_release_read(out, needed, &number, &epsilon, &noise, NULL, NULL, id));
    EXPECT(UNDERTONE_STATUS_RELEASE_MALFORMED,
           undertone_bag_release_read(out, needed, &number, &noise, &epsilon, id));
#undef READ
#undef STEPS
#undef VALUES
    free(out);
    free(memory);
}

/* --- Words --- */

/* Breaks its promise not to use the bag. */
static int32_t entropy_using_the_bag(void *context, uint8_t *out, size_t len)
{
    const struct fixture *f = context;
    undertone_bag *bag = f->bag;
    uint8_t release[UNDERTONE_MAX_BAG_RELEASE_BYTES];
    size_t written = 99;
    EXPECT(UNDERTONE_STATUS_BUSY, undertone_bag_push(bag, "word", 4));
    EXPECT(UNDERTONE_STATUS_BUSY, undertone_bag_push_text(bag, "word", 4));
    EXPECT(UNDERTONE_STATUS_BUSY, undertone_bag_reset(bag));
    EXPECT(UNDERTONE_STATUS_BUSY,
           undertone_bag_release(bag, f->grant_memory, 1, UNDERTONE_WORD_METHOD_PERMUTE_AND_FLIP,
                                 counting_entropy, NULL, release, sizeof release, &written));
    HOLD(written == 99);
    return counting_entropy(NULL, out, len);
}

static void vocabularies_are_checked(const struct fixture *f)
{
    const size_t size = UNDERTONE_VOCABULARY_HANDLE_SIZE;
    uint8_t *memory = allocate(size + 1);
    undertone_vocabulary *vocabulary = untouched;
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_vocabulary_init(NULL, size, f->pack, &vocabulary));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_vocabulary_init(memory, size, f->pack, NULL));
    EXPECT(UNDERTONE_STATUS_MISALIGNED,
           undertone_vocabulary_init(memory + 1, size, f->pack, &vocabulary));
    for (size_t len = 0; len < size; len++) {
        EXPECT(UNDERTONE_STATUS_MEMORY_TOO_SMALL,
               undertone_vocabulary_init(memory, len, f->pack, &vocabulary));
    }
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_vocabulary_init(memory, size, f->pack, (void *)memory));
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_vocabulary_init((void *)f->pack, UNDERTONE_PACK_HANDLE_SIZE,
                                                               f->pack, &vocabulary));
    EXPECT(UNDERTONE_STATUS_NO_LEXICON,
           undertone_vocabulary_init(memory, size, f->projection, &vocabulary));
    HOLD(vocabulary == untouched);
    EXPECT(UNDERTONE_STATUS_OK, undertone_vocabulary_init(memory, size, f->pack, &vocabulary));
    const uint32_t words = undertone_vocabulary_word_count(vocabulary);
    HOLD(words == describe(f->pack).word_count);

    const char *text = untouched;
    size_t len = 99;
    uint32_t fallback = 77;
    int32_t unit = 77;
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_vocabulary_word(vocabulary, 0, NULL, &len));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_vocabulary_word(vocabulary, 0, &text, NULL));
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_vocabulary_word(vocabulary, 0, (void *)memory, &len));
    EXPECT(UNDERTONE_STATUS_NO_SUCH_WORD, undertone_vocabulary_word(vocabulary, words, &text, &len));
    EXPECT(UNDERTONE_STATUS_NO_SUCH_WORD, undertone_vocabulary_word(vocabulary, UINT32_MAX, &text, &len));
    EXPECT(UNDERTONE_STATUS_OK, undertone_vocabulary_describe(vocabulary, NULL, NULL));
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           undertone_vocabulary_describe(vocabulary, &fallback, (void *)&fallback));

    void *zeroes = calloc(1, size);
    void *moved = copy_of(memory, size);
    HOLD(zeroes != NULL);
    const undertone_vocabulary *wrong[] = {NULL, zeroes, moved, (void *)f->pack,
                                           (void *)(memory + 1)};
    const int32_t statuses[] = {UNDERTONE_STATUS_NULL_POINTER, UNDERTONE_STATUS_BAD_HANDLE, UNDERTONE_STATUS_BAD_HANDLE,
                                UNDERTONE_STATUS_BAD_HANDLE, UNDERTONE_STATUS_MISALIGNED};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        undertone_bag *bag = untouched;
        HOLD(undertone_vocabulary_word_count(wrong[i]) == 0);
        EXPECT(statuses[i], undertone_vocabulary_word(wrong[i], 0, &text, &len));
        EXPECT(statuses[i], undertone_vocabulary_describe(wrong[i], &fallback, &unit));
        EXPECT(statuses[i], undertone_bag_init(f->document_memory, f->document_size, wrong[i],
                                               &bag));
        HOLD(bag == untouched);
    }
    free(zeroes);
    free(moved);
    HOLD(text == untouched && len == 99 && fallback == 77 && unit == 77);
    EXPECT(UNDERTONE_STATUS_OK, undertone_vocabulary_describe(vocabulary, &fallback, &unit));
    HOLD(fallback < words);
    const uint32_t both_fallback = fallback;
    const int32_t both_unit = unit;
    fallback = 77;
    unit = 77;
    EXPECT(UNDERTONE_STATUS_OK, undertone_vocabulary_describe(vocabulary, &fallback, NULL));
    EXPECT(UNDERTONE_STATUS_OK, undertone_vocabulary_describe(vocabulary, NULL, &unit));
    HOLD(fallback == both_fallback && unit == both_unit);
    for (uint32_t word = 0; word < words; word++) {
        EXPECT(UNDERTONE_STATUS_OK, undertone_vocabulary_word(vocabulary, word, &text, &len));
        HOLD(len > 0 && (const uint8_t *)text > f->bytes
             && (const uint8_t *)text + len <= f->bytes + f->len);
    }
    free(memory);
}

static int32_t release_bag(const struct fixture *f, undertone_bag *bag, undertone_entropy_fn entropy,
                           void *context, uint8_t *release)
{
    const size_t needed = undertone_bag_release_len(9);
    uint8_t *out = allocate(needed);
    size_t written = 99;
    memset(out, 0xee, needed);
    memset(release, 0xee, needed);
    const int32_t status =
        undertone_bag_release(bag, new_grant(f, UNDERTONE_UNIT_WORD, 3000000), 9, UNDERTONE_WORD_METHOD_EXPONENTIAL, entropy, context, out,
                              needed, &written);
    HOLD(written == (status == UNDERTONE_STATUS_OK ? needed : 99));
    HOLD(status == UNDERTONE_STATUS_OK || memcmp(out, release, needed) == 0);
    memcpy(release, out, needed);
    free(out);
    return status;
}

static void bags_are_checked(const struct fixture *f)
{
    void *vocabulary_memory = allocate(UNDERTONE_VOCABULARY_HANDLE_SIZE);
    undertone_vocabulary *vocabulary;
    EXPECT(UNDERTONE_STATUS_OK, undertone_vocabulary_init(vocabulary_memory, UNDERTONE_VOCABULARY_HANDLE_SIZE,
                                                          f->pack, &vocabulary));
    const size_t size = UNDERTONE_BAG_HANDLE_SIZE;
    uint8_t *memory = allocate(size + 1);
    undertone_bag *bag = untouched;
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_bag_init(NULL, size, vocabulary, &bag));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_bag_init(memory, size, vocabulary, NULL));
    EXPECT(UNDERTONE_STATUS_MISALIGNED, undertone_bag_init(memory + 1, size, vocabulary, &bag));
    EXPECT(UNDERTONE_STATUS_MEMORY_TOO_SMALL, undertone_bag_init(memory, size - 1, vocabulary, &bag));
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_bag_init(memory, size, vocabulary, (void *)memory));
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_bag_init(vocabulary_memory, size, vocabulary, &bag));
    HOLD(bag == untouched);
    memset(memory, 0, size);
    EXPECT(UNDERTONE_STATUS_OK, undertone_bag_init(memory, size, vocabulary, &bag));
    HOLD((void *)bag == memory);
    /* It does not need the vocabulary's handle any more. */
    memset(vocabulary_memory, 0xff, UNDERTONE_VOCABULARY_HANDLE_SIZE);

    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_bag_push(bag, NULL, 1));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_bag_push_text(bag, NULL, 1));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, undertone_bag_push(bag, "word", SIZE_MAX));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, undertone_bag_push_text(bag, "word", SIZE_MAX));
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_bag_push(bag, (void *)memory, 8));
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_bag_push_text(bag, (void *)memory, 8));

    uint8_t out[UNDERTONE_MAX_BAG_RELEASE_BYTES + 1];
    size_t written = 99;
    memset(out, 0xee, sizeof out);
    calls = 0;
    const int32_t pf = UNDERTONE_WORD_METHOD_PERMUTE_AND_FLIP;
    undertone_grant *grant = new_grant(f, UNDERTONE_UNIT_WORD, 1);
#define RELEASE(size, mechanism, entropy, out, capacity, written)                                  \
    undertone_bag_release(bag, grant, size, mechanism, entropy, NULL, out, capacity, written)
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RELEASE(1, pf, NULL, out, 26, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RELEASE(1, pf, counting_entropy, NULL, 26, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, RELEASE(1, pf, counting_entropy, out, 26, NULL));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_bag_release(bag, NULL, 1, pf, counting_entropy, NULL, out, 26,
                                                                &written));
    EXPECT(UNDERTONE_STATUS_BAD_HANDLE, undertone_bag_release(bag, (void *)f->pack, 1, pf,
                                                              counting_entropy, NULL, out, 26, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           RELEASE(1, pf, counting_entropy, (void *)grant, f->grant_size, &written));
    static const uint32_t no_size[] = {0, 257, 65537, 65536, UINT32_MAX};
    for (size_t i = 0; i < sizeof no_size / sizeof *no_size; i++) {
        HOLD(undertone_bag_release_len(no_size[i]) == 0);
        EXPECT(UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE,
               RELEASE(no_size[i], pf, counting_entropy, out, sizeof out, &written));
    }
    static const int32_t no_mechanism[] = {0, 4, 5, 6, -1, 257, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof no_mechanism / sizeof *no_mechanism; i++) {
        EXPECT(UNDERTONE_STATUS_UNKNOWN_WORD_METHOD,
               RELEASE(1, no_mechanism[i], counting_entropy, out, 26, &written));
    }
    EXPECT(UNDERTONE_STATUS_EPSILON_TOO_SMALL_FOR_NOISE,
           RELEASE(1, UNDERTONE_WORD_METHOD_LAPLACE_NEAREST, counting_entropy, out, 26, &written));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH,
           RELEASE(1, pf, counting_entropy, out, SIZE_MAX, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP, RELEASE(1, pf, counting_entropy, memory, 26, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           RELEASE(1, pf, counting_entropy, (void *)&written, 26, &written));
    EXPECT(UNDERTONE_STATUS_OVERLAP, RELEASE(1, pf, counting_entropy, out, 26, (void *)memory));
    HOLD(written == 99);
    for (size_t capacity = 0; capacity < 26; capacity++) {
        uint8_t *exact = allocate(capacity);
        written = 99;
        EXPECT(UNDERTONE_STATUS_BUFFER_TOO_SMALL,
               RELEASE(1, pf, counting_entropy, exact, capacity, &written));
        HOLD(written == 26);
        free(exact);
    }
    HOLD(calls == 0);
    for (size_t i = 0; i < sizeof out; i++) {
        HOLD(out[i] == 0xee);
    }
    EXPECT(UNDERTONE_STATUS_OK, RELEASE(256, pf, counting_entropy, out, sizeof out, &written));
    HOLD(calls == 1 && written == UNDERTONE_MAX_BAG_RELEASE_BYTES && out[written] == 0xee);
    EXPECT(UNDERTONE_STATUS_GRANT_SPENT, RELEASE(1, pf, counting_entropy, out, sizeof out, &written));
    HOLD(calls == 1);
#undef RELEASE

    /* Failed entropy releases nothing and keeps the words: 1024 of them, more are left out. */
    uint8_t empty[64], expected[64], release[64];
    EXPECT(UNDERTONE_STATUS_OK, release_bag(f, bag, counting_entropy, NULL, empty));
    for (int i = 0; i < 600; i++) {
        EXPECT(UNDERTONE_STATUS_OK, undertone_bag_push(bag, "coffee", 6));
        EXPECT(UNDERTONE_STATUS_OK, undertone_bag_push_text(bag, "\xff winter \xf0", 10));
    }
    EXPECT(UNDERTONE_STATUS_OK, release_bag(f, bag, counting_entropy, NULL, expected));
    HOLD(memcmp(expected, empty, undertone_bag_release_len(9)) != 0);
    for (int i = 0; i < 512; i++) {
        EXPECT(UNDERTONE_STATUS_OK, undertone_bag_push_text(bag, "coffee winter", 13));
    }
    uint8_t zero = 0;
    EXPECT(UNDERTONE_STATUS_ENTROPY_FAILED, release_bag(f, bag, failing_entropy, NULL, release));
    EXPECT(UNDERTONE_STATUS_ENTROPY_FAILED, release_bag(f, bag, silent_entropy, NULL, release));
    EXPECT(UNDERTONE_STATUS_ENTROPY_FAILED, release_bag(f, bag, counting_entropy, &zero, release));
    EXPECT(UNDERTONE_STATUS_OK, release_bag(f, bag, counting_entropy, NULL, release));
    HOLD(memcmp(release, expected, undertone_bag_release_len(9)) == 0);
    EXPECT(UNDERTONE_STATUS_OK, release_bag(f, bag, counting_entropy, NULL, release));
    HOLD(memcmp(release, empty, undertone_bag_release_len(9)) == 0);
    struct fixture with_bag = *f;
    with_bag.bag = bag;
    EXPECT(UNDERTONE_STATUS_OK, release_bag(f, bag, entropy_using_the_bag, &with_bag, release));
    one_call_spends(&with_bag);

    /* Reset twice; nothing is left of the words. */
    compare_whatever_is_there(memory, size);
    uint8_t *before = copy_of(memory, size);
    EXPECT(UNDERTONE_STATUS_OK, undertone_bag_push_text(bag, "coffee winter summer", 20));
    HOLD(memcmp(before, memory, size) != 0);
    EXPECT(UNDERTONE_STATUS_OK, undertone_bag_reset(bag));
    EXPECT(UNDERTONE_STATUS_OK, undertone_bag_reset(bag));
    HOLD(memcmp(before, memory, size) == 0);
    free(before);

    void *zeroes = calloc(1, size);
    void *moved = copy_of(memory, size);
    HOLD(zeroes != NULL);
    undertone_bag *wrong[] = {NULL, zeroes, moved, (void *)f->document_memory,
                              (void *)(memory + 1)};
    (void)new_document(f);
    const int32_t statuses[] = {UNDERTONE_STATUS_NULL_POINTER, UNDERTONE_STATUS_BAD_HANDLE, UNDERTONE_STATUS_BAD_HANDLE,
                                UNDERTONE_STATUS_BAD_HANDLE, UNDERTONE_STATUS_MISALIGNED};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        EXPECT(statuses[i], undertone_bag_push(wrong[i], "word", 4));
        EXPECT(statuses[i], undertone_bag_push_text(wrong[i], "word", 4));
        EXPECT(statuses[i], undertone_bag_reset(wrong[i]));
        EXPECT(statuses[i], release_bag(f, wrong[i], counting_entropy, NULL, release));
    }
    free(zeroes);
    free(moved);

    /* Reading. */
    const size_t needed = undertone_bag_release_len(9);
    uint32_t number = 77, epsilon = 77, words[9] = {77};
    int32_t mechanism = 77;
    uint8_t id[UNDERTONE_PACK_ID_BYTES] = {0};
#define READ(bytes, len) undertone_bag_release_read(bytes, len, &number, &mechanism, &epsilon, id)
#define WORDS(bytes, len) undertone_bag_release_read_words(bytes, len, words, 9, &written)
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, READ(NULL, needed));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, WORDS(NULL, needed));
    EXPECT(UNDERTONE_STATUS_OK, undertone_bag_release_read(expected, needed, NULL, NULL, NULL, NULL));
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           undertone_bag_release_read(expected, needed, &number, &mechanism, &number, id));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_bag_release_read_words(expected, needed, NULL, 9, &written));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_bag_release_read_words(expected, needed, words, 9, NULL));
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           undertone_bag_release_read_words((void *)words, sizeof words, words, 9, &written));
    EXPECT(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, READ(expected, SIZE_MAX));
    for (size_t len = 0; len < needed; len++) {
        uint8_t *cut = copy_of(expected, len);
        EXPECT(UNDERTONE_STATUS_RELEASE_WRONG_LENGTH, READ(cut, len));
        EXPECT(UNDERTONE_STATUS_RELEASE_WRONG_LENGTH, WORDS(cut, len));
        free(cut);
    }
    for (size_t at = 0; at < 8; at++) {
        uint8_t *changed = copy_of(expected, needed);
        changed[at] ^= 0x80;
        EXPECT(at < 3    ? UNDERTONE_STATUS_NOT_A_RELEASE
               : at == 3 ? UNDERTONE_STATUS_RELEASE_UNSUPPORTED_VERSION
                         : UNDERTONE_STATUS_RELEASE_MALFORMED,
               READ(changed, needed));
        free(changed);
    }
    for (size_t capacity = 0; capacity < 9; capacity++) {
        written = 99;
        EXPECT(UNDERTONE_STATUS_BUFFER_TOO_SMALL,
               undertone_bag_release_read_words(expected, needed, words, capacity, &written));
        HOLD(written == 9);
    }
    HOLD(number == 77 && epsilon == 77 && mechanism == 77 && words[0] == 77);
    EXPECT(UNDERTONE_STATUS_OK, READ(expected, needed));
    HOLD(number == 9 && epsilon == 3000000 && mechanism == UNDERTONE_WORD_METHOD_EXPONENTIAL);
    number = 77;
    EXPECT(UNDERTONE_STATUS_OK, undertone_bag_release_read(expected, needed, &number, NULL, NULL, NULL));
    HOLD(number == 9);
    HOLD(memcmp(id, f->bytes + 32, sizeof id) == 0);
    EXPECT(UNDERTONE_STATUS_OK, WORDS(expected, needed));
    HOLD(written == 9);
#undef READ
#undef WORDS
    free(memory);
    free(vocabulary_memory);
}

/* --- What the list of all faces has beside --- */

static void packs_say_what_they_lack(const struct fixture *f)
{
    undertone_document *document = untouched;
    CASE(pack_without_candidates);
    EXPECT(UNDERTONE_STATUS_NO_CANDIDATES,
           undertone_document_init(f->document_memory, f->document_size, f->projection, &document));
    HOLD(document == untouched);
    CASE(embedding_without_text);
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_init(f->document_memory, f->document_size, f->features, &document));
    float *embedding = calloc(describe(f->features).dimension, sizeof *embedding);
    HOLD(embedding != NULL);
    EXPECT(UNDERTONE_STATUS_NEEDS_TEXT,
           undertone_document_push(document, embedding, describe(f->features).dimension));
    free(embedding);

    /* This pack has scores. */
    CASE(grant_of_another_unit);
    uint8_t out[UNDERTONE_RELEASE_BYTES];
    size_t written = 99;
    undertone_grant *grant = new_grant(f, UNDERTONE_UNIT_WHOLE_TEXT, 1000000);
    EXPECT(UNDERTONE_STATUS_GRANT_WRONG_UNIT,
           undertone_document_release(document, grant, UNDERTONE_RULE_PERMUTE_AND_FLIP, counting_entropy, NULL, out,
                                      sizeof out, &written));
    HOLD(written == 99);
    CASE(grant_kept_after_wrong_unit);
    EXPECT(UNDERTONE_STATUS_OK, undertone_document_release_whole_text(document, grant, counting_entropy, NULL, out,
                                                                      sizeof out, &written));
}

static void names_are_checked(const undertone_form *form, const uint8_t *bytes, size_t len)
{
    const char *name = untouched;
    size_t name_len = 99;
    CASE(no_such_category);
    EXPECT(UNDERTONE_STATUS_NO_SUCH_CATEGORY, undertone_form_attribute_name(form, 3, &name, &name_len));
    EXPECT(UNDERTONE_STATUS_NO_SUCH_CATEGORY, undertone_form_category_name(form, 0, 4, &name, &name_len));
    EXPECT(UNDERTONE_STATUS_NO_SUCH_CATEGORY, undertone_form_category_name(form, 3, 0, &name, &name_len));
    EXPECT(UNDERTONE_STATUS_NO_SUCH_CATEGORY, undertone_form_category_name(form, UINT32_MAX, UINT32_MAX, &name,
                                                                           &name_len));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_form_category_name(form, 0, 0, NULL, &name_len));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_form_attribute_name(form, 0, &name, NULL));
    HOLD(name == untouched && name_len == 99);
    /* The names of attributes come first in the file, the last category's name is its end. */
    const char *start;
    EXPECT(UNDERTONE_STATUS_OK, undertone_form_attribute_name(form, 0, &start, &name_len));
    EXPECT(UNDERTONE_STATUS_OK, undertone_form_attribute_name(form, 1, &name, &name_len));
    HOLD(start < name && start > (const char *)bytes);
    uint32_t last = 0;
    while (undertone_form_category_name(form, 2, last, &name, &name_len) == UNDERTONE_STATUS_OK) {
        last++;
    }
    EXPECT(UNDERTONE_STATUS_OK, undertone_form_category_name(form, 2, last - 1, &name, &name_len));
    HOLD(name + name_len == (const char *)bytes + len);
}

/* Reservoirs of answers to the golden form. */
static void answers_of_lines_are_checked(const struct fixture *f, const undertone_form *form)
{
    uint8_t reservoir[UNDERTONE_RESERVOIR_BYTES], before[UNDERTONE_RESERVOIR_BYTES], out[UNDERTONE_RELEASE_BYTES];
    static const uint8_t wiped[UNDERTONE_RESERVOIR_BYTES];
    const uint32_t answers[4] = {4, 2600, UINT32_MAX, 0};
    size_t written = 99;
    uint64_t slot = 99;
    uint32_t places = 99;
    memset(reservoir, 0, sizeof reservoir);
    EXPECT(UNDERTONE_STATUS_SCHEDULE_OUT_OF_RANGE,
           undertone_answer_reservoir_init(form, 7, 0, counting_entropy, NULL, reservoir));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_answer_reservoir_init(form, 7, 1, counting_entropy, NULL, NULL));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_answer_reservoir_init(form, 7, 1, NULL, NULL, reservoir));
    EXPECT(UNDERTONE_STATUS_ENTROPY_FAILED,
           undertone_answer_reservoir_init(form, 7, 1, failing_entropy, NULL, reservoir));
    HOLD(memcmp(reservoir, wiped, sizeof wiped) == 0);

    CASE(lines_as_answers);
    undertone_document *document = new_document(f);
    if (has_scores(f)) {
        EXPECT(UNDERTONE_STATUS_OK, undertone_reservoir_init(document, 7, 1, counting_entropy, NULL, reservoir));
        EXPECT(UNDERTONE_STATUS_RESERVOIR_OTHER_PACK,
               undertone_answer_reservoir_read(reservoir, sizeof reservoir, form, &slot, &places));
        EXPECT(UNDERTONE_STATUS_RESERVOIR_OTHER_PACK,
               undertone_answer_reservoir_push(reservoir, form, answers, 3, counting_entropy, NULL));
    }
    EXPECT(UNDERTONE_STATUS_OK, undertone_answer_reservoir_init(form, 7, 1, counting_entropy, NULL, reservoir));
    EXPECT(UNDERTONE_STATUS_RESERVOIR_OTHER_PACK,
           undertone_reservoir_read(reservoir, sizeof reservoir, document, &slot, &places));
    HOLD(slot == 99 && places == 99);

    memcpy(before, reservoir, sizeof before);
    EXPECT(UNDERTONE_STATUS_WRONG_ANSWER_COUNT,
           undertone_answer_reservoir_push(reservoir, form, answers, 4, counting_entropy, NULL));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER,
           undertone_answer_reservoir_push(reservoir, form, NULL, 3, counting_entropy, NULL));
    EXPECT(UNDERTONE_STATUS_ENTROPY_FAILED,
           undertone_answer_reservoir_push(reservoir, form, answers, 3, failing_entropy, NULL));
    undertone_grant *sentence = new_grant(f, UNDERTONE_UNIT_SENTENCE, 1000000);
    EXPECT(UNDERTONE_STATUS_GRANT_WRONG_UNIT,
           undertone_answer_reservoir_release(reservoir, form, sentence, counting_entropy, NULL, out, sizeof out,
                                              &written));
    undertone_grant *grant = new_grant(f, UNDERTONE_UNIT_WHOLE_TEXT, 1000000);
    EXPECT(UNDERTONE_STATUS_OVERLAP,
           undertone_answer_reservoir_release(reservoir, form, grant, counting_entropy, NULL, reservoir, sizeof out,
                                              &written));
    HOLD(written == 99);
    EXPECT(UNDERTONE_STATUS_BUFFER_TOO_SMALL,
           undertone_answer_reservoir_release(reservoir, form, grant, counting_entropy, NULL, out, sizeof out - 1,
                                              &written));
    for (size_t i = 0; i < sizeof reservoir; i++) {
        reservoir[i] ^= 1;
        EXPECT(UNDERTONE_STATUS_RESERVOIR_DAMAGED,
               undertone_answer_reservoir_push(reservoir, form, answers, 3, counting_entropy, NULL));
        EXPECT(UNDERTONE_STATUS_RESERVOIR_DAMAGED,
               undertone_answer_reservoir_release(reservoir, form, grant, counting_entropy, NULL, out, sizeof out,
                                                  &written));
        reservoir[i] ^= 1;
    }
    EXPECT(UNDERTONE_STATUS_RESERVOIR_DAMAGED,
           undertone_answer_reservoir_read(reservoir, sizeof reservoir - 1, form, NULL, NULL));
    HOLD(memcmp(before, reservoir, sizeof before) == 0);

    /* None of these spent the grant. */
    EXPECT(UNDERTONE_STATUS_OK, undertone_answer_reservoir_push(reservoir, form, answers, 3, counting_entropy, NULL));
    EXPECT(UNDERTONE_STATUS_OK, undertone_answer_reservoir_read(reservoir, sizeof reservoir, form, &slot, &places));
    HOLD(slot == 7 && places == 1 && memcmp(before, reservoir, sizeof before) != 0);
    EXPECT(UNDERTONE_STATUS_OK,
           undertone_answer_reservoir_release(reservoir, form, grant, counting_entropy, NULL, out, sizeof out,
                                              &written));
    HOLD(written == sizeof out && memcmp(reservoir, wiped, sizeof wiped) == 0);
    EXPECT(UNDERTONE_STATUS_GRANT_SPENT,
           undertone_answer_reservoir_release(before, form, grant, counting_entropy, NULL, out, sizeof out, &written));
}

static void forms_are_checked(const struct fixture *f, uint8_t *bytes, size_t len)
{
    size_t size = UNDERTONE_FORM_HANDLE_SIZE;
    void *memory = allocate(size);
    undertone_form *form = untouched;
    CASE(foreign_form);
    EXPECT(UNDERTONE_STATUS_NOT_A_FORM, undertone_form_init(memory, size, f->bytes, f->len, &form));
    CASE(damaged_form);
    bytes[len - 1] ^= 1;
    EXPECT(UNDERTONE_STATUS_FORM_DAMAGED, undertone_form_init(memory, size, bytes, len, &form));
    bytes[len - 1] ^= 1;
    HOLD(form == untouched);
    EXPECT(UNDERTONE_STATUS_MEMORY_TOO_SMALL, undertone_form_init(memory, size - 1, bytes, len, &form));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_form_init(memory, size, NULL, len, &form));
    EXPECT(UNDERTONE_STATUS_OK, undertone_form_init(memory, size, bytes, len, &form));

    uint32_t answers[4] = {4, 2600, UINT32_MAX, 0};
    uint8_t release[UNDERTONE_RELEASE_BYTES];
    size_t written = 99;
    undertone_grant *grant = new_grant(f, UNDERTONE_UNIT_WHOLE_TEXT, 1000000);
    CASE(wrong_answer_count);
    for (size_t count = 2; count <= 4; count += 2) {
        EXPECT(UNDERTONE_STATUS_WRONG_ANSWER_COUNT,
               undertone_form_release(form, answers, count, grant, counting_entropy, NULL, release, sizeof release,
                                      &written));
    }
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_form_release(form, NULL, 3, grant, counting_entropy, NULL, release,
                                                                 sizeof release, &written));
    CASE(answers_out_of_range);
    EXPECT(UNDERTONE_STATUS_OK, undertone_form_release(form, answers, 3, grant, counting_entropy, NULL, release,
                                                       sizeof release, &written));
    HOLD(written == sizeof release);
    undertone_document *document = new_document(f);
    CASE(topic_of_another_pack);
    EXPECT(UNDERTONE_STATUS_FORM_OTHER_PACK, undertone_form_answer_topic(form, document, answers, 3));
    EXPECT(UNDERTONE_STATUS_WRONG_ANSWER_COUNT, undertone_form_answer_topic(form, document, answers, 4));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_form_answer_topic(form, document, NULL, 3));
    EXPECT(UNDERTONE_STATUS_NULL_POINTER, undertone_form_answer_topic(form, NULL, answers, 3));
    EXPECT(UNDERTONE_STATUS_OVERLAP, undertone_form_answer_topic(form, document, (uint32_t *)(void *)document, 3));
    HOLD(answers[0] == 4 && answers[1] == 2600 && answers[2] == UINT32_MAX);
    names_are_checked(form, bytes, len);
    answers_of_lines_are_checked(f, form);
    free(memory);
}

static uint8_t *read_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        fprintf(stderr, "misuse: cannot open %s\n", path);
        exit(1);
    }
    const long end = ftell(file);
    rewind(file);
    *len = end < 0 ? 0 : (size_t)end;
    uint8_t *bytes = allocate(*len);
    if (fread(bytes, 1, *len, file) != *len) {
        fprintf(stderr, "misuse: cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fputs("usage: misuse PACK VECTORS FEATURES FORM\n", stderr);
        return 2;
    }
    struct fixture f;
    f.bytes = read_file(argv[1], &f.len);
    f.pack_size = UNDERTONE_PACK_HANDLE_SIZE;
    f.pack_memory = allocate(f.pack_size);
    f.document_size = UNDERTONE_DOCUMENT_HANDLE_SIZE;
    f.document_memory = allocate(f.document_size);
    f.grant_size = UNDERTONE_GRANT_HANDLE_SIZE;
    f.grant_memory = allocate(f.grant_size);

    versions_agree();
    every_number_has_a_message();
    epsilon_is_checked();
    pack_pointers_are_checked(&f);
    damaged_packs_are_refused(&f);
    packs_are_read_at_any_address(&f);

    EXPECT(UNDERTONE_STATUS_OK, undertone_pack_init(f.pack_memory, f.pack_size, f.bytes, f.len, &f.pack));
    f.dimension = describe(f.pack).dimension;
    f.embedding = allocate(f.dimension * sizeof *f.embedding);
    for (size_t i = 0; i < f.dimension; i++) {
        f.embedding[i] = i % 2 == 0 ? 0.5f : -0.25f;
    }
    size_t projection_len;
    f.projection_bytes = read_file(argv[2], &projection_len);
    f.projection_memory = allocate(f.pack_size);
    EXPECT(UNDERTONE_STATUS_OK, undertone_pack_init(f.projection_memory, f.pack_size, f.projection_bytes,
                                                    projection_len, &f.projection));
    size_t features_len;
    f.features_bytes = read_file(argv[3], &features_len);
    f.features_memory = allocate(f.pack_size);
    EXPECT(UNDERTONE_STATUS_OK,
           undertone_pack_init(f.features_memory, f.pack_size, f.features_bytes, features_len, &f.features));
    pack_handles_are_checked(&f);
    document_pointers_are_checked(&f);
    batches_are_checked(&f);
    sentences_are_checked(&f);
    encoded_sentences_are_checked(&f);
    promises_are_checked(&f);
    release_arguments_are_checked_before_entropy(&f);
    whole_texts_are_checked(&f);
    grants_are_checked(&f);
    ledger_arguments_are_checked(&f);
    ledgers_grant_what_is_recorded_and_no_more(&f);
    spending_arguments_are_checked(&f);
    failed_entropy_releases_nothing_and_keeps_the_sentences(&f);
    wiped_documents_hold_no_trace(&f);
    releases_are_read_back(&f);
    sentences_are_found(&f);
    sentence_vectors_are_checked(&f);
    vector_parameters_are_checked(&f);
    vectors_are_checked(&f);
    vocabularies_are_checked(&f);
    bags_are_checked(&f);
    packs_say_what_they_lack(&f);
    size_t form_len;
    uint8_t *form_bytes = read_file(argv[4], &form_len);
    forms_are_checked(&f, form_bytes, form_len);
    free(form_bytes);

    free(f.features_memory);
    free(f.features_bytes);
    free(f.projection_memory);
    free(f.projection_bytes);
    free(f.embedding);
    free(f.grant_memory);
    free(f.document_memory);
    free(f.pack_memory);
    free(f.bytes);
    if (failures != 0) {
        fprintf(stderr, "misuse: %d expectations failed\n", failures);
        return 1;
    }
    puts("every misuse was answered with its status");
    return 0;
}
