// Draws the charts of a report with uPlot: hover for values, drag to zoom, click a name to hide its curve.
"use strict";
(() => {
  const root = document.documentElement;
  const color = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const COLORS = 8;
  const DASHES = [[], [7, 4], [2, 3]];
  const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  const drawn = [];

  function number(value) {
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(2);
    return String(Number(value.toPrecision(4)));
  }

  // Lines of a logarithmic axis: at powers of ten where there are many decades, at 1, 2, 5 where there are few.
  function decades(u, index, min, max) {
    const span = Math.log10(max / min);
    const every = Math.ceil(span / 7), steps = span < 2 ? [1, 2, 5] : [1];
    const lines = [];
    for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max); power += every) {
      lines.push(...steps.map((step) => Number(`${step}e${power}`)));
    }
    return lines.filter((line) => line >= min && line <= max);
  }

  // Powers of ten where there are many decades, the number itself where there are few.
  function tick(value, log, span) {
    if (!log) return number(value);
    const power = Math.log10(value);
    const whole = Math.round(power);
    if (span < 2 || Math.abs(whole) < 3 && span < 4) return number(value);
    return "10" + (whole < 0 ? "⁻" : "") + [...String(Math.abs(whole))].map((d) => SUPERSCRIPTS[d]).join("");
  }

  function axis(label, log, extra) {
    return {
      label, labelSize: 24, labelGap: 2, font: "12px system-ui, sans-serif", labelFont: "13px system-ui, sans-serif",
      stroke: () => color("--muted"),
      grid: { stroke: () => color("--grid"), width: 1 },
      ticks: { stroke: () => color("--rule"), width: 1 },
      values: (u, splits, index) => {
        const { min, max } = u.scales[index === 0 ? "x" : "y"];
        return splits.map((value) => tick(value, log, Math.log10(max / min)));
      },
      ...(log ? { splits: decades, filter: (u, splits) => splits } : {}),
      ...extra,
    };
  }

  // How the k-th curve looks. Colour and dashes together tell curves apart, so that neither alone has to.
  function style(curve, k, dashed) {
    if (curve.look === "main") return { name: "--main", width: 2.5, dash: dashed ? [5, 5] : [] };
    if (curve.look === "limit") return { name: "--limit", width: 2, dash: [9, 5] };
    return { name: `--c${k % COLORS}`, width: curve.look === "bars" ? 2 : 1.4, dash: DASHES[Math.floor(k / COLORS) % DASHES.length] };
  }

  // Every curve has its own rounds; joined, a round that a curve lacks is `undefined`. The nearest that it has counts.
  function nearest(u, series, index) {
    const values = u.data[series];
    for (let d = 0; d < values.length; d++) {
      if (values[index - d] != null) return index - d;
      if (values[index + d] != null) return index + d;
    }
    return index;
  }

  function draw(spec) {
    const figure = document.getElementById(spec.id);
    const plot = figure.querySelector(".plot");
    const tables = [], series = [{}], bands = [], entries = [];
    let lines = 0;
    // Many noisy curves would hide each other and the mean.
    const crowd = spec.curves.length > COLORS + 1;
    const add = (points, options) => {
      tables.push([points.map((p) => p[0]), points.map((p) => p[1])]);
      return series.push(options) - 1;
    };
    const hidden = { width: 0, points: { show: false } };
    // The main curve lies above the others: uPlot draws in order.
    const order = [...spec.curves].sort((a, b) => (a.look === "main") - (b.look === "main"));
    for (const curve of order) {
      const look = style(curve, curve.look === "main" || curve.look === "limit" ? 0 : lines++, spec.dashed);
      const entry = { curve, look, parts: [] };
      if (curve.spread) {
        entry.low = add(curve.spread.low, { ...hidden });
        entry.high = add(curve.spread.high, { ...hidden });
        entry.parts.push(entry.low, entry.high);
        if (curve.look !== "bars") bands.push({ series: [entry.high, entry.low], fill: () => color("--band") });
      }
      entry.index = add(curve.points, {
        stroke: () => color(look.name), width: look.width, dash: look.dash, alpha: crowd && curve.look === "line" ? 0.45 : 1,
        points: curve.look === "bars" ? { show: true, size: 8, fill: () => color(look.name) } : { show: curve.points.length < 2 },
      });
      entry.parts.push(entry.index);
      entries.push(entry);
    }
    const data = uPlot.join(tables);
    const full = [data[0][0], data[0][data[0].length - 1]];
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;

    // Error bars: uPlot has none of its own.
    function bars(u) {
      for (const { curve, look, low, high, index } of entries) {
        if (curve.look !== "bars" || !u.series[index].show) continue;
        const { ctx } = u;
        ctx.save();
        ctx.strokeStyle = color(look.name);
        ctx.lineWidth = 1.5 * devicePixelRatio;
        ctx.beginPath();
        u.data[0].forEach((x, i) => {
          if (u.data[low][i] == null || u.data[high][i] == null) return;
          const [at, from, to] = [u.valToPos(x, "x", true), u.valToPos(u.data[low][i], "y", true), u.valToPos(u.data[high][i], "y", true)];
          const cap = 4 * devicePixelRatio;
          for (const [x0, y0, x1, y1] of [[at, from, at, to], [at - cap, from, at + cap, from], [at - cap, to, at + cap, to]]) {
            ctx.moveTo(x0, y0);
            ctx.lineTo(x1, y1);
          }
        });
        ctx.stroke();
        ctx.restore();
      }
    }

    // What is under the cursor: the curve nearest to it, and the main curve for comparison.
    function under(u) {
      const { left, top, idxs } = u.cursor;
      if (left === undefined || left < 0 || !idxs) return [];
      const found = entries.filter(({ index }) => u.series[index].show).map((entry) => {
        const i = idxs[entry.index];
        const value = u.data[entry.index][i];
        return { entry, x: u.data[0][i], i, value, away: Math.abs(u.valToPos(value, "y") - top) };
      }).filter(({ value }) => value != null);
      found.sort((a, b) => a.away - b.away);
      return found.filter(({ entry }, i) => i === 0 || entry.curve.look === "main");
    }

    function words(u, { entry, i, value }) {
      const spread = entry.low && u.data[entry.low][i] != null
        ? ` (${entry.curve.spread.name}: ${number(u.data[entry.low][i])} to ${number(u.data[entry.high][i])})` : "";
      return [`${entry.curve.name}: `, number(value), spread];
    }

    function point(u) {
      const found = under(u);
      tip.hidden = found.length === 0;
      if (tip.hidden) return;
      tip.replaceChildren(`${spec.x_label} = ${number(found[0].x)}`, ...found.map((one) => {
        const line = document.createElement("div"), bold = document.createElement("b");
        const [name, value, spread] = words(u, one);
        bold.textContent = value;
        line.append(name, bold, spread);
        return line;
      }));
      const right = u.cursor.left > u.over.clientWidth / 2;
      tip.style.left = right ? "" : `${u.cursor.left + 14}px`;
      tip.style.right = right ? `${u.over.clientWidth - u.cursor.left + 14}px` : "";
      tip.style.top = `${Math.max(0, Math.min(u.cursor.top - 20, u.over.clientHeight - tip.offsetHeight))}px`;
    }

    const padded = (u, min, max) => {
      if (min == null) return [0, 1];
      if (spec.y_log) return [min / 1.4, max * 1.4];
      const pad = 0.06 * (max - min) || 0.1 * Math.abs(max) || 1;
      return [min >= 0 && min < max / 2 ? 0 : min - pad, max + pad];
    };
    const across = (u, min, max) => min < max ? [min, max] : spec.x_log ? [min / 2, max * 2] : [min - 1, max + 1];
    // Around points with bars a margin, so that the outermost are whole.
    const wide = entries.some(({ curve }) => curve.look === "bars");
    const margin = (u, min, max) => wide && spec.x_log && min < max ? [min / 1.25, max * 1.25] : across(u, min, max);
    const size = (width, most = 380) => ({ width, height: Math.round(Math.min(most, Math.max(250, width * 0.56))) });
    const u = new uPlot({
      ...size(plot.clientWidth || 640),
      pxAlign: 0,
      legend: { show: false },
      scales: { x: { time: false, distr: spec.x_log ? 3 : 1, range: margin }, y: { distr: spec.y_log ? 3 : 1, range: padded } },
      axes: [
        axis(spec.x_label, spec.x_log, spec.x_log ? { size: 34 } : { size: 34, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6, 1e7, 1e9, 1e12] }),
        axis(spec.y_label, spec.y_log, { size: 58 }),
      ],
      series, bands,
      cursor: { dataIdx: nearest, drag: { x: true, y: false }, points: { size: 7 } },
      hooks: { draw: [bars], setCursor: [point], setScale: [(u, key) => key === "x" && zoomed(u)] },
    }, data, plot);
    u.over.append(tip);

    const legend = figure.querySelector(".legend");
    const button = (label, action, parent) => {
      const element = document.createElement("button");
      element.type = "button";
      element.append(label);
      element.addEventListener("click", action);
      parent.append(element);
      return element;
    };
    const show = (entry, on) => {
      u.batch(() => entry.parts.forEach((index) => u.setSeries(index, { show: on })));
      entry.button.setAttribute("aria-pressed", on);
    };
    for (const entry of [...entries].sort((a, b) => (b.curve.look === "main") - (a.curve.look === "main"))) {
      const { curve, look } = entry;
      const name = curve.name + (curve.spread ? ` (${curve.look === "bars" ? "bars" : "band"}: ${curve.spread.name})` : "");
      entry.button = button(name, () => show(entry, !u.series[entry.index].show), legend);
      entry.button.setAttribute("aria-pressed", "true");
      entry.button.title = "show or hide this curve";
      entry.button.insertAdjacentHTML("afterbegin", `<svg viewBox="0 0 36 12" aria-hidden="true"><path d="M0 6h36" fill="none" stroke-width="${look.width + 1}" stroke-dasharray="${look.dash.join(" ")}" style="stroke:var(${look.name})"/></svg>`);
    }
    const tool = (label, title, action) => {
      const element = button(label, action, legend);
      element.className = "tool";
      element.title = title;
      element.setAttribute("aria-label", `${title}: ${spec.title}`);
      return element;
    };
    const many = entries.filter(({ curve }) => curve.look === "line");
    if (many.length > COLORS) {
      tool("all or none", "show or hide all agents", () => {
        const on = many.some(({ index }) => !u.series[index].show);
        u.batch(() => many.forEach((entry) => show(entry, on)));
      });
    }

    const zoom = (factor) => {
      const { min, max } = u.scales.x;
      const middle = u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : (min + max) / 2;
      const [from, to] = [middle - (middle - min) * factor, middle + (max - middle) * factor];
      u.setScale("x", { min: Math.max(full[0], from), max: Math.min(full[1], to) });
    };
    const reset = () => u.setScale("x", { min: full[0], max: full[1] });
    if (!wide) tool("zoom in", "zoom in", () => zoom(0.5));
    const whole = tool("whole curve", "show the whole curve", reset);
    whole.hidden = true;
    function zoomed(u) {
      if (whole) whole.hidden = u.scales.x.min <= full[0] && u.scales.x.max >= full[1];
    }

    // Keys: arrows walk along the curve and the values are read out, plus and minus zoom, escape shows all.
    const readout = figure.querySelector(".readout");
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step) {
        const width = u.over.clientWidth;
        const from = u.cursor.left >= 0 ? u.cursor.left : width / 2;
        const left = Math.max(0, Math.min(width, from + step * width / 40));
        const first = entries.find(({ index }) => u.series[index].show);
        if (!first) return;
        const near = nearest(u, first.index, u.posToIdx(left));
        u.setCursor({ left, top: u.valToPos(u.data[first.index][near], "y") });
        readout.textContent = under(u).map((one) => `${spec.x_label} ${number(one.x)}: ${words(u, one).join("")}`).join("; ");
      } else if (event.key === "+") zoom(0.5);
      else if (event.key === "-") zoom(2);
      else if (event.key === "Escape") reset();
      else return;
      event.preventDefault();
    });
    // A finger moves the cursor; up and down it still scrolls the page.
    u.over.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "touch") return;
      const box = u.over.getBoundingClientRect();
      u.setCursor({ left: event.clientX - box.left, top: event.clientY - box.top });
    });

    const fit = (width, most) => width > 0 && Math.abs(width - u.width) > 1 && u.setSize(size(width, most));
    new ResizeObserver(() => root.classList.contains("printing") || fit(plot.clientWidth)).observe(plot);
    drawn.push({ u, fit, plot });
  }

  JSON.parse(document.getElementById("charts").textContent).forEach(draw);

  const again = () => drawn.forEach(({ u }) => u.redraw(false));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  // Paper is light, narrower than most screens, and two charts fit on a page below each other.
  const PAPER = [640, 240];
  addEventListener("beforeprint", () => {
    root.classList.add("printing");
    drawn.forEach(({ u, fit }) => { fit(...PAPER); u.redraw(false); });
  });
  addEventListener("afterprint", () => {
    root.classList.remove("printing");
    drawn.forEach(({ u, fit, plot }) => { fit(plot.clientWidth); u.redraw(false); });
  });
})();
