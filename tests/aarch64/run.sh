#!/bin/sh
# An aarch64 machine under QEMU releases what every other one does: the golden vectors, to the byte.
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
while read -r pack kind file; do
    agree=$(qemu-aarch64 "$folder/consumer" "$golden/$pack" "--$kind" "$golden/$file")
    echo "$file: $agree"
done <<END
golden.pack vectors vectors.txt
golden-scores.pack vectors vectors-scores.txt
golden-vote.pack vectors vectors-vote.txt
golden-recoded.pack vectors vectors-recoded.txt
golden-scores.pack vectors whole-text-scores.txt
golden-vote.pack vectors whole-text-vote.txt
golden-scores.pack vectors projective-scores.txt
golden-vote.pack vectors projective-vote.txt
golden-features.pack vectors vectors-features.txt
golden.pack vectors words.txt
golden-vectors.pack vectors private-vectors.txt
golden.pack sentences sentences.txt
golden-recoded.pack sentences sentences-phrases.txt
END
qemu-aarch64 "$folder/misuse" "$golden/golden.pack" "$golden/golden-vectors.pack" "$golden/golden-features.pack"
