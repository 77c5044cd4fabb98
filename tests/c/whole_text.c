/*
 * Whole-text releases with entropy that is not random.
 *
 *     whole_text PACK ENTROPY [--encoded] < TEXT     ENTROPY is 64 hexadecimal digits
 *
 * Each line of standard input is a sentence, with --encoded together with an embedding of zeroes.
 * Prints the promise of both units at epsilon 2, in micro-units, then the release in hexadecimal
 * and its outcome.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "undertone.h"

static void check(int32_t status, const char *what)
{
    if (status != UNDERTONE_STATUS_OK) {
        fprintf(stderr, "whole_text: %s: %s\n", what, undertone_status_message(status));
        exit(1);
    }
}

static int32_t prescribed(void *context, uint8_t *out, size_t len)
{
    const char *digits = context;
    if (strlen(digits) != 2 * len) {
        return -1;
    }
    for (size_t i = 0; i < len; i++) {
        const char pair[3] = {digits[2 * i], digits[2 * i + 1], '\0'};
        out[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return 0;
}

static void push_line(undertone_document *document, const char *line, size_t dimension, int encoded)
{
    static const float zeroes[4096];
    const size_t len = strcspn(line, "\n");
    check(encoded ? undertone_document_push_encoded(document, line, len, zeroes, dimension)
                  : undertone_document_push_sentence(document, line, len),
          "a sentence");
}

int main(int argc, char **argv)
{
    static uint8_t bytes[1 << 20];
    char line[1 << 12];
    if (argc < 3) {
        fputs("usage: whole_text PACK ENTROPY [--encoded] < TEXT\n", stderr);
        return 2;
    }
    FILE *file = fopen(argv[1], "rb");
    if (file == NULL) {
        perror(argv[1]);
        return 1;
    }
    const size_t len = fread(bytes, 1, sizeof bytes, file);
    fclose(file);

    void *pack_memory = malloc(UNDERTONE_PACK_HANDLE_SIZE);
    void *document_memory = malloc(UNDERTONE_DOCUMENT_HANDLE_SIZE);
    void *grant_memory = malloc(UNDERTONE_GRANT_HANDLE_SIZE);
    if (pack_memory == NULL || document_memory == NULL || grant_memory == NULL) {
        return 1;
    }
    undertone_pack *pack;
    undertone_pack_description described;
    undertone_document *document;
    undertone_grant *grant;
    check(undertone_pack_init(pack_memory, UNDERTONE_PACK_HANDLE_SIZE, bytes, len, &pack), argv[1]);
    check(undertone_pack_describe(pack, &described), argv[1]);
    check(undertone_document_init(document_memory, UNDERTONE_DOCUMENT_HANDLE_SIZE, pack, &document), argv[1]);
    const int32_t units[] = {UNDERTONE_UNIT_SENTENCE, UNDERTONE_UNIT_WHOLE_TEXT};
    for (size_t i = 0; i < 2; i++) {
        uint64_t sentence, whole_text;
        check(undertone_document_promise(document, units[i], 2000000, &sentence, &whole_text), "a promise");
        printf("%lu %lu\n", (unsigned long)sentence, (unsigned long)whole_text);
    }
    while (fgets(line, sizeof line, stdin) != NULL) {
        push_line(document, line, described.dimension, argc > 3);
    }

    uint8_t release[UNDERTONE_RELEASE_BYTES];
    size_t written;
    check(undertone_grant_init_unrecorded(grant_memory, UNDERTONE_GRANT_HANDLE_SIZE, UNDERTONE_UNIT_WHOLE_TEXT, 2000000,
                                          &grant), "a grant");
    check(undertone_document_release_whole_text(document, grant, prescribed, argv[2], release, sizeof release, &written),
          "a release");
    for (size_t i = 0; i < written; i++) {
        printf("%02x", (unsigned)release[i]);
    }
    uint32_t candidate, epsilon;
    int32_t rule, unit;
    uint8_t id[UNDERTONE_PACK_ID_BYTES];
    check(undertone_release_read(release, written, &candidate, &epsilon, &rule, &unit, NULL, id), "reading");
    if (unit != UNDERTONE_UNIT_WHOLE_TEXT || epsilon != 2000000 || rule != UNDERTONE_RULE_EXPONENTIAL) {
        fputs("whole_text: the release says something else than what was done\n", stderr);
        return 1;
    }
    if (candidate == described.nothing_known) {
        puts(" nothing known");
    } else {
        printf(" %lu\n", (unsigned long)candidate);
    }
    check(undertone_document_reset(document), "reset");
    free(grant_memory);
    free(document_memory);
    free(pack_memory);
    return 0;
}
