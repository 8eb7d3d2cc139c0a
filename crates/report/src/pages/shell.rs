//! The document around the content: styles, scripts, and a policy that lets nothing else in.

use super::chart::PageChart;
use dzoa_table::{Error, Result};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");
const UPLOT_STYLE: &str = include_str!("../../assets/uplot/uPlot.min.css");
const UPLOT: &str = include_str!("../../assets/uplot/uPlot.iife.min.js");

/// A page before it is text.
pub struct Page<'a> {
    /// Its title.
    pub title: &'a str,
    /// What a reader sees.
    pub body: Markup,
    /// What the script draws.
    pub charts: Vec<PageChart>,
}

impl Page<'_> {
    /// The file's text.
    pub fn render(&self) -> Result<String> {
        let charts = serde_json::to_string(&self.charts)
            .map_err(|error| Error::run(format!("report.html: {error}")))?;
        // Inside a script element only `<` could end it; JSON may write it as an escape.
        let charts = charts.replace('<', "\\u003c");
        // Names are escaped; should one ever slip through, the browser still runs nothing without
        // the nonce, which depends on the whole page, and `default-src 'none'` lets the page load
        // nothing from anywhere.
        let nonce = blake3::hash(format!("{}{}{charts}", self.title, self.body.0).as_bytes());
        let nonce = nonce.to_hex();
        let policy = format!(
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'; \
             base-uri 'none'; form-action 'none'"
        );
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) ": dzoa" }
                    style { (PreEscaped(UPLOT_STYLE)) (PreEscaped(STYLE)) }
                }
                body {
                    main { (self.body) }
                    footer {
                        "Written by dzoa. This file holds its data and its scripts, "
                        "and asks the network for nothing."
                    }
                    script id="charts" type="application/json" nonce=(nonce) {
                        (PreEscaped(charts))
                    }
                    script nonce=(nonce) { (PreEscaped(UPLOT)) }
                    script nonce=(nonce) { (PreEscaped(SCRIPT)) }
                }
            }
        };
        Ok(page.into_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Source {
        version: String,
        blake3: std::collections::BTreeMap<String, String>,
    }

    #[test]
    fn the_vendored_chart_library_is_the_version_that_its_source_file_names() {
        let source: Source =
            toml::from_str(include_str!("../../assets/uplot/SOURCE.toml")).unwrap();
        assert!(UPLOT.lines().next().unwrap().contains(&format!("(v{})", source.version)));
        let license = include_str!("../../assets/uplot/LICENSE");
        let files = [("uPlot.iife.min.js", UPLOT), ("uPlot.min.css", UPLOT_STYLE)];
        for (name, content) in files.into_iter().chain([("LICENSE", license)]) {
            let digest = blake3::hash(content.as_bytes()).to_hex().to_string();
            assert_eq!(source.blake3.get(name), Some(&digest), "{name}");
        }
        assert_eq!(source.blake3.len(), 3);
    }

    #[test]
    fn nothing_in_a_name_ends_a_script_or_starts_an_element() {
        let hostile = "</script><script>document.title='owned'</script>";
        let curve = super::super::chart::PageCurve::line(hostile, vec![(1.0, 1.0), (2.0, 2.0)]);
        let chart = PageChart::new("c", hostile, "x", "y").with(curve);
        let body = html! { (chart.figure()) };
        let page = Page { title: hostile, body, charts: vec![chart] }.render().unwrap();
        assert!(!page.contains("<script>document"));
        // The page's own three scripts and no other.
        assert_eq!(page.matches("<script").count(), 3);
        assert_eq!(page.matches("</script>").count(), 3);
    }
}
