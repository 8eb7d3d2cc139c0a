//! A journal of every value that was asked for: a run that was killed asks no point twice.
//!
//! One line for each point, in the order they were asked: its numbers, a bar, and its values. A
//! run that begins anew asks the same questions, and is answered from the journal as far as that
//! goes. Whoever opens it appends lines durably; this room knows no file.

use super::black_box::{Oracle, OracleError, Points};
use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};
use thiserror::Error;

/// Makes a line durable.
pub type Append = Box<dyn FnMut(&str) -> io::Result<()> + Send>;

/// A text that is no journal of this box.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("line {line}: {problem}")]
pub struct BadJournal {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

/// Answers read from a journal, and the bytes of its whole lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answered {
    known: VecDeque<(Vec<f64>, Vec<f64>)>,
    /// What comes after so many bytes was torn by the end of the run, and is to be cut off.
    pub whole: usize,
}

impl Answered {
    /// Reads a journal of points with so many numbers and values.
    pub fn read(text: &str, numbers: usize, values: usize) -> Result<Self, BadJournal> {
        let mut read = Self::default();
        for (at, line) in text.split_inclusive('\n').enumerate() {
            let Some(whole) = line.strip_suffix('\n') else { break };
            let bad = |problem: &str| BadJournal { line: at + 1, problem: problem.into() };
            let (point, answer) = whole.split_once('|').ok_or_else(|| bad("has no bar"))?;
            let parse = |part: &str, count: usize| -> Result<Vec<f64>, BadJournal> {
                let list: Result<Vec<f64>, _> = part.split_whitespace().map(str::parse).collect();
                let list = list.map_err(|_| bad("has what is no number"))?;
                match list.len() == count {
                    true => Ok(list),
                    false => Err(bad(&format!("has {} numbers, not {count}", list.len()))),
                }
            };
            read.known.push_back((parse(point, numbers)?, parse(answer, values)?));
            read.whole += line.len();
        }
        Ok(read)
    }

    /// Points that need not be asked again.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether nothing was asked yet.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

/// An oracle with a journal.
pub struct Journaled {
    inner: Box<dyn Oracle>,
    /// Points asked at once, which are lost together.
    piece: usize,
    state: Mutex<State>,
}

struct State {
    answered: Answered,
    append: Append,
    replayed: usize,
}

impl Journaled {
    /// Goes on from what was answered. Points are asked in pieces of so many, each made durable
    /// before the next is asked.
    pub fn new(inner: Box<dyn Oracle>, answered: Answered, piece: usize, append: Append) -> Self {
        let state = Mutex::new(State { answered, append, replayed: 0 });
        Self { inner, piece: piece.max(1), state }
    }
}

impl Oracle for Journaled {
    fn ask(&self, points: Points<'_>, out: &mut [f64]) -> Result<(), OracleError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let width = out.len() / points.count().max(1);
        let failed = |i: usize, message: String| OracleError { point: Some(i), message };
        let mut first = 0;
        for (point, out) in points.iter().zip(out.chunks_exact_mut(width)) {
            let Some((known, values)) = state.answered.known.pop_front() else { break };
            state.replayed += 1;
            if !known.iter().zip(point).all(|(a, b)| a.to_bits() == b.to_bits()) {
                let at = state.replayed;
                return Err(failed(
                    first,
                    format!("the journal is of another run: its point {at} is {known:?}"),
                ));
            }
            out.copy_from_slice(&values);
            first += 1;
        }
        let rest = &points.values[first * points.dim..];
        let pieces = rest.chunks(self.piece * points.dim);
        for (piece, out) in pieces.zip(out[first * width..].chunks_mut(self.piece * width)) {
            let asked = Points { dim: points.dim, values: piece };
            self.inner.ask(asked, out).map_err(|error| OracleError {
                point: error.point.map(|point| first + point),
                ..error
            })?;
            let mut lines = String::new();
            for (point, values) in asked.iter().zip(out.chunks_exact(width)) {
                point.iter().for_each(|x| lines.push_str(&format!("{x:?} ")));
                lines.push('|');
                values.iter().for_each(|v| lines.push_str(&format!(" {v:?}")));
                lines.push('\n');
            }
            (state.append)(&lines)
                .map_err(|error| failed(first, format!("the journal cannot be kept: {error}")))?;
            first += asked.count();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Counted(Arc<AtomicUsize>);

    impl Oracle for Counted {
        fn ask(&self, points: Points<'_>, out: &mut [f64]) -> Result<(), OracleError> {
            self.0.fetch_add(points.count(), Ordering::Relaxed);
            out.iter_mut().zip(points.iter()).for_each(|(out, p)| *out = p[0] / 3.0 + p[1]);
            Ok(())
        }
    }

    fn opened(text: &Arc<Mutex<String>>, asked: &Arc<AtomicUsize>) -> Journaled {
        let answered = Answered::read(&text.lock().unwrap(), 2, 1).unwrap();
        text.lock().unwrap().truncate(answered.whole);
        let text = text.clone();
        let append: Append = Box::new(move |line| {
            text.lock().unwrap().push_str(line);
            Ok(())
        });
        Journaled::new(Box::new(Counted(asked.clone())), answered, 1, append)
    }

    #[test]
    fn wherever_a_journal_is_torn_no_whole_line_is_asked_again() {
        let points = [0.1, 0.2, 1e300, -0.0, 0.3, 1.0 / 3.0];
        let points = Points { dim: 2, values: &points };
        let (text, asked) = (Arc::default(), Arc::default());
        let mut first = [0.0; 3];
        opened(&text, &asked).ask(points, &mut first).unwrap();
        let whole = text.lock().unwrap().clone();
        for cut in 0..=whole.len() {
            let (text, asked) = (Arc::new(Mutex::new(whole[..cut].to_string())), Arc::default());
            let mut again = [0.0; 3];
            opened(&text, &asked).ask(points, &mut again).unwrap();
            assert_eq!(again.map(f64::to_bits), first.map(f64::to_bits));
            let lines = whole[..cut].matches('\n').count();
            assert_eq!(asked.load(Ordering::Relaxed), 3 - lines);
            assert_eq!(*text.lock().unwrap(), whole);
        }
    }

    #[test]
    fn a_journal_of_another_run_is_refused_where_it_differs() {
        let (text, asked) = (Arc::new(Mutex::new("0.5 1.0 | 2.0\n".to_string())), Arc::default());
        let journal = opened(&text, &asked);
        let points = Points { dim: 2, values: &[0.5, 1.5] };
        let error = journal.ask(points, &mut [0.0]).unwrap_err();
        assert!(error.message.contains("another run: its point 1 is [0.5, 1.0]"), "{error:?}");
        let problem = |text| Answered::read(text, 2, 1).unwrap_err().to_string();
        assert_eq!(problem("1 2 | 3\n1 2\n"), "line 2: has no bar");
        assert_eq!(problem("1 2 3 | 3\n"), "line 1: has 3 numbers, not 2");
        assert_eq!(problem("1 x | 3\n"), "line 1: has what is no number");
    }
}
