//! docs/scaling.svg: how the cost grows along each axis, beside a line of slope 1.

use kuva::prelude::*;
use serde_json::Value;

/// Okabe and Ito's colours, and a dash for each: nothing rests on colour alone.
const STYLES: [(&str, &str); 6] = [
    ("#0072B2", "1 0"),
    ("#D55E00", "12 4"),
    ("#009E73", "7 4"),
    ("#CC79A7", "3 3"),
    ("#E69F00", "12 3 3 3"),
    ("#333333", "7 3 2 3"),
];

/// Sizes and seconds of every axis, each relative to the smallest.
pub fn scaling(axes: &Value) -> String {
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
    };
    let mut plots: Vec<Plot> = Vec::new();
    let slope_one = LinePlot::new().with_data([(1.0, 1.0), (120.0, 120.0)]);
    plots
        .push(slope_one.with_color("#BBBBBB").with_stroke_width(6.0).with_legend("slope 1").into());
    for (axis, (color, dash)) in axes.as_array().into_iter().flatten().zip(STYLES) {
        let (sizes, seconds) = (numbers(&axis["sizes"]), numbers(&axis["seconds"]));
        let points =
            sizes.iter().zip(&seconds).map(|(size, time)| (size / sizes[0], time / seconds[0]));
        let points: Vec<(f64, f64)> = points.collect();
        let name = axis["axis"].as_str().unwrap_or_default();
        let exponent = axis["exponent"].as_f64().unwrap_or(f64::NAN);
        let line =
            LinePlot::new().with_data(points.clone()).with_color(color).with_stroke_width(2.5);
        let line = line.with_line_style(LineStyle::Custom(dash.into()));
        plots.push(line.with_legend(format!("{name} (exponent {exponent:.2})")).into());
        plots.push(ScatterPlot::new().with_data(points).with_color(color).with_size(4.0).into());
    }
    let layout = Layout::auto_from_plots(&plots)
        .with_title("Cost along each axis")
        .with_x_label("size over the smallest")
        .with_y_label("seconds over those of the smallest")
        .with_log_x()
        .with_log_y();
    render_to_svg(plots, layout)
}
