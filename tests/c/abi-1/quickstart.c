/* The C program that the README of undertone 0.1 printed, written for ABI version 1. With --check before its argument
 * it asks the library for its version first, as the header of 0.1 told programs to. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "undertone.h"

/* Secret bytes from the operating system. On a phone: getentropy, SecRandomCopyBytes. */
static int32_t os_entropy(void *context, uint8_t *out, size_t len)
{
    FILE *source = fopen("/dev/urandom", "rb");
    size_t got = source ? fread(out, 1, len, source) : 0;
    (void)context;
    if (source) fclose(source);
    return got == len ? 0 : -1;
}

static void check(int32_t status)
{
    if (status != UNDERTONE_OK) {
        fprintf(stderr, "%s\n", undertone_status_message(status));
        exit(1);
    }
}

static int run(const char *path);

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--check") == 0 && undertone_abi_version() != UNDERTONE_ABI_VERSION) {
        fprintf(stderr, "this program needs ABI version %d, the library has %d\n", UNDERTONE_ABI_VERSION,
                (int)undertone_abi_version());
        return 1;
    }
    return argc < 2 ? 2 : run(argv[argc - 1]);
}

static int run(const char *path)
{
    static const char *sentences[] = {
        "My doctor wants to repeat the blood test on Monday.",
        "The clinic called about the swollen node under my arm.",
        "I am worried about the biopsy and the treatment.",
    };
    static uint8_t bytes[4 << 20]; /* an app would map the file */
    uint8_t release[UNDERTONE_RELEASE_BYTES];
    undertone_pack *pack;
    undertone_document *document;
    undertone_grant *grant;
    void *pack_memory = malloc(undertone_pack_size());
    void *document_memory = malloc(undertone_document_size());
    void *grant_memory = malloc(undertone_grant_size());
    FILE *file = fopen(path, "rb");
    size_t len, i;

    if (!file || !pack_memory || !document_memory || !grant_memory) {
        fprintf(stderr, "usage: quickstart PACK\n");
        return 2;
    }
    len = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    check(undertone_pack_init(pack_memory, undertone_pack_size(), bytes, len, &pack));
    check(undertone_document_init(document_memory, undertone_document_size(), pack, &document));
    for (i = 0; i < sizeof sentences / sizeof *sentences; i++)
        check(undertone_document_push_sentence(document, sentences[i], strlen(sentences[i])));
    /* Counts nothing: an app takes a grant of an undertone_ledger. */
    check(undertone_grant_unrecorded(grant_memory, undertone_grant_size(), 3 * 1000000, &grant));
    check(undertone_document_release(document, grant, UNDERTONE_RULE_PERMUTE_AND_FLIP, os_entropy,
                                     NULL, release, sizeof release, &len));
    printf("{\"id\": \"quickstart\", \"release\": \"");
    for (i = 0; i < len; i++) printf("%02x", release[i]);
    printf("\"}\n");
    free(grant_memory);
    free(document_memory);
    free(pack_memory);
    return 0;
}
