//! How a text file is written, as far as its first lines tell.

use crate::encoding::Encoding;
use crate::error::Result;
use crate::load::input::open_text;
use crate::load::text::{Lines, Records};
use crate::schema::TextFormat;
use std::path::Path;

/// Enough lines to tell how a file is written.
const SAMPLE: usize = 100;

/// How a text file is written.
pub(super) struct Sniffed {
    /// With what was found.
    pub format: TextFormat,
    /// Whether numbers have a decimal comma.
    pub decimal_comma: bool,
    /// Whether a header without a place for the row names stands above the rows.
    pub short_header: bool,
}

impl Sniffed {
    /// Looks at the first lines of a file.
    pub fn of(path: &Path) -> Result<Self> {
        let mut format = TextFormat { trim: true, ..TextFormat::default() };
        let sample = match sample(path, &format) {
            Ok(sample) if sample.iter().all(|line| std::str::from_utf8(line).is_ok()) => sample,
            Err(error) => return Err(error),
            Ok(_) => {
                // Latin-1 has a letter for every byte; a spreadsheet writes it where it does not
                // write UTF-8.
                format.encoding = Some(Encoding::Latin1);
                sample(path, &format)?
            }
        };
        // The first line may be a title or a count, so that it has no say where there are others.
        let telling = &sample[sample.len().min(2) / 2..];
        let in_all = |delimiter: &u8| telling.iter().all(|line| line.contains(delimiter));
        // Decimal commas are in all lines as well.
        let likely = [b';', b'\t', b',', b'|', b' '];
        format.delimiter = Some(likely.into_iter().find(in_all).unwrap_or(b','));
        let mut first = records(path, &format)?;
        if let [(line, title), (_, next), ..] = first.as_slice()
            && title.len() != next.len()
            && !(title.len() + 1 == next.len() && title.len() > 1 && title.iter().all(is_name))
        {
            format.skip_lines = *line;
            first.remove(0);
        }
        let mut short_header = false;
        if let [(_, header), rows @ ..] = first.as_slice() {
            let named = header.iter().enumerate().all(|(at, text)| {
                // R and pandas write no name above the row names.
                is_name(text) || (at == 0 && text.is_empty() && header.len() > 1)
            });
            format.header = !rows.is_empty() && named;
            short_header =
                format.header && rows.first().is_some_and(|(_, row)| row.len() == header.len() + 1);
        }
        let fields = first.iter().skip(1).flat_map(|(_, fields)| fields);
        let decimal_comma = format.delimiter != Some(b',') && has_commas(fields);
        Ok(Self { format, decimal_comma, short_header })
    }
}

fn is_name(text: &String) -> bool {
    !text.is_empty() && text != "?" && text.parse::<f64>().is_err()
}

fn sample(path: &Path, format: &TextFormat) -> Result<Vec<Vec<u8>>> {
    let mut lines = Lines::new(open_text(path, format.encoding)?, path, format);
    let mut sample: Vec<Vec<u8>> = Vec::new();
    while sample.len() < SAMPLE
        && let Some((_, line)) = lines.next_line()?
    {
        sample.push(line.trim_ascii().to_vec());
    }
    Ok(sample)
}

fn records(path: &Path, format: &TextFormat) -> Result<Vec<(usize, Vec<String>)>> {
    let mut records = Records::open(path, format)?;
    let mut first: Vec<(usize, Vec<String>)> = Vec::new();
    while first.len() < SAMPLE
        && let Some((line, fields)) = records.next()?
    {
        first.push((line, fields.map(str::to_string).collect()));
    }
    Ok(first)
}

/// Whether numbers have commas where others have points, and none a point.
fn has_commas<'a>(fields: impl Iterator<Item = &'a String>) -> bool {
    let (mut commas, mut points) = (0, 0);
    for field in fields {
        let is_number = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
        commas += usize::from(field.contains(',') && is_number(&field.replace(',', ".")));
        points += usize::from(field.contains('.') && is_number(field));
    }
    commas > 0 && points == 0
}
