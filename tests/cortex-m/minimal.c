/* The calls of a device without an encoder, so that the size of this program is the cost of
 * undertone: a pack in flash, text, one release. Linked, never run.
 *
 * WHOLE_TEXT: the release is for the whole text. WITH_RESERVOIR: it is for one line of a slot.
 * WITH_ANSWER: it is an answer to a form in flash, without a pack and text. */
#include "undertone.h"

#include <stddef.h>
#include <stdint.h>

/* Any addresses in flash will do. */
static const uint8_t file_bytes[1];

static volatile uint32_t *const random_number_generator = (volatile uint32_t *)0x50060808;

static uint8_t grant_memory[UNDERTONE_GRANT_HANDLE_SIZE] __attribute__((aligned(UNDERTONE_HANDLE_ALIGNMENT)));

static int32_t entropy(void *context, uint8_t *out, size_t len)
{
    (void)context;
    while (len-- > 0) {
        *out++ = (uint8_t)*random_number_generator;
    }
    return 0;
}

volatile uint8_t radio;

#if defined WHOLE_TEXT || defined WITH_RESERVOIR || defined WITH_ANSWER
enum { UNIT = UNDERTONE_UNIT_WHOLE_TEXT };
#else
enum { UNIT = UNDERTONE_UNIT_SENTENCE };
#endif

#ifdef WITH_WHAT_IS_FORBIDDEN
/* Patterns that run.sh must find. */
void *malloc(size_t len);
void core_panicking_panic(void);
void _Unwind_Resume(void);

__attribute__((noinline)) void *malloc(size_t len)
{
    return &grant_memory[len];
}

__attribute__((noinline)) void core_panicking_panic(void)
{
    radio = 1;
}

__attribute__((noinline)) void _Unwind_Resume(void)
{
    radio = 2;
}
#endif

static undertone_grant *grant;
static uint8_t release[UNDERTONE_RELEASE_BYTES];
static size_t written;

static int32_t spend(void)
{
    return undertone_grant_init_unrecorded(grant_memory, sizeof grant_memory, UNIT, 10000000, &grant);
}

#ifdef WITH_ANSWER
static uint8_t form_memory[UNDERTONE_FORM_HANDLE_SIZE] __attribute__((aligned(UNDERTONE_HANDLE_ALIGNMENT)));

static int32_t private_release(void)
{
    static const uint32_t answers[] = {3};
    undertone_form *form;
    int32_t status = undertone_form_init(form_memory, sizeof form_memory, file_bytes, sizeof file_bytes, &form);
    if (status == UNDERTONE_STATUS_OK) {
        status = spend();
    }
    if (status == UNDERTONE_STATUS_OK) {
        status = undertone_form_release(form, answers, 1, grant, entropy, NULL, release, sizeof release, &written);
    }
    return status;
}
#else
static const char text[] = "It works. Does it?";

static uint8_t pack_memory[UNDERTONE_PACK_HANDLE_SIZE] __attribute__((aligned(UNDERTONE_HANDLE_ALIGNMENT)));

static uint8_t document_memory[UNDERTONE_DOCUMENT_HANDLE_SIZE] __attribute__((aligned(UNDERTONE_HANDLE_ALIGNMENT)));

static int32_t private_release(void)
{
    undertone_pack *pack;
    undertone_document *document;
    int32_t status = undertone_pack_init(pack_memory, sizeof pack_memory, file_bytes, sizeof file_bytes, &pack);
    if (status == UNDERTONE_STATUS_OK) {
        status = undertone_document_init(document_memory, sizeof document_memory, pack, &document);
    }
#ifdef WITH_RESERVOIR
    uint8_t reservoir[UNDERTONE_RESERVOIR_BYTES];
    if (status == UNDERTONE_STATUS_OK) {
        status = undertone_reservoir_init(document, 0, 5, entropy, NULL, reservoir);
    }
#endif
    if (status == UNDERTONE_STATUS_OK) {
        status = undertone_document_push_text(document, text, sizeof text - 1, &written);
    }
#ifdef WITH_RESERVOIR
    if (status == UNDERTONE_STATUS_OK) {
        status = undertone_reservoir_push(reservoir, document, entropy, NULL);
    }
#endif
    if (status == UNDERTONE_STATUS_OK) {
        status = spend();
    }
    if (status == UNDERTONE_STATUS_OK) {
#if defined WITH_RESERVOIR
        status = undertone_reservoir_release_whole_text(reservoir, document, grant, entropy, NULL, release,
                                                        sizeof release, &written);
#elif defined WHOLE_TEXT
        status = undertone_document_release_whole_text(document, grant, entropy, NULL, release, sizeof release,
                                                       &written);
#else
        status = undertone_document_release(document, grant, UNDERTONE_RULE_PERMUTE_AND_FLIP,
                                            entropy, NULL, release, sizeof release, &written);
#endif
    }
    return status;
}
#endif

int main(void)
{
    int32_t status = private_release();
    for (size_t i = 0; status == UNDERTONE_STATUS_OK && i < written; i++) {
        radio = release[i];
    }
#ifdef WITH_WHAT_IS_FORBIDDEN
    if (malloc(written) == NULL) {
        core_panicking_panic();
        _Unwind_Resume();
    }
#endif
    return (int)status;
}
