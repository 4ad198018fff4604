// Screens as columns of nodes with boxes: the same arithmetic, in the same order, as envs/gui/ui.py.

export const WIDTH = 108, HEIGHT = 192, STATUS = 10, BAR = 18, KEYBOARD = 64, MARGIN = 4;
const LEAST_VISIBLE = 6, LINE_CHARS = 26;

export class Node {
  constructor(role, text, x0, y0, x1, y1, onTap = null, more = {}) {
    Object.assign(this, {role, text, x0, y0, x1, y1, onTap, detail: "", checked: null, focused: false});
    Object.assign(this, {disabled: false, icon: "", look: "", colour: 0, key: "", fixed: false, v0: y0, v1: y1,
      onHold: null, onDrop: null, target: null}, more);
  }

  holds(x, y) {
    return this.x0 <= x && x < this.x1 && this.v0 <= y && y < this.v1;
  }

  line(box = [this.x0 / WIDTH, this.v0 / HEIGHT, this.x1 / WIDTH, this.v1 / HEIGHT]) {
    const detail = this.detail ? ` "${plain(this.detail)}"` : "";
    const checked = this.checked === null ? "" : this.checked ? " checked" : " unchecked";
    const flags = checked + (this.focused ? " focused" : "") + (this.disabled ? " disabled" : "")
      + (this.onHold ? " hold" : "") + (this.onDrop ? " drag" : "") + (this.target !== null ? " drop" : "");
    return `${this.role} "${plain(this.text)}"${detail} ${box.map(twoPlaces).join(" ")}${flags}`;
  }
}

const plain = (text) => text.replaceAll('"', "'").slice(0, 60);

// As Python's "%.2f": ties go to the even digit, which toFixed rounds up.
export function twoPlaces(x) {
  if (Object.is(x, -0)) return "-0.00";
  const eighths = Math.abs(x) * 8;
  if (!Number.isInteger(eighths) || eighths % 2 === 0) return x.toFixed(2);
  const below = Math.floor(Math.abs(x) * 100);
  return (x < 0 ? "-" : "") + ((below + below % 2) / 100).toFixed(2);
}

export function wrap(text, width) {
  const lines = [];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    if (lines.length && lines.at(-1).length + 1 + word.length <= width) lines[lines.length - 1] += " " + word;
    else lines.push(word);
  }
  return lines;
}

export class Page {
  // `flow`: the browser lays the page out and scrolls it; there are no boxes, and texts are not broken into lines.
  // `density` is a factor of all heights and gaps of the column.
  constructor(screen, {onBack, onFocus, flow = false, density = 1}) {
    Object.assign(this, {screen, onBack, onFocus, flow, density});
    Object.assign(this, {fixed: [], column: [], visible: [], top: STATUS, bottom: HEIGHT, title: "", colour: 0});
    Object.assign(this, {onSwipe: {}, onEnter: null, fields: [], y: 3});
  }

  bar(title, back, actions) {
    this.title = title;
    this.top = STATUS + BAR;
    const fixed = (role, text, x0, x1, onTap, icon = "") =>
      this.fixed.push(new Node(role, text, x0, STATUS, x1, STATUS + BAR, onTap, {icon, look: "bar"}));
    let x = 2;
    if (back) {
      fixed("button", "Back", 0, 16, this.onBack, "back");
      x = 16;
    }
    const end = WIDTH - 17 * actions.length;
    fixed("title", title, x + 2, end, null);
    actions.forEach(([icon, name, onTap], i) => fixed("button", name, end + 17 * i, end + 17 * i + 17, onTap, icon));
  }

  tabs(names) {
    const width = WIDTH / names.length;
    names.forEach(([name, chosen, onTap], i) => {
      this.fixed.push(new Node("tab", name, i * width, this.top, (i + 1) * width, this.top + 14, onTap, {checked: chosen}));
      if (i && names[i - 1][1]) this.onSwipe.left = onTap;
      if (i + 1 < names.length && names[i + 1][1]) this.onSwipe.right = onTap;
    });
    this.top += 14;
  }

  section(text) { this.add("section", text, 10); }

  text(text, look = "body", icon = "") {
    const perLine = {big: 15, small: 30}[look] ?? LINE_CHARS;
    const lines = wrap(text, this.flow ? Infinity : perLine);
    for (const line of lines) this.add("text", line, look === "big" ? 15 : 9.5, null, {look, icon});
  }

  row(title, onTap, more) {
    this.add(onTap ? "row" : "item", title, more.detail ? 21 : 17, onTap, more);
  }

  switch(title, on, onTap, disabled, detail) {
    this.add("switch", title, detail ? 21 : 17, onTap, {checked: on, disabled, detail});
  }

  radio(title, chosen, onTap) { this.add("radio", title, 15, onTap, {checked: chosen}); }

  field(key, label) {
    const {drafts} = this.screen, content = (drafts[key] ??= ""), focused = this.screen.focus === key;
    this.fields.push(key);
    const right = WIDTH - MARGIN - (content ? 14 : 0), y = this.y;
    this.add("field", label, 21, () => this.onFocus(key), {detail: content, focused, x1: right, key});
    if (!content) return;
    const clear = () => { drafts[key] = ""; };
    const more = {icon: "close", look: "inset"};
    this.column.push(new Node("button", `Clear ${label}`, right, y, WIDTH - MARGIN, y + 21 * this.density, clear, more));
  }

  button(text, onTap, look, disabled) {
    this.y += 2 * this.density;
    this.add("button", text, 16, onTap, {look, disabled, colour: this.colour});
    this.y += 2 * this.density;
  }

  stepper(label, value, less, more, bounds) {
    const y = this.y, height = 17;
    this.add("text", label, height, null, {look: "value", detail: value, x1: WIDTH - 36});
    for (const [x, name, onTap, icon, end] of [
      [72, `Decrease ${label}`, less, "minus", bounds[0]], [88, `Increase ${label}`, more, "plus", bounds[1]],
    ]) this.column.push(new Node("button", name, x, y, x + 16, y + height * this.density, onTap, {icon, look: "round", disabled: end}));
  }

  chips(chips) {
    let x = MARGIN;
    for (const [text, chosen, onTap] of chips) {
      const width = 9 + 4.4 * text.length;
      if (x + width > WIDTH - MARGIN && x > MARGIN) {
        x = MARGIN;
        this.y += 15 * this.density;
      }
      const more = {checked: chosen, colour: this.colour};
      const [x1, y1] = [Math.min(x + width, WIDTH - 2), this.y + 13 * this.density];
      this.column.push(new Node("chip", text, x, this.y, x1, y1, onTap, more));
      x += width + 3;
    }
    this.y += 16 * this.density;
  }

  image(text, icon, colour, height = 44) { this.add("image", text, height, null, {icon, colour}); }

  error() { if (this.screen.error) this.text(this.screen.error, "error"); }

  empty(text, icon) {
    this.y += 16 * this.density;
    this.image("", icon, 0, 26);
    this.text(text, "centre");
  }

  add(role, text, height, onTap = null, {x1 = null, ...more} = {}) {
    const side = ["row", "item", "switch", "radio"].includes(role) ? 0 : MARGIN;
    height *= this.density;
    this.column.push(new Node(role, text, side, this.y, x1 ?? WIDTH - side, this.y + height, onTap, more));
    this.y += height;
  }

  get longestScroll() { return Math.max(0, this.y + 4 - (this.bottom - this.top)); }

  layOut(keyboard) {
    this.bottom = HEIGHT - (keyboard ? KEYBOARD : 0);
    const {screen} = this;
    for (const node of this.fixed) node.fixed = true;
    if (this.flow) {
      this.visible = [...this.fixed, ...this.column];
      return;
    }
    if (keyboard) {
      for (const node of this.column) {
        if (!node.focused) continue;
        const lowest = node.y1 + 4 - (this.bottom - this.top);
        screen.scroll = Math.min(Math.max(screen.scroll, lowest), node.y0);
      }
    }
    screen.scroll = Math.min(Math.max(screen.scroll, 0), this.longestScroll);
    const shift = this.top - screen.scroll;
    this.visible = [...this.fixed];
    for (const node of this.column) {
      node.y0 += shift;
      node.y1 += shift;
      node.v0 = Math.max(node.y0, this.top);
      node.v1 = Math.min(node.y1, this.bottom);
      if (node.v1 - node.v0 >= Math.min(LEAST_VISIBLE, node.y1 - node.y0)) this.visible.push(node);
    }
  }
}

export function dialogNodes(dialog, flow) {
  const body = wrap(dialog.body, flow ? Infinity : 23), height = 40 + 9.5 * body.length, y = (HEIGHT - height) / 2;
  const nodes = [new Node("dialog", dialog.title, 5, y, WIDTH - 5, y + height, null, {look: "dialog"})];
  body.forEach((line, i) => nodes.push(new Node("text", line, 10, y + 16 + 9.5 * i, WIDTH - 10, y + 25.5 + 9.5 * i)));
  const width = (WIDTH - 16) / dialog.buttons.length;
  dialog.buttons.forEach(([text, onTap], i) => {
    const x = 8 + i * width, look = i === 0 && dialog.buttons.length > 1 ? "plain" : "primary";
    nodes.push(new Node("button", text, x + 1, y + height - 19, x + width - 1, y + height - 4, onTap, {look}));
  });
  return nodes;
}

// `pages`: what keyboards.py declares; `shift`: which of them is shown.
export function keyboardNodes(pages, shift, press, enter) {
  const board = new Node("keyboard", "", 0, HEIGHT - KEYBOARD, WIDTH, HEIGHT, null, {look: "keyboard"});
  const keys = pages.pages[shift].map((key) => new Node("key", key.text, ...key.box, () => press(key), {icon: key.icon}));
  return [board, ...keys, new Node("key", "enter", ...pages.enter, enter, {icon: "enter"})];
}
