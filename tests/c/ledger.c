/* A program with a ledger, for tests/tests/ledger_lock.rs: ledger hold|spend|anew PATH.
 * c_consumer.rs runs ledger counter PATH, a case of tests/faces/misuse.md. "hold" and "spend"
 * make a ledger of epsilon 9 a window if there is none, and exit with 3 if it is in use. "spend"
 * spends 1 in window 1. "hold" tries to use the file a second time, prints "open", and waits for
 * the end of its input. "anew" recreates the ledger in window 1 while another program makes it.
 * "counter" has a counter that uses the ledger which called it. */

#define _DEFAULT_SOURCE
#include <stdio.h>
#include <string.h>

#include "undertone_posix.h"

/* Called between the check whether there is a ledger and its writing. */
static int32_t entropy_after_another(void *path, uint8_t *out, size_t len)
{
    undertone_posix_ledger other = {(const char *)path, -1, 0};
    const int32_t made = undertone_posix_create(&other, UNDERTONE_UNIT_SENTENCE, 9000000, undertone_posix_entropy, NULL);
    return made == UNDERTONE_STATUS_OK ? undertone_posix_entropy(NULL, out, len) : -1;
}

static union {
    long double aligned;
    uint8_t bytes[UNDERTONE_GRANT_HANDLE_SIZE];
} memory, inner;

static undertone_ledger_storage counted;
static uint64_t count;
static int32_t spent_within, left_within;

static int32_t read_counter(void *file, uint64_t *out)
{
    (void)file;
    *out = count;
    return 0;
}

static int32_t raise_counter(void *file, uint64_t to)
{
    undertone_grant *grant;
    uint64_t left;
    (void)file;
    spent_within = undertone_ledger_spend(&counted, UNDERTONE_UNIT_SENTENCE, 1000000, 1, 1, undertone_posix_entropy, NULL, &inner,
                                          sizeof inner, &grant, &left);
    left_within = undertone_posix_remaining(&counted, UNDERTONE_UNIT_SENTENCE, 1, &left);
    count = to;
    return 0;
}

/* Its use of the ledger is refused, and the outer call goes on. */
static int counter_uses_its_ledger(undertone_posix_ledger *file)
{
    undertone_grant *grant;
    uint64_t left = 0, again = 0;
    uint64_t spent;
    puts("case counter_uses_its_ledger");
    counted = undertone_posix_storage(file);
    counted.read_counter = read_counter;
    counted.raise_counter = raise_counter;
    for (spent = 1; spent <= 2; spent++) {
        spent_within = left_within = UNDERTONE_STATUS_OK;
        if (undertone_ledger_spend(&counted, UNDERTONE_UNIT_SENTENCE, 1000000, 1, 1, undertone_posix_entropy, NULL, &memory,
                                   sizeof memory, &grant, &left) != UNDERTONE_STATUS_OK)
            return 1;
        if (spent_within != UNDERTONE_STATUS_LEDGER_IN_USE || left_within != UNDERTONE_STATUS_LEDGER_IN_USE) return 1;
        if (undertone_posix_remaining(&counted, UNDERTONE_UNIT_SENTENCE, 1, &again) != UNDERTONE_STATUS_OK) return 1;
        if (left != 9000000 - spent * 1000000 || again != left) return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    undertone_posix_ledger file = {argv[argc - 1], -1, 0}, again = {argv[argc - 1], -1, 0};
    const undertone_ledger_storage storage = undertone_posix_storage(&file), second = undertone_posix_storage(&again);
    const int32_t unit = UNDERTONE_UNIT_SENTENCE;
    undertone_grant *grant;
    uint64_t left;
    int32_t status;
    if (argc != 3) return 2;
    if (strcmp(argv[1], "anew") == 0)
        return undertone_posix_recreate_spent(&file, &storage, unit, 9000000, 1, entropy_after_another, argv[2]) != UNDERTONE_STATUS_OK;
    status = undertone_posix_create(&file, unit, 9000000, undertone_posix_entropy, NULL);
    if (status == UNDERTONE_STATUS_OK && strcmp(argv[1], "counter") == 0) return counter_uses_its_ledger(&file);
    if (status == UNDERTONE_STATUS_OK && strcmp(argv[1], "spend") == 0) {
        status = undertone_ledger_spend(&storage, unit, 1000000, 1, 1, undertone_posix_entropy, NULL, &memory, sizeof memory, &grant,
                                        &left);
    } else if (status == UNDERTONE_STATUS_OK) {
        status = undertone_posix_lock(&file) == 0 ? UNDERTONE_STATUS_OK : UNDERTONE_STATUS_LEDGER_IN_USE;
        if (status == UNDERTONE_STATUS_OK) {
            if (undertone_posix_remaining(&second, unit, 1, &left) != UNDERTONE_STATUS_LEDGER_IN_USE) return 1;
            puts("open");
            fflush(stdout);
            while (getchar() != EOF) continue;
            undertone_posix_unlock(&file);
        }
    }
    if (status == UNDERTONE_STATUS_OK) return 0;
    fprintf(stderr, "%s (errno %d)\n", undertone_status_message(status), file.error);
    return status == UNDERTONE_STATUS_LEDGER_IN_USE ? 3 : 1;
}
