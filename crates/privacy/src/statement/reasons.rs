//! What takes a guarantee away, and what one rests on.

use super::Statement;

impl Statement {
    /// Why a seeded run guarantees nothing.
    pub const SEEDED: &'static str =
        "the run is seeded, for tests: whoever knows the seed can subtract the noise";
    /// Why several trials guarantee nothing.
    pub const REPEATED: &'static str = "several trials release about the same rows that often";
    /// Why a result that holds values of the objective guarantees nothing.
    pub const VALUES_RECORDED: &'static str = "Unprotected values of the objective were recorded \
        (record_every; fun and the trace hold them): for the holder of the rows, do not share";
    /// Why a partition by the targets guarantees nothing.
    pub const PARTITION_READS_TARGETS: &'static str =
        "The partition `dirichlet` reads the targets: for simulations only";
    /// Why bounds that were not given guarantee nothing.
    pub const BOUNDS_FROM_DATA: &'static str =
        "The bounds were taken from the data: give public ones";
    /// Why target bounds that were not given guarantee nothing.
    pub const TARGET_BOUNDS_FROM_DATA: &'static str =
        "The target bounds were taken from the data: give public ones";
    /// Why classes that were not given guarantee nothing.
    pub const CLASSES_FROM_DATA: &'static str =
        "The classes were taken from the data: give public ones";

    /// What dropping rows means.
    pub const ROWS_DROPPED: &'static str = "Rows with missing values are dropped \
        (schema.on_missing = \"drop\"): the \
         number of rows, which is taken for public, depends on private cells";
    /// What a trusted solver means.
    pub const TRUSTED_SOLVER: &'static str = "One solver is trusted with the rows of all agents: \
        the guarantee is \
         against those who see its result, not against the solver";
    /// What values from a program must satisfy.
    pub const OWN_SAMPLE: &'static str = "It rests on every value depending on its own sample \
        only, and on the \
         objective not failing by the data";
    /// What values from a function that may raise must satisfy.
    pub const OWN_SAMPLE_NOT_RAISING: &'static str = "It rests on every value depending on its \
        own sample only, and on the objective not raising by the data";
    /// What a nominal claim rests on where nobody measured its noise.
    pub const NOISE_NOT_MEASURED: &'static str =
        "The noise that it assumes is not added, and was not measured here";
    /// What is not counted of several fits.
    pub const EVERY_FIT_ADDS: &'static str = "Every further fit on these rows adds to it";
    /// What is not counted of a pipeline.
    pub const STEPS_BEFORE: &'static str =
        "What steps before this one learn from the rows (a scaler in a pipeline) is not covered";

    /// What a fit takes for public.
    pub fn public_shape(rows_per_person: usize) -> String {
        let per_person = match rows_per_person {
            1 => String::new(),
            rows => format!(" (at most {rows} rows a person)"),
        };
        format!("Bounds, columns, classes and the agents' numbers of rows are public{per_person}")
    }
}
