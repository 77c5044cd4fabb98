/* From reset to main, and out through semihosting. */
#include "startup.h"

#include <stddef.h>

extern uint32_t stack_top, data_load, data_start, data_end, bss_start, bss_end;

int main(void);

static uint32_t semihosting(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void print(const char *text)
{
    semihosting(0x04, text); /* SYS_WRITE0 */
}

void print_number(uint32_t number)
{
    char digits[11];
    char *first = digits + sizeof digits - 1;
    *first = '\0';
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    print(first);
}

static void leave(uint32_t status)
{
    const uint32_t argument[2] = {0x20026 /* ADP_Stopped_ApplicationExit */, status};
    for (;;) {
        semihosting(0x20, argument); /* SYS_EXIT_EXTENDED */
    }
}

static void fault(void)
{
    print("fault\n");
    leave(2);
}

void reset(void)
{
    *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20; /* CPACR: switch the FPU on */
    __asm__ volatile("dsb\n\tisb");
    const uint32_t *from = &data_load;
    for (volatile uint32_t *to = &data_start; to < &data_end; to++) {
        *to = *from++;
    }
    for (volatile uint32_t *to = &bss_start; to < &bss_end; to++) {
        *to = 0;
    }
    leave((uint32_t)main());
}

typedef void handler(void);

/* The handlers of all faults; no interrupt is enabled. */
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    handler *handlers[15];
} vectors = {&stack_top, {reset, fault, fault, fault, fault, fault}};
