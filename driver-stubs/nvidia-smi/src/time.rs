//! Local time, as nvidia-smi writes it.
//! The only file that asks for the date.

use std::time::{SystemTime, UNIX_EPOCH};

/// `Mon Nov 30 21:24:17 2026`.
pub fn long() -> String {
    formatted(c"%a %b %e %H:%M:%S %Y")
}

/// `2026/11/30 19:09:39.148`.
pub fn csv() -> String {
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_millis());
    format!("{}.{millis:03}", formatted(c"%Y/%m/%d %H:%M:%S"))
}

fn formatted(pattern: &std::ffi::CStr) -> String {
    let mut buffer = [0_u8; 64];
    // SAFETY: plain libc calls on live variables of the right types and sizes; `tm` is plain data.
    let written = unsafe {
        let now = libc::time(std::ptr::null_mut());
        let mut parts: libc::tm = std::mem::zeroed();
        libc::localtime_r(&raw const now, &raw mut parts);
        libc::strftime(buffer.as_mut_ptr().cast(), buffer.len(), pattern.as_ptr(), &raw const parts)
    };
    String::from_utf8_lossy(&buffer[..written]).into_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn both_forms_have_their_fixed_width() {
        assert_eq!((super::long().len(), super::csv().len()), (24, 23));
    }
}
