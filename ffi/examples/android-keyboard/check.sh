#!/bin/sh
# Compiles the whole keyboard against Android's classes, compares our numbers of Android's constants
# with theirs, and packs manifest and resources: Android's tool reports that this is a keyboard, and
# its permissions.
#
#     ffi/examples/android-keyboard/check.sh UNDERTONE.jar
#
# Requires kotlinc, aapt, android-framework-res and Debian's apt. The classes are of Android 6, the
# newest in a Debian package, of Debian 11. They are downloaded, checked against Debian's key and
# not installed. If they cannot be fetched, the script prints NOT CHECKED.
set -eu

if [ $# -ne 1 ]; then
    echo "usage: $0 UNDERTONE.jar" >&2
    exit 2
fi
sources=$(cd "$(dirname "$0")" && pwd)/app/src
classes=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p lists/partial archives/partial generated

# Gradle adds the package.
sed 's/<manifest /&package="dev.undertone.keyboard" /' "$sources/main/AndroidManifest.xml" >AndroidManifest.xml
aapt package -M AndroidManifest.xml -S "$sources/main/res" -I /usr/share/android-framework-res/framework-res.apk \
    --min-sdk-version 26 --target-sdk-version 29 -F resources.apk -m -J generated
aapt dump badging resources.apk >badging
grep -qxF "provides-component:'ime'" badging || { cat badging >&2; exit 1; }
if grep permission badging; then
    echo "the keyboard asks for a permission" >&2
    exit 1
fi

keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keys] http://deb.debian.org/debian bullseye main" >sources.list
apt() {
    apt-get -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work" -o APT::Sandbox::User="$(id -un)" "$@"
}
if ! { apt update && apt download libandroid-23-java; } >apt.log 2>&1; then
    tail -n 2 apt.log
    echo "NOT CHECKED: the Android part of the keyboard, because Debian 11 cannot be reached"
    exit
fi
dpkg-deb -x libandroid-23-java_*.deb android
android=$work/android/usr/share/java/com.android.android-23.jar

# Everything but the numbers' test runs on no desktop: android.jar has empty methods.
kotlinc -Werror -include-runtime -cp "$classes:$android" -d keyboard.jar \
    generated/dev/undertone/keyboard/R.java \
    "$sources"/main/kotlin/dev/undertone/keyboard/*.kt "$sources"/test/kotlin/*.kt
java -cp keyboard.jar NumbersTestKt
