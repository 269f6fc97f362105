// Searching as one types. The address is the state: what is asked, and what it is narrowed by.

import {post} from "./api.js";
import {act, copy, day, fill, h, icon, marked, note, problem, say, share, some} from "./dom.js";
import {agree, body, chips, panel} from "./filters.js";
import {address, asked, go} from "./page.js";
import {bars, best, unfolds, whyNot} from "./why.js";

const PAGE = 10, MOST = 100, DEBOUNCE_MS = 10, SETTLED_MS = 1500, HEARD_MS = 500;
/** Searches that may be under way: one that was typed past does not keep the newest waiting. */
const AT_ONCE = 2;
const THUMB = "M2 10h4v11H2zM8 21V10l4-8c2 0 3 1.5 2.5 3.5L14 9h6c1.5 0 2.3 1.3 2 2.7l-1.7 7.3c-.3 1.3-1 2-2.3 2z";
const CODE = new Set(["code", "table", "notebook", "json"]);

export async function show(place, given, {me, signal}) {
  const field = h("input", {name: "q", type: "search", value: given.get("q") ?? "", autocomplete: "off", spellcheck: "false", dir: "auto", placeholder: "What are you looking for?", "aria-label": "Search", "aria-keyshortcuts": "/", oninput: changed});
  const chosen = h("div", {class: "chips"}), told = h("p", {class: "soft"}), notes = h("div", {class: "stack"}), list = h("ol", {class: "hits"}), rest = h("div", {class: "stack"});
  let timer = 0, settling = 0, hearing = 0, under = 0, newest = 0, drawn = 0, next = null, kept = true, typed = false;

  /* The question of the address; it is replaced while one types, and kept once it stands. */
  function state(change, {keep = false} = {}) {
    const now = asked();
    change(now);
    go(address(grouped(now)), {replace: !kept, quiet: true});
    kept = keep;
    fill(chosen, chips(now, choose));
  }
  function changed() {
    state((now) => now.set("q", field.value));
    clearTimeout(timer);
    clearTimeout(settling);
    list.classList.add("stale");
    timer = setTimeout(() => { timer = 0; ask(true); }, DEBOUNCE_MS);
  }
  /* A question that stands is kept in the history, and counted. */
  function settle() {
    clearTimeout(settling);
    kept = true;
    if (field.value.trim() && typed) send(asked(), false).catch(() => {});
    typed = false;
  }
  function choose(name, value, on, only = false) {
    state((now) => {
      const others = only ? [] : now.getAll(name).filter((each) => each !== value);
      now.delete(name);
      for (const each of on ? [...others, value] : others) now.append(name, each);
    }, {keep: true});
    agree(side, asked());
    ask(false);
  }

  async function ask(typing) {
    clearTimeout(settling);
    if (under === AT_ONCE) return void (next = typing);
    const number = ++newest;
    under++;
    list.classList.add("stale");
    await answer(typing, number).catch((error) => error.name !== "AbortError" && number > drawn && fill(notes, problem(error)));
    under--;
    if (signal.aborted) return;
    if (next !== null) {
      const waiting = next;
      next = null;
      return ask(waiting);
    }
    // What was typed since has no answer yet.
    if (number < newest || timer) return;
    list.classList.remove("stale");
    typed = typing;
    if (typing) settling = setTimeout(settle, SETTLED_MS);
  }
  const send = (now, typing) => post(now.get("in") === "everything" ? "everything" : "search", {...body(now), top_k: PAGE, typing}, signal);
  async function answer(typing, number) {
    const now = asked(), began = performance.now(), reply = now.get("q")?.trim() && await send(now, typing);
    if (number < drawn) return;
    drawn = number;
    if (reply) draw(reply, now, performance.now() - began);
    else blank();
  }
  function blank() {
    fill(list), fill(told), fill(rest);
    fill(notes, h("div", {class: "empty"}, h("h2", null, "Find the passage"), h("p", null, "Words, a question, a \"phrase\", -without, prefix*, kind:pdf"), h("p", null, "Press ", h("kbd", null, "?"), " for the keys.")));
  }
  function draw(reply, now, took) {
    const {results, diagnostics} = reply, all = now.get("in") === "everything";
    fill(notes, [...diagnostics.notes, ...diagnostics.degraded].map(note));
    fill(list, results.map((each) => hit(each, now)));
    const about = results.length ? `${results.length === PAGE && !all ? "The first " : ""}${some(results.length, "result")}` : "No results";
    fill(told, `${about} in ${Math.round(took)} ms · ${diagnostics.effective_mode}${diagnostics.fusion ? ` · ${diagnostics.fusion}` : ""}`);
    clearTimeout(hearing);
    hearing = setTimeout(() => say(about), HEARD_MS);
    fill(rest, results.length === PAGE && !all && more(now, PAGE), whyNot(asked));
  }
  function more(now, offset) {
    const button = act("More", async () => {
      const {results} = await post("search", {...body(now), top_k: PAGE, offset, typing: true}, signal), made = results.map((each) => hit(each, now));
      list.append(...made);
      button.replaceWith(results.length === PAGE && offset + PAGE < MOST ? more(now, offset + PAGE) : "");
      made[0]?.querySelector("a").focus();
      say(`${some(results.length, "result")} more`);
    });
    return button;
  }

  const side = h("aside", {"aria-label": "Filters"});
  fill(place, h("h1", {class: "hidden"}, "Search"), h("form", {class: "ask", role: "search", onsubmit: (event) => { event.preventDefault(); clearTimeout(timer); timer = 0; kept = true; ask(false); }}, field, h("button", {class: "main"}, "Search")), chosen,
    h("div", {class: "found"}, side, h("div", {class: "stack"}, told, notes, list, rest)));
  fill(chosen, chips(given, choose));
  field.focus({preventScroll: true});
  signal.addEventListener("abort", () => { [timer, settling, hearing].forEach(clearTimeout); });
  list.addEventListener("click", (event) => event.target.closest("h2 a") && settle());
  await ask(true);
  fill(side, panel(given, choose, {me, signal}));
  return (event, typing) => keys(event, typing, field, list);
}

/** The values of an address by their names. */
export function grouped(given) {
  const values = {};
  for (const [name, value] of given) (values[name] ??= []).push(value);
  return values;
}

function keys(event, typing, field, list) {
  const links = [...list.querySelectorAll("h2 a")], item = document.activeElement?.closest(".hit");
  const place = links.indexOf(item?.querySelector("h2 a")), plain = !typing && event.key.length === 1;
  const to = (link) => { link?.focus(); link?.closest(".hit").scrollIntoView({block: "nearest"}); return Boolean(link); };
  if (event.key === "ArrowDown" && (event.target === field || item) || plain && event.key === "j") return to(links[Math.min(place + 1, links.length - 1)]);
  if (event.key === "ArrowUp" && item || plain && event.key === "k") return place > 0 ? to(links[place - 1]) : (field.focus(), true);
  if (event.key === "Escape" && item) return field.focus(), true;
  const button = plain && item && {e: ".why", "+": ".right", "-": ".wrong", c: ".cite-it"}[event.key];
  if (button) item.querySelector(button)?.click();
  return Boolean(button);
}

const titled = (hit) => hit.title || hit.path || hit.document;
const placed = (hit) => [hit.path || hit.document, hit.lines && `:${hit.lines[0]}`, hit.page && `, page ${hit.page}`].filter(Boolean).join("");

/* Lines that were broken to fit go on; the text stays as long as it was. */
const flowing = (text) => text.replace(/([^\n|]{40,})\n(?=[\p{L}(“"‘])/gu, "$1 ");

/** The passage of a hit; of prose, what stands between fences is code. */
function passage({kind, text, highlights, snippet_span: [first, last]}) {
  const pieces = CODE.has(kind) ? ["", "", text] : text.split(/(^ {0,3}(?:```|~~~).*\n?)/m), prose = flowing(text), all = [...text].length;
  // It may begin within code: then the first fence, which names no language, ends that.
  const shift = pieces.length % 4 === 3 && pieces[1].trim().length === 3 ? 2 : 0;
  let place = 0;
  return h("p", {class: "passage", dir: "auto"}, pieces.map((piece, number) => {
    const from = Math.max(place, first), to = Math.min(place += [...piece].length, last), code = (number + shift) % 4;
    if (number % 2 || from >= to) return "";
    const said = [from && from === first && "… ", marked(code ? text : prose, highlights, [from, to]), to === last && to < all && " …"];
    return code ? h("code", {class: "code"}, said) : said;
  }));
}

/** How a passage is cited. */
export const citation = (hit) => `${titled(hit)}${hit.heading_path ? `, ${hit.heading_path}` : ""} (${hit.collection ? `${hit.collection}/` : ""}${placed(hit)})`;

function hit(found, given) {
  const query = given.get("q"), why = h("div");
  const talk = found.kind === "message" && found.path.slice(0, -found.document.length - 1);
  const to = talk ? address({view: "talks", id: talk, message: found.document}) : address({...grouped(given), doc: found.document, chunk: found.id});
  const tell = (kind, grade) => post("feedback", {kind, query, document: found.id, grade}).catch((error) => say(error.message, true));
  const thumb = (name, label, grade) => h("button", {type: "button", class: `plain ${name}`, "aria-pressed": "false", "aria-label": label, onclick: (event) => {
    for (const each of thumbs) each.setAttribute("aria-pressed", each === event.currentTarget);
    tell("judgement", grade);
    if (!grade) tell("not_relevant");
    say(`Noted: ${label.toLowerCase()}`, true);
  }}, icon(THUMB, !grade));
  const thumbs = [thumb("right", "Right", 1), thumb("wrong", "Not right", 0)];
  return h("li", {class: "hit"},
    h("div", {class: "row"}, h("h2", {dir: "auto"}, h("a", {href: to, onclick: () => tell("click")}, titled(found))),
      found.quality && h("span", {class: `level ${found.quality} push`, title: "Probability that it answers"}, `${found.quality} ${share(found.relevance)}`)),
    h("p", {class: "where"}, h("b", null, found.collection), ` · ${placed(found)}`, found.heading_path && found.heading_path !== found.title && ` · ${found.heading_path}`, found.created_at && ` · ${day(found.created_at)}`),
    passage(found),
    h("div", {class: "acts"}, unfolds("Why here?", why, () => explain(found, given, [...why.closest("ol").children].indexOf(why.parentNode))),
      act("Cite", () => copy(citation(found)), "plain cite-it"), h("span", {class: "push"}), thumbs), why);
}

async function explain(found, given, place) {
  const all = given.get("in") === "everything", page = all ? {} : {offset: place - place % PAGE};
  const {results} = await post(all ? "everything" : "search", {...body(given), top_k: PAGE, explain: true, typing: true, ...page});
  const own = results.find((each) => each.id === found.id);
  return own ? bars(own.why, best(results.map((each) => each.why))) : note("It is not among the results any more: search again.");
}
