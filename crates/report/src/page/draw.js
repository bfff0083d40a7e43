// Draws every chart of the page from the data block; nothing is fetched.
(function () {
  "use strict";
  var charts = JSON.parse(document.getElementById("chart-data").textContent);
  var narrow = 560; // px: below it the tools above a chart would lie over its text
  var digit = 8; // px a character of a tick label takes at most
  var beside = 90; // px of a chart that are not its x axis

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

  charts.forEach(function (chart) {
    var box = document.getElementById(chart.id);
    thin(chart, box.clientWidth);
    Plotly.newPlot(box, chart.data, chart.layout, {
      responsive: true,
      displaylogo: false,
      displayModeBar: box.clientWidth < narrow ? false : "hover",
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
      toImageButtonOptions: { format: "svg", filename: "flashlab-" + chart.id }
    });
  });
  window.addEventListener("beforeprint", function () {
    charts.forEach(function (chart) { Plotly.Plots.resize(document.getElementById(chart.id)); });
  });
})();
