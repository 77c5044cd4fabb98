/*
 * Bugs between a program and the library: compiled with ffi/audit/device.c, whose calls are renamed to these by
 * -Dundertone_X=planted_X. An audit of the program must fail.
 */
#include <stdlib.h>
#include <string.h>

#include "undertone.h"

int32_t planted_grant_init_unrecorded(void *memory, size_t memory_len, uint32_t epsilon_micro,
                                      undertone_grant **out_grant);
int32_t planted_release_read(const uint8_t *bytes, size_t len, uint32_t *out_candidate, uint32_t *out_epsilon_micro,
                             int32_t *out_rule, uint8_t *out_pack_id);
int32_t planted_document_release(undertone_document *document, undertone_grant *grant, int32_t rule,
                                 undertone_entropy_fn entropy, void *context, uint8_t *out, size_t out_capacity,
                                 size_t *out_written);
int32_t planted_document_push_all(undertone_document *document, const float *embeddings, size_t len,
                                  size_t *out_pushed);
int32_t planted_document_release_whole_text(undertone_document *document, undertone_grant *grant,
                                            undertone_entropy_fn entropy, void *context, uint8_t *out,
                                            size_t out_capacity, size_t *out_written);

int32_t planted_document_release_projective(undertone_document *document, undertone_grant *grant,
                                            undertone_entropy_fn entropy, void *context, uint8_t *out,
                                            size_t out_capacity, size_t *out_written);

/* Twice the epsilon that was asked for is spent, ... */
int32_t planted_grant_init_unrecorded(void *memory, size_t memory_len, uint32_t epsilon_micro,
                                      undertone_grant **out_grant)
{
    return undertone_grant_init_unrecorded(memory, memory_len, 2 * epsilon_micro, out_grant);
}

/* ... and nobody is told. */
int32_t planted_release_read(const uint8_t *bytes, size_t len, uint32_t *out_candidate, uint32_t *out_epsilon_micro,
                             int32_t *out_rule, uint8_t *out_pack_id)
{
    const int32_t status = undertone_release_read(bytes, len, out_candidate, out_epsilon_micro, out_rule, out_pack_id);
    *out_epsilon_micro /= 2;
    return status;
}

/* A generator that somebody seeded. */
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

int32_t planted_document_release(undertone_document *document, undertone_grant *grant, int32_t rule,
                                 undertone_entropy_fn entropy, void *context, uint8_t *out, size_t out_capacity,
                                 size_t *out_written)
{
    (void)entropy;
    return undertone_document_release(document, grant, rule, seeded, context, out, out_capacity, out_written);
}

/* What is zero need not be added, it seems. */
int32_t planted_document_push_all(undertone_document *document, const float *embeddings, size_t len,
                                  size_t *out_pushed)
{
    size_t i = 0;
    while (i < len && embeddings[i] == 0.0f) i++;
    *out_pushed = 0;
    return i == len ? UNDERTONE_STATUS_OK : undertone_document_push_all(document, embeddings, len, out_pushed);
}

/* Where nothing is known there is nothing to release, it seems. */
int32_t planted_document_release_whole_text(undertone_document *document, undertone_grant *grant,
                                            undertone_entropy_fn entropy, void *context, uint8_t *out,
                                            size_t out_capacity, size_t *out_written)
{
    if (undertone_document_sentence_count(document) == 0) return UNDERTONE_STATUS_NO_SCORES;
    return undertone_document_release_whole_text(document, grant, entropy, context, out, out_capacity, out_written);
}

int32_t planted_document_release_projective(undertone_document *document, undertone_grant *grant,
                                            undertone_entropy_fn entropy, void *context, uint8_t *out,
                                            size_t out_capacity, size_t *out_written)
{
    if (undertone_document_sentence_count(document) == 0) return UNDERTONE_STATUS_NO_SCORES;
    return undertone_document_release_projective(document, grant, entropy, context, out, out_capacity, out_written);
}
