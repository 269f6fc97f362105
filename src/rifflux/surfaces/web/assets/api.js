// Calls of the service that served the page; the browser sends the cookie.

export const root = document.documentElement.dataset.root;

/** How often a request is sent that was one too many. */
const TRIES = 4;

/** An answer that is an error, with its status and what to do about it. */
export class Problem extends Error {
  constructor(status, code, message) {
    super(message);
    Object.assign(this, {status, code});
  }
}

/** Send a request; once too many were sent, wait as long as the service says and send it again. */
export async function send(method, path, body, signal, headers = {}) {
  const form = body instanceof FormData;
  const options = {method, signal, headers: body && !form ? {"Content-Type": "application/json", ...headers} : headers};
  if (body) options.body = form ? body : JSON.stringify(body);
  for (let tries = 1; ; tries++) {
    let reply;
    try { reply = await fetch(root + path, options); } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(0, "offline", "The service does not answer: is it still running?");
    }
    // Who is not signed in any more is told so by the page itself, and led back here afterwards.
    if (reply.status === 401 && path !== "session") return location.reload(), new Promise(() => {});
    if (reply.status !== 429 || tries === TRIES) return reply;
    await new Promise((go) => setTimeout(go, 1000 * (Number(reply.headers.get("Retry-After")) || 1)));
  }
}

async function read(reply) {
  if (reply.status === 204) return null;
  let told = null;
  try { told = await reply.json(); } catch { /* told below */ }
  if (reply.ok && told !== null) return told;
  throw new Problem(reply.status, told?.code ?? "error", told?.detail ?? `The service answers ${reply.status}.`);
}

export const get = async (path, signal) => read(await send("GET", path, null, signal));
export const post = async (path, body, signal) => read(await send("POST", path, body, signal));
export const put = async (path, body) => read(await send("PUT", path, body));
export const patch = async (path, body) => read(await send("PATCH", path, body));
export const remove = async (path) => read(await send("DELETE", path));

/** Send an import and return its report; while it goes on, `progress` is called with how far it is. */
export async function bring(method, path, body, progress) {
  const reply = await send(method, path, body, null, {Prefer: "wait=1"});
  let job = await read(reply);
  if (reply.status !== 202) return job;
  while (job.state === "running") {
    progress(job);
    await new Promise((go) => setTimeout(go, 1000));
    job = await get(at`jobs/${job.id}`);
  }
  if (job.error) throw new Problem(0, job.error.code, job.error.detail);
  return job.report;
}

/** The events of an answer as they come: the name of each, and what it tells. */
export async function* stream(path, body, signal) {
  const reply = await send("POST", path, body, signal);
  if (!reply.ok) await read(reply);
  let waiting = "";
  for await (const piece of reply.body.pipeThrough(new TextDecoderStream())) {
    const frames = (waiting + piece).split(/\r?\n\r?\n/);
    waiting = frames.pop();
    for (const frame of frames) {
      const part = (name) => frame.split(/\r?\n/).filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trim()).join("\n");
      if (part("event")) yield [part("event"), JSON.parse(part("data"))];
    }
  }
}

/** Names in a path, each as one part of it. */
export const at = (parts, ...names) => parts.reduce((path, part, place) => path + encodeURIComponent(names[place - 1]) + part);
