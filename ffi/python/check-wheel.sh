#!/usr/bin/env bash
# Checks that a wheel is below 15 MB, links nothing that a system may lack, and lists its contents.
#
#     ffi/python/check-wheel.sh WHEEL
set -euo pipefail
[ $# = 1 ] || { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
fail() { echo "$1" >&2; exit 1; }

bytes=$(stat -c %s "$1")
echo "wheel: $1, $bytes bytes"
[ "$bytes" -lt 15000000 ] || fail "the wheel has $bytes bytes; 15,000,000 are too many"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unzip -q "$1" -d "$work"
bill=$(find "$work" -path '*.dist-info/sboms/*.json')
[ -s "$bill" ] && grep -q CycloneDX "$bill" || fail "the wheel has no bill of materials, or several: $bill"
module=$(find "$work" -name '_undertone*.so')
[ -f "$module" ] || fail "the wheel has no module, or several: $module"
needed=$(readelf -d "$module" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
echo "links: $needed"
for library in $needed; do
    case $library in
    # The C library, whole or in the parts of before 2.34.
    libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | ld-linux-x86-64.so.2 | ld-linux-aarch64.so.1) ;;
    # Part of the compiler: in a wheel that is built where it is used, not in a shipped wheel.
    libgcc_s.so.1) [[ $1 != *-manylinux_2_28_* ]] || fail "the module links $library" ;;
    *) fail "the module links $library" ;;
    esac
done
