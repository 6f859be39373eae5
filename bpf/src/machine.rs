//! What the kernel and this process have of what the BPF programs need, and how it is said.

use std::path::Path;

use libbpf_rs::btf::{types::Struct, Btf};

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// What was asked for is wrong.
    #[error("{0}")]
    Input(String),
    /// This machine cannot run it.
    #[error("cannot run here: {0}")]
    Missing(String),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl Failure {
    /// The exit status.
    pub fn status(&self) -> u8 {
        match self {
            Self::Other(_) => 1,
            Self::Input(_) => 2,
            Self::Missing(_) => 3,
        }
    }

    /// The kernel does not take a program.
    pub fn refused(error: &dyn std::fmt::Display) -> Self {
        Self::Missing(format!("the kernel refuses the BPF programs: {error}"))
    }
}

/// What is there.
pub struct Facts {
    root: bool,
    btf: bool,
    struct_ops: bool,
    tcx: bool,
}

impl Facts {
    /// Of this machine.
    pub fn here() -> Self {
        let btf = Path::new("/sys/kernel/btf/vmlinux")
            .exists()
            .then(Btf::from_vmlinux)
            .and_then(Result::ok);
        let has = |name| btf.as_ref().is_some_and(|btf| btf.type_by_name::<Struct>(name).is_some());
        Self {
            root: nix::unistd::geteuid().is_root(),
            btf: btf.is_some(),
            struct_ops: has("bpf_struct_ops_tcp_congestion_ops"),
            tcx: has("tcx_link"),
        }
    }

    /// The first thing that is not; `control` says whether a congestion control is among what is
    /// needed.
    pub fn missing(&self, control: bool) -> Result<(), Failure> {
        [
            (self.root, "not root: only root may load BPF programs"),
            (self.btf, "no /sys/kernel/btf/vmlinux: a kernel with CONFIG_DEBUG_INFO_BTF is needed"),
            (
                self.struct_ops || !control,
                "no struct_ops for TCP: a kernel with CONFIG_BPF_JIT and CONFIG_BPF_SYSCALL is needed",
            ),
            (self.tcx, "no tcx: Linux 6.6 or newer with CONFIG_NET_XGRESS is needed"),
        ]
        .into_iter()
        .find_map(|(here, reason)| (!here).then(|| Err(Failure::Missing(reason.into()))))
        .unwrap_or(Ok(()))
    }
}

/// The index of a device of the current network namespace.
pub fn device_index(device: &str) -> Result<u32, Failure> {
    nix::net::if_::if_nametoindex(device).map_err(|_| {
        let devices = nix::net::if_::if_nameindex();
        let names: Vec<_> =
            devices.iter().flatten().map(|d| d.name().to_string_lossy().into_owned()).collect();
        Failure::Input(format!(
            "no device {device:?} in its network namespace, which has {}",
            names.join(", ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_in_this_order() {
        let all = || Facts { root: true, btf: true, struct_ops: true, tcx: true };
        assert!(all().missing(true).is_ok());
        let first_word = |facts: Facts| {
            let said = facts.missing(true).unwrap_err().to_string();
            said.split(':').nth(1).unwrap().trim().to_owned()
        };
        assert_eq!(first_word(Facts { root: false, btf: false, ..all() }), "not root");
        assert_eq!(
            first_word(Facts { btf: false, struct_ops: false, tcx: false, ..all() }),
            "no /sys/kernel/btf/vmlinux"
        );
        assert_eq!(first_word(Facts { struct_ops: false, ..all() }), "no struct_ops for TCP");
        assert_eq!(first_word(Facts { tcx: false, ..all() }), "no tcx");
        assert!(Facts { struct_ops: false, ..all() }.missing(false).is_ok());
    }
}
