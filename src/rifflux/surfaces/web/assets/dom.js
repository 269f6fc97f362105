// Making elements. Texts only ever become text nodes: nothing here reads markup.

const live = document.getElementById("live");

/** Make an element. Values named on… are listeners, --… custom properties, others attributes; null is left out. */
export function h(name, given, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(given ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key.startsWith("--")) made.style.setProperty(key, value);
    else if (key === "value" || key === "checked") made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  fill(made, ...inside);
  return made;
}

const DRAWN = "http://www.w3.org/2000/svg";

/** Make an element of a drawing. */
export function drawn(name, given, ...inside) {
  const made = document.createElementNS(DRAWN, name);
  for (const [key, value] of Object.entries(given)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

/** A small picture that says nothing by itself. */
export const icon = (path, turned = false) => drawn("svg", {viewBox: "0 0 24 24", class: turned ? "icon turned" : "icon", "aria-hidden": "true"}, drawn("path", {d: path}));

/** Put texts and elements into an element, instead of what it has. */
export function fill(element, ...inside) {
  element.replaceChildren(...inside.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false && each !== ""));
  return element;
}

/** Say something to whoever hears the page, and with `shown` to whoever sees it. */
export function say(text, shown = false) {
  live.textContent = text;
  live.classList.toggle("shown", shown);
  live.classList.toggle("hidden", !shown);
  if (shown) setTimeout(() => live.textContent === text && (live.className = "hidden"), 4000);
}

/** What a text has from one character to another, as the server counts them: by code points. */
function cutter(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (first, last) => text.slice(first, last);
  const all = Array.from(text);
  return (first, last) => all.slice(first, last).join("");
}

/** The pieces of a span of a text, marked where `marks` say. */
export function marked(text, marks, [first, last]) {
  const cut = cutter(text), pieces = [];
  for (const [left, right] of marks) {
    const from = Math.max(left, first), to = Math.min(right, last);
    if (from >= to) continue;
    pieces.push(cut(first, from), h("mark", null, cut(from, to)));
    first = to;
  }
  return [...pieces, cut(first, last)];
}

export const count = (number) => Math.round(number).toLocaleString("en");
/** A share in percent, rounded down: it is 100 % where nothing is missing. */
export const share = (part, whole = 1) => whole ? `${Math.floor(100 * part / whole + 1e-9)} %` : "–";
export const some = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
export const day = (time) => time ? time.slice(0, 10) : "";
export const where = (...facts) => h("p", {class: "where"}, facts.filter(Boolean).join(" · "));
export const soft = (...inside) => h("p", {class: "soft"}, inside);
export const note = (notice) => h("p", {class: "note"}, notice.text ?? notice);
export const problem = (error) => h("p", {class: "problem", role: "alert"}, error.message);
export const field = (label, input) => h("label", null, label, input);
export const input = (name, label, given) => field(label, h("input", {name, ...given}));
export const card = (title, ...inside) => h("section", {class: "card stack", "aria-label": title}, h("h2", null, title), inside);
export const tile = (name, value, kind) => h("div", {class: "card tile"}, h("b", {class: kind}, value), h("span", {class: "soft"}, name));
export const choice = (given, options) => h("select", given, options.map(([value, name]) => h("option", {value, selected: value === given.value}, name)));

/** A table in a frame of its own that scrolls where it is too wide. */
export function table(caption, heads, rows) {
  const lines = rows.map((row) => h("tr", null, row.map((cell, place) => h("td", {class: heads[place][1]}, cell))));
  if (!rows.length) lines.push(h("tr", null, h("td", {class: "soft", colspan: heads.length}, "nothing yet")));
  return h("div", {class: "wide", tabindex: "0", role: "group", "aria-label": caption},
    h("table", null, h("caption", {class: "hidden"}, caption),
      h("thead", null, h("tr", null, heads.map(([name, kind]) => h("th", {class: kind, scope: "col"}, name || h("span", {class: "hidden"}, "actions"))))),
      h("tbody", null, lines)));
}

/** A button that does something once at a time, and says so where that fails. */
export function act(name, work, kind = "") {
  const button = h("button", {type: "button", class: kind, onclick: async () => {
    button.disabled = true;
    try { await work(); } catch (error) { say(error.message, true); } finally { button.disabled = false; }
  }}, name);
  return button;
}

/** Fill a place with a paged list: `read` takes the start of a page and returns its rows and the next start. */
export async function paged(place, read, none, after = "") {
  const {rows, next} = await read(after);
  const more = next && act("More", async () => { await paged(place, read, none, next); more.remove(); });
  place.append(rows.length || after ? h("ol", {class: "hits"}, rows) : h("p", {class: "soft"}, none), more || "");
}

/** A form whose values go to `work` as an object; what goes wrong is said above its button. */
export function form(given, inside, name, work) {
  const told = h("div"), button = h("button", {class: "main"}, name);
  return h("form", {class: "form", ...given, onsubmit: async (event) => {
    event.preventDefault();
    const made = event.currentTarget;
    button.disabled = true;
    fill(told);
    try { await work(Object.fromEntries(new FormData(made)), made); } catch (error) { fill(told, problem(error)); } finally { button.disabled = false; }
  }}, inside, button, told);
}

/** A window above the page, which Escape or a button closes. */
export function dialog(title, ...inside) {
  const box = h("dialog", {"aria-labelledby": "asks", onclose: () => box.remove()},
    h("form", {method: "dialog", class: "row"}, h("h2", {id: "asks"}, title), h("button", {class: "plain push", "aria-label": "Close"}, "×")), inside);
  document.body.append(box);
  box.showModal();
  return box;
}

/** Have the browser save a text as a file. */
export function save(name, text, media) {
  const address = URL.createObjectURL(new Blob([text], {type: media}));
  h("a", {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** Put a text into the clipboard; where pages may not, show it. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("copied", true);
  } catch { say(text, true); }
}
