// Research works with the evidence to cite: packs to save and to check, citations both ways, bibliographies.

import {at, get, post} from "./api.js";
import {act, card, choice, field, fill, form, h, input, note, save, say, share, soft, some, where} from "./dom.js";
import {address, seeking} from "./page.js";
import {bars, unfolds} from "./why.js";

const MODES = ["", "lookup", "survey", "compare", "prereq", "related", "generic", "keywords"].map((name) => [name, name || "as it is worded"]);

export async function show(place, given, {signal}) {
  const found = h("div", {class: "stack"}), pairs = h("div"), value = (name) => given.get(name) ?? "";
  fill(place, h("h1", null, "Works"),
    seeking("works", value("q"), "Search works", "What are works to be about?", "Find"),
    h("details", {open: Boolean(value("mode") || value("since") || value("until"))}, h("summary", null, "Which works"),
      h("div", {class: "form"}, field("Intent", choice({name: "mode", value: value("mode"), form: "works"}, MODES)),
        input("since", "From", {value: value("since"), placeholder: "1960"}), input("until", "Until", {value: value("until"), placeholder: "1975"}))),
    found, checking(), pairs);
  const ask = place.querySelector("form.ask");
  ask.id = "works";
  for (const each of place.querySelectorAll("details input")) each.setAttribute("form", "works");
  doubts(pairs, await get("works/doubts", signal));
  if (value("q").trim()) await find(found, given, signal);
  else fill(found, soft("Each answer is a pack of passages with hashes that can be checked."));
}

async function find(place, given, signal) {
  const one = (name) => given.get(name) || null;
  const asked = {query: given.get("q"), mode: one("mode"), works_only: true, filter: {since: one("since"), until: one("until")}};
  const told = await post("retrieve", asked, signal), pack = told.evidence_pack;
  const name = asked.query.replace(/\W+/g, "-").slice(0, 40), sound = h("div");
  const cited = async (cite) => (await post("retrieve", {...asked, cite})).evidence_pack.bibliography;
  fill(place,
    soft(`${some(told.reranked.length, "work")} · ${told.diagnostics.intent}: ${told.diagnostics.reason}`),
    [...told.diagnostics.notes.filter((each) => each.code !== "works.intent"), ...pack.notes].map(note),
    h("div", {class: "beside"},
      h("section", {class: "stack"}, h("h2", null, "Best first"), h("ol", {class: "hits"}, told.reranked.map(work))),
      h("section", {class: "stack"}, h("h2", null, "Evidence"),
        h("div", {class: "chips"}, act("Save pack", () => save(`${name}.json`, JSON.stringify(pack, null, 1), "application/json")),
          act("BibTeX", async () => save(`${name}.bib`, Object.values(await cited("bibtex")).join("\n\n"), "text/plain")),
          act("CSL", async () => save(`${name}.csl.json`, JSON.stringify(Object.values(await cited("csl")), null, 1), "application/json")),
          act("Verify", async () => fill(sound, checked(await post("verify", {evidence_pack: pack}))))), sound,
        pack.uncertain && note("Little speaks for it."),
        h("ol", {class: "hits"}, pack.items.map((item) => h("li", {class: "hit"},
          h("h3", {dir: "auto"}, `[${item.number}] `, h("a", {href: address({doc: item.document, chunk: item.chunk_id, q: asked.query})}, item.title)),
          where(item.citation_key, item.heading_path),
          h("p", {class: "passage", dir: "auto"}, item.text)))))));
}

function work(found) {
  const why = h("div"), links = h("div"), facts = [found.authors.join(", "), found.year, found.venue, found.license];
  return h("li", {class: "hit"},
    h("div", {class: "row"}, h("h3", {dir: "auto"}, h("a", {href: address({doc: found.document, chunk: found.chunk_id})}, found.title)),
      found.quality && h("span", {class: `level ${found.quality} push`}, `${found.quality} ${share(found.relevance)}`)),
    where(...facts.some(Boolean) ? facts : [found.document]), found.withheld && note("No license is recorded that permits it, so no text is shown."),
    h("div", {class: "acts"},
      unfolds("Why here?", why, () => bars([{stage: "works", rank: null, score: found.score, detail: found.components}])),
      found.namespace.startsWith("works/") && unfolds("Citations", links, async () => {
        const told = await get(at`works/${found.identifiers[0] ?? found.document}`);
        return [["Cites", told.cites], ["Cited by", told.cited_by]].map(([name, some]) => h("div", null, h("h3", null, name),
          some.length ? h("ul", null, some.map((each) => h("li", null, h("a", {href: address({doc: each.document})}, each.title || each.document)))) : soft("none in here"))).concat(told.more_links ? soft("There are more than these.") : []);
      })), why, links);
}

const checked = (told) => told.sound ? h("p", {class: "note"}, `${some(told.items, "passage")}, each as it is indexed.`)
  : h("div", {class: "problem", role: "alert"}, "It is not as it was: ", h("ul", null, told.problems.map((each) => h("li", null, each))));

function checking() {
  const answer = h("div");
  return card("Check a pack",
    form(null, input("file", "A pack that was saved", {type: "file", accept: ".json", required: true}), "Check", async ({file}) => {
      let pack;
      try { pack = JSON.parse(await file.text()); } catch { throw new Error("That is no JSON: choose a pack that was saved."); }
      fill(answer, checked(await post("verify", {evidence_pack: pack})));
      say("checked");
    }), answer);
}

/** Pairs of works that may be one, for somebody to decide on. */
function doubts(place, {doubts: open}) {
  const decide = (name, {one, other}, same) => act(name, async () => doubts(place, await post("works/doubts", {one, other, same})));
  const work = (name) => h("a", {href: address({doc: name})}, name);
  fill(place, open.length > 0 && card(`${some(open.length, "pair")} of works that may be one`, h("ol", {class: "hits"}, open.slice(0, 20).map((pair) =>
    h("li", {class: "hit"}, h("h3", null, work(pair.one), " · ", work(pair.other)), soft(pair.reason),
      h("div", {class: "chips"}, decide("One work", pair, true), decide("Two works", pair, false)))))));
}
