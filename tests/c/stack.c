/*
 * How much stack the library takes: a thread runs every call on a stack that was painted before.
 *
 *     stack PACK BYTES     fails if more than BYTES are used; POSIX
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "undertone.h"

enum { STACK = 256 * 1024, PAINT = 0xa5 };

static uint8_t *pack_bytes;
static size_t pack_len;
/* As on a device without an allocator. */
static union {
    uint8_t bytes[UNDERTONE_PACK_BYTES];
    long double aligned;
} pack_memory;
static union {
    uint8_t bytes[UNDERTONE_DOCUMENT_BYTES];
    long double aligned;
} document_memory;
static union {
    uint8_t bytes[UNDERTONE_GRANT_BYTES];
    long double aligned;
} grant_memory;
static union {
    uint8_t bytes[UNDERTONE_LEDGER_BYTES];
    long double aligned;
} ledger_memory;
static uint8_t ledger_file[UNDERTONE_LEDGER_IMAGE_BYTES];
static float embedding[4096];
static const char *failed;

static int32_t not_entropy(void *context, uint8_t *out, size_t len)
{
    (void)context;
    memset(out, 1, len);
    return 0;
}

static void *nothing(void *argument)
{
    return argument;
}

static void *every_call(void *argument)
{
    undertone_pack *pack;
    undertone_document *document;
    undertone_ledger *ledger;
    undertone_grant *grant;
    uint8_t release[UNDERTONE_RELEASE_BYTES];
    uint8_t record[UNDERTONE_LEDGER_RECORD_BYTES];
    size_t written, offset;
    if (undertone_pack_init(&pack_memory, sizeof pack_memory, pack_bytes, pack_len, &pack)
        != UNDERTONE_OK) {
        failed = "pack";
    } else if (undertone_document_init(&document_memory, sizeof document_memory, pack, &document)
               != UNDERTONE_OK) {
        failed = "document";
    } else if (undertone_document_push(document, embedding, undertone_pack_dimension(pack))
               != UNDERTONE_OK) {
        failed = "push";
    } else if (undertone_document_push_sentence(document, "a few words", 11) != UNDERTONE_OK) {
        failed = "push_sentence";
    } else if (undertone_ledger_create(1000000, not_entropy, NULL, ledger_file, sizeof ledger_file,
                                       &written)
                   != UNDERTONE_OK
               || undertone_ledger_init(&ledger_memory, sizeof ledger_memory, ledger_file,
                                        sizeof ledger_file, not_entropy, NULL, &ledger)
                      != UNDERTONE_OK
               || undertone_ledger_reserve(ledger, 1000000, 1, ledger_file, sizeof ledger_file,
                                           record, sizeof record, &written, &offset)
                      != UNDERTONE_OK) {
        failed = "ledger";
    } else if (memcpy(ledger_file + offset, record, written),
               undertone_ledger_grant(ledger, ledger_file, sizeof ledger_file, &grant_memory,
                                      sizeof grant_memory, &grant)
                   != UNDERTONE_OK) {
        failed = "grant";
    } else if (undertone_document_release(document, grant, UNDERTONE_RULE_PERMUTE_AND_FLIP,
                                          not_entropy, NULL, release, sizeof release, &written)
               != UNDERTONE_OK) {
        failed = "release";
    }
    return argument;
}

static size_t stack_used(void *(*run)(void *))
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
        && pthread_create(&thread, &attributes, run, NULL) == 0
        && pthread_join(thread, NULL) == 0) {
        while (left < STACK && ((const uint8_t *)stack)[left] == PAINT) {
            left++;
        }
    }
    free(stack);
    return STACK - left;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: stack PACK BYTES\n", stderr);
        return 2;
    }
    FILE *file = fopen(argv[1], "rb");
    pack_bytes = malloc(1 << 20);
    if (file == NULL || pack_bytes == NULL) {
        fputs("stack: cannot read the pack\n", stderr);
        return 1;
    }
    pack_len = fread(pack_bytes, 1, 1 << 20, file);
    fclose(file);
    const size_t base = stack_used(nothing);
    const size_t used = stack_used(every_call) - base;
    free(pack_bytes);
    if (failed != NULL) {
        fprintf(stderr, "stack: %s failed\n", failed);
        return 1;
    }
    printf("%lu bytes of stack\n", (unsigned long)used);
    return used > strtoul(argv[2], NULL, 10);
}
