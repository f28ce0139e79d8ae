//! Sliding sums over the last moments: how utilisation and rates are averaged. Pure arithmetic on intervals;
//! it reads no clock.

/// What happened in one interval; the meaning of the values is the owner's.
#[derive(Clone, Copy, Debug)]
struct Slot<const N: usize> {
    elapsed_ns: u64,
    values: [u64; N],
}

/// Sums of `N` values over at least the last `span_ns`, made of whole intervals.
#[derive(Clone, Debug)]
pub struct Window<const N: usize> {
    span_ns: u64,
    slots: std::collections::VecDeque<Slot<N>>,
    elapsed_ns: u64,
    sums: [u64; N],
}

impl<const N: usize> Window<N> {
    pub fn new(span_ns: u64) -> Window<N> {
        Window { span_ns, slots: std::collections::VecDeque::new(), elapsed_ns: 0, sums: [0; N] }
    }

    /// Adds an interval and forgets those the span no longer needs.
    pub fn push(&mut self, elapsed_ns: u64, values: [u64; N]) {
        if elapsed_ns == 0 {
            return;
        }
        self.slots.push_back(Slot { elapsed_ns, values });
        self.elapsed_ns += elapsed_ns;
        for (sum, value) in self.sums.iter_mut().zip(values) {
            *sum += value;
        }
        while let Some(oldest) = self.slots.front()
            && self.elapsed_ns - oldest.elapsed_ns >= self.span_ns
        {
            self.elapsed_ns -= oldest.elapsed_ns;
            for (sum, value) in self.sums.iter_mut().zip(oldest.values) {
                *sum -= value;
            }
            self.slots.pop_front();
        }
    }

    /// Value `which` in percent of the time, rounded to the nearest.
    pub fn percent(&self, which: usize) -> u32 {
        self.rate(which, 100).min(100) as u32
    }

    /// Value `which` per `unit` nanoseconds, rounded to the nearest; 0 before the first interval.
    pub fn rate(&self, which: usize, unit: u64) -> u64 {
        if self.elapsed_ns == 0 {
            return 0;
        }
        let scaled = u128::from(self.sums[which]) * u128::from(unit) + u128::from(self.elapsed_ns / 2);
        (scaled / u128::from(self.elapsed_ns)).min(u128::from(u64::MAX)) as u64
    }

    /// Nothing but zeros in sight.
    pub fn is_quiet(&self) -> bool {
        self.sums.iter().all(|sum| *sum == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_forgets_what_is_older_than_its_span() {
        let mut window = Window::<1>::new(500);
        for _ in 0..5 {
            window.push(100, [80]);
        }
        assert_eq!(window.percent(0), 80);
        for _ in 0..4 {
            window.push(100, [0]);
        }
        assert_eq!(window.percent(0), 16);
        window.push(100, [0]);
        assert!(window.is_quiet() && window.percent(0) == 0);
    }

    #[test]
    fn one_long_interval_replaces_all_before_it() {
        let mut window = Window::<1>::new(500);
        window.push(100, [100]);
        window.push(1_000, [0]);
        assert_eq!(window.percent(0), 0);
    }
}
