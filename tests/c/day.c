/*
 * The day of a keyboard that every face runs (tests/faces/keyboard-day.md), with a ledger in a
 * POSIX file:
 *
 *     day PACK LEDGER     golden-scores.pack, and the path of a new ledger
 *
 * It prints the name of each step that gave the expected result, and stops at the first that did
 * not.
 */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "undertone_posix.h"

enum { IMAGE = UNDERTONE_LEDGER_IMAGE_BYTES, RECORD = UNDERTONE_LEDGER_RECORD_BYTES };

static const int32_t unit = UNDERTONE_UNIT_SENTENCE;
static const char *step;
static const char *path;
static undertone_posix_ledger file;
static undertone_ledger_storage storage;
static undertone_document *document;
static undertone_grant *grant;
static void *grant_memory;
static undertone_pack_description described;

static void hold(int held, const char *what, int line)
{
    if (held) return;
    fprintf(stderr, "day.c:%d: %s: not so: %s\n", line, step, what);
    exit(1);
}

#define HOLD(condition) hold((condition) != 0, #condition, __LINE__)
#define STATUS(expected, call) HOLD((call) == UNDERTONE_STATUS_##expected)
#define STEP(name) puts("case " #name), step = #name

static size_t load(const char *name, uint8_t *bytes, size_t capacity)
{
    FILE *from = fopen(name, "rb");
    HOLD(from != NULL);
    const size_t len = fread(bytes, 1, capacity, from);
    fclose(from);
    return len;
}

static void store(const uint8_t *bytes, size_t len)
{
    FILE *to = fopen(path, "wb");
    HOLD(to != NULL);
    HOLD(fwrite(bytes, 1, len, to) == len);
    HOLD(fclose(to) == 0);
}

static int32_t spend(uint32_t whole_epsilon, uint64_t window)
{
    return undertone_ledger_spend(&storage, unit, whole_epsilon * 1000000, 1, window, undertone_posix_entropy, NULL, grant_memory,
                                  UNDERTONE_GRANT_HANDLE_SIZE, &grant, NULL);
}

static uint64_t left(uint64_t window)
{
    uint64_t micro = 0;
    STATUS(OK, undertone_posix_remaining(&storage, unit, window, &micro));
    return micro;
}

static void push(const char *sentence)
{
    STATUS(OK, undertone_document_push_sentence(document, sentence, strlen(sentence)));
}

static void release(uint32_t whole_epsilon)
{
    uint8_t bytes[UNDERTONE_RELEASE_BYTES], id[UNDERTONE_PACK_ID_BYTES];
    uint32_t candidate, epsilon, order;
    int32_t rule, found;
    size_t len;
    STATUS(OK, undertone_document_release(document, grant, UNDERTONE_RULE_PERMUTE_AND_FLIP, undertone_posix_entropy, NULL, bytes,
                                          sizeof bytes, &len));
    HOLD(len == sizeof bytes && undertone_document_sentence_count(document) == 0);
    STATUS(OK, undertone_release_read(bytes, len, &candidate, &epsilon, &rule, &found, &order, id));
    HOLD(candidate < 200 && epsilon == whole_epsilon * 1000000);
    HOLD(rule == UNDERTONE_RULE_PERMUTE_AND_FLIP && found == unit && order == 0);
    HOLD(memcmp(id, described.id, sizeof id) == 0);
}

int main(int argc, char **argv)
{
    static const uint8_t scores_pack[] = {0x16, 0xf4, 0xb6, 0x45, 0x59, 0xf9, 0x09, 0x96};
    static const char typed[] = "My doctor wants to repeat the blood test. The clinic called about the swollen node.";
    static uint8_t bytes[1 << 16];
    uint8_t before[IMAGE + 1], after[IMAGE + 1], torn[IMAGE];
    undertone_pack *pack;
    size_t sentences;
    if (argc != 3) return 2;
    path = argv[2];
    file = (undertone_posix_ledger){path, -1, 0};
    storage = undertone_posix_storage(&file);
    void *pack_memory = malloc(UNDERTONE_PACK_HANDLE_SIZE);
    void *document_memory = malloc(UNDERTONE_DOCUMENT_HANDLE_SIZE);
    grant_memory = malloc(UNDERTONE_GRANT_HANDLE_SIZE);
    step = "before the first step";
    HOLD(pack_memory && document_memory && grant_memory);
    const size_t pack_len = load(argv[1], bytes, sizeof bytes);
    STATUS(OK, undertone_pack_init(pack_memory, UNDERTONE_PACK_HANDLE_SIZE, bytes, pack_len, &pack));
    STATUS(OK, undertone_pack_describe(pack, &described));
    HOLD(memcmp(described.id, scores_pack, sizeof scores_pack) == 0);

    STEP(new_ledger);
    STATUS(OK, undertone_posix_create(&file, unit, 10000000, undertone_posix_entropy, NULL));
    HOLD(load(path, before, sizeof before) == IMAGE && left(20000) == 10000000);
    STEP(typed_text);
    STATUS(OK, undertone_document_init(document_memory, UNDERTONE_DOCUMENT_HANDLE_SIZE, pack, &document));
    STATUS(OK, undertone_document_push_text(document, typed, strlen(typed), &sentences));
    HOLD(sentences == 2);
    STEP(first_spend);
    STATUS(OK, spend(3, 20000));
    HOLD(left(20000) == 7000000);
    STEP(first_release);
    release(3);
    STEP(second_release);
    push("We won the match.");
    STATUS(OK, spend(4, 20000));
    release(4);
    HOLD(left(20000) == 3000000);
    STEP(refused_spend);
    STATUS(LEDGER_EXHAUSTED, spend(4, 20000));
    HOLD(left(20000) == 3000000);
    /* In C nothing stays open between two calls. */
    STEP(reopened);
    HOLD(left(20000) == 3000000);

    STEP(killed_before);
    HOLD(load(path, before, sizeof before) == IMAGE);
    STATUS(OK, spend(1, 20000));
    HOLD(left(20000) == 2000000 && load(path, after, sizeof after) == IMAGE);
    store(before, IMAGE);
    HOLD(left(20000) == 3000000);
    STEP(killed_after);
    store(after, IMAGE);
    HOLD(left(20000) == 2000000);
    STEP(killed_in_between);
    const size_t record = memcmp(before, after, RECORD) != 0 ? 0 : RECORD;
    HOLD(memcmp(before + RECORD - record, after + RECORD - record, RECORD) == 0);
    memcpy(torn, before, IMAGE);
    memcpy(torn + record, after + record, 40);
    store(torn, IMAGE);
    HOLD(left(20000) == 0);
    STEP(lost_record);
    STATUS(LEDGER_RECORD_LOST, spend(1, 20000));
    HOLD(left(20000) == 0);
    STEP(rest_of_the_window);
    STATUS(LEDGER_EXHAUSTED, spend(1, 20000));
    HOLD(left(20000) == 0);
    STEP(next_window);
    STATUS(OK, spend(3, 20001));
    push("The rehearsal is at seven.");
    release(3);
    HOLD(left(20001) == 7000000);
    STEP(clock_back);
    STATUS(LEDGER_FROM_FUTURE, spend(1, 20000));
    HOLD(left(20001) == 7000000);

    STEP(emptied);
    store(before, 0);
    uint64_t micro;
    STATUS(LEDGER_WRONG_LENGTH, undertone_posix_remaining(&storage, unit, 20001, &micro));
    STEP(recreated);
    STATUS(OK, undertone_posix_recreate_spent(&file, &storage, unit, 10000000, 20001, undertone_posix_entropy, NULL));
    HOLD(left(20001) == 0 && left(20002) == 10000000);
    STEP(refused_anew);
    STATUS(LEDGER_EXHAUSTED, spend(1, 20001));
    STEP(new_day);
    STATUS(OK, spend(3, 20002));
    push("Good morning.");
    release(3);
    HOLD(left(20002) == 7000000);

    free(grant_memory);
    free(document_memory);
    free(pack_memory);
    return 0;
}
