//! Validity bits, one a physical unit, set and cleared in runs.

/// A bit for each physical unit: whether a logical unit maps to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bits(Vec<u64>);

/// The bits of word `word` that lie in `[first, end)`.
#[inline]
fn mask(word: u32, first: u32, end: u32) -> u64 {
    let base = word * 64;
    let from = if first > base { !0 << (first - base) } else { !0 };
    let to = if end - base < 64 { (1 << (end - base)) - 1 } else { !0 };
    from & to
}

impl Bits {
    /// `units` cleared bits.
    pub(super) fn new(units: u32) -> Self {
        Bits(vec![0; units.div_ceil(64) as usize])
    }

    /// Whether the bit of `unit` is set.
    pub(super) fn get(&self, unit: u32) -> bool {
        self.0[(unit / 64) as usize] >> (unit % 64) & 1 == 1
    }

    /// Clears one bit.
    #[inline]
    pub(super) fn clear(&mut self, unit: u32) {
        self.0[(unit / 64) as usize] &= !(1 << (unit % 64));
    }

    /// Sets the bits of `[first, end)`, at least one.
    #[inline]
    pub(super) fn set_run(&mut self, first: u32, end: u32) {
        for word in first / 64..=(end - 1) / 64 {
            self.0[word as usize] |= mask(word, first, end);
        }
    }

    /// Clears the bits of `[first, end)`, at least one.
    #[inline]
    pub(super) fn clear_run(&mut self, first: u32, end: u32) {
        for word in first / 64..=(end - 1) / 64 {
            self.0[word as usize] &= !mask(word, first, end);
        }
    }

    /// The first set bit of `[first, end)`, at least one, and how many are set; `end` and 0 if none is.
    #[inline]
    pub(super) fn survey(&self, first: u32, end: u32) -> (u32, u32) {
        let (mut lowest, mut count) = (end, 0);
        for word in first / 64..=(end - 1) / 64 {
            let set = self.0[word as usize] & mask(word, first, end);
            if set != 0 {
                lowest = lowest.min(word * 64 + set.trailing_zeros());
                count += set.count_ones();
            }
        }
        (lowest, count)
    }

    /// Clears the first `count` set bits of `[first, end)`, at least one, and calls `unit` for each in
    /// order.
    #[inline]
    pub(super) fn drain_run(&mut self, first: u32, end: u32, mut count: u32, mut unit: impl FnMut(u32)) {
        for word in first / 64..=(end - 1) / 64 {
            let set = self.0[word as usize] & mask(word, first, end);
            let mut left = set;
            while left != 0 && count > 0 {
                unit(word * 64 + left.trailing_zeros());
                left &= left - 1;
                count -= 1;
            }
            self.0[word as usize] ^= set ^ left;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_end_where_they_should() {
        for (first, end) in [(0, 1), (0, 64), (1, 63), (63, 65), (5, 200), (64, 128), (127, 256), (199, 200)] {
            let mut bits = Bits::new(256);
            bits.set_run(first, end);
            assert!((0..256).all(|unit| bits.get(unit) == (first..end).contains(&unit)), "{first}..{end}");
            let mut rest = bits.clone();
            rest.clear_run(first, end);
            assert_eq!(rest.0, Bits::new(256).0);
            bits.clear(first);
            let mut drained = vec![];
            let count = end - first - 1;
            assert_eq!(bits.survey(0, 256), (if count > 0 { first + 1 } else { 256 }, count));
            bits.drain_run(0, 256, 3, |unit| drained.push(unit));
            assert_eq!(drained, (first + 1..end.min(first + 4)).collect::<Vec<_>>());
            bits.drain_run(0, 256, 256, |unit| drained.push(unit));
            assert_eq!(drained, (first + 1..end).collect::<Vec<_>>());
            assert_eq!(bits.0, Bits::new(256).0);
        }
    }
}
