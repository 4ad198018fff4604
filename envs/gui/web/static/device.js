// The phone: a stack of screens, focus and typing, dialogs, loading screens, and the state of every app (device.py).

import {Program} from "./apps.js";
import {steps, values} from "./language.js";
import {BAR, HEIGHT, Node, Page, STATUS, WIDTH, dialogNodes, keyboardNodes} from "./page.js";

const LONGEST_FIELD = 40, DEEPEST = 64, SCROLL_SHARE = 0.7, NOTICE_STEPS = 3;

export class Screen {
  constructor(app, view = "main", arg = null) {
    Object.assign(this, {app, view, arg, scroll: 0, drafts: {}, focus: null, error: "", failed: false});
  }
}

export class Phone {
  // `declared`: what export.declarations gives. `flow`: the browser lays pages out, see page.js.
  constructor(declared, {flow = false} = {}) {
    this.flow = flow;
    this.declared = declared;
    this.programs = {};
    for (const one of declared.apps) this.programs[one.key] = new Program(one, this.programs);
    const system = ({app, ask}) => steps(ask, this.programs[app], null);
    this.popups = Object.fromEntries(Object.entries(declared.popups).map(([kind, one]) => [kind, system(one)]));
    this.banner = system(declared.banner);
  }

  // Puts a problem (see export.problem) on the phone.
  load(problem) {
    Object.assign(this, problem, {state: {}, stack: problem.opened.map((one) => new Screen(...one))});
    for (const [key, list] of Object.entries(problem.state)) {
      this.state[key] = this.programs[key].record.read(list, this.programs[key].records);
    }
    Object.assign(this, {due: [], seen: [], answer: "", shift: "lower", corrected: [], noticed: 0, shownNotice: null});
    Object.assign(this, {dialog: null, loading: 0, steps: 0, message: "", hit: null});
    this.changed();
  }

  changed() { this.madePage = this.madeNodes = this.madeKeys = this.madeNotice = null; }

  // One step: the command (ignored while a screen loads), then whatever is due at this step.
  act(command) {
    this.steps += 1;
    this.message = command.verb === "" ? command.text : "";
    this.hit = null;
    if (this.loading) this.loading -= 1;
    else VERBS[command.verb || "nothing"].call(this, command);
    const kind = this.interruptions[this.steps];
    if (kind) this.due.push(kind);
    if (this.due.length && !this.loading && this.dialog === null) this.interrupt(this.popups[this.due.shift()]);
    if (this.stack.length && !this.loading && this.dialog === null) this.see(this.stack.at(-1));
    this.age();
    this.changed();
  }

  interrupt(step, vars = {}) {
    step({state: this.state, screen: new Screen("system"), device: this, vars});
    this.dialog.interrupt = true;
  }

  // A notification that is shown is a step older, or one that is due comes.
  age() {
    if (this.noticed) {
      this.noticed -= 1;
    } else if (this.notice && this.steps >= this.notice.step && !this.loading && this.dialog === null) {
      this.noticed = NOTICE_STEPS;
      [this.shownNotice, this.notice] = [this.notice, null];
    }
  }

  see({app, view, arg, failed}) {
    if (!failed && !this.seen.some((one) => one[0] === app && one[1] === view && one[2] === arg)) this.seen.push([app, view, arg]);
  }

  // The topmost node at a point (in shares of the screen) that has a handler or a target.
  top(x, y, has) {
    const [px, py] = [Math.min(x * WIDTH, WIDTH - 0.01), Math.min(y * HEIGHT, HEIGHT - 0.01)];
    return this.nodes.findLast((one) => one.holds(px, py) && one[has] !== null) ?? null;
  }

  // Does what a tap on a node does; `hit` tells afterwards which of the nodes that do something were touched.
  touch(node, onto = null) {
    const able = this.able();
    this.hit = [able.indexOf(node), able.indexOf(onto)];
    return !node.disabled;
  }

  able() {
    const nodes = this.dialog !== null ? this.nodes : [...this.page.fixed, ...this.page.column, ...this.keyboard(), ...this.over()];
    return nodes.filter((node) => [node.onTap, node.onHold, node.onDrop, node.target].some((one) => one !== null));
  }

  press(characters) {
    const screen = this.stack.at(-1), text = screen.drafts[screen.focus];
    screen.drafts[screen.focus] = (characters === "\b" ? text.slice(0, -1) : text + characters).slice(0, LONGEST_FIELD);
  }

  // The word, or what it is replaced with when it is first typed.
  correct(word) {
    const {corrections} = this.declared;
    if (!Object.hasOwn(corrections, word) || this.corrected.includes(word)) return word;
    this.corrected.push(word);
    return corrections[word];
  }

  key({types, page}) {
    if (types) this.press(types);
    this.shift = page || this.shift;
  }

  back() {
    if (this.dialog !== null) this.dialog.buttons[0][1]();
    else if (this.focus !== null) this.stack.at(-1).focus = null;
    else if (this.stack.length) this.stack.pop();
  }

  enter() {
    if (this.dialog !== null || this.focus === null) return;
    const {page} = this, screen = this.stack.at(-1);
    const at = page.fields.indexOf(screen.focus), position = at < 0 ? page.fields.length : at;
    screen.focus = null;
    if (page.onEnter) page.onEnter();
    else if (position + 1 < page.fields.length) screen.focus = page.fields[position + 1];
  }

  // -- for apps

  push(app, view, arg) {
    if (this.stack.length) this.stack.at(-1).focus = null;
    const screen = new Screen(app, view, arg), name = `${app}/${view}`;
    this.stack.push(screen);
    this.stack.splice(0, this.stack.length - DEEPEST);
    this.loading = this.slow[name] ?? 0;
    if (this.failing !== name) return;
    screen.failed = true;
    this.failing = "";
  }

  retry() {
    const screen = this.stack.at(-1);
    screen.failed = false;
    this.loading = this.slow[`${screen.app}/${screen.view}`] ?? 0;
  }

  pop(n) { this.stack.splice(Math.max(0, this.stack.length - n)); }

  ask(title, body, buttons) {
    const closing = buttons.map(([text, press]) => [text, () => { this.dialog = null; press(); }]);
    return {title, body, buttons: closing, interrupt: false};
  }

  launch(key) {
    this.stack.length = 0;
    this.push(key, "main", null);
  }

  // -- looking

  get apps() { return Object.values(this.programs).filter((app) => !app.declared.hidden); }

  get focus() { return this.stack.length ? this.stack.at(-1).focus : null; }

  get page() {
    if (this.madePage === null) {
      const screen = this.stack.at(-1) ?? new Screen("home");
      const onFocus = (key) => { this.stack.at(-1).focus = key; this.shift = "lower"; };
      const page = new Page(screen, {onBack: () => this.back(), onFocus, flow: this.flow, density: this.density});
      if (this.stack.length) this.show(page, screen);
      else this.showHome(page);
      if (screen.focus !== null && !page.fields.includes(screen.focus)) screen.focus = null;
      page.layOut(screen.focus !== null);
      this.madePage = page;
    }
    return this.madePage;
  }

  show(page, screen) {
    const app = this.programs[screen.app], {failed, retry, sponsored} = this.declared.words;
    if (screen.failed) {
      page.bar(app.name, true, []);
      page.empty(failed, "info");
      page.button(retry, () => this.retry(), "primary", false);
      return;
    }
    if (this.advert && this.advert[0] === screen.app) {
      const name = this.advert[1], more = {detail: sponsored, icon: this.declared.adverts[name]};
      page.row(name, () => this.interrupt(this.banner, {title: name}), more);
    }
    app.show(page, screen, this);
  }

  // Icons, three in a row; closer together where there are more than nine.
  showHome(page) {
    const order = this.home.length ? this.home.map((key) => this.programs[key]) : this.apps;
    const [top, step, height] = this.apps.length <= 9 ? [62, 40, 36] : [46, 36, 34];
    order.forEach(({key, name, icon, colour}, i) => {
      const x = 6 + 34 * (i % 3), y = top + step * Math.floor(i / 3);
      page.fixed.push(new Node("app", name, x, y, x + 28, y + height, () => this.launch(key), {icon, colour}));
    });
  }

  // The notification, over the bar.
  over() {
    if (!this.noticed) return [];
    const {name, icon, key} = this.programs[this.shownNotice.app];
    const follow = () => {
      this.noticed = 0;
      this.launch(key);
    };
    const more = {detail: this.shownNotice.text, icon};
    return [this.madeNotice ??= new Node("notification", name, 0, STATUS, WIDTH, STATUS + BAR, follow, more)];
  }

  get nodes() {
    return this.madeNodes ??= this.loading ? [new Node("spinner", "Loading", 42, 84, 66, 108, null, {icon: "spinner"})]
      : this.dialog !== null ? dialogNodes(this.dialog, this.flow)
      : [...this.page.visible, ...this.keyboard(), ...this.over()];
  }

  keyboard() {
    if (this.loading || !this.page || this.focus === null) return [];  // making the page may take the focus away
    return this.madeKeys ??= keyboardNodes(this.declared.keyboards[this.keyboardName], this.shift, (key) => this.key(key), () => this.enter());
  }

  get where() {
    if (!this.stack.length) return "Home";
    const {name} = this.programs[this.stack.at(-1).app];
    return this.loading || !this.page.title || this.page.title === name ? name : `${name}: ${this.page.title}`;
  }

  status() {
    return `${this.clock} ${this.charge}% ${this.state.settings.radios}`.trimEnd();
  }

  tree() {
    const lines = this.head();
    for (const node of this.nodes) if (node.role !== "key") lines.push(node.line());
    if (!this.loading && this.dialog === null && this.stack.length && this.page.longestScroll > 0) {
      const {scroll} = this.page.screen;
      const hints = [...(scroll < this.page.longestScroll - 0.5 ? ["up"] : []), ...(scroll > 0.5 ? ["down"] : [])];
      lines.push("swipe " + hints.join(" "));
    }
    return lines.join("\n");
  }

  head() {
    const message = this.message ? [`message "${this.message}"`] : [];
    return [`screen "${this.where}"`, `status "${this.status()}"`, ...message];
  }

  // All that another execution of the declarations must agree on.
  report() {
    return {
      state: Object.fromEntries(Object.entries(this.state).map(([key, record]) => [key, values(record)])),
      stack: this.stack.map(({app, view, arg, scroll, drafts, focus, error, failed}) =>
        ({app, view, arg, scroll, drafts, focus, error, failed})),
      dialog: this.dialog && [this.dialog.title, this.dialog.body, this.dialog.buttons.map(([text]) => text)],
      loading: this.loading, steps: this.steps, message: this.message, seen: this.seen, hit: this.hit, answer: this.answer, shift: this.shift, noticed: this.noticed, corrected: this.corrected,
    };
  }
}

const VERBS = {
  nothing() {},
  done() {},
  // `node` and `onto` are given where the browser says what is under the pointer.
  tap({x, y, node = this.top(x, y, "onTap")}) { if (node && this.touch(node)) node.onTap(); },
  long_press({x, y, node = this.top(x, y, "onHold")}) { if (node && this.touch(node)) node.onHold(); },
  drag({x, y, x1, y1, node = this.top(x, y, "onDrop"), onto = this.top(x1, y1, "target")}) {
    if (node && onto && onto !== node && !onto.disabled && this.touch(node, onto)) node.onDrop(onto.target);
  },
  open({text}) {
    if (this.dialog !== null) return;
    const app = this.apps.find(({name}) => name.toLowerCase() === text.toLowerCase());
    if (app) this.launch(app.key);
    else this.message = "there is no app of that name";
  },
  answer({text}) { this.answer = text; },
  infeasible() {},
  wait() {},
  press({text}) { if (this.dialog === null && this.focus !== null) this.press(text); },
  type({text}) {
    if (this.dialog !== null || this.focus === null) this.message = "nothing to type into: tap a field first";
    else this.press(this.corrects ? text.replace(/[A-Za-z]+/g, (word) => this.correct(word)) : text);
  },
  // A swipe up removes a notification and does nothing else.
  swipe({text}) {
    if (this.noticed && text === "up" && this.dialog === null) {
      this.noticed = 0;
      return;
    }
    if (this.dialog !== null || !this.stack.length) return;
    if (text === "left" || text === "right") {
      this.page.onSwipe[text]?.();
      return;
    }
    const step = SCROLL_SHARE * (this.page.bottom - this.page.top);
    this.stack.at(-1).scroll += text === "up" ? step : -step;
  },
  back() { this.back(); },
  home() { if (this.dialog === null) this.stack.length = 0; },
  enter() { this.enter(); },
};
