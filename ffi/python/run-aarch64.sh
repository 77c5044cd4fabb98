#!/usr/bin/env bash
# Runs a program with a wheel for aarch64 on a machine of another kind: in an emulator, with
# Debian's Python and NumPy's own wheel.
#
#     ffi/python/run-aarch64.sh WHEEL PROGRAM
#
# Wants debootstrap, qemu-aarch64 and root. Fetches 100 MB.
set -euo pipefail
[ $# = 2 ] || { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT

# Unpacked only: nothing of another processor runs yet.
debootstrap --foreign --arch=arm64 --variant=minbase --include=python3,libstdc++6 bookworm "$work/debian" >"$work/log" || {
    tail -n 20 "$work/log" >&2
    exit 1
}
for package in "$work"/debian/var/cache/apt/archives/*.deb; do dpkg-deb --extract "$package" "$work/debian"; done
python=$work/debian/usr/bin/$(readlink "$work/debian/usr/bin/python3")
version=${python##*python}
python3 -m pip download --quiet --no-deps --only-binary=:all: --dest "$work/wheels" --python-version "$version" --implementation cp \
    --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 numpy
for wheel in "$work"/wheels/*.whl "$1"; do unzip -q "$wheel" -d "$work/site"; done
PYTHONHOME=$work/debian/usr PYTHONPATH=$work/site qemu-aarch64 -L "$work/debian" "$python" "$2"
