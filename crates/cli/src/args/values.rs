//! Numbers on the command line, each met at the door.

pub(super) fn number(
    text: &str,
    valid: impl Fn(f64) -> bool,
    expected: &str,
) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if valid(value) => Ok(value),
        _ => Err(format!("must be {expected}")),
    }
}

pub(super) fn positive(text: &str) -> Result<f64, String> {
    number(text, |value| value > 0.0 && value.is_finite(), "a finite number above 0")
}

pub(super) fn non_negative(text: &str) -> Result<f64, String> {
    number(text, |value| value >= 0.0 && value.is_finite(), "a finite number, 0 or more")
}

pub(super) fn open_unit(text: &str) -> Result<f64, String> {
    number(text, |value| value > 0.0 && value < 1.0, "strictly between 0 and 1")
}

pub(super) fn theorem1_range(text: &str) -> Result<f64, String> {
    number(text, |value| value > 0.0 && value <= 1.0, "above 0 and at most 1 (Theorem 1's range)")
}

pub(super) fn metrics_address(text: &str) -> Result<std::net::SocketAddr, String> {
    match text.parse::<u16>() {
        Ok(port) => Ok(([127, 0, 0, 1], port).into()),
        Err(_) => text.parse().map_err(|_| "must be PORT, or an address and a port".into()),
    }
}

pub(super) fn count(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&count| count > 0).ok_or("must be a whole number, at least 1".into())
}

pub(super) fn rounds(text: &str) -> Result<u64, String> {
    count(text).map(|count| count as u64)
}
