//! The search: quadratic models in a region of trust.
//!
//! ```text
//! s        = argmin of the model, within the radius and the bounds
//! ratio    = (what the value at x + s is better) / (what the model promised)
//! radius   grows where models hold, shrinks where they do not
//! models that do not hold: ask where the points lie badly; once they lie well, look closer
//! ```
//!
//! Powell's NEWUOA and BOBYQA (2006, 2009) in spirit: 2P + 1 points, and a matrix that changes as
//! little as it can. One thing is added: the first promise that is not kept is followed by two more
//! values on the same line. Where their third difference vanishes the function is a quadratic, and
//! all pairs of axes are asked at once, whatever its condition number.

use super::interpolation::{Interpolation, Seen, apart, length};
use super::region::{Quadratic, Within, best_step};
use crate::joint::quadratic::times;
use crate::problem::Variables;
use std::collections::VecDeque;
use std::ops::Range;

/// What the search asks next.
#[derive(Clone, Debug)]
pub(super) enum Next {
    /// Points.
    Ask(Vec<Vec<f64>>),
    /// Nothing: values can tell no more.
    Found,
    /// Nothing: again and again values did not follow the models.
    Broken,
}

/// Everything that a search looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub seen: &'a Seen,
    pub variables: &'a Variables,
}

/// A search between two questions.
#[derive(Clone, Debug)]
pub(super) struct Search {
    model: Interpolation,
    radius: f64,
    /// Steps shorter than half of this tell nothing yet.
    finest: f64,
    expects: Expects,
    /// Whether the function was asked if it is a quadratic.
    tested: bool,
    /// How well the last step kept its promise.
    ratio: f64,
    /// The promise of the last step.
    promised: f64,
    /// The points may lie badly.
    doubted: bool,
    /// Whether each of the last promises was kept at least roughly.
    kept: VecDeque<bool>,
    /// Steps whose promise was below rounding.
    tiny: u32,
    /// The least `finest`.
    end: f64,
}

/// What the values that were asked for are.
#[derive(Clone, Debug)]
enum Expects {
    /// The end of a step.
    Step { from: Vec<f64>, least: f64, promised: f64 },
    /// Two more values on the line of a step.
    Line { ends: [Vec<f64>; 2], least: f64, middle: f64 },
    /// All pairs of axes. What else is on the line tells nothing more of a quadratic.
    Pairs { line: Range<usize> },
    /// A point instead of a member.
    Mended { member: usize },
    /// Whole numbers and points beside the best.
    Beside,
}

/// A ratio this far from one is a promise that was not kept to the last digits.
const EXACT: f64 = 1e-6;
/// Third differences this small beside second ones are those of a quadratic.
const QUADRATIC: f64 = 1e-5;
/// Rounding of a sum, beside its size.
const ROUNDING: f64 = 1e-15;
/// Down to steps of this size a model that does not hold is mended before it is believed.
const DOUBTED: f64 = 1e-4;
/// Promises below this part of a value may be lost in the rounding of whoever computes it.
const HIDDEN: f64 = 1e-11;
/// A function that no quadratic is like on this scale, in first steps, is not smooth.
const CLOSE: f64 = 2e-5;
/// How far from where a search ends it is asked whether that is where to be, in first steps.
const INSIDE: f64 = 0.1;
/// Steps that are judged together, at least.
const LEAST_STEPS: usize = 40;

impl Search {
    /// From the first points: the start, and steps along the axes.
    pub fn new(view: View<'_>, end: f64) -> Self {
        let members = (0..view.seen.points.len()).collect();
        Self {
            model: Interpolation::new(members, view.seen),
            radius: 1.0,
            finest: 1.0,
            expects: Expects::Beside,
            tested: false,
            ratio: f64::NAN,
            promised: f64::INFINITY,
            doubted: false,
            kept: VecDeque::new(),
            tiny: 0,
            end,
        }
    }

    /// The first points: the start, then one step to either side along every axis, or two to one
    /// side where a bound is near.
    pub fn opening(variables: &Variables) -> Vec<Vec<f64>> {
        let n = variables.free();
        let mut start = vec![0.0; n];
        variables.settle(&mut start);
        let mut points = vec![start.clone()];
        for p in 0..n {
            let [low, high] = variables.bounds(p);
            let mut steps: Vec<f64> = Vec::new();
            for step in [1.0, -1.0, 2.0, -2.0, high, low] {
                let mut point = start.clone();
                point[p] = step.clamp(low, high);
                variables.settle(&mut point);
                let near = |other: &f64| (point[p] - other).abs() < 0.4;
                if !near(&start[p]) && !steps.iter().any(near) && steps.len() < 2 {
                    steps.push(point[p]);
                    points.push(point);
                }
            }
        }
        points
    }

    /// The model as it stands.
    pub fn model(&self) -> &Interpolation {
        &self.model
    }

    /// What the last step promised.
    pub fn promised(&self) -> f64 {
        self.promised
    }

    /// What to ask next.
    pub fn next(&mut self, view: View<'_>) -> Next {
        match self.expects.clone() {
            Expects::Line { ends, .. } => return Next::Ask(ends.to_vec()),
            Expects::Pairs { line } => match self.pairs(view) {
                pairs if pairs.is_empty() => self.take_pairs(&line, view),
                pairs => return Next::Ask(pairs),
            },
            _ => {}
        }
        loop {
            if self.finest < self.end || self.tiny > 2 {
                return self.beside(view).map_or(Next::Found, Next::Ask);
            }
            if self.is_broken(view) {
                return Next::Broken;
            }
            if std::mem::take(&mut self.doubted)
                && let Some(point) = self.mend(view, self.radius)
            {
                return Next::Ask(vec![point]);
            }
            let centre = &view.seen.points[self.model.centre];
            let least = view.seen.values[self.model.centre];
            let point = self.step(view);
            let step: Vec<f64> = point.iter().zip(centre).map(|(x, c)| x - c).collect();
            self.promised = -self.model.quadratic().change(&step);
            if self.promised.is_nan() || self.promised <= ROUNDING * least.abs() {
                // A model that was wrong, or never tried, promises nothing before a closer look.
                if !self.holds()
                    && self.finest > DOUBTED
                    && let Some(point) = self.mend(view, self.finest)
                {
                    return Next::Ask(vec![point]);
                }
                self.tiny += u32::from(self.finest < 1e-2 || self.holds());
                self.shrink();
            } else if length(&step) < 0.5 * self.finest || view.seen.position(&point).is_some() {
                // A model that holds needs no better points to look closer.
                if !self.holds()
                    && let Some(point) = self.mend(view, self.finest)
                {
                    return Next::Ask(vec![point]);
                }
                self.shrink();
            } else {
                let promised = self.promised;
                self.expects = Expects::Step { from: centre.clone(), least, promised };
                return Next::Ask(vec![point]);
            }
        }
    }

    /// Goes on with the values that were asked for.
    pub fn learn(&mut self, asked: Range<usize>, view: View<'_>) {
        let Some(new) = (!asked.is_empty()).then_some(asked.start) else { return };
        match std::mem::replace(&mut self.expects, Expects::Beside) {
            Expects::Step { from, least, promised } => {
                self.judge(new, &from, least, promised, view);
            }
            Expects::Line { least, middle, .. } => self.follow_line(asked, least, middle, view),
            Expects::Pairs { line } => self.take_pairs(&line, view),
            Expects::Mended { member } => {
                self.model.take(new, Some(member), self.reach_of_members(), view.seen);
            }
            Expects::Beside => {
                // Better beside: search on from there.
                if asked.clone().any(|at| view.seen.values[at] < self.least(view)) {
                    asked.for_each(|at| {
                        self.model.take(at, None, self.reach_of_members(), view.seen);
                    });
                    (self.finest, self.radius, self.tiny) = (1.0, 1.0, 0);
                }
            }
        }
    }

    /// A model through all that was asked but the line.
    fn take_pairs(&mut self, line: &Range<usize>, view: View<'_>) {
        self.expects = Expects::Beside;
        let all = 0..view.seen.points.len();
        self.model.members = all.filter(|at| !line.contains(at)).collect();
        self.model.refit(view.seen);
        self.radius = 4.0 * self.radius.max(1.0);
    }

    fn least(&self, view: View<'_>) -> f64 {
        view.seen.values[self.model.centre]
    }

    /// The last step kept its promise nearly.
    fn holds(&self) -> bool {
        (self.ratio - 1.0).abs() < 0.02
    }

    fn reach_of_members(&self) -> f64 {
        (0.1 * self.radius).max(self.finest)
    }

    /// How far each coordinate may go from the centre.
    fn room(&self, view: View<'_>) -> Vec<[f64; 2]> {
        let centre = &view.seen.points[self.model.centre];
        let room = |(p, c): (usize, &f64)| {
            let [low, high] = view.variables.bounds(p);
            [(low - c).min(0.0), (high - c).max(0.0)]
        };
        centre.iter().enumerate().map(room).collect()
    }

    /// The point that the model promises most of, where it may be asked.
    fn step(&self, view: View<'_>) -> Vec<f64> {
        let model = self.model.quadratic();
        let mut room = self.room(view);
        let within = Within { radius: self.radius, room: &room };
        let step = best_step(model, within);
        let centre = &view.seen.points[self.model.centre];
        let point = self.moved(view, &step, &room);
        let whole: Vec<usize> =
            (0..point.len()).filter(|&p| view.variables.is_integer(p)).collect();
        if whole.is_empty() || whole.len() == point.len() {
            return point;
        }
        // Whole numbers stay where they settled, and the others go on from there.
        let mut fixed = vec![0.0; point.len()];
        for p in whole {
            fixed[p] = point[p] - centre[p];
            room[p] = [0.0, 0.0];
        }
        let gradient = times(model.hessian, &fixed, model.gradient);
        let rest = Quadratic { gradient: &gradient, hessian: model.hessian };
        let step = best_step(rest, Within { radius: self.radius, room: &room });
        let all: Vec<f64> = fixed.iter().zip(step).map(|(f, s)| f + s).collect();
        self.moved(view, &all, &self.room(view))
    }

    /// The centre and a step. A step to a bound ends there to the last bit.
    fn moved(&self, view: View<'_>, step: &[f64], room: &[[f64; 2]]) -> Vec<f64> {
        let centre = &view.seen.points[self.model.centre];
        let mut point: Vec<f64> = (0..step.len())
            .map(|p| {
                let ([low, high], [down, up]) = (view.variables.bounds(p), room[p]);
                match step[p] {
                    s if s >= up && s > 0.0 => high,
                    s if s <= down && s < 0.0 => low,
                    s => centre[p] + s,
                }
            })
            .collect();
        view.variables.settle(&mut point);
        point
    }

    /// Compares the value at the end of a step with what was promised.
    fn judge(&mut self, new: usize, from: &[f64], least: f64, promised: f64, view: View<'_>) {
        let value = view.seen.values[new];
        self.ratio = (least - value) / promised;
        let far = apart(&view.seen.points[new], from);
        self.radius = match self.ratio {
            ratio if ratio <= 0.1 => 0.5 * far,
            ratio if ratio <= 0.7 => far.max(0.5 * self.radius),
            _ if self.holds() => self.radius.max(4.0 * far),
            ratio if ratio > 0.7 => self.radius.max(2.0 * far),
            // No number.
            _ => 0.5 * far,
        };
        if self.radius <= 1.5 * self.finest {
            self.radius = self.finest;
        }
        // What rounding hides is nobody's promise.
        if promised > HIDDEN * least.abs() {
            self.kept.push_back((self.ratio - 1.0).abs() < 0.5);
        }
        self.model.take(new, None, self.reach_of_members(), view.seen);
        let kept = (self.ratio - 1.0).abs() <= EXACT;
        if !kept && !self.tested {
            self.tested = true;
            let ends = on_line(from, &view.seen.points[new], view.variables);
            if ends.iter().all(|point| view.seen.position(point).is_none()) {
                self.expects = Expects::Line { ends, least, middle: value };
                return;
            }
        }
        if self.ratio.is_nan() || self.ratio <= 0.1 {
            self.fall_back(view);
            self.doubt(far);
        }
    }

    /// After a promise that was not kept: mend the points, or look closer.
    fn doubt(&mut self, far: f64) {
        self.doubted = true;
        let badly = self.model.distance(self.model.farthest()) > 2.0 * self.radius;
        if !badly && self.radius <= self.finest && far <= self.finest {
            self.doubted = false;
            self.shrink();
        }
    }

    /// Closer and closer, and still few promises are kept: no quadratic is like this function.
    fn is_broken(&mut self, view: View<'_>) -> bool {
        let many = (4 * view.variables.free()).max(LEAST_STEPS);
        while self.kept.len() > many {
            self.kept.pop_front();
        }
        let kept = self.kept.iter().filter(|kept| **kept).count();
        self.finest < CLOSE && self.kept.len() == many && 5 * kept <= many
    }

    /// With all pairs of axes a model is as good as it gets only where nothing bends otherwise.
    fn fall_back(&mut self, view: View<'_>) {
        let few = 2 * view.variables.free() + 1;
        if self.model.members.len() > few + 1 {
            self.model.keep_nearest(few, view.seen);
        }
    }

    /// Looks closer.
    fn shrink(&mut self) {
        self.finest *= 0.1;
        let closer =
            if self.radius > 10.0 * self.finest { 0.5 * self.radius } else { 5.0 * self.finest };
        self.radius = closer.max(self.finest);
    }

    /// A better place for the farthest member, where it is too far.
    fn mend(&mut self, view: View<'_>, scale: f64) -> Option<Vec<f64>> {
        let member = self.model.farthest();
        let far = self.model.distance(member);
        if far <= 2.0 * scale {
            return None;
        }
        let reach = (0.1 * far).min(0.5 * self.radius).max(self.finest);
        let step = self.model.mending(member, reach, &self.room(view));
        let point = self.moved(view, &step, &self.room(view));
        if view.seen.position(&point).is_some() {
            return None;
        }
        self.expects = Expects::Mended { member };
        Some(point)
    }

    /// Takes in two more values on a line, or asks for all pairs of axes.
    fn follow_line(&mut self, asked: Range<usize>, least: f64, middle: f64, view: View<'_>) {
        let [Some(&ahead), Some(&behind)] =
            [asked.start, asked.start + 1].map(|at| view.seen.values.get(at))
        else {
            return;
        };
        let third = ahead - 3.0 * middle + 3.0 * least - behind;
        let second = (middle - 2.0 * least + behind).abs() + (ahead - 2.0 * middle + least).abs();
        let from = asked.start - 1;
        // Bounds may have moved an end of the line.
        let length = |at: usize| apart(&view.seen.points[at], &view.seen.points[from]);
        let even = (length(asked.start + 1) / length(asked.start) - 2.0).abs() < 1e-6;
        if even && third.abs() <= QUADRATIC * second + 1e-13 * least.abs() {
            self.expects = Expects::Pairs { line: asked };
            return;
        }
        asked.for_each(|at| self.model.take(at, None, self.reach_of_members(), view.seen));
    }

    /// One step along two axes each, to the better side of both, but for as many as other points
    /// stand in for.
    fn pairs(&self, view: View<'_>) -> Vec<Vec<f64>> {
        let Seen { points, values } = view.seen;
        let n = view.variables.free();
        let start = &points[0];
        let along: Vec<Option<usize>> = (0..n)
            .map(|p| {
                let moves = |at: &usize| (0..n).all(|q| (points[*at][q] != start[q]) == (p == q));
                (1..points.len()).filter(moves).min_by(|a, b| values[*a].total_cmp(&values[*b]))
            })
            .collect();
        let mut pairs = Vec::new();
        for p in 0..n {
            for q in 0..p {
                if let (Some(a), Some(b)) = (along[p], along[q]) {
                    let mut point = start.clone();
                    (point[p], point[q]) = (points[a][p], points[b][q]);
                    pairs.push(point);
                }
            }
        }
        // The end of the step is worth one of them.
        pairs.pop();
        pairs
    }

    /// Whole numbers beside the best point, and points to either side of it along every axis, as
    /// far as they were not asked yet: a model may only seem flat there, or push to a bound.
    fn beside(&mut self, view: View<'_>) -> Option<Vec<Vec<f64>>> {
        let best = &view.seen.points[self.model.centre];
        let mut points: Vec<Vec<f64>> = Vec::new();
        for p in (0..best.len()).filter(|&p| view.variables.is_integer(p)) {
            for by in [1.0, -1.0] {
                let mut point = best.clone();
                point[p] = view.variables.beside(p, best[p], by);
                if view.seen.position(&point).is_none() && !points.contains(&point) {
                    points.push(point);
                }
            }
        }
        for (p, [down, up]) in self.room(view).into_iter().enumerate() {
            if view.variables.is_integer(p) {
                continue;
            }
            for by in [INSIDE, -INSIDE].map(|by| by.clamp(0.5 * down, 0.5 * up)) {
                let mut point = best.clone();
                point[p] += by;
                if by != 0.0 && view.seen.position(&point).is_none() {
                    points.push(point);
                }
            }
        }
        self.expects = Expects::Beside;
        (!points.is_empty()).then_some(points)
    }
}

/// Twice as far as a step, and as far back.
fn on_line(from: &[f64], to: &[f64], variables: &Variables) -> [Vec<f64>; 2] {
    [2.0, -1.0].map(|times| {
        let ends = from.iter().zip(to);
        let mut point: Vec<f64> = ends.map(|(from, to)| from + times * (to - from)).collect();
        variables.settle(&mut point);
        point
    })
}
