/*
 * The paths of paths.h for programs that count instructions:
 *
 *     desktop callgrind PACK...   under `valgrind --tool=callgrind`: a dump of counts for every call
 *     desktop steps PACK...       under steps.c: a trap before and after every call
 *     desktop planted PACK...     as callgrind, of planted paths with branches that depend on the
 *                                 document, which must be found
 *
 * A name is `PACK: path|document|public`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <valgrind/callgrind.h>

#include "paths.h"

enum { LARGEST_PACK = 4 << 20, LARGEST_FORM = 8192 };

static int by_steps;
static const char *pack_name = "";

/* Traps for steps.c: the call begins or ends. */
__attribute__((noinline)) static void trap(const char *name)
{
    __asm__ volatile("int3" ::"D"(name) : "memory");
}

static void count(const char *path, const char *name, int32_t (*call)(void),
                  uint32_t (*public)(void))
{
    char label[256];
    int32_t status;
    if (by_steps) {
        trap(NULL);
        status = call();
        trap(NULL);
    } else {
        CALLGRIND_ZERO_STATS;
        status = call();
        CALLGRIND_TOGGLE_COLLECT;
    }
    must(status, path);
    snprintf(label, sizeof label, "%s%s|%s|%u", pack_name, path, name, (unsigned)public());
    if (by_steps) {
        trap(label);
    } else {
        CALLGRIND_DUMP_STATS_AT(label);
        CALLGRIND_TOGGLE_COLLECT;
    }
}

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* A branch that costs an instruction or two for one coordinate. */
static int32_t branch(void)
{
    static volatile int seen;
    const int32_t status = push();
    if (embeddings[1] > 0.5f) {
        seen++;
    }
    return status;
}

/* Leaves out sentences of zeroes. */
static int32_t early_exit(void)
{
    for (uint32_t i = 0; i < dimension; i++) {
        if (embeddings[i] != 0.0f) {
            return push();
        }
    }
    return UNDERTONE_STATUS_OK;
}

static void planted_paths(const uint8_t *bytes, size_t len)
{
    must(undertone_pack_init(pack_memory, sizeof pack_memory, bytes, len, &pack), "a pack");
    must(undertone_pack_describe(pack, &described), "a pack");
    dimension = described.dimension;
    new_document();
    fill(4);
    warm_up(push);
    for (uint32_t i = 0; i < DOCUMENTS; i++) {
        new_document();
        fill(i);
        count("planted branch", documents[i].name, branch, nothing);
        count("planted early exit", documents[i].name, early_exit, nothing);
    }
}

static uint8_t bytes[LARGEST_PACK] __attribute__((aligned(64)));

int main(int argc, char **argv)
{
    by_steps = argc > 1 && strcmp(argv[1], "steps") == 0;
    stride = by_steps ? 3 : 1;
    const int planted = argc > 1 && strcmp(argv[1], "planted") == 0;
    for (int i = 2; i < argc; i++) {
        static char name[64];
        const char *file_name = strrchr(argv[i], '/');
        FILE *file = fopen(argv[i], "rb");
        size_t len;
        if (file == NULL) {
            fail(argv[i], "cannot be read");
            return 1;
        }
        snprintf(name, sizeof name, "%s: ", file_name == NULL ? argv[i] : file_name + 1);
        pack_name = name;
        len = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        if (strstr(name, "topic.form") != NULL) {
            /* For the packs that follow, so it stays. */
            static uint8_t kept[LARGEST_FORM];
            if (len > sizeof kept) {
                fail(argv[i], "is too long");
            }
            memcpy(kept, bytes, len);
            must(undertone_form_init(form_memory, sizeof form_memory, kept, len, &form), "a form");
            continue;
        }
        const int is_form = strstr(name, ".form") != NULL;
        (planted ? planted_paths : is_form ? form_paths : pack_paths)(bytes, len);
    }
    pack_name = "";
    if (!planted) {
        vector_paths(by_steps ? 20 : 384);
        ledger_paths();
    }
    puts(undertone_backend());
    return 0;
}
