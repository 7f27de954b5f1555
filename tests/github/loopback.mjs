// A GitHub on 127.0.0.1: replays what was recorded of the real one (tests/data/github) and mutations of it.
//
// usage: node loopback.mjs DATA LOG SCENARIO [ARGUMENT]
//
// Prints its port. LOG gets a line of JSON for each request: method, url, condition, body, the status it was answered,
// whether a token came with it and whether the headers that GitHub demands did. Ends with standard input.
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import zlib from "node:zlib";
import { answer, fixture, graphql, html, issue, moved, pull, refused } from "./payloads.mjs";
import { world } from "./world.mjs";

const [data, log, name, argument] = process.argv.slice(2);
const API = "https://api.github.com"; // what stands in recorded texts; replaced by our own address
const ITEM = /^\/repos\/([^/]+)\/([^/]+)\/issues\/(\d+)$/;

// A scenario: (request) => answer, undefined for 404. request: method, url, path, condition, body, count (how often
// this method and path was asked before).
const scenarios = {
  // ---- As recorded ----
  "recorded-pages"(r) {
    // The listing is asked with a query of ours; everything after the first page is followed as recorded.
    const pages = fixture("paginate-issues");
    const recorded = r.path === "/repos/octokit-fixture-org/paginate-issues/issues"
      ? pages[0] : pages.find((page) => page.path === r.url);
    if (!recorded) return undefined;
    if (r.condition === recorded.headers.etag) return answer(304, undefined);
    return { status: recorded.status, headers: recorded.headers, body: recorded.response };
  },
  "recorded-rename"(r) {
    const recorded = fixture("rename-repository").find((x) => x.method === "get" && x.path === r.url);
    if (recorded) return { status: recorded.status, headers: recorded.headers, body: recorded.response };
    if (ITEM.test(r.path))
      return moved(301, r.path.replace(/^\/repos\/[^/]+\/[^/]+/, `${API}/repositories/1000`));
    const number = /^\/repositories\/1000\/issues\/(\d+)$/.exec(r.path)?.[1];
    return number && answer(200, issue(number, { repository: "octokit-fixture-org/rename-repository-newname" }));
  },

  // ---- Issues and pull requests ----
  states(r) {
    // The number chooses what it is.
    const number = Number(ITEM.exec(r.path)?.[3] ?? /^\/repos\/[^/]+\/[^/]+\/pulls\/(\d+)$/.exec(r.path)?.[1]);
    const reason = { 1: "completed", 2: "not_planned", 3: "duplicate", 4: null, 5: "eaten_by_a_grue" };
    if (number in reason) return answer(200, issue(number, { state: "closed", state_reason: reason[number] }));
    if (number === 6) return answer(200, issue(6, { state_reason: "reopened", closed_at: "2017-10-10T15:00:00Z" }));
    if (number === 7) return answer(200, issue(7, { title: "{{..}} %n $(x) \u0007" }));
    if (number === 10) return answer(200, issue(10, { state: "closed", pull_request: { merged_at: "2017-10-10T15:00:00Z" } }));
    if (number === 11) return answer(200, issue(11, { state: "closed", pull_request: { merged_at: null } }));
    if (number === 12) return answer(200, issue(12, { draft: true, pull_request: { merged_at: null } }));
    if (number === 13 || number === 14) // an older server leaves merged_at out of the issue
      return answer(200, r.path.includes("/pulls/") ? pull(number, number === 13) : issue(number, { state: "closed", pull_request: {} }));
    return undefined;
  },
  conditional(r) {
    // B24: 304 without a tag, then a change.
    if (r.count === 0) return answer(200, issue(7), { etag: 'W/"a1"' });
    if (r.condition === 'W/"a1"' && r.count <= 2) return { status: 304, headers: { date: "Tue, 10 Oct 2017 16:00:00 GMT" } };
    return answer(200, issue(7, { state: "closed", state_reason: "completed", updated_at: "2017-10-10T16:30:00Z" }), { etag: '"b2"' });
  },

  // ---- Redirects ----
  transferred(r) {
    if (r.path === "/repos/acme/app/issues/7") return moved(301, `${API}/repositories/2/issues/99`);
    return ["/repositories/2/issues/99", "/repos/acme/other/issues/99"].includes(r.path) ? answer(200, issue(99, { repository: "acme/other" })) : undefined;
  },
  temporary(r) {
    if (r.path === "/repos/acme/app/issues/7") return moved(Number(argument), `${API}/elsewhere/7`);
    return r.path === "/elsewhere/7" ? answer(200, issue(7, { repository: "acme/other" })) : undefined;
  },
  "other-host": () => moved(302, argument),
  "redirect-loop": (r) => moved(301, `${API}/${r.url === "/a" ? "b" : "a"}`),

  // ---- Gone or not seen ----
  "gone-refused-closed"(r) {
    const number = ITEM.exec(r.path)?.[3]; // B26
    if (number === "9") return refused(410, "This issue was deleted");
    if (number === "10") return refused(403, "Resource not accessible by personal access token");
    return number === "11" ? answer(200, issue(11, { state: "closed", state_reason: "completed" })) : undefined;
  },
  "disabled": () => refused(410, "Issues are disabled for this repo"),
  "missing-item": (r) => (r.path === "/repos/acme/app" ? answer(200, fixture("rename-repository")[2].response) : undefined),
  "missing-repository": () => undefined,
  echo: () => refused(422, `what is ${argument}?`),
  "token-changes": (r) => (r.newer ? answer(200, issue(7)) : refused(401, "Bad credentials")),
  "bad-token": () => refused(401, "Bad credentials"),

  // ---- Limits: ARGUMENT chooses the form ----
  limit() {
    const forms = {
      "403-primary": [403, "API rate limit exceeded for user ID 1.", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(1507651200 + 600) }],
      "403-primary-ms": [403, "API rate limit exceeded for user ID 1.", { "x-ratelimit-remaining": "0" }], // reset as recorded
      "403-secondary-bare": [403, "You have exceeded a secondary rate limit.", {}],
      "403-abuse": [403, "You have triggered an abuse detection mechanism.", {}],
      "403-retry-after": [403, "You have exceeded a secondary rate limit.", { "retry-after": "90" }],
      "429-retry-after": [429, "Too many requests", { "retry-after": "5" }],
      "429-date": [429, "Too many requests", { "retry-after": "Tue, 10 Oct 2017 16:03:00 GMT" }],
      "429-bare": [429, "Too many requests", {}],
    };
    return refused(...forms[argument]);
  },
  "graphql-limited": (r) => (r.path === "/graphql" ? answer(200, { errors: [{ type: "RATE_LIMITED", message: "API rate limit exceeded" }] }) : undefined),
  "graphql-errors"(r) {
    if (r.path === "/graphql") return answer(200, { data: null, errors: [{ message: "Something went wrong" }] });
    return ITEM.test(r.path) ? answer(200, issue(ITEM.exec(r.path)[3])) : undefined;
  },
  graphql(r) {
    return r.path === "/graphql" ? answer(200, graphql(r.body, { 2: "CLOSED/DUPLICATE", 3: "MERGED", 4: null })) : refused(410, "This issue was deleted");
  },
  budget: () => answer(200, issue(7), { "x-ratelimit-remaining": "2000" }),

  // ---- Bodies and connections that are no good ----
  html: (r) => (r.count < 2 ? html(r.count === 0 ? 502 : 200) : answer(200, issue(7, { state: "closed", state_reason: "completed" }))),
  truncated: () => ({ ...answer(200, issue(7)), cut: true }),
  "cut-json": () => ({ ...answer(200, undefined), text: JSON.stringify(issue(7)).slice(0, 200) }),
  huge: () => ({ ...answer(200, undefined), text: " ".repeat(17 << 20) }),
  bomb: () => ({ ...answer(200, undefined, { "content-encoding": "gzip" }), bytes: zlib.gzipSync(Buffer.alloc(64 << 20, 32)) }),
  hang: () => ({ hang: true }),
  "by-repository": (r) => scenarios[ITEM.exec(r.path)[2]](r), // acme/NAME plays the scenario of that name
  reset: () => ({ reset: true }),
  garbage: () => ({ garbage: true }),
  "endless-headers": () => answer(200, issue(7), Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`x-filler-${i}`, "y".repeat(60)]))),
  drip: () => ({ ...answer(200, issue(7)), drip: true }),

  // ---- Paging ----
  "endless-pages"(r) {
    const page = Number(/[?&]page=(\d+)/.exec(r.url)?.[1] ?? 1);
    if (ITEM.test(r.path)) return answer(200, issue(ITEM.exec(r.path)[3]));
    return answer(200, [issue(1000 + page)], { etag: `"p${page}"`, link: `<${API}/repositories/9/issues?page=${page + 1}>; rel="next"` });
  },
  "looping-pages": (r) => (ITEM.test(r.path) ? answer(200, issue(ITEM.exec(r.path)[3]))
    : answer(200, [issue(1000)], { etag: '"p"', link: `<${API}/repositories/9/issues?page=2>; rel="next"` })),
  "shrinking-pages"(r) {
    if (ITEM.test(r.path)) return answer(200, issue(ITEM.exec(r.path)[3]));
    const page = Number(/[?&]page=(\d+)/.exec(r.url)?.[1] ?? 1);
    const last = 4 - page; // three at first, then fewer
    return answer(200, [issue(1000 + page)], { etag: `"p${page}"`, link: `<${API}/repositories/9/issues?page=${page + 1}>; rel="next", <${API}/repositories/9/issues?page=${last}>; rel="last"` });
  },
  "pages-elsewhere": (r) => (ITEM.test(r.path) ? answer(200, issue(ITEM.exec(r.path)[3]))
    : answer(200, [issue(1000)], { link: `<${argument}>; rel="next"` })),

  // ---- Closing: ARGUMENT is which answer is lost ----
  close: closing(),
  world: world(name === "world" ? argument : ""),
};

function closing() {
  const comments = [{ body: "hello" }];
  let closed = false;
  return (r) => {
    const lost = argument === `${r.method} ${r.count}`;
    const item = "/repos/acme/app/issues/7";
    if (r.path === item && r.method === "PATCH") {
      closed = JSON.parse(r.body).state === "closed";
      return lost ? { reset: true } : answer(200, issue(7, { state: "closed" }));
    }
    if (r.path === `${item}/comments` && r.method === "POST") {
      comments.push(JSON.parse(r.body));
      return lost ? { reset: true } : answer(201, comments.at(-1));
    }
    if (r.path === `${item}/comments`) return answer(200, comments);
    if (r.path === "/seen") return answer(200, { comments, closed });
    return r.path === item ? answer(200, issue(7, { state: closed ? "closed" : "open" })) : undefined;
  };
}

const scenario = scenarios[name];
if (!scenario) throw new Error(`no scenario ${name}: ${Object.keys(scenarios).join(" ")}`);
if (!fs.existsSync(path.join(data, "LICENSE"))) throw new Error(`${data}: no recordings there`);

const counts = new Map();
const sockets = new Set();

function send(a, request, response, base) {
  const own = (text) => text.replaceAll(API, base);
  if (a.hang) return;
  if (a.reset) return request.socket.resetAndDestroy();
  if (a.garbage) return request.socket.end("SSH-2.0-OpenSSH_9.2\r\n");
  const headers = { ...a.headers };
  for (const key of ["content-length", "connection", "transfer-encoding"]) delete headers[key];
  for (const key of ["link", "location"]) if (headers[key]) headers[key] = own(headers[key]);
  const body = a.bytes ?? Buffer.from(a.text ?? (a.body === undefined ? "" : own(JSON.stringify(a.body))));
  if (a.status !== 304) headers["content-length"] = body.length;
  response.writeHead(a.status, headers);
  if (a.cut) {
    response.write(body.subarray(0, body.length / 2), () => request.socket.destroy());
  } else if (a.drip) {
    let at = 0;
    const timer = setInterval(() => (at < body.length ? response.write(body.subarray(at, ++at)) : clearInterval(timer)), 50);
    request.socket.on("close", () => clearInterval(timer));
  } else {
    response.end(a.status === 304 ? undefined : body);
  }
}

const server = http.createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks).toString();
    const where = new URL(request.url, "http://x").pathname;
    const key = `${request.method} ${where}`;
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    const condition = request.headers["if-none-match"];
    const h = request.headers;
    const newer = h.authorization === "Bearer new-token";
    const asked = { method: request.method, url: request.url, path: where, condition, body, count, newer };
    const a = scenario(asked) ?? refused(404, "Not Found");
    fs.appendFileSync(log, JSON.stringify({
      method: request.method, url: request.url, condition, body, status: a.status, token: h.authorization !== undefined,
      proper: /^reconciler-github\/\d/.test(h["user-agent"] ?? "") && h.accept === "application/vnd.github+json" &&
        h["x-github-api-version"] === "2022-11-28",
    }) + "\n");
    send(a, request, response, `http://127.0.0.1:${server.address().port}`);
  });
});
server.on("connection", (socket) => {
  sockets.add(socket);
  socket.on("error", () => {}).on("close", () => sockets.delete(socket));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume().on("end", () => process.exit(0));
