// The leaderboard's site: what is shown comes from the page's own data; Tabulator and uPlot draw it.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const made = (tag, text, attributes = {}) => {
  const one = document.createElement(tag);
  if (text !== undefined) one.textContent = text;
  for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
  return one;
};
const fixed = (value, digits = 3) => (value === null || value === undefined ? "-" : value.toFixed(digits));
const colourOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
let section, table, plots = [];

function remembered(name, value) { // a browser may keep nothing for file://
  try {
    if (value !== undefined) localStorage.setItem(name, value);
    return localStorage.getItem(name);
  } catch { return null; }
}

function themed(theme) {
  document.documentElement.dataset.theme = theme;
  at("theme").setAttribute("aria-pressed", theme === "dark");
  at("theme").textContent = theme === "dark" ? "Light" : "Dark";
}

function agentCell(cell) {
  const row = cell.getData(), box = made("span", undefined, { class: "wrap" });
  box.append(made("span", "", { class: "swatch", style: `background:${row.colour}` }), row.agent);
  if (row.verified) box.append(made("abbr", " ✓", { title: "each run's checkpoint was played again and scored what is stored" }));
  return box;
}

function dotsCell(cell) { // one dot a seed, and the interval of the mean of the middle half, on the section's scale
  const row = cell.getData(), all = section.rows.flatMap((one) => [...one.seeds, one.low ?? 0, one.high ?? 0]);
  const low = Math.min(0, ...all), high = Math.max(section.raw ? low + 1e-9 : 1, ...all);
  const x = (value) => 4 + 192 * (value - low) / (high - low);
  const name = "http://www.w3.org/2000/svg", svg = document.createElementNS(name, "svg");
  svg.setAttribute("viewBox", "0 0 200 22"); svg.setAttribute("class", "dots"); svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `scores of ${row.seeds.length} runs: ${row.seeds.map((one) => fixed(one)).join(", ")}`);
  const drawn = (tag, attributes) => {
    const one = document.createElementNS(name, tag);
    for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
    svg.append(one);
  };
  drawn("line", { x1: x(low), x2: x(high), y1: 11, y2: 11, stroke: colourOf("--line") });
  if (row.low !== null) drawn("line", { x1: x(row.low), x2: x(row.high), y1: 11, y2: 11, stroke: row.colour, "stroke-width": 8, "stroke-opacity": .3 });
  for (const seed of row.seeds) drawn("circle", { cx: x(seed), cy: 11, r: 3.5, fill: row.colour, "fill-opacity": .75 });
  return svg;
}

function columns() {
  const number = (title, field, extra = {}) => ({ title, field, sorter: "number", hozAlign: "right", minWidth: 84, formatter: (cell) => fixed(cell.getValue()), ...extra });
  return [
    { formatter: "responsiveCollapse", width: 36, minWidth: 36, hozAlign: "center", headerSort: false, responsive: 0, resizable: false },
    { title: "rank", field: "rank", minWidth: 78, responsive: 0, sorter: (a, b, first, second) => first.getData().order - second.getData().order },
    { title: "agent", field: "agent", minWidth: 150, widthGrow: 2, responsive: 0, formatter: agentCell, headerFilter: "input", headerFilterPlaceholder: "filter" },
    number("IQM", "iqm", { responsive: 0, headerFilter: "number", headerFilterFunc: ">=", headerFilterPlaceholder: "min" }),
    { title: "interval", field: "low", sorter: "number", minWidth: 130, responsive: 2, formatter: (cell) => cell.getValue() === null ? "none" : `${fixed(cell.getValue())} to ${fixed(cell.getData().high)}` },
    { title: "each seed", field: "seeds", minWidth: 200, widthGrow: 2, headerSort: false, responsive: 1, formatter: dotsCell },
    number("mean", "mean", { responsive: 3 }), number("median", "median", { responsive: 4, minWidth: 96 }), number("gap", "optimality_gap", { responsive: 5 }),
    { title: "runs", field: "runs", sorter: "number", hozAlign: "right", minWidth: 64, responsive: 6 },
    { title: "to know", field: "flags", minWidth: 160, widthGrow: 2, responsive: 7, formatter: (cell) => made("span", cell.getValue(), { class: "wrap" }) },
  ];
}

function reachable() { // headers that sort are reached and pressed by the keyboard too
  for (const head of document.querySelectorAll("#table .tabulator-col.tabulator-sortable")) {
    head.tabIndex = 0;
    head.onkeydown = (event) => {
      if (event.target === head && (event.key === "Enter" || event.key === " ")) {
        event.preventDefault();
        const field = head.getAttribute("tabulator-field"), now = table.getSorters().find((one) => one.field === field);
        table.setSort(field, now && now.dir === "asc" ? "desc" : "asc");
      }
    };
  }
}

function drawTable() {
  if (table) table.destroy();
  table = new Tabulator("#table", { data: section.rows, columns: columns(), layout: "fitColumns", responsiveLayout: "collapse", responsiveLayoutCollapseStartOpen: false, placeholder: "no agent is called so" });
  table.on("tableBuilt", () => { reachable(); searched(); });
  table.on("dataFiltered", (_, rows) => { at("about").textContent = about(rows.length); });
}

function about(shown) {
  const scale = section.raw ? "raw returns" : "0 is a random policy, 1 the scripted expert";
  return `${section.tasks.join(", ")}. ${shown} of ${section.rows.length} agents; ${scale}. Agents of one rank could not be told apart by these runs.` + (section.note ? ` ${section.note}.` : "");
}

function searched() {
  const wanted = at("search").value.trim().toLowerCase();
  table.setFilter((row) => row.agent.toLowerCase().includes(wanted));
}

function drawOdds() {
  const grid = made("table"), head = made("tr");
  head.append(made("td", ""), ...section.agents.map((agent) => made("th", agent, { scope: "col" })));
  grid.append(head);
  section.odds.forEach((row, i) => {
    const line = made("tr");
    line.append(made("th", section.agents[i], { scope: "row" }));
    row.forEach((odds) => {
      const cell = made("td", odds === null ? "" : odds.toFixed(2));
      if (odds !== null) cell.style.background = odds >= .5 ? `rgb(46 125 90 / ${(odds - .5).toFixed(2)})` : `rgb(190 70 40 / ${(.5 - odds).toFixed(2)})`;
      line.append(cell);
    });
    grid.append(line);
  });
  at("odds").replaceChildren(grid);
}

function drawCurves() {
  plots.forEach((one) => one.destroy());
  plots = [];
  at("curves").replaceChildren();
  const figures = section.curves.filter((one) => one.series.length).map((one) => {
    const figure = made("figure");
    figure.append(made("figcaption", `${one.task}: ${one.kind} on held-out problems`));
    at("curves").append(figure);
    return [one, figure];
  });
  for (const [one, figure] of figures) {
    const series = [{ label: "steps" }], columns = [one.steps], bands = [];
    for (const line of one.series) {
      series.push({ label: line.agent, stroke: line.colour, width: 2, spanGaps: true, points: { show: one.steps.length < 40 }, value: (_, value) => fixed(value) });
      columns.push(line.mean);
      if (line.low.some((value) => value !== null)) {
        const hidden = { stroke: "transparent", width: 0, spanGaps: true, points: { show: false }, label: "" };
        series.push({ ...hidden, class: "hidden" }, { ...hidden });
        columns.push(line.high, line.low);
        bands.push({ series: [columns.length - 2, columns.length - 1], fill: `${line.colour}33` });
      }
    }
    const axis = () => ({ stroke: colourOf("--ink"), grid: { stroke: colourOf("--line") }, ticks: { stroke: colourOf("--line") } });
    const options = { width: Math.max(240, figure.clientWidth - 22), height: 260, scales: { x: { time: false } }, series, bands, axes: [axis(), axis()] };
    const plot = new uPlot(options, columns, figure);
    plot.root.querySelectorAll(".u-legend .u-series").forEach((row, i) => { if (series[i] && series[i].label === "") row.style.display = "none"; });
    plots.push(plot);
  }
}

function drawResults() {
  at("results").replaceChildren(...section.results.map((one) => {
    const details = made("details");
    const success = one.success === null ? "" : `, success ${(100 * one.success).toFixed(0)}%`;
    details.append(made("summary", `${one.task}: ${one.agent}${one.verified ? " ✓" : ""}: return ${fixed(one.score, 2)}${success}, ${one.length}`));
    if (one.flags) details.append(made("p", `${one.flags}.`, { class: "quiet" }));
    details.append(made("pre", one.commands.join("\n")), made("p", `commit ${one.commits.join(", ")}`, { class: "quiet" }));
    return details;
  }));
}

function shown(index) {
  section = data.sections[index];
  drawTable(); drawOdds(); drawCurves(); drawResults();
}

themed(remembered("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
data.sections.forEach((one, i) => at("section").append(made("option", one.title, { value: i })));
at("section").addEventListener("change", () => shown(Number(at("section").value)));
at("search").addEventListener("input", searched);
at("csv").addEventListener("click", () => table.download("csv", "leaderboard.csv"));
at("theme").addEventListener("click", () => {
  themed(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  remembered("theme", document.documentElement.dataset.theme);
  shown(Number(at("section").value));
});
let width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; drawCurves(); } });
shown(0);
