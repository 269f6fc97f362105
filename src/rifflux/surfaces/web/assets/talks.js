// Conversations: listed, searched, and read at the message that was found.

import {at, get, post} from "./api.js";
import {act, day, fill, form, h, note, paged, some, where} from "./dom.js";
import {built, laid} from "./markup.js";
import {address, personal, seeking} from "./page.js";

export const show = personal("Conversations", async (place, given, {signal}) => {
  if (given.get("id")) return read(place, given, signal);
  const query = given.get("q") ?? "", list = h("div", {class: "stack"});
  fill(place, h("h1", null, "Conversations"), seeking("talks", query, "Search messages", "What was said?"), list);
  if (query.trim()) await search(list, query, signal);
  else await all(list, signal);
});

const opened = (id, message) => address({view: "talks", id, message});

async function search(list, query, signal) {
  const told = await post("conversations/search", {query, top_k: 40, grouped: true}, signal);
  fill(list, [...told.diagnostics.notes, ...told.diagnostics.degraded].map(note),
    h("p", {class: "soft", role: "status"}, told.groups.length ? some(told.groups.length, "conversation") : "No results"),
    h("ol", {class: "hits"}, told.groups.map((group) => h("li", {class: "hit"},
      h("h2", {dir: "auto"}, h("a", {href: opened(group.conversation_id, group.results[0].message.id)}, group.title || group.conversation_id)),
      group.results.slice(0, 4).map(({message}) => h("p", {class: "passage", dir: "auto"}, h("a", {href: opened(group.conversation_id, message.id)}, message.speaker || message.role), ` ${day(message.created_at)} · `, message.text.slice(0, 400)))))));
}

const all = (list, signal) => paged(list, async (after) => {
  const {conversations, next} = await get(at`conversations?limit=50&after=${after}`, signal);
  return {next, rows: conversations.map((each) => h("li", {class: "hit"}, h("h2", {dir: "auto"}, h("a", {href: opened(each.id)}, each.title || each.id)),
    where(some(each.messages, "message"), day(each.created_at), each.project, each.archived && "archived")))};
}, "None yet: bring an export in the library, or write them by the API.");

async function read(place, given, signal) {
  const id = given.get("id"), wanted = given.get("message"), talk = h("div", {class: "stack"});
  const about = await get(at`conversations/${id}`, signal);
  fill(place, h("p", null, h("a", {href: address({view: "talks"})}, "← Conversations")), h("h1", {dir: "auto"}, about.title || about.id),
    where(some(about.messages, "message"), day(about.created_at), about.project), talk,
    form({class: "ask"}, h("input", {name: "text", required: true, "aria-label": "A message", placeholder: "Add a message"}), "Add", async (given, made) => {
      talk.append(...await messages([await post(at`conversations/${id}/messages`, given)]));
      made.reset();
    }));
  const on = async (after) => {
    const told = await get(at`conversations/${id}/messages?limit=100&after=${after}`, signal);
    talk.append(...await messages(told.messages, wanted));
    if (told.next && wanted && !talk.querySelector(".here")) return on(told.next);
    const more = told.next && act("More", async () => { more.remove(); await on(told.next); });
    if (more) talk.after(more);
  };
  await on("");
  talk.querySelector(".here")?.scrollIntoView({block: "center"});
}

/* Messages as elements; where they cannot be laid out, being too long together, their texts as they are. */
async function messages(some, wanted) {
  const layouts = await laid(some.map((each) => each.text)).catch(() => []);
  return some.map((each, place) => h("article", {class: `said ${each.role === "user" ? "user" : ""} ${each.id === wanted ? "here" : ""}`},
    where(each.speaker || each.role, day(each.created_at)), h("div", {class: "laid", dir: "auto"}, layouts[place] ? built(layouts[place]) : each.text)));
}
