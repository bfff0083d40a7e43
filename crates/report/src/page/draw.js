// Draws every chart of the page from the data block; nothing is fetched.
(function () {
  "use strict";
  var charts = JSON.parse(document.getElementById("chart-data").textContent);
  var narrow = 560; // px: below it the tools above a chart would lie over its text
  charts.forEach(function (chart) {
    var box = document.getElementById(chart.id);
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
