//! Names the library as programs that are linked with it look for it: by the version of its interface.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libpolypath.so.0");
}
