// The state of the service: counts, times and shares, never contents; refreshed every few seconds.

import {get} from "./api.js";
import {card, choice, count, drawn, field, fill, h, soft, table, tile} from "./dom.js";

const FIVE_MINUTES = 300000, EVERY = 5000;
const time = (s) => s === null ? "–" : s < 1 ? `${(s * 1000).toFixed(s < 0.01 ? 1 : 0)} ms` : `${s.toFixed(2)} s`;
const share = (value) => value === null || Number.isNaN(value) ? "–" : `${(100 * value).toFixed(1)} %`;
const seen = [];

export async function show(place, given, {signal}) {
  const board = h("div", {class: "stack"}), state = h("p", {class: "soft"});
  const span = choice({value: "all", onchange: () => draw()}, [["all", "since the service began"], ["five", "of the last five minutes"]]);
  const draw = () => fill(board, drawing(seen.at(-1).data, span.value === "five" ? seen.find((each) => each.at >= Date.now() - FIVE_MINUTES).data : null));
  const read = async () => {
    const data = await get("dashboard/data", signal);
    seen.push({at: Date.now(), data});
    while (seen.length > 1 && seen[0].at < Date.now() - 2 * FIVE_MINUTES) seen.shift();
    state.textContent = `read at ${new Date().toLocaleTimeString("en")}`;
    if (!board.contains(document.activeElement)) draw();
  };
  fill(place, h("div", {class: "row"}, h("h1", null, "Dashboard"), state, h("span", {class: "push"}, field("Latency and rates", span))), board);
  await read();
  const again = setInterval(() => read().catch((error) => signal.aborted || (state.textContent = error.message)), EVERY);
  signal.addEventListener("abort", () => clearInterval(again));
}

/* Counts that only grow, less what they were at the beginning of the span. */
function since(now, before, name) {
  const old = new Map((before?.[name] ?? []).map((each) => [each.name, each]));
  return now[name].map((each) => {
    const was = old.get(each.name);
    return {name: each.name, count: each.count - (was?.count ?? 0), buckets: each.buckets.map((value, place) => value - (was?.buckets[place] ?? 0))};
  }).filter((each) => each.count > 0);
}

/* Times are taken to be spread evenly within a bucket; beyond the last bound only the bound is known. */
function quantile(bounds, buckets, part) {
  const total = buckets.at(-1), wanted = part * total, place = buckets.findIndex((value) => value >= wanted);
  if (!total) return null;
  if (place >= bounds.length) return bounds.at(-1);
  const low = place ? bounds[place - 1] : 0, below = place ? buckets[place - 1] : 0;
  return low + (bounds[place] - low) * (wanted - below) / Math.max(1, buckets[place] - below);
}

const across = (s) => 4 + 332 * Math.min(1, Math.max(0, (Math.log10(Math.max(s, 0.0005)) + 3.3) / 4.3));
const bar = (p50, p95, limits) => drawn("svg", {viewBox: "0 0 340 20", role: "img", "aria-label": `p50 ${time(p50)}, p95 ${time(p95)}`},
  ...[["l50", limits.p50], ["l95", limits.p95]].map(([name, limit]) => drawn("line", {class: name, x1: across(limit), x2: across(limit), y1: 0, y2: 20})),
  drawn("line", {class: "span", x1: across(p50), x2: across(p95), y1: 10, y2: 10}),
  drawn("circle", {class: "p95", cx: across(p95), cy: 10, r: 5}), drawn("circle", {class: "p50", cx: across(p50), cy: 10, r: 5}));

function latency(name, what, rows, data) {
  const over = (value, limit) => h("span", {class: value > limit ? "over" : null}, time(value));
  return table(name, [[what], ["p50 and p95"], ["count", "number"], ["p50", "number"], ["p95", "number"]], rows.map((each) => {
    const p50 = quantile(data.bounds, each.buckets, 0.5), p95 = quantile(data.bounds, each.buckets, 0.95);
    return [each.name, bar(p50, p95, data.limits), count(each.count), over(p50, data.limits.p50), over(p95, data.limits.p95)];
  }));
}

function drawing(data, before) {
  const named = (name) => since(data, before, name), sum = (rows) => rows.reduce((all, each) => all + each.count, 0);
  const statuses = named("statuses"), requests = sum(statuses), searches = sum(named("searches")), degraded = sum(named("degraded"));
  const failed = sum(statuses.filter((each) => each.name >= "500")), refused = sum(statuses.filter((each) => each.name >= "400" && each.name < "500"));
  const days = ["questions", "click_through", "saved", "reformulated", "not_relevant"];
  return [
    h("div", {class: "tiles"}, tile("requests", count(requests)), tile("failed (5xx)", share(failed / requests), failed / requests > 0.01 ? "over" : "within"), tile("refused (4xx)", share(refused / requests)),
      tile("searches", count(searches)), tile("degraded searches", share(degraded / searches), degraded / searches > 0.05 ? "over" : "within"), tile("questions without a vector", count(sum(named("embedder_failures")))), ...named("answers").map((each) => tile(`answers: ${each.name}`, count(each.count)))),
    card("Latency by endpoint", soft(`Dashed: the limits of /retrieve, ${time(data.limits.p50)} and ${time(data.limits.p95)}; logarithmic, 0.5 ms to 10 s.`), latency("Latency by endpoint", "endpoint", named("routes"), data)),
    card("Latency by stage", latency("Latency by stage", "stage", named("stages"), data)),
    card("Candidates by channel", table("Candidates by channel", [["channel"], ["candidates", "number"], ["a search", "number"]], named("hits").map((each) => [each.name, count(each.count), (each.count / Math.max(1, searches)).toFixed(1)]))),
    card("What became of questions", soft("Shares of a day's questions. Asked again: in similar words within five minutes, with nothing used."),
      table("What became of questions", [["day"], ...["questions", "clicked", "saved", "asked again", "not relevant"].map((name) => [name, "number"])], data.online.map((each) => [each.day, ...days.map((name, place) => place ? share(each[name]) : count(each[name]))]))),
  ];
}
