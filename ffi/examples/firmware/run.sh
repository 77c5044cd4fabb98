#!/bin/sh
# Builds firmware.c with a pack for a Cortex-M4, prints the flash and RAM that it takes, and runs it
# in QEMU: lines from standard input, answers to standard output.
#
#     ffi/examples/firmware/run.sh PACK FOLDER < LINES     builds in FOLDER
set -eu
[ $# = 2 ] || { echo "usage: $0 PACK FOLDER" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
folder=$(cd "$2" && pwd)
cp "$1" "$folder/firmware.pack"

RUSTUP_TOOLCHAIN=nightly "$here/../../build-lib.sh" "$folder" static --target thumbv7em-none-eabihf -Zbuild-std=core >&2
arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -std=gnu11 -Wall -Wextra -Werror -Os \
    -ffreestanding -ffunction-sections -fdata-sections -nostdlib -I "$here/../../../include" -Wa,-I"$folder" \
    -Wl,--gc-sections -Wl,-z,noexecstack -T "$here/link.ld" "$here/firmware.c" "$folder/libundertone.a" \
    -o "$folder/firmware.elf"
arm-none-eabi-size "$folder/firmware.elf" | awk -v pack="$(wc -c <"$folder/firmware.pack")" \
    'NR == 2 { print "flash: " $1 + $2 - pack " bytes and the pack; RAM: " $2 + $3 " bytes and 8192 of stack" }' >&2

# The host's generator comes in by the second port. Ctrl-D (octal 4) ends the program.
{ cat && printf '\004'; } | timeout 300 qemu-system-arm -M mps2-an386 -display none -monitor none -serial stdio \
    -serial /dev/urandom -semihosting-config enable=on,target=native \
    -kernel "$folder/firmware.elf"
