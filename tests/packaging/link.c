/* From text to release with the library alone: no libc, no operating system. Linked for every
 * target, and also run as WebAssembly. */
#include "undertone.h"

#include <stddef.h>
#include <stdint.h>

static uint8_t pack_bytes[4 << 20];
static uint8_t text[256];
static uint8_t release[UNDERTONE_RELEASE_BYTES];
static uint8_t pack_memory[UNDERTONE_PACK_HANDLE_SIZE] __attribute__((aligned(UNDERTONE_HANDLE_ALIGNMENT)));
static uint8_t grant_memory[UNDERTONE_GRANT_HANDLE_SIZE] __attribute__((aligned(UNDERTONE_HANDLE_ALIGNMENT)));
static uint8_t document_memory[UNDERTONE_DOCUMENT_HANDLE_SIZE] __attribute__((aligned(UNDERTONE_HANDLE_ALIGNMENT)));

#ifdef __wasm__
__attribute__((import_module("env"), import_name("entropy"))) void fill(uint8_t *out, size_t len);
#else
static volatile const uint8_t random_number_generator;

static void fill(uint8_t *out, size_t len)
{
    while (len-- > 0) *out++ = random_number_generator;
}

/* Provided by an operating system, which this program lacks. */
void *memcpy(void *to, const void *from, size_t len)
{
    for (size_t i = 0; i < len; i++) ((volatile uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    return to;
}

void *memset(void *to, int byte, size_t len)
{
    for (size_t i = 0; i < len; i++) ((volatile uint8_t *)to)[i] = (uint8_t)byte;
    return to;
}

int memcmp(const void *a, const void *b, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        int difference = ((const uint8_t *)a)[i] - ((const uint8_t *)b)[i];
        if (difference != 0) return difference;
    }
    return 0;
}

#ifdef __APPLE__
void bzero(void *to, size_t len)
{
    memset(to, 0, len);
}

void memset_pattern16(void *to, const void *pattern, size_t len)
{
    for (size_t i = 0; i < len; i++) ((volatile uint8_t *)to)[i] = ((const uint8_t *)pattern)[i % 16];
}
#endif

#ifdef __ANDROID__
unsigned long getauxval(unsigned long type)
{
    (void)type;
    return 0;
}
#endif
#endif

static int32_t entropy(void *context, uint8_t *out, size_t len)
{
    (void)context;
    fill(out, len);
    return 0;
}

uint8_t *pack_start(void)
{
    return pack_bytes;
}

uint8_t *text_start(void)
{
    return text;
}

const uint8_t *release_start(void)
{
    return release;
}

/* A release of `text_len` bytes at text_start(), one sentence, by the pack at pack_start(). */
int32_t run(size_t pack_len, size_t text_len)
{
    undertone_pack *pack;
    undertone_document *document;
    undertone_grant *grant;
    size_t written;
    int32_t status = undertone_pack_init(pack_memory, sizeof pack_memory, pack_bytes, pack_len, &pack);
    if (status == UNDERTONE_STATUS_OK)
        status = undertone_document_init(document_memory, sizeof document_memory, pack, &document);
    if (status == UNDERTONE_STATUS_OK)
        status = undertone_document_push_sentence(document, (const char *)text, text_len);
    if (status == UNDERTONE_STATUS_OK)
        status = undertone_grant_init_unrecorded(grant_memory, sizeof grant_memory, UNDERTONE_UNIT_SENTENCE, 10000000, &grant);
    if (status == UNDERTONE_STATUS_OK)
        status = undertone_document_release(document, grant, UNDERTONE_RULE_PERMUTE_AND_FLIP, entropy, NULL,
                                            release, sizeof release, &written);
    return status;
}
