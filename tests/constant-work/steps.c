/*
 * Counts the instructions of calls on the processor itself, one by one, if no emulator supports
 * them (AVX-512), and hashes their addresses.
 *
 *     steps PROGRAM ARGUMENT...     Linux, x86-64
 *
 * The program traps before and after a call, then with the call's name (desktop.c). Each call gives
 * one line: the name, the number of instructions, a digest of their addresses in order. Two calls
 * with the same digest executed the same instructions in the same order.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;

static void need(int holds, const char *what)
{
    if (!holds) {
        perror(what);
        if (child > 0) {
            kill(child, SIGKILL);
        }
        exit(2);
    }
}

/* Runs the child to its next stop; returns whether it still exists. */
static int go_on(enum __ptrace_request how)
{
    int status;
    need(ptrace(how, child, NULL, NULL) == 0, "ptrace");
    need(waitpid(child, &status, 0) == child, "waitpid");
    if (WIFEXITED(status)) {
        exit(WEXITSTATUS(status));
    }
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) {
        fprintf(stderr, "the program was stopped by a signal\n");
        kill(child, SIGKILL);
        exit(2);
    }
    return 1;
}

static struct user_regs_struct registers(void)
{
    struct user_regs_struct registers;
    need(ptrace(PTRACE_GETREGS, child, NULL, &registers) == 0, "registers");
    return registers;
}

static void print_text(uint64_t address)
{
    for (;; address += sizeof(long)) {
        union {
            long word;
            char bytes[sizeof(long)];
        } text;
        errno = 0;
        text.word = ptrace(PTRACE_PEEKDATA, child, (void *)address, NULL);
        need(errno == 0, "the name of a call");
        for (size_t i = 0; i < sizeof text.bytes; i++) {
            if (text.bytes[i] == '\0') {
                return;
            }
            putchar(text.bytes[i]);
        }
    }
}

int main(int argc, char **argv)
{
    int status;
    need(argc > 1, "usage: steps PROGRAM ARGUMENT...");
    /* The child writes to the same pipe: write whole lines, or it writes into one of ours. */
    need(setvbuf(stdout, NULL, _IOLBF, 0) == 0, "stdout");
    child = fork();
    need(child >= 0, "fork");
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    need(waitpid(child, &status, 0) == child && WIFSTOPPED(status), argv[1]);
    for (;;) {
        uint64_t count = 0, digest = 0xcbf29ce484222325u;
        go_on(PTRACE_CONT);
        const uint64_t marker = registers().rip;
        for (;;) {
            go_on(PTRACE_SINGLESTEP);
            const uint64_t at = registers().rip;
            if (at == marker) {
                break;
            }
            count++;
            digest = (digest ^ at) * 0x100000001b3u;
            digest ^= digest >> 29;
        }
        go_on(PTRACE_CONT);
        print_text(registers().rdi);
        printf("|%" PRIu64 "|%016" PRIx64 "\n", count, digest);
    }
}
