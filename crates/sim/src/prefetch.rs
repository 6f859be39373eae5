//! Asking the processor to load memory that will be wanted soon.

/// Begins to load the cache lines of `value`, at most the first `LINES`.
#[inline]
pub(crate) fn prefetch<T, const LINES: usize>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        let start = std::ptr::from_ref(value).cast::<i8>();
        for line in 0..LINES.min(size_of::<T>().div_ceil(64)) {
            // SAFETY: a prefetch reads nothing that the program can see, and the address lies
            // within `value`.
            #[expect(unsafe_code, reason = "the one instruction that Rust has no safe name for")]
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(64 * line));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
