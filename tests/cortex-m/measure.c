/* Instructions (counted by QEMU with `-icount shift=0`) and stack of each call on the device.
 * Exit status 0 if the stack is within the limit of undertone.h and does not grow with the
 * number of candidates. */
#include "startup.h"
#include "undertone.h"

#include <stddef.h>
#include <stdint.h>

#define ALIGNED __attribute__((aligned(UNDERTONE_HANDLE_ALIGNMENT)))

enum {
    PAINTED = 64 * 1024,
    PAINT = 0xa5,
    /* The limit in the header. */
    MOST = 8 * 1024,
    MOST_OF_WORDS_AND_VECTORS = 16 * 1024,
    SENTENCES = 20,
};

/* The packs of packs.py, in flash. */
#define PACK(name)                                                                                 \
    extern const uint8_t name##_pack[], name##_pack_end[];                                         \
    __asm__(".section .rodata\n.balign 64\n.global " #name "_pack\n" #name                         \
            "_pack: .incbin \"" #name ".pack\"\n.global " #name "_pack_end\n" #name                \
            "_pack_end:\n.previous")
PACK(small);
PACK(large);
PACK(scores);
PACK(features);
PACK(projection);

static uint8_t pack_memory[UNDERTONE_PACK_HANDLE_SIZE] ALIGNED;
static uint8_t document_memory[UNDERTONE_DOCUMENT_HANDLE_SIZE] ALIGNED;
static uint8_t vocabulary_memory[UNDERTONE_VOCABULARY_HANDLE_SIZE] ALIGNED;
static uint8_t bag_memory[UNDERTONE_BAG_HANDLE_SIZE] ALIGNED;
static uint8_t vector_memory[UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE] ALIGNED;
static uint8_t grant_memory[UNDERTONE_GRANT_HANDLE_SIZE] ALIGNED;

static const uint8_t *pack_bytes;
static size_t pack_len;
static undertone_pack *pack;
static undertone_pack_description described;
static undertone_document *document;
static undertone_vocabulary *vocabulary;
static undertone_bag *bag;
static undertone_vector_mechanism *vector;
static undertone_grant *grant;
static float embedding[768];
static uint8_t release[UNDERTONE_MAX_VECTOR_RELEASE_BYTES];
static size_t written;

static int32_t not_entropy(void *context, uint8_t *out, size_t len)
{
    (void)context;
    while (len-- > 0) {
        *out++ = 7;
    }
    return 0;
}

/* --- The calls --- */

static int32_t nothing(void)
{
    return UNDERTONE_STATUS_OK;
}

static int32_t two_million_instructions(void)
{
    __asm__ volatile("ldr r0, =1000000\n1: subs r0, r0, #1\n bne 1b" ::: "r0", "cc");
    return UNDERTONE_STATUS_OK;
}

static int32_t four_million_instructions(void)
{
    return two_million_instructions() + two_million_instructions();
}

static int32_t init_pack(void)
{
    return undertone_pack_init(pack_memory, sizeof pack_memory, pack_bytes, pack_len, &pack);
}

static int32_t init_document(void)
{
    return undertone_document_init(document_memory, sizeof document_memory, pack, &document);
}

static int32_t push(void)
{
    return undertone_document_push(document, embedding, described.dimension);
}

/* The number of sentences that are pushed together. */
static float embeddings[4 * 768];

static int32_t push_all(void)
{
    return undertone_document_push_all(document, embeddings, 4 * described.dimension,
                                       &written);
}

static const char sentence[] = "word1 word22 word333 word444 word55 word6 word777 word888 nothing";

static int32_t push_sentence(void)
{
    return undertone_document_push_sentence(document, sentence, sizeof sentence - 1);
}

static int32_t push_text(void)
{
    static const char text[] = "Word1 word22. Word333 word444 word55! Word6 word777: 3.5 word888?";
    return undertone_document_push_text(document, text, sizeof text - 1, &written);
}

static int32_t release_flips(void)
{
    return undertone_document_release(document, grant, UNDERTONE_RULE_PERMUTE_AND_FLIP, not_entropy,
                                      NULL, release, sizeof release, &written);
}

static int32_t release_exponential(void)
{
    return undertone_document_release(document, grant, UNDERTONE_RULE_EXPONENTIAL, not_entropy,
                                      NULL, release, sizeof release, &written);
}

static int32_t release_whole_text(void)
{
    return undertone_document_release_whole_text(document, grant, not_entropy, NULL, release, sizeof release, &written);
}

static int32_t release_projective(void)
{
    return undertone_document_release_projective(document, grant, not_entropy, NULL, release, sizeof release, &written);
}

static int32_t push_encoded(void)
{
    return undertone_document_push_encoded(document, sentence, sizeof sentence - 1, embedding,
                                           described.dimension);
}

static int32_t mechanism(void)
{
    int32_t status = UNDERTONE_STATUS_OK;
    for (int i = 0; i < SENTENCES && status == UNDERTONE_STATUS_OK; i++) {
        embedding[i] = -embedding[i];
        status = push();
    }
    return status == UNDERTONE_STATUS_OK ? release_flips() : status;
}

static int32_t init_vocabulary(void)
{
    return undertone_vocabulary_init(vocabulary_memory, sizeof vocabulary_memory, pack,
                                     &vocabulary);
}

static int32_t init_bag(void)
{
    return undertone_bag_init(bag_memory, sizeof bag_memory, vocabulary, &bag);
}

static int32_t push_words(void)
{
    return undertone_bag_push_text(bag, sentence, sizeof sentence - 1);
}

static int32_t select_word(void)
{
    return undertone_bag_release(bag, grant, 1, UNDERTONE_WORD_METHOD_PERMUTE_AND_FLIP, not_entropy, NULL,
                                 release, sizeof release, &written);
}

static int32_t nearest_word(void)
{
    return undertone_bag_release(bag, grant, 1, UNDERTONE_WORD_METHOD_LAPLACE_NEAREST, not_entropy, NULL,
                                 release, sizeof release, &written);
}

static int32_t init_laplace(void)
{
    return undertone_vector_mechanism_init(vector_memory, sizeof vector_memory, 384, 0,
                                           UNDERTONE_NOISE_LAPLACE, 1000000, &vector);
}

static int32_t init_discrete(void)
{
    return undertone_vector_mechanism_init(vector_memory, sizeof vector_memory, 384, 0,
                                           UNDERTONE_NOISE_DISCRETE_LAPLACE, 1000000, &vector);
}

static int32_t init_projected(void)
{
    return undertone_vector_mechanism_init_projected(vector_memory, sizeof vector_memory, pack,
                                                     UNDERTONE_NOISE_LAPLACE, 1000000, &vector);
}

static int32_t init_projected_discrete(void)
{
    return undertone_vector_mechanism_init_projected(vector_memory, sizeof vector_memory, pack,
                                                     UNDERTONE_NOISE_DISCRETE_LAPLACE, 1000000, &vector);
}

static int32_t release_vector(void)
{
    return undertone_vector_mechanism_release(vector, grant, embedding, undertone_vector_mechanism_dimension(vector),
                                              not_entropy, NULL, release, sizeof release, &written);
}

/* --- Measurement --- */

struct cost {
    int32_t status;
    uint32_t ticks;
    size_t stack;
};

static volatile uint32_t *const systick = (volatile uint32_t *)0xe000e010;

static __attribute__((noinline)) struct cost cost_of(int32_t (*call)(void))
{
    struct cost cost;
    uint8_t *const here = __builtin_frame_address(0);
    volatile uint8_t *const lowest = here - PAINTED;
    /* Not the bytes above, which are this function's. */
    for (volatile uint8_t *byte = lowest; byte < here - 256; byte++) {
        *byte = PAINT;
    }
    systick[1] = 0xffffff; /* from where it counts down */
    systick[2] = 0;
    systick[0] = 5; /* the processor's clock, no interrupt */
    uint32_t before;
    do {
        before = systick[2];
    } while (before == 0);
    (void)systick[0]; /* forgets that it started */
    cost.status = call();
    cost.ticks = before - systick[2];
    if (systick[0] & 1u << 16) {
        cost.status = UNDERTONE_STATUS_INTERNAL; /* it has wrapped around */
    }
    const volatile uint8_t *first = lowest;
    while (first < here - 256 && *first == PAINT) {
        first++;
    }
    cost.stack = (size_t)(here - (const uint8_t *)first);
    return cost;
}

static size_t base_stack;
static uint32_t base_ticks, ticks_of_two_million;
static int failed;

static void complain(const char *what)
{
    print(what);
    failed = 1;
}

static void print_right(uint32_t number, int width)
{
    for (uint32_t n = number; n > 9; n /= 10) {
        width--;
    }
    while (--width > 0) {
        print(" ");
    }
    print_number(number);
}

/* Prints the cost of a call, and returns its stack. */
static size_t measure(const char *name, int32_t (*call)(void), size_t most)
{
    const int32_t unit = call == release_vector                              ? UNDERTONE_UNIT_VECTOR
                         : call == select_word || call == nearest_word       ? UNDERTONE_UNIT_WORD
                         : call == release_whole_text || call == release_projective
                             ? UNDERTONE_UNIT_WHOLE_TEXT
                             : UNDERTONE_UNIT_SENTENCE;
    if (undertone_grant_init_unrecorded(grant_memory, sizeof grant_memory, unit, 1000000, &grant) !=
        UNDERTONE_STATUS_OK) {
        complain("no grant\n");
    }
    const struct cost cost = cost_of(call);
    const uint64_t ticks = cost.ticks - base_ticks;
    const size_t stack = cost.stack - base_stack;
    print_right((uint32_t)(ticks * 2000000 / ticks_of_two_million), 12);
    print_right(stack, 9);
    print("  ");
    print(name);
    print("\n");
    if (cost.status != UNDERTONE_STATUS_OK) {
        complain("  failed: ");
        print(undertone_status_message(cost.status));
        print("\n");
    }
    if (stack > most) {
        complain("  more stack than is promised\n");
    }
    return stack;
}

static void with_pack(const char *title, const uint8_t *start, const uint8_t *end)
{
    print(title);
    pack_bytes = start;
    pack_len = (size_t)(end - start);
    measure("pack_init", init_pack, MOST);
    if (undertone_pack_describe(pack, &described) != UNDERTONE_STATUS_OK) {
        complain("  no description\n");
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof embedding / sizeof embedding[0]; i++) {
        embedding[i] = (float)(int)(i * 37 % 101) / 512.0f - 0.1f;
    }
    const struct cost base = cost_of(nothing);
    base_stack = base.stack;
    base_ticks = base.ticks;
    ticks_of_two_million = cost_of(two_million_instructions).ticks - base_ticks;
    const uint32_t ticks_of_four_million = cost_of(four_million_instructions).ticks - base_ticks;
    if (ticks_of_two_million < 1000 || ticks_of_four_million < 2 * ticks_of_two_million - 2 ||
        ticks_of_four_million > 2 * ticks_of_two_million + 2) {
        complain("instructions are not counted: run with -icount shift=0\n");
        return 1;
    }
    print("instructions    stack  call\n");

    size_t stack[2][2];
    const struct {
        const char *title;
        const uint8_t *start, *end;
    } depths[] = {
        {"depth, d = 768, p = 100, m = 60\n", small_pack, small_pack_end},
        {"depth, d = 768, p = 100, m = 5000\n", large_pack, large_pack_end},
    };
    for (int i = 0; i < 2; i++) {
        with_pack(depths[i].title, depths[i].start, depths[i].end);
        measure("document_init", init_document, MOST);
        stack[i][0] = measure("document_push", push, MOST);
        measure("document_push_all, 4 sentences", push_all, MOST);
        stack[i][1] = measure("document_release, permute-and-flip", release_flips, MOST);
        measure("document_release, exponential", release_exponential, MOST);
        measure("20 x document_push and document_release", mechanism, MOST);
    }
    if (stack[0][0] != stack[1][0] || stack[0][1] != stack[1][1]) {
        complain("stack depends on the number of candidates\n");
    }

    with_pack("scores, d = 384, 20 candidates, lexicon of 2000 words\n", scores_pack,
              scores_pack_end);
    measure("document_init", init_document, MOST);
    measure("document_push", push, MOST);
    measure("document_push_sentence, 9 words", push_sentence, MOST);
    measure("document_push_text, 3 sentences", push_text, MOST);
    measure("document_release, permute-and-flip", release_flips, MOST);
    measure("20 x document_push and document_release", mechanism, MOST);
    measure("document_release_whole_text", release_whole_text, MOST);
    measure("document_release_projective", release_projective, MOST);
    measure("vocabulary_init", init_vocabulary, MOST);
    measure("bag_init", init_bag, MOST);
    measure("bag_push_text, 9 words", push_words, MOST);
    measure("bag_release, a word by selection", select_word, MOST_OF_WORDS_AND_VECTORS);
    measure("bag_release, a word by noise", nearest_word, MOST_OF_WORDS_AND_VECTORS);

    with_pack("features, d = 384, 20 candidates, 8000 features, lexicon of 2000 words\n", features_pack, features_pack_end);
    measure("document_init", init_document, MOST);
    measure("document_push_sentence, 9 words", push_sentence, MOST);
    measure("document_push_encoded, 9 words", push_encoded, MOST);
    measure("document_release, permute-and-flip", release_flips, MOST);
    measure("document_release_whole_text", release_whole_text, MOST);
    measure("document_release_projective", release_projective, MOST);

    with_pack("vectors, d = 384\n", projection_pack, projection_pack_end);
    measure("vector_init", init_laplace, MOST);
    measure("vector_release, Laplace", release_vector, MOST_OF_WORDS_AND_VECTORS);
    measure("vector_init, discrete", init_discrete, MOST);
    measure("vector_release, discrete", release_vector, MOST_OF_WORDS_AND_VECTORS);
    measure("vector_init_projected, to 64", init_projected, MOST);
    measure("vector_release, projected, Laplace", release_vector, MOST_OF_WORDS_AND_VECTORS);
    measure("vector_init_projected, to 64, discrete", init_projected_discrete, MOST);
    measure("vector_release, projected, discrete", release_vector, MOST_OF_WORDS_AND_VECTORS);
    return failed;
}
