// What nodes look like: elements with text (never markup) and icons; phone.css says the rest.

import {HEIGHT, WIDTH} from "./page.js";

const SVG = "http://www.w3.org/2000/svg";

export function make(tag, className, ...children) {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...children);
  return made;
}

export const css = (colour) => `#${colour.toString(16).padStart(6, "0")}`;

export function mixed(colour, other, share) {
  const part = (shift) => {
    const [a, b] = [(colour >> shift) & 255, (other >> shift) & 255];
    return Math.trunc(a + (b - a) * share) << shift;
  };
  return part(16) | part(8) | part(0);
}

// -- icons: shapes on a grid of 24 x 24 (icons.py), once each as a mask -------------------------------------------------

function shape(tag, attributes, hole = false) {
  const made = document.createElementNS(SVG, tag), ink = hole ? "black" : "white";
  const [fill, stroke] = "stroke-width" in attributes ? ["none", ink] : [ink, "none"];
  for (const [name, value] of Object.entries({fill, stroke, ...attributes})) made.setAttribute(name, value);
  return made;
}

const points = (numbers) => numbers.map((n, i) => (i % 2 ? "," : " ") + n).join("").trim();
const box = ([x0, y0, x1, y1, rx], inset = 0) => ({
  x: x0 + inset, y: y0 + inset, width: x1 - x0 - 2 * inset, height: y1 - y0 - 2 * inset, rx,
});

function arc([x, y, outer, from, to, width]) {
  const r = outer - width / 2, end = (degrees) => {
    const angle = degrees * Math.PI / 180;
    return `${x + r * Math.cos(angle)} ${y + r * Math.sin(angle)}`;
  };
  return shape("path", {d: `M ${end(from)} A ${r} ${r} 0 ${to - from > 180 ? 1 : 0} 1 ${end(to)}`, "stroke-width": width});
}

const SHAPES = {
  line: ([width, ...rest]) => shape("polyline", {
    points: points(rest), "stroke-width": width, "stroke-linecap": "round", "stroke-linejoin": "round",
  }),
  fill: (n) => shape("polygon", {points: points(n)}),
  disc: ([cx, cy, r]) => shape("circle", {cx, cy, r}),
  hole: ([cx, cy, r]) => shape("circle", {cx, cy, r}, true),
  box: (n) => shape("rect", box(n)),
  slot: (n) => shape("rect", box(n), true),
  frame: ([...n]) => shape("rect", {...box(n, n[5] / 2), "stroke-width": n[5]}),
  ring: ([cx, cy, r, width]) => shape("circle", {cx, cy, r: r - width / 2, "stroke-width": width}),
  arc,
};

export function defineIcons(icons, svg) {
  for (const [name, shapes] of Object.entries(icons)) {
    const mask = document.createElementNS(SVG, "mask");
    mask.id = `icon-${name}`;
    mask.append(...shapes.map(([kind, numbers]) => SHAPES[kind](numbers)));
    svg.append(mask);
  }
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg"), rect = document.createElementNS(SVG, "rect");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  for (const [key, value] of Object.entries({width: 24, height: 24, fill: "currentColor", mask: `url(#icon-${name})`})) rect.setAttribute(key, value);
  svg.append(rect);
  return svg;
}

// -- elements ----------------------------------------------------------------------------------------------------

const label = (node) => make("span", "label", node.text);
const lines = (node) => make("span", "lines", label(node), ...(node.detail ? [make("span", "detail", node.detail)] : []));
const lead = (node) => node.icon ? [icon(node.icon)] : [];
const listed = (node, ...end) => [...lead(node), lines(node), ...end];

const CONTENT = {
  app: (node) => [make("span", "tile", icon(node.icon)), label(node)],
  row: (node) => listed(node, ...(node.onTap ? [icon("chevron")] : [])),
  item: (node) => listed(node),
  switch: (node) => listed(node, make("span", "toggle")),
  radio: (node) => listed(node, make("span", "dot")),
  field: (node) => {
    const value = node.detail + (node.focused ? "|" : "");
    return [label(node), ...(value ? [make("span", "detail", value)] : [])];
  },
  button: (node) => ["bar", "round", "inset"].includes(node.look) ? [icon(node.icon)] : [label(node)],
  text: (node) => node.look === "value" ? [lines(node)] : [...lead(node), label(node)],
  image: (node) => [make("span", "tile", icon(node.icon))],
  key: (node) => [node.icon ? icon(node.icon) : label(node)],
  spinner: (node) => [icon("spinner"), label(node)],
};

// How assistive technology, and agents that read the accessibility tree, are told what is chosen.
const STATES = {
  switch: ["switch", "aria-checked"], radio: ["radio", "aria-checked"], chip: ["button", "aria-pressed"], tab: ["tab", "aria-selected"],
};

export function element(node) {
  const flags = ["checked", "focused", "disabled"].filter((flag) => node[flag]).join(" ");
  const made = make(node.onTap ? "button" : "div", `node ${node.role} ${node.look} ${flags}${node.detail ? " two" : ""}`);
  made.tabIndex = -1;
  made.append(...(CONTENT[node.role] ?? ((one) => [...lead(one), lines(one)]))(node));
  if (node.colour) made.style.setProperty("--own", css(node.colour));
  if (["button", "tab", "chip", "row", "app", "notification"].includes(node.role)) made.setAttribute("aria-label", node.text);
  const [role, state] = STATES[node.role] ?? [];
  if (node.checked !== null && role) {
    made.setAttribute("role", role);
    made.setAttribute(state, node.checked);
  }
  if (node.disabled) made.setAttribute("aria-disabled", "true");
  made.node = node;
  node.element = made;
  return made;
}

// At its box, in logical units: the layout `same`.
export function place(made, {x0, y0, x1, y1}, top = 0) {
  Object.assign(made.style, {left: `${x0}rem`, top: `${y0 - top}rem`, width: `${x1 - x0}rem`, height: `${y1 - y0}rem`});
  return made;
}

// The part of an element that can be seen, in shares of the window: [x0, y0, x1, y1], or null where it is too little.
export function visibleBox(node, column) {
  const {left, top, right, bottom} = node.element.getBoundingClientRect();
  const clip = column?.contains(node.element) ? column.getBoundingClientRect() : {top: 0, bottom: innerHeight};
  const [y0, y1] = [Math.max(top, clip.top), Math.min(bottom, clip.bottom)];
  if (y1 - y0 < Math.min(innerHeight * 6 / HEIGHT, bottom - top) || y1 <= y0) return null;
  return [left / innerWidth, y0 / innerHeight, right / innerWidth, y1 / innerHeight];
}

export const logical = (event) => {
  // The browser rounds coordinates to 32 bits; to a millionth of the screen, they are what was sent.
  const share = (value, whole) => Math.round(value / whole * 1e6) / 1e6;
  return {x: share(event.clientX, innerWidth), y: share(event.clientY, innerHeight)};
};

export const distance = (a, b) => Math.max(Math.abs(a.x - b.x) * WIDTH, Math.abs(a.y - b.y) * HEIGHT);
