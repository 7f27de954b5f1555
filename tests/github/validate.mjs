// Are the payloads that loopback.mjs makes such as GitHub publishes, and is our query one that GitHub takes?
//
// usage: node validate.mjs DATA <BODY    the body of a batch as reconciler-github sent it
//
// Needs ajv and graphql (Debian: node-ajv, node-graphql). Prints a line for each check; exit 1 if one fails.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fixture, graphql as answered, issue, pull } from "./payloads.mjs";

const require = createRequire(import.meta.url); // and by NODE_PATH, where Debian keeps its modules
const Ajv = require("ajv");
const graphql = require("graphql");
const data = process.argv[2];
let failed = 0;
function check(what, problem) {
  console.log(`${problem ? "FAILED" : "ok"}: ${what}${problem ? `: ${problem}` : ""}`);
  failed += problem ? 1 : 0;
}

// ---- REST and webhooks ----
const ajv = new (Ajv.default ?? Ajv)({ unknownFormats: "ignore", strictKeywords: false });
ajv.addSchema(fixture("webhooks-schemas"), "github");
const problem = (name, value) =>
  ajv.validate({ $ref: `github#/definitions/${name}` }, value) ? undefined : ajv.errorsText().slice(0, 300);

const closed = (changes) => ({ ...fixture("issues_reopened"), action: "closed", issue: { ...issue(7, { state: "closed", ...changes }) } });
for (const reason of ["completed", "not_planned", "duplicate", "reopened", null])
  check(`a closed issue, ${reason}`, problem("issue", issue(7, { state: "closed", state_reason: reason })));
check("an open issue", problem("issue", issue(7)));
check("a reopened issue that has a closed_at", problem("issue", issue(6, { state_reason: "reopened", closed_at: "2017-10-10T15:00:00Z" })));
check("issues.closed", problem("issues$closed", closed({ state_reason: "completed" })));
for (const merged_at of ["2017-10-10T15:00:00Z", null])
  check(`a pull request in a list, merged_at ${merged_at}`, problem("issue", issue(10, { state: "closed", pull_request: { merged_at } })));
for (const merged of [true, false]) {
  check(`a closed pull request, merged ${merged}`, problem("pull-request", pull(13, merged)));
  check(`pull_request.closed, merged ${merged}`, problem("pull_request$closed", { ...fixture("pull_request_closed"), pull_request: pull(13, merged) }));
}
check("the schema refuses what is wrong (state: done)", problem("issue", issue(7, { state: "done" })) ? undefined : "it was taken");
check("and a number that is none", problem("issue", { ...issue(7), number: "7" }) ? undefined : "it was taken");

// ---- GraphQL ----
const schema = graphql.buildSchema(fs.readFileSync(path.join(data, "schema.graphql"), "utf8"));
const body = fs.readFileSync(0, "utf8");
const { query } = JSON.parse(body);
const errors = (text) => graphql.validate(schema, graphql.parse(text)).map((error) => error.message).join("; ");
check("the query of a batch", errors(query));
check("the schema refuses the same without our names for state", errors(query.replace("issue_state:state", "state").replace("pull_state:state", "state")) ? undefined : "it was taken");
// What loopback answers is what that schema would: resolve the query over it and compare.
const told = answered(body, { 2: "CLOSED/DUPLICATE", 3: "MERGED" });
const root = {
  repository: ({ owner, name }) => ({
    issueOrPullRequest: ({ number }) => ({
      __typename: number === 3 ? "PullRequest" : "Issue", number, updatedAt: "2017-10-10T16:00:00Z", comments: { totalCount: 42 },
      url: `https://github.com/${owner}/${name}/${number === 3 ? "pull" : "issues"}/${number}`,
      state: number === 3 ? "MERGED" : number === 2 ? "CLOSED" : "OPEN", stateReason: number === 2 ? "DUPLICATE" : null,
    }),
  }),
};
const resolved = await graphql.graphql({ schema, source: query, rootValue: root });
const same = JSON.stringify(JSON.parse(JSON.stringify(resolved.data)), Object.keys(flat(resolved.data)).sort()) ===
  JSON.stringify(told.data, Object.keys(flat(told.data)).sort());
check("what loopback answers to it", resolved.errors?.[0]?.message ?? (same ? undefined : "it differs from what the schema gives"));

function flat(value, found = {}) {
  for (const [key, inner] of Object.entries(value ?? {})) {
    found[key] = true;
    if (inner && typeof inner === "object") flat(inner, found);
  }
  return found;
}
process.exit(failed ? 1 : 0);
