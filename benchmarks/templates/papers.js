// The page of papers: one table to sort, search and filter; a row says where a paper is built and what came of its claim.
"use strict";
let table;

function titleCell(cell) {
  const row = cell.getData(), box = made("span", undefined, { class: "wrap" });
  box.append(outside(row.title, row.link));
  return box;
}

function builtCell(cell) {
  const row = cell.getData(), box = made("span", undefined, { class: "wrap" });
  box.append(made("span", row.state));
  if (row.files.length) box.append(made("br"), made("code", row.files[0]));
  if (row.files.length > 1) box.append(made("br"), made("span", `and ${row.files.length - 1} more`, { class: "quiet", title: row.files.slice(1).join(", ") }));
  return box;
}

function verdictCell(cell) {
  const row = cell.getData(), box = made("span", undefined, { class: "wrap" });
  if (row.verdict) box.append(made("b", row.verdict, { class: `verdict ${row.verdict}` }));
  return box;
}

function wordsCell(cell) {
  const row = cell.getData(), box = made("span", row.claim, { class: "wrap" });
  if (row.measured) box.append(made("br"), made("span", row.measured, { class: "quiet" }));
  if (row.because) box.append(made("br"), made("span", row.because, { class: "quiet" }));
  if (row.command) box.append(made("br"), made("code", row.command), " ", copier(row.command, `the command of the claim on ${row.handle}`));
  return box;
}

function showCell(cell) {
  const row = cell.getData(), box = made("span", undefined, { class: "wrap" });
  box.append(made("code", row.show), " ", copier(row.show, row.show));
  for (const file of row.files.slice(1)) box.append(made("br"), made("code", file));
  return box;
}

const columns = [
  { formatter: "responsiveCollapse", width: 36, minWidth: 36, hozAlign: "center", headerSort: false, responsive: 0, resizable: false },
  { title: "handle", field: "handle", minWidth: 130, responsive: 0, formatter: (cell) => made("span", cell.getValue(), { class: "wrap" }) },
  { title: "paper", field: "title", minWidth: 260, widthGrow: 3, responsive: 1, formatter: titleCell },
  { title: "year", field: "year", minWidth: 70, responsive: 4 },
  { title: "domain", field: "domain", minWidth: 96, responsive: 5 },
  { title: "here", field: "state", minWidth: 210, widthGrow: 2, responsive: 2, formatter: builtCell },
  { title: "verdict", field: "verdict", minWidth: 116, responsive: 0, formatter: verdictCell, sorter: (a, b) => (a === "") - (b === "") || a.localeCompare(b) },
  { title: "claim", field: "claim", minWidth: 300, widthGrow: 4, responsive: 6, headerSort: false, formatter: wordsCell },
  { title: "more", field: "show", minWidth: 200, responsive: 7, headerSort: false, formatter: showCell },
];

function searched() {
  const words = at("search").value.trim().toLowerCase().split(/\s+/), state = at("state").value, verdict = at("verdict").value;
  table.setFilter((row) => {
    const text = [row.handle, row.title, row.year, row.domain, row.kind, row.claim, ...row.files, ...row.parts].join(" ").toLowerCase();
    return (!state || row.state === state) && (!verdict || (row.verdict || "none") === verdict) && words.every((word) => text.includes(word));
  });
}

function told(shown) {
  const all = data.papers, built = all.filter((one) => one.parts.length).length, judged = all.filter((one) => one.verdict).length;
  at("about").textContent = `${shown} of ${all.length} papers shown; ${built} are built here, the claims of ${judged} have a verdict.`;
}

function options(id, field, empty) {
  const values = [...new Set(data.papers.map((one) => one[field] || empty))].sort();
  values.forEach((value) => at(id).append(made("option", value, { value })));
  at(id).addEventListener("change", searched);
}

withTheme(() => {});
options("state", "state", "");
options("verdict", "verdict", "none");
table = new Tabulator("#table", { data: data.papers, columns, layout: "fitColumns", responsiveLayout: "collapse", responsiveLayoutCollapseStartOpen: false, pagination: true, paginationSize: 40, paginationCounter: "rows", placeholder: "no paper is called so" });
table.on("tableBuilt", () => {
  at("search").value = decodeURIComponent(location.hash.slice(1));
  searched();
});
table.on("renderComplete", () => reachable(table, "#table"));
table.on("dataFiltered", (_, rows) => told(rows.length));
addEventListener("hashchange", () => { at("search").value = decodeURIComponent(location.hash.slice(1)); searched(); });
at("search").addEventListener("input", searched);
at("csv").addEventListener("click", () => {
  const names = ["handle", "title", "year", "link", "domain", "kind", "state", "files", "verdict", "measured", "claim", "show"];
  saved("papers.csv", commaSeparated([names, ...table.getData("active").map((row) => names.map((name) => (name === "files" ? row.files.join(" ") : row[name])))]), "text/csv");
});
