//! What is asked of every row in one round.

use super::frame::DirectionFrame;
use dzoa_privacy::joint::Region;
use std::sync::Arc;

/// One question to all rows of all agents, at a public point.
#[derive(Clone, Debug)]
pub struct Ask {
    /// What is asked.
    pub question: Question,
    /// Where.
    pub point: Arc<[f64]>,
    /// Where answers lie and what the sum may cost; `None` without protection.
    pub hidden: Option<Hidden>,
}

/// What is asked.
#[derive(Clone, Debug)]
pub enum Question {
    /// The gradient of a row's loss: P numbers.
    Gradient,
    /// What bounds its second derivatives wherever they are taken: c3 x x', as below.
    Majoriser,
    /// Its second derivatives: the upper triangle, so scaled that lengths are those of the matrix.
    Hessian,
    /// The value at each of these points, one after the other, of an agent's whole objective.
    Points(Arc<[f64]>),
    /// Difference quotients along common directions: J numbers, from function values alone.
    Values(Arc<DirectionFrame>),
}

/// What protects a sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Hidden {
    /// Where answers lie.
    pub region: Region,
    /// The guarantee of the sum.
    pub mu: f64,
}

impl Ask {
    /// Numbers in the sum.
    pub fn coordinates(&self) -> usize {
        match &self.hidden {
            Some(hidden) => hidden.region.coordinates(),
            None => self.question.coordinates(self.point.len()),
        }
    }
}

impl Question {
    /// A word for transcripts.
    pub fn purpose(&self) -> &'static str {
        match self {
            Self::Gradient => "gradient",
            Self::Majoriser => "majoriser",
            Self::Hessian => "hessian",
            Self::Points(_) => "points",
            Self::Values(_) => "values",
        }
    }

    /// Numbers in an answer, where there are P columns.
    pub fn coordinates(&self, columns: usize) -> usize {
        match self {
            Self::Gradient => columns,
            Self::Majoriser | Self::Hessian => columns * (columns + 1) / 2,
            Self::Points(points) => points.len() / columns.max(1),
            Self::Values(frame) => frame.count(),
        }
    }
}
