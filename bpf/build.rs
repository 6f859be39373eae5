//! Compiles the BPF programs with clang and generates their Rust skeleton.

use std::path::PathBuf;

use libbpf_cargo::SkeletonBuilder;

const SOURCE: &str = "src/mecn.bpf.c";

fn main() {
    println!("cargo:rerun-if-changed={SOURCE}");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"))
        .join("mecn.skel.rs");
    let built = SkeletonBuilder::new()
        .source(SOURCE)
        .clang_args(["-mcpu=v3", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"])
        .build_and_generate(out);
    if let Err(error) = built {
        eprintln!("{error:?}\n{SOURCE} needs clang 14 or newer: apt-get install clang libelf-dev zlib1g-dev");
        std::process::exit(1);
    }
}
