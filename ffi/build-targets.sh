#!/bin/sh
# Builds the library for phones, firmware and browsers, and prints a table of sizes.
#
#     ffi/build-targets.sh FOLDER
#
#     FOLDER/TARGET/libundertone.a       a static library for each target
#     FOLDER/wasm32-unknown-unknown/     also the library as a module, libundertone.wasm
#     FOLDER/android/jniLibs/ABI/        a shared library for each ABI, for C, C++ and Java
#     FOLDER/android/include/            headers
#     FOLDER/android/undertone.aar       the shared libraries with the Java classes
#     FOLDER/undertone.xcframework/      for iOS devices and the simulator on Apple silicon
#     FOLDER/swift/                      the Swift package, with the xcframework inside
#
# Needs nightly Rust with rust-src, because it compiles the core library, and javac for the aar. No
# NDK and no Xcode: the linker is the one that comes with Rust.
set -eu

if [ $# -ne 1 ]; then
    echo "usage: $0 FOLDER" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
export RUSTUP_TOOLCHAIN="${RUSTUP_TOOLCHAIN:-nightly}"
linker=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/rust-lld
stage=$out/.partial
rm -rf "$stage"
trap 'rm -rf "$stage"' EXIT
mkdir "$stage"

# Puts a finished folder where an older one may be.
finish() {
    rm -rf "${out:?}/$1"
    mkdir -p "$(dirname "$out/$1")"
    mv "$stage/$1" "$out/$1"
}

static() {
    target=$1
    shift
    "$here/build-lib.sh" "$out/$target" static --target "$target" -Zbuild-std=core --locked "$@"
}

for target in thumbv7em-none-eabihf riscv32imc-unknown-none-elf wasm32-unknown-unknown \
    aarch64-apple-ios aarch64-apple-ios-sim; do
    static "$target"
done
"$here/build-lib.sh" "$out/wasm32-unknown-unknown" shared --target wasm32-unknown-unknown -Zbuild-std=core --locked

# All that the library takes from Android's libc; anything else is an error of the linker. A library
# that has these names replaces libc.so, which only the NDK and the phone have.
for name in memcpy memmove memset memcmp getauxval; do
    echo "$name = 0;"
done >"$stage/libc.script"
echo '{ global: undertone_*; Java_dev_undertone_*; local: *; };' >"$stage/exports"

android() {
    target=$1 abi=$2 emulation=$3
    static "$target" --features jni
    mkdir -p "$stage/android/jniLibs/$abi"
    "$linker" -flavor gnu -m "$emulation" -shared -soname libc.so "$stage/libc.script" -o "$stage/libc.so"
    # Segments of 16 KiB, which phones with such pages ask for.
    "$linker" -flavor gnu -m "$emulation" -shared -soname libundertone.so -z max-page-size=16384 \
        -z common-page-size=16384 -z relro -z now -z defs --hash-style=both --build-id --gc-sections -O2 \
        --strip-debug --version-script "$stage/exports" --whole-archive "$out/$target/libundertone.a" \
        --no-whole-archive "$stage/libc.so" -o "$stage/android/jniLibs/$abi/libundertone.so"
}
android aarch64-linux-android arm64-v8a aarch64linux
android armv7-linux-androideabi armeabi-v7a armelf_linux_eabi
android x86_64-linux-android x86_64 elf_x86_64

cp -r "$here/../include" "$here"/../LICENSE-* "$stage/android"
if command -v javac >/dev/null; then
    mkdir "$stage/aar"
    "$here/java/build-jar.sh" "$stage/aar/classes.jar" >/dev/null
    cp -r "$stage/android/jniLibs" "$stage/aar/jni"
    cp "$here/packaging/AndroidManifest.xml" "$here/packaging/proguard.txt" "$here"/../LICENSE-* "$stage/aar"
    # No resources.
    : >"$stage/aar/R.txt"
    jar cfM "$stage/android/undertone.aar" -C "$stage/aar" .
else
    echo "no javac here, so no undertone.aar" >&2
fi
finish android

framework=undertone.xcframework
mkdir "$stage/$framework"
cp "$here"/../LICENSE-* "$stage/$framework"
cp "$here/packaging/xcframework.plist" "$stage/$framework/Info.plist"
for slice in ios-arm64:aarch64-apple-ios ios-arm64-simulator:aarch64-apple-ios-sim; do
    folder=$stage/$framework/${slice%:*}
    # Xcode throws the headers of all frameworks together, so a folder of their own keeps one module
    # map from replacing another.
    mkdir -p "$folder/Headers/CUndertone"
    cp -r "$here"/../include/* "$folder/Headers/CUndertone"
    cp "$out/${slice#*:}/libundertone.a" "$folder"
done
finish "$framework"

"$here/swift/ship.sh" "$stage/swift"
cp -r "$out/$framework" "$stage/swift"
finish swift

if ! command -v llvm-size >/dev/null; then
    echo "no llvm-size here, so no table of sizes" >&2
    exit
fi
# The code and constants of our object in an archive. A program gains less: its linker drops what it
# does not call. Beside it are the helpers of the compiler, which toolchains have anyway.
code() {
    llvm-size -A "$1" | awk '
        /\(ex / { ours = /^undertone/ }
        ours && $1 ~ /^(\.text|\.rodata|\.data\.rel\.ro|__text|__const|__cstring|__literal|CODE$|DATA$)/ { sum += $2 }
        END { print sum + 0 }'
}
bytes() {
    wc -c <"$1" | tr -d ' '
}
echo '| target | code and constants | libundertone.a | libundertone.so, .wasm |'
echo '| --- | ---: | ---: | ---: |'
row() {
    echo "| $1 | $(code "$out/$1/libundertone.a") | $(bytes "$out/$1/libundertone.a") | $2 |"
}
row aarch64-linux-android "$(bytes "$out/android/jniLibs/arm64-v8a/libundertone.so")"
row armv7-linux-androideabi "$(bytes "$out/android/jniLibs/armeabi-v7a/libundertone.so")"
row x86_64-linux-android "$(bytes "$out/android/jniLibs/x86_64/libundertone.so")"
row wasm32-unknown-unknown "$(bytes "$out/wasm32-unknown-unknown/libundertone.wasm")"
for target in aarch64-apple-ios aarch64-apple-ios-sim thumbv7em-none-eabihf riscv32imc-unknown-none-elf; do
    row "$target" ""
done
