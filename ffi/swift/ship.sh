#!/bin/sh
# Makes a folder with the Swift package for apps: without its tests, which need files of the
# repository. SwiftPM takes no package that names tests it lacks.
#
#     ffi/swift/ship.sh FOLDER
set -eu

if [ $# -ne 1 ]; then
    echo "usage: $0 FOLDER" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir "$1"
cp -r "$here/Sources" "$here"/../../LICENSE-* "$1"
sed '/\.testTarget(/d' "$here/Package.swift" >"$1/Package.swift"
