#!/usr/bin/env python3
"""How many requests links cost, counted by the GitHub that answers them; against one GET for each link and pass."""
import urllib.request

import harness

SIZES = [(links, repos) for links in (1, 50, 1000) for repos in (1, 5, 50) if links >= repos]
PASSES = ("first", "second", "idle", "3 changes", "idle again")


class Accounting(harness.Case):
    """The table is the output; what is asserted is what the design promises."""

    def count(self, links, repos):
        """(requests, 304s, points) of each pass, and how many observations were not unchanged."""
        self.forget()
        loopback = self.github("world", f"{repos}/{max(links // repos, 1)}")
        helper = self.helper(loopback)
        paths = sorted(f"acme/r{n % repos}/issues/{n // repos + 1}" for n in range(links))
        news, writes = [], []
        for name in PASSES:
            if name == "3 changes":
                urllib.request.urlopen(urllib.request.Request(f"{loopback.url}/change/3", method="POST"), timeout=30).close()
            observations, answer = self.fetch(helper, *paths)
            self.assertNotIn("problem", answer)
            states = [o["state"] for o in observations.values()]
            self.assertNotIn("unknown", states)
            news.append(len(states) - states.count("unchanged"))
            writes.append(sum("validator" in o for o in observations.values()) + len(answer.get("cursors", {})))
            urllib.request.urlopen(f"{loopback.url}/pass", timeout=30).close()
        helper.end()
        return self.split(loopback.end()), news, writes

    @staticmethod
    def split(requests):
        passes, now = [], []
        for request in requests:
            if request["url"] == "/pass":
                passes.append((len(now), sum(r["status"] == 304 for r in now), sum(r["status"] == 200 for r in now)))
                now = []
            elif not request["url"].startswith("/change/"):
                now.append(request)
        return passes

    def test_requests_follow_changes_not_links(self):
        document = (harness.DATA.parent.parent.parent / "docs" / "github.md").read_text(encoding="utf-8")
        print(f"\n{'links':>6} {'repositories':>12}  " + "  ".join(f"{name:^20}" for name in PASSES) + "  naive, each pass")
        print(f"{'':>6} {'':>12}  " + "  ".join(f"{'requests 304s points':^20}" for _ in PASSES) + "  requests = points")
        for links, repos in SIZES:
            passes, news, writes = self.count(links, repos)
            print(f"{links:>6} {repos:>12}  " + "  ".join(f"{a:>8} {b:>4} {c:>6}" for a, b, c in passes) + f"  {links:>17}")
            row = f"| {links:,} | {repos} | " + " | ".join(f"{a} / {b} / {c}" for a, b, c in passes) + f" | {links:,} |"
            self.assertIn(row, document)
            first, _, idle, changed, again = passes
            changes = min(3, links)
            self.assertEqual([news[0], news[2], news[3], news[4]], [links, 0, changes, 0], (links, repos))
            self.assertEqual((writes[2], writes[4]), (0, 0))  # an idle pass writes nothing
            self.assertLessEqual(first[0], max(links // 100, 1) + 1)
            self.assertLessEqual(idle[0], repos)
            self.assertLessEqual(idle[2], 1)  # at most one point
            self.assertLessEqual(changed[2], changes)
            self.assertLessEqual(again[2], 1)


if __name__ == "__main__":
    harness.main()
