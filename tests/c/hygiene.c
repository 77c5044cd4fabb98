/*
 * Checks that a private text leaves nothing in the memory of a program after a release or a reset.
 *
 *     hygiene PACK SCORES PROJECTION FEATURES     exit status 0 if nothing is left; Linux
 *
 * All work is done on a separate stack in a child process. The child wipes its own buffers and then
 * writes all writable memory (/proc/self/maps) to a file: handles, the stack below the stack
 * pointer, heap, data. Two children process the same random bytes with different texts, or the same
 * text with different random bytes. Their memory must be equal, except where two identical children
 * differ. So the check finds whatever derives from a text or a key, in any encoding and at any
 * place. It also searches for the coordinates, the text and the key themselves.
 *
 * (The ledger processes neither texts nor secrets.)
 *
 * The private data must be found while the document still exists and, with -DPLANTED, where a
 * caller leaves a copy on the stack.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "undertone.h"

enum {
    OUTPUT = 100,
    STACK = 512 * 1024,
    LARGEST_PACK = 1 << 20,
    SENTENCES = 5,
    SENTENCE = 64,
    MOST_COORDINATES = 1024
};

#define MEMORY(name, bytes)                                                                        \
    static union {                                                                                 \
        uint8_t memory[bytes];                                                                     \
        long double aligned;                                                                       \
    } name

MEMORY(pack_memory, UNDERTONE_PACK_HANDLE_SIZE);
MEMORY(scores_memory, UNDERTONE_PACK_HANDLE_SIZE);
MEMORY(projection_memory, UNDERTONE_PACK_HANDLE_SIZE);
MEMORY(features_memory, UNDERTONE_PACK_HANDLE_SIZE);
MEMORY(document_memory, UNDERTONE_DOCUMENT_HANDLE_SIZE);
MEMORY(vocabulary_memory, UNDERTONE_VOCABULARY_HANDLE_SIZE);
MEMORY(bag_memory, UNDERTONE_BAG_HANDLE_SIZE);
MEMORY(vector_memory, UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE);
MEMORY(grant_memory, UNDERTONE_GRANT_HANDLE_SIZE);

static uint8_t files[4][LARGEST_PACK] __attribute__((aligned(64)));
static undertone_pack *packs[4], *pack;
static undertone_pack_description described;
static undertone_document *document;
static undertone_vocabulary *vocabulary;
static undertone_bag *bag;
static undertone_vector_mechanism *vector;
static undertone_grant *grant;

/* Wiped by the child itself: its input and the release. */
static struct {
    uint32_t child, text, key;
    pid_t children[4];
    float coordinates[SENTENCES * MOST_COORDINATES];
    char sentence[SENTENCE];
    uint8_t entropy[32];
    uint8_t release[UNDERTONE_MAX_VECTOR_RELEASE_BYTES];
    size_t written;
} own;

static void must(int32_t status, const char *what)
{
    if (status != UNDERTONE_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", what, undertone_status_message(status));
        _exit(2);
    }
}

static void need(int holds, const char *what)
{
    if (!holds) {
        perror(what);
        _exit(2);
    }
}

/* --- Inputs: two texts, two keys --- */

/* Coordinates that occur nowhere else, the same in every child with this text. */
static void fill(uint32_t text, uint32_t key)
{
    static const char *const sentences[] = {
        "the small river zyxwvutabc and the garden house are old xxx",
        "good music dog qponmlkxyz in москва tea and old house",
    };
    uint64_t state = 77 + text;
    own.text = text;
    own.key = key;
    for (size_t i = 0; i < sizeof own.coordinates / sizeof *own.coordinates; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        own.coordinates[i] = (float)(int32_t)(state >> 32) / 3e9f;
    }
    /* Equal lengths: the length of a text is in this program's own frames. */
    memset(own.sentence, ' ', sizeof own.sentence);
    memcpy(own.sentence, sentences[text], strlen(sentences[text]));
    for (size_t i = 0; i < sizeof own.entropy; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        own.entropy[i] = (uint8_t)((uint32_t)i * 37 + 11 + key * 101);
    }
}

/* Clears what `fill` left below. */
__attribute__((noinline)) static void wipe_stack(void)
{
    volatile uint8_t below[4096];
    for (size_t i = 0; i < sizeof below; i++) {
        below[i] = 0;
    }
}

static int32_t entropy(void *context, uint8_t *out, size_t len)
{
    (void)context;
    memcpy(out, own.entropy, len);
    return 0;
}

/* --- Calls --- */

static void new_grant(int32_t unit)
{
    must(undertone_grant_init_unrecorded(&grant_memory, sizeof grant_memory, unit, 3000000, &grant), "grant");
}

static void pushed(void)
{
    const size_t dimension = described.dimension;
    size_t n;
    must(undertone_document_init(&document_memory, sizeof document_memory, pack, &document),
         "document");
    must(undertone_document_push(document, own.coordinates, dimension), "push");
    must(undertone_document_push_all(document, own.coordinates + dimension, 4 * dimension, &n),
         "push_all");
}

static void pushed_text(void)
{
    size_t n;
    must(undertone_document_init(&document_memory, sizeof document_memory, pack, &document),
         "document");
    must(undertone_document_push_sentence(document, own.sentence, sizeof own.sentence), "sentence");
    must(undertone_document_push_text(document, own.sentence, sizeof own.sentence, &n), "text");
}

static void released(int32_t rule)
{
    new_grant(UNDERTONE_UNIT_SENTENCE);
    must(undertone_document_release(document, grant, rule, entropy, NULL, own.release,
                                    sizeof own.release, &own.written), "release");
}

static void released_whole_text(void)
{
    new_grant(UNDERTONE_UNIT_WHOLE_TEXT);
    must(undertone_document_release_whole_text(document, grant, entropy, NULL, own.release, sizeof own.release,
                                               &own.written), "release");
}

static void released_point(void)
{
    new_grant(UNDERTONE_UNIT_WHOLE_TEXT);
    must(undertone_document_release_projective(document, grant, entropy, NULL, own.release, sizeof own.release,
                                               &own.written), "release");
}

static void reset(void)
{
    must(undertone_document_reset(document), "reset");
}

static void pushed_both(void)
{
    pushed_text();
    must(undertone_document_push_encoded(document, own.sentence, sizeof own.sentence, own.coordinates,
                                         described.dimension), "both");
}

static void embeddings_flips(void) { pushed(), released(UNDERTONE_RULE_PERMUTE_AND_FLIP); }
static void embeddings_exponential(void) { pushed(), released(UNDERTONE_RULE_EXPONENTIAL); }
static void embeddings_reset(void) { pushed(), reset(); }
static void text_flips(void) { pushed_text(), released(UNDERTONE_RULE_PERMUTE_AND_FLIP); }
static void text_exponential(void) { pushed_text(), released(UNDERTONE_RULE_EXPONENTIAL); }
static void text_reset(void) { pushed_text(), reset(); }
static void embeddings_whole_text(void) { pushed(), released_whole_text(); }
static void text_whole_text(void) { pushed_text(), released_whole_text(); }
static void both_whole_text(void) { pushed_both(), released_whole_text(); }
static void embeddings_point(void) { pushed(), released_point(); }
static void text_point(void) { pushed_text(), released_point(); }
static void both_reset(void) { pushed_both(), reset(); }

static void sentence_vector(void)
{
    must(undertone_pack_embed_sentence(pack, own.sentence, sizeof own.sentence, own.coordinates,
                                       MOST_COORDINATES, &own.written), "sentence_vector");
}

static void sentence_next(void)
{
    size_t end = 0, len = 0;
    do {
        must(undertone_sentence_next(own.sentence, sizeof own.sentence, end, &own.written, &len),
             "sentence_next");
        end = own.written + len;
    } while (len > 0);
}

static void bag_of_words(void)
{
    must(undertone_vocabulary_init(&vocabulary_memory, sizeof vocabulary_memory, pack, &vocabulary),
         "vocabulary");
    must(undertone_bag_init(&bag_memory, sizeof bag_memory, vocabulary, &bag), "bag");
    must(undertone_bag_push(bag, own.text ? "river" : "house", 5), "word");
    must(undertone_bag_push_text(bag, own.sentence, sizeof own.sentence), "words");
}

static void released_words(int32_t mechanism)
{
    bag_of_words();
    new_grant(UNDERTONE_UNIT_WORD);
    must(undertone_bag_release(bag, grant, 4, mechanism, entropy, NULL, own.release,
                               sizeof own.release, &own.written), "bag");
}

static void words_flips(void) { released_words(UNDERTONE_WORD_METHOD_PERMUTE_AND_FLIP); }
static void words_exponential(void) { released_words(UNDERTONE_WORD_METHOD_EXPONENTIAL); }
static void words_nearest(void) { released_words(UNDERTONE_WORD_METHOD_LAPLACE_NEAREST); }
static void words_reset(void)
{
    bag_of_words();
    must(undertone_bag_reset(bag), "reset");
}

static void released_vector(void)
{
    new_grant(UNDERTONE_UNIT_VECTOR);
    must(undertone_vector_mechanism_release(vector, grant, own.coordinates,
                                            undertone_vector_mechanism_dimension(vector), entropy, NULL, own.release,
                                            sizeof own.release, &own.written),
         "vector");
}

static void vector_of(int32_t noise)
{
    must(undertone_vector_mechanism_init(&vector_memory, sizeof vector_memory, 300, 1, noise, 3000000, &vector),
         "vector");
    released_vector();
}

static void projected_of(int32_t noise)
{
    must(undertone_vector_mechanism_init_projected(&vector_memory, sizeof vector_memory, packs[2], noise,
                                                   3000000, &vector), "projection");
    released_vector();
}

static void vector_laplace(void) { vector_of(UNDERTONE_NOISE_LAPLACE); }
static void vector_discrete(void) { vector_of(UNDERTONE_NOISE_DISCRETE_LAPLACE); }
static void projected_laplace(void) { projected_of(UNDERTONE_NOISE_LAPLACE); }
static void projected_discrete(void) { projected_of(UNDERTONE_NOISE_DISCRETE_LAPLACE); }

#ifdef PLANTED
/* A caller's copy of two coordinates, which is never wiped. */
__attribute__((noinline)) static void careless(void)
{
    float copy[2] = {own.coordinates[0], own.coordinates[1]};
    __asm__ volatile("" ::"r"(copy) : "memory");
}

static void planted(void)
{
    embeddings_flips();
    careless();
}
#endif

static const struct {
    const char *name;
    void (*run)(void);
    int pack;
    /* Something must be found, because the document still exists. */
    int there;
} runs[] = {
#ifdef PLANTED
    {"planted: a copy on the stack", planted, 0, 1},
#else
    {"pushed, not released", pushed, 0, 1},
    {"text pushed, not released", pushed_text, 1, 1},
    {"words pushed, not released", bag_of_words, 0, 1},
    {"features pushed, not released", pushed_text, 3, 1},
#endif
    {"depth, embeddings, permute-and-flip", embeddings_flips, 0, 0},
    {"depth, embeddings, exponential", embeddings_exponential, 0, 0},
    {"depth, embeddings, reset", embeddings_reset, 0, 0},
    {"depth, text, permute-and-flip", text_flips, 0, 0},
    {"depth, text, exponential", text_exponential, 0, 0},
    {"depth, text, reset", text_reset, 0, 0},
    {"scores, embeddings, permute-and-flip", embeddings_flips, 1, 0},
    {"scores, embeddings, exponential", embeddings_exponential, 1, 0},
    {"scores, embeddings, reset", embeddings_reset, 1, 0},
    {"scores, text, permute-and-flip", text_flips, 1, 0},
    {"scores, text, reset", text_reset, 1, 0},
    {"scores, embeddings, whole text", embeddings_whole_text, 1, 0},
    {"scores, text, whole text", text_whole_text, 1, 0},
    {"scores, embeddings, projective", embeddings_point, 1, 0},
    {"scores, text, projective", text_point, 1, 0},
    {"features, text, permute-and-flip", text_flips, 3, 0},
    {"features, text, exponential", text_exponential, 3, 0},
    {"features, text, whole text", text_whole_text, 3, 0},
    {"features, text, projective", text_point, 3, 0},
    {"features, text, reset", text_reset, 3, 0},
    {"features, text and embedding, whole text", both_whole_text, 3, 0},
    {"features, text and embedding, reset", both_reset, 3, 0},
    {"sentence vector", sentence_vector, 0, 0},
    {"sentences found", sentence_next, 0, 0},
    {"words, permute-and-flip", words_flips, 0, 0},
    {"words, exponential", words_exponential, 0, 0},
    {"words, nearest to noise", words_nearest, 0, 0},
    {"words, reset", words_reset, 0, 0},
    {"vector, Laplace", vector_laplace, 0, 0},
    {"vector, discrete Laplace", vector_discrete, 0, 0},
    {"projected vector, Laplace", projected_laplace, 0, 0},
    {"projected vector, discrete Laplace", projected_discrete, 0, 0},
};

/* --- The memory of a child --- */

static ucontext_t here, there;
static uint8_t stack[STACK] __attribute__((aligned(4096)));

/* Runs on the stack above, which nothing else uses. */
static void on_own_stack(void (*call)(void))
{
    need(getcontext(&there) == 0, "getcontext");
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    there.uc_link = &here;
    makecontext(&there, call, 0);
    need(swapcontext(&here, &there) == 0, "swapcontext");
    /* Registers saved by the switch of stacks. */
    memset(&here, 0, sizeof here);
    memset(&there, 0, sizeof there);
}

static void write_all(int file, const void *bytes, size_t len)
{
    while (len > 0) {
        const ssize_t written = write(file, bytes, len);
        need(written > 0, "write");
        bytes = (const char *)bytes + written;
        len -= (size_t)written;
    }
}

/* Writes all writable memory, each piece after its address and length. */
static void write_memory(void)
{
    static char maps[64 * 1024];
    size_t len = 0;
    const int list = open("/proc/self/maps", O_RDONLY);
    need(list >= 0, "maps");
    for (ssize_t got; (got = read(list, maps + len, sizeof maps - 1 - len)) > 0; len += (size_t)got) {
    }
    for (char *line = maps; *line != '\0'; line = strchr(line, '\n') + 1) {
        uint64_t start, end;
        char mode[5];
        if (sscanf(line, "%lx-%lx %4s", &start, &end, mode) == 3 && mode[0] == 'r' && mode[1] == 'w') {
            const uint64_t head[2] = {start, end - start};
            write_all(OUTPUT, head, sizeof head);
            write_all(OUTPUT, (const void *)start, end - start);
        }
    }
}

struct image {
    uint8_t *bytes;
    size_t len;
    pid_t child;
};

/* Texts and keys of the children: two identical ones, one with another text, one with another
 * key. Only `own` distinguishes them. */
static const struct {
    uint32_t text, key;
} inputs[4] = {{0, 0}, {0, 0}, {1, 0}, {0, 1}};

/* Output files of the children. */
static int outputs[4];

__attribute__((noinline)) static void begin(int run)
{
    need(dup2(outputs[own.child], OUTPUT) == OUTPUT, "dup2");
    fill(inputs[own.child].text, inputs[own.child].key);
    pack = packs[runs[run].pack];
    must(undertone_pack_describe(pack, &described), "describe");
}

static struct image images[4];

/* Fills `images`. Nothing changes here between the children. */
static void run_children(int run)
{
    int status;
    for (own.child = 0; own.child < 4; own.child++) {
        need(lseek(outputs[own.child], 0, SEEK_SET) == 0 && ftruncate(outputs[own.child], 0) == 0,
             "a file for memory");
    }
    for (own.child = 0; own.child < 4; own.child++) {
        const pid_t child = fork();
        need(child >= 0, "fork");
        if (child == 0) {
            begin(run);
            wipe_stack();
            on_own_stack(runs[run].run);
            memset(&own, 0, sizeof own);
            write_memory();
            _exit(0);
        }
        need(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
             runs[run].name);
        own.children[own.child] = child;
    }
    for (int i = 0; i < 4; i++) {
        images[i].child = own.children[i];
        images[i].len = (size_t)lseek(outputs[i], 0, SEEK_END);
        images[i].bytes = mmap(NULL, images[i].len, PROT_READ, MAP_PRIVATE, outputs[i], 0);
        need(images[i].bytes != MAP_FAILED, "mmap");
    }
}

static const char *where(uint64_t address)
{
    static char text[64];
    const struct {
        const char *name;
        const void *start;
        size_t len;
    } places[] = {
        {"the stack", stack, sizeof stack},
        {"the document", &document_memory, sizeof document_memory},
        {"the bag", &bag_memory, sizeof bag_memory},
        {"the vector", &vector_memory, sizeof vector_memory},
        {"the grant", &grant_memory, sizeof grant_memory},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const uint64_t start = (uintptr_t)places[i].start;
        if (start <= address && address < start + places[i].len) {
            /* Offset from the end of the stack. */
            snprintf(text, sizeof text, "%s at %s%lu", places[i].name, i == 0 ? "-" : "",
                     (unsigned long)(i == 0 ? start + places[i].len - address : address - start));
            return text;
        }
    }
    snprintf(text, sizeof text, "%lx", (unsigned long)address);
    return text;
}

/* Returns whether the number of the child is there. */
static int is_number(struct image image, size_t at)
{
    return memcmp(image.bytes + at, &image.child, sizeof image.child) == 0;
}

/* Counts the bytes that differ between a and b but not between a and same. */
static size_t differences(struct image a, struct image same, struct image b, int show)
{
    size_t found = 0, at = 0;
    uint64_t last = 0;
    if (a.len != b.len || a.len != same.len) {
        return a.len;
    }
    while (at < a.len) {
        uint64_t head[2];
        memcpy(head, a.bytes + at, sizeof head);
        at += sizeof head;
        for (uint64_t i = 0; i < head[1]; i++) {
            /* Kept by the C library. */
            if (i % 4 == 0 && is_number(a, at + i) && is_number(b, at + i)) {
                i += 3;
                continue;
            }
            if (a.bytes[at + i] == same.bytes[at + i] && a.bytes[at + i] != b.bytes[at + i]) {
                if (show && found < 4000 && head[0] + i > last + 16) {
                    printf("    %s\n", where(head[0] + i));
                }
                last = head[0] + i;
                found++;
            }
        }
        at += head[1];
    }
    return found;
}

static size_t occurrences(struct image image, const void *pattern, size_t len)
{
    size_t found = 0;
    const uint8_t *from = image.bytes, *end = image.bytes + image.len;
    while ((from = memmem(from, (size_t)(end - from), pattern, len)) != NULL) {
        found++;
        from++;
    }
    return found;
}

/* Searches for the input itself: pairs of coordinates, parts of the text, of the key. */
static size_t patterns(struct image image, uint32_t text, uint32_t key)
{
    size_t found = 0;
    fill(text, key);
    for (size_t i = 0; i + 1 < sizeof own.coordinates / sizeof *own.coordinates; i += 2) {
        found += occurrences(image, own.coordinates + i, 2 * sizeof(float));
        if (i == 64) {
            break;
        }
    }
    /* Excludes what is also in the pack. */
    found += occurrences(image, text ? "qponmlkxyz" : "zyxwvutabc", 10);
    for (size_t i = 0; i + 8 <= sizeof own.entropy; i += 8) {
        found += occurrences(image, own.entropy + i, 8);
    }
    memset(&own, 0, sizeof own);
    return found;
}

static void read_pack(int which, const char *path, void *memory)
{
    FILE *file = fopen(path, "rb");
    need(file != NULL, path);
    const size_t len = fread(files[which], 1, LARGEST_PACK, file);
    fclose(file);
    must(undertone_pack_init(memory, UNDERTONE_PACK_HANDLE_SIZE, files[which], len, &packs[which]), path);
}

int main(int argc, char **argv)
{
    int failed = 0;
    if (argc != 5) {
        fprintf(stderr, "usage: %s PACK SCORES PROJECTION FEATURES\n", argv[0]);
        return 2;
    }
    setvbuf(stdout, NULL, _IONBF, 0);
    read_pack(0, argv[1], &pack_memory);
    read_pack(1, argv[2], &scores_memory);
    read_pack(2, argv[3], &projection_memory);
    read_pack(3, argv[4], &features_memory);
    /* The C library also keeps the number of the processor. */
    cpu_set_t processor;
    CPU_ZERO(&processor);
    CPU_SET(sched_getcpu(), &processor);
    need(sched_setaffinity(0, sizeof processor, &processor) == 0, "sched_setaffinity");
    for (int i = 0; i < 4; i++) {
        FILE *file = tmpfile();
        need(file != NULL, "a file for memory");
        outputs[i] = fileno(file);
    }
    printf("bytes that differ with the text, with the key; times the input itself is found\n");
    for (int run = 0; run < (int)(sizeof runs / sizeof *runs); run++) {
        run_children(run);
        const struct image a = images[0], same = images[1], text = images[2], key = images[3];
        const size_t of_text = differences(a, same, text, 0), of_key = differences(a, same, key, 0),
                     itself = patterns(a, 0, 0) + patterns(text, 1, 0) + patterns(key, 0, 1);
        const int bad = runs[run].there ? of_text == 0 : of_text + of_key + itself != 0;
        printf("%8zu %8zu %8zu  %s%s\n", of_text, of_key, itself, runs[run].name,
               !bad ? "" : runs[run].there ? ": not found" : ": left");
        if (bad && !runs[run].there) {
            differences(a, same, text, getenv("HYGIENE_WHERE") != NULL);
            differences(a, same, key, getenv("HYGIENE_WHERE") != NULL);
        }
        failed |= bad;
        for (int i = 0; i < 4; i++) {
            munmap(images[i].bytes, images[i].len);
            images[i] = (struct image){NULL, 0, 0};
        }
    }
    return failed;
}
