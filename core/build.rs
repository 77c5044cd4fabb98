//! Names the set of kernels that this target gets, once.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!(
        "cargo::rustc-check-cfg=cfg(undertone_kernels, values(\"x86\", \"aarch64\", \"dsp\"))"
    );
    let cfg = |name: &str| var(format!("CARGO_CFG_{name}")).unwrap_or_default();
    let features = cfg("TARGET_FEATURE");
    let has = |feature: &str| features.split(',').any(|found| found == feature);
    if cfg("UNDERTONE_BACKEND") == "portable" {
        return;
    }
    let kernels = match cfg("TARGET_ARCH").as_str() {
        // Without SSE2 floats are emulated, as in kernels of operating systems.
        "x86_64" if has("sse2") => "x86",
        "aarch64" if has("neon") && cfg("TARGET_ENDIAN") == "little" => "aarch64",
        // No stable feature stands for these instructions. All processors with this name have
        // them.
        "arm" if var("TARGET").is_ok_and(|target| target.starts_with("thumbv7em")) => "dsp",
        _ => return,
    };
    println!("cargo::rustc-cfg=undertone_kernels=\"{kernels}\"");
}
