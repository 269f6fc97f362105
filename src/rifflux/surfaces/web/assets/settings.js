// Tokens and settings: one's own, and for administrators everybody's, with groups and who decided what.

import {at, bring, get, post, put, remove} from "./api.js";
import {act, card, choice, copy, field, fill, form, h, input, note, say, table} from "./dom.js";
import {sure} from "./library.js";

export async function show(place, given, {me, signal}) {
  const rules = me.role === "admin", parts = [tokens(me, rules, signal), decisions(rules, signal)];
  if (rules) parts.push(groups(signal), log(signal));
  fill(place, h("h1", null, "Settings"), await Promise.all(parts));
}

const when = (time) => time ? new Date(time).toLocaleString("en", {dateStyle: "medium", timeStyle: "short"}) : "–";
const heads = (...names) => names.map((name) => [name]);

async function tokens(me, rules, signal) {
  const list = h("div"), made = h("div");
  const draw = async () => {
    const told = await get("tokens?limit=1000", signal);
    const state = (each) => each.revoked_at ? "revoked" : each.expires_at && new Date(each.expires_at) < new Date() ? "expired" : sure("Revoke", async () => { await remove(at`tokens/${each.id}`); await draw(); }, "plain danger");
    fill(list, table("Tokens", heads("id", "user", "role", "for", "used", "ends", ""), told.tokens.map((each) => [h("code", null, each.id), each.user, each.role, each.label, when(each.used_at), when(each.expires_at), state(each)])));
  };
  await draw();
  return card("Tokens", list,
    form(null, [
      rules && input("user", "Whose", {value: me.user, required: true}),
      rules && field("Role", choice({name: "role", value: "user"}, [["user", "user"], ["admin", "admin"]])),
      input("label", "What it is for", {placeholder: "laptop"}), input("until", "Until", {type: "date"})], "Make a token",
    async ({until, ...given}) => {
      const {token} = await post("tokens", {...given, expires_at: until ? `${until}T00:00:00Z` : null});
      fill(made, h("p", {class: "note", role: "status"}, "It is shown this once: ", h("code", null, token), " ", act("Copy", () => copy(token), "plain")));
      await draw();
    }), made);
}

async function decisions(rules, signal) {
  const told = await get("admin/settings", signal);
  const keep = (path, name) => async (event) => {
    const value = event.target.type === "checkbox" ? event.target.checked : event.target.value;
    await put(path, {[name]: value}).then(() => say("kept", true), (error) => say(error.message, true));
  };
  const box = (path, name, text, may) => h("label", {class: "check"}, h("input", {type: "checkbox", checked: told[name], disabled: !may, onchange: keep(path, name)}), h("b", null, text));
  const written = Object.entries(told.licenses).map((each) => each.join(" = ")).join("\n");
  return card("What is shown",
    box("admin/settings/own", "own_texts", "Show me the texts of my own works that no license opens", true),
    box("admin/settings", "hybrid_search", "Search conversations by meaning, too", rules),
    h("p", null, act("Make vectors for my messages", () => embed("conversations/vectors"), "plain"), rules && " ", rules && act("Make vectors for everybody's messages", () => embed("admin/messages/vectors"), "plain")),
    rules && field("Author, year and venue of works without a license are told to", choice({name: "facts", value: told.facts, onchange: keep("admin/settings", "facts")}, ["owner", "everyone", "nobody"].map((name) => [name, name]))),
    rules && form(null, field("Licenses that let more be shown, one a line: NAME = text, abstract or nothing", h("textarea", {name: "licenses", rows: 3, value: written})), "Keep", async ({licenses}) => {
      const lines = licenses.split("\n").filter((line) => line.trim()).map((line) => line.split("=").map((part) => part.trim()));
      await put("admin/settings", {licenses: Object.fromEntries(lines)});
      say("kept", true);
    }));
}

async function embed(path) {
  const told = await bring("POST", path, {}, (job) => say(`${job.done} of ${job.total ?? "?"}`, true));
  say([`${told.embedded} vectors made, ${told.waiting} still to come`, ...told.degraded.map((each) => each.text)].join("; "), true);
}

async function groups(signal) {
  const list = h("div");
  const draw = async () => {
    const told = await get("groups?limit=1000", signal);
    fill(list, table("Groups", heads("group", "members", ""), told.groups.map((each) => [each.name, each.members.join(", "), sure("Delete", async () => { await remove(at`groups/${each.name}`); await draw(); }, "plain danger")])));
  };
  await draw();
  return card("Groups", list,
    form(null, [input("name", "Name", {required: true}), input("members", "Members, separated by commas", {required: true})], "Keep", async ({name, members}, made) => {
      await put(at`groups/${name}`, {members: members.split(",").map((each) => each.trim()).filter(Boolean)});
      made.reset();
      await draw();
    }));
}

async function log(signal) {
  const {entries} = await get("log?limit=50", signal);
  return card("Who decided what", entries.length === 50 && note("The newest 50."),
    table("Decisions", heads("when", "by", "what", "of", "whose", "with"), entries.map((each) => [when(each.done_at), each.user || "command line", each.action, each.target, each.owner, [each.who, each.detail].filter(Boolean).join(" · ")])));
}
