// Payloads made from recorded and published ones. validate.mjs checks what is made here against the published schemas.
import fs from "node:fs";
import path from "node:path";

const data = process.argv[2];
const read = (name) => JSON.parse(fs.readFileSync(path.join(data, `${name}.json`), "utf8"));
const fixtures = new Map();

export function fixture(name) {
  if (!fixtures.has(name)) fixtures.set(name, read(name));
  return fixtures.get(name);
}

// The headers of a recorded answer, without what belongs to its body.
function headers(extra) {
  const recorded = { ...fixture("paginate-issues")[0].headers };
  for (const key of ["content-length", "connection", "link", "etag"]) delete recorded[key];
  return { ...recorded, ...extra };
}

export const answer = (status, body, extra = {}) => ({ status, headers: headers(extra), body });
export const refused = (status, message, extra = {}) =>
  answer(status, { message, documentation_url: "https://docs.github.com/rest" }, extra);
export const moved = (status, location) =>
  answer(status, { message: "Moved Permanently", url: location, documentation_url: "https://docs.github.com/v3/#http-redirects" }, { location });
export const html = (status) => ({
  status, headers: { "content-type": "text/html", date: "Tue, 10 Oct 2017 16:00:00 GMT" },
  text: `<!DOCTYPE html><html><head><title>Unicorn!</title></head><body>${"<p>GitHub is having a bad day</p>".repeat(500)}</body></html>`,
});

// A recorded issue with another number, repository and whatever else is changed.
export function issue(number, { repository = "acme/app", ...changes } = {}) {
  const recorded = fixture("paginate-issues")[0].response[0];
  const text = JSON.stringify(recorded)
    .replaceAll("octokit-fixture-org/paginate-issues", repository).replaceAll("/issues/13", `/issues/${number}`);
  const made = { ...JSON.parse(text), number: Number(number), ...changes };
  if (made.state === "closed" && !made.closed_at) made.closed_at = "2017-10-10T16:00:00Z";
  if (changes.pull_request) {
    const api = made.url.replace("/issues/", "/pulls/");
    const page = made.html_url.replace("/issues/", "/pull/");
    made.html_url = page;
    made.pull_request = { url: api, html_url: page, diff_url: `${page}.diff`, patch_url: `${page}.patch`, ...changes.pull_request };
  }
  return made;
}

// A published closed pull request, as GET /pulls/N gives it.
export function pull(number, merged) {
  const published = fixture("pull_request_closed").pull_request;
  return { ...published, number: Number(number), state: "closed", merged, merged_at: merged ? "2017-10-10T15:00:00Z" : null };
}

// An answer to a batch of ours. states: number -> "STATE", "STATE/REASON" or null (not found); "MERGED" is a pull request.
export function graphql(body, states) {
  const { query } = JSON.parse(body);
  const result = {};
  const errors = [];
  for (const [, r, owner, name, items] of query.matchAll(/(r\d+):repository\(owner:"([^"]+)",name:"([^"]+)"\)\{((?:i\d+:issueOrPullRequest\(number:\d+\)\{\.\.\.f\})*)\}/g)) {
    result[r] = {};
    for (const [, i, number] of items.matchAll(/(i\d+):issueOrPullRequest\(number:(\d+)\)/g)) {
      const state = states[number] === undefined ? "OPEN" : states[number];
      if (state === null) {
        result[r][i] = null;
        errors.push({ type: "NOT_FOUND", path: [r, i], message: `Could not resolve to an issue or pull request with the number of ${number}.` });
        continue;
      }
      const [word, reason = null] = state.split("/");
      const common = { number: Number(number), updated_at: "2017-10-10T16:00:00Z", comments: { totalCount: 42 } };
      result[r][i] = word === "MERGED"
        ? { __typename: "PullRequest", html_url: `https://github.com/${owner}/${name}/pull/${number}`, ...common, pull_state: word }
        : { __typename: "Issue", html_url: `https://github.com/${owner}/${name}/issues/${number}`, ...common, issue_state: word, state_reason: reason };
    }
  }
  return errors.length ? { data: result, errors } : { data: result };
}
