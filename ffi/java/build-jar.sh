#!/bin/sh
# Compiles the Java classes into a jar that runs on Java 8 and newer, and on Android.
#
#     ffi/java/build-jar.sh FILE.jar
set -eu

if [ $# -ne 1 ]; then
    echo "usage: $0 FILE.jar" >&2
    exit 2
fi
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
# Newer compilers warn that they will drop Java 8 one day.
javac --release 8 -Xlint:all,-options -Xdoclint:all,-missing -Werror -encoding UTF-8 -d "$classes" "$(dirname "$0")"/dev/undertone/*.java
mkdir "$classes/META-INF"
cp "$(dirname "$0")"/../../LICENSE-* "$classes/META-INF"
jar cf "$1.partial" -C "$classes" .
mv "$1.partial" "$1"
echo "$1"
