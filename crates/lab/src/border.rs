//! The border: five functions over one buffer each way.
//!
//! The caller writes a request to where [`input`] points, calls, and reads [`length`] bytes from
//! where [`output`] points. Both places are good until the next call.
#![allow(unsafe_code)] // `no_mangle`, which names the functions for the browser; nothing else

use crate::lab::{answer, Lab};
use std::cell::RefCell;

#[derive(Default)]
struct Border {
    lab: Lab,
    input: Vec<u8>,
    output: Vec<u8>,
}

thread_local! {
    static BORDER: RefCell<Border> = RefCell::default();
}

/// Makes room for a request of `length` bytes. Returns where it goes.
#[no_mangle]
pub extern "C" fn input(length: usize) -> *mut u8 {
    BORDER.with_borrow_mut(|border| {
        border.input.clear();
        border.input.resize(length, 0);
        border.input.as_mut_ptr()
    })
}

/// Returns where the last answer is.
#[no_mangle]
pub extern "C" fn output() -> *const u8 {
    BORDER.with_borrow(|border| border.output.as_ptr())
}

/// Returns the length of the last answer in bytes.
#[no_mangle]
pub extern "C" fn length() -> usize {
    BORDER.with_borrow(|border| border.output.len())
}

/// Answers the request, which is JSON ([`answer`]). Returns 1; or 0, and the answer is the message.
#[no_mangle]
pub extern "C" fn answer_at() -> u32 {
    BORDER.with_borrow_mut(|border| {
        let said = answer(&mut border.lab, &border.input);
        border.put(said.map(String::into_bytes))
    })
}

/// Lets a session go on until that time ([`Lab::advance`]). Returns 1, and the answer is numbers of
/// 64 bits; or 0, and it is the message.
#[no_mangle]
pub extern "C" fn step(session: usize, until_s: f64) -> u32 {
    BORDER.with_borrow_mut(|border| {
        let said = border.lab.advance(session, until_s);
        border.put(said.map(|numbers| numbers.iter().flat_map(|x| x.to_le_bytes()).collect()))
    })
}

impl Border {
    fn put(&mut self, said: Result<Vec<u8>, String>) -> u32 {
        let ok = u32::from(said.is_ok());
        self.output = said.unwrap_or_else(String::into_bytes);
        ok
    }
}
