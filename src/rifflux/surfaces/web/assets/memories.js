// Memories: what is kept of somebody, listed, recalled, written, changed, replaced and forgotten.

import {at, get, patch, post, remove} from "./api.js";
import {act, count, day, dialog, fill, form, h, input, note, paged, say, some, where} from "./dom.js";
import {sure} from "./library.js";
import {address, go, personal, seeking} from "./page.js";
import {bars, unfolds} from "./why.js";

export const show = personal("Memories", async (place, given, {signal}) => {
  const query = given.get("q") ?? "", all = given.get("all"), list = h("div", {class: "stack"});
  const draw = () => query.trim() ? recalled(list, query, again, signal) : listed(list, all, again, signal);
  const again = async () => { fill(list); await draw(); };
  fill(place, h("h1", null, "Memories"), seeking("memories", query, "Recall memories", "What is remembered?", "Recall"),
    h("div", {class: "row"}, !query && h("label", {class: "check"}, h("input", {type: "checkbox", checked: Boolean(all), onchange: (event) => go(address({view: "memories", all: event.target.checked && "1"}))}), h("b", null, "also what is out of force")),
      h("span", {class: "push"}, act("Remember something", () => writing("Something to remember", {category: "fact", importance: 7, confidence: 1}, "Remember", async (given) => saved(await post("memories", given), again)), "main"))), list);
  await draw();
});

const listed = (list, all, again, signal) => paged(list, async (after) => {
  const {memories, next} = await get(at`memories?limit=50&after=${after}&everything=${Boolean(all)}`, signal);
  return {next, rows: memories.map((each) => memory(each, again))};
}, "Nothing is remembered yet.");

async function recalled(list, query, again, signal) {
  const {memories, diagnostics} = await post("memories/search", {query, top_k: 40, explain: true}, signal);
  fill(list, [...diagnostics.notes, ...diagnostics.degraded].map(note), h("p", {class: "soft", role: "status"}, memories.length ? some(memories.length, "memory", "memories") : "No results"),
    h("ol", {class: "hits"}, memories.map((each) => memory(each.memory, again, each.why))));
}

function memory(each, again, trail) {
  const why = h("div"), before = h("div"), now = Date.now();
  const state = each.superseded_by ? "replaced" : each.expires_at && new Date(each.expires_at) < now ? "expired" : "";
  const facts = [each.category, `importance ${each.importance}`, each.confidence < 1 && `confidence ${each.confidence}`, day(each.created_at), each.expires_at && `until ${day(each.expires_at)}`, each.uses > 0 && `used ${count(each.uses)}×`, each.source && `from ${each.source}`];
  return h("li", {class: "hit"}, h("div", {class: "row"}, h("p", {class: "passage", dir: "auto"}, each.text), state && h("span", {class: "level push"}, state)), where(...facts),
    h("div", {class: "acts"}, trail && unfolds("Why here?", why, () => bars(trail)),
      act("Edit", () => writing("Change a memory", each, "Keep", async (given) => { await patch(at`memories/${each.id}`, {...given, expires_at: given.expires_at ?? "never"}); await again(); }), "plain"),
      !each.superseded_by && act("Replace", () => writing("What holds instead", each, "Replace", async (given) => saved(await post("memories", {...given, supersedes: each.id}), again)), "plain"),
      unfolds("History", before, async () => {
        const {memories} = await get(at`memories/${each.id}/history`);
        return h("ul", null, memories.map((one) => h("li", {dir: "auto"}, `${day(one.created_at)}: ${one.text}`)));
      }),
      sure("Forget", async () => { await remove(at`memories/${each.id}`); await again(); say("forgotten", true); }, "plain danger push")), why, before);
}

function writing(title, each, name, work) {
  const number = (name, label, bounds) => input(name, label, {type: "number", required: true, value: each[name], ...bounds});
  const box = dialog(title, form(null, [
    h("label", {class: "whole"}, "What", h("textarea", {name: "text", rows: 4, required: true, maxlength: 4000, value: each.text ?? ""})),
    input("category", "Category", {required: true, maxlength: 100, value: each.category}), number("importance", "Importance, 1 to 10", {min: 1, max: 10}),
    number("confidence", "Confidence, 0 to 1", {min: 0, max: 1, step: 0.01}), input("expires_at", "Until", {type: "date", value: day(each.expires_at)})], name,
  async ({importance, confidence, expires_at: until, ...given}) => {
    await work({...given, importance: Number(importance), confidence: Number(confidence), expires_at: until || null});
    box.close();
  }));
}

async function saved({outcome, reason, degraded}, again) {
  if (outcome === "refused") throw new Error(reason);
  await again();
  say([outcome, reason, ...degraded.map((each) => each.text)].filter(Boolean).join("; "), true);
}
