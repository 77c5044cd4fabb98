/* Written for ABI version 1: calls that kept their names, with handles in arrays of the size that 0.1 promised.
 *
 *     stayed PACK
 */

#include <stdio.h>
#include <string.h>

#include "undertone.h"

#define EXPECT(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            return 1; \
        } \
    } while (0)

/* Aligned for every handle. */
typedef union {
    long double aligned;
    uint8_t bytes[UNDERTONE_DOCUMENT_BYTES];
} memory;

static memory pack_memory, document_memory, grant_memory;
static uint8_t bytes[4 << 20];

static int32_t entropy(void *context, uint8_t *out, size_t len)
{
    (void)context;
    memset(out, 7, len);
    return 0;
}

int main(int argc, char **argv)
{
    /* A release of 0.1: depth, the exponential mechanism, epsilon 2.5, candidate 2. */
    static const uint8_t known[UNDERTONE_RELEASE_BYTES] = {'U', 'T', 'R', 1, 1, 2, 0, 0, 0xa0, 0x25, 0x26, 0, 2};
    uint8_t image[UNDERTONE_LEDGER_IMAGE_BYTES] = {0};
    uint8_t release[UNDERTONE_RELEASE_BYTES];
    uint8_t id[UNDERTONE_PACK_ID_BYTES];
    undertone_pack *pack;
    undertone_document *document;
    undertone_grant *grant;
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    size_t len, pack_len;
    uint64_t left;
    uint32_t epsilon, candidate;
    int32_t rule;

    EXPECT(file != NULL);
    pack_len = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    EXPECT(undertone_pack_init(&pack_memory, UNDERTONE_PACK_BYTES, bytes, pack_len, &pack) == UNDERTONE_OK);
    EXPECT(undertone_document_init(&document_memory, UNDERTONE_DOCUMENT_BYTES, pack, &document) == UNDERTONE_OK);
    EXPECT(undertone_document_push_sentence(document, "a word", 6) == UNDERTONE_OK);

    EXPECT(undertone_epsilon_parse("2.5", 3, &epsilon) == UNDERTONE_OK && epsilon == 2500000);

    /* Nothing is released without a grant, and the functions that made one have other names now. */
    EXPECT(undertone_document_release(document, NULL, UNDERTONE_RULE_EXPONENTIAL, entropy, NULL, release, sizeof release,
                                      &len) == UNDERTONE_NULL);
    EXPECT(undertone_ledger_remaining(NULL, 1, &left) == UNDERTONE_NULL);
    EXPECT(undertone_ledger_grant(NULL, image, sizeof image, &grant_memory, UNDERTONE_GRANT_BYTES, &grant) ==
           UNDERTONE_NULL);
    memcpy(release, known, sizeof release);
    EXPECT(undertone_release_read(release, sizeof release, &candidate, &epsilon, &rule, id) == UNDERTONE_OK);
    EXPECT(epsilon == 2500000 && rule == UNDERTONE_RULE_EXPONENTIAL && candidate == 2);
    EXPECT(strlen(undertone_status_message(UNDERTONE_LEDGER_EXHAUSTED)) > 20);
    return 0;
}
