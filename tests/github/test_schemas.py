#!/usr/bin/env python3
"""What the tests feed reconciler-github, and what it asks, against what GitHub publishes (validate.mjs)."""
import os
import subprocess

import harness

ENVIRONMENT = dict(os.environ, NODE_PATH="/usr/share/nodejs")


def require_modules():
    harness.require()
    there = subprocess.run([harness.NODE, "-e", "require('ajv'), require('graphql')"], env=ENVIRONMENT, capture_output=True,
                           timeout=60, check=False)
    if there.returncode != 0:
        print("skipped: ajv and graphql for node (Debian: node-ajv, node-graphql)")
        raise SystemExit(harness.SKIPPED)


class Schemas(harness.Case):
    def test_payloads_and_the_query_are_valid(self):
        loopback = self.github("graphql")
        helper = self.helper(loopback)
        self.fetch(helper, *(f"acme/app/issues/{n}" for n in (1, 2, 3)), *(f"acme/b/issues/{n}" for n in (1, 2, 3)))
        helper.end()
        body = self.requests(loopback)[0]["body"]
        done = subprocess.run([harness.NODE, str(harness.HERE / "validate.mjs"), str(harness.DATA)], input=body, text=True,
                              env=ENVIRONMENT, capture_output=True, timeout=60, check=False)
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    require_modules()
    harness.main()
