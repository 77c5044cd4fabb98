//! Compiles the C++ side of the bridge, for the feature `cxx`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "cxx")]
    {
        println!("cargo::rerun-if-changed=src/bridge.rs");
        cxx_build::bridge("src/bridge.rs")
            .std("c++17")
            .include("../include")
            .compile("undertone_bridge");
    }
}
