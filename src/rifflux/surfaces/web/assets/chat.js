// Asking: an answer that comes a piece at a time, each sentence with its citations, and its sources beside it.

import {at, get, patch, post, remove, send as request, stream} from "./api.js";
import {act, choice, count, day, dialog, fill, form, h, input, note, problem, save, say, some, where} from "./dom.js";
import {sure} from "./library.js";
import {built, laid} from "./markup.js";
import {address, go} from "./page.js";

/** The chat that goes on: its id once it is recorded, and what was asked and answered in it. */
const talk = {id: "", title: "", turns: []};

export async function show(place, given, {signal}) {
  const said = h("div", {class: "stack"}), beside = h("aside", {class: "stack", "aria-label": "Sources"});
  const field = h("input", {name: "q", "aria-label": "Question", autocomplete: "off", dir: "auto", placeholder: "Ask what you own", required: true});
  const by = choice({value: "", "aria-label": "Answer"}, [["", "as well as it can"], ["extract", "quoted word for word"]]);
  const send = h("button", {class: "main"}, "Ask"), stop = h("button", {type: "button", hidden: true}, "Stop");
  const others = h("section", {class: "stack screen", "aria-label": "Chats"});
  const wanted = given.get("chat") ?? "", loading = wanted && wanted !== talk.id ? read(wanted, signal) : null;
  let under = null, listed = "", lists = 0;

  async function ask(question, extract = by.value === "extract") {
    if (under) return;
    under = new AbortController();
    // What is asked before a chat is there goes on from it.
    await loading;
    signal.addEventListener("abort", () => under?.abort());
    const messages = talk.id ? [] : talk.turns.filter((each) => each.text).slice(-10).flatMap((each) => [{role: "user", content: each.question}, {role: "assistant", content: each.text}]);
    const turn = {question, text: "", withdrawn: [], pack: null, answer: null, error: null};
    const view = drawn(turn, beside, () => { turn.quotes = true; under?.abort(); });
    said.append(view.said);
    send.disabled = !(stop.hidden = false);
    try {
      for await (const [name, told] of stream("chat", {question, messages, extract, chat: talk.id || "new"}, under.signal)) {
        if (name === "sources") {
          Object.assign(turn, {pack: told.pack, model: told.model, preview: told.quotations});
          if (turn.preview) laid([turn.preview]).then((layouts) => { turn.laidPreview = layouts; if (under && !turn.text) view.draw("sources"); }, () => {});
        }
        else if (name === "delta") turn.text += told.text;
        else if (name === "withdrawn") turn.withdrawn.push(told);
        else if (name === "done") Object.assign(turn, {answer: told, text: told.text, pack: told.pack});
        else if (name === "error") turn.error = new Error(told.detail);
        view.draw(name);
      }
      if (!turn.answer && !turn.error) turn.error = new Error("The answer broke off: ask again.");
    } catch (error) { turn.error = error.name === "AbortError" ? new Error("Stopped.") : error; }
    if (turn.quotes && !turn.answer) {
      under = null;
      view.said.remove();
      return ask(question, true);
    }
    // What cannot be laid out is shown as it came.
    if (turn.pack) turn.layouts = await laid([turn.text, ...turn.pack.items.map((each) => each.text)]).catch(() => null);
    if (turn.answer) talk.turns.push(turn);
    under = null;
    send.disabled = !(stop.hidden = true);
    view.draw("end");
    say(turn.error?.message ?? (turn.answer.refused ? "Not answered" : `Answered from ${some(turn.pack.items.length, "source")}`));
    if (!others.contains(document.activeElement)) field.focus();
    if (!turn.answer?.chat || signal.aborted) return;
    if (talk.id !== turn.answer.chat) {
      talk.id = turn.answer.chat;
      go(address({view: "chat", chat: talk.id}), {replace: true, quiet: true});
    }
    await list();
  }

  /* The chats that are recorded, the latest first, and what can be done with the one that is open. */
  async function list(limit = 10) {
    const mine = ++lists;
    const {chats, next} = await get(at`chats?limit=${limit}`, signal);
    const open = talk.id && await get(at`chats/${talk.id}`, signal);
    // A later list may have come before this one.
    if (mine !== lists) return;
    talk.title = open?.title;
    // What stands as it was is not drawn again under somebody's pointer.
    const now = JSON.stringify([chats, next, open]);
    if (now === listed) return;
    listed = now;
    fill(others, open && [h("h2", {dir: "auto"}, open.title), h("div", {class: "acts"},
      act("Rename", () => {
        const box = dialog("Name this chat", form(null, [input("title", "Title", {value: open.title, required: true, maxlength: 200})], "Rename", async (given) => { await patch(at`chats/${open.id}`, given); box.close(); await list(limit); }));
      }, "plain"),
      act("Export", async () => save("chat.md", await (await request("GET", at`chats/${open.id}/markdown`)).text(), "text/markdown"), "plain"),
      sure("Delete", async () => { await remove(at`chats/${open.id}`); anew(); say("deleted", true); }, "plain danger push"))],
    chats.length > 0 && h("h2", null, "Chats"), h("ul", {class: "plain"}, chats.map((each) => h("li", null,
      h("a", {href: address({view: "chat", chat: each.id}), dir: "auto", "aria-current": each.id === talk.id && "page"}, each.title), h("span", {class: "soft"}, ` · ${day(each.updated_at)} · ${some(each.count, "answer")}`)))),
    next && act("More", () => list(limit + 40)));
  }

  const anew = () => { begin(); go(address({view: "chat"})); };

  fill(place, h("h1", null, "Ask"), h("div", {class: "beside"}, h("div", {class: "stack"}, said,
    h("form", {class: "ask", onsubmit: (event) => {
      event.preventDefault();
      const question = field.value.trim();
      if (question && !under) field.value = "", ask(question);
    }}, field, send, stop), h("div", {class: "row soft screen"}, "Answer", by, h("span", {class: "push"}), act("Begin anew", anew, "plain")), others), beside));
  stop.addEventListener("click", () => under?.abort());
  await loading;
  if (!wanted && talk.id) go(address({view: "chat", chat: talk.id, q: given.get("q")}), {replace: true, quiet: true});
  for (const turn of talk.turns) { const view = drawn(turn, beside); said.append(view.said); view.draw("end"); }
  field.focus({preventScroll: true});
  list().catch((error) => error.name === "AbortError" || fill(others, problem(error)));
  if (given.get("q") && !talk.turns.some((each) => each.question === given.get("q"))) await ask(given.get("q"));
  return (event, typing) => typing && event.key === "Escape" && under ? (under.abort(), true) : false;
}

/* Nothing was asked yet. */
const begin = () => Object.assign(talk, {id: "", title: "", turns: []});

/* Read a chat that was recorded. */
async function read(id, signal) {
  begin();
  const chat = await get(at`chats/${id}`, signal);
  const turns = await Promise.all(chat.answers.map(async (each) => {
    const answer = {...each, refused: !each.text, citations: each.sources, notes: [], degraded: [], withdrawn: [], tokens: 0};
    return {question: each.question, text: each.text, withdrawn: [], pack: {items: each.sources}, answer, error: null, layouts: await laid([each.text]).catch(() => null)};
  }));
  Object.assign(talk, {id, title: chat.title, turns});
}

/* One question and its answer, drawn again as more of it comes. */
function drawn(turn, beside, quote) {
  const answer = h("div", {class: "said laid", dir: "auto"}, "…"), foot = h("div", {class: "stack"});
  const sources = () => fill(beside, h("h2", null, turn.answer?.refused ? "The nearest passages" : "Sources"), turn.pack.items.length ? turn.pack.items.map((item, place) => source(item, turn, turn.layouts?.[place + 1])) : h("p", {class: "soft"}, "None."));
  const point = (number) => {
    sources();
    const found = beside.querySelector(`[data-number="${number}"]`);
    found.classList.add("cited");
    found.scrollIntoView({block: "nearest"});
    found.focus({preventScroll: true});
  };
  const draw = (name) => {
    if (name === "sources") sources();
    if (turn.text || turn.withdrawn.length) fill(answer, pieces(turn, point));
    else if (turn.model && !turn.answer) fill(answer, turn.preview && pieces({...turn, text: turn.preview, layouts: turn.laidPreview}, point),
      name !== "end" && h("p", {class: "soft", role: "status"}, `Waiting for ${turn.model}… `, turn.preview && act("Use these quotes", quote, "plain")));
    if (name !== "end") return;
    if (turn.pack) sources();
    const told = turn.answer;
    if (told?.refused) fill(answer, h("b", null, "Not answered. "), told.reason);
    if (turn.error) answer.textContent === "…" && answer.remove();
    fill(foot, turn.error && problem(turn.error), told && [...told.notes, ...told.degraded].map(note),
      told && h("div", {class: "row soft"}, told.refused ? "" : told.by === "extract" ? "Quoted word for word" : `By ${told.by}; every sentence stands in its source`,
        told.withdrawn.length > 0 && `· ${some(told.withdrawn.length, "sentence")} withdrawn`, told.tokens > 0 && `· ${count(told.tokens)} tokens`, told.searched !== told.question && `· searched for “${told.searched}”`),
      told && h("div", {class: "acts"}, told.pack && act("Save evidence", () => save("evidence.json", JSON.stringify(told.pack, null, 1), "application/json"), "plain"),
        told.pack && act("Verify", async () => { const {sound, items, problems} = await post("verify", {evidence_pack: told.pack}); say(sound ? `${some(items, "passage")} checked: each is as it is indexed` : problems.join("; "), true); }, "plain"),
        h("a", {class: "button plain", href: address({q: turn.question})}, "Search instead")));
  };
  return {said: h("article", {class: "stack"}, h("div", {class: "said user", dir: "auto"}, turn.question), answer, foot), draw};
}

/* The text with its marks as buttons, and what was withdrawn struck out where it would have stood. */
function pieces(turn, point) {
  const known = new Set(turn.pack?.items.map((item) => item.number)), cuts = [...turn.withdrawn].sort((one, other) => one.at - other.at);
  const answering = (turn.answer?.sentences ?? []).flatMap((each) => each.answering ? [each.answering] : []);
  const struck = (end) => cuts.splice(0, cuts.filter((each) => each.at < end).length);
  const words = (text, start, end, kind) => {
    const all = Array.from(text), made = [], plain = (from, to) => kind === "code" ? all.slice(from, to).join("") : marks(all.slice(from, to).join(""), known, point);
    // The sentence of a quoted block that answers is marked.
    const cited = (from, to = all.length) => {
      const parts = [];
      for (const [first, last] of answering) {
        const [low, high] = [Math.max(first - start, from), Math.min(last - start, to)];
        if (low < high) {
          parts.push(plain(from, low), h("mark", null, plain(low, high)));
          from = high;
        }
      }
      return [...parts, plain(from, to)];
    };
    let place = 0;
    for (const each of struck(end)) {
      const to = Math.min(Math.max(place, each.at - start), all.length);
      made.push(cited(place, to), h("s", {title: each.reason}, each.text), " ");
      place = to;
    }
    return [...made, cited(place)];
  };
  const made = turn.layouts ? built(turn.layouts[0], words) : words(turn.text, 0, turn.text.length);
  return [made, struck(Infinity).map((each) => h("s", {title: each.reason}, each.text))];
}

const marks = (text, known, point) => text.split(/\[(\d{1,3})\]/).map((piece, place) => place % 2 === 0 ? piece
  : known.has(Number(piece)) ? h("button", {type: "button", class: "cite", "aria-label": `Source ${piece}`, onclick: () => point(piece)}, piece) : `[${piece}]`);

function source(item, turn, layout) {
  const used = turn.answer?.citations.some((each) => each.number === item.number);
  return h("section", {class: used ? "hit cited" : "hit", "data-number": item.number, tabindex: "-1", "aria-label": `Source ${item.number}`},
    h("h3", {dir: "auto"}, `[${item.number}] `, h("a", {href: address({doc: item.document, chunk: item.chunk_id, q: turn.question})}, item.title || item.document)),
    where(item.collection, item.heading_path), h("div", {class: "passage laid", dir: "auto"}, layout ? built(layout) : item.text));
}
