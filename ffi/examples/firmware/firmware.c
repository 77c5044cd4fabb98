/*
 * Firmware for a Cortex-M4 that reads lines of text from a serial port and answers each with a
 * release that protects the whole line, as long as a budget lasts. It runs on QEMU's board
 * mps2-an386. On yours, replace the serial port, the entropy, the flash and the clock.
 */
#include <stddef.h>
#include <stdint.h>

#include "undertone.h"

/* --- The serial ports of the board --- */

struct uart {
    volatile uint32_t data, state, control, interrupts, divider;
};

enum { FULL_TO_SEND = 1, RECEIVED = 2, ENABLE_BOTH = 3, END_OF_TRANSMISSION = 4 };

static struct uart *const console = (struct uart *)0x40004000;
static struct uart *const generator = (struct uart *)0x40005000;

static void start(struct uart *uart)
{
    uart->divider = 16;
    uart->control = ENABLE_BOTH;
}

static uint8_t receive(const struct uart *uart)
{
    while (!(uart->state & RECEIVED)) continue;
    return (uint8_t)uart->data;
}

static void say(const char *text)
{
    for (; *text != '\0'; text++) {
        while (console->state & FULL_TO_SEND) continue;
        console->data = (uint8_t)*text;
    }
}

/* --- Entropy --- */

/* The board has no generator, so run.sh connects its second port to the host's. Yours reads the
 * hardware's, checks its flag for errors, and never gives bytes that anyone else could know. */
static int32_t entropy(void *context, uint8_t *out, size_t len)
{
    (void)context;
    while (len-- > 0) *out++ = receive(generator);
    return 0;
}

/* --- The budget --- */

/* Stands for two erase blocks of flash, one for each record, so that a reset in the middle of a
 * write leaves one whole. Flash that was never written reads 0xff. */
static uint8_t flash[UNDERTONE_LEDGER_IMAGE_BYTES] = {[0 ... UNDERTONE_LEDGER_IMAGE_BYTES - 1] = 0xff};

static int32_t read_flash(void *context, uint8_t *out, size_t capacity, size_t *out_read)
{
    (void)context;
    for (size_t i = 0; i < sizeof flash && i < capacity; i++) out[i] = flash[i];
    *out_read = sizeof flash;
    return 0;
}

/* Yours erases the block, writes it, and returns once it reads back. */
static int32_t write_flash(void *context, size_t offset, const uint8_t *bytes, size_t len)
{
    (void)context;
    for (size_t i = 0; i < len; i++) flash[offset + i] = bytes[i];
    return 0;
}

/* Yours counts days, by a clock that does not go back. */
static uint64_t today(void)
{
    return 20000;
}

/* --- Lines in, releases out --- */

#define HANDLE(name, bytes) \
    static uint8_t name[bytes] __attribute__((aligned(UNDERTONE_HANDLE_ALIGNMENT)))
HANDLE(pack_memory, UNDERTONE_PACK_HANDLE_SIZE);
HANDLE(document_memory, UNDERTONE_DOCUMENT_HANDLE_SIZE);
HANDLE(grant_memory, UNDERTONE_GRANT_HANDLE_SIZE);

/* The pack, in flash. */
extern const uint8_t pack_start[], pack_end[];
__asm__(".section .rodata\n.balign 64\n.global pack_start\npack_start: .incbin \"firmware.pack\"\n.global pack_end\npack_end:\n"
        ".previous");

static const undertone_ledger_storage storage = {NULL, NULL, NULL, read_flash, write_flash, NULL, NULL};

/* At every start. Blank flash is that of a new device, which gets a ledger of epsilon 6 a day. A
 * ledger stays as it is. If the bytes are anything else, the amount spent is unknown, so the ledger
 * is recreated with today spent. */
static int32_t start_ledger(void)
{
    const int32_t unit = UNDERTONE_UNIT_WHOLE_TEXT;
    const uint64_t budget = 6000000;
    uint8_t image[UNDERTONE_LEDGER_IMAGE_BYTES];
    uint64_t left;
    size_t len, blank = 0;
    int32_t status;
    if (read_flash(NULL, image, sizeof image, &len) != 0) return UNDERTONE_STATUS_LEDGER_STORAGE_FAILED;
    while (blank < len && image[blank] == 0xff) blank++;
    if (blank == sizeof image) {
        status = undertone_ledger_create_image(unit, budget, entropy, NULL, image, sizeof image, &len);
    } else {
        status = undertone_ledger_remaining(unit, image, len, today(), NULL, &left);
        if (status != UNDERTONE_STATUS_NOT_A_LEDGER && status != UNDERTONE_STATUS_LEDGER_DAMAGED &&
            status != UNDERTONE_STATUS_LEDGER_MIXED && status != UNDERTONE_STATUS_LEDGER_SET_BACK)
            return status;
        status = undertone_ledger_recreate_spent(&storage, unit, budget, today(), entropy, NULL, image, sizeof image, &len);
    }
    if (status == UNDERTONE_STATUS_OK && write_flash(NULL, 0, image, len) != 0) status = UNDERTONE_STATUS_LEDGER_STORAGE_FAILED;
    return status;
}

static int32_t answer(undertone_document *document, const char *line, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t release[UNDERTONE_RELEASE_BYTES];
    char hex[2 * sizeof release + 1] = "";
    undertone_grant *grant;
    size_t written;
    /* Before the line is looked at: whether there is an answer must not depend on it. */
    int32_t status = undertone_ledger_spend(&storage, UNDERTONE_UNIT_WHOLE_TEXT, 2000000, 1, today(), entropy, NULL,
                                            grant_memory, sizeof grant_memory, &grant, NULL);
    if (status == UNDERTONE_STATUS_OK) status = undertone_document_push_text(document, line, len, NULL);
    if (status == UNDERTONE_STATUS_OK)
        status = undertone_document_release_whole_text(document, grant, entropy, NULL, release, sizeof release, &written);
    if (status != UNDERTONE_STATUS_OK) {
        (void)undertone_document_reset(document);
        return status;
    }
    for (size_t i = 0; i < sizeof release; i++) {
        hex[2 * i] = digits[release[i] >> 4];
        hex[2 * i + 1] = digits[release[i] & 15];
    }
    say("{\"id\": \"firmware\", \"release\": \"");
    say(hex);
    say("\"}\n");
    return status;
}

/* The longest line; the rest of a longer one is left out. */
static char line[256];

int main(void)
{
    undertone_pack *pack;
    undertone_document *document;
    size_t len = 0;
    start(console);
    start(generator);
    int32_t status = undertone_pack_init(pack_memory, sizeof pack_memory, pack_start, (size_t)(pack_end - pack_start), &pack);
    if (status == UNDERTONE_STATUS_OK)
        status = undertone_document_init(document_memory, sizeof document_memory, pack, &document);
    if (status == UNDERTONE_STATUS_OK) status = start_ledger();
    if (status != UNDERTONE_STATUS_OK) {
        say(undertone_status_message(status));
        say("\n");
        return 1;
    }
    for (;;) {
        const uint8_t byte = receive(console);
        if (byte == END_OF_TRANSMISSION) return 0;
        if (byte != '\n') {
            if (len < sizeof line) line[len++] = (char)byte;
            continue;
        }
        status = answer(document, line, len);
        if (status != UNDERTONE_STATUS_OK) {
            say("refused: ");
            say(undertone_status_message(status));
            say("\n");
        }
        for (volatile char *at = line; len > 0; len--) *at++ = 0;
    }
}

/* --- From reset to main --- */

extern uint32_t stack_top, data_load, data_start, data_end, bss_start, bss_end;

/* The debugger or QEMU ends the program; alone it would stay here. */
static void leave(uint32_t failed)
{
    const uint32_t reason[2] = {0x20026, failed};
    register uint32_t r0 __asm__("r0") = 0x20;
    register const void *r1 __asm__("r1") = reason;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    for (;;) continue;
}

static void fault(void)
{
    leave(2);
}

void reset(void);

void reset(void)
{
    *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20; /* CPACR: switch the FPU on */
    __asm__ volatile("dsb\n\tisb");
    const uint32_t *from = &data_load;
    for (volatile uint32_t *to = &data_start; to < &data_end; to++) *to = *from++;
    for (volatile uint32_t *to = &bss_start; to < &bss_end; to++) *to = 0;
    leave((uint32_t)main());
}

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[15])(void);
} vectors = {&stack_top, {reset, fault, fault, fault, fault, fault}};
