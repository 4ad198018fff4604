// What our environment asks of a MiniWoB++ page: begin an episode without its clock, and look. Added to each page once.
"use strict";
var tiltyard = (function () {
  const WIDTH = 160, HEIGHT = 210;
  const LONGEST_TIMER = 2147483647;  // milliseconds; setTimeout takes no more
  const HIDDEN = new Set(["reward-display", "sync-task-cover", "click-canvas", "attention-canvas", "query"]);
  const SKIPPED = new Set(["SCRIPT", "STYLE", "BR", "HR", "TEMPLATE", "NOSCRIPT", "DEFS", "OPTION", "OPTGROUP"]);
  const ROLES = {A: "link", BUTTON: "button", TEXTAREA: "field", SELECT: "select", IMG: "image", LABEL: "label"};
  const FIELDS = new Set(["text", "password", "email", "number", "search", "tel", "url", "date", "time"]);
  const SHAPES = new Set(["circle", "rect", "polygon", "ellipse", "line", "path", "text", "polyline"]);

  function begin(seed, mode, animations) {
    core.endEpisode(0, false, "begun anew");
    still(!animations);
    Math.seedrandom(seed);
    core.setDataMode(mode);
    core.EPISODE_MAX_TIME = LONGEST_TIMER;
    core.countdownTimer = function () {};
    core.startEpisodeReal();
    if (document.activeElement && document.activeElement !== document.body) document.activeElement.blur();
    return ready().then(look);
  }

  function still(wanted) {
    if (window.jQuery) jQuery.fx.off = wanted;
    let style = document.getElementById("tiltyard-still");
    if (style === null) {
      style = document.head.appendChild(document.createElement("style"));
      style.id = "tiltyard-still";
    }
    style.textContent = wanted ? "* { transition: none !important; animation: none !important; }" : "";
  }

  async function ready() {
    while (!WOB_TASK_READY) await new Promise(done => setTimeout(done, 10));
  }

  function goal() {
    const said = core.getUtterance();
    return typeof said === "string" ? said : said.utterance;
  }

  // Pictures that decide how large things are: they have to be there before anything is measured.
  const loaded = new Set();
  const LONGEST_WAIT = 1000;  // milliseconds, for a picture that does not come

  function missing(element, style) {
    if (element.tagName === "IMG" && element.src && !element.complete) return element.src;
    const named = style.content.startsWith("url(") ? style.content.slice(5, -2) : "";
    return named && !loaded.has(named) ? named : "";
  }

  function load(url) {
    return new Promise(done => {
      const picture = new Image();
      picture.onload = picture.onerror = () => { loaded.add(url); done(); };
      picture.src = url;
      setTimeout(done, LONGEST_WAIT);
    });
  }

  async function look() {
    let lines = [], waiting = new Set();
    const screen = {left: 0, top: 0, right: WIDTH, bottom: HEIGHT};
    walk(document.body, screen, lines, waiting);
    if (waiting.size) {
      await Promise.all(Array.from(waiting, load));
      walk(document.body, screen, lines = [], new Set());
    }
    const scrolled = window.scrollY, longest = document.documentElement.scrollHeight - window.innerHeight;
    const hints = (scrolled < longest - 1 ? " up" : "") + (scrolled > 1 ? " down" : "");
    if (hints) lines.push("swipe" + hints);
    return {
      done: WOB_DONE_GLOBAL, reward: WOB_RAW_REWARD_GLOBAL,
      reason: WOB_REWARD_REASON === null || WOB_REWARD_REASON === undefined ? "" : String(WOB_REWARD_REASON),
      goal: goal(), tree: lines.join("\n"),
    };
  }

  function cut(box, clip) {
    const left = Math.max(box.left, clip.left), top = Math.max(box.top, clip.top);
    const right = Math.min(box.right, clip.right), bottom = Math.min(box.bottom, clip.bottom);
    return right > left && bottom > top ? {left, top, right, bottom} : null;
  }

  function walk(element, clip, lines, waiting) {
    if (HIDDEN.has(element.id) || SKIPPED.has(element.tagName)) return;
    const style = getComputedStyle(element);
    if (style.display === "none" || style.visibility === "collapse") return;
    const picture = missing(element, style);
    if (picture) waiting.add(picture);
    const box = element.getBoundingClientRect(), seen = cut(box, clip);
    const shown = style.visibility === "visible" && style.opacity !== "0";
    if (seen && shown && element !== document.body) describe(element, style, seen, lines);
    if (element.tagName === "SELECT") return;
    const inner = style.overflowX === "visible" && style.overflowY === "visible" ? clip : cut(box, clip);
    if (inner) for (const child of element.children) walk(child, inner, lines, waiting);
  }

  function describe(element, style, box, lines) {
    const tag = element.tagName, leaf = element.childElementCount === 0;
    const scrolls = hidden(element, style);
    const svg = element instanceof SVGElement && SHAPES.has(tag);
    let role = ROLES[tag] || tag.toLowerCase(), text = own(element), detail = "", flags = "";
    if (tag === "INPUT") {
      role = FIELDS.has(element.type) ? "field" : element.type;
      if (element.type === "checkbox" || element.type === "radio") flags = element.checked ? " checked" : " unchecked";
      else detail = element.value;
      if (role !== "field") { text = detail; detail = ""; } else text = element.placeholder || "";
    } else if (tag === "TEXTAREA") {
      text = element.placeholder || "";
      detail = element.value;
    } else if (tag === "SELECT") {
      text = Array.from(element.options, option => option.text.trim()).join(" | ");
      detail = Array.from(element.selectedOptions, option => option.text.trim()).join(" | ");
    } else if (tag === "IMG") {
      text = element.alt || element.src.split("/").pop();
    } else if (!text && !svg && !scrolls && !(leaf && names(element)) && !ROLES[tag]) {
      return;  // a container: its children speak for it
    }
    const more = [detail, names(element), colour(element, style, svg)].filter(Boolean);
    flags += scrolls;
    if (document.activeElement === element) flags += " focused";
    if (element.disabled) flags += " disabled";
    lines.push(role + quoted(text) + more.map(quoted).join("") + where(box) + flags);
  }

  function hidden(element, style) {
    if (!["auto", "scroll"].includes(style.overflowY)) return "";
    const below = element.scrollHeight - element.clientHeight - element.scrollTop > 1;
    return (below ? " more-below" : "") + (element.scrollTop > 1 ? " more-above" : "");
  }

  function own(element) {
    let text = "";
    for (const node of element.childNodes) if (node.nodeType === 3) text += node.data + " ";
    return text.trim();
  }

  function names(element) {
    const classes = typeof element.className === "string" ? element.className : element.className.baseVal;
    const parts = classes.split(/\s+/).filter(Boolean).map(name => "." + name);
    return (element.id ? ["#" + element.id] : []).concat(parts).join(" ");
  }

  function colour(element, style, svg) {
    if (svg) return style.fill !== "none" ? "fill " + style.fill : "stroke " + style.stroke;
    const empty = element.childElementCount === 0 && !element.textContent.trim();
    return empty && style.backgroundColor !== "rgba(0, 0, 0, 0)" && !ROLES[element.tagName] &&
      element.tagName !== "INPUT" ? "fill " + style.backgroundColor : "";
  }

  function quoted(text) {
    return ' "' + text.replace(/\s+/g, " ").trim().replace(/"/g, "'").slice(0, 300) + '"';
  }

  function where(box) {
    return " " + [box.left / WIDTH, box.top / HEIGHT, box.right / WIDTH, box.bottom / HEIGHT]
      .map(share => share.toFixed(2)).join(" ");
  }

  return {begin, look};
})();
