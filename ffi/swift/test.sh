#!/usr/bin/env bash
# Compiles and tests the Swift package on Linux, and makes the first releases of ffi/README.md as
# printed.
#
#     ffi/swift/test.sh --fetch FOLDER       only fetches Swift into FOLDER, if it is not installed
#     ffi/swift/test.sh INSTALLED FOLDER     INSTALLED is what ffi/install.sh made; works in FOLDER
#
# With the Swift of this machine; without one with that of Debian 13, which debootstrap unpacks in
# FOLDER. This needs root and 2 GB.
set -euo pipefail
[ $# = 2 ] || { sed -n '4,5s/^# *//p' "$0" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$2"
folder=$(cd "$2" && pwd)
debian=$folder/debian
tree=$folder/tree
command -v swift >/dev/null || tree=$debian/tree

if ! command -v swift >/dev/null && [ ! -e "$debian/usr/bin/swiftc" ]; then
    # It mounts /proc: in a namespace of its own, so none is left if it is interrupted.
    unshare --mount debootstrap --variant=minbase --include=swiftlang,libc6-dev,libstdc++-14-dev,gcc,pkg-config trixie "$debian" \
        >"$folder/debootstrap.log" || { tail -n 20 "$folder/debootstrap.log" >&2; exit 1; }
fi
[ "$1" != --fetch ] || exit 0
installed=$(cd "$1" && pwd)

# Only what the package needs, where ffi/README.md has it.
rm -rf "$tree/first" "$tree/answer" "$tree/build"
interests=ffi/web/examples/interests
mkdir -p "$tree/ffi/swift" "$tree/$interests" "$tree/tests" "$tree/include" "$tree/build/installed"
cp -r "$root/ffi/swift/Package.swift" "$root/ffi/swift/Sources" "$root/ffi/swift/Tests" "$tree/ffi/swift"
rm -rf "$tree/shipped"
"$root/ffi/swift/ship.sh" "$tree/shipped"
cp -r "$root/tests/golden" "$root/tests/faces" "$tree/tests"
cp "$root/include/undertone.h" "$tree/include"
cp -r "$installed/include" "$installed/lib" "$tree/build/installed"
# Any pack with a lexicon will do, if the demo did not run.
pack=$root/build/demo.pack
[ -e "$pack" ] || pack=$root/tests/golden/golden-scores.pack
cp "$pack" "$tree/build/demo.pack"
cp "$root/$interests/interests.form" "$tree/$interests"
for block in first answer; do
    mkdir "$tree/$block"
    printed=$tree/$block/$block.sh
    "$root/.ci/block" "$block-swift" "$root/ffi/README.md" >"$printed"
    [ "$(wc -l <"$printed")" -le 15 ] || { echo "ci:$block-swift has more than 15 lines" >&2; exit 1; }
done

commands='export UNDERTONE=$PWD PKG_CONFIG_PATH=$PWD/build/installed/lib/pkgconfig
library="-Xlinker -rpath -Xlinker $UNDERTONE/build/installed/lib"
gcc -shared -fPIC -Wall -Wextra -Werror tests/faces/replay.c -o replay.so
cd ffi/swift
swift build --build-tests $library
LD_PRELOAD=$UNDERTONE/replay.so swift test --skip-build $library | tee "$UNDERTONE/tests.log"
while read -r pack name; do
    case $name in
    sentences*) line=vector ;;
    *) line=release ;;
    esac
    grep -Fqx "$name: $(grep -c "^$line " "../../tests/golden/$name") golden vectors agree" "$UNDERTONE/tests.log" ||
        { echo "not all golden vectors of $pack, $name ran" >&2; exit 1; }
done < <(cat ../../tests/golden/list.txt && printf "golden.form %s\n" answers.txt drawn-answers.txt)
../../tests/faces/ran.sh Swift <"$UNDERTONE/tests.log"
# The package as apps get it; on Linux without the xcframework.
# In the language mode of Swift 6, which checks concurrency.
(cd ../../shipped && swift build -Xswiftc -swift-version -Xswiftc 6 -Xswiftc -warnings-as-errors)
# As somebody who has set nothing but UNDERTONE. The second links what the first has compiled.
unset PKG_CONFIG_PATH
cd ../../first && bash -euo pipefail first.sh
cd ../answer && SWIFTPM_BUILD_DIR=$UNDERTONE/first/.build bash -euo pipefail answer.sh'
if command -v swift >/dev/null; then
    cd "$tree"
    bash -euo pipefail -c "$commands"
else
    # Swift looks for itself in /proc. The mounts are in a namespace of their own, so none is left.
    unshare -mpf bash -euo pipefail -c "
        mount -t proc proc '$debian/proc'
        mount --bind /dev '$debian/dev'
        exec chroot '$debian' /usr/bin/env -i HOME=/root PATH=/usr/libexec/swift/bin:/usr/bin:/bin \
            LD_LIBRARY_PATH=/usr/libexec/swift/lib/swift/linux bash -euo pipefail -c 'cd /tree
$commands'"
fi
