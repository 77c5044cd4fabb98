/* The paths of ../constant-work/paths.h on the device: exit status 0 if all calls of a path take
 * the same number of instructions, counted by QEMU with `-icount shift=10`. Doubles are emulated
 * here, so the time of Laplace noise depends on its random bytes, which are the same each time. */
#include "startup.h"

#define EMULATED_DOUBLES
#include "../constant-work/paths.h"

/* A 32-bit timer of the board, 25 MHz: 1024 nanoseconds an instruction are 25.6 ticks. */
static volatile uint32_t *const timer = (volatile uint32_t *)0x40000000;

static struct path {
    const char *pack, *name;
    uint32_t public, calls, least, most;
} paths[256];
static uint32_t n_paths;
static const char *pack_name;
static int failed;
static uint32_t base;

static void fail(const char *what, const char *why)
{
    print(what);
    print(": ");
    print(why);
    print("\n");
    failed = 1;
}

static __attribute__((noinline)) uint32_t instructions_of(int32_t (*call)(void), int32_t *status)
{
    const uint32_t before = timer[1];
    *status = call();
    const uint32_t ticks = before - timer[1];
    return (uint32_t)(((uint64_t)ticks * 10 + 128) / 256);
}

static void count(const char *name, const char *document_name, int32_t (*call)(void),
                  uint32_t (*public)(void))
{
    int32_t status;
    (void)document_name;
    const uint32_t instructions = instructions_of(call, &status) - base;
    must(status, name);
    const uint32_t shown = public();
    struct path *path = paths;
    while (path < paths + n_paths &&
           (path->pack != pack_name || path->name != name || path->public != shown)) {
        path++;
    }
    if (path == paths + n_paths) {
        if (n_paths == sizeof paths / sizeof *paths) {
            fail(name, "too many paths");
            return;
        }
        n_paths++;
        *path = (struct path){pack_name, name, shown, 0, instructions, instructions};
    }
    path->calls++;
    path->least = instructions < path->least ? instructions : path->least;
    path->most = instructions > path->most ? instructions : path->most;
}

static int32_t no_call(void)
{
    return UNDERTONE_STATUS_OK;
}

static int32_t million_instructions(void)
{
    __asm__ volatile("ldr r0, =500000\n1: subs r0, r0, #1\n bne 1b" ::: "r0", "cc");
    return UNDERTONE_STATUS_OK;
}

/* One extra instruction for some documents. */
static int32_t planted(void)
{
    const int32_t status = push();
    if (embeddings[1] > 0.5f) {
        __asm__ volatile("nop");
    }
    return status;
}

#define PACK(name)                                                                                 \
    extern const uint8_t name##_pack[], name##_pack_end[];                                         \
    __asm__(".section .rodata\n.balign 64\n.global " #name "_pack\n" #name                         \
            "_pack: .incbin \"golden-" #name ".pack\"\n.global " #name "_pack_end\n" #name         \
            "_pack_end:\n.previous")
PACK(depth);
PACK(scores);
PACK(vote);
PACK(recoded);
PACK(vectors);

static void judge(int spread_wanted)
{
    for (const struct path *path = paths; path < paths + n_paths; path++) {
        print("| ");
        print(path->pack);
        print(path->name);
        print(" | ");
        print_number(path->calls);
        print(" | ");
        print_number(path->least);
        print(" | ");
        print_number(path->most - path->least);
        print(" |\n");
        if ((path->most != path->least) != spread_wanted) {
            fail(path->name, spread_wanted ? "what is planted is not found"
                                           : "instructions depend on what documents say");
        }
    }
}

int main(void)
{
    int32_t status;
    timer[2] = 0xffffffff; /* from where it counts down */
    timer[1] = 0xffffffff;
    timer[0] = 1; /* on, no interrupt */
    base = instructions_of(no_call, &status);
    const uint32_t million = instructions_of(million_instructions, &status) - base;
    if (million < 1000000 || million > 1000010) {
        print_number(million);
        fail(" instructions instead of a million", "run with -icount shift=10");
        return 1;
    }
    pack_name = "";
    must(undertone_pack_init(pack_memory, sizeof pack_memory, depth_pack,
                             (size_t)(depth_pack_end - depth_pack), &pack), "a pack");
    must(undertone_pack_describe(pack, &described), "a pack");
    dimension = described.dimension;
    for (uint32_t i = 0; i < DOCUMENTS; i++) {
        new_document();
        fill(i);
        count("planted branch", documents[i].name, planted, nothing);
    }
    judge(1);
    n_paths = 0;

    static const struct {
        const char *name;
        const uint8_t *start, *end;
    } packs[] = {
        {"golden.pack: ", depth_pack, depth_pack_end},
        {"golden-scores.pack: ", scores_pack, scores_pack_end},
        {"golden-vote.pack: ", vote_pack, vote_pack_end},
        {"golden-recoded.pack: ", recoded_pack, recoded_pack_end},
        {"golden-vectors.pack: ", vectors_pack, vectors_pack_end},
    };
    print("| path | calls | instructions | spread |\n| --- | ---: | ---: | ---: |\n");
    for (size_t i = 0; i < sizeof packs / sizeof *packs; i++) {
        pack_name = packs[i].name;
        pack_paths(packs[i].start, (size_t)(packs[i].end - packs[i].start));
    }
    pack_name = "";
    vector_paths(50);
    ledger_paths();
    judge(0);
    return failed;
}
