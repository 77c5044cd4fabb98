/*
 * Many threads over one pack. Each has a document and a bag; all share the pack, its vocabulary and
 * a mechanism for vectors. Every thread must release what a single thread does. Also two threads
 * that share a ledger.
 *
 *     threads PACK VECTORS           all checks
 *     threads PACK VECTORS --race    two threads push to one document: a thread sanitizer finds it
 *
 * PACK has candidates and a lexicon, VECTORS a projection. Requires POSIX.
 */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "undertone_posix.h"

enum { THREADS = 8, ROUNDS = 12, VECTOR_BYTES = UNDERTONE_MAX_VECTOR_RELEASE_BYTES };

static const undertone_pack *pack;
static const undertone_vocabulary *vocabulary;
static const undertone_vector_mechanism *projected;

struct results {
    uint8_t document[UNDERTONE_RELEASE_BYTES];
    uint8_t bag[UNDERTONE_MAX_BAG_RELEASE_BYTES];
    uint8_t vector[VECTOR_BYTES];
    float sentence[4096];
};

/* The results of each round, drawn by one thread alone. */
static struct results expected[ROUNDS];

static void check(int32_t status, const char *what)
{
    if (status != UNDERTONE_STATUS_OK) {
        fprintf(stderr, "threads: %s: %s\n", what, undertone_status_message(status));
        exit(1);
    }
}

static void *allocate(size_t len)
{
    void *memory = calloc(1, len);
    if (memory == NULL) {
        fputs("threads: no memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* Not entropy: the number of the round. */
static int32_t replay(void *context, uint8_t *out, size_t len)
{
    memset(out, 1 + *(const int *)context, len);
    return 0;
}

/* A grant of 3, in the thread's memory. */
static undertone_grant *new_grant(void *memory, int32_t unit)
{
    undertone_grant *grant;
    check(undertone_grant_init_unrecorded(memory, UNDERTONE_GRANT_HANDLE_SIZE, unit, 3000000, &grant), "grant");
    return grant;
}

static void one_round(undertone_document *document, undertone_bag *bag, int round,
                      struct results *results)
{
    static const char *const texts[] = {
        "Good music, good food, good people", "morning tea great old river", "dog dog cat",
    };
    void *memory = allocate(UNDERTONE_GRANT_HANDLE_SIZE);
    size_t written;
    for (int i = 0; i <= round; i++) {
        const char *text = texts[i % 3];
        check(undertone_document_push_sentence(document, text, strlen(text)), "push");
        check(undertone_bag_push_text(bag, text, strlen(text)), "push");
        check(undertone_pack_embed_sentence(pack, text, strlen(text), results->sentence, 4096,
                                            &written),
              "sentence");
    }
    check(undertone_document_release(document, new_grant(memory, UNDERTONE_UNIT_SENTENCE), UNDERTONE_RULE_PERMUTE_AND_FLIP, replay, &round,
                                     results->document, sizeof results->document, &written),
          "document");
    const int32_t mechanism = 1 + round % 3;
    check(undertone_bag_release(bag, new_grant(memory, UNDERTONE_UNIT_WORD), 20, mechanism, replay, &round,
                                results->bag, sizeof results->bag, &written),
          "bag");
    check(undertone_vector_mechanism_release(projected, new_grant(memory, UNDERTONE_UNIT_VECTOR), results->sentence,
                                             undertone_vector_mechanism_dimension(projected), replay, &round,
                                   results->vector, sizeof results->vector, &written),
          "vector");
    free(memory);
}

static void all_rounds(struct results *results)
{
    void *document_memory = allocate(UNDERTONE_DOCUMENT_HANDLE_SIZE);
    void *bag_memory = allocate(UNDERTONE_BAG_HANDLE_SIZE);
    undertone_document *document;
    undertone_bag *bag;
    check(undertone_document_init(document_memory, UNDERTONE_DOCUMENT_HANDLE_SIZE, pack, &document),
          "document");
    check(undertone_bag_init(bag_memory, UNDERTONE_BAG_HANDLE_SIZE, vocabulary, &bag), "bag");
    for (int round = 0; round < ROUNDS; round++) {
        one_round(document, bag, round, &results[round]);
    }
    free(bag_memory);
    free(document_memory);
}

static void *run(void *argument)
{
    struct results *results = allocate(ROUNDS * sizeof *results);
    all_rounds(results);
    *(int *)argument = memcmp(results, expected, sizeof expected) == 0;
    free(results);
    return NULL;
}

static void *race(void *document)
{
    /* It may be refused and may be lost, which is the planted bug. */
    for (int i = 0; i < 20; i++) {
        const int32_t status = undertone_document_push_sentence(document, "good food", 9);
        (void)status;
    }
    return NULL;
}

static const undertone_pack *open_pack(const char *path)
{
    enum { MOST = 1 << 20 };
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = allocate(MOST);
    undertone_pack *opened;
    if (file == NULL) {
        fprintf(stderr, "threads: cannot open %s\n", path);
        exit(1);
    }
    const size_t len = fread(bytes, 1, MOST, file);
    fclose(file);
    check(undertone_pack_init(allocate(UNDERTONE_PACK_HANDLE_SIZE), UNDERTONE_PACK_HANDLE_SIZE, bytes, len,
                              &opened),
          path);
    return opened;
}

enum { SPENDERS = 2, BUDGET = 10, WINDOWS = 10 };

struct spender {
    const undertone_ledger_storage *storage;
    uint64_t window;
    int grants;
};

/* Spends 1 until nothing is left. While the other thread is in a call, the ledger is in use. */
static void *spend_all(void *own)
{
    struct spender *spender = own;
    void *memory = allocate(UNDERTONE_GRANT_HANDLE_SIZE);
    undertone_grant *grant;
    int32_t status;
    do {
        status = undertone_ledger_spend(spender->storage, UNDERTONE_UNIT_SENTENCE, 1000000, 1, spender->window,
                                        undertone_posix_entropy, NULL, memory, UNDERTONE_GRANT_HANDLE_SIZE,
                                        &grant, NULL);
        spender->grants += status == UNDERTONE_STATUS_OK;
    } while (status == UNDERTONE_STATUS_OK || status == UNDERTONE_STATUS_LEDGER_IN_USE);
    if (status != UNDERTONE_STATUS_LEDGER_EXHAUSTED) check(status, "spend");
    free(memory);
    return NULL;
}

/* Threads that share an undertone_posix_ledger get its budget, and no more. */
static void ledger_from_two_threads(void)
{
    char folder[] = "/tmp/undertone-threads-XXXXXX", path[64];
    if (mkdtemp(folder) == NULL) exit(1);
    snprintf(path, sizeof path, "%s/ledger", folder);
    undertone_posix_ledger file = {path, -1, 0};
    const undertone_ledger_storage storage = undertone_posix_storage(&file);
    check(undertone_posix_create(&file, UNDERTONE_UNIT_SENTENCE, BUDGET * 1000000, undertone_posix_entropy, NULL), "ledger");
    for (uint64_t window = 1; window <= WINDOWS; window++) {
        pthread_t threads[SPENDERS];
        struct spender spenders[SPENDERS];
        int grants = 0;
        for (int i = 0; i < SPENDERS; i++) {
            spenders[i] = (struct spender){&storage, window, 0};
            if (pthread_create(&threads[i], NULL, spend_all, &spenders[i]) != 0) exit(1);
        }
        for (int i = 0; i < SPENDERS; i++) {
            pthread_join(threads[i], NULL);
            grants += spenders[i].grants;
        }
        if (grants != BUDGET || file.descriptor != -1) {
            fprintf(stderr, "threads: %d grants of %d\n", grants, BUDGET);
            exit(1);
        }
    }
    unlink(path);
    rmdir(folder);
    puts("case ledger_from_two_threads");
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int same[THREADS] = {0};
    if (argc != 3 && !(argc == 4 && strcmp(argv[3], "--race") == 0)) {
        fputs("usage: threads PACK VECTORS [--race]\n", stderr);
        return 2;
    }
    pack = open_pack(argv[1]);
    undertone_vocabulary *words;
    undertone_vector_mechanism *vector;
    check(undertone_vocabulary_init(allocate(UNDERTONE_VOCABULARY_HANDLE_SIZE),
                                    UNDERTONE_VOCABULARY_HANDLE_SIZE, pack, &words),
          "vocabulary");
    check(undertone_vector_mechanism_init_projected(allocate(UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE),
                                                    UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE, open_pack(argv[2]),
                                          UNDERTONE_NOISE_LAPLACE, 3000000, &vector),
          "vector");
    vocabulary = words;
    projected = vector;

    undertone_document *shared = NULL;
    if (argc == 4) {
        check(undertone_document_init(allocate(UNDERTONE_DOCUMENT_HANDLE_SIZE),
                                      UNDERTONE_DOCUMENT_HANDLE_SIZE, pack, &shared),
              "document");
    } else {
        all_rounds(expected);
        ledger_from_two_threads();
    }
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, shared ? race : run,
                           shared ? (void *)shared : (void *)&same[i])
            != 0) {
            fputs("threads: no thread\n", stderr);
            return 1;
        }
    }
    int all = 1;
    for (int i = 0; i < THREADS; i++) {
        all = pthread_join(threads[i], NULL) == 0 && all && (shared != NULL || same[i]);
    }
    puts(all ? "case pack_from_many_threads\nall threads agree" : "a thread released something else");
    return !all;
}
