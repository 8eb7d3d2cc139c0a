//! Words that fit a terminal.

/// Breaks lines that are longer than `width` between words. What follows a break stands as deep as
/// the line it belongs to. Lines that fit stay as they are, so that tables do.
///
/// ```
/// let text = dzoa_report::wrapped("  two words and three more\nshort\n", 14);
/// assert_eq!(text, "  two words\n  and three\n  more\nshort\n");
/// ```
pub fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / width.max(1));
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        if line.chars().count() <= width {
            out.push_str(line);
        } else {
            wrap_line(line, width, &mut out);
        }
        out.push_str(end);
    }
    out
}

fn wrap_line(line: &str, width: usize, out: &mut String) {
    let depth = line.chars().take_while(|c| *c == ' ').count();
    let indent = " ".repeat(depth);
    out.push_str(&indent);
    let (mut column, mut first) = (depth, true);
    for word in line[depth..].split(' ') {
        let length = word.chars().count();
        if !first && column + 1 + length > width {
            out.push('\n');
            out.push_str(&indent);
            column = depth;
        } else if !first {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        (column, first) = (column + length, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_stay_in_order_and_no_line_is_longer_unless_a_word_is(
            words in prop::collection::vec("[a-zäε]{1,12}", 1..40), width in 14..60_usize
        ) {
            let text = format!("  {}\n", words.join(" "));
            let done = wrapped(&text, width);
            prop_assert_eq!(done.split_whitespace().collect::<Vec<_>>(), words);
            prop_assert!(done.lines().all(|line| line.chars().count() <= width), "{}", done);
            prop_assert!(done.lines().all(|line| line.starts_with("  ")));
        }
    }
}
