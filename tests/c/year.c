/*
 * Devices that release one line a year, and wrong calls of a reservoir and an appointment.
 *
 *     year PACK OTHER                            two packs that take text and have scores
 *     year PACK OTHER DEVICES LEAST LINE [LINE]...
 *
 * A device is off in some weeks, and is killed at random, even while it writes. It must release once
 * a year, in its week or in the first week after it in which it runs. Only if it is killed while it
 * writes its ledger may a release be missing. Prints the number of releases.
 *
 * With DEVICES, prints "WEEK RELEASE" in hexadecimal for each release. In its week a device types
 * LEAST lines and up to 11 more. Half of them are any of the given lines; the others are the first
 * line in the first weeks of a year, and the last line in the last weeks. One line in four is lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "undertone.h"

enum { WEEKS = 52, DEVICES = 40, YEARS = 3, PLACES = 5, EPSILON = 3000000 };

/* The lines that devices type, and the least number in a week. */
static const char *const some_lines[] = {"the dentist moved", "a goal", "", "It snows. It rains."};
static const char *const *lines = some_lines;
static uint32_t line_count = 4;
static uint32_t least_lines;
static int prints_releases;

static int failures;

static void expect(int32_t expected, int32_t found, const char *call, int line)
{
    if (expected != found) {
        fprintf(stderr, "year.c:%d: %s\n    expected %ld, found %ld (%s)\n", line, call, (long)expected, (long)found,
                undertone_status_message(found));
        failures++;
    }
}

static void hold(int condition, const char *text, int line)
{
    if (!condition) {
        fprintf(stderr, "year.c:%d: not so: %s\n", line, text);
        failures++;
    }
}

#define EXPECT(status, call) expect(UNDERTONE_STATUS_##status, (call), #call, __LINE__)
#define HOLD(condition) hold((condition) != 0, #condition, __LINE__)

/* --- Numbers that are not random --- */

static uint64_t state = 1;

static uint32_t number_below(uint32_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % limit;
}

static int32_t prescribed(void *context, uint8_t *out, size_t len)
{
    (void)context;
    for (size_t i = 0; i < len; i++) {
        out[i] = (uint8_t)number_below(256);
    }
    return 0;
}

static int32_t failing(void *context, uint8_t *out, size_t len)
{
    (void)context;
    (void)out;
    (void)len;
    return -1;
}

/* --- The file of a ledger --- */

static uint8_t image[UNDERTONE_LEDGER_IMAGE_BYTES];
/* Whether the device may be killed while it writes. */
static int is_killed_writing;

static int32_t read_image(void *context, uint8_t *out, size_t capacity, size_t *out_read)
{
    (void)context;
    *out_read = capacity < sizeof image ? capacity : sizeof image;
    memcpy(out, image, *out_read);
    return 0;
}

static int32_t write_image(void *context, size_t offset, const uint8_t *bytes, size_t len)
{
    (void)context;
    const int is_killed = is_killed_writing && number_below(4) == 0;
    const size_t written = is_killed ? number_below((uint32_t)len + 1) : len;
    memcpy(image + offset, bytes, written);
    return is_killed ? -1 : 0;
}

static int32_t lock(void *context)
{
    (void)context;
    return 0;
}

static void unlock(void *context)
{
    (void)context;
}

static const undertone_ledger_storage storage = {
    .lock = lock, .unlock = unlock, .read = read_image, .write = write_image};

/* --- A device --- */

static void *allocate(size_t len)
{
    void *memory = malloc(len);
    if (memory == NULL) {
        exit(1);
    }
    return memory;
}

static uint8_t pack_bytes[2][1 << 20];
static undertone_pack *packs[2];
static undertone_document *document;
static undertone_document *other_document;
static void *grant_memory;

static undertone_document *document_of(const undertone_pack *pack)
{
    undertone_document *made = NULL;
    const size_t size = UNDERTONE_DOCUMENT_HANDLE_SIZE;
    EXPECT(OK, undertone_document_init(allocate(size), size, pack, &made));
    return made;
}

static undertone_grant *grant_of(int32_t unit)
{
    undertone_grant *grant = NULL;
    EXPECT(OK, undertone_grant_init_unrecorded(grant_memory, UNDERTONE_GRANT_HANDLE_SIZE, unit, EPSILON, &grant));
    return grant;
}

static void push_line(uint8_t *reservoir, uint64_t week)
{
    const uint32_t season = (uint32_t)(week % WEEKS) * line_count / WEEKS;
    const char *line = lines[number_below(2) ? season : number_below(line_count)];
    EXPECT(OK, undertone_document_push_text(document, line, strlen(line), NULL));
    EXPECT(OK, undertone_reservoir_push(reservoir, document, prescribed, NULL));
    HOLD(undertone_document_sentence_count(document) == 0);
}

/* Pays in the window of the slot and releases. Returns 0 if the device was killed before. */
static unsigned release_slot(uint8_t *reservoir, uint64_t slot)
{
    static const uint8_t wiped[UNDERTONE_RESERVOIR_BYTES];
    undertone_grant *grant = NULL;
    uint8_t out[UNDERTONE_RELEASE_BYTES];
    size_t written = 0;
    const int32_t paid =
        undertone_ledger_spend(&storage, UNDERTONE_UNIT_WHOLE_TEXT, EPSILON, 1, slot / WEEKS, prescribed, NULL,
                               grant_memory, UNDERTONE_GRANT_HANDLE_SIZE, &grant, NULL);
    if (is_killed_writing && paid != UNDERTONE_STATUS_OK) {
        return 0;
    }
    EXPECT(OK, paid);
    EXPECT(OK, undertone_reservoir_release_whole_text(reservoir, document, grant, prescribed, NULL, out,
                                                      sizeof out, &written));
    HOLD(written == sizeof out);
    HOLD(memcmp(reservoir, wiped, sizeof wiped) == 0);
    uint32_t candidate = 0, epsilon = 0;
    int32_t unit = 0;
    EXPECT(OK, undertone_release_read(out, written, &candidate, &epsilon, NULL, &unit, NULL, NULL));
    HOLD(epsilon == EPSILON && unit == UNDERTONE_UNIT_WHOLE_TEXT);
    undertone_pack_description described;
    EXPECT(OK, undertone_pack_describe(packs[0], &described));
    HOLD(candidate <= described.nothing_known);
    if (prints_releases) {
        printf("%lu ", (unsigned long)slot);
        for (size_t i = 0; i < written; i++) {
            printf("%02x", out[i]);
        }
        puts("");
    }
    return 1;
}

static unsigned run_device(void)
{
    uint8_t reservoir[UNDERTONE_RESERVOIR_BYTES];
    int begun = 0;
    uint64_t begun_in = 0;
    unsigned releases = 0, appointed[YEARS] = {0}, of_year[YEARS] = {0};
    size_t written = 0;
    EXPECT(OK, undertone_ledger_create_image(UNDERTONE_UNIT_WHOLE_TEXT, EPSILON, prescribed, NULL, image, sizeof image,
                                             &written));
    for (unsigned year = 0; year < YEARS; year++) {
        uint16_t slot = WEEKS;
        EXPECT(OK, undertone_ledger_appointment(image, sizeof image, year, WEEKS, 1, &slot, 1, &written));
        HOLD(written == 1 && slot < WEEKS);
        appointed[year] = slot;
    }
    /* One week more ends the last slot. */
    for (uint64_t week = 0; week <= YEARS * WEEKS; week++) {
        const uint64_t year = week / WEEKS;
        const int last = week % WEEKS == WEEKS - 1 || week == YEARS * WEEKS;
        if (!last && number_below(3) == 0) {
            continue;
        }
        if (begun) {
            uint64_t stored = 0;
            uint32_t places = 0;
            EXPECT(OK, undertone_reservoir_read(reservoir, sizeof reservoir, document, &stored, &places));
            HOLD(stored == begun_in && places == PLACES && stored < week);
            const unsigned is_released = release_slot(reservoir, stored);
            releases += is_released;
            of_year[stored / WEEKS] += is_released;
            begun = 0;
        }
        int32_t is_due = 2;
        const uint32_t slot = (uint32_t)(week % WEEKS);
        EXPECT(OK, undertone_ledger_is_due(image, sizeof image, year, NULL, WEEKS, 1, slot, EPSILON, &is_due));
        if (year < YEARS && !is_killed_writing) {
            HOLD(is_due == (of_year[year] == 0 && slot >= appointed[year]));
        }
        if (is_due == 0 || year == YEARS) {
            continue;
        }
#ifdef LATE_BY_TEXT
        /* A planted mistake: the text decides when a late release is made. */
        if (!last && week % 2 == 1 && lines[0][0] == 'd') {
            continue;
        }
#endif
        EXPECT(OK, undertone_reservoir_init(document, week, PLACES, prescribed, NULL, reservoir));
        begun = 1;
        begun_in = week;
        for (uint32_t left = least_lines + number_below(12); left > 0; left--) {
            uint8_t stored[UNDERTONE_RESERVOIR_BYTES];
            memcpy(stored, reservoir, sizeof stored);
            push_line(reservoir, week);
            if (number_below(4) == 0) {
                /* Killed before it stores the reservoir: only the older bytes are left. */
                memcpy(reservoir, stored, sizeof stored);
                EXPECT(OK, undertone_document_reset(document));
            }
        }
    }
    for (unsigned year = 0; year < YEARS; year++) {
        HOLD(of_year[year] == 1 || (is_killed_writing && of_year[year] == 0));
    }
    return releases;
}

/* --- Wrong calls --- */

static void wrong_schedules_are_refused(void)
{
    uint8_t reservoir[UNDERTONE_RESERVOIR_BYTES];
    uint16_t slots[4];
    size_t written = 99;
    int32_t is_due = 9;
    const uint32_t wrong[] = {0, 65536, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        EXPECT(SCHEDULE_OUT_OF_RANGE, undertone_reservoir_init(document, 1, wrong[i], prescribed, NULL, reservoir));
        EXPECT(SCHEDULE_OUT_OF_RANGE,
               undertone_ledger_appointment(image, sizeof image, 1, wrong[i], 1, slots, 4, &written));
        EXPECT(SCHEDULE_OUT_OF_RANGE,
               undertone_ledger_appointment(image, sizeof image, 1, 52, wrong[i], slots, 4, &written));
        EXPECT(SCHEDULE_OUT_OF_RANGE,
               undertone_ledger_is_due(image, sizeof image, 1, NULL, wrong[i], 1, 0, EPSILON, &is_due));
        EXPECT(SCHEDULE_OUT_OF_RANGE,
               undertone_ledger_is_due(image, sizeof image, 1, NULL, 52, wrong[i], 0, EPSILON, &is_due));
    }
    const uint32_t beyond[] = {52, 65536, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        EXPECT(SCHEDULE_OUT_OF_RANGE,
               undertone_ledger_is_due(image, sizeof image, 1, NULL, 52, 1, beyond[i], EPSILON, &is_due));
    }
    EXPECT(EPSILON_TOO_SMALL, undertone_ledger_is_due(image, sizeof image, 9, NULL, 52, 1, 0, 0, &is_due));
    EXPECT(LEDGER_WRONG_LENGTH, undertone_ledger_is_due(image, 127, 9, NULL, 52, 1, 0, EPSILON, &is_due));
    EXPECT(LEDGER_FROM_FUTURE, undertone_ledger_is_due(image, sizeof image, 0, NULL, 52, 1, 0, EPSILON, &is_due));
    EXPECT(NULL_POINTER, undertone_ledger_is_due(image, sizeof image, 9, NULL, 52, 1, 0, EPSILON, NULL));
    HOLD(is_due == 9 && written == 99);
    /* A budget that is too small for the epsilon. */
    EXPECT(OK, undertone_ledger_is_due(image, sizeof image, 9, NULL, 52, 52, 51, EPSILON + 1, &is_due));
    HOLD(is_due == 0);
    EXPECT(BUFFER_TOO_SMALL, undertone_ledger_appointment(image, sizeof image, 1, 52, 5, slots, 4, &written));
    HOLD(written == 5);
    EXPECT(OK, undertone_ledger_appointment(image, sizeof image, 1, 3, 5, slots, 4, &written));
    HOLD(written == 3 && slots[0] == 0 && slots[1] == 1 && slots[2] == 2);
}

static void wrong_reservoirs_are_refused(void)
{
    uint8_t reservoir[UNDERTONE_RESERVOIR_BYTES], before[UNDERTONE_RESERVOIR_BYTES], out[UNDERTONE_RELEASE_BYTES];
    size_t written = 99;
    EXPECT(NULL_POINTER, undertone_reservoir_init(document, 1, 5, prescribed, NULL, NULL));
    EXPECT(NULL_POINTER, undertone_reservoir_init(document, 1, 5, NULL, NULL, reservoir));
    EXPECT(ENTROPY_FAILED, undertone_reservoir_init(document, 1, 5, failing, NULL, reservoir));
    EXPECT(OK, undertone_reservoir_init(document, 1, 5, prescribed, NULL, reservoir));
    memcpy(before, reservoir, sizeof before);

    EXPECT(OK, undertone_document_push_text(document, "one goal", 8, NULL));
    EXPECT(ENTROPY_FAILED, undertone_reservoir_push(reservoir, document, failing, NULL));
    EXPECT(RESERVOIR_OTHER_PACK, undertone_reservoir_push(reservoir, other_document, prescribed, NULL));
    EXPECT(RESERVOIR_OTHER_PACK, undertone_reservoir_read(reservoir, sizeof reservoir, other_document, NULL, NULL));
    HOLD(undertone_document_sentence_count(document) == 1);

    undertone_grant *grant = grant_of(UNDERTONE_UNIT_WHOLE_TEXT);
#define RELEASE(function, bytes, result, capacity)                                                                     \
    function(bytes, document, grant, prescribed, NULL, result, capacity, &written)
    EXPECT(GRANT_WRONG_UNIT, RELEASE(undertone_reservoir_release_drawn, reservoir, out, sizeof out));
    EXPECT(OVERLAP, RELEASE(undertone_reservoir_release_whole_text, reservoir, reservoir, sizeof out));
    HOLD(written == 99);
    EXPECT(BUFFER_TOO_SMALL, RELEASE(undertone_reservoir_release_whole_text, reservoir, out, sizeof out - 1));
    HOLD(written == sizeof out);
    for (size_t i = 0; i < sizeof reservoir; i++) {
        reservoir[i] ^= 1;
        EXPECT(RESERVOIR_DAMAGED, undertone_reservoir_push(reservoir, document, prescribed, NULL));
        EXPECT(RESERVOIR_DAMAGED, undertone_reservoir_read(reservoir, sizeof reservoir, document, NULL, NULL));
        EXPECT(RESERVOIR_DAMAGED, RELEASE(undertone_reservoir_release_whole_text, reservoir, out, sizeof out));
        reservoir[i] ^= 1;
    }
    EXPECT(RESERVOIR_DAMAGED, undertone_reservoir_read(reservoir, sizeof reservoir - 1, document, NULL, NULL));
    HOLD(memcmp(before, reservoir, sizeof before) == 0);
    HOLD(undertone_document_sentence_count(document) == 1);

    /* None of these spent the grant. */
    EXPECT(OK, RELEASE(undertone_reservoir_release_whole_text, reservoir, out, sizeof out));
    EXPECT(RESERVOIR_DAMAGED, RELEASE(undertone_reservoir_release_whole_text, reservoir, out, sizeof out));
    EXPECT(GRANT_SPENT, RELEASE(undertone_reservoir_release_whole_text, before, out, sizeof out));
    EXPECT(OK, undertone_document_reset(document));
}

/* One sentence of a text: the release states the number of places. */
static void drawn_sentences_state_their_places(void)
{
    static const char text[] = "The match was long. It snowed. The rent is due.";
    uint8_t reservoir[UNDERTONE_RESERVOIR_BYTES], out[UNDERTONE_RELEASE_BYTES];
    size_t start = 0, written = 0;
    EXPECT(OK, undertone_reservoir_init(document, 0, PLACES, prescribed, NULL, reservoir));
    for (;;) {
        size_t offset = 0, len = 0;
        EXPECT(OK, undertone_sentence_next(text, sizeof text - 1, start, &offset, &len));
        if (len == 0) {
            break;
        }
        EXPECT(OK, undertone_document_push_sentence(document, text + offset, len));
        EXPECT(OK, undertone_reservoir_push(reservoir, document, prescribed, NULL));
        start = offset + len;
    }
    undertone_grant *grant = grant_of(UNDERTONE_UNIT_SENTENCE);
    EXPECT(OK, RELEASE(undertone_reservoir_release_drawn, reservoir, out, sizeof out));
    uint32_t order = 0;
    int32_t unit = 0;
    EXPECT(OK, undertone_release_read(out, written, NULL, NULL, NULL, &unit, &order, NULL));
    HOLD(unit == UNDERTONE_UNIT_SENTENCE && order == PLACES);
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc < 6) {
        fputs("usage: year PACK OTHER [DEVICES LEAST LINE...]\n", stderr);
        return 2;
    }
    unsigned devices = DEVICES;
    if (argc > 3) {
        devices = (unsigned)strtoul(argv[3], NULL, 10);
        least_lines = (uint32_t)strtoul(argv[4], NULL, 10);
        lines = (const char *const *)argv + 5;
        line_count = (uint32_t)argc - 5;
        prints_releases = 1;
    }
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(argv[1 + i], "rb");
        if (file == NULL) {
            perror(argv[1 + i]);
            return 1;
        }
        const size_t len = fread(pack_bytes[i], 1, sizeof pack_bytes[i], file);
        fclose(file);
        const size_t size = UNDERTONE_PACK_HANDLE_SIZE;
        EXPECT(OK, undertone_pack_init(allocate(size), size, pack_bytes[i], len, &packs[i]));
    }
    document = document_of(packs[0]);
    other_document = document_of(packs[1]);
    grant_memory = allocate(UNDERTONE_GRANT_HANDLE_SIZE);
    unsigned releases = 0;
    for (unsigned device = 0; device < devices; device++) {
        releases += run_device();
    }
    if (argc == 3) {
        wrong_schedules_are_refused();
        puts("case damaged_reservoir\ncase reservoir_of_another_pack");
        wrong_reservoirs_are_refused();
        drawn_sentences_state_their_places();
        printf("%u releases of %u devices in %d years\n", releases, devices, YEARS);
        is_killed_writing = 1;
        releases = 0;
        for (unsigned device = 0; device < devices; device++) {
            releases += run_device();
        }
        printf("%u releases of %u devices that were killed while they wrote\n", releases, devices);
    }
    free(grant_memory);
    free(other_document);
    free(document);
    free(packs[1]);
    free(packs[0]);
    return failures != 0;
}
