//! Ranges that everybody knows: what a person or an instrument can have at most.

/// Words in a column's name, and the range that goes with them. Wide on purpose: a value beyond is
/// clipped.
const RANGES: &[(&[&str], f64, f64)] = &[
    (&["age", "alter"], 0.0, 120.0),
    (&["bmi"], 10.0, 80.0),
    (&["sbp", "systolic", "trestbps", "pressure"], 50.0, 300.0),
    (&["dbp", "diastolic"], 20.0, 200.0),
    (&["chol", "cholesterol"], 50.0, 700.0),
    (&["glucose"], 20.0, 1000.0),
    (&["hr", "pulse", "thalach", "heartrate"], 20.0, 250.0),
    (&["temp", "temperature"], 30.0, 45.0),
    (&["weight"], 0.0, 350.0),
    (&["height"], 30.0, 250.0),
    (&["creatinine"], 0.0, 30.0),
    (&["hemoglobin", "haemoglobin", "hb"], 0.0, 30.0),
    (&["hba1c"], 2.0, 20.0),
    (&["spo2", "saturation"], 40.0, 100.0),
];

/// The range of a column with this name, if its values are of that kind: one in another unit is
/// not.
pub(super) fn range(name: &str, lowest: f64, highest: f64) -> Option<(f64, f64)> {
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
    let of_name = |(names, _, _): &&(&[&str], f64, f64)| words.iter().any(|w| names.contains(w));
    let (_, low, high) = RANGES.iter().find(of_name)?;
    (lowest >= *low && highest <= *high && highest - lowest > 0.02 * (high - low))
        .then_some((*low, *high))
}
