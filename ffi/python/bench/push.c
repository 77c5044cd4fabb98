/* The time of one undertone_document_push_all, for speed.py: push PACK EMBEDDINGS REPEATS prints
 * the median, in seconds. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "undertone.h"

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static _Alignas(UNDERTONE_HANDLE_ALIGNMENT) uint8_t pack_memory[UNDERTONE_PACK_HANDLE_SIZE];
    static _Alignas(UNDERTONE_HANDLE_ALIGNMENT) uint8_t document_memory[UNDERTONE_DOCUMENT_HANDLE_SIZE];
    static _Alignas(16) uint8_t bytes[1 << 24];
    undertone_pack *pack;
    undertone_document *document;
    FILE *file = argc == 4 ? fopen(argv[1], "rb") : NULL;
    if (!file) return 2;
    size_t length = fread(bytes, 1, sizeof bytes, file), added;
    if (undertone_pack_init(pack_memory, sizeof pack_memory, bytes, length, &pack)) return 1;
    undertone_pack_description described;
    if (undertone_pack_describe(pack, &described)) return 1;
    size_t dimension = described.dimension;
    size_t count = strtoul(argv[2], NULL, 10) * dimension, repeats = strtoul(argv[3], NULL, 10);
    float *embeddings = malloc(count * sizeof *embeddings);
    double *times = malloc(repeats * sizeof *times);
    for (size_t i = 0; i < count; ++i) embeddings[i] = (float)(i % 17) / 17 - 0.5f;
    for (size_t i = 0; i < repeats; ++i) {
        struct timespec before, after;
        if (undertone_document_init(document_memory, sizeof document_memory, pack, &document)) return 1;
        clock_gettime(CLOCK_MONOTONIC, &before);
        if (undertone_document_push_all(document, embeddings, count, &added)) return 1;
        clock_gettime(CLOCK_MONOTONIC, &after);
        times[i] = (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
        if (undertone_document_reset(document)) return 1;
    }
    qsort(times, repeats, sizeof *times, ascending);
    printf("%.9f\n", times[repeats / 2]);
    return 0;
}
