//! Numbers of about 32 decimal digits: an unevaluated sum of two `f64` (Dekker 1971; Hida, Li &
//! Bailey 2001).

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dd {
    high: f64,
    low: f64,
}

impl From<f64> for Dd {
    fn from(high: f64) -> Self {
        Self { high, low: 0.0 }
    }
}

impl Dd {
    pub(crate) const fn to_f64(self) -> f64 {
        self.high
    }

    pub(crate) fn sqrt(self) -> Self {
        if self.high <= 0.0 {
            return Self::default();
        }
        // One Newton step for 1/sqrt doubles the digits of the hardware's answer.
        let root = Self::from(self.high.sqrt());
        root + (self - root * root) / (root + root)
    }

    fn two_sum(a: f64, b: f64) -> Self {
        let high = a + b;
        let b_part = high - a;
        Self {
            high,
            low: (a - (high - b_part)) + (b - b_part),
        }
    }

    fn quick_two_sum(a: f64, b: f64) -> Self {
        let high = a + b;
        Self {
            high,
            low: b - (high - a),
        }
    }
}

impl Add for Dd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let high = Self::two_sum(self.high, other.high);
        let low = Self::two_sum(self.low, other.low);
        let sum = Self::quick_two_sum(high.high, high.low + low.high);
        Self::quick_two_sum(sum.high, sum.low + low.low)
    }
}

impl Neg for Dd {
    type Output = Self;
    fn neg(self) -> Self {
        Self {
            high: -self.high,
            low: -self.low,
        }
    }
}

impl Sub for Dd {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Dd {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let high = self.high * other.high;
        let error = self.high.mul_add(other.high, -high);
        Self::quick_two_sum(
            high,
            error + (self.high * other.low + self.low * other.high),
        )
    }
}

impl Div for Dd {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let first = Self::from(self.high / other.high);
        let rest = self - first * other;
        let second = Self::from(rest.high / other.high);
        let rest = rest - second * other;
        first + second + Self::from(rest.high / other.high)
    }
}

impl AddAssign for Dd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Dd {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}
