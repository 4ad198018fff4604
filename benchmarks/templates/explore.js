// The leaderboard's site: what is shown comes from the page's own data; Tabulator and uPlot draw it.
"use strict";
const AXES = { samples: "environment steps", "wall-clock": "seconds by the clock", processor: "processor seconds" };
let scale, section, table, plots = [];

function agentCell(cell) {
  const row = cell.getData(), box = made("span", undefined, { class: "wrap" });
  box.append(made("span", "", { class: "swatch", style: `background:${row.colour}` }), row.agent);
  if (row.verified) box.append(made("abbr", " ✓", { title: "each run's checkpoint was played again and scored what is stored" }));
  return box;
}

function rankCell(cell) { // a tie is shown as one
  const rank = cell.getValue(), box = made("span", rank, { class: "wrap" });
  if (rank.includes(" to ")) box.append(" ", made("abbr", "tie", { class: "tie", title: "these agents do not differ significantly in these runs" }));
  return box;
}

function linksCell(cell) {
  const row = cell.getData(), source = data.sources[row.agent], box = made("span", undefined, { class: "wrap links" });
  if (source && source.paper) {
    const link = outside("paper", source.paper.link);
    link.title = source.paper.title;
    box.append(link);
  }
  if (source && source.files.length) box.append(made("a", "source", { href: `papers.html#${encodeURIComponent(source.paper ? source.paper.handle : source.handle)}`, title: `tiltyard show ${source.handle}: ${source.files.join(", ")}` }));
  const runs = made("a", "runs", { href: "#results" });
  runs.addEventListener("click", (event) => { event.preventDefault(); opened(row.agent); });
  box.append(runs);
  const first = section.results.find((one) => one.agent === row.agent);
  if (first) box.append(copier(data.runs[first.runs[0]].command, `the command of a run of ${row.agent}`, "command"));
  return box;
}

function opened(agent) { // unfolds an agent's runs and goes there
  const mine = [...document.querySelectorAll("#results details")].filter((one) => one.dataset.agent === agent);
  mine.forEach((one) => { one.open = true; });
  if (mine.length) {
    mine[0].scrollIntoView({ block: "start" });
    mine[0].querySelector("summary").focus();
  }
}

function dotsCell(cell) { // one dot a seed, and the interval of the mean of the middle half, on the section's scale
  const row = cell.getData(), all = section.rows.flatMap((one) => [...one.seeds, one.low ?? 0, one.high ?? 0]);
  const low = Math.min(0, ...all), high = Math.max(section.raw ? low + 1e-9 : 1, ...all);
  const x = (value) => 4 + 192 * (value - low) / (high - low);
  const name = "http://www.w3.org/2000/svg", svg = document.createElementNS(name, "svg");
  svg.setAttribute("viewBox", "0 0 200 22"); svg.setAttribute("class", "dots"); svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `scores of ${row.seeds.length} runs: ${row.seeds.map((one) => fixed(one)).join(", ")}`);
  const drawn = (tag, attributes, title) => {
    const one = document.createElementNS(name, tag);
    for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
    if (title) { const words = document.createElementNS(name, "title"); words.textContent = title; one.append(words); }
    svg.append(one);
  };
  drawn("line", { x1: x(low), x2: x(high), y1: 11, y2: 11, stroke: "var(--line)" });
  if (row.low !== null) drawn("line", { x1: x(row.low), x2: x(row.high), y1: 11, y2: 11, stroke: row.colour, "stroke-width": 8, "stroke-opacity": .3 });
  for (const seed of row.seeds) drawn("circle", { cx: x(seed), cy: 11, r: 3.5, fill: row.colour, "fill-opacity": .75 }, fixed(seed));
  return svg;
}

function columns() {
  const number = (title, field, extra = {}) => ({ title, field, sorter: "number", hozAlign: "right", minWidth: 84, formatter: (cell) => fixed(cell.getValue()), ...extra });
  return [
    { formatter: "responsiveCollapse", width: 36, minWidth: 36, hozAlign: "center", headerSort: false, responsive: 0, resizable: false },
    { title: "rank", field: "rank", minWidth: 78, responsive: 0, formatter: rankCell, sorter: (a, b, first, second) => first.getData().order - second.getData().order },
    { title: "agent", field: "agent", minWidth: 150, widthGrow: 2, responsive: 0, formatter: agentCell, headerFilter: "input", headerFilterPlaceholder: "filter" },
    number("IQM", "iqm", { responsive: 0, headerFilter: "number", headerFilterFunc: ">=", headerFilterPlaceholder: "min" }),
    { title: "interval", field: "low", sorter: "number", minWidth: 130, responsive: 2, formatter: (cell) => made("span", cell.getValue() === null ? cell.getData().why : `${fixed(cell.getValue())} to ${fixed(cell.getData().high)}`, { class: "wrap" }) },
    { title: "each seed", field: "seeds", minWidth: 200, widthGrow: 2, headerSort: false, responsive: 1, formatter: dotsCell },
    { title: "links", field: "links", minWidth: 176, headerSort: false, responsive: 2, formatter: linksCell, download: false },
    number("mean", "mean", { responsive: 4 }), number("median", "median", { responsive: 5, minWidth: 108 }), number("gap", "optimality_gap", { responsive: 6 }),
    { title: "runs", field: "runs", sorter: "number", hozAlign: "right", minWidth: 64, responsive: 6 },
    { title: "to know", field: "flags", minWidth: 150, widthGrow: 2, responsive: 7, formatter: (cell) => made("span", cell.getValue(), { class: "wrap" }) },
  ];
}

function drawTable() {
  if (table) table.destroy();
  table = new Tabulator("#table", { data: section.rows, columns: columns(), layout: "fitColumns", responsiveLayout: "collapse", responsiveLayoutCollapseStartOpen: false, placeholder: "no agent is called so" });
  table.on("tableBuilt", searched);
  table.on("renderComplete", () => reachable(table, "#table"));
  table.on("dataFiltered", (_, rows) => { at("about").textContent = about(rows.length); });
}

function about(shown) {
  const words = section.raw ? "raw returns" : scale.words;
  return `${section.tasks.join(", ")}. ${shown} of ${section.rows.length} agents; ${words}. Agents of one rank do not differ significantly in these runs.` + (section.note ? ` ${section.note}.` : "");
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

function drawAxes() { // those that some task of the section has; what was chosen stays if it can
  const known = Object.keys(AXES).filter((axis) => section.curves.some((one) => one.axes[axis])), before = at("axis").value;
  at("axis").replaceChildren(...known.map((axis) => made("option", AXES[axis], { value: axis })));
  if (known.includes(before)) at("axis").value = before;
}

function drawCurves() {
  plots.forEach((one) => one.destroy());
  plots = [];
  at("curves").replaceChildren();
  const axis = at("axis").value || "samples", found = section.curves.filter((one) => one.axes[axis]);
  at("axisnote").textContent = found.some((one) => one.axes[axis].estimated) ? "These runs did not record when they were evaluated: times are read off evenly from the whole run's." : "";
  const figures = found.map((one) => {
    const figure = made("figure");
    figure.append(made("figcaption", `${one.task}: ${one.kind} on held-out problems, along ${AXES[axis]}`));
    at("curves").append(figure);
    return [one.axes[axis], figure];
  });
  for (const [one, figure] of figures) plots.push(plotted(one, axis, figure));
}

function plotted(one, axis, figure) {
  const series = [{ label: axis === "samples" ? "steps" : "seconds" }], columns = [one.at], bands = [];
  for (const line of one.series) {
    series.push({ label: line.agent, stroke: line.colour, width: 2, spanGaps: true, points: { show: one.at.length < 40 }, value: (_, value) => fixed(value) });
    columns.push(line.mean);
    if (line.low.some((value) => value !== null)) {
      const hidden = { stroke: "transparent", width: 0, spanGaps: axis === "samples", points: { show: false }, label: "" };
      series.push({ ...hidden, class: "hidden" }, { ...hidden });
      columns.push(line.high, line.low);
      bands.push({ series: [columns.length - 2, columns.length - 1], fill: `${line.colour}33` });
    }
  }
  const lines = () => ({ stroke: colourOf("--ink"), grid: { stroke: colourOf("--line") }, ticks: { stroke: colourOf("--line") } });
  const options = { width: Math.max(240, figure.clientWidth - 22), height: 260, scales: { x: { time: false } }, series, bands, axes: [lines(), lines()] };
  const plot = new uPlot(options, columns, figure);
  plot.root.querySelectorAll(".u-legend .u-series").forEach((row, i) => { if (series[i] && series[i].label === "") row.style.display = "none"; });
  return plot;
}

function video(run) {
  const shown = run.video.endsWith(".gif") ? made("img", undefined, { src: encodeURI(run.video), alt: `an episode of seed ${run.seed}` }) : made("video", undefined, { src: encodeURI(run.video), controls: "", preload: "none", "aria-label": `an episode of seed ${run.seed}` });
  shown.className = "episode";
  return shown;
}

function runLine(name) {
  const run = data.runs[name], item = made("li"), success = run.success === null ? "" : `, success ${(100 * run.success).toFixed(0)}%`;
  item.append(made("span", `seed ${run.seed}: return ${fixed(run.score, 2)}${success}, ${run.seconds.toFixed(0)} s, commit ${run.commit.slice(0, 12)} `));
  item.append(made("pre", run.command), copier(run.command, `the command of ${name}`));
  if (run.video) item.append(video(run));
  else {
    item.append(made("span", run.playable ? " A video: " : " A video, once it was run: ", { class: "quiet" }), made("code", run.play, { class: "wrap" }), " ", copier(run.play, `the command of a video of ${name}`));
  }
  return item;
}

function drawResults() {
  at("results").replaceChildren(...section.results.map((one) => {
    const details = made("details");
    details.dataset.agent = one.agent;
    details.append(made("summary", `${one.task}: ${one.agent}${one.verified ? " ✓" : ""}: return ${one.score}${one.success === null ? "" : `, success ${one.success}`}, ${one.length}`));
    details.addEventListener("toggle", () => { // long lists are made when they are opened
      if (!details.open || details.querySelector("ul")) return;
      if (one.flags) details.append(made("p", `${one.flags}.`, { class: "quiet" }));
      const list = made("ul");
      list.append(...one.runs.map(runLine));
      details.append(list);
    });
    return details;
  }));
}

function shown() {
  scale = data.scales[Number(at("scale").value)];
  const title = at("section").value;
  at("section").replaceChildren(...scale.sections.map((one) => made("option", one.title, { value: one.title })));
  if (scale.sections.some((one) => one.title === title)) at("section").value = title;
  section = scale.sections.find((one) => one.title === at("section").value);
  drawTable(); drawOdds(); drawAxes(); drawCurves(); drawResults();
}

function runsAsRows() {
  const rows = [["task", "agent", "seed", "return", "normalised", "success", "length", "seconds", "commit", "command"]];
  for (const one of section.results) {
    one.runs.forEach((name, i) => {
      const run = data.runs[name];
      rows.push([one.task, one.agent, run.seed, run.score, one.normalised[i], run.success, run.length, run.seconds, run.commit, run.command]);
    });
  }
  return rows;
}

data.scales.forEach((one, i) => at("scale").append(made("option", one.words.split(", 1 ")[1].split(":")[0], { value: i })));
at("scales").hidden = data.scales.length < 2;
withTheme(shown);
at("section").addEventListener("change", shown);
at("scale").addEventListener("change", shown);
at("axis").addEventListener("change", drawCurves);
at("search").addEventListener("input", searched);
at("csv").addEventListener("click", () => table.download("csv", "leaderboard.csv"));
at("runscsv").addEventListener("click", () => saved("runs.csv", commaSeparated(runsAsRows()), "text/csv"));
at("json").addEventListener("click", () => saved("leaderboard.json", JSON.stringify(data), "application/json"));
let width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; drawCurves(); } });
shown();
