//! Attaching through tcx, which libbpf can and libbpf-rs does not offer yet.
#![allow(unsafe_code)]

use std::ptr::{null, NonNull};

use libbpf_rs::{libbpf_sys, AsRawLibbpf, Link, ProgramMut};

/// Attaches to the device with this index in the current network namespace, on the side that the
/// program's section names.
pub fn attach(program: &ProgramMut, device: u32) -> Result<Link, std::io::Error> {
    let index = i32::try_from(device).map_err(std::io::Error::other)?;
    // SAFETY: the program is loaded, and libbpf takes no options for null.
    let link = unsafe {
        libbpf_sys::bpf_program__attach_tcx(program.as_libbpf_object().as_ptr(), index, null())
    };
    let link = NonNull::new(link).ok_or_else(std::io::Error::last_os_error)?;
    // SAFETY: libbpf made this link, and nothing else has it.
    Ok(unsafe { Link::from_ptr(link) })
}
