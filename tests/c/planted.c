/*
 * Bugs between a program and the library. It is compiled with ffi/audit/device.c, whose calls
 * -Dundertone_X=planted_Y renames to these. An audit of the program must fail.
 */
#include <stdlib.h>
#include <string.h>

#include "undertone.h"

/* Offsets in a release: core/FORMAT.md. */
#define RULE_AT 5
#define EPSILON_AT 8
#define PACK_AT 16

int32_t planted_doubled_grant(void *memory, size_t memory_len, int32_t unit, uint32_t epsilon_micro,
                              undertone_grant **out_grant);
int32_t planted_quiet_release(undertone_document *document, undertone_grant *grant, int32_t rule,
                              undertone_entropy_fn entropy, void *context, uint8_t *out, size_t out_capacity,
                              size_t *out_written);
int32_t planted_rounded_release(undertone_document *document, undertone_grant *grant, int32_t rule,
                                undertone_entropy_fn entropy, void *context, uint8_t *out, size_t out_capacity,
                                size_t *out_written);
int32_t planted_other_rule_release(undertone_document *document, undertone_grant *grant, int32_t rule,
                                   undertone_entropy_fn entropy, void *context, uint8_t *out, size_t out_capacity,
                                   size_t *out_written);
int32_t planted_other_pack_release(undertone_document *document, undertone_grant *grant, int32_t rule,
                                   undertone_entropy_fn entropy, void *context, uint8_t *out, size_t out_capacity,
                                   size_t *out_written);
int32_t planted_seeded_release(undertone_document *document, undertone_grant *grant, int32_t rule,
                               undertone_entropy_fn entropy, void *context, uint8_t *out, size_t out_capacity,
                               size_t *out_written);
int32_t planted_late_push(undertone_document *document, const float *embedding, size_t len);
int32_t planted_late_push_sentence(undertone_document *document, const char *sentence, size_t len);
int32_t planted_silent_whole_text(undertone_document *document, undertone_grant *grant, undertone_entropy_fn entropy,
                                  void *context, uint8_t *out, size_t out_capacity, size_t *out_written);
int32_t planted_silent_projective(undertone_document *document, undertone_grant *grant, undertone_entropy_fn entropy,
                                  void *context, uint8_t *out, size_t out_capacity, size_t *out_written);

static uint32_t epsilon_of(const uint8_t *release)
{
    const uint8_t *bytes = release + EPSILON_AT;
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void say_epsilon(uint8_t *release, uint32_t epsilon_micro)
{
    size_t i;
    for (i = 0; i < 4; i++) release[EPSILON_AT + i] = (uint8_t)(epsilon_micro >> 8 * i);
}

/* Spends twice the requested epsilon, ... */
int32_t planted_doubled_grant(void *memory, size_t memory_len, int32_t unit, uint32_t epsilon_micro,
                              undertone_grant **out_grant)
{
    return undertone_grant_init_unrecorded(memory, memory_len, unit, 2 * epsilon_micro, out_grant);
}

/* ... and reports the requested one. */
int32_t planted_quiet_release(undertone_document *document, undertone_grant *grant, int32_t rule,
                              undertone_entropy_fn entropy, void *context, uint8_t *out, size_t out_capacity,
                              size_t *out_written)
{
    const int32_t status =
        undertone_document_release(document, grant, rule, entropy, context, out, out_capacity, out_written);
    if (status == UNDERTONE_STATUS_OK) say_epsilon(out, epsilon_of(out) / 2);
    return status;
}

/* Returns a coarse value. */
int32_t planted_rounded_release(undertone_document *document, undertone_grant *grant, int32_t rule,
                                undertone_entropy_fn entropy, void *context, uint8_t *out, size_t out_capacity,
                                size_t *out_written)
{
    const int32_t status =
        undertone_document_release(document, grant, rule, entropy, context, out, out_capacity, out_written);
    if (status == UNDERTONE_STATUS_OK) say_epsilon(out, epsilon_of(out) / 100000 * 100000);
    return status;
}

int32_t planted_other_rule_release(undertone_document *document, undertone_grant *grant, int32_t rule,
                                   undertone_entropy_fn entropy, void *context, uint8_t *out, size_t out_capacity,
                                   size_t *out_written)
{
    const int32_t status =
        undertone_document_release(document, grant, rule, entropy, context, out, out_capacity, out_written);
    if (status == UNDERTONE_STATUS_OK) out[RULE_AT] = UNDERTONE_RULE_PERMUTE_AND_FLIP;
    return status;
}

int32_t planted_other_pack_release(undertone_document *document, undertone_grant *grant, int32_t rule,
                                   undertone_entropy_fn entropy, void *context, uint8_t *out, size_t out_capacity,
                                   size_t *out_written)
{
    const int32_t status =
        undertone_document_release(document, grant, rule, entropy, context, out, out_capacity, out_written);
    if (status == UNDERTONE_STATUS_OK) memset(out + PACK_AT, 0, UNDERTONE_PACK_ID_BYTES);
    return status;
}

/* A seeded generator. */
static int32_t seeded(void *context, uint8_t *out, size_t len)
{
    static uint64_t state = 1;
    size_t i;
    (void)context;
    for (i = 0; i < len; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        out[i] = (uint8_t)(state >> 56);
    }
    return 0;
}

int32_t planted_seeded_release(undertone_document *document, undertone_grant *grant, int32_t rule,
                               undertone_entropy_fn entropy, void *context, uint8_t *out, size_t out_capacity,
                               size_t *out_written)
{
    (void)entropy;
    return undertone_document_release(document, grant, rule, seeded, context, out, out_capacity, out_written);
}

/* Drops sentences after the hundredth. */
int32_t planted_late_push(undertone_document *document, const float *embedding, size_t len)
{
    if (undertone_document_sentence_count(document) >= 100) return UNDERTONE_STATUS_OK;
    return undertone_document_push(document, embedding, len);
}

int32_t planted_late_push_sentence(undertone_document *document, const char *sentence, size_t len)
{
    if (undertone_document_sentence_count(document) >= 100) return UNDERTONE_STATUS_OK;
    return undertone_document_push_sentence(document, sentence, len);
}

/* Releases nothing if nothing is known. */
int32_t planted_silent_whole_text(undertone_document *document, undertone_grant *grant, undertone_entropy_fn entropy,
                                  void *context, uint8_t *out, size_t out_capacity, size_t *out_written)
{
    if (undertone_document_sentence_count(document) == 0) return UNDERTONE_STATUS_NO_SCORES;
    return undertone_document_release_whole_text(document, grant, entropy, context, out, out_capacity, out_written);
}

int32_t planted_silent_projective(undertone_document *document, undertone_grant *grant, undertone_entropy_fn entropy,
                                  void *context, uint8_t *out, size_t out_capacity, size_t *out_written)
{
    if (undertone_document_sentence_count(document) == 0) return UNDERTONE_STATUS_NO_SCORES;
    return undertone_document_release_projective(document, grant, entropy, context, out, out_capacity, out_written);
}
