// Conversations: listed, searched, and read at the message that was found.

import {at, get, post} from "./api.js";
import {act, day, fill, form, h, note, some} from "./dom.js";
import {address, go} from "./page.js";

export async function show(place, given, {me, signal}) {
  if (!me.user) return void fill(place, h("h1", null, "Conversations"), note("Conversations belong to a user: sign in as one, or start the page with “rifflux browse --user NAME”."));
  if (given.get("id")) return read(place, given, signal);
  const query = given.get("q") ?? "", list = h("div", {class: "stack"});
  fill(place, h("h1", null, "Conversations"),
    h("form", {class: "ask", role: "search", onsubmit: (event) => {
      event.preventDefault();
      go(address({view: "talks", q: new FormData(event.currentTarget).get("q")}));
    }}, h("input", {name: "q", type: "search", value: query, "aria-label": "Search messages", placeholder: "What was said?"}), h("button", {class: "main"}, "Search")), list);
  if (query.trim()) await search(list, query, signal);
  else await all(list, signal);
}

const opened = (id, message) => address({view: "talks", id, message});

async function search(list, query, signal) {
  const told = await post("conversations/search", {query, limit: 40, grouped: true}, signal);
  fill(list, [...told.diagnostics.notes, ...told.diagnostics.degraded].map(note),
    h("p", {class: "soft", role: "status"}, told.groups.length ? some(told.groups.length, "conversation") : "No results"),
    h("ol", {class: "hits"}, told.groups.map((group) => h("li", {class: "hit"},
      h("h2", null, h("a", {href: opened(group.conversation_id, group.results[0].message.id)}, group.title || group.conversation_id)),
      group.results.slice(0, 4).map(({message}) => h("p", {class: "passage"}, h("a", {href: opened(group.conversation_id, message.id)}, message.speaker || message.role), ` ${day(message.created_at)} · `, message.text.slice(0, 400)))))));
}

async function all(list, signal, after = "") {
  const told = await get(at`conversations?limit=50&after=${after}`, signal);
  const rows = told.conversations.map((each) => h("li", {class: "hit"}, h("h2", null, h("a", {href: opened(each.id)}, each.title || each.id)),
    h("p", {class: "where"}, [some(each.messages, "message"), day(each.created_at), each.project, each.archived && "archived"].filter(Boolean).join(" · "))));
  const more = told.next && act("More", async () => { more.remove(); await all(list, signal, told.next); });
  if (!after && !rows.length) fill(list, h("p", {class: "soft"}, "None yet: bring an export in the library, or write them by the API."));
  else list.append(h("ol", {class: "hits"}, rows), more || "");
}

async function read(place, given, signal) {
  const id = given.get("id"), wanted = given.get("message"), talk = h("div", {class: "talk"});
  const about = await get(at`conversations/${id}`, signal);
  fill(place, h("p", null, h("a", {href: address({view: "talks"})}, "← Conversations")), h("h1", null, about.title || about.id),
    h("p", {class: "where"}, [some(about.messages, "message"), day(about.created_at), about.project].filter(Boolean).join(" · ")), talk,
    form({class: "ask"}, h("input", {name: "text", required: true, "aria-label": "A message", placeholder: "Add a message"}), "Add", async (given, made) => {
      talk.append(said(await post(at`conversations/${id}/messages`, given)));
      made.reset();
    }));
  const on = async (after) => {
    const told = await get(at`conversations/${id}/messages?limit=500&after=${after}`, signal);
    talk.append(...told.messages.map((message) => said(message, message.id === wanted)));
    if (told.next && wanted && !talk.querySelector(".here")) return on(told.next);
    const more = told.next && act("More", async () => { more.remove(); await on(told.next); });
    if (more) talk.after(more);
  };
  await on("");
  talk.querySelector(".here")?.scrollIntoView({block: "center"});
}

const said = (message, here = false) => h("article", {class: `said ${message.role === "user" ? "user" : ""} ${here ? "here" : ""}`},
  h("p", {class: "where"}, [message.speaker || message.role, day(message.created_at)].filter(Boolean).join(" · ")), message.text);
