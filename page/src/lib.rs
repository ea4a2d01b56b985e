//! narrows in a browser: the answer to what is pasted into a page. Compiled to WebAssembly, it is handed bytes and hands bytes back.
//!
//! A page asks for room ([`reserve`]), writes a [`Request`] there, calls [`answer`], and reads a [`Response`] as JSON of
//! [`length`] bytes.

mod request;
mod response;

pub use request::{Given, Pane, Request};
pub use response::{Mistake, Response, respond};

use std::cell::RefCell;

thread_local! {
    /// What is asked, and after that what is answered.
    static SHARED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Room for a request of so many bytes: where it begins.
#[expect(unsafe_code, reason = "the page calls it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn reserve(bytes: usize) -> *mut u8 {
    SHARED.with_borrow_mut(|shared| {
        shared.clear();
        shared.resize(bytes, 0);
        shared.as_mut_ptr()
    })
}

/// Answers the request that stands in the reserved room: where the response begins.
#[expect(unsafe_code, reason = "the page calls it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    let request = SHARED.take();
    let response = respond(&Request::read(&request));
    drop(request);
    SHARED.with_borrow_mut(|shared| {
        *shared = serde_json::to_vec(&response).unwrap_or_default();
        shared.as_ptr()
    })
}

/// How many bytes the response has.
#[expect(unsafe_code, reason = "the page calls it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn length() -> usize {
    SHARED.with_borrow(Vec::len)
}
