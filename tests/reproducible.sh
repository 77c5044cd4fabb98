#!/usr/bin/env bash
# Checks that the bytes of the C library do not depend on who builds it: two folders with different
# names and two homes of cargo and rustup must give the same. Prints the digests, which are the same
# for everybody with this compiler.
#
# For this machine, static and shared; then static for a target:
#
#     tests/reproducible.sh
#     RUSTUP_TOOLCHAIN=nightly tests/reproducible.sh --target T -Zbuild-std=core
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
one=$work/one
two="$work/another place/with a longer name"

for copy in "$one" "$two"; do
    mkdir -p "$copy"
    git ls-files -z -- Cargo.toml Cargo.lock rust-toolchain.toml core ffi host include tests |
        tar --null -T - -cf - | tar -xf - -C "$copy"
done
# The same files under other names, because cargo and rustup put their paths into the library.
ln -s "${CARGO_HOME:-$HOME/.cargo}" "$work/cargo"
ln -s "${RUSTUP_HOME:-$HOME/.rustup}" "$work/rustup"

# Builds one kind of library in both folders.
build() {
    (
        unset CARGO_TARGET_DIR
        "$one/ffi/build-lib.sh" "$one/built" "$@" --locked >/dev/null 2>"$work/one.log" &
        CARGO_HOME=$work/cargo RUSTUP_HOME=$work/rustup LC_ALL=C TZ=Asia/Tokyo \
            "$two/ffi/build-lib.sh" "$two/built" "$@" --locked >/dev/null 2>"$work/two.log" && wait $!
    ) || {
        tail -n 20 "$work"/*.log >&2
        exit 1
    }
}

differ() {
    ! cmp "$one/built/$1" "$two/built/$1"
}

build static "$@"
libraries=(libundertone.a)
if [ $# = 0 ]; then
    build shared --features jni
    libraries+=(libundertone.so)
fi
rustc -V
for library in "${libraries[@]}"; do
    if differ "$library"; then
        echo "tests/reproducible.sh: $library depends on the folder it is built in" >&2
        exit 1
    fi
    (cd "$one/built" && sha256sum "$library")
done

# A library that contains its path must be noticed, or the comparison is worth nothing.
for copy in "$one" "$two"; do
    cat >>"$copy/ffi/src/lib.rs" <<'RUST'
/// Planted.
#[unsafe(no_mangle)]
pub static UNDERTONE_PLANTED: &str = env!("CARGO_MANIFEST_DIR");
RUST
done
build static "$@"
differ libundertone.a >/dev/null || {
    echo "tests/reproducible.sh: a library that names its folder was not told from another" >&2
    exit 1
}
echo "tests/reproducible.sh: the same bytes from two folders"
