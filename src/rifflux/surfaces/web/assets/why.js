// Why a hit ranks where it does: the steps as bars, and the verdict on a document that is not on the page.

import {post} from "./api.js";
import {act, count, fill, form, h, input, note, soft, some} from "./dom.js";
import {body} from "./filters.js";

const parts = (step) => Object.entries(step.detail).filter(([, value]) => typeof value === "number" && !Number.isInteger(value));
const shown = (value) => Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(3);

/** The steps of a trail; `most` has the best score of each step, which fills its bar. */
export function bars(trail, most = {}) {
  const lines = trail.map((step) => {
    const made = parts(step), score = step.score, best = Math.max(most[step.stage] ?? 0, score ?? 0) || 1;
    const whole = made.reduce((sum, [, value]) => sum + Math.max(0, value), 0);
    const stacked = made.length > 1 && Math.abs(whole - score) < 0.01 * Math.max(1, whole);
    const width = (value) => h("i", {"--share": Math.max(0, Math.min(1, value / best))});
    return [
      h("div", {class: "bar"}, h("span", null, step.stage), h("span", null, step.rank ? `${count(step.rank)}.` : "–"),
        h("span", {class: "track", role: "img", "aria-label": score === null ? `${step.stage}: no score` : `${step.stage}: ${shown(score)} of ${shown(best)}`},
          score === null ? null : stacked ? made.map(([, value]) => width(value)) : width(score)),
        h("span", null, score === null ? "" : shown(score))),
      made.length > 0 && h("p", {class: stacked ? "legend" : "soft"}, stacked ? made.map(([name, value]) => h("span", null, `${name} ${shown(value)}`)) : made.map(([name, value]) => `${name} ${shown(value)}`).join(" · ")),
    ];
  });
  return h("div", {class: "bars"}, lines);
}

/** The best score of each step among several trails. */
export function best(trails) {
  const most = {};
  for (const step of trails.flat()) most[step.stage] = Math.max(most[step.stage] ?? 0, step.score ?? 0);
  return most;
}

/** What became of a document for a question. */
export function verdict(told) {
  const place = told.rank === null ? "It is not among the candidates" : `It is number ${count(told.rank)} of ${some(told.candidates, "candidate")}`;
  const words = (matched) => told.terms.filter((term) => !term.variant && term.matched === matched).map((term) => term.word).join(", ");
  return h("div", {class: "stack", role: "status"},
    h("p", null, h("b", null, told.document), `: ${place}${told.found ? "." : ", and so not on the page."}`),
    h("p", null, told.reason),
    told.trail.length > 0 && bars(told.trail),
    words(true) && soft(`It holds: ${words(true)}`),
    words(false) && soft(`It lacks: ${words(false)}`),
    told.changes.length > 0 && h("div", null, h("h3", null, "What would help"), h("ul", null, told.changes.map((each) => h("li", null, `${each.what} (it would be number ${count(each.rank)})`)))),
    [...told.diagnostics.notes, ...told.diagnostics.degraded].map(note));
}

export async function ask(given, document) {
  const {mode, fusion, rerank, filter, query} = body(given);
  return post("why", {query, document, mode, fusion, rerank, filter});
}

/** A form that asks why a document is not among the results. */
export function whyNot(given) {
  const answer = h("div");
  return h("details", {class: "card"}, h("summary", null, "Why is something not here?"),
    form(null, input("document", "Document", {required: true, placeholder: "path, key or identifier"}), "Ask",
      async ({document}) => fill(answer, verdict(await ask(given(), document)))), answer);
}

/** A button that unfolds an answer below itself, asked for the first time that it is pressed. */
export function unfolds(name, place, work) {
  const button = act(name, async () => {
    const open = button.getAttribute("aria-expanded") !== "true";
    if (open && !place.firstChild) fill(place, await work());
    button.setAttribute("aria-expanded", open);
    place.hidden = !open;
  }, "plain why");
  button.setAttribute("aria-expanded", "false");
  place.hidden = true;
  return button;
}
