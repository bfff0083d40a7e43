// Draws the charts of the page from the data block, each when it comes near the view; nothing is
// fetched. Shows and hides drives on the whole page.
(function () {
  "use strict";
  var data = JSON.parse(document.getElementById("chart-data").textContent);
  var narrow = 560; // px: below it the tools above a chart would lie over its text
  var digit = 8; // px a character of a tick label takes at most
  var letter = 6.2, lineHeight = 15; // px of the text above a chart
  var beside = 90; // px of a chart that are not its x axis
  var ahead = "400px"; // how far outside the view a chart is drawn
  var hidden = {}; // numbers of the drives that are not shown
  var waiting = {}; // charts not drawn yet, by the id of their box
  var drawn = [];

  // The chart library is megabytes: it is read when the first chart comes into view, so that the
  // tables don't wait for it.
  function needLibrary() {
    if (window.Plotly) return;
    var script = document.createElement("script");
    script.textContent = document.getElementById("chart-library").textContent;
    document.head.appendChild(script);
  }

  // Leaves only tick labels of a logarithmic x axis that don't touch; whole powers of ten go first.
  function thin(chart, width) {
    var axis = chart.layout.xaxis, low = Infinity, high = -Infinity, placed = [];
    if (axis.type !== "log" || !axis.tickvals) return;
    chart.data.forEach(function (line) {
      line.x.forEach(function (x) { low = Math.min(low, x); high = Math.max(high, x); });
    });
    var scale = (width - beside) / Math.max(Math.log10(high / low), 1e-9);
    function fits(i) {
      var at = Math.log10(axis.tickvals[i]) * scale, half = axis.ticktext[i].length * digit / 2;
      var free = placed.every(function (p) { return Math.abs(p.at - at) > p.half + half; });
      if (free) placed.push({ at: at, half: half, tick: i });
    }
    var all = axis.tickvals.map(function (_, i) { return i; });
    function whole(i) { return Math.abs(Math.log10(axis.tickvals[i]) % 1) < 1e-9; }
    all.filter(whole).forEach(fits);
    all.filter(function (i) { return !whole(i); }).forEach(fits);
    axis.ticktext = axis.ticktext.map(function (text, i) {
      return placed.some(function (p) { return p.tick === i; }) ? text : "";
    });
  }

  // Breaks the line above a chart that is too narrow for it.
  function foldTag(chart, width) {
    var tag = chart.layout.annotations[0], at = tag.text.lastIndexOf(" · ");
    if (tag.text.length * letter < width - beside || at < 0) return;
    tag.text = tag.text.slice(0, at) + "<br>" + tag.text.slice(at + 3);
    tag.align = "left";
    chart.layout.margin.t += lineHeight;
  }

  // One entry of the legend stands for all published figures of a chart.
  function addPublished(chart) {
    if (!chart.published) return;
    var dotted = chart.data.some(function (line) { return line.meta.published && line.mode === "lines"; });
    chart.data.push({
      type: "scatter", name: "published", x: [null], y: [null], hoverinfo: "skip", meta: { entry: true },
      mode: dotted ? "lines" : "markers", line: { color: "#5a6673", width: 2, dash: "dot" },
      marker: { color: "#5a6673", size: 12, symbol: "circle-open", line: { color: "#5a6673", width: 2 } }
    });
  }

  function isHidden(line) { return line.meta.drive !== undefined && line.meta.drive !== null && hidden[line.meta.drive]; }

  function onLegend(box, event) {
    var line = box.data[event.curveNumber], lines = [];
    if (!line.meta.entry) return true;
    var on = line.visible !== undefined && line.visible !== true;
    box.data.forEach(function (l, i) { if (l.meta.published && !isHidden(l)) lines.push(i); });
    Plotly.restyle(box, { visible: on }, lines);
    Plotly.restyle(box, { visible: on ? true : "legendonly" }, [event.curveNumber]);
    return false;
  }

  function draw(id) {
    var chart = waiting[id], box = document.getElementById(id);
    if (!chart) return;
    delete waiting[id];
    needLibrary();
    chart.data.forEach(function (line) {
      line.text = line.text.map(function (i) { return data.texts[i]; });
      line.hovertemplate = "%{text}<extra></extra>";
      if (isHidden(line)) line.visible = false;
    });
    thin(chart, box.clientWidth);
    foldTag(chart, box.clientWidth);
    addPublished(chart);
    Plotly.newPlot(box, chart.data, chart.layout, {
      responsive: true,
      displaylogo: false,
      displayModeBar: box.clientWidth < narrow ? false : "hover",
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
      toImageButtonOptions: { format: "svg", filename: "flashlab-" + id }
    });
    box.on("plotly_legendclick", function (event) { return onLegend(box, event); });
    drawn.push(box);
  }

  function drawAll() { Object.keys(waiting).forEach(draw); }

  function show(drive, on) {
    hidden[drive] = !on;
    document.documentElement.classList.toggle("hide-" + drive, !on);
    drawn.forEach(function (box) {
      var lines = [];
      box.data.forEach(function (line, i) { if (line.meta.drive === drive) lines.push(i); });
      if (lines.length) Plotly.restyle(box, { visible: on }, lines);
    });
  }

  document.querySelectorAll("input[data-shows]").forEach(function (box) {
    var drive = Number(box.dataset.shows);
    box.addEventListener("change", function () { show(drive, box.checked); });
    if (!box.checked) show(drive, false); // as the browser kept it over a reload
  });

  // Beside the page the contents are open; above it they are folded until asked for.
  var contents = document.querySelector("details.contents");
  var wide = window.matchMedia("(min-width: 1100px)");
  function fold() { if (contents) contents.open = wide.matches; }
  wide.addEventListener("change", fold);
  fold();
  if (contents) contents.addEventListener("click", function (event) {
    if (event.target.closest("a") && !wide.matches) contents.open = false;
  });

  data.charts.forEach(function (chart) { waiting[chart.id] = chart; });
  var near = "IntersectionObserver" in window && new IntersectionObserver(function (entries) {
    entries.forEach(function (entry) {
      if (!entry.isIntersecting) return;
      near.unobserve(entry.target);
      draw(entry.target.id);
    });
  }, { rootMargin: ahead });
  if (near) Object.keys(waiting).forEach(function (id) { near.observe(document.getElementById(id)); });
  else drawAll();

  window.addEventListener("beforeprint", function () {
    drawAll();
    drawn.forEach(function (box) { Plotly.Plots.resize(box); });
  });
})();
