//! Write amplification by formula, for the tests of the mapping.
//!
//! Everywhere `rho` is user units over the units that hold them, so the spare is `1 - rho`; `b` is the
//! units of a superblock; write amplification is host and moved units over host units.

/// A group of units that are written alike: its share of all units and of all writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Class {
    pub(crate) units: f64,
    pub(crate) writes: f64,
}

/// Where a function crosses zero upwards between `low` and `high`.
fn root(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if f(middle) > 0.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    (low + high) / 2.0
}

/// First in first out, or greedy with superblocks of very many units, under uniform random writes:
/// u = exp(-(1 - u) / rho), WA = 1 / (1 - u) (Desnoyers 2012; Xiang and Kurkoski 2012).
pub(crate) fn fifo(rho: f64) -> f64 {
    // u = 1 is always a root; the other one lies below rho.
    let u = root(0.0, rho, |u| u - (-(1.0 - u) / rho).exp());
    1.0 / (1.0 - u)
}

/// Greedy with superblocks of `b` units. A superblock loses a unit at a rate that goes with its valid
/// units, so the share of superblocks with j of them goes with 1 / j down to the level at which they are
/// collected: rho (H_b - H_j) = 1 - j / b, WA = b / (b - j), H harmonic and linear in between.
pub(crate) fn greedy(rho: f64, b: u32) -> f64 {
    let b_units = f64::from(b);
    let mut sum = 0.0;
    for j in (1..=b).rev() {
        // At j = b both sides are zero; below, the left one is smaller until the level is crossed.
        let next = sum + rho / f64::from(j);
        let level = 1.0 - f64::from(j - 1) / b_units;
        if next >= level && j < b {
            let before = sum - (1.0 - f64::from(j) / b_units);
            let after = next - level;
            let victim = f64::from(j) - before / (before - after);
            return b_units / (b_units - victim);
        }
        sum = next;
    }
    1.0
}

/// The emptiest of `d` superblocks drawn at random (Van Houdt 2013), drawn anew while all of them are
/// full. With S_j the share of superblocks with j valid units or more, a victim has j or more with
/// probability (S_j^d - S_b^d) / (1 - S_b^d), and what falls below a level is what victims below it
/// bring back: x_j = rho b (1 - S_j^d) / ((1 - S_b^d) m j), m = b - mean valid units of a victim.
pub(crate) fn d_choices(rho: f64, b: u32, d: u32) -> f64 {
    let power = |s: f64| s.powi(d as i32);
    let (units, limit) = (f64::from(b), 1.0 - rho);
    // m, the units gained, lies between those of a random victim and all.
    let excess = |m: f64| {
        let full = rho / m;
        let (mut s, mut mean) = (full, 0.0);
        for j in (1..b).rev() {
            let rate = rho * units / ((1.0 - power(full)) * m * f64::from(j));
            s = root(s, 1.0_f64.max(s), |at| at - s - rate * (1.0 - power(at)));
            mean += (power(s) - power(full)) / (1.0 - power(full));
        }
        m - (units - mean)
    };
    units / root(limit * units * 0.99, units, excess)
}

/// First in first out with classes mixed: a unit survives a cycle of t host writes with
/// exp(-t writes / units), so rho t sum(writes / (1 - survivors)) = 1 with all units as 1; WA is the sum.
pub(crate) fn fifo_mixed(rho: f64, classes: &[Class]) -> f64 {
    let writes = |t: f64| -> f64 { classes.iter().map(|c| c.writes / (1.0 - (-t * c.writes / c.units).exp())).sum() };
    let t = root(1e-6, 1.0 / rho, |t| rho * t * writes(t) - 1.0);
    writes(t)
}

/// Two classes in superblocks of their own, the first of which has `share` of the spare.
fn apart(rho: f64, hot: Class, cold: Class, share: f64) -> f64 {
    let spare = 1.0 / rho - 1.0;
    let of = |c: Class, share: f64| c.writes * fifo(c.units / (c.units + spare * share));
    of(hot, share) + of(cold, 1.0 - share)
}

/// Two classes apart, with the split of the spare that costs least.
pub(crate) fn best_apart(rho: f64, hot: Class, cold: Class) -> f64 {
    (1..1000).map(|i| apart(rho, hot, cold, f64::from(i) / 1000.0)).fold(f64::INFINITY, f64::min)
}

/// Two classes apart, victims by age (1 - u) / (1 + u): the split at which both are worth the same when
/// they are collected, at the age t with u = exp(-t writes / units).
pub(crate) fn age_aware_apart(rho: f64, hot: Class, cold: Class) -> f64 {
    let spare = 1.0 / rho - 1.0;
    let worth = |c: Class, share: f64| {
        let u = 1.0 - 1.0 / fifo(c.units / (c.units + spare * share));
        -u.ln() * c.units / c.writes * (1.0 - u) / (1.0 + u)
    };
    apart(rho, hot, cold, root(0.001, 0.999, |share| worth(hot, share) - worth(cold, 1.0 - share)))
}
