//! Random numbers for tests.

/// A generator of pseudo-random numbers between -1 and 1.
pub(crate) struct PseudoRandom(pub(crate) u64);

impl PseudoRandom {
    pub(crate) fn next(&mut self) -> f64 {
        let state = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = state.wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 33).expect("31 bits")) / f64::from(1_u32 << 30) - 1.0
    }

    pub(crate) fn take(&mut self, len: usize) -> Vec<f64> {
        (0..len).map(|_| self.next()).collect()
    }

    pub(crate) fn exponent(&mut self, low: f64, high: f64) -> f64 {
        10_f64.powf(low + (high - low) * 0.5 * (self.next() + 1.0))
    }

    pub(crate) fn choose<T: Copy>(&mut self, all: &[T]) -> T {
        self.next();
        all[usize::try_from(self.0 >> 33).expect("31 bits") % all.len()]
    }
}
