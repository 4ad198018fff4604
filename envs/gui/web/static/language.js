// The language of declarations: expressions, functions and operations, given as trees (see ../trees.py).
// An environment is {state, screen, device, vars, row}: what is known when something is evaluated.

const TYPE = Symbol("type");

// -- values: numbers, booleans, strings, null, arrays (lists), Maps (mappings), records and entries ------------------

export function truthy(value) {
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Map) return value.size > 0;
  return Boolean(value);
}

export function equal(a, b) {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((one, i) => equal(one, b[i]));
  if (typeof a === "boolean" || typeof b === "boolean") {
    return ["boolean", "number"].includes(typeof a) && ["boolean", "number"].includes(typeof b) && Number(a) === Number(b);
  }
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
  if (a[TYPE] === undefined || a[TYPE] !== b[TYPE]) return false;
  return a[TYPE].fields.every(([name]) => equal(a[name], b[name]));
}

function compare(a, b) {
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let i = 0; i < Math.min(a.length, b.length); i++) if (!equal(a[i], b[i])) return compare(a[i], b[i]);
    return a.length - b.length;
  }
  if (typeof a !== typeof b && (typeof a === "string" || typeof b === "string")) throw new Error("text and number are not compared");
  return a < b ? -1 : a > b ? 1 : 0;
}

function contains(items, item) {
  if (typeof items === "string") return items.includes(item);
  return items instanceof Map ? items.has(item) : items.some((one) => equal(one, item));
}

export function shown(value) {  // as Python's str()
  return typeof value === "string" ? value : quoted(value);
}

function quoted(value) {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") {
    const mark = value.includes("'") && !value.includes('"') ? '"' : "'";
    return mark + value.replaceAll("\\", "\\\\").replaceAll(mark, "\\" + mark) + mark;
  }
  if (Array.isArray(value)) return `(${value.map(quoted).join(", ")}${value.length === 1 ? "," : ""})`;
  if (typeof value === "object" && value[TYPE]) {
    return `${value[TYPE].name}(${value[TYPE].fields.map(([name]) => `${name}=${quoted(value[name])}`).join(", ")})`;
  }
  return String(value);
}

function get(value, name) {
  if (value === null || typeof value !== "object" || !(name in value)) throw new Error(`${quoted(value)} has no field ${name}`);
  return value[name];
}

function at(items, index) {
  if (items instanceof Map) {
    if (!items.has(index)) throw new Error(`there is no ${index}`);
    return items.get(index);
  }
  const i = Number(index) < 0 ? items.length + Number(index) : Number(index);
  if (!(i >= 0 && i < items.length)) throw new Error(`${index} is out of range`);
  return items[i];
}

// -- records -----------------------------------------------------------------------------------------------------

// A type of records: its rows have own properties for fields, and getters for what is derived.
export class RecordType {
  constructor(name, app, table, declared) {
    Object.assign(this, {name, app, table, fields: declared.fields, sort: declared.sort ?? ""});
    this.defaults = declared.defaults;
    this.proto = {[TYPE]: this};
    for (const [key, tree] of declared.derived) {
      const run = compile(tree, null);
      Object.defineProperty(this.proto, key, {get() { return run({row: this, vars: {}}); }});
    }
  }

  made(values) {
    const record = Object.create(this.proto);
    for (const [name] of this.fields) {
      if (!Object.hasOwn(values, name) && !Object.hasOwn(this.defaults, name)) throw new Error(`${this.name} lacks ${name}`);
      record[name] = Object.hasOwn(values, name) ? values[name] : this.defaults[name];
    }
    return record;
  }

  get key() { return this.fields[0][0]; }

  read(values, records) {  // from a list of values
    const made = {};
    this.fields.forEach(([name, , of], i) => {
      made[name] = of ? values[i].map((row) => records[of].read(row, records)) : values[i];
    });
    return this.made(made);
  }
}

export const changed = (record, changes) => Object.assign(Object.create(Object.getPrototypeOf(record)), record, changes);

export function values(record) {  // what RecordType.read reads
  const plain = (value) => Array.isArray(value) ? value.map(plain) : value?.[TYPE] ? values(value) : value;
  return record[TYPE].fields.map(([name]) => plain(record[name]));
}

export function constant(value) {
  if (Array.isArray(value)) return value.map(constant);
  if (value === null || typeof value !== "object") return value;
  if (value.map) return new Map(value.map.map(([key, one]) => [key, constant(one)]));
  return Object.fromEntries(Object.entries(value.entry).map(([key, one]) => [key, constant(one)]));
}

// -- functions ---------------------------------------------------------------------------------------------------

const words = (text) => text.split(/\s+/).filter(Boolean);
const sorted = (items, by = (one) => one) => [...items].sort((a, b) => compare(by(a), by(b)));
const keyOf = (row) => row[TYPE] ? row[TYPE].key : Object.keys(row)[0];
const digits2 = (n) => n < 0 ? `-${-n}` : String(n).padStart(2, "0");

export const FUNCTIONS = {
  find: (rows, key) => rows.find((row) => equal(row[keyOf(row)], key)) ?? null,
  first: (items, otherwise = null) => items.length ? items[0] : otherwise,
  last: (items) => at(items, -1),
  count: (items) => items instanceof Map ? items.size : items.length,
  sum: (items) => items.reduce((a, b) => a + Number(b), 0),
  min: (items) => items.reduce((a, b) => compare(b, a) < 0 ? b : a),
  max: (items) => items.reduce((a, b) => compare(b, a) > 0 ? b : a),
  any: (items) => items.some(truthy),
  all: (items) => items.every(truthy),
  range: (...ends) => {
    const [low, high] = ends.length > 1 ? ends : [0, ends[0]];
    return Array.from({length: Math.max(0, high - low)}, (_, i) => low + i);
  },
  sorted: (items) => sorted(items),
  sorted_by: (rows, name) => sorted(rows, (row) => get(row, name)),
  repeated: (items) => {
    const several = items.filter((one, i) => items.findIndex((other) => equal(one, other)) !== i);
    return sorted(several.filter((one, i) => several.findIndex((other) => equal(one, other)) === i));
  },
  toggled: (items, item) => contains(items, item) ? items.filter((one) => !equal(one, item)) : [...items, item],
  moved: (items, item, onto) => {
    const [from, to] = [item, onto].map((one) => items.findIndex((other) => equal(other, one)));
    const left = items.filter((_, i) => i !== from);
    return from < 0 || to < 0 ? items : [...left.slice(0, to), item, ...left.slice(to)];
  },
  lower: (text) => text.toLowerCase(),
  trim: (text) => text.trim(),
  clean: (text) => words(text).join(" "),
  digits: (text) => /^[0-9]+$/.test(text),
  split: words,
  join: (glue, parts) => parts.filter(truthy).join(glue),
  cut: (text, n) => text.slice(0, n),
  ending: (text, n) => text.slice(n === 0 ? 0 : -n),
  text: shown,
  two_digits: digits2,
  clock: (seconds) => `${Math.floor(seconds / 60)}:${digits2(((seconds % 60) + 60) % 60)}`,
  money: (cents) => `$${Math.floor(cents / 100)}.${digits2(((cents % 100) + 100) % 100)}`,
};

const OPERATORS = {
  "+": (a, b) => Array.isArray(a) ? [...a, ...b] : typeof a === "string" ? a + b : Number(a) + Number(b),
  "-": (a, b) => a - b,
  "*": (a, b) => typeof a === "string" ? a.repeat(Math.max(0, b)) : a * b,
  "==": equal, "!=": (a, b) => !equal(a, b),
  "<": (a, b) => compare(a, b) < 0, "<=": (a, b) => compare(a, b) <= 0,
  ">": (a, b) => compare(a, b) > 0, ">=": (a, b) => compare(a, b) >= 0,
  in: (a, b) => contains(b, a), "not in": (a, b) => !contains(b, a),
};

// -- expressions -------------------------------------------------------------------------------------------------

export const copied = (env) => ({...env, vars: {...env.vars}});
export const binding = (env, name, value) => ({...env, vars: {...env.vars, [name]: value}});

// A function of the environment. `app` is the program whose fields are known by their bare names; null: those of env.row.
export function compile(tree, app) {
  const [kind, ...parts] = tree;
  if (kind in COMPILERS) return COMPILERS[kind](app, ...parts);
  const apply = OPERATORS[kind];
  if (!apply) throw new Error(`unknown tree ${kind}`);
  const [a, b] = parts.map((part) => compile(part, app));
  return (env) => apply(a(env), b(env));
}

const COMPILERS = {
  const: (app, value) => () => value,
  name(app, name) {
    const load = !app ? (env) => get(env.row, name)
      : app.fields.has(name) ? (env) => env.state[app.key][name]
      : Object.hasOwn(app.constants, name) ? () => app.constants[name]
      : name in app.programs ? (env) => env.state[name]
      : name === "charge" ? (env) => env.device.charge
      : () => { throw new Error(`unknown name ${name}`); };
    return (env) => Object.hasOwn(env.vars, name) ? env.vars[name] : load(env);
  },
  draft: (app, name) => (env) => Object.hasOwn(env.screen.drafts, name) ? env.screen.drafts[name] : "",
  field(app, of, name) {
    const run = compile(of, app);
    return (env) => get(run(env), name);
  },
  at(app, of, index) {
    const [items, i] = [compile(of, app), compile(index, app)];
    return (env) => at(items(env), i(env));
  },
  and(app, ...parts) {
    const runs = parts.map((part) => compile(part, app));
    return (env) => { let value; for (const run of runs) if (!truthy(value = run(env))) break; return value; };
  },
  or(app, ...parts) {
    const runs = parts.map((part) => compile(part, app));
    return (env) => { let value; for (const run of runs) if (truthy(value = run(env))) break; return value; };
  },
  not(app, part) {
    const run = compile(part, app);
    return (env) => !truthy(run(env));
  },
  neg(app, part) {
    const run = compile(part, app);
    return (env) => 0 - run(env);
  },
  if(app, ...parts) {
    const [test, a, b] = parts.map((part) => compile(part, app));
    return (env) => truthy(test(env)) ? a(env) : b(env);
  },
  tuple(app, ...parts) {
    const runs = parts.map((part) => compile(part, app));
    return (env) => runs.map((run) => run(env));
  },
  for(app, name, of, condition, each) {
    const [items, make] = [compile(of, app), compile(each, app)];
    const holds = condition ? compile(condition, app) : () => true;
    return (env) => {
      const [known, found] = [copied(env), []];
      for (const item of items(env)) {
        known.vars[name] = item;
        if (truthy(holds(known))) found.push(make(known));
      }
      return found;
    };
  },
  call(app, name, ...parts) {
    const runs = parts.map((part) => compile(part, app));
    if (app && Object.hasOwn(app.functions, name)) return own(app, name, runs);
    if (name === "current") return (env) => get(env.state[app.key], runs[0](env));
    if (!Object.hasOwn(FUNCTIONS, name)) throw new Error(`unknown function ${name}`);
    const run = FUNCTIONS[name];
    return (env) => run(...runs.map((one) => one(env)));
  },
  new(app, name, fields) {
    const runs = Object.entries(fields).map(([key, part]) => [key, compile(part, app)]);
    const type = app.records[name];
    return (env) => type.made(Object.fromEntries(runs.map(([key, run]) => [key, run(env)])));
  },
  text(app, ...parts) {
    const runs = parts.map((part) => typeof part === "string" ? () => part : compile(part, app));
    return (env) => runs.map((run) => shown(run(env))).join("");
  },
};

function own(app, name, runs) {
  const {parameters, body} = app.functions[name];
  let run = null;  // compiled when first called: functions may speak of those below them
  return (env) => {
    run ??= compile(body, app);
    const vars = {...env.vars};
    parameters.forEach((parameter, i) => { vars[parameter] = runs[i](env); });
    return run({...env, vars});
  };
}

// -- operations: each gives a step, a function of the environment that says whether to go on ---------------------------

export function steps(operations, app, submit) {
  const several = (Array.isArray(operations) ? operations : [operations]).map((one) => STEPS[one.is](one, app, submit));
  return (env) => several.every((step) => step(env));
}

const STEPS = {
  Push(one, app) {
    const arg = one.arg ? compile(one.arg, app) : () => null;
    return (env) => { env.device.push(one.app || app.key, one.screen, arg(env)); return true; };
  },
  Pop(one, app) {
    const arg = one.arg ? compile(one.arg, app) : null;
    return (env) => {
      const {device} = env, about = arg ? arg(env) : null, n = one.n || device.stack.length - 1;
      if (n) device.pop(n);
      if (arg) device.stack.at(-1).arg = about;
      return true;
    };
  },
  Set: (one, app) => writer(one.target, compile(one.value, app), app),
  Toggle(one, app) {
    const now = reader(one.target, app);
    return writer(one.target, (env) => !truthy(now(env)), app);
  },
  Insert(one, app) {
    const row = compile(one.row, app);
    return (env) => {
      const rows = env.state[app.key][one.table], made = row(env);
      setTable(env, app.key, one.table, one.start ? [made, ...rows] : [...rows, made], app.sorts[one.table]);
      return true;
    };
  },
  Delete(one, app) {
    const name = one.target[1], value = one.value ? compile(one.value, app) : null;
    return (env) => {
      if (!value && Object.hasOwn(env.vars, name)) {
        const row = env.vars[name], {app: key, table} = row[TYPE];
        setTable(env, key, table, env.state[key][table].filter((other) => !equal(other, row)));
      } else if (value) {
        const old = value(env);
        setTable(env, app.key, name, env.state[app.key][name].filter((other) => !equal(other, old)));
      } else {
        setTable(env, app.key, name, []);
      }
      return true;
    };
  },
  Require(one, app) {
    const [condition, message] = [compile(one.condition, app), compile(one.message, app)];
    return (env) => {
      if (truthy(condition(env))) return true;
      env.screen.error = message(env);
      return false;
    };
  },
  Ask(one, app, submit) {
    const [title, body] = [compile(one.title, app), compile(one.body, app)];
    const buttons = one.buttons.map(([text, do_]) => [compile(text, app), steps(do_, app, submit)]);
    return (env) => {
      const made = buttons.map(([text, step]) => [text(env), () => step(env)]);
      env.device.dialog = env.device.ask(title(env), body(env), made);
      return true;
    };
  },
  Submit: (one, app, submit) => submit(app),
  If(one, app, submit) {
    const condition = compile(one.condition, app);
    const [then, otherwise] = [steps(one.then, app, submit), steps(one.otherwise, app, submit)];
    return (env) => truthy(condition(env)) ? then(env) : otherwise(env);
  },
  Each(one, app, submit) {
    const [items, step] = [compile(one.of, app), steps(one.do, app, submit)];
    return (env) => items(env).every((item) => step(binding(env, one.name, item)));
  },
  SendTo: (one, app, submit) => steps(one.do, app.programs[one.app], submit),
};

function setTable(env, app, table, rows, by = "") {
  env.state[app] = changed(env.state[app], {[table]: by ? sorted(rows, (row) => row[by]) : rows});
}

export function reader(target, app) {
  const [kind, what, name] = target;
  if (kind === "which") {
    const which = compile(what, app);
    return (env) => get(env.state[app.key], which(env));
  }
  if (kind === "draft") return compile(["draft", what], app);
  return compile(kind === "row" ? ["field", ["name", what], name] : ["name", what], app);
}

function writer(target, value, app) {
  const [kind, what, name] = target;
  if (kind === "draft") return (env) => { env.screen.drafts[what] = value(env); return true; };
  if (kind === "which" || kind === "own") {
    const which = kind === "own" ? () => what : compile(what, app);
    return (env) => {
      const key = which(env);
      env.state[app.key] = changed(env.state[app.key], {[key]: value(env)});
      return true;
    };
  }
  const row = compile(["name", what], app);
  return (env) => {
    const old = row(env), made = changed(old, {[name]: value(env)}), {app: key, table, sort} = old[TYPE];
    setTable(env, key, table, env.state[key][table].map((other) => equal(other, old) ? made : other), sort);
    env.vars[what] = made;
    return true;
  };
}
