// A document, opened at a passage: its text in blocks, the passage and the words marked, the outline beside it.

import {at, get} from "./api.js";
import {act, copy, day, fill, h, note, save} from "./dom.js";
import {built, laid, marking} from "./markup.js";
import {address} from "./page.js";
import {citation, grouped} from "./search.js";
import {ask, unfolds, verdict} from "./why.js";

export async function show(place, given, {signal}) {
  const query = given.get("q") ?? "", name = given.get("doc") ?? (await get(at`chunks/${given.get("chunk")}`, signal)).document;
  const told = await get(`${at`documents/${name}?around=${given.get("chunk") ?? ""}`}${query ? at`&query=${query}` : ""}`, signal);
  const {around} = told, hit = around.passage, opened = given.get("chunk");
  if (!opened) around.span = [0, 0];
  const why = h("div"), [base] = around.text_span;
  const search = {...grouped(given), doc: "", chunk: ""}, to = (chunk) => address({...search, doc: told.document, chunk});
  const body = h("div", {class: "text blocks"}, await blocks(told.text, told.kind, base, around, signal));
  const facts = [hit.path || told.document, told.kind, told.license, day(told.created_at), ...told.identifiers].filter(Boolean);
  document.title = `${told.title || told.document} · Rifflux`;
  fill(place,
    h("div", {class: "stack"},
      h("p", null, h("a", {href: address(search)}, query ? `← Results for “${query}”` : "← Search")),
      h("h1", {dir: "auto"}, told.title || told.document),
      h("p", {class: "where"}, h("b", null, hit.collection), ` · ${facts.join(" · ")}`),
      h("div", {class: "acts"}, act("Copy citation", () => copy(citation(hit)), "plain"),
        act("Save text", () => save(`${told.title || told.document}.txt`, told.text, "text/plain"), "plain"),
        query && unfolds("Why does it rank so?", why, async () => verdict(await ask(given, hit.id)))), why,
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
  const [base] = around.text_span;
  const now = around.outline.findLast((each) => each.start <= around.span[0]);
  return h("aside", {"aria-label": "Outline"}, h("h2", null, "Outline"), h("ol", {class: "outline"}, around.outline.map((each) =>
    h("li", {dir: "auto"}, h("a", {href: to(each.chunk_id), "--depth": Math.min(each.depth, 5), "aria-current": each === now && "true", onclick: (event) => {
      const block = [...body.children].findLast((one) => Number(one.dataset.at) + base <= each.start);
      if (!block || each.start < base || each.start >= around.text_span[1]) return;
      event.preventDefault();
      block.scrollIntoView({block: "start"});
      block.tabIndex = -1;
      block.focus({preventScroll: true});
    }}, each.title)))));
}

/* The blocks of a text; those of the passage are marked. */
async function blocks(text, kind, base, around, signal) {
  const words = around.highlights.map((span) => span.map((each) => each - base)), [first, last] = around.span.map((each) => each - base);
  const heads = new Map(around.outline.map((each) => [each.title, each.depth]));
  const cuts = [first, last, ...around.outline.map((each) => each.start - base)].filter((each) => each > 0);
  const [nodes] = await laid([text], {kind, cuts}, signal);
  for (const node of nodes) if (node.kind === "lines" && heads.has(node.text.trim())) Object.assign(node, {kind: "heading", level: heads.get(node.text.trim())});
  return built(nodes, marking(words), (start, end) => start < last && end > first);
}
