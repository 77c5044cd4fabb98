// For Android Studio. Not tried by our CI, which has no Android SDK; README.md says what is.
plugins {
    id("com.android.application") version "8.7.0"
    id("org.jetbrains.kotlin.android") version "2.0.21"
}

android {
    namespace = "dev.undertone.keyboard"
    compileSdk = 35
    defaultConfig {
        minSdk = 26
        targetSdk = 35
    }
}

dependencies {
    // ffi/build-targets.sh makes it. The pack goes to src/main/assets/topics.pack.
    implementation(files("libs/undertone.aar"))
}
