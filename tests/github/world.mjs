// A whole GitHub, small: repositories of open issues that can be changed from outside, with entity tags, `since`, pages,
// GraphQL and a budget that only answers with something in them cost. For counting requests.
//
// ARGUMENT: REPOSITORIES/ISSUES. What a test does to it, each by a request of its own:
//   /change/K    a minute passes, then K issues are closed or reopened, spread over the repositories
//   /set/R/N     one issue is closed or reopened, at once      /delete/R/N   it is deleted
//   /wait/S      S seconds pass                                /truth        the state of every issue
//   /disturb/R/N behind the next page of a listing, that issue is changed, or deleted if N is negative
import { createHash } from "node:crypto";
import { answer, issue, refused } from "./payloads.mjs";

export function world(argument) {
  if (!/^\d+\/\d+$/.test(argument ?? "")) return undefined;
  const [repositories, issues] = argument.split("/").map(Number);
  let clock = Date.UTC(2017, 9, 10, 16, 0, 0);
  let remaining = 5000;
  let turn = 0;
  const repos = Array.from({ length: repositories }, () => Array.from({ length: issues }, (_, i) => ({ number: i + 1, state: "open", updated: clock - 86400000 + i * 1000 })));
  const time = (at) => new Date(at).toISOString().replace(".000", "");
  const full = (repo, one) => issue(one.number, { repository: `acme/r${repo}`, state: one.state, state_reason: one.state === "closed" ? "completed" : null, updated_at: time(one.updated) });

  function told(r, body, link) {
    const etag = `"${createHash("sha256").update(JSON.stringify([body, link])).digest("hex")}"`;
    const extra = { etag, date: new Date(clock).toUTCString(), "x-ratelimit-limit": "5000", "x-ratelimit-reset": String(clock / 1000 + 3600) };
    if (link) extra.link = link;
    const unchanged = r.condition === etag;
    if (!unchanged) remaining--;
    extra["x-ratelimit-remaining"] = String(remaining);
    return unchanged ? answer(304, undefined, extra) : answer(200, body, extra);
  }

  function listing(r, repo) {
    const query = new URL(r.url, "http://x").searchParams;
    const since = query.get("since") ? Date.parse(query.get("since")) : 0;
    const page = Number(query.get("page") ?? 1), size = Number(query.get("per_page") ?? 30);
    const all = repos[repo].filter((one) => !one.deleted && one.updated >= since).sort((a, b) => a.updated - b.updated);
    const pages = Math.ceil(all.length / size);
    query.set("page", page + 1);
    const next = `<https://api.github.com/repos/acme/r${repo}/issues?${query}>; rel="next"`;
    query.set("page", pages);
    const link = page < pages ? `${next}, <https://api.github.com/repos/acme/r${repo}/issues?${query}>; rel="last"` : undefined;
    const result = told(r, all.slice((page - 1) * size, page * size).map((one) => full(repo, one)), link);
    if (disturbance) disturb();
    return result;
  }

  function batch(r) {
    const data = {};
    let at;
    for (const [, alias, repo, item, number] of JSON.parse(r.body).query.matchAll(/(r\d+):repository\(owner:"acme",name:"r(\d+)"\)|(i\d+):issueOrPullRequest\(number:(\d+)\)/g)) {
      if (alias) {
        at = { alias, repo };
        data[alias] = {};
        continue;
      }
      const one = repos[at.repo][number - 1];
      data[at.alias][item] = one && !one.deleted && {
        __typename: "Issue", number: one.number, html_url: `https://github.com/acme/r${at.repo}/issues/${one.number}`, updated_at: time(one.updated),
        comments: { totalCount: 42 }, issue_state: one.state.toUpperCase(), state_reason: one.state === "closed" ? "COMPLETED" : null,
      };
    }
    const errors = Object.entries(data).flatMap(([alias, items]) => Object.entries(items).filter(([, one]) => !one).map(([item]) => ({ type: "NOT_FOUND", path: [alias, item], message: "Could not resolve" })));
    for (const items of Object.values(data)) for (const item of Object.keys(items)) items[item] ||= null;
    return told({}, errors.length ? { data, errors } : { data });
  }

  const flip = (one) => Object.assign(one, { state: one.state === "open" ? "closed" : "open", updated: clock });
  let disturbance;
  function disturb() {
    const [repo, number] = disturbance;
    disturbance = undefined;
    clock += 1000;
    if (number < 0) repos[repo][-number - 1].deleted = true;
    else flip(repos[repo][number - 1]);
  }
  function happens(what, a, b) {
    if (what === "set") flip(repos[a][b - 1]);
    if (what === "delete") repos[a][b - 1].deleted = true;
    if (what === "wait") clock += a * 1000;
    if (what === "disturb") disturbance = [a, b];
    const truth = Object.fromEntries(repos.flatMap((repo, i) => repo.map((one) => [`acme/r${i}/issues/${one.number}`, one.deleted ? "gone" : one.state])));
    return answer(200, what === "truth" ? truth : {});
  }

  return (r) => {
    const [, what, a, b] = /^\/(set|delete|wait|disturb|truth)(?:\/(\d+))?(?:\/(-?\d+))?$/.exec(r.path) ?? [];
    if (what) return happens(what, Number(a), Number(b));
    clock += r.path.startsWith("/change/") ? 60000 : 0;
    if (r.path.startsWith("/change/")) {
      for (let k = Number(r.path.split("/")[2]); k > 0; k--, turn++) {
        flip(repos[turn % repositories][(turn * 7) % issues]);
      }
      return answer(200, {});
    }
    if (r.path === "/pass") return answer(200, {}); // only a mark in the log
    if (r.path === "/graphql") return batch(r);
    const [, repo, number] = /^\/repos\/acme\/r(\d+)\/issues(?:\/(\d+))?$/.exec(r.path) ?? [];
    if (repo === undefined || !repos[repo]) return undefined;
    if (number === undefined) return listing(r, repo);
    const one = repos[repo][number - 1];
    return one?.deleted ? refused(410, "This issue was deleted") : one && told(r, full(repo, one));
  };
}
