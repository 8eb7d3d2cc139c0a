//! Short words about a claim: for titles, tables, charts and terminals, where a sentence does not
//! fit. None of them can be taken for a stronger claim.

use super::Statement;
use crate::Claim;

/// What a curve of epsilon may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurveWords {
    /// Above the chart.
    pub title: &'static str,
    /// Beside the axis.
    pub axis: &'static str,
    /// Of the curve.
    pub curve: &'static str,
}

/// Words of which some stand out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stressed {
    /// Before them.
    pub before: &'static str,
    /// What stands out; may be empty.
    pub strong: &'static str,
    /// After them.
    pub after: &'static str,
}

impl Claim {
    /// Beside a figure of the paper's.
    pub const PAPERS_FIGURE: &'static str = "nominal: the paper's figure, not a guarantee";

    /// As files have it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Nominal => "nominal",
            Self::None => "none",
        }
    }

    /// In a table.
    pub fn label(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Nominal => "nominal: no guarantee",
            Self::None => "none",
        }
    }

    /// Behind the name of what is compared; empty for an exact claim.
    pub fn caution(self) -> &'static str {
        match self {
            Self::Exact => "",
            Self::Nominal => ", nominal: no guarantee",
            Self::None => ", no guarantee",
        }
    }

    /// In the title of a chart.
    pub fn in_title(self) -> &'static str {
        match self {
            Self::Exact => "privacy exact",
            Self::Nominal => "privacy nominal: not a guarantee",
            Self::None => "no privacy claim",
        }
    }

    /// Behind the name of a mechanism that is planned with.
    pub fn of_mechanism(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Nominal => "NOMINAL: no guarantee",
            Self::None => "guarantees nothing",
        }
    }

    /// Behind a total.
    pub fn of_total(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Nominal => "by Theorem 2: nominal",
            Self::None => "no guarantee",
        }
    }

    /// Behind what was spent so far, in a line of progress.
    pub fn so_far(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Nominal => "nominal, no guarantee",
            Self::None => "no guarantee",
        }
    }

    /// Over a curve of what was spent.
    pub fn of_curve(self) -> CurveWords {
        match self {
            Self::Exact => CurveWords { title: "Exact epsilon", axis: "exact ε", curve: "exact" },
            Self::Nominal => CurveWords {
                title: "Nominal epsilon: not a guarantee",
                axis: "nominal ε (Theorem 2)",
                curve: "nominal (Theorem 2)",
            },
            Self::None => CurveWords {
                title: "Epsilon accounted in a run without a guarantee",
                axis: "ε, accounted without a guarantee",
                curve: "accounted, without a guarantee",
            },
        }
    }
}

impl Statement {
    /// Why numbers without an exact claim must not be relied on.
    pub const FIGURES_ON_PAPER: &'static str =
        "Without an exact claim these are figures on paper: none of them is a guarantee.";

    /// Why a page with measurements must stay with the holder of the rows.
    pub const MEASURED_ON_ROWS: &'static str = "Errors, optimum, accuracy and what was measured \
        are computed from the rows as they are. No guarantee covers them, whatever is claimed for \
        the messages. report.shared.html and model.json hold what was exchanged, and nothing else.";

    /// What a page is that has nothing but protected quantities.
    pub const PROTECTED_ONLY: &'static str = "Everything on this page is a function of what the \
        agents exchanged under the guarantee below, or was public before. Nothing that was \
        measured on rows is here: no accuracy, no objective, no counts.";

    /// Why such a page has no result where nothing is guaranteed.
    pub const NOTHING_PROTECTED: &'static str = "This run has no exact guarantee, so none of its \
        results is protected, and none is here: the page has what was public before. report.html \
        has the results, for the holder of the rows.";

    /// Behind a value that nothing protects, in a result that has a guarantee for the rest.
    pub const UNPROTECTED_VALUE: &'static str = "unprotected: do not share";

    /// What a curve of the privacy spent means, in plain words.
    pub fn of_spending(&self) -> Stressed {
        match self.claim {
            Claim::Exact => Stressed {
                before: "Every release is charged before it is made. The curve is what was \
                         charged so far, for the agent that was charged most. The guarantee is \
                         that of the whole plan, whenever a run ends.",
                strong: "",
                after: "",
            },
            Claim::Nominal => Stressed {
                before: "The curve is the paper's composition of its figure per round. ",
                strong: "It is nominal: ",
                after: "it would be a cost only if the noise that it assumes were there.",
            },
            Claim::None if self.is_noisy() => Stressed {
                before: "",
                strong: "No guarantee. ",
                after: "The accounting is shown as a run that keeps its promise would show it; \
                        this run does not.",
            },
            Claim::None => Stressed {
                before: "",
                strong: "Not protected. ",
                after: "There is no budget, and nothing to spend: everything was exchanged in the \
                        clear.",
            },
        }
    }

    /// Where Lemma 3 was taken with a c1 that is no bound.
    pub fn c1_does_not_hold(loss: &str) -> String {
        format!("Lemma 3 is taken with a c1 that does not hold for the {loss} loss on these rows.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_of_a_weaker_claim_can_be_taken_for_an_exact_one() {
        let words = |claim: Claim| {
            let CurveWords { title, axis, curve } = claim.of_curve();
            let short = [claim.word(), claim.label(), claim.in_title(), claim.of_mechanism()];
            [&short[..], &[claim.of_total(), claim.so_far(), title, axis, curve]].concat()
        };
        assert!(words(Claim::Exact).iter().all(|word| word.to_lowercase().contains("exact")));
        let nominal = words(Claim::Nominal);
        assert!(nominal.iter().all(|word| word.to_lowercase().contains("nominal")), "{nominal:?}");
        for weaker in [nominal, words(Claim::None)] {
            assert!(!weaker.iter().any(|word| word.to_lowercase().contains("exact")), "{weaker:?}");
        }
        assert_eq!(Claim::Exact.caution(), "");
        assert!([Claim::Nominal, Claim::None].iter().all(|c| c.caution().contains("no guarantee")));
    }
}
