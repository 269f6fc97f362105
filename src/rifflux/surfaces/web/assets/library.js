// What one has and reads: collections, who reads them, their documents, and putting files into them.

import {at, bring, get, patch, post, put, remove} from "./api.js";
import {act, card, choice, dialog, field, fill, form, h, input, paged, say, soft, some} from "./dom.js";
import {address} from "./page.js";
import {unfolds} from "./why.js";

/** What is sent where, with the fields that are asked for. */
const SORTS = [
  ["documents", "a document of any kind", ["collection", "language", "license"]],
  ["conversations/import", "an export of conversations", []],
  ["works/import", "a list of works", ["license"]],
];
const asked = (sort) => SORTS.find(([name]) => name === sort)[2];

export async function show(place, given, {signal}) {
  const list = h("div", {class: "stack"}), into = h("select", {name: "collection"});
  const again = async () => {
    const {collections} = await get("collections?limit=1000", signal);
    fill(list, collections.map((each) => collection(each, again)));
    fill(into, collections.filter((each) => each.writable).map((each) => h("option", {value: each.name}, each.name)));
  };
  await again();
  fill(place, h("h1", null, "Library"), list, upload(into, again),
    card("A new collection",
      form(null, [input("name", "Name", {required: true, maxlength: 100}), input("description", "What it holds", {maxlength: 2000})], "Make it",
        async (given, made) => { await post("collections", given); made.reset(); await again(); say(`made ${given.name}`, true); })));
}

function collection(each, again) {
  const sharing = h("div"), documents = h("div");
  return h("section", {class: "card stack", "aria-label": each.name},
    h("div", {class: "row"}, h("h2", null, each.name), h("span", {class: "soft"}, `${some(each.documents, "document")}, ${some(each.chunks, "passage")}`),
      !each.owned && h("span", {class: "level"}, each.writable ? "yours to write" : "yours to read")),
    each.description && h("p", null, each.description),
    each.roots.length > 0 && h("p", {class: "where"}, each.roots.join(" · ")),
    h("div", {class: "acts"}, unfolds("Documents", documents, () => listed(each)), each.owned && unfolds("Sharing", sharing, () => shared(each)),
      each.owned && changing(each, again)), documents, sharing);
}

function changing(each, again) {
  return act("Rename, describe, delete", () => {
    const box = dialog(each.name,
      form(null, [input("name", "Name", {value: each.name.split("/").at(-1), required: true}), field("What it holds", h("textarea", {name: "description", rows: 3, value: each.description}))], "Keep",
        async (given) => { await patch(at`collections/${each.name}`, given); box.close(); await again(); }),
      each.name !== "library" && sure("Delete it with all that it holds", async () => { const gone = await remove(at`collections/${each.name}`); box.close(); await again(); say(`${some(gone.documents, "document")} deleted`, true); }));
  }, "plain");
}

/** A button that asks once more before it does what cannot be undone. */
export function sure(name, work, kind = "danger") {
  const button = act(name, async () => {
    if (button.textContent === name) return void (button.textContent = "Really? It cannot be undone");
    button.textContent = name;
    await work();
  }, kind);
  // It stays the active element where the whole window loses the focus, as to a download.
  button.addEventListener("blur", () => document.activeElement === button || (button.textContent = name));
  return button;
}

function shared(each) {
  const place = h("div", {class: "stack"});
  const draw = (now) => fill(place,
    now.readers.length ? h("ul", null, now.readers.map((reader) => h("li", null, `${reader.who}${reader.write ? ", who may write" : ""} `, act("End", async () => draw(await remove(at`collections/${each.name}/readers/${reader.who}`)), "plain")))) : soft("Nobody else reads it."),
    form(null, [input("who", "With whom", {required: true, placeholder: "a user, a group or everyone"}), h("label", {class: "check"}, h("input", {type: "checkbox", name: "write"}), h("b", null, "may write, too"))], "Share",
      async ({who, write}) => draw(await put(at`collections/${each.name}/readers/${who}`, {write: Boolean(write)}))));
  draw(each);
  return place;
}

async function listed(each) {
  const place = h("div", {class: "stack"});
  const draw = () => paged(place, async (after) => {
    const {documents, next} = await get(at`documents?collections=${each.name}&limit=50&after=${after}`);
    return {next, rows: documents.map((one) => h("li", {class: "row outline"}, h("a", {dir: "auto", href: address({doc: one.document})}, one.title || one.path || one.document), h("span", {class: "soft"}, one.kind),
      each.writable && one.namespace.startsWith("documents") && sure("Remove", async () => { await remove(at`documents/${one.document}?collection=${each.name}`); fill(place); await draw(); }, "plain danger")))};
  }, "Nothing yet.");
  await draw();
  return place;
}

function upload(into, again) {
  const told = h("ul", {class: "outline"}), files = h("input", {type: "file", name: "file", multiple: true, required: true});
  const fields = {collection: field("Into", into), license: input("license", "License", {placeholder: "such as CC-BY-4.0"}), language: input("language", "Language", {placeholder: "such as german"})};
  const sort = choice({name: "sort", onchange: () => { for (const name in fields) fields[name].hidden = !asked(sort.value).includes(name); }}, SORTS);
  return h("section", {class: "card stack", "aria-label": "Upload", ondragover: (event) => event.preventDefault(), ondrop: (event) => { event.preventDefault(); files.files = event.dataTransfer.files; }},
    h("h2", null, "Put files in"), soft("PDF, Office, HTML, notebooks, code, mail, text. Drop them here, or choose them."),
    form(null, [field("Files", files), field("Each is", sort), Object.values(fields)], "Upload", async (given, made) => {
      for (const file of files.files) {
        const line = h("li", null, `${file.name}: reading…`);
        told.append(line);
        line.textContent = await sent(file, given, (now) => (line.textContent = `${file.name}: ${progress(now)}`)).then((what) => `${file.name}: ${what}`, (error) => `${file.name}: ${error.message}`);
      }
      files.value = "";
      await again();
    }), h("div", {role: "status"}, told));
}

const STAGES = {wait: "waiting for its turn", read: "reading", store: "storing"};

/** How far an import is. */
const progress = ({stage, done, total}) => `${STAGES[stage] ?? stage}…${total > 1 ? ` ${done} of ${total}` : ""}`;

async function sent(file, given, told) {
  const {sort} = given;
  const body = new FormData();
  body.append("file", file);
  for (const name of asked(sort)) if (given[name]) body.append(name, given[name]);
  if (sort === "documents") {
    const stored = await bring("PUT", at`documents/${file.name}`, body, told);
    return [`${some(stored.chunks, "passage")} stored`, ...stored.degraded.map((each) => each.text), ...stored.failed.map((each) => each.reason)].join("; ");
  }
  const report = await bring("POST", sort, body, told);
  return Object.entries(report).filter(([, value]) => typeof value === "number" && value).map(([name, value]) => `${value} ${name}`).join(", ") || "nothing new";
}
