/* Every case of the golden vectors on the device: exit status 0 if all releases are as they must
 * be, to the byte. */
#include "startup.h"
#include "undertone.h"

#include <stddef.h>
#include <stdint.h>

#define ALIGNED __attribute__((aligned(UNDERTONE_HANDLE_ALIGNMENT)))

struct sentence {
    int is_embedding;
    const uint8_t *bytes;
    size_t len;
};

struct test_case {
    const char *name;
    uint32_t epsilon_micro;
    int32_t rule;
    uint8_t entropy[32];
    uint8_t release[UNDERTONE_RELEASE_BYTES];
    size_t first_sentence;
    size_t end_of_sentences;
};

struct golden {
    const uint8_t *bytes;
    size_t len;
    size_t first_case;
    size_t end_of_cases;
};

#include "golden.h"

static uint8_t pack_memory[UNDERTONE_PACK_BYTES] ALIGNED;
static uint8_t document_memory[UNDERTONE_DOCUMENT_BYTES] ALIGNED;

static uint8_t grant_memory[UNDERTONE_GRANT_BYTES] ALIGNED;

static int32_t replay(void *context, uint8_t *out, size_t len)
{
    const uint8_t *key = context;
    for (size_t i = 0; i < len; i++) {
        out[i] = key[i % 32];
    }
    return 0;
}

static int32_t push(undertone_document *document, const struct sentence *sentence)
{
    if (sentence->is_embedding) {
        const void *floats = sentence->bytes;
        return undertone_document_push(document, floats, sentence->len / sizeof(float));
    }
    const void *text = sentence->bytes;
    return undertone_document_push_sentence(document, text, sentence->len);
}

/* Whether the release of a case is the one it must be. */
static int passes(undertone_document *document, const struct test_case *test)
{
    for (size_t i = test->first_sentence; i < test->end_of_sentences; i++) {
        if (push(document, &sentences[i]) != UNDERTONE_OK) {
            return 0;
        }
    }
    uint8_t key[32];
    for (size_t i = 0; i < sizeof key; i++) {
        key[i] = test->entropy[i];
    }
    uint8_t release[UNDERTONE_RELEASE_BYTES];
    size_t written = 0;
    undertone_grant *grant;
    if (undertone_grant_unrecorded(grant_memory, sizeof grant_memory, test->epsilon_micro, &grant) !=
            UNDERTONE_OK ||
        undertone_document_release(document, grant, test->rule, replay, key, release,
                                   sizeof release, &written) != UNDERTONE_OK ||
        written != sizeof release) {
        return 0;
    }
    for (size_t i = 0; i < written; i++) {
        if (release[i] != test->release[i]) {
            return 0;
        }
    }
    return 1;
}

/* Whether all cases of a pack pass. */
static int all_pass(const struct golden *golden)
{
    undertone_pack *pack;
    undertone_document *document;
    if (undertone_pack_init(pack_memory, sizeof pack_memory, golden->bytes, golden->len, &pack) !=
            UNDERTONE_OK ||
        undertone_document_init(document_memory, sizeof document_memory, pack, &document) !=
            UNDERTONE_OK) {
        print("a golden pack is refused\n");
        return 0;
    }
    int all = 1;
    for (size_t i = golden->first_case; i < golden->end_of_cases; i++) {
        if (!passes(document, &cases[i])) {
            print("wrong: ");
            print(cases[i].name);
            all = 0;
            (void)undertone_document_reset(document);
        }
    }
    return all;
}

int main(void)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof packs / sizeof packs[0]; i++) {
        if (!all_pass(&packs[i])) {
            failed = 1;
        }
    }
    print(failed ? "golden vectors: failed\n" : "golden vectors: all releases as they must be\n");
    return failed;
}
