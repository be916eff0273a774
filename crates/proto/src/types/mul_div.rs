//! Multiplication and division without overflow.

/// `factor * other / divisor`, which must not be zero. The product nearly always fits one word, and a
/// division of two words takes several times as long.
#[inline]
pub(crate) fn mul_div(factor: u64, other: u64, divisor: u64) -> u128 {
    match factor.checked_mul(other) {
        Some(product) => u128::from(product / divisor),
        None => u128::from(factor) * u128::from(other) / u128::from(divisor),
    }
}

/// The same, rounded up.
#[inline]
pub(crate) fn mul_div_ceil(factor: u64, other: u64, divisor: u64) -> u128 {
    match factor.checked_mul(other) {
        Some(product) => u128::from(product.div_ceil(divisor)),
        None => (u128::from(factor) * u128::from(other)).div_ceil(u128::from(divisor)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_or_two_give_the_same() {
        for (factor, other, divisor, down, up) in [
            (0, 7, 3, 0, 0),
            (10, 7, 3, 23, 24),
            (6, 7, 3, 14, 14),
            (u64::MAX, 1, 2, u128::from(u64::MAX / 2), 1 << 63),
            (u64::MAX, 10, 4, u128::from(u64::MAX) * 10 / 4, u128::from(u64::MAX) * 10 / 4 + 1),
            (u64::MAX, u64::MAX, 1, u128::from(u64::MAX).pow(2), u128::from(u64::MAX).pow(2)),
        ] {
            assert_eq!(mul_div(factor, other, divisor), down, "{factor} * {other} / {divisor}");
            assert_eq!(mul_div_ceil(factor, other, divisor), up, "{factor} * {other} / {divisor}");
        }
    }
}
