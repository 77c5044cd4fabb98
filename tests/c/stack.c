/*
 * Measures the stack of each call, in a thread whose stack was painted before.
 *
 *     stack PACK VECTORS     fails if a call uses more than the header promises; POSIX
 *
 * PACK has candidates and a lexicon, VECTORS a projection.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "undertone.h"

enum { STACK = 256 * 1024, PAINT = 0xa5, LARGEST_PACK = 1 << 20 };

/* Limits that the header promises. */
#ifdef __x86_64__
enum { MOST = 16 * 1024, MOST_OF_WORDS_AND_VECTORS = 20 * 1024 };
#else
enum { MOST = 8 * 1024, MOST_OF_WORDS_AND_VECTORS = 16 * 1024 };
#endif

#define MEMORY(name, bytes)                                                                        \
    static union {                                                                                 \
        uint8_t memory[bytes];                                                                     \
        long double aligned;                                                                       \
    } name

/* Static memory, as on a device without an allocator. */
MEMORY(pack_memory, UNDERTONE_PACK_HANDLE_SIZE);
MEMORY(projection_memory, UNDERTONE_PACK_HANDLE_SIZE);
MEMORY(document_memory, UNDERTONE_DOCUMENT_HANDLE_SIZE);
MEMORY(vocabulary_memory, UNDERTONE_VOCABULARY_HANDLE_SIZE);
MEMORY(bag_memory, UNDERTONE_BAG_HANDLE_SIZE);
MEMORY(vector_memory, UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE);
MEMORY(grant_memory, UNDERTONE_GRANT_HANDLE_SIZE);
MEMORY(ledger_memory, UNDERTONE_LEDGER_HANDLE_SIZE);

static uint8_t pack_bytes[LARGEST_PACK], projection_bytes[LARGEST_PACK];
static size_t pack_len, projection_len;
static undertone_pack *pack, *projection;
static undertone_pack_description described;
static undertone_document *document;
static undertone_vocabulary *vocabulary;
static undertone_bag *bag;
static undertone_vector_mechanism *vector;
static undertone_grant *grant;
static undertone_ledger *ledger;
static uint8_t ledger_file[UNDERTONE_LEDGER_IMAGE_BYTES], record[UNDERTONE_LEDGER_RECORD_BYTES];
static float embedding[4096];
static uint8_t release[UNDERTONE_MAX_VECTOR_RELEASE_BYTES];
static size_t written;

static int32_t not_entropy(void *context, uint8_t *out, size_t len)
{
    (void)context;
    memset(out, 1, len);
    return 0;
}

/* A grant is used once. */
static int32_t grant_for(int32_t unit)
{
    return undertone_grant_init_unrecorded(&grant_memory, sizeof grant_memory, unit, 1000000, &grant);
}

static int32_t new_grant(void)
{
    return grant_for(UNDERTONE_UNIT_SENTENCE);
}

static int32_t nothing(void)
{
    return UNDERTONE_STATUS_OK;
}

static int32_t init_pack(void)
{
    return undertone_pack_init(&pack_memory, sizeof pack_memory, pack_bytes, pack_len, &pack);
}

static int32_t describe_pack(void)
{
    return undertone_pack_describe(pack, &described);
}

static int32_t init_projection(void)
{
    return undertone_pack_init(&projection_memory, sizeof projection_memory, projection_bytes,
                               projection_len, &projection);
}

static int32_t init_document(void)
{
    return undertone_document_init(&document_memory, sizeof document_memory, pack, &document);
}

static int32_t push(void)
{
    return undertone_document_push(document, embedding, described.dimension);
}

static int32_t push_all(void)
{
    return undertone_document_push_all(document, embedding, 5 * described.dimension,
                                       &written);
}

static int32_t push_sentence(void)
{
    return undertone_document_push_sentence(document, "a few words", 11);
}

static int32_t push_sentences(void)
{
    return undertone_document_push_text(document, "A few words. And more!", 22, &written);
}

static int32_t sentence_vector(void)
{
    return undertone_pack_embed_sentence(pack, "a few words", 11, embedding, 4096, &written);
}

static int32_t release_document(int32_t rule)
{
    return undertone_document_release(document, grant, rule, not_entropy, NULL, release,
                                      sizeof release, &written);
}

static int32_t release_flips(void)
{
    return release_document(UNDERTONE_RULE_PERMUTE_AND_FLIP);
}

static int32_t release_exponential(void)
{
    return release_document(UNDERTONE_RULE_EXPONENTIAL);
}

/* Packs with depth have no such release. */
static int32_t release_whole_text(void)
{
    const int32_t released = undertone_document_release_whole_text(document, grant, not_entropy, NULL, release,
                                                                   sizeof release, &written);
    const int has_scores = described.selector == UNDERTONE_SELECTOR_SCORES;
    return released == (has_scores ? UNDERTONE_STATUS_OK : UNDERTONE_STATUS_NO_SCORES) ? UNDERTONE_STATUS_OK : released;
}

/* Nor a reservoir. */
static int32_t with_scores(int32_t made)
{
    const int has_scores = described.selector == UNDERTONE_SELECTOR_SCORES;
    return made == (has_scores ? UNDERTONE_STATUS_OK : UNDERTONE_STATUS_NO_SCORES)
               || (!has_scores && made == UNDERTONE_STATUS_RESERVOIR_DAMAGED)
           ? UNDERTONE_STATUS_OK
           : made;
}

static uint8_t reservoir[UNDERTONE_RESERVOIR_BYTES];

static int32_t init_reservoir(void)
{
    return with_scores(undertone_reservoir_init(document, 1, 5, not_entropy, NULL, reservoir));
}

static int32_t push_line(void)
{
    return with_scores(undertone_reservoir_push(reservoir, document, not_entropy, NULL));
}

static int32_t release_line(void)
{
    return with_scores(undertone_reservoir_release_projective(reservoir, document, grant, not_entropy,
                                                              NULL, release, sizeof release, &written));
}

static int32_t release_projective(void)
{
    const int32_t released = undertone_document_release_projective(document, grant, not_entropy, NULL, release,
                                                                   sizeof release, &written);
    const int has_scores = described.selector == UNDERTONE_SELECTOR_SCORES;
    return released == (has_scores ? UNDERTONE_STATUS_OK : UNDERTONE_STATUS_NO_SCORES) ? UNDERTONE_STATUS_OK : released;
}

static int32_t push_encoded(void)
{
    return undertone_document_push_encoded(document, "a few words", 11, embedding, described.dimension);
}

static int32_t promise(void)
{
    uint64_t sentence, whole_text;
    return undertone_document_promise(document, UNDERTONE_UNIT_SENTENCE, 1000000, &sentence, &whole_text);
}

static int32_t init_vocabulary(void)
{
    return undertone_vocabulary_init(&vocabulary_memory, sizeof vocabulary_memory, pack,
                                     &vocabulary);
}

static int32_t init_bag(void)
{
    return undertone_bag_init(&bag_memory, sizeof bag_memory, vocabulary, &bag);
}

static int32_t push_text(void)
{
    return undertone_bag_push_text(bag, "coffee and tea", 14);
}

static int32_t release_words(int32_t mechanism)
{
    return undertone_bag_release(bag, grant, 30, mechanism, not_entropy, NULL, release,
                                 sizeof release, &written);
}

static int32_t select_words(void)
{
    return release_words(UNDERTONE_WORD_METHOD_PERMUTE_AND_FLIP);
}

static int32_t nearest_words(void)
{
    return release_words(UNDERTONE_WORD_METHOD_LAPLACE_NEAREST);
}

static int32_t init_vector(void)
{
    return undertone_vector_mechanism_init(&vector_memory, sizeof vector_memory,
                                           UNDERTONE_MAX_VECTOR_DIMENSION, 0, UNDERTONE_NOISE_LAPLACE,
                                 1000000, &vector);
}

static int32_t init_discrete(void)
{
    return undertone_vector_mechanism_init(&vector_memory, sizeof vector_memory,
                                           UNDERTONE_MAX_VECTOR_DIMENSION, 0,
                                 UNDERTONE_NOISE_DISCRETE_LAPLACE, 1000000, &vector);
}

static int32_t init_projected(void)
{
    return undertone_vector_mechanism_init_projected(&vector_memory, sizeof vector_memory, projection,
                                                     UNDERTONE_NOISE_DISCRETE_LAPLACE, 1000000, &vector);
}

static int32_t release_vector(void)
{
    return undertone_vector_mechanism_release(vector, grant, embedding, undertone_vector_mechanism_dimension(vector),
                                              not_entropy, NULL, release, sizeof release, &written);
}

static int32_t read_vector(void)
{
    static double values[UNDERTONE_MAX_VECTOR_DIMENSION];
    size_t count;
    return undertone_vector_release_read_values(release, written, values, UNDERTONE_MAX_VECTOR_DIMENSION,
                                                &count);
}

static int32_t create_ledger(void)
{
    return undertone_ledger_create_image(UNDERTONE_UNIT_SENTENCE, 1000000, not_entropy, NULL, ledger_file, sizeof ledger_file,
                                         &written);
}

static int32_t open_ledger(void)
{
    return undertone_ledger_open(&ledger_memory, sizeof ledger_memory, UNDERTONE_UNIT_SENTENCE, ledger_file,
                                 sizeof ledger_file, not_entropy, NULL, &ledger);
}

static int32_t reserve(void)
{
    size_t offset;
    const int32_t reserved = undertone_ledger_reserve_epsilon(
        ledger, 1000000, 1, 1, ledger_file, sizeof ledger_file, record, sizeof record, &written, &offset);
    if (reserved == UNDERTONE_STATUS_OK) {
        memcpy(ledger_file + offset, record, sizeof record);
    }
    return reserved;
}

static int32_t ledger_grant(void)
{
    return undertone_ledger_grant(ledger, ledger_file, sizeof ledger_file, &grant_memory,
                                  sizeof grant_memory, &grant);
}

static uint64_t counted;

static int32_t read_ledger(void *context, uint8_t *out, size_t capacity, size_t *out_read)
{
    (void)context;
    (void)capacity;
    memcpy(out, ledger_file, sizeof ledger_file);
    *out_read = sizeof ledger_file;
    return 0;
}

static int32_t write_ledger(void *context, size_t offset, const uint8_t *bytes, size_t len)
{
    (void)context;
    memcpy(ledger_file + offset, bytes, len);
    return 0;
}

static int32_t read_counter(void *context, uint64_t *out)
{
    (void)context;
    *out = counted;
    return 0;
}

static int32_t raise_counter(void *context, uint64_t to)
{
    (void)context;
    counted = to;
    return 0;
}

static const undertone_ledger_storage storage = {NULL,         NULL,         NULL,         read_ledger,
                                                 write_ledger, read_counter, raise_counter};

static int32_t spend(void)
{
    uint64_t left;
    return undertone_ledger_spend(&storage, UNDERTONE_UNIT_SENTENCE, 1000000, 1, 2, not_entropy, NULL, &grant_memory,
                                  sizeof grant_memory, &grant, &left);
}

static int32_t remaining(void)
{
    const uint64_t counter = 0;
    uint64_t micro;
    return undertone_ledger_remaining(UNDERTONE_UNIT_SENTENCE, ledger_file, sizeof ledger_file, 2, &counter, &micro);
}

static int32_t recreate_spent(void)
{
    return undertone_ledger_recreate_spent(&storage, UNDERTONE_UNIT_SENTENCE, 1000000, 3, not_entropy, NULL, ledger_file,
                                           sizeof ledger_file, &written);
}

static const struct call {
    const char *name;
    int32_t (*make)(void);
    size_t limit;
} calls[] = {
    {"pack_init", init_pack, MOST},
    {"pack_describe", describe_pack, MOST},
    {"document_init", init_document, MOST},
    {"document_push", push, MOST},
    {"document_push_all", push_all, MOST},
    {"document_push_sentence", push_sentence, MOST},
    {"document_push_text", push_sentences, MOST},
    {"document_push_encoded", push_encoded, MOST},
    {"document_promise", promise, MOST},
    {"grant_unrecorded", new_grant, MOST},
    {"ledger_create", create_ledger, MOST},
    {"ledger_open", open_ledger, MOST},
    {"ledger_reserve", reserve, MOST},
    {"ledger_grant", ledger_grant, MOST},
    {"ledger_spend", spend, MOST},
    {"ledger_remaining", remaining, MOST},
    {"ledger_recreate_spent", recreate_spent, MOST},
    {"document_release, permute-and-flip", release_flips, MOST},
    {"document_release, exponential", release_exponential, MOST},
    {"document_release_whole_text", release_whole_text, MOST},
    {"document_release_projective", release_projective, MOST},
    {"reservoir_init", init_reservoir, MOST},
    {"reservoir_push", push_line, MOST},
    {"reservoir_release", release_line, MOST},
    {"pack_sentence_vector", sentence_vector, MOST},
    {"vocabulary_init", init_vocabulary, MOST},
    {"bag_init", init_bag, MOST},
    {"bag_push_text", push_text, MOST},
    {"bag_release, selection", select_words, MOST_OF_WORDS_AND_VECTORS},
    {"bag_release, nearest", nearest_words, MOST_OF_WORDS_AND_VECTORS},
    {"vector_init", init_vector, MOST},
    {"vector_release, Laplace", release_vector, MOST_OF_WORDS_AND_VECTORS},
    {"vector_read_values", read_vector, MOST},
    {"vector_init", init_discrete, MOST},
    {"vector_release, discrete", release_vector, MOST_OF_WORDS_AND_VECTORS},
    {"pack_init", init_projection, MOST},
    {"vector_init_projected", init_projected, MOST},
    {"vector_release, projected", release_vector, MOST_OF_WORDS_AND_VECTORS},
};

static int32_t status;

static void *make(void *argument)
{
    const struct call *call = argument;
    status = call->make();
    return NULL;
}

static size_t stack_used(const struct call *call)
{
    void *stack;
    pthread_attr_t attributes;
    pthread_t thread;
    if (posix_memalign(&stack, 4096, STACK) != 0) {
        return STACK;
    }
    memset(stack, PAINT, STACK);
    size_t left = 0;
    if (pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, STACK) == 0
        && pthread_create(&thread, &attributes, make, (void *)call) == 0
        && pthread_join(thread, NULL) == 0) {
        while (left < STACK && ((const uint8_t *)stack)[left] == PAINT) {
            left++;
        }
    }
    free(stack);
    return STACK - left;
}

static size_t read_pack(const char *path, uint8_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "stack: cannot open %s\n", path);
        exit(1);
    }
    const size_t len = fread(bytes, 1, LARGEST_PACK, file);
    fclose(file);
    return len;
}

int main(int argc, char **argv)
{
    static const struct call no_call = {"nothing", nothing, MOST};
    if (argc != 3) {
        fputs("usage: stack PACK VECTORS\n", stderr);
        return 2;
    }
    pack_len = read_pack(argv[1], pack_bytes);
    projection_len = read_pack(argv[2], projection_bytes);
    const size_t base = stack_used(&no_call);
    int failed = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        int32_t (*const call)(void) = calls[i].make;
        const int32_t unit = call == release_vector                              ? UNDERTONE_UNIT_VECTOR
                             : call == select_words || call == nearest_words     ? UNDERTONE_UNIT_WORD
                             : call == release_whole_text || call == release_projective || call == release_line
                                 ? UNDERTONE_UNIT_WHOLE_TEXT
                                 : UNDERTONE_UNIT_SENTENCE;
        if (grant_for(unit) != UNDERTONE_STATUS_OK) {
            return 1;
        }
        const size_t used = stack_used(&calls[i]) - base;
        printf("%-36s %6lu bytes of stack\n", calls[i].name, (unsigned long)used);
        if (status != UNDERTONE_STATUS_OK || used > calls[i].limit) {
            printf("    not so: done, within %lu bytes (%s)\n", (unsigned long)calls[i].limit,
                   undertone_status_message(status));
            failed = 1;
        }
    }
    return failed;
}
