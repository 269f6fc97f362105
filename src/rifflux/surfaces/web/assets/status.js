// What is indexed, how far it is up to date, and what calls of models cost.

import {get} from "./api.js";
import {card, count, day, fill, h, note, share, soft, some, table, tile} from "./dom.js";

export async function show(place, given, {me, signal}) {
  const [told, usage, {collections}] = await Promise.all([get("status", signal), get("usage?by=day,model", signal), get("collections?limit=1000", signal)]);
  const fresh = told.freshness;
  fill(place, h("h1", null, "Status"), told.degraded.filter((each) => each.code !== "index.stale").map(note),
    h("div", {class: "tiles"}, tile("documents", count(told.documents)), tile("passages", count(told.chunks)), tile("found by meaning", share(told.embedded_chunks, told.chunks)), tile("files", count(told.files)), tile("conversations", count(told.conversations)), tile("messages", count(told.messages)), tile("memories", count(told.memories))),
    card("Freshness",
      h("p", null, fresh?.note ?? (told.files ? "The index is as new as its files, as far as was looked." : "Nothing here was read from folders.")),
      fresh?.synced_at && soft(`Folders were last read ${new Date(fresh.synced_at).toLocaleString("en")}.`),
      soft(`Model ${told.embedding_model} · language ${told.language} · version ${me.version}`),
      told.roots.length > 0 && h("ul", null, told.roots.map((root) => h("li", null, h("code", null, root))))),
    card("Collections",
      table("Collections", [["name"], ["documents", "number"], ["passages", "number"]], collections.map((each) => [each.name, count(each.documents), count(each.chunks)]))),
    told.unreadable_files.length > 0 && card(`${some(told.unreadable_files.length, "file")} could not be read`,
      table("Unreadable files", [["file"], ["reason"]], told.unreadable_files.map((each) => [each.path, each.reason]))),
    card("Calls of models",
      usage.budget_left !== null && h("p", null, `Left of this month's budget: ${usage.budget_left.toFixed(2)}`),
      table("Calls of models", [["day"], ["model"], ["calls", "number"], ["tokens", "number"], ["cost", "number"]], usage.rows.map((row) => [day(row.day), row.model, count(row.calls), count(row.tokens), row.cost.toFixed(4)]))));
}
