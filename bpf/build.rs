//! Compiles the BPF programs with clang and generates their Rust skeletons, and the names of the
//! fields that `aqm.h` declares.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use libbpf_cargo::SkeletonBuilder;

const SOURCES: [&str; 2] = ["src/mecn.bpf.c", "src/aqm.bpf.c"];
const TYPES: &str = "src/types.h";
const FIELDS: &str = "src/aqm.h";

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for file in [TYPES, FIELDS] {
        println!("cargo:rerun-if-changed={file}");
    }
    for source in SOURCES {
        println!("cargo:rerun-if-changed={source}");
        let name = Path::new(source).file_name().expect("a file").to_string_lossy();
        let built = SkeletonBuilder::new()
            .source(source)
            .clang_args(["-mcpu=v3", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"])
            .build_and_generate(out.join(name.replace(".bpf.c", ".skel.rs")));
        if let Err(error) = built {
            eprintln!("{error:?}\n{source} needs clang 14 or newer: apt-get install clang libelf-dev zlib1g-dev");
            std::process::exit(1);
        }
    }
    let header = std::fs::read_to_string(FIELDS).expect("the header is there");
    let mut lists = String::new();
    for (list, macro_name) in [("WORDS", "PARAMS"), ("STATE", "STATE")] {
        let names = names(&header, macro_name);
        writeln!(lists, "const {list}: [&str; {}] = {names:?};", names.len()).expect("a string");
    }
    std::fs::write(out.join("fields.rs"), lists).expect("cargo's folder can be written");
}

/// The names in `X(name)` of a macro's definition; `COLOUR(X, i)` stands for those of its own.
fn names(header: &str, macro_name: &str) -> Vec<String> {
    let start = format!("#define {macro_name}(X");
    let mut names = vec![];
    let mut lines = header.lines().skip_while(|line| !line.starts_with(&start));
    for line in &mut lines {
        let body = line.split_once(')').map_or(line, |(before, after)| {
            if before.starts_with("#define") {
                after
            } else {
                line
            }
        });
        for call in body.split(')') {
            if let Some((_, name)) = call.rsplit_once("X(") {
                names.push(name.to_owned());
            } else if let Some((_, i)) = call.rsplit_once("COLOUR(X, ") {
                let of = self::names(header, "COLOUR");
                names.extend(of.iter().map(|name| name.replace("##i", i)));
            }
        }
        if !line.ends_with('\\') {
            break;
        }
    }
    names
}
