// What a search is narrowed by: a panel to choose from, and a chip for each choice that takes it back.

import {get} from "./api.js";
import {choice, count, field, fill, h, input} from "./dom.js";

const FIELDS = {collection: "Collection", kind: "Kind", folder: "Folder"};
const NAMES = {collection: "collection", kind: "kind", folder: "folder", path: "path", since: "since", until: "until", mode: "mode", fusion: "fusion", rerank: "rerank", sort: "sort", one: "one per document", min: "relevance", in: "in"};
const ORDERS = [
  ["mode", "Find", [["", "by words and meaning"], ["lexical", "by words"], ["semantic", "by meaning"], ["hybrid-rerank", "and rerank"]]],
  ["fusion", "Fusion", ["", "adaptive", "balanced", "linear", "rrf"].map((name) => [name, name || "as configured"])],
  ["rerank", "Rerank", ["", "none", "features", "maxsim", "cross-encoder", "llm"].map((name) => [name, name || "as configured"])],
  ["sort", "Order", [["", "best first"], ["date", "newest first"]]],
  ["one", "Show", [["", "every passage"], ["1", "one per document"]]],
];

/** The body of a search for what an address says. */
export function body(given) {
  const all = (name) => given.getAll(name), one = (name) => given.get(name) || null;
  const metadata = {};
  for (const [name, value] of given) if (name.startsWith("f.")) (metadata[name.slice(2)] ??= []).push(typed(value));
  const filter = {collections: all("collection"), kinds: all("kind"), folders: all("folder"), paths: all("path"), since: one("since"), until: one("until"), metadata};
  const asked = {query: given.get("q"), mode: given.get("mode") || "hybrid", filter};
  if (given.get("in")) return asked;
  return {...asked, fusion: one("fusion"), rerank: one("rerank"), sort: given.get("sort") || "relevance", one_per_document: Boolean(given.get("one"))};
}

/* Values of metadata keep their sort in the address: texts as they are, others as JSON behind an equals sign. */
const told = (value) => typeof value === "string" && !value.startsWith("=") ? value : `=${JSON.stringify(value)}`;
const typed = (value) => value.startsWith("=") ? JSON.parse(value.slice(1)) : value;

/** The chips of what is chosen; `change` gets a name, a value, and whether it is chosen. */
export function chips(given, change) {
  return [...given].filter(([name]) => name in NAMES || name.startsWith("f.")).map(([name, value]) => {
    const text = `${NAMES[name] ?? name.slice(2)}: ${String(name.startsWith("f.") ? typed(value) : value)}`;
    return h("button", {type: "button", class: "chip", "aria-label": `Remove ${text}`, onclick: () => change(name, value, false)}, text, " ×");
  });
}

/** The panel, which asks for the values there are when it is first opened. */
export function panel(given, change, {me, signal}) {
  const wide = matchMedia("(min-width: 1000px)").matches, place = h("div");
  const box = h("details", {open: wide, ontoggle: () => box.open && !place.firstChild && load()}, h("summary", null, "Filters"), place);
  async function load() {
    const {facets} = await get("facets?limit=12", signal).catch(() => ({facets: []}));
    fill(place, facets.filter((each) => each.values.length > (each.name === "collection" ? 1 : 0)).map((each) => facet(each, given, change)),
      h("fieldset", null, h("legend", null, "Path and date"),
        text("path", "Path", "notes/**"), date("since", "From"), date("until", "Until")),
      h("fieldset", null, h("legend", null, "How"),
        me.user && field("In", pick("in", [["", "documents"], ["everything", "messages and memories too"]])),
        ORDERS.map(([name, label, options]) => field(label, pick(name, options)))));
  }
  const set = (name) => (event) => change(name, event.target.value, Boolean(event.target.value), true);
  const text = (name, label, placeholder) => input(name, label, {value: given.get(name) ?? "", placeholder, onchange: set(name)});
  const date = (name, label) => input(name, label, {type: "date", value: given.get(name) ?? "", onchange: set(name)});
  const pick = (name, options) => choice({name, value: given.get(name) ?? "", onchange: set(name)}, options);
  if (wide) load();
  return box;
}

/** Have the panel show what an address says. */
export function agree(side, given) {
  for (const each of side.querySelectorAll("[name]")) {
    if (each.type === "checkbox") each.checked = given.getAll(each.name).includes(each.value);
    else each.value = given.get(each.name) ?? "";
  }
}

function facet({name, values}, given, change) {
  const key = name in FIELDS ? name : `f.${name}`;
  return h("fieldset", null, h("legend", null, FIELDS[name] ?? name), values.map(({value, documents}) => {
    const chosen = key.startsWith("f.") ? told(value) : String(value);
    const box = h("input", {type: "checkbox", name: key, value: chosen, checked: given.getAll(key).includes(chosen), onchange: () => change(key, chosen, box.checked)});
    return h("label", {class: "check"}, box, h("b", null, String(value)), h("span", null, count(documents)));
  }));
}
