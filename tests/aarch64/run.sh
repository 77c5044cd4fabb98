#!/bin/sh
# An aarch64 machine under QEMU gives the golden vectors, to the byte.
#
#     tests/aarch64/run.sh FOLDER     builds there
set -eu
[ $# = 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
folder=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$folder"

RUSTUP_TOOLCHAIN=nightly "$root/ffi/build-lib.sh" "$folder" static --target aarch64-unknown-linux-gnu -Zbuild-std=core
for program in consumer misuse; do
    aarch64-linux-gnu-gcc -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror -static -I "$root/include" \
        "$root/tests/c/$program.c" "$folder/libundertone.a" -o "$folder/$program"
done

golden=$root/tests/golden
while read -r pack file; do
    case $file in
    sentences*) kind=sentences line=vector ;;
    *) kind=vectors line=release ;;
    esac
    agree=$(qemu-aarch64 "$folder/consumer" "$golden/$pack" "--$kind" "$golden/$file")
    echo "$file: $agree"
    [ "$agree" = "$(grep -c "^$line " "$golden/$file") golden vectors agree" ] || { echo "$file: not all ran" >&2; exit 1; }
done <"$golden/list.txt"
qemu-aarch64 "$folder/misuse" "$golden/golden.pack" "$golden/golden-vectors.pack" "$golden/golden-features.pack" "$golden/golden.form"
