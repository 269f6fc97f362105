// A document, opened at a passage: its text in blocks, the passage and the words marked, the outline beside it.

import {at, get} from "./api.js";
import {copy, cutter, day, fill, h, note, save} from "./dom.js";
import {address} from "./page.js";
import {citation, grouped} from "./search.js";
import {ask, unfolds, verdict} from "./why.js";

const WHOLE = new Set(["code", "table", "notebook", "json"]), LOOSE = new Set(["markdown", "html", "rst"]);

export async function show(place, given, {signal}) {
  const query = given.get("q") ?? "", name = given.get("doc") ?? (await get(at`chunks/${given.get("chunk")}`, signal)).document;
  const told = await get(`${at`documents/${name}?around=${given.get("chunk") ?? ""}`}${query ? at`&query=${query}` : ""}`, signal);
  const {around} = told, hit = around.passage, opened = given.get("chunk");
  if (!opened) around.span = [0, 0];
  const why = h("div"), [base] = around.text_span;
  const search = {...grouped(given), doc: "", chunk: ""}, to = (chunk) => address({...search, doc: told.document, chunk});
  const body = h("div", {class: "text blocks"}, blocks(told.text, told.kind, base, around));
  const facts = [hit.path || told.document, told.kind, told.license, day(told.created_at), ...told.identifiers].filter(Boolean);
  document.title = `${told.title || told.document} · Rifflux`;
  fill(place,
    h("div", {class: "stack"},
      h("p", null, h("a", {href: address(search)}, query ? `← Results for “${query}”` : "← Search")),
      h("h1", null, told.title || told.document),
      h("p", {class: "where"}, h("b", null, hit.collection), ` · ${facts.join(" · ")}`),
      h("div", {class: "acts"}, h("button", {type: "button", class: "plain", onclick: () => copy(citation(hit))}, "Copy citation"),
        h("button", {type: "button", class: "plain", onclick: () => save(`${told.title || told.document}.txt`, told.text, "text/plain")}, "Save text"),
        query && unfolds("Why does it rank so?", why, async () => verdict(await ask(given, hit.chunk_id)))), why,
      around.text_span[1] - base < around.length && note(`A long document: this is the part around the passage, ${Math.round(100 * base / around.length)} to ${Math.round(100 * around.text_span[1] / around.length)} % of it. The outline leads on.`)),
    h("div", {class: "reading"}, h("article", null, body), around.outline.length > 1 && outline(around, hit, to, body)));
  const here = body.querySelector(".here");
  here?.scrollIntoView({block: "center"});
  return (event, typing) => {
    if (event.key !== "Escape" || typing) return false;
    place.querySelector("a").click();
    return true;
  };
}

function outline(around, hit, to, body) {
  const now = around.outline.findLast((each) => each.start <= around.span[0]);
  return h("aside", {"aria-label": "Outline"}, h("h2", null, "Outline"), h("ol", {class: "outline"}, around.outline.map((each) =>
    h("li", null, h("a", {href: to(each.chunk_id), "--depth": Math.min(each.depth, 5), "aria-current": each === now && "true", onclick: (event) => {
      const block = [...body.children].findLast((one) => Number(one.dataset.at) <= each.start);
      if (!block || each.start < around.text_span[0] || each.start >= around.text_span[1]) return;
      event.preventDefault();
      block.scrollIntoView({block: "start"});
      block.tabIndex = -1;
      block.focus({preventScroll: true});
    }}, each.title)))));
}

/** The blocks of a text. Each says where it begins, and those of the passage are marked. */
function blocks(text, kind, base, around) {
  const cut = cutter(text), points = /[\ud800-\udfff]/.test(text) ? counter(text) : (place) => place;
  const words = around.highlights.map((span) => span.map((each) => each - base)), [start, end] = around.span.map((each) => each - base);
  const found = WHOLE.has(kind) ? pieces([start, end, ...around.outline.map((each) => each.start - base)], points(text.length))
    : split(text, LOOSE.has(kind) ? "" : "lined").map(([first, last, name]) => [points(first), points(last), name]);
  let depth = 1;
  return found.map(([first, last, name]) => {
    const here = first < end && last > start, sign = name === "head" ? /^#+\s+/.exec(cut(first, last))[0] : "";
    const inside = [sign && h("span", {class: "sign"}, sign)];
    let place = first + sign.length;
    for (const [left, right] of words) {
      if (left < place || right > last) continue;
      inside.push(cut(place, left), h("mark", null, cut(left, right)));
      place = right;
    }
    inside.push(cut(place, last));
    if (sign) depth = Math.min(depth + 1, sign.trim().length + 1);
    const level = sign ? {role: "heading", "aria-level": depth} : {};
    return h(name === "head" || name === "item" || name === "" || name === "lined" ? "div" : "pre", {class: [name, here && "here"].filter(Boolean).join(" ") || null, "data-at": base + first, ...level}, inside);
  });
}

/* Code has its lines as they are; it is cut where the passage and what the outline names begin. */
function pieces(places, length) {
  const cuts = [...new Set([0, ...places.filter((place) => place > 0 && place < length), length])].sort((one, other) => one - other);
  return cuts.slice(1).map((last, number) => [cuts[number], last, "whole"]);
}

function split(text, plain = "") {
  const found = [];
  let fenced = false, open = null;
  const close = () => { if (open) found.push(open); open = null; };
  for (const match of text.matchAll(/.*(?:\n|$)/g)) {
    const line = match[0], first = match.index, last = first + line.length;
    if (!line) continue;
    const fence = /^\s*(```|~~~)/.test(line);
    const kind = fenced || fence ? "pre" : /^#{1,6}\s/.test(line) ? "head" : /^\s*\|/.test(line) ? "pre" : /^\s*([-*+]|\d+[.)])\s/.test(line) ? "item" : line.trim() ? plain : null;
    if (fence) fenced = !fenced;
    if (kind === null) { if (open) open[1] = last; close(); continue; }
    if (open && open[2] === kind && kind !== "head" && kind !== "item" || open && open[2] === "item" && kind === plain) open[1] = last;
    else { close(); open = [first, last, kind]; }
    if (fence && !fenced) close();
  }
  close();
  return found;
}

/** Places in code points for places in code units, of a text where they differ. */
function counter(text) {
  const points = new Uint32Array(text.length + 1);
  let count = 0;
  for (let place = 0; place < text.length; place++) {
    points[place] = count;
    const code = text.charCodeAt(place);
    if (code < 0xdc00 || code > 0xdfff) count++;
  }
  points[text.length] = count;
  return (place) => points[place];
}
