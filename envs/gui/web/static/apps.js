// Apps: what their declarations say, compiled (interpreter.py, screens.py). Each widget gives a function that fills a page.

import {RecordType, binding, compile, constant, copied, reader, steps, truthy} from "./language.js";

export class Program {
  constructor(declared, programs) {
    const {key, name, icon, colour, schema} = declared;
    Object.assign(this, {key, name, icon, colour, declared, programs, functions: declared.functions, views: {}});
    this.records = {};
    this.sorts = {};
    for (const [table, one] of Object.entries(schema.tables)) {
      this.records[one.record] = new RecordType(one.record, key, table, one);
      this.sorts[table] = one.sort;
    }
    this.record = new RecordType(schema.record, key, "", schema);
    this.fields = new Set([...schema.fields.map(([field]) => field), ...schema.derived.map(([field]) => field)]);
    this.constants = Object.fromEntries(Object.entries(declared.constants).map(([id, value]) => [id, constant(value)]));
  }

  // A screen, compiled when it is first shown.
  view(name) {
    return this.views[name] ??= new View(this, this.declared.screens[name]);
  }

  show(page, screen, device) {
    page.colour = this.colour;
    const env = {state: device.state, screen, device, vars: {arg: screen.arg}};
    const {needs, instead} = this.declared;
    this.needs ??= needs ? compile(needs, this) : () => true;
    if (!truthy(this.needs(env))) {
      (this.instead ??= widgets(instead, this, null))(page, env);
      return;
    }
    const view = this.view(screen.view);
    for (const [key, run] of view.let) env.vars[key] = run(env);
    for (const [key, run] of view.drafts) if (!Object.hasOwn(screen.drafts, key)) screen.drafts[key] = run(env);
    if (view.enter) page.onEnter = () => view.enter(copied(env));
    view.build(page, env);
  }
}

class View {
  constructor(app, declared) {
    const several = [declared.enter].flat();
    const submit = several.length ? (one) => steps(declared.enter, one, null) : null;
    this.enter = submit && submit(app);
    this.let = declared.let.map(([key, tree]) => [key, compile(tree, app)]);
    this.build = widgets(declared.widgets, app, submit);
    this.drafts = [...declared.drafts, ...fields(declared.widgets)].map(([key, tree]) => [key, compile(tree, app)]);
  }
}

function fields(declared) {
  return declared.flatMap((one) => one.is === "Field" ? [[one.draft, one.value ?? ["const", ""]]]
    : one.is === "ForEach" ? [...fields(one.widgets), ...fields(one.otherwise)]
    : one.is === "When" ? [...fields(one.then), ...fields(one.otherwise)] : []);
}

function widgets(declared, app, submit) {
  const builds = declared.map((one) => WIDGETS[one.is](new Maker(one, app, submit)));
  return (page, env) => { for (const build of builds) build(page, env); };
}

class Maker {
  constructor(one, app, submit) { Object.assign(this, {one, app, submit}); }
  run(name) { return this.one[name] ? compile(this.one[name], this.app) : () => false; }
  // What a tap does: the operations, on what was at hand when the page was made.
  tap(operations) {
    const step = steps(operations, this.app, this.submit);
    return (env) => () => step(copied(env));
  }
  // The same of a drag, with the value of what it is dropped on.
  drop(operations) {
    const step = steps(operations, this.app, this.submit);
    return (env) => (onto) => step(binding(env, "onto", onto));
  }
  all(name) { return widgets(this.one[name], this.app, this.submit); }
}

const none = (operations) => Array.isArray(operations) && operations.length === 0;

const WIDGETS = {
  Bar(make) {
    const title = make.run("title"), actions = make.one.actions.map((one) =>
      [compile(one.icon, make.app), compile(one.name, make.app), make.tap(one.do)]);
    return (page, env) => page.bar(title(env), make.one.back, actions.map(([icon, name, tap]) => [icon(env), name(env), tap(env)]));
  },
  Tabs(make) {
    const {draft, names} = make.one, now = compile(["draft", draft], make.app);
    const tabs = names.map(([name, text]) => [name, compile(text, make.app)]);
    const turn = (name, env) => () => Object.assign(env.screen, {scroll: 0, focus: null}).drafts[draft] = name;
    return (page, env) => page.tabs(tabs.map(([name, text]) => [text(env), name === now(env), turn(name, env)]));
  },
  Section(make) {
    const title = make.run("title");
    return (page, env) => page.section(title(env));
  },
  Paragraph(make) {
    const text = make.run("text");
    return (page, env) => page.text(text(env), make.one.look);
  },
  Row(make) {
    const [title, detail, icon, disabled] = ["title", "detail", "icon", "disabled"].map((name) => make.run(name));
    const {do: do_, hold, drop} = make.one, nothing = () => () => null;
    const [tap, held] = [do_, hold].map((operations) => none(operations) ? nothing() : make.tap(operations));
    const dropped = none(drop) ? nothing() : make.drop(drop);
    const target = make.one.target ? make.run("target") : nothing();
    const able = !(none(do_) && none(hold) && none(drop));
    return (page, env) => page.row(title(env), tap(env), {
      detail: detail(env), icon: icon(env), disabled: (able || make.one.target !== null) && truthy(disabled(env)),
      onHold: held(env), onDrop: dropped(env), target: target(env),
    });
  },
  Switch(make) {
    const [title, detail, disabled] = ["title", "detail", "disabled"].map((name) => make.run(name));
    const on = reader(make.one.field, make.app), tap = make.tap({is: "Toggle", target: make.one.field});
    return (page, env) => page.switch(title(env), truthy(on(env)), tap(env), truthy(disabled(env)), detail(env));
  },
  Radio(make) {
    const [title, chosen, tap] = [make.run("title"), make.run("chosen"), make.tap(make.one.do)];
    return (page, env) => page.radio(title(env), truthy(chosen(env)), tap(env));
  },
  Field(make) {
    const label = make.run("label");
    return (page, env) => page.field(make.one.draft, label(env));
  },
  Button(make) {
    const [text, disabled, tap] = [make.run("text"), make.run("disabled"), make.tap(make.one.do)];
    return (page, env) => page.button(text(env), tap(env), make.one.look, truthy(disabled(env)));
  },
  Stepper(make) {
    const [label, value, low, high] = ["label", "value", "lowest", "highest"].map((name) => make.run(name));
    const [less, more] = [make.tap(make.one.less), make.tap(make.one.more)];
    return (page, env) => page.stepper(label(env), value(env), less(env), more(env), [truthy(low(env)), truthy(high(env))]);
  },
  Chips(make) {
    const [items, text, chosen, tap] = [make.run("of"), make.run("text"), make.run("chosen"), make.tap(make.one.do)];
    return (page, env) => {
      const each = items(env).map((item) => binding(env, make.one.name, item));
      page.chips(each.map((one) => [text(one), truthy(chosen(one)), tap(one)]));
    };
  },
  Image(make) {
    const [icon, colour] = [make.run("icon"), make.run("colour")];
    return (page, env) => page.image("", icon(env), colour(env), make.one.height);
  },
  Empty(make) {
    const [text, icon] = [make.run("text"), make.run("icon")];
    return (page, env) => page.empty(text(env), icon(env));
  },
  Error: () => (page) => page.error(),
  ForEach(make) {
    const {name, order} = make.one;
    const sorted = order ? ["call", "sorted_by", make.one.of, ["const", order]] : make.one.of;
    const items = compile(sorted, make.app), where = make.one.where ? make.run("where") : () => true;
    const [body, otherwise] = [make.all("widgets"), make.all("otherwise")];
    return (page, env) => {
      let nothing = true;
      for (const item of items(env)) {
        const one = binding(env, name, item);
        if (!truthy(where(one))) continue;
        nothing = false;
        body(page, one);
      }
      if (nothing) otherwise(page, env);
    };
  },
  When(make) {
    const [condition, then, otherwise] = [make.run("condition"), make.all("then"), make.all("otherwise")];
    return (page, env) => (truthy(condition(env)) ? then : otherwise)(page, env);
  },
};
