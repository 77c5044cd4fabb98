#!/usr/bin/env bash
# The library as used by those who link it: from an installed copy, and from the folder for phones,
# firmware and browsers.
#
#     tests/packaging/run.sh
#
# Requires cc, pkg-config, CMake, clang, lld, a JDK, ProGuard, Node, Python, aarch64-linux-gnu-gcc,
# qemu-aarch64 and nightly Rust.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
here=$root/tests/packaging
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "tests/packaging: $*" >&2
    exit 1
}

# A command that must fail, to show that the check can fail.
refused() {
    if "$@" >"$work/refused.log" 2>&1; then
        cat "$work/refused.log" >&2
        fail "not refused: $*"
    fi
}

undertone() {
    cargo run --quiet --release -- "$@"
}

undertone demo --save "$work/demo.pack" >/dev/null
pack=$work/demo.pack
releases=$work/releases.jsonl

# --- The installed copy

install=$work/installed
ffi/install.sh "$work/first" >/dev/null
# Install again over the first copy, then move it: no file may contain the old path.
ffi/install.sh "$work/first" >"$work/installed.txt"
mv "$work/first" "$install"
while read -r file; do
    [ -e "${file/first/installed}" ] || fail "$file was not installed"
done <"$work/installed.txt"
! grep -rqF "$work/first" "$install" || fail "the installed copy knows its folder: $(grep -rlF "$work/first" "$install")"
for licence in LICENSE-APACHE LICENSE-MIT; do
    cmp "$licence" "$install/share/doc/undertone/$licence"
    jar tf "$install/share/java/undertone.jar" | grep -qx "META-INF/$licence" || fail "the jar has no $licence"
done
[ -z "$(find "$install" -name '*.partial')" ] || fail "unfinished files were left"

value() {
    sed -n "s/^#define UNDERTONE_$1 \"*\([^\"]*\)\"*$/\1/p" include/undertone.h
}
version=$(value VERSION)
soname=libundertone.so.$(value ABI_VERSION)
readelf -dW "$install/lib/libundertone.so" | grep -qF "soname: [$soname]" || fail "the soname is not $soname"
[ "$(readlink -f "$install/lib/$soname")" = "$install/lib/libundertone.so.$version" ] || fail "$soname leads elsewhere"

needs_library() {
    readelf -dW "$1" | grep -qF "(NEEDED)             Shared library: [$soname]"
}

# --- C through pkg-config: the program of ffi/README.md

.ci/block c-quickstart ffi/README.md >"$work/quickstart.c"
export PKG_CONFIG_PATH=$install/lib/pkgconfig
[ "$(pkg-config --modversion undertone)" = "$version" ] || fail "pkg-config has another version"
libdir=$(pkg-config --variable=libdir undertone)
flags="-std=c99 -Wall -Wextra -Wpedantic -Werror"
# shellcheck disable=SC2046,SC2086
cc $flags $(pkg-config --cflags undertone) "$work/quickstart.c" "$libdir/libundertone.a" -o "$work/c-static"
# shellcheck disable=SC2046,SC2086
cc $flags "$work/quickstart.c" $(pkg-config --cflags --libs undertone) "-Wl,-rpath,$libdir" -o "$work/c-shared"
# shellcheck disable=SC2046,SC2086
cc $flags "$work/quickstart.c" $(pkg-config --cflags --libs undertone) -o "$work/c-no-rpath"
! needs_library "$work/c-static" || fail "the static program needs the shared library"
needs_library "$work/c-shared" || fail "the shared program does not need the shared library"
quickstart() {
    echo "My doctor wants to repeat the blood test. The clinic called." | "$@" "$pack" >>"$releases"
}
quickstart "$work/c-static"
quickstart "$work/c-shared"
refused "$work/c-no-rpath" "$pack"
LD_LIBRARY_PATH=$libdir quickstart "$work/c-no-rpath"

# --- C++ through CMake

for shared in OFF ON; do
    cmake -S "$here/cmake" -B "$work/cmake-$shared" -DCMAKE_PREFIX_PATH="$install" -DBUILD_SHARED_LIBS=$shared \
        -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" >"$work/cmake.log"
    cmake --build "$work/cmake-$shared" >>"$work/cmake.log" || { cat "$work/cmake.log" >&2; exit 1; }
    for kind in undertone static shared; do
        program=$work/cmake-$shared/consumer-$kind
        printf '%s\n' "The orchestra plays tonight." "The choir sings the old songs." | "$program" "$pack" >>"$releases"
        case $kind-$shared in
        static-* | undertone-OFF) ! needs_library "$program" || fail "$program needs the shared library" ;;
        *) needs_library "$program" || fail "$program does not need the shared library" ;;
        esac
    done
done
minor=$(cut -d. -f2 <<<"$version")
# find_undertone ARGUMENTS of find_package: in $prefix, with $options of cmake
prefix=$work/later
options=()
echo '#include <undertone.h>' >"$work/found.c"
find_undertone() {
    rm -rf "$work/found"
    cat >"$work/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.21)
project(found C)
find_package(undertone $* REQUIRED)
add_library(found OBJECT found.c)
target_link_libraries(found PRIVATE undertone::undertone)
get_target_property(kind undertone::undertone INTERFACE_LINK_LIBRARIES)
message(STATUS "linked: \${kind}")
if(TARGET undertone::shared)
    install(IMPORTED_RUNTIME_ARTIFACTS undertone::shared)
endif()
CMAKE
    cmake -S "$work" -B "$work/found" -DCMAKE_PREFIX_PATH="$prefix" "${options[@]}"
}
# linked KIND BUILD_SHARED_LIBS ARGUMENTS of find_package
linked() {
    options=("-DBUILD_SHARED_LIBS=$2")
    find_undertone "${@:3}" >"$work/cmake.log" 2>&1 || { cat "$work/cmake.log" >&2; fail "not found: $*"; }
    grep -qxF -- "-- linked: undertone::$1" "$work/cmake.log" || fail "another kind is linked: $*"
    cmake --build "$work/found" >>"$work/cmake.log" || { cat "$work/cmake.log" >&2; fail "not built: $*"; }
}
later=${version%.*}.5
mkdir -p "$work/later/lib/cmake"
cp -r "$install/lib/cmake/undertone" "$work/later/lib/cmake"
cp -r "$install/include" "$work/later"
cp "$libdir/libundertone.a" "$libdir/libundertone.so" "$work/later/lib"
sed -i "s/\"$version\"/\"$later\"/" "$work/later/lib/cmake/undertone/undertone-config-version.cmake"
for accepted in "0.$minor" "${version%.*}.5 EXACT" "$version...$later" "0.$minor...<0.$((minor + 1))" \
    "0.$minor COMPONENTS static shared" "0.$minor OPTIONAL_COMPONENTS java"; do
    find_undertone $accepted >"$work/cmake.log" 2>&1 || { cat "$work/cmake.log" >&2; fail "refused: $accepted"; }
done
for unavailable in "0.$((minor + 1))" 1.0 "${version%.*}.99" "$version EXACT" "$version...${version%.*}.3" \
    "0.$minor...<$later" "COMPONENTS java" "COMPONENTS undertone" "COMPONENTS static nonsense"; do
    refused find_undertone $unavailable
done
linked shared ON
linked static ON COMPONENTS static
linked shared OFF COMPONENTS shared
linked static OFF COMPONENTS static shared
# A package with one library, then with none.
rm "$work/later/lib/libundertone.so"
refused find_undertone COMPONENTS shared
linked static ON
mv "$work/later/lib/libundertone.a" "$work/later/lib/libundertone.so"
refused find_undertone COMPONENTS static
linked shared OFF
rm "$work/later/lib/libundertone.so"
refused find_undertone
# Other folders: as Debian has them, and through a symbolic link.
mkdir -p "$work/debian/lib" "$work/root"
cp -a "$install/include" "$work/debian"
cp -a "$install/lib" "$work/debian/lib/x86_64-linux-gnu"
cp -a "$work/debian" "$work/root/usr"
ln -s usr/lib "$work/root/lib"
for prefix in "$work/debian" "$work/root"; do linked static OFF; done
# An app takes the shared library along.
prefix=$install
linked shared ON
cmake --install "$work/found" --prefix "$work/app" >"$work/cmake.log"
[ -f "$work/app/lib/$soname" ] || fail "$soname was not installed with an app"
# Processors whose pointers have 32 bits.
options=(-DCMAKE_C_COMPILER=clang -DCMAKE_C_COMPILER_TARGET=i686-linux-gnu -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY)
refused find_undertone
grep -qF "(pointers of 8 bytes)" "$work/refused.log" || fail "another reason: $(cat "$work/refused.log")"

# The example finds nothing of this repository except the installed copy.
undertone inspect "$work/demo.candidates.safetensors" >"$work/candidates.tsv"
cmake -S ffi/examples/keyboard -B "$work/keyboard" -DCMAKE_PREFIX_PATH="$install" >"$work/cmake.log"
cmake --build "$work/keyboard" >>"$work/cmake.log" || { cat "$work/cmake.log" >&2; exit 1; }
# The last week of a year, and the week after it.
for day in 20013 20020; do
    "$work/keyboard/keyboard" --pack "$pack" --candidates "$work/candidates.tsv" --ledger "$work/budget.ledger" \
        --day $day ffi/examples/keyboard/typed.txt
done | sed -n 's/.*leaves the device  *\(.*\)/{"id": "keyboard", "release": "\1"}/p' >"$work/keyboard.jsonl"
[ "$(wc -l <"$work/keyboard.jsonl")" = 1 ] || fail "the keyboard did not release once"
cat "$work/keyboard.jsonl" >>"$releases"

# --- The module map, with clang in place of Swift

module() {
    clang -fmodules -fmodules-cache-path="$work/modules" -x objective-c -fsyntax-only -Wall -Werror "$@" "$here/modules.m"
}
module -fmodule-map-file="$install/include/module.modulemap"
refused module

# --- Java

jar=$install/share/java/undertone.jar
mkdir "$work/classes"
.ci/block java-quickstart ffi/java/README.md >"$work/Quickstart.java"
javac -encoding UTF-8 --release 8 -Xlint:all,-try,-options -Werror -cp "$jar" -d "$work/classes" "$work/Quickstart.java" \
    "$here"/java/*.java tests/java/EveryMethod.java
javap -v -cp "$jar" dev.undertone.Document | grep -q 'major version: 52' || fail "the classes are not for Java 8"

# Runs a class with the native library in a folder.
java_with() {
    java -Xcheck:jni -Djava.library.path="$1" -cp "$jar:$work/classes" "${@:2}" 2>&1
}
java_with "$install/lib" Quickstart "$pack" >>"$releases"
java_with "$install/lib" Checks "$pack" "$install/include/undertone.h" | tee "$work/checks.log"
# Problems that -Xcheck:jni finds do not end the program.
! grep -qE "^(WARNING in native|Warning:)" "$work/checks.log" || fail "the virtual machine warns"
refused java_with "$work" Quickstart "$pack"

# --- Phones, firmware, browsers

targets=$work/targets
ffi/build-targets.sh "$targets" >"$work/targets.log"
grep '^|' "$work/targets.log"

# Every processor's linker accepts the archive alone, and drops unused code.
linker=$(rustc +nightly --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/rust-lld
link() {
    target=$1 triple=$2 flavor=$3
    shift 3
    clang --target="$triple" "$@" -std=c99 -Wall -Wextra -Werror -Wno-unused-command-line-argument -Os \
        -ffreestanding -ffunction-sections -Iinclude -c "$here/link.c" -o "$work/link.o"
    # shellcheck disable=SC2086
    "$linker" $flavor "$work/link.o" "$targets/$target/libundertone.a" -o "$work/$target.out"
}
elf="-flavor gnu --gc-sections -e run"
link thumbv7em-none-eabihf thumbv7em-none-eabihf "$elf" -mcpu=cortex-m4
link riscv32imc-unknown-none-elf riscv32-unknown-none-elf "$elf" -march=rv32imc -mabi=ilp32
link aarch64-linux-android aarch64-linux-android21 "$elf"
link armv7-linux-androideabi armv7-linux-androideabi21 "$elf"
link x86_64-linux-android x86_64-linux-android21 "$elf"
link aarch64-apple-ios arm64-apple-ios12.0 "-flavor darwin -arch arm64 -platform_version ios 12.0 12.0 -dylib -dead_strip"
link aarch64-apple-ios-sim arm64-apple-ios14.0-simulator \
    "-flavor darwin -arch arm64 -platform_version ios-simulator 14.0 14.0 -dylib -dead_strip"
link wasm32-unknown-unknown wasm32-unknown-unknown "-flavor wasm --no-entry --gc-sections --export=run
    --export=pack_start --export=text_start --export=release_start"
node "$here/wasm.mjs" "$work/wasm32-unknown-unknown.out" "$pack" >>"$releases"

# Android's libraries, on this system: the C library has the name that they link to.
for abi in arm64-v8a armeabi-v7a x86_64; do
    library=$targets/android/jniLibs/$abi/libundertone.so
    [ "$(readelf -dW "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')" = libc.so ] || fail "$abi needs other libraries"
    readelf -dW "$library" | grep -qF 'soname: [libundertone.so]' || fail "$abi has another soname"
    readelf -lW "$library" | awk '$1 == "LOAD" { if ($NF != "0x4000") exit 1; loads++ } END { exit loads < 2 }' ||
        fail "segments of $abi are not aligned to 16 KiB"
    foreign=$(readelf --dyn-syms -W "$library" | awk '$7 == "UND" && $8 { print $8 }' |
        grep -vxE 'mem(cpy|move|set|cmp)|getauxval' || true)
    [ -z "$foreign" ] || fail "$abi wants $foreign"
done
mkdir "$work/x86_64" "$work/arm64"
ln -s "$(gcc -print-file-name=libc.so.6)" "$work/x86_64/libc.so"
cp "$targets/android/jniLibs/x86_64/libundertone.so" "$work/x86_64"
LD_LIBRARY_PATH=$work/x86_64 java_with "$work/x86_64" Checks "$pack" include/undertone.h
LD_LIBRARY_PATH=$work/x86_64 java_with "$work/x86_64" EveryMethod tests/golden include/undertone.h

aarch64-linux-gnu-gcc -std=c99 -Iinclude "$work/quickstart.c" "$targets/android/jniLibs/arm64-v8a/libundertone.so" \
    -Wl,--allow-shlib-undefined -o "$work/quickstart-arm64"
ln -s "$(aarch64-linux-gnu-gcc -print-file-name=libc.so.6)" "$work/arm64/libc.so"
cp "$targets/android/jniLibs/arm64-v8a/libundertone.so" "$work/arm64"
quickstart qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$work/arm64" "$work/quickstart-arm64"

aar=$(jar tf "$targets/android/undertone.aar")
for entry in AndroidManifest.xml LICENSE-APACHE LICENSE-MIT R.txt classes.jar proguard.txt jni/{arm64-v8a,armeabi-v7a,x86_64}/libundertone.so; do
    grep -qxF "$entry" <<<"$aar" || fail "the aar has no $entry"
done

# R8 shrinks and renames the classes by the rules of the aar. So does ProGuard here, with the
# classes of Java 8 that javac has for --release.
mkdir "$work/aar"
(cd "$work/aar" && jar xf "$targets/android/undertone.aar" classes.jar proguard.txt)
python3 - "$(dirname "$(readlink -f "$(command -v javac)")")/../lib/ct.sym" "$work/java8.jar" <<'PYTHON'
import sys, zipfile

with zipfile.ZipFile(sys.argv[1]) as signatures, zipfile.ZipFile(sys.argv[2], "w") as jar:
    for name in signatures.namelist():
        versions, _, path = name.partition("/")
        path = path.removeprefix("java.base/")
        if "8" in versions and path.startswith("java/") and path.endswith(".sig"):
            kept = signatures.read(name)
            # Major version 52, or ProGuard refuses it.
            jar.writestr(path.removesuffix("sig") + "class", kept[:6] + b"\0\x34" + kept[8:])
PYTHON
# shrink RULES...
shrink() {
    rm -f "$work/shrunk.jar"
    proguard -injars "$work/aar/classes.jar:$work/classes" -outjars "$work/shrunk.jar" -libraryjars "$work/java8.jar" "$@" \
        -keep 'class Checks { public static void main(java.lang.String[]); }' >"$work/proguard.log" ||
        { cat "$work/proguard.log" >&2; fail "ProGuard fails"; }
}
shrunk() {
    LD_LIBRARY_PATH=$work/x86_64 java -Xcheck:jni -Djava.library.path="$work/x86_64" -cp "$work/shrunk.jar" Checks "$pack" \
        include/undertone.h
}
shrink -include "$work/aar/proguard.txt"
! jar tf "$work/shrunk.jar" | grep -qx dev/undertone/Document.class || fail "ProGuard renamed nothing"
shrunk
shrink
refused shrunk

python3 - "$targets/undertone.xcframework" <<'PYTHON'
import pathlib, plistlib, sys

framework = pathlib.Path(sys.argv[1])
info = plistlib.loads((framework / "Info.plist").read_bytes())
assert info["CFBundlePackageType"] == "XFWK" and info["XCFrameworkFormatVersion"] == "1.0", info
libraries = {library["LibraryIdentifier"]: library for library in info["AvailableLibraries"]}
folders = {path.name for path in framework.iterdir() if path.is_dir()}
assert set(libraries) == folders == {"ios-arm64", "ios-arm64-simulator"}, (libraries.keys(), folders)
for name, library in libraries.items():
    assert library["SupportedPlatform"] == "ios" and library["SupportedArchitectures"] == ["arm64"], library
    assert library.get("SupportedPlatformVariant") == ("simulator" if "simulator" in name else None), library
    assert library["BinaryPath"] == library["LibraryPath"], library
    assert (framework / name / library["LibraryPath"]).is_file(), library
    headers = framework / name / library["HeadersPath"]
    # No files at the top, where another framework's would have the same name.
    assert [path.name for path in headers.iterdir()] == ["CUndertone"], list(headers.iterdir())
    assert (headers / "CUndertone" / "module.modulemap").is_file()
PYTHON
module -I "$targets/undertone.xcframework/ios-arm64/Headers"
for file in Package.swift Sources/Undertone/Document.swift undertone.xcframework/Info.plist; do
    [ -f "$targets/swift/$file" ] || fail "the Swift package has no $file"
done
! grep -q testTarget "$targets/swift/Package.swift" || fail "the Swift package names tests that it lacks"

# --- The server reads all releases made above

undertone decode --candidates "$work/demo.candidates.safetensors" --in "$releases" --out "$work/decoded.jsonl"
count=$(wc -l <"$releases")
[ "$(wc -l <"$work/decoded.jsonl")" = "$count" ] && [ "$count" = 13 ] || fail "$count releases, not 13"
echo "tests/packaging: $count releases of all programs were decoded"
