//! What the browser tests ask of a report.

use super::chromium::Tab;
use std::path::Path;

/// Pixels of every chart that are not empty, by the figure's id.
pub const MARKS: &str =
    "Object.fromEntries([...document.querySelectorAll('figure.chart')].map(figure => {
    const canvas = figure.querySelector('canvas');
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let marks = 0;
    for (let i = 3; i < data.length; i += 4) marks += data[i] > 0;
    return [figure.id, marks];
}))";

/// The share of a chart's plotting area that has the colour of its main curve, nearly.
pub fn main_pixels(tab: &mut Tab, id: &str) -> f64 {
    let script = format!(
        "(() => {{
            const canvas = document.querySelector('#{id} canvas');
            const probe = document.createElement('i');
            probe.style.color = 'var(--main)';
            document.body.append(probe);
            const want = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
            probe.remove();
            const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            let hits = 0;
            for (let i = 0; i < data.length; i += 4)
                hits += data[i + 3] > 250 && want.every((c, k) => Math.abs(c - data[i + k]) < 12);
            return hits;
        }})()"
    );
    tab.eval(&script).as_f64().unwrap()
}

/// Where in the window a chart's plotting area is: left, top, width, height.
pub fn area(tab: &mut Tab, id: &str) -> [f64; 4] {
    let script = format!(
        "(() => {{ const over = document.querySelector('#{id} .u-over');
            over.scrollIntoView({{ block: 'center' }});
            const box = over.getBoundingClientRect();
            return [box.left, box.top, box.width, box.height]; }})()"
    );
    let found = tab.eval(&script);
    [0, 1, 2, 3].map(|i| found[i].as_f64().unwrap())
}

/// No complaint, and no request but for the file.
pub fn assert_silent(tab: &Tab, file: &Path) {
    assert!(tab.complaints().is_empty(), "{:?}", tab.complaints());
    let own = format!("file://{}", file.canonicalize().unwrap().display());
    assert_eq!(tab.requests(), [own], "the file itself and nothing else");
}

/// A reader on a phone scrolls down only.
pub fn assert_no_sideways_scrolling(tab: &mut Tab) {
    let width = tab.eval("document.documentElement.scrollWidth - innerWidth").as_f64().unwrap();
    assert!(width <= 0.0, "the page is {width} pixels wider than its window");
}
