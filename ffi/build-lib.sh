#!/bin/sh
# Builds the C library, libundertone.a or libundertone.so (.dylib, .wasm), into a folder, and prints
# its path.
#
#     ffi/build-lib.sh FOLDER static|shared [arguments for cargo, such as --target T]
#
# A script and not `cargo build`, because link-time optimisation needs exactly one crate type, a
# library without std needs a panic handler, and cargo would call the file libundertone_ffi.
#
# A shared library for Linux has the version of the interface in its soname and its own in the name
# of the file; what the others have no names for is left out.
#
# Targets without a precompiled core: RUSTUP_TOOLCHAIN=nightly ffi/build-lib.sh FOLDER static
# --target thumbv7em-none-eabihf -Zbuild-std=core
set -eu

usage() {
    echo "usage: $0 FOLDER static|shared [arguments for cargo]" >&2
    exit 2
}

[ $# -ge 2 ] || usage
folder=$1
kind=$2
shift 2

# What UNDERTONE_NAME is in the header.
constant() {
    sed -n "s/^#define UNDERTONE_$1 \"*\([^\"]*\)\"*\$/\1/p" "$(dirname "$0")/../include/undertone.h"
}

soname=
case $kind in
static)
    set -- --crate-type staticlib "$@"
    ;;
shared)
    case "$(uname -s) $*" in
    *apple* | Darwin*)
        set -- --crate-type cdylib "$@" -- -C link-arg=-Wl,-install_name,@rpath/libundertone.dylib
        ;;
    *wasm*)
        # A module by itself. Its table takes the entropy function.
        set -- --crate-type cdylib "$@" -- -C link-arg=--export-table -C link-arg=--growable-table
        ;;
    *)
        soname=libundertone.so
        case $* in
        *android*) ;;
        *) soname=$soname.$(constant ABI_VERSION) ;;
        esac
        # Android loads libraries with 16 KiB pages. -lc names the library that memcpy comes from.
        set -- --crate-type cdylib "$@" -- -C link-arg=-Wl,-soname,"$soname" \
            -C link-arg=-Wl,-z,max-page-size=16384 -C link-arg=-lc
        ;;
    esac
    ;;
*) usage ;;
esac

mkdir -p "$folder"
messages=$folder/.cargo-messages
trap 'rm -f "$messages"' EXIT
"${CARGO:-cargo}" rustc --manifest-path "$(dirname "$0")/Cargo.toml" --profile embed \
    --features panic-handler --message-format json-render-diagnostics "$@" >"$messages"
built=$(sed -n 's/.*"filenames":\["\([^"]*undertone_ffi\.[a-z]*\)".*/\1/p' "$messages")
if [ ! -f "$built" ]; then
    echo "$0: cargo did not say where the library is" >&2
    exit 1
fi
library=libundertone.${built##*.}
file=$library
[ "${soname:-$library}" = "$library" ] || file=$library.$(constant VERSION)
# Beside, then renamed: a program that has the old library mapped keeps it.
cp "$built" "$folder/$file.partial"
mv "$folder/$file.partial" "$folder/$file"
if [ "$file" != "$library" ]; then
    ln -sf "$file" "$folder/$soname"
    ln -sf "$soname" "$folder/$library"
fi
echo "$folder/$library"
