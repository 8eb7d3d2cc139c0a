//! SVG to PNG, with a font of our own: a machine without fonts draws the same letters. Without the
//! cargo feature `png` there are none.

#[cfg(feature = "png")]
use drawing::png;

#[cfg(feature = "png")]
use crate::write_file;
use dzoa_table::Result;
use std::path::Path;

/// Writes a picture as PNG, too, where this program can. Whether it could.
#[cfg(feature = "png")]
pub fn write_png(dir: &Path, name: &str, svg: &str) -> Result<bool> {
    write_file(dir, name, png(svg)?).map(|()| true)
}

/// Writes nothing.
#[cfg(not(feature = "png"))]
pub fn write_png(_dir: &Path, _name: &str, _svg: &str) -> Result<bool> {
    Ok(false)
}

#[cfg(feature = "png")]
mod drawing {
    use dzoa_table::{Error, Result};
    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::{Options, Tree, fontdb};
    use std::sync::Arc;

    const REGULAR: &[u8] = include_bytes!("../../assets/DejaVuSans.subset.ttf");
    const BOLD: &[u8] = include_bytes!("../../assets/DejaVuSans-Bold.subset.ttf");

    /// Dots per unit of the SVG: 680 units on a column of 8.5 cm at 600 dots per inch need 3.
    const SCALE: f32 = 3.0;

    /// The picture as PNG.
    pub(super) fn png(svg: &str) -> Result<Vec<u8>> {
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
}

#[cfg(all(test, feature = "png"))]
mod tests {
    use super::png;
    use resvg::tiny_skia::Pixmap;

    /// Pixels that are not white when this text is drawn.
    fn ink(text: &str) -> usize {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"40\">\
             <text x=\"10\" y=\"30\" font-size=\"24\">{text}</text></svg>"
        );
        let pixels = Pixmap::decode_png(&png(&svg).unwrap()).unwrap();
        pixels.pixels().iter().filter(|pixel| pixel.red() < 128).count()
    }

    #[test]
    fn every_letter_of_the_figures_is_in_the_font_that_comes_along() {
        // The system's fonts are not compiled in, so that what is drawn is ours.
        assert_eq!(ink(""), 0);
        for letter in "aZ09=,()./²⁻¹⁰⁶⁹×βγδεσΣₖ‖−ᶜρη".chars() {
            assert!(ink(&letter.to_string()) > 10, "{letter} is blank");
        }
    }
}
