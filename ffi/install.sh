#!/bin/sh
# Installs undertone for C, C++ and Java: libraries, headers, a package for CMake and one for
# pkg-config, and undertone-device, which `undertone audit` asks for releases.
#
#     ffi/install.sh PREFIX
#
# Requires cargo and a C compiler, and for the Java classes javac 8 or newer. No file names PREFIX,
# so the folder can be moved, and a packager installs to "$DESTDIR/usr".
set -eu

if [ $# -ne 1 ]; then
    echo "usage: $0 PREFIX" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
prefix=$(cd "$1" && pwd)

# Everything is made beside its place and renamed at the end: programs that use an older copy keep
# it.
stage=$prefix/.undertone.partial
rm -rf "$stage"
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage/bin" "$stage/include" "$stage/lib/pkgconfig" "$stage/lib/cmake/undertone"

"$here/build-lib.sh" "$stage/lib" static --locked >/dev/null
"$here/build-lib.sh" "$stage/lib" shared --features jni --locked >/dev/null

cp -r "$here"/../include/* "$stage/include"
# With the static library inside: it runs wherever it is moved.
"${CC:-cc}" -std=c99 -O2 -I "$stage/include" "$here/audit/device.c" "$stage/lib/libundertone.a" \
    -o "$stage/bin/undertone-device"

version=$(sed -n 's/^#define UNDERTONE_VERSION "\(.*\)"$/\1/p' "$here/../include/undertone.h")
soname=$(readlink "$stage/lib/libundertone.so" || echo @rpath/libundertone.dylib)
pointer_bytes=$(echo __SIZEOF_POINTER__ | "${CC:-cc}" -E -P -)
fill() {
    sed "s/@VERSION@/$version/; s|@SONAME@|$soname|; s/@POINTER_BYTES@/$pointer_bytes/g" "$here/packaging/$1.in" >"$stage/$2/$1"
}
fill undertone.pc lib/pkgconfig
fill undertone-config.cmake lib/cmake/undertone
fill undertone-config-version.cmake lib/cmake/undertone

mkdir -p "$stage/share/doc/undertone"
cp "$here"/../LICENSE-* "$stage/share/doc/undertone"

if command -v javac >/dev/null; then
    mkdir -p "$stage/share/java"
    "$here/java/build-jar.sh" "$stage/share/java/undertone.jar" >/dev/null
else
    echo "no javac here, so no undertone.jar" >&2
fi

cd "$stage"
find . -type d -exec mkdir -p "$prefix/{}" \;
find . ! -type d | sort | while read -r file; do
    mv "$file" "$prefix/$file"
    echo "$prefix/${file#./}"
done
