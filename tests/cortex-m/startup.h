/* What startup.c offers to a program. */
#ifndef STARTUP_H
#define STARTUP_H

#include <stdint.h>

/* Entered by the processor; calls main, whose result becomes the exit status. */
void reset(void);

/* Writes a string to the debugger or emulator. */
void print(const char *text);

/* Writes a number in decimal. */
void print_number(uint32_t number);

#endif
