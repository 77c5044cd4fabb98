/*
 * A program as a user of the library would write it: text or embeddings in, one release out.
 *
 *     consumer [--epsilon E] PACK                     one sentence a line on standard input
 *     consumer [--epsilon E] PACK --embeddings FILE   little-endian floats, one row a sentence
 *     consumer PACK --vectors FILE                    checks the golden vectors
 *     consumer PACK --sentences FILE                  checks the golden sentence vectors
 *
 * Several packs may follow one another, each with an option and a file.
 *
 * C99; on POSIX systems the pack is mapped, elsewhere it is read.
 */
#if defined(__unix__) || defined(__APPLE__)
#define _POSIX_C_SOURCE 200809L
#define HAVE_MMAP
#endif

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_MMAP
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include "undertone.h"

static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("consumer: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static void check(int32_t status, const char *what)
{
    if (status != UNDERTONE_STATUS_OK) {
        fail("%s: %s (status %ld)", what, undertone_status_message(status), (long)status);
    }
}

static void *allocate(size_t len)
{
    void *memory = malloc(len == 0 ? 1 : len);
    if (memory == NULL) {
        fail("no memory");
    }
    return memory;
}

/* The bytes of a file, to be given back with `release_file`. */
#ifdef HAVE_MMAP
static const uint8_t *open_file(const char *path, size_t *len)
{
    struct stat facts;
    const int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &facts) != 0) {
        fail("cannot open %s", path);
    }
    *len = (size_t)facts.st_size;
    if (*len == 0) {
        close(file);
        return NULL;
    }
    void *bytes = mmap(NULL, *len, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (bytes == MAP_FAILED) {
        fail("cannot map %s", path);
    }
    return bytes;
}

static void release_file(const uint8_t *bytes, size_t len)
{
    if (len != 0) {
        munmap((void *)bytes, len);
    }
}
#else
static const uint8_t *open_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        fail("cannot open %s", path);
    }
    const long end = ftell(file);
    rewind(file);
    *len = end < 0 ? 0 : (size_t)end;
    uint8_t *bytes = allocate(*len);
    if (fread(bytes, 1, *len, file) != *len) {
        fail("cannot read %s", path);
    }
    fclose(file);
    return bytes;
}

static void release_file(const uint8_t *bytes, size_t len)
{
    (void)len;
    free((void *)bytes);
}
#endif

/* The next line without its end, NULL after the last one. The caller frees it. */
static char *read_line(FILE *file, size_t *len)
{
    size_t capacity = 256;
    char *line = allocate(capacity);
    *len = 0;
    int c = fgetc(file);
    if (c == EOF) {
        free(line);
        return NULL;
    }
    for (; c != EOF && c != '\n'; c = fgetc(file)) {
        if (*len + 1 == capacity) {
            char *longer = allocate(2 * capacity);
            memcpy(longer, line, *len);
            free(line);
            line = longer;
            capacity *= 2;
        }
        line[(*len)++] = (char)c;
    }
    line[*len] = '\0';
    return line;
}

/* The entropy of an ordinary Unix program. */
static int32_t system_entropy(void *context, uint8_t *out, size_t len)
{
    (void)context;
    FILE *file = fopen("/dev/urandom", "rb");
    if (file == NULL) {
        return 1;
    }
    /* Unbuffered, because nobody would wipe the buffer. */
    setvbuf(file, NULL, _IONBF, 0);
    const size_t got = fread(out, 1, len, file);
    fclose(file);
    return got == len ? 0 : 1;
}

static void print_hex(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        printf("%02x", bytes[i]);
    }
    putchar('\n');
}

static float little_endian_float(const uint8_t *bytes)
{
    const uint32_t bits = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16
        | (uint32_t)bytes[3] << 24;
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* `len` floats from their little-endian bytes. The caller frees them. */
static float *floats_of(const uint8_t *bytes, size_t len)
{
    float *floats = allocate(len * sizeof *floats);
    for (size_t i = 0; i < len; i++) {
        floats[i] = little_endian_float(bytes + 4 * i);
    }
    return floats;
}

/* Pushes one embedding of `len` little-endian floats. */
static int32_t push_bytes(undertone_document *document, const uint8_t *bytes, size_t len)
{
    float *embedding = floats_of(bytes, len);
    const int32_t status = undertone_document_push(document, embedding, len);
    free(embedding);
    return status;
}

/* A document has a limited number of sentences; an app leaves the rest out. */
static int is_room(int32_t status)
{
    if (status == UNDERTONE_STATUS_DOCUMENT_FULL) {
        return 0;
    }
    check(status, "push");
    return 1;
}

static void push_text(undertone_document *document)
{
    size_t len;
    char *line;
    while ((line = read_line(stdin, &len)) != NULL) {
        const int room =
            len == 0 || is_room(undertone_document_push_sentence(document, line, len));
        free(line);
        if (!room) {
            break;
        }
    }
}

static void push_embeddings(undertone_document *document, const char *path, size_t dimension)
{
    size_t len;
    const uint8_t *bytes = open_file(path, &len);
    if (len % (4 * dimension) != 0) {
        fail("%s does not hold rows of %lu floats", path, (unsigned long)dimension);
    }
    for (size_t row = 0; row < len / (4 * dimension); row++) {
        if (!is_room(push_bytes(document, bytes + 4 * dimension * row, dimension))) {
            break;
        }
    }
    release_file(bytes, len);
}

/* Entropy of the golden vectors. A real program never does this. */
struct prescribed {
    uint8_t bytes[32];
    int calls;
};

static int32_t prescribed_entropy(void *context, uint8_t *out, size_t len)
{
    struct prescribed *prescribed = context;
    prescribed->calls++;
    if (len != sizeof prescribed->bytes) {
        return 1;
    }
    memcpy(out, prescribed->bytes, len);
    return 0;
}

static uint8_t hex_digit(char digit)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = digit == '\0' ? NULL : strchr(digits, digit);
    if (found == NULL) {
        fail("'%c' is no lower-case hexadecimal digit", digit);
        return 0;
    }
    return (uint8_t)(found - digits);
}

/* The bytes of a hexadecimal string. The caller frees them. */
static uint8_t *from_hex(const char *text, size_t *len)
{
    *len = strlen(text) / 2;
    if (strlen(text) % 2 != 0) {
        fail("half a byte in %s", text);
    }
    uint8_t *bytes = allocate(*len);
    for (size_t i = 0; i < *len; i++) {
        bytes[i] = (uint8_t)(hex_digit(text[2 * i]) << 4 | hex_digit(text[2 * i + 1]));
    }
    return bytes;
}

/* The text after `key` and a blank, or NULL if the line has another key. */
static const char *field(const char *line, const char *key)
{
    const size_t len = strlen(key);
    if (strncmp(line, key, len) != 0 || (line[len] != ' ' && line[len] != '\0')) {
        return NULL;
    }
    return line[len] == ' ' ? line + len + 1 : line + len;
}

/* A grant, in memory that the next one reuses. */
static undertone_grant *grant_of(int32_t unit, unsigned long epsilon, const char *what)
{
    static union {
        uint8_t bytes[UNDERTONE_GRANT_HANDLE_SIZE];
        long double aligned;
    } memory;
    undertone_grant *grant;
    check(undertone_grant_init_unrecorded(&memory, sizeof memory, unit, (uint32_t)epsilon, &grant), what);
    return grant;
}

/* The values of a case read so far. */
struct test_case {
    char name[128];
    unsigned long epsilon, size;
    long rule, mechanism, noise, bound_exponent;
    int whole_text, projective, projected;
    struct prescribed entropy;
    float *vector;
    size_t vector_len;
    /* Number of pushed embeddings, and whether a sentence was pushed as text. */
    float *embeddings;
    size_t embeddings_len;
    int texts;
};

/* Keeps an embedding of a case. */
static void append(struct test_case *test, const uint8_t *bytes, size_t len)
{
    const size_t before = test->embeddings_len;
    float *all = allocate((before + len) * sizeof *all);
    for (size_t i = 0; i < before; i++) {
        all[i] = test->embeddings[i];
    }
    for (size_t i = 0; i < len; i++) {
        all[before + i] = little_endian_float(bytes + 4 * i);
    }
    free(test->embeddings);
    test->embeddings = all;
    test->embeddings_len = before + len;
}

static undertone_pack_description described;

/* The sections of a pack; NULL if it lacks one. */
struct handles {
    undertone_pack *pack;
    undertone_document *document;
    undertone_bag *bag;
    undertone_vocabulary *vocabulary;
};

static void compare(struct test_case *test, const uint8_t *release, size_t written,
                    const uint8_t *expected, size_t expected_len)
{
    if (test->entropy.calls != 1) {
        fail("%s: the entropy function was called %d times", test->name, test->entropy.calls);
    }
    if (written != expected_len || memcmp(release, expected, expected_len) != 0) {
        print_hex(release, written);
        fail("%s: released the bytes above, not those in the file", test->name);
    }
}

static void check_document(const struct handles *handles, struct test_case *test,
                           const uint8_t *expected, size_t expected_len)
{
    uint8_t release[UNDERTONE_RELEASE_BYTES];
    size_t written = 0;
    const int32_t unit =
        test->whole_text || test->projective ? UNDERTONE_UNIT_WHOLE_TEXT : UNDERTONE_UNIT_SENTENCE;
    undertone_grant *grant = grant_of(unit, test->epsilon, test->name);
    check(test->projective
              ? undertone_document_release_projective(handles->document, grant, prescribed_entropy,
                                                      &test->entropy, release, sizeof release, &written)
          : test->whole_text
              ? undertone_document_release_whole_text(handles->document, grant, prescribed_entropy,
                                                      &test->entropy, release, sizeof release, &written)
              : undertone_document_release(handles->document, grant, (int32_t)test->rule,
                                           prescribed_entropy, &test->entropy, release, sizeof release,
                                           &written),
          test->name);
    compare(test, release, written, expected, expected_len);
    uint32_t candidate, epsilon_read;
    int32_t rule_read, unit_read;
    uint32_t order;
    uint8_t pack_id[UNDERTONE_PACK_ID_BYTES];
    check(undertone_release_read(release, written, &candidate, &epsilon_read, &rule_read, &unit_read,
                                 &order, pack_id),
          test->name);
    if (unit_read != unit) {
        fail("%s: the unit read back differs", test->name);
    }
    if ((order != 0) != test->projective) {
        fail("%s: the order read back differs", test->name);
    }
    if (epsilon_read != test->epsilon || rule_read != test->rule) {
        fail("%s: epsilon or rule read back differ", test->name);
    }
}

/* The embeddings of a case in one call give the same release. */
static void check_batch(const struct handles *handles, struct test_case *test,
                        const uint8_t *expected, size_t expected_len)
{
    if (test->texts || described.feature_count > 0) {
        return;
    }
    size_t pushed = 0;
    check(undertone_document_push_all(handles->document, test->embeddings, test->embeddings_len,
                                      &pushed),
          test->name);
    if (pushed * described.dimension != test->embeddings_len) {
        fail("%s: %lu embeddings were pushed", test->name, (unsigned long)pushed);
    }
    test->entropy.calls = 0;
    check_document(handles, test, expected, expected_len);
}

static void check_bag(const struct handles *handles, struct test_case *test,
                      const uint8_t *expected, size_t expected_len)
{
    const size_t capacity = undertone_bag_release_len((uint32_t)test->size);
    uint8_t *release = allocate(capacity);
    size_t written = 0;
    check(undertone_bag_release(handles->bag, grant_of(UNDERTONE_UNIT_WORD, test->epsilon, test->name),
                                (uint32_t)test->size, (int32_t)test->mechanism, prescribed_entropy, &test->entropy,
                                release, capacity, &written),
          test->name);
    compare(test, release, written, expected, expected_len);

    uint32_t size, epsilon_read;
    int32_t mechanism;
    uint8_t pack_id[UNDERTONE_PACK_ID_BYTES];
    check(undertone_bag_release_read(release, written, &size, &mechanism, &epsilon_read, pack_id),
          test->name);
    if (size != test->size || epsilon_read != test->epsilon || mechanism != test->mechanism) {
        fail("%s: size, epsilon or mechanism read back differ", test->name);
    }
    uint32_t words[UNDERTONE_MAX_RELEASED_WORDS];
    check(undertone_bag_release_read_words(release, written, words, UNDERTONE_MAX_RELEASED_WORDS, &written),
          test->name);
    for (size_t i = 0; i < written; i++) {
        const char *text;
        size_t len;
        check(undertone_vocabulary_word(handles->vocabulary, words[i], &text, &len), test->name);
        if (words[i] != (uint32_t)expected[24 + 2 * i] + 256u * expected[25 + 2 * i] || len == 0) {
            fail("%s: word %lu read back differs", test->name, (unsigned long)i);
        }
    }
    free(release);
}

static void check_vector(const struct handles *handles, struct test_case *test,
                         const uint8_t *expected, size_t expected_len)
{
    void *memory = allocate(UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE);
    undertone_vector_mechanism *vector;
    const int32_t noise = (int32_t)test->noise;
    const uint32_t epsilon = (uint32_t)test->epsilon;
    const int32_t status =
        test->projected ? undertone_vector_mechanism_init_projected(memory, UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE,
                                                                    handles->pack, noise, epsilon, &vector)
                        : undertone_vector_mechanism_init(memory, UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE,
                                                          (uint32_t)test->vector_len, (int32_t)test->bound_exponent,
                                                          noise, epsilon, &vector);
    check(status, test->name);
    const size_t capacity = undertone_vector_mechanism_release_len(vector);
    uint8_t *release = allocate(capacity);
    size_t written = 0;
    check(undertone_vector_mechanism_release(vector, grant_of(UNDERTONE_UNIT_VECTOR, test->epsilon, test->name), test->vector,
                                   test->vector_len, prescribed_entropy, &test->entropy, release, capacity, &written),
          test->name);
    compare(test, release, written, expected, expected_len);

    uint32_t dimension, epsilon_read;
    int32_t noise_read, grid_exponent;
    uint8_t pack_id[UNDERTONE_PACK_ID_BYTES];
    check(undertone_vector_release_read(release, written, &dimension, &noise_read, &epsilon_read,
                                        &grid_exponent, pack_id),
          test->name);
    if (noise_read != noise || epsilon_read != epsilon || written != 36 + 4 * (size_t)dimension) {
        fail("%s: noise, epsilon or dimension read back differ", test->name);
    }
    int32_t *steps = allocate(dimension * sizeof *steps);
    double *values = allocate(dimension * sizeof *values);
    size_t count;
    check(undertone_vector_release_read_steps(release, written, steps, dimension, &count), test->name);
    check(undertone_vector_release_read_values(release, written, values, dimension, &count), test->name);
    double step = 1;
    for (int32_t i = grid_exponent; i != 0; i += i < 0 ? 1 : -1) {
        step = i < 0 ? step / 2 : step * 2;
    }
    for (size_t i = 0; i < count; i++) {
        /* Both are exact. */
        if (values[i] < steps[i] * step || values[i] > steps[i] * step) {
            fail("%s: coordinate %lu read back differs", test->name, (unsigned long)i);
        }
    }
    free(values);
    free(steps);
    free(release);
    free(memory);
}

static void check_release(const struct handles *handles, struct test_case *test,
                          const uint8_t *expected, size_t expected_len)
{
    test->entropy.calls = 0;
    if (test->noise != 0) {
        check_vector(handles, test, expected, expected_len);
    } else if (test->mechanism != 0) {
        check_bag(handles, test, expected, expected_len);
    } else {
        check_document(handles, test, expected, expected_len);
        check_batch(handles, test, expected, expected_len);
    }
}

static unsigned long check_vectors(const struct handles *handles, const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fail("cannot open %s", path);
        return 0;
    }
    static const struct test_case no_case;
    struct test_case test = no_case;
    unsigned long cases = 0;
    size_t len;
    char *line;
    while ((line = read_line(file, &len)) != NULL) {
        const char *value;
        size_t bytes_len = 0;
        uint8_t *bytes = NULL;
        if (len == 0 || line[0] == '#') {
            /* Between cases. */
        } else if ((value = field(line, "case")) != NULL) {
            free(test.vector);
            free(test.embeddings);
            test = no_case;
            test.projected = 1;
            snprintf(test.name, sizeof test.name, "%s", value);
        } else if ((value = field(line, "epsilon_micro")) != NULL) {
            test.epsilon = strtoul(value, NULL, 10);
        } else if ((value = field(line, "rule")) != NULL) {
            test.whole_text = strcmp(value, "whole-text") == 0;
            test.projective = strcmp(value, "projective") == 0;
            test.rule = test.whole_text || test.projective ? UNDERTONE_RULE_EXPONENTIAL : strtol(value, NULL, 10);
        } else if ((value = field(line, "mechanism")) != NULL) {
            test.mechanism = strtol(value, NULL, 10);
        } else if ((value = field(line, "size")) != NULL) {
            test.size = strtoul(value, NULL, 10);
        } else if ((value = field(line, "noise")) != NULL) {
            test.noise = strtol(value, NULL, 10);
        } else if ((value = field(line, "bound_exponent")) != NULL) {
            test.bound_exponent = strtol(value, NULL, 10);
            test.projected = 0;
        } else if ((value = field(line, "entropy")) != NULL) {
            bytes = from_hex(value, &bytes_len);
            if (bytes_len != sizeof test.entropy.bytes) {
                fail("%s: %lu bytes of entropy", test.name, (unsigned long)bytes_len);
            }
            memcpy(test.entropy.bytes, bytes, bytes_len);
        } else if ((value = field(line, "vector")) != NULL) {
            bytes = from_hex(value, &bytes_len);
            test.vector = floats_of(bytes, bytes_len / 4);
            test.vector_len = bytes_len / 4;
        } else if ((value = field(line, "embedding")) != NULL) {
            bytes = from_hex(value, &bytes_len);
            check(push_bytes(handles->document, bytes, bytes_len / 4), test.name);
            append(&test, bytes, bytes_len / 4);
        } else if ((value = field(line, "sentence")) != NULL) {
            bytes = from_hex(value, &bytes_len);
            check(undertone_document_push_sentence(handles->document, (const char *)bytes,
                                                   bytes_len),
                  test.name);
            test.texts = 1;
        } else if ((value = field(line, "word")) != NULL) {
            bytes = from_hex(value, &bytes_len);
            check(undertone_bag_push(handles->bag, (const char *)bytes, bytes_len), test.name);
        } else if ((value = field(line, "text")) != NULL) {
            bytes = from_hex(value, &bytes_len);
            check(undertone_bag_push_text(handles->bag, (const char *)bytes, bytes_len),
                  test.name);
        } else if ((value = field(line, "release")) != NULL) {
            bytes = from_hex(value, &bytes_len);
            check_release(handles, &test, bytes, bytes_len);
            cases++;
        } else {
            fail("unknown line: %s", line);
        }
        free(bytes);
        free(line);
    }
    free(test.vector);
    free(test.embeddings);
    fclose(file);
    return cases;
}

/* Checks the sentence vectors of a pack's lexicon. */
static unsigned long check_sentences(const undertone_pack *pack, const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fail("cannot open %s", path);
        return 0;
    }
    const size_t dimension = described.dimension;
    float *vector = allocate(dimension * sizeof *vector);
    unsigned long cases = 0;
    size_t len;
    char *line;
    while ((line = read_line(file, &len)) != NULL) {
        const char *value;
        size_t bytes_len = 0, written = 0;
        uint8_t *bytes = NULL;
        if (len == 0 || line[0] == '#') {
            /* Between cases. */
        } else if ((value = field(line, "sentence")) != NULL) {
            bytes = from_hex(value, &bytes_len);
            check(undertone_pack_embed_sentence(pack, (const char *)bytes, bytes_len, vector,
                                                dimension, &written),
                  line);
        } else if ((value = field(line, "vector")) != NULL) {
            bytes = from_hex(value, &bytes_len);
            float *expected = floats_of(bytes, bytes_len / 4);
            if (bytes_len != 4 * dimension
                || memcmp(vector, expected, dimension * sizeof *vector) != 0) {
                fail("not the vector of the sentence before: %s", line);
            }
            free(expected);
            cases++;
        } else {
            fail("unknown line: %s", line);
        }
        free(bytes);
        free(line);
    }
    free(vector);
    fclose(file);
    return cases;
}

/* `mode` is empty without a file. */
static void run(const char *path, const char *mode, const char *file, uint32_t epsilon)
{
    size_t len;
    const uint8_t *bytes = open_file(path, &len);
    undertone_pack *pack;
    void *pack_memory = allocate(UNDERTONE_PACK_HANDLE_SIZE);
    check(undertone_pack_init(pack_memory, UNDERTONE_PACK_HANDLE_SIZE, bytes, len, &pack), path);
    check(undertone_pack_describe(pack, &described), path);

    undertone_document *document = NULL;
    void *document_memory = allocate(UNDERTONE_DOCUMENT_HANDLE_SIZE);
    if (described.candidate_count != 0) {
        check(undertone_document_init(document_memory, UNDERTONE_DOCUMENT_HANDLE_SIZE, pack, &document),
              path);
    }
    undertone_vocabulary *vocabulary = NULL;
    undertone_bag *bag = NULL;
    void *vocabulary_memory = allocate(UNDERTONE_VOCABULARY_HANDLE_SIZE);
    void *bag_memory = allocate(UNDERTONE_BAG_HANDLE_SIZE);
    if (described.word_count != 0) {
        check(undertone_vocabulary_init(vocabulary_memory, UNDERTONE_VOCABULARY_HANDLE_SIZE, pack,
                                        &vocabulary),
              path);
        check(undertone_bag_init(bag_memory, UNDERTONE_BAG_HANDLE_SIZE, vocabulary, &bag), path);
    }

    if (strcmp(mode, "--vectors") == 0 || strcmp(mode, "--sentences") == 0) {
        const struct handles handles = {pack, document, bag, vocabulary};
        const unsigned long cases = strcmp(mode, "--vectors") == 0
                                        ? check_vectors(&handles, file)
                                        : check_sentences(pack, file);
        if (cases == 0) {
            fail("%s holds no case", file);
        }
        printf("%lu golden vectors agree\n", cases);
    } else {
        if (strcmp(mode, "--embeddings") == 0) {
            push_embeddings(document, file, described.dimension);
        } else {
            push_text(document);
        }
        uint8_t release[UNDERTONE_RELEASE_BYTES];
        size_t written;
        check(undertone_document_release(document, grant_of(UNDERTONE_UNIT_SENTENCE, epsilon, "epsilon"),
                                         UNDERTONE_RULE_PERMUTE_AND_FLIP, system_entropy, NULL,
                                         release, sizeof release, &written),
              "release");
        print_hex(release, written);
    }
    if (document != NULL) {
        check(undertone_document_reset(document), "reset");
    }
    if (bag != NULL) {
        check(undertone_bag_reset(bag), "reset");
    }
    free(bag_memory);
    free(vocabulary_memory);
    free(document_memory);
    free(pack_memory);
    release_file(bytes, len);
}

int main(int argc, char **argv)
{
    const char *epsilon_text = "10";
    if (argc > 2 && strcmp(argv[1], "--epsilon") == 0) {
        epsilon_text = argv[2];
        argc -= 2;
        argv += 2;
    }
    if (argc != 2 && (argc == 1 || argc % 3 != 1)) {
        fail("usage: consumer [--epsilon E] PACK [--embeddings | --vectors | --sentences FILE]");
    }
    if (undertone_abi_version() != UNDERTONE_ABI_VERSION) {
        fail("the header is not the library's");
    }
    uint32_t epsilon;
    check(undertone_epsilon_parse(epsilon_text, strlen(epsilon_text), &epsilon), "epsilon");
    if (argc == 2) {
        run(argv[1], "", NULL, epsilon);
    }
    for (int i = 1; i + 2 < argc; i += 3) {
        run(argv[i], argv[i + 1], argv[i + 2], epsilon);
    }
    return 0;
}
