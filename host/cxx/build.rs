//! Compiles the C++ side of the bridge.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/lib.rs");
    cxx_build::bridge("src/lib.rs")
        .std("c++17")
        .include("../../include")
        .compile("undertone_bridge");
}
