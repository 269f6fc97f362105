// The page: who is signed in, which view the address asks for, and the keys that work everywhere.

import {get, post, root} from "./api.js";
import {dialog, fill, h, note, problem} from "./dom.js";
import * as chat from "./chat.js";
import * as dashboard from "./dashboard.js";
import * as library from "./library.js";
import * as memories from "./memories.js";
import * as reader from "./reader.js";
import * as search from "./search.js";
import * as settings from "./settings.js";
import * as status from "./status.js";
import * as talks from "./talks.js";
import * as works from "./works.js";

const main = document.getElementById("main"), names = document.getElementById("views"), who = document.getElementById("who");
/** What shows a view, by its name; the links to them are in the page. */
const VIEWS = {"": search, chat, works, talks, memories, library, status, settings, dashboard};
const KEYS = [
  ["/", "search"], ["↓ ↑ or j k", "next and last result"], ["Enter", "open it"], ["e", "why it is here"], ["+ −", "right, not right"],
  ["c", "copy its citation"], ["Esc", "back"], ["?", "these keys"],
];
let shown = {}, leaving = null;

/** What the address says. */
export const asked = () => new URLSearchParams(location.search);

/** The address of some values; those that are empty are left out. */
export function address(values) {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    for (const each of [value].flat()) if (each !== "" && each !== null && each !== undefined && each !== false) given.append(name, each);
  return root + (given.size ? `?${given}` : "");
}

/** Go to an address of the page; with `quiet`, the view that is shown has done what it says already. */
export function go(to, {replace = false, quiet = false} = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", to);
  if (!quiet) show(true);
}

/** The form of a view that asks by its address. */
export function seeking(view, value, label, placeholder, name = "Search") {
  return h("form", {class: "ask", role: "search", onsubmit: (event) => {
    event.preventDefault();
    go(address({view, ...Object.fromEntries(new FormData(event.currentTarget))}));
  }}, h("input", {name: "q", type: "search", value, "aria-label": label, placeholder}), h("button", {class: "main"}, name));
}

/** A view of what belongs to a user, for whoever is one. */
export function personal(title, view) {
  return (place, given, about) => about.me.user ? view(place, given, about)
    : void fill(place, h("h1", null, title), note(`${title} belong to a user: sign in as one, or start the page with “rifflux browse --user NAME”.`));
}

async function show(anew, early = null) {
  const given = asked(), links = [...names.children], opened = Boolean(given.get("doc") || given.get("chunk"));
  const link = opened ? null : links.find((each) => each.dataset.name === given.get("view") && !each.hidden) ?? links[0];
  const view = opened ? reader : VIEWS[link.dataset.name], typing = early && early === document.activeElement;
  for (const each of links) each.toggleAttribute("aria-current", each === link);
  document.querySelector("nav [aria-current]")?.scrollIntoView({block: "nearest", inline: "nearest"});
  leaving?.abort();
  leaving = new AbortController();
  const signal = leaving.signal, place = h("div", {class: "stack"});
  document.title = `${link?.textContent ?? "Document"} · Rifflux`;
  shown.keys = null;
  fill(main, place);
  try {
    const showing = view.show(place, given, {me: shown.me, signal});
    if (early) takeOver(early, typing);
    shown.keys = await showing;
    if (anew && !signal.aborted && !place.contains(document.activeElement)) main.focus({preventScroll: true});
  } catch (error) {
    if (error.name === "AbortError") return;
    fill(place, problem(error));
  }
}

/* What was typed before the script ran goes on in the field of the view. */
function takeOver(early, typing) {
  const field = main.querySelector(".ask [name=q]");
  if (!field) return;
  const {value, selectionStart, selectionEnd} = early, changed = value !== early.defaultValue;
  if (changed) field.value = value;
  if (typing) field.focus(), field.setSelectionRange(selectionStart, selectionEnd);
  if (changed) field.dispatchEvent(new Event("input"));
}

function frame(me) {
  names.hidden = false;
  for (const link of names.children) link.hidden = link.dataset.name === "dashboard" && me.role !== "admin";
  fill(who, h("span", {class: "soft"}, me.user),
    h("button", {class: "plain", type: "button", "aria-label": "Keys", onclick: help}, "?"),
    me.token && h("form", {method: "post", action: `${root}session/end`, onsubmit: () => leaving?.abort()}, h("button", {class: "plain"}, "Sign out")));
}

const help = () => dialog("Keys", h("dl", null, KEYS.map(([key, does]) => [h("dt", null, h("kbd", null, key)), h("dd", null, does)])));

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const typing = event.target.matches("input:not([type=checkbox]), textarea, select");
  if (shown.keys?.(event, typing)) return event.preventDefault();
  if (typing) return;
  if (event.key === "?") help();
  else if (event.key === "/") {
    const field = document.querySelector(".ask input, .ask textarea");
    if (field) field.select(), field.focus();
    else go(root);
    event.preventDefault();
  }
}

function clicked(event) {
  const link = event.target.closest("a");
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || !link || link.download || link.origin !== location.origin) return;
  if (link.pathname !== root || link.hash) return;
  event.preventDefault();
  go(link.href);
  scrollTo(0, 0);
}

async function begin() {
  const pass = /^#pass=(.+)$/.exec(location.hash), entrance = document.getElementById("enter");
  if (pass) {
    history.replaceState(null, "", location.pathname + location.search);
    await post("session", {pass: pass[1]}).catch(() => { if (entrance) fill(entrance.querySelector("h1"), "This address was used"); });
  }
  try {
    // A link from elsewhere brings no cookie along; what the page itself asks then does.
    if (!(await get("session")).signed_in) return void entrance?.removeAttribute("hidden");
    shown.me = await get("me");
  } catch (error) { return void fill(main, problem(error)); }
  frame(shown.me);
  addEventListener("popstate", () => show(false));
  addEventListener("keydown", pressed);
  document.addEventListener("click", clicked);
  show(false, main.querySelector(".ask [name=q]"));
}

begin();
