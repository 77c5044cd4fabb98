/*
 * undertone-device: makes releases on request, as a device would. `undertone audit` reads them and
 * trusts nothing in the library. This is an app like any other: all private work is done by
 * libundertone, and secret bytes come from the operating system.
 *
 * **The input is public test data.** This program releases a document repeatedly, which no app may
 * do.
 *
 *     undertone-device PACK
 *     undertone-device FORM
 *
 * It writes one line when it is ready, then answers every line of standard input with one line of
 * standard output until the input ends. Fields are separated by single spaces. Numbers are decimal:
 * epsilon in micro-units; rules, methods and noises by the UNDERTONE_ numbers. Bytes are in
 * lower-case hexadecimal: a float is its 32 bits, most significant first; a vector is its floats
 * without separators; a text is its bytes; `-` is no bytes. An answer is `ok` and results, or
 * `error` and the reason; a refused request changes nothing.
 *
 *     (started)
 *         ok undertone-device 4 VERSION BACKEND ID, of the pack or the form
 *     embeddings I VECTOR
 *         ok                     keeps document I: one embedding after another, pushed together
 *     singly I VECTOR
 *         ok                     the same, pushed one by one
 *     texts I TEXT...
 *         ok                     keeps document I: one sentence each
 *     whole I TEXT
 *         ok                     keeps document I: a text, which the library splits
 *     release RULE EPSILON N I...
 *         ok BYTES...            N releases, of the documents in turn
 *     whole-text EPSILON N I...
 *         ok BYTES...            the same by the whole text
 *     projective EPSILON N I...
 *         ok BYTES...            the same by projective geometry response
 *     bag METHOD EPSILON COUNT N WORD...
 *         ok BYTES...            N bags of COUNT words
 *     vector NOISE EPSILON BOUND N VECTOR
 *         ok BYTES...            N vectors; BOUND is `pack` for the projection of the pack
 *
 *     answers EPSILON N NUMBER,NUMBER...
 *         ok BYTES...            N releases of answers, of the lists in turn; only with a form
 *
 * BYTES are a release as it would leave the device (core/FORMAT.md). This program does not read
 * them.
 *
 * N is at most 65536, I below 4096, a line at most 64 MiB.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "undertone.h"

#define PROTOCOL 4
/* In the place of a rule. */
#define WHOLE_TEXT (-1)
#define PROJECTIVE (-2)
#define MAX_RELEASES 65536
#define MAX_DOCUMENTS 4096
#define MAX_LINE ((size_t)64 << 20)
/* Of a form: core/FORMAT.md. */
#define FORM_MAGIC "UTFORM"
#define FORM_DIGEST_AT 32

/* What is kept of a document: embeddings, or texts one after another. Usually embeddings are pushed
 * together and texts one by one; `otherwise` it is the other way round. */
struct kept {
    int is_text;
    int otherwise;
    size_t sentences;
    float *rows;
    char *texts;
    size_t *ends;
};

static struct kept documents[MAX_DOCUMENTS];

/* Handles in memory of their own, made once. */
static undertone_pack *pack;
static undertone_pack_description described;
static undertone_document *document;
static undertone_bag *bag;
static undertone_form *form;
static void *form_memory, *pack_memory, *document_memory, *vocabulary_memory, *bag_memory;
static void *grant_memory, *vector_memory;
static uint8_t *file_bytes;
static int random_file = -1;

/* --- What is answered: collected, so that an error half-way leaves no half of an answer. */

static char *answer;
static size_t answer_len, answer_capacity;

static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("error ", stdout);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

/* 0, after an answer, if the library refused. */
static int check(int32_t status)
{
    if (status != UNDERTONE_STATUS_OK) {
        fail("%s (status %" PRId32 ")", undertone_status_message(status), status);
        return 0;
    }
    return 1;
}

static int reserve(size_t more)
{
    if (answer_capacity - answer_len < more) {
        const size_t capacity = 2 * answer_capacity + more;
        char *longer = realloc(answer, capacity);
        if (longer == NULL) {
            fail("no memory for the answer");
            return 0;
        }
        answer = longer;
        answer_capacity = capacity;
    }
    return 1;
}

/* Adds a field of bytes. */
static int add_bytes(const uint8_t *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    size_t i;
    if (!reserve(2 * len + 1)) return 0;
    answer[answer_len++] = ' ';
    for (i = 0; i < len; i++) {
        answer[answer_len++] = digits[bytes[i] >> 4];
        answer[answer_len++] = digits[bytes[i] & 15];
    }
    return 1;
}

static void send_answer(void)
{
    fputs("ok", stdout);
    if (answer_len != 0) fwrite(answer, 1, answer_len, stdout);
    putchar('\n');
}

/* --- What is asked */

/* The next field of the line, NULL after the last one. */
static char *next_field(char **rest)
{
    char *field = *rest;
    char *space;
    if (field == NULL) return NULL;
    space = strchr(field, ' ');
    if (space != NULL) *space++ = '\0';
    *rest = space;
    return field;
}

/* The next field as a number within bounds. 0, after an answer, if it is not one. */
static int next_number(char **rest, const char *what, long least, long most, long *number)
{
    const char *field = next_field(rest);
    char *end;
    if (field == NULL) {
        fail("the %s is missing", what);
        return 0;
    }
    errno = 0;
    *number = strtol(field, &end, 10);
    if (end == field || *end != '\0' || errno != 0 || *number < least || *number > most) {
        fail("the %s must be a number from %ld to %ld", what, least, most);
        return 0;
    }
    return 1;
}

static int digit(char character)
{
    if (character >= '0' && character <= '9') return character - '0';
    if (character >= 'a' && character <= 'f') return character - 'a' + 10;
    return -1;
}

/* Decodes a hexadecimal field in place and counts its bytes. If it is not one, answers and returns
 * 0. */
static int decode(char *field, size_t *len)
{
    const size_t digits = strlen(field);
    size_t i;
    *len = 0;
    if (strcmp(field, "-") == 0) return 1;
    if (digits == 0 || digits % 2 != 0) {
        fail("hexadecimal digits must come in pairs");
        return 0;
    }
    for (i = 0; i < digits; i += 2) {
        const int high = digit(field[i]), low = digit(field[i + 1]);
        if (high < 0 || low < 0) {
            fail("a character is no lower-case hexadecimal digit");
            return 0;
        }
        field[i / 2] = (char)(unsigned char)(16 * high + low);
    }
    *len = digits / 2;
    return 1;
}

/* The floats of the next field; the caller frees them. NULL, after an answer, if it has none. */
static float *next_vector(char **rest, size_t *count)
{
    char *field = next_field(rest);
    size_t len, i;
    float *floats;
    if (field == NULL) {
        fail("the vector is missing");
        return NULL;
    }
    if (!decode(field, &len)) return NULL;
    if (len % 4 != 0) {
        fail("a float has 8 digits");
        return NULL;
    }
    *count = len / 4;
    floats = malloc(len + sizeof *floats);
    if (floats == NULL) {
        fail("no memory for the vector");
        return NULL;
    }
    for (i = 0; i < *count; i++) {
        const unsigned char *bytes = (const unsigned char *)field + 4 * i;
        const uint32_t bits = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8
            | (uint32_t)bytes[3];
        memcpy(&floats[i], &bits, sizeof bits);
    }
    return floats;
}

static int at_end(const char *rest)
{
    if (rest != NULL) {
        fail("there is more on the line than the request takes");
        return 0;
    }
    return 1;
}

/* --- Documents */

static void forget(struct kept *kept)
{
    free(kept->rows);
    free(kept->texts);
    free(kept->ends);
    memset(kept, 0, sizeof *kept);
}

static void keep_embeddings_as(char *rest, int otherwise)
{
    const size_t dimension = described.dimension;
    struct kept kept = {0};
    long index;
    size_t count;
    if (!next_number(&rest, "number of the document", 0, MAX_DOCUMENTS - 1, &index)) return;
    kept.rows = next_vector(&rest, &count);
    if (kept.rows == NULL) return;
    if (!at_end(rest)) {
        forget(&kept);
        return;
    }
    if (count % dimension != 0) {
        fail("%zu floats are not embeddings of %zu", count, dimension);
        forget(&kept);
        return;
    }
    kept.sentences = count / dimension;
    kept.otherwise = otherwise;
    if (kept.sentences > UNDERTONE_MAX_SENTENCES) {
        fail("%zu sentences, but a document has at most %d", kept.sentences, UNDERTONE_MAX_SENTENCES);
        forget(&kept);
        return;
    }
    forget(&documents[index]);
    documents[index] = kept;
    send_answer();
}

static void keep_embeddings(char *rest)
{
    keep_embeddings_as(rest, 0);
}

static void keep_singly(char *rest)
{
    keep_embeddings_as(rest, 1);
}

static void keep_texts_as(char *rest, int otherwise)
{
    const size_t most = otherwise ? 1 : UNDERTONE_MAX_SENTENCES;
    struct kept kept = {0};
    long index;
    char *field;
    size_t len, end = 0;
    if (!next_number(&rest, "number of the document", 0, MAX_DOCUMENTS - 1, &index)) return;
    kept.is_text = 1;
    kept.otherwise = otherwise;
    kept.texts = malloc(rest == NULL ? 1 : strlen(rest) + 1);
    kept.ends = malloc(UNDERTONE_MAX_SENTENCES * sizeof *kept.ends);
    if (kept.texts == NULL || kept.ends == NULL) {
        fail("no memory for the document");
        forget(&kept);
        return;
    }
    while ((field = next_field(&rest)) != NULL) {
        if (kept.sentences == most) {
            fail("at most %zu texts", most);
            forget(&kept);
            return;
        }
        if (!decode(field, &len)) {
            forget(&kept);
            return;
        }
        memcpy(kept.texts + end, field, len);
        end += len;
        kept.ends[kept.sentences++] = end;
    }
    forget(&documents[index]);
    documents[index] = kept;
    send_answer();
}

static void keep_texts(char *rest)
{
    keep_texts_as(rest, 0);
}

static void keep_whole(char *rest)
{
    keep_texts_as(rest, 1);
}

static int32_t push(const struct kept *kept)
{
    const size_t dimension = described.dimension;
    int32_t status = UNDERTONE_STATUS_OK;
    size_t i, start = 0, pushed;
    if (!kept->is_text && !kept->otherwise)
        return undertone_document_push_all(document, kept->rows, kept->sentences * dimension, &pushed);
    for (i = 0; i < kept->sentences && status == UNDERTONE_STATUS_OK; i++) {
        if (!kept->is_text) {
            status = undertone_document_push(document, kept->rows + i * dimension, dimension);
            continue;
        }
        status = kept->otherwise
            ? undertone_document_push_text(document, kept->texts, kept->ends[i], &pushed)
            : undertone_document_push_sentence(document, kept->texts + start, kept->ends[i] - start);
        start = kept->ends[i];
    }
    return status;
}

/* --- Releases */

/* Secret bytes from the operating system. */
static int32_t entropy(void *context, uint8_t *out, size_t len)
{
    (void)context;
    while (len > 0) {
        const ssize_t got = read(random_file, out, len);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return -1;
        out += got;
        len -= (size_t)got;
    }
    return 0;
}

static int32_t grant_of(int32_t unit, long epsilon, undertone_grant **grant)
{
    return undertone_grant_init_unrecorded(grant_memory, UNDERTONE_GRANT_HANDLE_SIZE, unit, (uint32_t)epsilon,
                                           grant);
}

/* Pushes and releases a document. If it is refused, answers and returns 0. */
static int release_one(const struct kept *kept, long rule, long epsilon, uint8_t bytes[UNDERTONE_RELEASE_BYTES],
                       size_t *len)
{
    const size_t capacity = UNDERTONE_RELEASE_BYTES;
    const int32_t unit =
        rule == WHOLE_TEXT || rule == PROJECTIVE ? UNDERTONE_UNIT_WHOLE_TEXT : UNDERTONE_UNIT_SENTENCE;
    undertone_grant *grant;
    int32_t status;
    if (!check(grant_of(unit, epsilon, &grant))) return 0;
    status = push(kept);
    if (status == UNDERTONE_STATUS_OK && rule == WHOLE_TEXT)
        status = undertone_document_release_whole_text(document, grant, entropy, NULL, bytes, capacity, len);
    else if (status == UNDERTONE_STATUS_OK && rule == PROJECTIVE)
        status = undertone_document_release_projective(document, grant, entropy, NULL, bytes, capacity, len);
    else if (status == UNDERTONE_STATUS_OK)
        status = undertone_document_release(document, grant, (int32_t)rule, entropy, NULL, bytes, capacity, len);
    if (status != UNDERTONE_STATUS_OK) {
        const int32_t reset = undertone_document_reset(document);
        return check(status) && check(reset);
    }
    return 1;
}

static int next_epsilon(char **rest, long *epsilon)
{
    return next_number(rest, "epsilon in micro-units", 1, UNDERTONE_MAX_EPSILON_MICRO, epsilon);
}

/* A number, such as a rule, and epsilon. */
static int next_parameters(char **rest, const char *what, long *number, long *epsilon)
{
    return next_number(rest, what, 0, 255, number) && next_epsilon(rest, epsilon);
}

static int next_count(char **rest, long *count)
{
    return next_number(rest, "number of releases", 1, MAX_RELEASES, count);
}

static int have_document(void)
{
    if (document == NULL) {
        fail("the pack has no candidates that this library can select from");
        return 0;
    }
    return 1;
}

static void release_by(long rule, long epsilon, char *rest)
{
    long count, index, i;
    long *turns;
    size_t n_turns = 0;
    if (!next_count(&rest, &count)) return;
    turns = malloc(MAX_DOCUMENTS * sizeof *turns);
    if (turns == NULL) {
        fail("no memory for the documents");
        return;
    }
    do {
        if (!next_number(&rest, "number of the document", 0, MAX_DOCUMENTS - 1, &index)) goto done;
        if (n_turns == MAX_DOCUMENTS) {
            fail("at most %d documents by turns", MAX_DOCUMENTS);
            goto done;
        }
        turns[n_turns++] = index;
    } while (rest != NULL);
    for (i = 0; i < count; i++) {
        const struct kept *kept = &documents[turns[(size_t)i % n_turns]];
        uint8_t bytes[UNDERTONE_RELEASE_BYTES];
        size_t len;
        if (!release_one(kept, rule, epsilon, bytes, &len) || !add_bytes(bytes, len)) goto done;
    }
    send_answer();
done:
    free(turns);
}

static void release(char *rest)
{
    long rule, epsilon;
    if (have_document() && next_parameters(&rest, "rule", &rule, &epsilon)) release_by(rule, epsilon, rest);
}

static void release_whole_text(char *rest)
{
    long epsilon;
    if (have_document() && next_epsilon(&rest, &epsilon)) release_by(WHOLE_TEXT, epsilon, rest);
}

static void release_projective(char *rest)
{
    long epsilon;
    if (have_document() && next_epsilon(&rest, &epsilon)) release_by(PROJECTIVE, epsilon, rest);
}

/* The numbers of the next field, separated by commas, at `numbers`, which has room for them. */
static int next_answers(char **rest, uint32_t *numbers, size_t *count)
{
    char *field = next_field(rest);
    *count = 0;
    while (field != NULL) {
        char *comma = strchr(field, ',');
        long long number;
        char *end;
        if (comma != NULL) *comma++ = '\0';
        errno = 0;
        number = strtoll(field, &end, 10);
        if (end == field || *end != '\0' || errno != 0 || number < 0 || number > UINT32_MAX) {
            fail("an answer must be a number from 0 to %" PRIu32, UINT32_MAX);
            return 0;
        }
        numbers[(*count)++] = (uint32_t)number;
        field = comma;
    }
    return 1;
}

static void answers(char *rest)
{
    long epsilon, count, i;
    uint32_t *numbers = NULL;
    size_t *ends = NULL;
    size_t lists = 0, end = 0, capacity;
    if (form == NULL) {
        fail("the file is a pack, not a form");
        return;
    }
    if (!next_epsilon(&rest, &epsilon) || !next_count(&rest, &count)) return;
    if (rest == NULL) {
        fail("the answers are missing");
        return;
    }
    /* Every number, and every list, has a character of its own. */
    capacity = strlen(rest) + 1;
    numbers = malloc(capacity * sizeof *numbers);
    ends = malloc(capacity * sizeof *ends);
    if (numbers == NULL || ends == NULL) {
        fail("no memory for the answers");
        goto done;
    }
    while (rest != NULL) {
        size_t more;
        if (!next_answers(&rest, numbers + end, &more)) goto done;
        end += more;
        ends[lists++] = end;
    }
    for (i = 0; i < count; i++) {
        const size_t list = (size_t)i % lists;
        const size_t from = list == 0 ? 0 : ends[list - 1];
        uint8_t bytes[UNDERTONE_RELEASE_BYTES];
        undertone_grant *grant;
        size_t len;
        if (!check(grant_of(UNDERTONE_UNIT_WHOLE_TEXT, epsilon, &grant))
            || !check(undertone_form_release(form, numbers + from, ends[list] - from, grant, entropy, NULL, bytes,
                                             sizeof bytes, &len))
            || !add_bytes(bytes, len))
            goto done;
    }
    send_answer();
done:
    free(numbers);
    free(ends);
}

static void bags(char *rest)
{
    static uint8_t bytes[UNDERTONE_MAX_BAG_RELEASE_BYTES];
    long method, epsilon, n_words, count, i;
    char **fields = NULL;
    size_t *lens = NULL;
    size_t n = 0, capacity, j, len;
    char *field;
    if (bag == NULL) {
        fail("the pack has no lexicon, so no vocabulary");
        return;
    }
    if (!next_parameters(&rest, "method", &method, &epsilon)
        || !next_number(&rest, "number of words", 1, UNDERTONE_MAX_RELEASED_WORDS, &n_words) || !next_count(&rest, &count))
        return;
    capacity = rest == NULL ? 1 : strlen(rest) / 2 + 1;
    fields = malloc(capacity * sizeof *fields);
    lens = malloc(capacity * sizeof *lens);
    if (fields == NULL || lens == NULL) {
        fail("no memory for the words");
        goto done;
    }
    while ((field = next_field(&rest)) != NULL) {
        if (n == capacity) {
            fail("a field is empty");
            goto done;
        }
        if (!decode(field, &lens[n])) goto done;
        fields[n++] = field;
    }
    for (i = 0; i < count; i++) {
        undertone_grant *grant;
        int32_t status;
        if (!check(grant_of(UNDERTONE_UNIT_WORD, epsilon, &grant))) goto done;
        for (j = 0; j < n; j++) {
            if (!check(undertone_bag_push(bag, fields[j], lens[j]))) goto done;
        }
        status = undertone_bag_release(bag, grant, (uint32_t)n_words, (int32_t)method, entropy, NULL, bytes,
                                       sizeof bytes, &len);
        if (status != UNDERTONE_STATUS_OK) {
            const int32_t reset = undertone_bag_reset(bag);
            if (check(status)) check(reset);
            goto done;
        }
        if (!add_bytes(bytes, len)) goto done;
    }
    send_answer();
done:
    free(fields);
    free(lens);
}

static void vectors(char *rest)
{
    static uint8_t bytes[UNDERTONE_MAX_VECTOR_RELEASE_BYTES];
    long noise, epsilon, bound = 0, count, i;
    int projected;
    undertone_vector_mechanism *vector;
    size_t floats, len;
    float *embedding;
    if (!next_parameters(&rest, "noise", &noise, &epsilon)) return;
    projected = rest != NULL && strncmp(rest, "pack ", 5) == 0;
    if (projected) {
        next_field(&rest);
    } else if (!next_number(&rest, "bound on the coordinates", -1000, 1000, &bound)) {
        return;
    }
    if (!next_count(&rest, &count)) return;
    embedding = next_vector(&rest, &floats);
    if (embedding == NULL) return;
    if (!at_end(rest)) goto done;
    if (!check(projected
               ? undertone_vector_mechanism_init_projected(vector_memory, UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE,
                                                           pack, (int32_t)noise, (uint32_t)epsilon, &vector)
                   : undertone_vector_mechanism_init(vector_memory, UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE,
                                                     (uint32_t)floats, (int32_t)bound, (int32_t)noise,
                                                     (uint32_t)epsilon, &vector)))
        goto done;
    for (i = 0; i < count; i++) {
        undertone_grant *grant;
        if (!check(grant_of(UNDERTONE_UNIT_VECTOR, epsilon, &grant)) ||
            !check(undertone_vector_mechanism_release(vector, grant, embedding, floats, entropy, NULL, bytes,
                                                      sizeof bytes, &len)) ||
            !add_bytes(bytes, len))
            goto done;
    }
    send_answer();
done:
    free(embedding);
}

/* --- Lines */

static void respond(char *line)
{
    static const struct {
        const char *name;
        void (*respond)(char *rest);
    } requests[] = {
        {"embeddings", keep_embeddings}, {"singly", keep_singly}, {"texts", keep_texts}, {"whole", keep_whole},
        {"release", release}, {"whole-text", release_whole_text}, {"projective", release_projective},
        {"bag", bags}, {"vector", vectors}, {"answers", answers},
    };
    char *rest = line;
    const char *name = next_field(&rest);
    size_t i;
    answer_len = 0;
    if (pack == NULL && strcmp(name, "answers") != 0) {
        fail("the file is a form, which only answers");
        return;
    }
    for (i = 0; i < sizeof requests / sizeof *requests; i++) {
        if (strcmp(name, requests[i].name) == 0) {
            requests[i].respond(rest);
            return;
        }
    }
    fail("the request is none of embeddings, singly, texts, whole, release, whole-text, projective, bag, vector, "
         "answers");
}

/* Answers the lines of standard input. */
static void serve(void)
{
    char *line = NULL;
    size_t len = 0, capacity = 0;
    int too_long = 0;
    int c;
    while ((c = getchar()) != EOF) {
        if (c != '\n' && len + 1 >= capacity && !too_long) {
            const size_t larger = 2 * capacity + 4096;
            char *longer = larger > 2 * MAX_LINE ? NULL : realloc(line, larger);
            if (longer == NULL) {
                too_long = 1;
            } else {
                line = longer;
                capacity = larger;
            }
        }
        if (c != '\n') {
            if (!too_long) line[len++] = (char)c;
            if (len > MAX_LINE) too_long = 1;
            continue;
        }
        if (too_long) {
            fail("a line of more than %zu bytes", MAX_LINE);
        } else if (len == 0) {
            fail("an empty line");
        } else if (memchr(line, '\0', len) != NULL) {
            fail("a zero byte in the line");
        } else {
            line[len] = '\0';
            respond(line);
        }
        fflush(stdout);
        len = 0;
        too_long = 0;
    }
    free(line);
}

static int read_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    size_t capacity = 0, got = 1;
    *len = 0;
    if (file == NULL) {
        fail("cannot open %s: %s", path, strerror(errno));
        return 0;
    }
    while (got > 0) {
        if (*len == capacity) {
            uint8_t *longer = realloc(file_bytes, 2 * capacity + 65536);
            if (longer == NULL) {
                fail("no memory for %s", path);
                fclose(file);
                return 0;
            }
            file_bytes = longer;
            capacity = 2 * capacity + 65536;
        }
        got = fread(file_bytes + *len, 1, capacity - *len, file);
        *len += got;
    }
    if (ferror(file)) {
        fail("cannot read %s: %s", path, strerror(errno));
        fclose(file);
        return 0;
    }
    fclose(file);
    return 1;
}

/* Makes the handles that the pack allows. 0, after an answer, if it allows none. */
static int start_pack(size_t len, uint8_t id[UNDERTONE_PACK_ID_BYTES])
{
    if (!check(undertone_pack_init(pack_memory, UNDERTONE_PACK_HANDLE_SIZE, file_bytes, len, &pack))
        || !check(undertone_pack_describe(pack, &described)))
        return 0;
    memcpy(id, described.id, UNDERTONE_PACK_ID_BYTES);
    /* A pack may have no candidates, too many, or no words. Such requests are then refused. */
    if (undertone_document_init(document_memory, UNDERTONE_DOCUMENT_HANDLE_SIZE, pack, &document) !=
        UNDERTONE_STATUS_OK)
        document = NULL;
    if (described.word_count > 0) {
        undertone_vocabulary *vocabulary;
        if (!check(undertone_vocabulary_init(vocabulary_memory, UNDERTONE_VOCABULARY_HANDLE_SIZE, pack, &vocabulary))
            || !check(undertone_bag_init(bag_memory, UNDERTONE_BAG_HANDLE_SIZE, vocabulary, &bag)))
            return 0;
    }
    return 1;
}

static int start_form(size_t len, uint8_t id[UNDERTONE_PACK_ID_BYTES])
{
    if (!check(undertone_form_init(form_memory, UNDERTONE_FORM_HANDLE_SIZE, file_bytes, len, &form))) return 0;
    memcpy(id, file_bytes + FORM_DIGEST_AT, UNDERTONE_PACK_ID_BYTES);
    return 1;
}

/* Reads the file. 0, after an answer, if nothing can be released with it. */
static int start(const char *path)
{
    const size_t magic = strlen(FORM_MAGIC);
    uint8_t id[UNDERTONE_PACK_ID_BYTES];
    size_t len, i;
    if (undertone_abi_version() != UNDERTONE_ABI_VERSION) {
        fail("compiled for version %d of the interface, linked with version %" PRIu32, UNDERTONE_ABI_VERSION,
             undertone_abi_version());
        return 0;
    }
    random_file = open("/dev/urandom", O_RDONLY);
    if (random_file < 0) {
        fail("cannot open /dev/urandom: %s", strerror(errno));
        return 0;
    }
    form_memory = malloc(UNDERTONE_FORM_HANDLE_SIZE);
    pack_memory = malloc(UNDERTONE_PACK_HANDLE_SIZE);
    document_memory = malloc(UNDERTONE_DOCUMENT_HANDLE_SIZE);
    vocabulary_memory = malloc(UNDERTONE_VOCABULARY_HANDLE_SIZE);
    bag_memory = malloc(UNDERTONE_BAG_HANDLE_SIZE);
    grant_memory = malloc(UNDERTONE_GRANT_HANDLE_SIZE);
    vector_memory = malloc(UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE);
    if (!form_memory || !pack_memory || !document_memory || !vocabulary_memory || !bag_memory || !grant_memory
        || !vector_memory) {
        fail("no memory");
        return 0;
    }
    if (!read_file(path, &len)) return 0;
    if (!(len >= magic && memcmp(file_bytes, FORM_MAGIC, magic) == 0 ? start_form(len, id) : start_pack(len, id)))
        return 0;
    printf("ok undertone-device %d %s %s ", PROTOCOL, undertone_version(), undertone_backend());
    for (i = 0; i < sizeof id; i++) printf("%02x", id[i]);
    putchar('\n');
    fflush(stdout);
    return 1;
}

int main(int argc, char **argv)
{
    int started;
    size_t i;
    if (argc != 2) {
        fputs("usage: undertone-device PACK_OR_FORM\n", stderr);
        return 2;
    }
    started = start(argv[1]);
    if (started) serve();
    for (i = 0; i < MAX_DOCUMENTS; i++) forget(&documents[i]);
    free(answer);
    free(file_bytes);
    free(form_memory);
    free(pack_memory);
    free(document_memory);
    free(vocabulary_memory);
    free(bag_memory);
    free(grant_memory);
    free(vector_memory);
    if (random_file >= 0) close(random_file);
    return started ? 0 : 1;
}
