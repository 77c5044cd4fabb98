#!/bin/sh
# Builds libundertone_host.a, the host library for C++ programs on servers and desktops, and its
# headers, among them undertone_host.h, in a folder.
#
#     host/cxx/build-lib.sh FOLDER [arguments for cargo, such as --target T]
#     c++ -std=c++17 -IFOLDER/include program.cpp FOLDER/libundertone_host.a -lpthread -ldl -lm
#
# The library contains the C interface: link it instead of libundertone, never both.
set -eu

if [ $# -lt 1 ]; then
    echo "usage: $0 FOLDER [arguments for cargo]" >&2
    exit 2
fi
folder=$1
shift

mkdir -p "$folder/include/rust"
messages=$folder/.cargo-messages
trap 'rm -f "$messages"' EXIT
"${CARGO:-cargo}" rustc --manifest-path "$(dirname "$0")/Cargo.toml" --lib --release \
    --crate-type staticlib --message-format json-render-diagnostics "$@" >"$messages"
built=$(sed -n 's/.*"filenames":\["\([^"]*undertone_cxx\.[a-z]*\)".*/\1/p' "$messages")
out=$(sed -n 's/.*"reason":"build-script-executed".*[/#]undertone-cxx[#@].*"out_dir":"\([^"]*\)".*/\1/p' "$messages")
headers=$out/cxxbridge/include
if [ ! -f "$built" ] || [ ! -d "$headers" ]; then
    echo "$0: cargo did not say where the library and its header are" >&2
    exit 1
fi
cp -r "$(dirname "$0")"/../../include/*.h* "$(dirname "$0")/../../include/undertone" "$folder/include"
cp -L "$headers/undertone-cxx/src/lib.rs.h" "$folder/include/undertone_host.h"
cp -L "$headers/rust/cxx.h" "$folder/include/rust/cxx.h"
# Copy, then rename, so that a program that maps the old library keeps it.
library=$folder/libundertone_host.a
cp "$built" "$library.partial"
mv "$library.partial" "$library"
echo "$library"
