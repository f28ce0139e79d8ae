//! Hexadecimal text by hand: formatting machinery would cost a getter ten times its budget.
//! Nothing here allocates beyond the text itself.

/// Appends the lowest `digits` of a number, in upper case.
pub fn upper(text: &mut String, value: u32, digits: u32) {
    for place in (0..digits).rev() {
        text.push(char::from(b"0123456789ABCDEF"[(value >> (4 * place)) as usize & 15]));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_padded_and_cut_to_their_digits() {
        let mut text = String::new();
        super::upper(&mut text, 0x2a, 4);
        super::upper(&mut text, 0x1ef, 2);
        assert_eq!(text, "002AEF");
    }
}
