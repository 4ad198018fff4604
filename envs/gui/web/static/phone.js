// The phone in a browser: shows it, and turns what mouse, wheel and keyboard do into its commands.
// One action is one event that counts as a step: a click, a right click (long press), a drag, a turn of the wheel
// (swipe), text, Escape (back), Home, Enter. `tiltyard` is what a driver calls.

import {Phone} from "./device.js";
import {css, defineIcons, distance, element, icon, logical, make, mixed, place, visibleBox} from "./view.js";

const SLACK = 3;  // logical units that a pointer may wander during a tap
const parts = Object.fromEntries([..."wallpaper status bar column dock keyboard notice over typing icons".split(" ")].map((id) => [id, document.getElementById(id)]));
const flow = new URLSearchParams(location.search).get("layout") === "flow";
document.documentElement.className = flow ? "flow" : "same";

let phone = null, shown = "", version = 0;
const phones = {};

// A phone with the apps of a world: Phone-v0's, or Phone-v1's in a language.
async function phoneOf(world) {
  if (!phones[world]) {
    const declared = await (await fetch(`${world}.json`)).json();
    if (!parts.icons.childElementCount) defineIcons(declared.icons, parts.icons);
    phones[world] = new Phone(declared, {flow});
  }
  return phones[world];
}

// -- showing -----------------------------------------------------------------------------------------------------

function show() {
  const page = phone.loading ? null : phone.page;
  const nodes = phone.nodes, top = page?.top ?? 28;
  const app = phone.stack.length ? phone.programs[phone.stack.at(-1).app] : null;
  colours(app);
  document.body.className = [app ? "open" : "home", phone.loading ? "loading" : "", phone.dialog ? "asking" : "", phone.focus !== null ? "typing" : ""].join(" ");
  status(app);
  const behind = phone.dialog ? page.visible : phone.loading ? [] : nodes.filter((node) => !["key", "keyboard", "notification"].includes(node.role));
  const column = behind.filter((node) => !node.fixed), fixed = behind.filter((node) => node.fixed);
  const placed = (node, from) => flow ? element(node) : place(element(node), node, from);
  const [bar, tabs] = [(node) => node.role !== "app" && node.role !== "tab", (node) => node.role === "tab"]
    .map((is) => fixed.filter(is).map((node) => placed(node, 0)));
  parts.bar.replaceChildren(make("div", "line", ...bar), make("div", "line", ...tabs));
  parts.dock.replaceChildren(...fixed.filter((node) => node.role === "app").map((node) => placed(node, 0)));
  parts.column.replaceChildren(...flowed(column.map((node) => placed(node, top))), ...scrollBar(page));
  parts.keyboard.replaceChildren(...rows(phone.keyboard().map((node) => placed(node, 0))));
  parts.notice.replaceChildren(...nodes.filter(({role}) => role === "notification").map((node) => placed(node, 0)));
  parts.over.replaceChildren(...(phone.dialog || phone.loading ? over(nodes.map((node) => placed(node, 0))) : []));
  if (!flow) Object.assign(parts.column.style, {top: `${top}rem`, height: `${(page?.bottom ?? 192) - top}rem`});
  else scrolled(page);
  parts.typing.value = "";
  if (document.activeElement !== parts.typing) parts.typing.focus({preventScroll: true});
  const now = document.body.className + document.body.style.cssText + parts.status.innerHTML + parts.bar.innerHTML
    + parts.dock.innerHTML + parts.column.innerHTML + parts.keyboard.innerHTML + parts.notice.innerHTML + parts.over.innerHTML;
  if (now !== shown) version += 1;
  shown = now;
}

function colours(app) {
  const theme = phone.declared.themes[phone.theme][phone.state.settings.dark ? 1 : 0], {style} = document.body;
  const ground = mixed(phone.wallpaper, 0x0B0D12, 0.65);
  for (const name of ["ground", "card", "ink", "faint", "line", "key", "accent"]) style.setProperty(`--${name}`, css(theme[name]));
  style.setProperty("--bar", css(app ? mixed(app.colour, theme.accent, theme.tint) : phone.wallpaper));
  style.setProperty("--app", css(app?.colour ?? phone.wallpaper));
  style.setProperty("--wallpaper", css(phone.wallpaper));
  style.setProperty("--wallpaper-end", css(ground));
}

function status(app) {
  const radios = phone.state.settings.radios.split(" ");
  const names = {airplane: "plane", wifi: "wifi", bluetooth: "bluetooth"};
  const shownIcons = Object.keys(names).filter((name) => radios.includes(name)).reverse().map((name) => icon(names[name]));
  const charge = make("span", "charge", make("span", "level"));
  charge.firstChild.style.width = `${phone.charge}%`;
  parts.status.replaceChildren(make("span", "clock", app ? phone.clock : ""), ...shownIcons, charge);
  parts.wallpaper.replaceChildren(...(app ? [] : [make("span", "clock", phone.clock)]));
}

function scrollBar(page) {
  if (flow || !page || !phone.stack.length || page.longestScroll <= 0) return [];
  const room = page.bottom - page.top, share = room / (room + page.longestScroll);
  const y = (room - room * share) * page.screen.scroll / page.longestScroll;
  return [place(make("div", "scroll"), {x0: 106, y0: y + 1, x1: 107.4, y1: y + room * share - 1})];
}

// -- the layout `flow`: groups that CSS lays out, and the browser's own scrolling ---------------------------------------

function flowed(elements) {
  if (!flow) return elements;
  const groups = [];
  for (const one of elements) {
    const {role, look} = one.node, last = groups.at(-1);
    if (role === "chip" && last?.classList.contains("chips")) last.append(one);
    else if (role === "chip") groups.push(make("div", "group chips", one));
    else if (look === "value") groups.push(make("div", "group stepper", one));
    else if (look === "round" && last?.classList.contains("stepper")) last.append(one);
    else if (role === "field") groups.push(make("div", "group fielded", one));
    else if (look === "inset" && last?.classList.contains("fielded")) last.append(one);
    else groups.push(one);
  }
  return groups;
}

function rows(keys) {
  if (!flow) return keys;
  const tops = [...new Set(keys.map(({node}) => node.y0))].sort((a, b) => a - b);
  for (const one of keys) one.style.flexGrow = one.node.x1 - one.node.x0;
  const row = (top) => keys.filter(({node}) => node.role === "key" && node.y0 === top).sort((a, b) => a.node.x0 - b.node.x0);
  return tops.map((top) => make("div", "line", ...row(top)));
}

function over(elements) {
  if (!flow || !phone.dialog) return elements;
  const [box, ...rest] = elements, buttons = make("div", "group buttons");
  for (const one of rest) (one.node.role === "button" ? buttons : box).append(one);
  box.append(buttons);
  return [box];
}

function scrolled(page) {
  if (!page) return;
  parts.column.scrollTop = page.screen.scroll;
  const focused = page.column.find((node) => node.focused);
  focused?.element?.scrollIntoView({block: "nearest"});
  page.screen.scroll = parts.column.scrollTop;
}

function flowTree() {
  const clip = phone.dialog || phone.loading ? null : parts.column;
  const lines = phone.nodes.filter((node) => node.role !== "key").map((node) => [node, visibleBox(node, clip)]);
  const tree = [...phone.head(), ...lines.filter(([, box]) => box).map(([node, box]) => node.line(box))];
  const {scrollTop, scrollHeight, clientHeight} = parts.column;
  if (clip && phone.stack.length && scrollHeight > clientHeight + 1) {
    const hints = [...(scrollTop < scrollHeight - clientHeight - 1 ? ["up"] : []), ...(scrollTop > 1 ? ["down"] : [])];
    tree.push("swipe " + hints.join(" "));
  }
  return tree.join("\n");
}

// -- acting ------------------------------------------------------------------------------------------------------

function act(command) {
  if (phone === null) return;
  if (flow && phone.stack.length) phone.stack.at(-1).scroll = parts.column.scrollTop;
  phone.act(command);
  show();
}

// In `flow` the browser says what is under the pointer: the element, or one that it is in.
const nodeAt = (element, has = "onTap") => {
  for (let one = element?.closest?.(".node"); one; one = one.parentElement.closest(".node")) if (one.node[has] !== null) return one.node;
  return null;
};
const nodeUnder = (point, has) => nodeAt(document.elementFromPoint(point.x * innerWidth, point.y * innerHeight), has);
let down = null;

addEventListener("pointerdown", (event) => {
  down = {...logical(event), time: event.timeStamp};
});
addEventListener("pointerup", (event) => {
  if (!down) return;
  const from = down, to = logical(event), held = event.pointerType === "touch" && event.timeStamp - from.time > 500;
  down = null;
  if (distance(from, to) > SLACK) {
    const ends = flow ? {node: nodeUnder(from, "onDrop"), onto: nodeUnder(to, "target")} : {};
    act({verb: "drag", x: from.x, y: from.y, x1: to.x, y1: to.y, ...ends});
  } else if (event.button === 2 || held) {
    act({verb: "long_press", ...from, ...(flow ? {node: nodeUnder(from, "onHold")} : {})});
  } else {
    act({verb: "tap", ...from, ...(flow ? {node: nodeUnder(from, "onTap")} : {})});
  }
});
addEventListener("click", (event) => {  // by a script or an assistive tool: there was no pointer
  const node = event.detail === 0 && nodeAt(event.target);
  if (node) act({verb: "tap", node});
});
addEventListener("contextmenu", (event) => event.preventDefault());
addEventListener("wheel", (event) => {
  const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
  const text = sideways ? (event.deltaX > 0 ? "left" : "right") : event.deltaY > 0 ? "up" : "down";
  const scrolls = flow && !sideways && !(phone.noticed && text === "up" && phone.dialog === null);
  if (!scrolls) event.preventDefault();
  act(scrolls ? {verb: "wait"} : {verb: "swipe", text});
}, {passive: false});
addEventListener("keydown", (event) => {
  const verb = {Escape: "back", Home: "home", Enter: "enter"}[event.key];
  if (!verb) return;
  event.preventDefault();
  act({verb});
});
parts.typing.addEventListener("beforeinput", (event) => {
  event.preventDefault();
  if (event.data) act({verb: "type", text: event.data});
  else if (event.inputType === "deleteContentBackward") act({verb: "press", text: "\b"});
});

const frame = () => new Promise(requestAnimationFrame);

async function settled() {
  for (let last = -1; last !== parts.column.scrollTop;) {
    last = parts.column.scrollTop;
    await frame();
    await frame();
  }
  if (phone.stack.length) phone.stack.at(-1).scroll = parts.column.scrollTop;
}

window.tiltyard = {
  // Puts a problem on the phone.
  async load(problem) {
    phone = await phoneOf(problem.world);
    phone.load(problem);
    show();
    return this.look();
  },
  // What no event does: done, wait, answer, open, a command that could not be read.
  act(command) {
    act(command);
    return this.look();
  },
  // The tree, all that can be compared, a number that is another one when something looks different, and how much of
  // the column can be seen.
  look: () => ({
    ...(flow ? {tree: flowTree(), shown: `${version} ${parts.column.scrollTop}`, room: parts.column.clientHeight}
      : {tree: phone.tree(), shown: String(version), room: 100}),  // asking for sizes makes the browser lay out
    ...phone.report(),
  }),
  // The same after so many steps, when everything stands still.
  async after(n) {
    for (const late = performance.now() + 9000; phone.steps < n;) {
      if (performance.now() > late) throw new Error(`the page took ${phone.steps} steps, not ${n}`);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    if (flow) await settled();
    return this.look();
  },
  // Every element that does something: where it is now (shares of the window), or how far above or below it is.
  elements: () => phone.able().map((node) => {
    const box = flow ? visibleBox(node, phone.dialog ? null : parts.column) : null;
    return {role: node.role, text: node.text, box, y: node.element?.getBoundingClientRect().top / innerHeight};
  }),
};
