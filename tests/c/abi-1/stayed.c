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

static memory pack_memory, document_memory, ledger_memory, grant_memory;
static uint8_t bytes[4 << 20];

static int32_t entropy(void *context, uint8_t *out, size_t len)
{
    (void)context;
    memset(out, 7, len);
    return 0;
}

int main(int argc, char **argv)
{
    /* A ledger of 0.1: budget 5 in every window, nothing spent. */
    static const uint8_t stored[] = {
#include "ledger.inc"
    };
    uint8_t image[UNDERTONE_LEDGER_IMAGE_BYTES];
    uint8_t record[UNDERTONE_LEDGER_RECORD_BYTES];
    uint8_t release[UNDERTONE_RELEASE_BYTES];
    uint8_t id[UNDERTONE_PACK_ID_BYTES];
    undertone_pack *pack;
    undertone_document *document;
    undertone_ledger *ledger;
    undertone_grant *grant;
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    size_t len, pack_len, offset;
    uint64_t left;
    uint32_t epsilon, candidate;
    int32_t rule;

    EXPECT(file != NULL);
    pack_len = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    EXPECT(undertone_pack_init(&pack_memory, UNDERTONE_PACK_BYTES, bytes, pack_len, &pack) == UNDERTONE_OK);
    EXPECT(undertone_document_init(&document_memory, UNDERTONE_DOCUMENT_BYTES, pack, &document) == UNDERTONE_OK);
    EXPECT(undertone_document_push_sentence(document, "a word", 6) == UNDERTONE_OK);

    EXPECT(sizeof stored == sizeof image);
    memcpy(image, stored, sizeof image);
    EXPECT(undertone_ledger_init(&ledger_memory, UNDERTONE_LEDGER_BYTES, image, sizeof image, entropy, NULL, &ledger) ==
           UNDERTONE_OK);
    EXPECT(undertone_ledger_remaining(ledger, 1, &left) == UNDERTONE_OK && left == 5000000);
    EXPECT(undertone_ledger_reserve(ledger, 6000000, 1, image, sizeof image, record, sizeof record, &len, &offset) ==
           UNDERTONE_LEDGER_EXHAUSTED);
    EXPECT(undertone_epsilon_parse("2.5", 3, &epsilon) == UNDERTONE_OK && epsilon == 2500000);
    EXPECT(undertone_ledger_reserve(ledger, epsilon, 1, image, sizeof image, record, sizeof record, &len, &offset) ==
           UNDERTONE_OK);
    memcpy(image + offset, record, len);
    EXPECT(undertone_ledger_grant(ledger, image, sizeof image, &grant_memory, UNDERTONE_GRANT_BYTES, &grant) ==
           UNDERTONE_OK);

    EXPECT(undertone_document_release(document, grant, 9, entropy, NULL, release, sizeof release, &len) ==
           UNDERTONE_UNKNOWN_RULE);
    EXPECT(undertone_document_release(document, grant, UNDERTONE_RULE_EXPONENTIAL, entropy, NULL, release, 3, &len) ==
           UNDERTONE_BUFFER_TOO_SMALL);
    EXPECT(len == UNDERTONE_RELEASE_BYTES);
    EXPECT(undertone_document_release(document, grant, UNDERTONE_RULE_EXPONENTIAL, entropy, NULL, release,
                                      sizeof release, &len) == UNDERTONE_OK);
    EXPECT(undertone_document_release(document, grant, UNDERTONE_RULE_EXPONENTIAL, entropy, NULL, release,
                                      sizeof release, &len) == UNDERTONE_GRANT_SPENT);
    EXPECT(undertone_release_read(release, len, &candidate, &epsilon, &rule, id) == UNDERTONE_OK);
    EXPECT(epsilon == 2500000 && rule == UNDERTONE_RULE_EXPONENTIAL);
    EXPECT(strlen(undertone_status_message(UNDERTONE_LEDGER_EXHAUSTED)) > 20);
    return 0;
}
