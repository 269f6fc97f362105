// Render Markdown texts as elements, from the blocks that the service names; it never sends markup.

import {post} from "./api.js";
import {h, marked} from "./dom.js";

const TAGS = {paragraph: "p", lines: "p", list: "ul", item: "li", quote: "blockquote", code: "pre", rule: "hr", break: "br", strong: "strong", emphasis: "em", struck: "s", literal: "code", row: "tr", head: "th", cell: "td", image: "i"};
const LEAVES = {paragraph: "", lines: "lines ", heading: "heading ", code: "code ", row: ""};

/** The blocks of each text. */
export const laid = async (texts, given, signal) => (await post("layout", {texts, ...given}, signal)).layouts;

/** Elements of blocks. `words` makes nodes of a text, its place and kind; blocks for which `here` holds are marked. */
export function built(nodes, words = (text) => text, here = () => false) {
  let depth = 1;
  const make = ({kind, start, end, text = "", inside, target = "", level}) => {
    if (kind === "heading") depth = Math.min(depth, level) + 1;
    const given = {class: kind in LEAVES && LEAVES[kind] + (here(start, end) ? "here" : "") || null, start: kind === "list" && level || null};
    if (kind === "heading") Object.assign(given, {role: "heading", "aria-level": depth});
    const made = inside ? inside.map(make) : text && words(text, start, end, kind);
    if (kind === "text") return made;
    if (kind === "link") return leads(target, made);
    if (kind === "reference") return [made, h("span", {class: "target"}, target)];
    if (kind === "table") return h("div", {class: "wide", tabindex: "0", role: "group", "aria-label": "Table"}, h("table", null, h("tbody", null, made)));
    return h(kind === "list" && level ? "ol" : TAGS[kind] ?? "div", given, made);
  };
  return nodes.map((node) => {
    const element = make(node);
    element.dataset.at = node.start;
    // Words begin on the side where their script does; lines of code on the left.
    if (node.kind !== "code") element.dir = "auto";
    return element;
  });
}

/* A link says where it leads, unless its words do. */
function leads(target, made) {
  const link = h("a", {href: target, target: "_blank", rel: "noreferrer nofollow", title: target}, made), place = target.replace(/^(https?:\/\/|mailto:)/i, "").split(/[?#]|\/$/)[0];
  return [link, !link.textContent.includes(place) && h("span", {class: "target"}, place.length > 48 ? `${place.slice(0, 47)}…` : place)];
}

/** What marks words at these places in a text. */
export const marking = (spans) => (text, start, end) => {
  const over = spans.filter(([left, right]) => left < end && right > start).map(([left, right]) => [left - start, right - start]);
  return over.length && [...text].length !== end - start ? h("mark", null, text) : over.length ? marked(text, over, [0, end - start]) : text;
};
