// What both pages of the site share: the data inside the page, elements, downloads, the theme, the keyboard.
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

function withTheme(redraw) {
  themed(remembered("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  at("theme").addEventListener("click", () => {
    themed(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    remembered("theme", document.documentElement.dataset.theme);
    redraw();
  });
}

function outside(text, link) { // an address of the table of papers, or words alone
  return /^https?:/.test(link || "") ? made("a", text, { href: link, target: "_blank", rel: "noopener noreferrer" }) : made("span", text);
}

function saved(name, text, type) {
  const link = made("a", "", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function commaSeparated(rows) { // quoted, and no cell begins as a formula of a spreadsheet
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return `"${(typeof value === "string" && /^[=+@\t-]/.test(text) ? "'" + text : text).replaceAll('"', '""')}"`;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

function copied(button, text) {
  const done = (word) => { const before = button.textContent; button.textContent = word; setTimeout(() => { button.textContent = before; }, 1200); };
  const byHand = () => {
    const area = made("textarea", text, { class: "away" });
    document.body.append(area);
    area.select();
    done(document.execCommand("copy") ? "copied" : "not allowed");
    area.remove();
    button.focus();
  };
  if (navigator.clipboard && window.isSecureContext) navigator.clipboard.writeText(text).then(() => done("copied"), byHand);
  else byHand();
}

function copier(text, label, word = "copy") {
  const button = made("button", word, { type: "button", class: "small", "aria-label": `copy ${label}`, title: text });
  button.addEventListener("click", (event) => { event.stopPropagation(); copied(button, text); });
  return button;
}

function reachable(table, place) { // headers that sort are reached and pressed by the keyboard too
  for (const head of document.querySelectorAll(`${place} .tabulator-col.tabulator-sortable`)) {
    head.tabIndex = 0;
    head.onkeydown = (event) => {
      if (event.target === head && (event.key === "Enter" || event.key === " ")) {
        event.preventDefault();
        const field = head.getAttribute("tabulator-field"), now = table.getSorters().find((one) => one.field === field);
        table.setSort(field, now && now.dir === "asc" ? "desc" : "asc");
      }
    };
  }
  for (const knob of document.querySelectorAll(`${place} .tabulator-responsive-collapse-toggle`)) {
    knob.tabIndex = 0;
    knob.setAttribute("role", "button");
    knob.setAttribute("aria-label", "more of this row");
    knob.onkeydown = (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); knob.click(); } };
  }
}

addEventListener("keydown", (event) => { // / goes to the search, as on many sites
  if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
    event.preventDefault();
    at("search").focus();
  }
});
