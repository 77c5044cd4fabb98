#!/bin/bash
# The library on a Cortex-M4, in QEMU:
#
# - the golden vectors, to the byte;
# - every release path takes the same number of instructions for all documents;
# - instructions and stack of each call, the stack within the limit of the header and the same for
#   any number of candidates;
# - the smallest program that releases a text: code and constants within 70 KiB, no allocator, no
#   panic and no unwinding in it; without the feature any-language within 55 KiB, with the same
#   golden vectors, and packs that need the feature are refused;
# - a reservoir adds at most 2 KiB to a program that releases a text by the whole-text rule;
# - the smallest program that releases an answer to a form within 26 KiB, without the code for packs
#   and texts, as the others are without the code for forms;
# - a pack as for 20 Newsgroups (depth, d = 384, p = 50, m = 5000) within 1 MiB.
#
#     tests/cortex-m/run.sh FOLDER     builds there
set -euo pipefail
[ $# = 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..

# build FOLDER [arguments for cargo]...
build() {
    local to=$1
    shift
    RUSTUP_TOOLCHAIN=nightly "$root/ffi/build-lib.sh" "$to" static --target thumbv7em-none-eabihf -Zbuild-std=core "$@"
}

library=$folder/libundertone.a
build "$folder"

# link PROGRAM OUTPUT [argument for gcc]...
link() {
    local program=$1 output=$2
    shift 2
    arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -std=c99 -Wall -Wextra -Wpedantic \
        -Werror -Os -ffreestanding -ffunction-sections -fdata-sections -nostdlib -I "$root/include" -I "$folder" \
        -Wa,-I"$folder" -Wl,--gc-sections -Wl,-z,noexecstack -Wl,-Map="$folder/$output.map" -T "$root/ffi/examples/firmware/link.ld" \
        "$@" "$here/startup.c" "$here/$program.c" "$library" -o "$folder/$output.elf"
}

# run PROGRAM [nanoseconds an instruction takes, as a power of two]
run() {
    timeout 300 qemu-system-arm -M mps2-an386 -nographic -icount shift="${2:-0}" \
        -semihosting-config enable=on,target=native -kernel "$folder/$1.elf" </dev/null
}

python3 "$here/cases.py" >"$folder/golden.h"
link golden golden
run golden

golden=$here/../golden
cp "$golden"/golden-*.pack "$folder"
cp "$golden/golden.pack" "$folder/golden-depth.pack"
link constant constant
run constant 10 >"$folder/constant.md" 2>&1 || { cat "$folder/constant.md"; exit 1; }
awk -F'|' '{ calls += $3 } END { print calls " calls: as many instructions for all documents" }' "$folder/constant.md"

python3 "$here/packs.py" "$folder"
link measure measure
run measure

# Forbidden names in the program and in what the linker kept.
forbidden() {
    {
        arm-none-eabi-nm "$folder/$1.elf"
        sed -n '/^Linker script and memory map/,$p' "$folder/$1.map"
    } | grep -iE 'malloc|calloc|free|__rust_|_alloc|panic|unwind|eh_personality|unwrap_failed|abort' || true
}

# size OUTPUT: bytes of code and constants.
size() {
    arm-none-eabi-size "$folder/$1.elf" | awk 'NR == 2 { print $1 + $2 }'
}

# least OUTPUT KIB [argument for gcc]...: the smallest program, and its limit.
least() {
    local size found
    link minimal "$1" "${@:3}"
    size=$(size "$1")
    echo "the least program, $1: $size bytes of code and constants"
    [ "$size" -le $(($2 * 1024)) ] || { echo "more than $2 KiB" >&2; exit 1; }
    found=$(forbidden "$1")
    [ -z "$found" ] || { echo "in the least program: $found" >&2; exit 1; }
}

# The tables and the code that compose characters take 5.8 kB of `any-language`, and nothing without
# that feature.
least minimal 70
# The check finds a planted name.
link minimal forbidden -DWITH_WHAT_IS_FORBIDDEN
found=$(forbidden forbidden)
for name in malloc panic _Unwind_Resume; do
    [[ $found == *"$name"* ]] || { echo "$name in a program is not found" >&2; exit 1; }
done

# A program that releases one line of a slot by the whole-text rule links that rule only.
link minimal whole-text -DWHOLE_TEXT
link minimal reservoir -DWITH_RESERVOIR
more=$(($(size reservoir) - $(size whole-text)))
echo "a reservoir: $more bytes of code and constants more than a release for the whole text"
[ "$more" -le 2048 ] || { echo "more than 2 KiB" >&2; exit 1; }

# A program has the code for forms or for packs if it uses it, and not otherwise.
least answer 26 -DWITH_ANSWER
has() {
    arm-none-eabi-nm "$folder/$1.elf" | grep "undertone_core.*$2" >/dev/null
}
for program in minimal whole-text reservoir; do
    has $program 4pack && ! has $program 4form || { echo "forms in $program" >&2; exit 1; }
done
has answer 4form && ! has answer 4pack || { echo "packs in answer" >&2; exit 1; }

news=$(wc -c <"$folder/news.pack")
echo "a pack as 20 Newsgroups has it: $news bytes"
[ "$news" -le 1048576 ] || { echo "more than 1 MiB" >&2; exit 1; }

library=$folder/without-any-language/libundertone.a
build "$folder/without-any-language" --no-default-features
least minimal-without-any-language 55
link golden golden-without-any-language -DWITHOUT_ANY_LANGUAGE
run golden-without-any-language
