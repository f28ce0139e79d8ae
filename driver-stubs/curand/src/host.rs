//! Random numbers on the host: splitmix64 (Steele, Lea, Flood, 2014) and the usual transformations.
//! They are random, and not the numbers of any NVIDIA generator.

/// A sequence.
#[derive(Clone, Debug)]
pub struct Random(u64);

/// The step of the sequence's counter: 2^64 over the golden ratio.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The same, `count` numbers later.
    pub fn skip(self, count: u64) -> Random {
        Random(self.0.wrapping_add(count.wrapping_mul(STEP)))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// In (0, 1], as cuRAND's.
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        let (radius, angle) = ((-2.0 * self.uniform().ln()).sqrt(), std::f64::consts::TAU * self.uniform());
        radius * angle.cos()
    }

    /// Poisson: counted for small rates, from a normal for large ones.
    pub fn poisson(&mut self, lambda: f64) -> u32 {
        /// Above this the normal is close.
        const LARGE: f64 = 64.0;
        if lambda > LARGE {
            return (lambda + lambda.sqrt() * self.normal()).round().max(0.0) as u32;
        }
        let (limit, mut product, mut count) = ((-lambda).exp(), self.uniform(), 0);
        while product > limit {
            product *= self.uniform();
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_spreads_are_as_asked() {
        let mut random = Random::new(1);
        let count = 20_000;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let uniform: Vec<_> = (0..count).map(|_| random.uniform()).collect();
        assert!((mean(&uniform) - 0.5).abs() < 0.01 && uniform.iter().all(|&x| x > 0.0 && x <= 1.0));
        let normal: Vec<_> = (0..count).map(|_| random.normal()).collect();
        let squares: Vec<_> = normal.iter().map(|x| x * x).collect();
        assert!(mean(&normal).abs() < 0.05 && (mean(&squares) - 1.0).abs() < 0.05);
        for lambda in [3.0, 100.0] {
            let poisson: Vec<_> = (0..count).map(|_| f64::from(random.poisson(lambda))).collect();
            assert!((mean(&poisson) / lambda - 1.0).abs() < 0.05);
        }
    }

    #[test]
    fn a_seed_repeats_and_an_offset_skips() {
        let (mut first, mut second) = (Random::new(9), Random::new(9));
        assert_eq!(first.bits(), second.bits());
        assert_eq!(first.bits(), Random::new(9).skip(1).bits());
    }
}
