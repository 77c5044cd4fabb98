/* The release paths of the C interface, each over documents that differ in content only. The
 * program that includes this file defines `count`, which makes one call and records its
 * instructions. A path is one call. Its documents have the same number of sentences, the same
 * pack and parameters and, unless its name ends in "other random bytes", the same random bytes.
 * Two calls with the same `public` must take the same number of instructions. `public` is what
 * the work of a call may depend on, such as the quarter of the list that a released candidate
 * lies in. */
#ifndef PATHS_H
#define PATHS_H

#include <stddef.h>
#include <stdint.h>

#include "undertone.h"

#define ALIGNED __attribute__((aligned(UNDERTONE_HANDLE_ALIGNMENT)))

/* Makes a call. `path` and `document` name it. */
static void count(const char *path, const char *document, int32_t (*call)(void),
                  uint32_t (*public)(void));

/* Reports an error that no count would show. */
static void fail(const char *what, const char *why);

enum { SENTENCES = 6, MOST_COORDINATES = 1024, PART = 1024 };

static uint8_t pack_memory[UNDERTONE_PACK_HANDLE_SIZE] ALIGNED;
static uint8_t document_memory[UNDERTONE_DOCUMENT_HANDLE_SIZE] ALIGNED;
static uint8_t vocabulary_memory[UNDERTONE_VOCABULARY_HANDLE_SIZE] ALIGNED;
static uint8_t bag_memory[UNDERTONE_BAG_HANDLE_SIZE] ALIGNED;
static uint8_t vector_memory[UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE] ALIGNED;
static uint8_t grant_memory[UNDERTONE_GRANT_HANDLE_SIZE] ALIGNED;
static uint8_t ledger_memory[UNDERTONE_LEDGER_HANDLE_SIZE] ALIGNED;

static uint8_t form_memory[UNDERTONE_FORM_HANDLE_SIZE] ALIGNED;

static undertone_pack *pack;
static undertone_pack_description described;
static undertone_form *form;
static undertone_document *document;
static undertone_vocabulary *vocabulary;
static undertone_bag *bag;
static undertone_vector_mechanism *vector;
static undertone_grant *grant;
static undertone_ledger *ledger;
static uint32_t dimension;
static float embeddings[SENTENCES * MOST_COORDINATES] ALIGNED;
static uint8_t release[UNDERTONE_MAX_VECTOR_RELEASE_BYTES];
static size_t written;
static int32_t rule, mechanism;
static uint32_t words_released;

static void must(int32_t status, const char *what)
{
    if (status != UNDERTONE_STATUS_OK) {
        fail(what, undertone_status_message(status));
    }
}

/* --- Numbers that everybody may know --- */

static uint64_t state;

static uint32_t random_bits(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

static float random_float(void)
{
    return (float)(int32_t)random_bits() / 2147483648.0f;
}

static uint8_t key;

/* 1 for all documents and all random bytes. */
static uint32_t stride = 1;

/* The same bytes for the same key, so only the documents differ. */
static int32_t not_entropy(void *context, uint8_t *out, size_t len)
{
    (void)context;
    for (size_t i = 0; i < len; i++) {
        out[i] = (uint8_t)(key * 31 + i * 7 + 1);
    }
    return 0;
}

/* --- Documents --- */

static float of_bits(uint32_t bits)
{
    union {
        uint32_t bits;
        float number;
    } either = {bits};
    return either.number;
}

typedef float coordinate(uint32_t sentence, uint32_t i);

static float zero(uint32_t sentence, uint32_t i) { return (void)sentence, (void)i, 0.0f; }
static float minus_zero(uint32_t sentence, uint32_t i) { return (void)sentence, (void)i, -0.0f; }
static float constant(uint32_t sentence, uint32_t i) { return (void)sentence, (void)i, 0.1f; }
static float negative(uint32_t sentence, uint32_t i) { return (void)sentence, (void)i, -0.1f; }
static float scattered(uint32_t sentence, uint32_t i)
{
    return (void)sentence, (void)i, random_float();
}
static float small(uint32_t sentence, uint32_t i)
{
    return (void)sentence, (void)i, random_float() / 32.0f;
}
static float tiny(uint32_t sentence, uint32_t i)
{
    return (void)sentence, (void)i, random_float() * 1e-6f;
}
static float large(uint32_t sentence, uint32_t i)
{
    return (void)sentence, (void)i, random_float() * 1000.0f;
}
static float huge(uint32_t sentence, uint32_t i) { return (sentence + i) % 2 ? 1e38f : -1e38f; }
static float largest(uint32_t sentence, uint32_t i)
{
    return (void)sentence, of_bits(i % 2 ? 0x7f7fffff : 0xff7fffff);
}
static float infinite(uint32_t sentence, uint32_t i)
{
    return (void)sentence, of_bits(i % 2 ? 0x7f800000 : 0xff800000);
}
static float not_a_number(uint32_t sentence, uint32_t i)
{
    return of_bits((sentence % 2 ? 0x7fc00000 : 0xff800001) + i);
}
static float subnormal(uint32_t sentence, uint32_t i)
{
    return of_bits((sentence % 2 ? 0x80000000 : 0) | (i * 7919 % 0x7fffff + 1));
}
static float one_hot(uint32_t sentence, uint32_t i) { return i == sentence ? 1.0f : 0.0f; }
static float same_hot(uint32_t sentence, uint32_t i)
{
    return (void)sentence, i == 3 ? 30.0f : 0.0f;
}
/* Covers every bit pattern of sign and exponent. */
static float any_bits(uint32_t sentence, uint32_t i)
{
    return (void)sentence, (void)i, of_bits(random_bits());
}
/* Halves, where rounding is to even. */
static float ties(uint32_t sentence, uint32_t i)
{
    return ((float)(int)(i % 64) - 32.0f + 0.5f) / (sentence % 2 ? 256.0f : 512.0f);
}
/* One sentence six times: all evidence for the same candidates, the winner far ahead. */
static float repeated(uint32_t sentence, uint32_t i)
{
    if (i == 0) {
        state = 99;
    }
    return (void)sentence, random_float();
}
/* The first sentence and its opposite: all evidence cancels. */
static float opposite(uint32_t sentence, uint32_t i)
{
    const float same = repeated(sentence, i);
    return sentence % 2 ? -same : same;
}

static const struct {
    const char *name;
    coordinate *of;
} documents[] = {
    {"zeroes", zero},
    {"minus zero", minus_zero},
    {"a constant", constant},
    {"a negative constant", negative},
    {"random, to 1", scattered},
    {"random, again", scattered},
    {"random, to 1/32", small},
    {"random, to 1e-6", tiny},
    {"random, to 1000", large},
    {"+-1e38", huge},
    {"the largest numbers", largest},
    {"infinities", infinite},
    {"NaN", not_a_number},
    {"subnormal", subnormal},
    {"one-hot", one_hot},
    {"all at one coordinate", same_hot},
    {"any bits", any_bits},
    {"ties", ties},
    {"one sentence repeated", repeated},
    {"opposite sentences", opposite},
};

enum { DOCUMENTS = sizeof documents / sizeof documents[0] };

static void fill(uint32_t which)
{
    state = which;
    for (uint32_t sentence = 0; sentence < SENTENCES; sentence++) {
        for (uint32_t i = 0; i < dimension; i++) {
            embeddings[sentence * dimension + i] = documents[which].of(sentence, i);
        }
    }
}

/* --- Calls --- */

static uint32_t nothing(void)
{
    return 0;
}

/* If a pack has features, a sentence also has a text, here always the same, because finding its
 * words takes time in its length. */
static int32_t push_one(const float *embedding)
{
    static const char text[] = "the garden dog qqq";
    return described.feature_count == 0
        ? undertone_document_push(document, embedding, dimension)
        : undertone_document_push_encoded(document, text, sizeof text - 1, embedding, dimension);
}

static int32_t push(void)
{
    return push_one(embeddings);
}

static int32_t push_several(uint32_t sentences)
{
    int32_t status = UNDERTONE_STATUS_OK;
    if (described.feature_count == 0) {
        return undertone_document_push_all(document, embeddings, sentences * dimension, &written);
    }
    for (uint32_t i = 0; i < sentences && status == UNDERTONE_STATUS_OK; i++) {
        status = push_one(embeddings + i * dimension);
    }
    return status;
}

static int32_t push_all(void)
{
    return push_several(SENTENCES);
}

static int32_t release_document(void)
{
    return undertone_document_release(document, grant, rule, not_entropy, NULL, release,
                                      sizeof release, &written);
}

static int32_t release_whole_text(void)
{
    return undertone_document_release_whole_text(document, grant, not_entropy, NULL, release, sizeof release,
                                                 &written);
}

static int32_t release_projective(void)
{
    return undertone_document_release_projective(document, grant, not_entropy, NULL, release, sizeof release,
                                                 &written);
}

/* Begins a reservoir, adds the document as a line, which is drawn or not, and releases. */
static int32_t release_line(void)
{
    uint8_t reservoir[UNDERTONE_RESERVOIR_BYTES];
    int32_t status = undertone_reservoir_init(document, 1, 2, not_entropy, NULL, reservoir);
    if (status == UNDERTONE_STATUS_OK) {
        status = undertone_reservoir_push(reservoir, document, not_entropy, NULL);
    }
    if (status == UNDERTONE_STATUS_OK) {
        status = undertone_reservoir_release_whole_text(reservoir, document, grant, not_entropy, NULL, release,
                                                        sizeof release, &written);
    }
    return status;
}

enum { ATTRIBUTES = 3 };

static uint32_t answers[ATTRIBUTES];

/* Answers the topic of the form, language and topic, if the topic is that of the pack. */
static int32_t answer_topic(void)
{
    return undertone_form_answer_topic(form, document, answers, 2);
}

static uint32_t no_quarter(void)
{
    return 0;
}

static uint32_t part_of(uint32_t candidate, uint32_t candidates)
{
    const uint32_t blocks = (candidates + PART - 1) / PART;
    uint32_t part = 0;
    while (part < 3 && candidate >= blocks * (part + 1) / 4 * PART) {
        part++;
    }
    return part;
}

/* The quarter of the list that the released candidate lies in. */
static uint32_t released_quarter(void)
{
    uint32_t candidate = 0, epsilon = 0;
    int32_t read_rule = 0;
    uint8_t id[UNDERTONE_PACK_ID_BYTES];
    must(undertone_release_read(release, written, &candidate, &epsilon, &read_rule, NULL, NULL, id), "a release");
    return part_of(candidate, described.candidate_count);
}

/* The same for a whole text, whose outcomes include "nothing known". */
static uint32_t outcome_quarter(void)
{
    uint32_t candidate = 0, epsilon = 0;
    int32_t read_rule = 0;
    uint8_t id[UNDERTONE_PACK_ID_BYTES];
    must(undertone_release_read(release, written, &candidate, &epsilon, &read_rule, NULL, NULL, id), "a release");
    return part_of(candidate, described.nothing_known + 1);
}

static int32_t release_vector(void)
{
    return undertone_vector_mechanism_release(vector, grant, embeddings, undertone_vector_mechanism_dimension(vector),
                                              not_entropy, NULL, release, sizeof release, &written);
}

static int32_t release_bag(void)
{
    return undertone_bag_release(bag, grant, words_released, mechanism, not_entropy, NULL, release,
                                 sizeof release, &written);
}

/* The number of released words in each quarter. */
static uint32_t released_quarters(void)
{
    uint32_t words[UNDERTONE_MAX_RELEASED_WORDS], quarters = 0;
    size_t n = 0;
    must(undertone_bag_release_read_words(release, written, words, UNDERTONE_MAX_RELEASED_WORDS, &n), "a bag");
    for (size_t i = 0; i < n; i++) {
        quarters += 1u << 8 * part_of(words[i], undertone_vocabulary_word_count(vocabulary));
    }
    return quarters;
}

/* --- Paths --- */

static int32_t release_answers(void);

/* The purpose of the next grants; see `warm_up`. */
static int32_t unit = UNDERTONE_UNIT_SENTENCE;

static void new_grant(void)
{
    must(undertone_grant_init_unrecorded(grant_memory, sizeof grant_memory, unit, 3000000, &grant), "a grant");
}

static void new_document(void)
{
    must(undertone_document_init(document_memory, sizeof document_memory, pack, &document),
         "a document");
}

/* The first call detects the processor and links lazily, so it is not counted. */
static void warm_up(int32_t (*call)(void))
{
    unit = call == release_vector                                      ? UNDERTONE_UNIT_VECTOR
           : call == release_bag                                       ? UNDERTONE_UNIT_WORD
           : call == release_whole_text || call == release_projective || call == release_line || call == release_answers
                                                                       ? UNDERTONE_UNIT_WHOLE_TEXT
                                                                       : UNDERTONE_UNIT_SENTENCE;
    new_grant();
    must(call(), "the first call");
}

static void filled(uint32_t which, uint32_t sentences)
{
    new_document();
    fill(which);
    must(push_several(sentences), "sentences");
    new_grant();
}

/* Returns whether the pack has whole-text releases. */
static int has_whole_texts(void)
{
    uint64_t sentence = 0, whole_text = 0;
    new_document();
    return undertone_document_promise(document, UNDERTONE_UNIT_WHOLE_TEXT, 1000000, &sentence, &whole_text)
        == UNDERTONE_STATUS_OK;
}

/* Known, unknown, in another script, empty, as long as documents get, and longer. */
static const struct {
    const char *name, *text;
    uint32_t times;
} texts[] = {
    {"known", "The great dog in the garden. ", 1},
    {"unknown", "Qqq zzz vvv. ", 1},
    {"unknown, many sentences", "Qqq zzz vvv. ", 40},
    {"known after unknown", "Qqq. The dog. ", 1},
    {"another script", "สวัสดี", 1},
    {"blank", " ", 1},
    {"empty", "", 1},
    {"one word", "tea", 1},
    {"128 sentences", "The great dog. Tea, tea! ", 64},
    {"200 sentences", "Quiet night. River? ", 100},
};

/* Whole-text and projective releases, which access nothing by the drawn outcome. */
static void paths_of_texts(const char *what, const char *random_bytes, const char *few, const char *of_texts,
                           int32_t (*by)(void), uint32_t (*quarter)(void))
{
    static char text[4096];
    fill(4);
    new_document();
    must(push_several(1), "a sentence");
    warm_up(by);
    for (uint32_t i = 0; i < DOCUMENTS; i += stride) {
        filled(i, SENTENCES);
        count(what, documents[i].name, by, quarter);
    }
    for (key = 1; key <= 12; key = (uint8_t)(key + stride)) {
        filled(4, SENTENCES);
        count(random_bytes, "random, to 1", by, quarter);
    }
    key = 0;
    for (uint32_t sentences = 1; sentences <= SENTENCES; sentences++) {
        filled(4, sentences);
        count(few, "random, to 1", by, quarter);
    }
    if (described.word_count == 0) {
        return;
    }
    for (uint32_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t len = 0;
        for (uint32_t time = 0; time < texts[i].times; time++) {
            for (const char *from = texts[i].text; *from != '\0'; from++) {
                text[len++] = *from;
            }
        }
        new_document();
        must(undertone_document_push_text(document, text, len, &written), "a text");
        new_grant();
        count(of_texts, texts[i].name, by, quarter);
    }
}

static void whole_text_paths(void)
{
    paths_of_texts("release, whole text", "release, whole text, other random bytes",
                   "release, whole text, 1 to 6 sentences", "release, whole text, of texts", release_whole_text,
                   outcome_quarter);
    paths_of_texts("release, projective", "release, projective, other random bytes",
                   "release, projective, 1 to 6 sentences", "release, projective, of texts", release_projective,
                   no_quarter);
    paths_of_texts("release, a line", "release, a line, other random bytes", "release, a line, 1 to 6 sentences",
                   "release, a line, of texts", release_line, outcome_quarter);
    new_document();
    if (form != NULL && answer_topic() == UNDERTONE_STATUS_OK) {
        paths_of_texts("answer_topic", "answer_topic, no random bytes", "answer_topic, 1 to 6 sentences",
                       "answer_topic, of texts", answer_topic, no_quarter);
    }
}

static void document_paths(void)
{
    new_document();
    fill(4);
    warm_up(push);
    warm_up(push_all);
    rule = UNDERTONE_RULE_EXPONENTIAL;
    warm_up(release_document);
    for (uint32_t i = 0; i < DOCUMENTS; i += stride) {
        new_document();
        fill(i);
        count("push", documents[i].name, push, nothing);
        count("push, again", documents[i].name, push, nothing);
        new_document();
        count("push_all, 6 sentences", documents[i].name, push_all, nothing);
    }
    static const struct {
        int32_t rule;
        const char *documents, *keys, *sentences;
    } rules[] = {
        {UNDERTONE_RULE_PERMUTE_AND_FLIP, "release, permute-and-flip",
         "release, permute-and-flip, other random bytes",
         "release, permute-and-flip, 1 to 6 sentences"},
        {UNDERTONE_RULE_EXPONENTIAL, "release, exponential", "release, exponential, other random bytes",
         "release, exponential, 1 to 6 sentences"},
    };
    for (int r = 0; r < 2; r++) {
        rule = rules[r].rule;
        for (uint32_t i = 0; i < DOCUMENTS; i += stride) {
            filled(i, SENTENCES);
            count(rules[r].documents, documents[i].name, release_document, released_quarter);
        }
        for (key = 1; key <= 12; key = (uint8_t)(key + stride)) {
            filled(4, SENTENCES);
            count(rules[r].keys, "random, to 1", release_document, released_quarter);
        }
        key = 0;
        for (uint32_t sentences = 1; sentences <= SENTENCES; sentences++) {
            filled(4, sentences);
            count(rules[r].sentences, "random, to 1", release_document, released_quarter);
        }
    }
}

static void vector_path(const char *path, const char *keys)
{
    dimension = undertone_vector_mechanism_dimension(vector);
    fill(4);
    warm_up(release_vector);
    for (uint32_t i = 0; i < DOCUMENTS; i += stride) {
        fill(i);
        new_grant();
        count(path, documents[i].name, release_vector, nothing);
    }
    if (keys != NULL) {
        fill(4);
        for (key = 1; key <= 12; key = (uint8_t)(key + stride)) {
            new_grant();
            count(keys, "random, to 1", release_vector, nothing);
        }
        key = 0;
    }
}

/* Emulated doubles take another time for other random bytes. */
#ifdef EMULATED_DOUBLES
#define KEYS(name) NULL
#else
#define KEYS(name) name
#endif

static void vector_paths(uint32_t coordinates)
{
    must(undertone_vector_mechanism_init(vector_memory, sizeof vector_memory, coordinates, 0,
                                         UNDERTONE_NOISE_LAPLACE, 3000000, &vector), "vectors");
    vector_path("vector, Laplace", KEYS("vector, Laplace, other random bytes"));
    must(undertone_vector_mechanism_init(vector_memory, sizeof vector_memory, coordinates, 0,
                                         UNDERTONE_NOISE_DISCRETE_LAPLACE, 3000000, &vector), "vectors");
    vector_path("vector, discrete Laplace", "vector, discrete Laplace, other random bytes");
}

static void projection_paths(void)
{
    must(undertone_vector_mechanism_init_projected(vector_memory, sizeof vector_memory, pack,
                                                   UNDERTONE_NOISE_LAPLACE, 3000000, &vector), "a projection");
    vector_path("projected vector, Laplace", KEYS("projected vector, Laplace, other random bytes"));
    must(undertone_vector_mechanism_init_projected(vector_memory, sizeof vector_memory, pack,
                                                   UNDERTONE_NOISE_DISCRETE_LAPLACE, 3000000, &vector),
         "a projection");
    vector_path("projected vector, discrete Laplace",
                "projected vector, discrete Laplace, other random bytes");
}

/* `n` words of the vocabulary, starting at number `first`, `step` apart. */
static void fill_bag(uint32_t first, uint32_t step, uint32_t n)
{
    must(undertone_bag_init(bag_memory, sizeof bag_memory, vocabulary, &bag), "a bag");
    const uint32_t all = undertone_vocabulary_word_count(vocabulary);
    for (uint32_t i = 0; i < n; i++) {
        const char *text = NULL;
        size_t len = 0;
        must(undertone_vocabulary_word(vocabulary, (first + i * step) % all, &text, &len), "a word");
        must(undertone_bag_push(bag, text, len), "a word");
    }
    new_grant();
}

static void bag_paths(void)
{
    must(undertone_vocabulary_init(vocabulary_memory, sizeof vocabulary_memory, pack, &vocabulary),
         "a vocabulary");
    static const struct {
        int32_t mechanism;
        uint32_t size;
        const char *words, *keys, *sizes;
    } paths[] = {
        {UNDERTONE_WORD_METHOD_PERMUTE_AND_FLIP, 1, "a word, permute-and-flip",
         "a word, permute-and-flip, other random bytes", "a word, permute-and-flip, of 0 to 9"},
        {UNDERTONE_WORD_METHOD_EXPONENTIAL, 1, "a word, exponential",
         "a word, exponential, other random bytes", "a word, exponential, of 0 to 9"},
        {UNDERTONE_WORD_METHOD_EXPONENTIAL, 5, "a bag of 5, exponential",
         "a bag of 5, exponential, other random bytes", "a bag of 5, exponential, of 0 to 9"},
    };
    for (int p = 0; p < 3; p++) {
        mechanism = paths[p].mechanism;
        words_released = paths[p].size;
        fill_bag(0, 1, 8);
        warm_up(release_bag);
        for (uint32_t i = 0; i < 12; i += stride) {
            fill_bag(i * 3, i % 4, 8);
            count(paths[p].words, "8 words", release_bag, released_quarters);
        }
        for (key = 1; key <= 12; key = (uint8_t)(key + stride)) {
            fill_bag(1, 1, 8);
            count(paths[p].keys, "8 words", release_bag, released_quarters);
        }
        key = 0;
        for (uint32_t n = 0; n < 10; n++) {
            fill_bag(1, 1, n);
            count(paths[p].sizes, "0 to 9 words", release_bag, released_quarters);
        }
    }
}

static uint8_t image[UNDERTONE_LEDGER_IMAGE_BYTES];
static uint8_t record[UNDERTONE_LEDGER_RECORD_BYTES];
static uint32_t reserved_micro;

static int32_t reserve(void)
{
    size_t offset = 0;
    const int32_t status = undertone_ledger_reserve_epsilon(ledger, reserved_micro, 1, 7, image, sizeof image,
                                                    record, sizeof record, &written, &offset);
    for (size_t i = 0; i < written; i++) {
        image[offset + i] = record[i];
    }
    return status;
}

static int32_t grant_of_ledger(void)
{
    return undertone_ledger_grant(ledger, image, sizeof image, grant_memory, sizeof grant_memory,
                                  &grant);
}

static void ledger_paths(void)
{
    for (key = 1; key <= 4; key++) {
        must(undertone_ledger_create_image(UNDERTONE_UNIT_SENTENCE, 100000000, not_entropy, NULL, image, sizeof image, &written),
             "a ledger");
        must(undertone_ledger_open(ledger_memory, sizeof ledger_memory, UNDERTONE_UNIT_SENTENCE, image, sizeof image,
                                   not_entropy, NULL, &ledger), "a ledger");
        reserved_micro = 1;
        must(reserve(), "a reservation");
        must(grant_of_ledger(), "a grant");
        for (uint32_t i = 0; i < 6; i++) {
            reserved_micro = 1000000 * i + i;
            reserved_micro += reserved_micro == 0;
            count("ledger_reserve", "6 epsilons, 4 ledgers", reserve, nothing);
            count("ledger_grant", "6 epsilons, 4 ledgers", grant_of_ledger, nothing);
        }
    }
    key = 0;
}

static int32_t release_answers(void)
{
    return undertone_form_release(form, answers, ATTRIBUTES, grant, not_entropy, NULL, release, sizeof release,
                                  &written);
}

/* Begins a reservoir, adds answers as a line, which is drawn or not, and releases. */
static int32_t release_line_of_answers(void)
{
    uint8_t reservoir[UNDERTONE_RESERVOIR_BYTES];
    int32_t status = undertone_answer_reservoir_init(form, 1, 2, not_entropy, NULL, reservoir);
    if (status == UNDERTONE_STATUS_OK) {
        status = undertone_answer_reservoir_push(reservoir, form, answers, ATTRIBUTES, not_entropy, NULL);
    }
    if (status == UNDERTONE_STATUS_OK) {
        status = undertone_answer_reservoir_release(reservoir, form, grant, not_entropy, NULL, release,
                                                    sizeof release, &written);
    }
    return status;
}

/* The question that was drawn: the highest byte of the number. */
static uint32_t question(void)
{
    return release[15];
}

/* Answers to the golden form, and no answers. */
__attribute__((unused)) static void form_paths(const uint8_t *bytes, size_t len)
{
    static const uint32_t numbers[] = {0, 1, 3, 4, 1000, 2599, 2600, 65536, UINT32_MAX};
    enum { NUMBERS = sizeof numbers / sizeof numbers[0] };
    must(undertone_form_init(form_memory, sizeof form_memory, bytes, len, &form), "a form");
    warm_up(release_answers);
    for (key = 1; key <= 12; key = (uint8_t)(key + stride)) {
        for (uint32_t i = 0; i < NUMBERS * NUMBERS; i++) {
            answers[0] = numbers[i % NUMBERS];
            answers[1] = numbers[i / NUMBERS];
            answers[2] = numbers[(i + 1) % NUMBERS];
            new_grant();
            count("release, answers", "any answers", release_answers, question);
            new_grant();
            count("release, a line of answers", "any answers", release_line_of_answers, question);
        }
    }
    key = 0;
}

/* All paths of a pack. */
static void pack_paths(const uint8_t *bytes, size_t len)
{
    must(undertone_pack_init(pack_memory, sizeof pack_memory, bytes, len, &pack), "a pack");
    must(undertone_pack_describe(pack, &described), "a pack");
    dimension = described.dimension;
    if (dimension > MOST_COORDINATES) {
        fail("a pack", "too many coordinates");
        return;
    }
    if (described.candidate_count > 0) {
        document_paths();
        if (has_whole_texts()) {
            whole_text_paths();
        }
    }
    if (described.word_count > 0 && stride == 1) {
        bag_paths();
    }
    if (described.projected_dimension > 0) {
        projection_paths();
    }
}

#endif
