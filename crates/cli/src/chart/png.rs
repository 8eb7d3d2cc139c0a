//! SVG to PNG, with a font of our own: a machine without fonts draws the same letters.

use crate::error::{Error, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::Arc;

const REGULAR: &[u8] = include_bytes!("../../assets/DejaVuSans.subset.ttf");
const BOLD: &[u8] = include_bytes!("../../assets/DejaVuSans-Bold.subset.ttf");

/// Dots per unit of the SVG: 680 units on a column of 8.5 cm at 600 dots per inch need 3.
const SCALE: f32 = 3.0;

/// The picture as PNG.
pub fn encode(svg: &str) -> Result<Vec<u8>> {
    let failed = |what: &dyn std::fmt::Display| {
        Error::run(format!("a figure cannot be drawn as PNG: {what}"))
    };
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(REGULAR.to_vec());
    fonts.load_font_data(BOLD.to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    let options = Options {
        fontdb: Arc::new(fonts),
        font_family: "DejaVu Sans".into(),
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options).map_err(|error| failed(&error))?;
    let size = tree.size();
    let (width, height) = ((size.width() * SCALE).ceil(), (size.height() * SCALE).ceil());
    let mut pixels = Pixmap::new(width as u32, height as u32)
        .ok_or_else(|| failed(&format!("{width} by {height} pixels")))?;
    pixels.fill(resvg::tiny_skia::Color::WHITE);
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(&error))
}
