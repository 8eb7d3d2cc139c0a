//! The variables of a black box: where each starts, between which bounds it stays, and on which
//! scale it is.
//!
//! Algorithms work in coordinates of their own: zero is the start, and one is a natural first step.
//! [`Variables::outside`] is the only way back, and it never leaves the bounds.

use thiserror::Error;

/// One variable of a black box.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where a search begins; without one in the middle of the bounds, or at zero.
    pub start: Option<f64>,
    /// No question is below; minus infinity where there is no bound.
    pub low: f64,
    /// No question is above.
    pub high: f64,
    /// Steps are factors and not summands.
    pub log: bool,
    /// Only whole numbers are asked for.
    pub integer: bool,
}

impl Variable {
    /// Free, from zero.
    pub fn free(name: impl Into<String>) -> Self {
        let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
        Self { name: name.into(), start: None, low, high, log: false, integer: false }
    }
}

/// What is wrong with a variable.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("variable `{name}`: `{key}` {problem}")]
pub struct BadVariable {
    /// Its name.
    pub name: String,
    /// The key.
    pub key: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

/// All variables of a black box, and the coordinates that algorithms work in.
#[derive(Clone, Debug, PartialEq)]
pub struct Variables {
    all: Vec<Mapped>,
    /// Those that move.
    free: Vec<usize>,
}

/// A variable with its coordinate.
#[derive(Clone, Debug, PartialEq)]
struct Mapped {
    variable: Variable,
    /// Where the coordinate is zero, and how far one goes: on the scale of the variable.
    start: f64,
    unit: f64,
}

/// The part of a range that is a first step.
const FIRST_STEP: f64 = 0.25;

impl Variables {
    /// Checks them.
    pub fn new(variables: Vec<Variable>) -> Result<Self, BadVariable> {
        let all: Vec<Mapped> = variables.into_iter().map(Mapped::new).collect::<Result<_, _>>()?;
        let free = (0..all.len()).filter(|&p| !all[p].is_fixed()).collect();
        Ok(Self { all, free })
    }

    /// Variables without bounds, from zero: coordinates are the variables themselves.
    pub fn unbounded(count: usize) -> Self {
        let mapped = |p: usize| Mapped {
            variable: Variable::free(format!("x{}", p + 1)),
            start: 0.0,
            unit: 1.0,
        };
        Self { all: (0..count).map(mapped).collect(), free: (0..count).collect() }
    }

    /// All variables, fixed ones included.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Coordinates: variables that move.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// All variables.
    pub fn iter(&self) -> impl Iterator<Item = &Variable> {
        self.all.iter().map(|mapped| &mapped.variable)
    }

    /// Whether coordinates are the variables themselves: a penalty is about those.
    pub fn are_plain(&self) -> bool {
        let plain =
            |v: &Mapped| !v.variable.log && !v.variable.integer && v.start == 0.0 && v.unit == 1.0;
        self.free.len() == self.all.len() && self.all.iter().all(plain)
    }

    /// The variables at these coordinates: always inside the bounds.
    pub fn outside(&self, coordinates: &[f64]) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.count());
        self.outside_into(coordinates, &mut out);
        out
    }

    /// The same, after what is there.
    pub fn outside_into(&self, coordinates: &[f64], out: &mut Vec<f64>) {
        let mut free = self.free.iter().zip(coordinates).peekable();
        for (p, mapped) in self.all.iter().enumerate() {
            let moved = free.next_if(|(at, _)| **at == p);
            out.push(mapped.value(moved.map_or(0.0, |(_, u)| *u)));
        }
    }

    /// Moves coordinates to where they are asked for: inside the bounds, on whole numbers.
    pub fn settle(&self, coordinates: &mut [f64]) {
        for (&p, u) in self.free.iter().zip(coordinates) {
            *u = self.all[p].settled(*u);
        }
    }

    /// The bounds of a coordinate.
    pub fn bounds(&self, coordinate: usize) -> [f64; 2] {
        let mapped = &self.all[self.free[coordinate]];
        [mapped.variable.low, mapped.variable.high].map(|bound| mapped.coordinate(bound))
    }

    /// Whether a coordinate is asked for at whole numbers only.
    pub fn is_integer(&self, coordinate: usize) -> bool {
        self.all[self.free[coordinate]].variable.integer
    }

    /// The coordinate so many whole numbers away.
    pub fn beside(&self, coordinate: usize, u: f64, by: f64) -> f64 {
        let mapped = &self.all[self.free[coordinate]];
        mapped.settled(mapped.coordinate(mapped.value(u) + by))
    }
}

impl Mapped {
    fn new(variable: Variable) -> Result<Self, BadVariable> {
        let bad = |key, problem: &str| {
            Err(BadVariable { name: variable.name.clone(), key, problem: problem.into() })
        };
        let Variable { start, low, high, log, integer, .. } = variable;
        if low.is_nan() || low == f64::INFINITY {
            return bad("low", &format!("is {low}"));
        }
        if high.is_nan() || high == f64::NEG_INFINITY {
            return bad("high", &format!("is {high}"));
        }
        if low > high {
            return bad("high", &format!("is {high}, below `low`, which is {low}"));
        }
        if integer && low.ceil() > high.floor() {
            return bad("integer", &format!("has no whole number between {low} and {high}"));
        }
        let (low, high) = if integer { (low.ceil(), high.floor()) } else { (low, high) };
        if log && low.is_finite() && low <= 0.0 {
            return bad("low", &format!("is {low}, and `scale = \"log\"` needs more than 0"));
        }
        if log && high <= 0.0 {
            return bad("high", &format!("is {high}, and `scale = \"log\"` needs more than 0"));
        }
        let between = low..=high;
        if let Some(start) = start {
            if !start.is_finite() {
                return bad("start", &format!("is {start}"));
            }
            if !between.contains(&start) {
                return bad("start", &format!("is {start}, outside {low} to {high}"));
            }
            if log && start <= 0.0 {
                return bad("start", &format!("is {start}, and `scale = \"log\"` needs above 0"));
            }
        }
        let ends = [low, high].map(|bound| scaled(log, bound));
        let [least, most] = ends;
        let bounded = least.is_finite() && most.is_finite();
        let middle = if bounded { 0.5 * least + 0.5 * most } else { 0.0_f64.clamp(least, most) };
        let mut start = start.map_or(middle, |start| scaled(log, start));
        if integer && !log {
            start = start.round().clamp(low, high);
        }
        let range = if bounded { FIRST_STEP * most - FIRST_STEP * least } else { 1.0 };
        let unit = if integer && !log { range.max(1.0) } else { range };
        Ok(Self { variable: Variable { low, high, ..variable }, start, unit })
    }

    fn is_fixed(&self) -> bool {
        self.variable.low == self.variable.high
    }

    /// The value at a coordinate.
    fn value(&self, u: f64) -> f64 {
        let Variable { low, high, log, integer, .. } = self.variable;
        // Bounds are met to the last bit.
        if u >= self.coordinate(high) {
            return high;
        }
        if u <= self.coordinate(low) {
            return low;
        }
        let there = self.start + self.unit * u;
        let value = if log { libm::exp(there) } else { there };
        let value = if integer { value.round() } else { value };
        // What is no number would pass a clamp.
        if value.is_nan() { low.max(f64::MIN).min(high) } else { value.clamp(low, high) }
    }

    /// The coordinate of a value.
    fn coordinate(&self, value: f64) -> f64 {
        (scaled(self.variable.log, value) - self.start) / self.unit
    }

    fn settled(&self, u: f64) -> f64 {
        match self.variable.integer {
            true => self.coordinate(self.value(u)),
            false => {
                let [low, high] =
                    [self.variable.low, self.variable.high].map(|bound| self.coordinate(bound));
                u.clamp(low, high)
            }
        }
    }
}

/// A value on the scale of its variable.
fn scaled(log: bool, value: f64) -> f64 {
    match log {
        false => value,
        true if value <= 0.0 => f64::NEG_INFINITY,
        true => libm::log(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(change: impl Fn(&mut Variable)) -> Result<Variables, BadVariable> {
        let mut variable = Variable::free("x");
        change(&mut variable);
        Variables::new(vec![variable])
    }

    #[test]
    fn coordinates_begin_at_the_start_and_a_quarter_of_a_range_is_one() {
        let v = one(|v| (v.low, v.high, v.start) = (-1.0, 3.0, Some(0.5))).unwrap();
        assert_eq!((v.outside(&[0.0]), v.outside(&[1.0])), (vec![0.5], vec![1.5]));
        assert_eq!((v.outside(&[9.0]), v.outside(&[-9.0])), (vec![3.0], vec![-1.0]));
        let v = one(|v| (v.low, v.high, v.log) = (1e-4, 1e4, true)).unwrap();
        assert!((v.outside(&[0.0])[0] - 1.0).abs() < 1e-15);
        assert!((v.outside(&[1.0])[0] - 100.0).abs() < 1e-11);
        assert!(Variables::unbounded(3).are_plain() && !v.are_plain());
    }

    #[test]
    fn fixed_variables_have_no_coordinate() {
        let fixed = Variable { low: 2.5, high: 2.5, ..Variable::free("b") };
        let all = vec![Variable::free("a"), fixed, Variable::free("c")];
        let v = Variables::new(all).unwrap();
        assert_eq!((v.count(), v.free()), (3, 2));
        assert_eq!(v.outside(&[1.0, -1.0]), [1.0, 2.5, -1.0]);
    }

    #[test]
    fn whole_numbers_settle_on_themselves() {
        let v = one(|v| (v.low, v.high, v.integer) = (-2.5, 9.0, true)).unwrap();
        for u in [-7.0, -0.3, 0.0, 0.4, 2.0, 50.0] {
            let mut settled = [u];
            v.settle(&mut settled);
            let value = v.outside(&[u])[0];
            assert_eq!(v.outside(&settled), [value]);
            assert!(value.fract() == 0.0 && (-2.0..=9.0).contains(&value), "{value}");
        }
        assert_eq!(v.outside(&[v.beside(0, 0.0, 1.0)])[0], v.outside(&[0.0])[0] + 1.0);
    }

    #[test]
    fn what_cannot_be_a_variable_is_refused_by_its_key() {
        let key = |change: fn(&mut Variable)| one(change).unwrap_err().key;
        assert_eq!(key(|v| (v.low, v.high) = (2.0, 1.0)), "high");
        assert_eq!(key(|v| v.low = f64::NAN), "low");
        assert_eq!(key(|v| (v.low, v.log) = (-1.0, true)), "low");
        assert_eq!(key(|v| (v.low, v.high, v.integer) = (0.2, 0.8, true)), "integer");
        assert_eq!(key(|v| (v.low, v.start) = (0.0, Some(-1.0))), "start");
        assert_eq!(key(|v| v.start = Some(f64::INFINITY)), "start");
    }
}
