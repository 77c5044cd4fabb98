/* The golden vectors on the device: exit status 0 if all releases agree to the byte. With
 * WITHOUT_ANY_LANGUAGE, for a library without that feature: packs that need it are refused. */
#include "startup.h"
#include "undertone.h"

#include <stddef.h>
#include <stdint.h>

#define ALIGNED __attribute__((aligned(UNDERTONE_HANDLE_ALIGNMENT)))

/* Used in place of a sentence rule. */
enum { WHOLE_TEXT = -1, PROJECTIVE = -2 };

enum kind { INPUT_SENTENCE, INPUT_EMBEDDING, INPUT_WORD, INPUT_TEXT, INPUT_VECTOR };

struct input {
    enum kind kind;
    const uint8_t *bytes;
    size_t len;
};

struct test_case {
    const char *name;
    uint32_t epsilon_micro;
    int32_t rule;
    int32_t mechanism;
    uint32_t size;
    int32_t noise;
    int32_t bound_exponent;
    int projected;
    uint8_t entropy[32];
    const uint8_t *release;
    size_t release_len;
    size_t first_input;
    size_t end_of_inputs;
};

struct golden {
    const uint8_t *bytes;
    size_t len;
    size_t first_case;
    size_t end_of_cases;
    int needs_any_language;
};

#include "golden.h"

static uint8_t pack_memory[UNDERTONE_PACK_HANDLE_SIZE] ALIGNED;
static uint8_t document_memory[UNDERTONE_DOCUMENT_HANDLE_SIZE] ALIGNED;
static uint8_t vocabulary_memory[UNDERTONE_VOCABULARY_HANDLE_SIZE] ALIGNED;
static uint8_t bag_memory[UNDERTONE_BAG_HANDLE_SIZE] ALIGNED;
static uint8_t vector_memory[UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE] ALIGNED;
static uint8_t release[UNDERTONE_MAX_VECTOR_RELEASE_BYTES];

static undertone_pack *pack;
static undertone_document *document;
static undertone_bag *bag;

static uint8_t grant_memory[UNDERTONE_GRANT_HANDLE_SIZE] ALIGNED;

static int32_t replay(void *context, uint8_t *out, size_t len)
{
    const uint8_t *key = context;
    for (size_t i = 0; i < len; i++) {
        out[i] = key[i % 32];
    }
    return 0;
}

static int32_t push(const struct input *input)
{
    const void *bytes = input->bytes;
    switch (input->kind) {
    case INPUT_EMBEDDING:
        return undertone_document_push(document, bytes, input->len / sizeof(float));
    case INPUT_SENTENCE:
        return undertone_document_push_sentence(document, bytes, input->len);
    case INPUT_WORD:
        return undertone_bag_push(bag, bytes, input->len);
    case INPUT_TEXT:
        return undertone_bag_push_text(bag, bytes, input->len);
    case INPUT_VECTOR:
        break;
    }
    return UNDERTONE_STATUS_OK;
}

static int32_t release_vector(const struct test_case *test, undertone_grant *grant, uint8_t *key,
                              size_t *written)
{
    const struct input *input = &inputs[test->first_input];
    const size_t len = input->len / sizeof(float);
    const void *floats = input->bytes;
    undertone_vector_mechanism *vector;
    const int32_t status =
        test->projected
            ? undertone_vector_mechanism_init_projected(vector_memory, sizeof vector_memory, pack,
                                                        test->noise, test->epsilon_micro, &vector)
            : undertone_vector_mechanism_init(vector_memory, sizeof vector_memory, (uint32_t)len,
                                              test->bound_exponent, test->noise, test->epsilon_micro,
                                    &vector);
    if (status != UNDERTONE_STATUS_OK) {
        return status;
    }
    return undertone_vector_mechanism_release(vector, grant, floats, len, replay, key, release,
                                              sizeof release, written);
}

/* Returns whether a release is the expected one. */
static int passes(const struct test_case *test)
{
    for (size_t i = test->first_input; i < test->end_of_inputs; i++) {
        if (push(&inputs[i]) != UNDERTONE_STATUS_OK) {
            return 0;
        }
    }
    uint8_t key[32];
    for (size_t i = 0; i < sizeof key; i++) {
        key[i] = test->entropy[i];
    }
    size_t written = 0;
    undertone_grant *grant;
    const int32_t unit = test->noise != 0       ? UNDERTONE_UNIT_VECTOR
                         : test->mechanism != 0 ? UNDERTONE_UNIT_WORD
                         : test->rule == WHOLE_TEXT || test->rule == PROJECTIVE
                             ? UNDERTONE_UNIT_WHOLE_TEXT
                             : UNDERTONE_UNIT_SENTENCE;
    int32_t status = undertone_grant_init_unrecorded(grant_memory, sizeof grant_memory, unit,
                                                     test->epsilon_micro, &grant);
    if (status != UNDERTONE_STATUS_OK) {
        return 0;
    }
    if (test->noise != 0) {
        status = release_vector(test, grant, key, &written);
    } else if (test->mechanism != 0) {
        status = undertone_bag_release(bag, grant, test->size, test->mechanism, replay, key,
                                       release, sizeof release, &written);
    } else if (test->rule == WHOLE_TEXT) {
        status = undertone_document_release_whole_text(document, grant, replay, key, release, sizeof release, &written);
    } else if (test->rule == PROJECTIVE) {
        status = undertone_document_release_projective(document, grant, replay, key, release, sizeof release, &written);
    } else {
        status = undertone_document_release(document, grant, test->rule, replay, key, release,
                                            sizeof release, &written);
    }
    if (status != UNDERTONE_STATUS_OK || written != test->release_len) {
        return 0;
    }
    for (size_t i = 0; i < written; i++) {
        if (release[i] != test->release[i]) {
            return 0;
        }
    }
    return 1;
}

/* Makes handles for all sections of a pack. */
static int open_pack(const struct golden *golden)
{
    undertone_vocabulary *vocabulary;
    undertone_pack_description described;
    if (undertone_pack_init(pack_memory, sizeof pack_memory, golden->bytes, golden->len, &pack) !=
            UNDERTONE_STATUS_OK ||
        undertone_pack_describe(pack, &described) != UNDERTONE_STATUS_OK) {
        return 0;
    }
    if (described.candidate_count != 0 &&
        undertone_document_init(document_memory, sizeof document_memory, pack, &document) !=
            UNDERTONE_STATUS_OK) {
        return 0;
    }
    return described.word_count == 0 ||
           (undertone_vocabulary_init(vocabulary_memory, sizeof vocabulary_memory, pack,
                                      &vocabulary) == UNDERTONE_STATUS_OK &&
            undertone_bag_init(bag_memory, sizeof bag_memory, vocabulary, &bag) == UNDERTONE_STATUS_OK);
}

/* Returns whether all cases of a pack pass. */
static int all_pass(const struct golden *golden)
{
#ifdef WITHOUT_ANY_LANGUAGE
    if (golden->needs_any_language) {
        return undertone_pack_init(pack_memory, sizeof pack_memory, golden->bytes, golden->len, &pack) ==
               UNDERTONE_STATUS_PACK_MALFORMED;
    }
#endif
    if (!open_pack(golden)) {
        print("a golden pack is refused\n");
        return 0;
    }
    int all = 1;
    for (size_t i = golden->first_case; i < golden->end_of_cases; i++) {
        if (!passes(&cases[i])) {
            print("wrong: ");
            print(cases[i].name);
            all = 0;
            /* Pushed sentences must not reach the next case. */
            if (!open_pack(golden)) {
                return 0;
            }
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
    print_number(sizeof cases / sizeof cases[0]);
    print(failed ? " golden vectors: failed\n" : " golden vectors: all releases as they must be\n");
#ifdef WITHOUT_ANY_LANGUAGE
    print("but for the packs of sparse heads, which are refused\n");
#endif
    return failed;
}
