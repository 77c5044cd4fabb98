#!/usr/bin/env bash
# Tests the add-on with the real fcitx5: a client types for years on a private bus, and the daemon
# is killed at random. Then it plants five mistakes, one after another, and must find each.
#
#     ffi/examples/fcitx5/test.sh INSTALLED PACK CANDIDATES EMOJI [PLANT...]
#
# INSTALLED is what ffi/install.sh made, CANDIDATES what `undertone inspect` prints for PACK, EMOJI
# the form of `../keyboard/emoji.json`. With PLANT, only these mistakes are planted. As root, it
# installs the packages of Debian that are missing. If apt has no network for that, it prints NOT
# CHECKED and succeeds.
set -euo pipefail

[ $# -ge 4 ] || { sed -n '2,11s/^# *//p' "$0" >&2; exit 2; }
installed=$(realpath "$1")
pack=$(realpath "$2")
candidates=$(realpath "$3")
emoji=$(realpath "$4")
shift 4
cd "$(dirname "$0")"

packages=(fcitx5 fcitx5-modules-dev libfcitx5core-dev fcitx5-hangul cmake g++ dbus python3-dbus python3-gi)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! dpkg -s "${packages[@]}" >/dev/null 2>&1; then
    export DEBIAN_FRONTEND=noninteractive
    if ! { apt-get update -qq -o APT::Update::Error-Mode=any &&
        apt-get install -y -qq --no-install-recommends "${packages[@]}"; } >"$work/apt.log" 2>&1; then
        cat "$work/apt.log" >&2
        grep -qE 'Temporary failure resolving|Could not resolve|Could not connect|Network is unreachable' \
            "$work/apt.log" || exit 1
        echo "NOT CHECKED: the add-on for fcitx5, because its packages are missing and apt has no network"
        exit 0
    fi
fi

# Copies the sources, in which mistakes can be planted, with the clock of the test or the real one.
# Files that have not changed keep their time, so that they are not compiled again.
sources() { # CLOCK
    local file copy
    for file in *.* ../keyboard/*.hpp; do
        copy=$work/source/$(basename "$(dirname "$(realpath "$file")")")/$(basename "$file")
        [ "$file" != clock.cpp ] || file=$1
        mkdir -p "$(dirname "$copy")"
        cmp -s "$file" "$copy" || cp "$file" "$copy"
    done
}

build() {
    {
        cmake -S "$work/source/fcitx5" -B "$work/build" -DCMAKE_INSTALL_PREFIX="$work/prefix" \
            -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_PREFIX_PATH="$installed" -DCMAKE_CXX_FLAGS=-Werror \
            -DPACK="$pack" -DCANDIDATES="$candidates" -DEMOJI="$emoji" &&
            cmake --build "$work/build" --parallel &&
            cmake --install "$work/build"
    } >"$work/build.log" 2>&1 || {
        cat "$work/build.log" >&2
        exit 1
    }
}

# Runs year.py on a private bus and in a home of its own.
run() {
    rm -rf "$work/run"
    mkdir -p "$work/run"/{home,runtime,tmp,config/fcitx5}
    chmod 700 "$work/run/runtime"
    cp test/profile "$work/run/config/fcitx5"
    # The folder of Debian's add-ons, such as /usr/lib/x86_64-linux-gnu/fcitx5.
    local addons
    addons=$(dirname "$(dpkg -L fcitx5-modules | grep -m 1 '/fcitx5/.*\.so$')")
    env -u DISPLAY -u WAYLAND_DISPLAY HOME="$work/run/home" TMPDIR="$work/run/tmp" XDG_RUNTIME_DIR="$work/run/runtime" \
        XDG_CONFIG_HOME="$work/run/config" XDG_STATE_HOME="$work/run/home/state" XDG_DATA_HOME="$work/run/home/data" \
        XDG_CACHE_HOME="$work/run/home/cache" XDG_DATA_DIRS="$work/prefix/share:/usr/share" \
        FCITX_ADDON_DIRS="$work/prefix/lib/fcitx5:$addons" LC_ALL=C.UTF-8 UNDERTONE_TEST_DAY="$work/run/day" \
        PYTHONDONTWRITEBYTECODE=1 timeout 600 dbus-run-session -- /usr/bin/python3 test/year.py "$candidates" "$@"
}

if [ $# = 0 ]; then
    sources clock.cpp
    build
    # An installed add-on has only the system's clock.
    ! grep -q UNDERTONE_TEST_DAY "$work/prefix/lib/fcitx5/undertone.so" || {
        echo "an add-on that is built to be installed has the clock of the test" >&2
        exit 1
    }
    run --real-clock
    sources test/clock.cpp
    build
    run
    set -- password menu text second kind
fi
for mistake; do
    sources test/clock.cpp
    failure=$(python3 test/plant.py "$mistake" "$work/source")
    build
    if run >"$work/log" 2>&1 || ! grep -q "^FAILED: $failure" "$work/log"; then
        cat "$work/log" >&2
        echo "the planted mistake \"$mistake\" was not found" >&2
        exit 1
    fi
    echo "found the planted mistake: $mistake ($(grep -m 1 '^FAILED' "$work/log" | cut -c -150))"
done
