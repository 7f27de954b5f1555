#!/usr/bin/env python3
"""reconciler-github against recorded and mutated GitHubs: what each answer is observed as."""
import harness


class Recorded(harness.Case):
    def test_thirteen_issues_on_five_pages_followed_as_recorded(self):
        loopback = self.github("recorded-pages")
        helper = self.helper(loopback, token=None)
        paths = [f"octokit-fixture-org/paginate-issues/issues/{n}" for n in range(1, 14)]
        observations, answer = self.fetch(helper, *paths)
        self.assertEqual({o["state"] for o in observations.values()}, {"open"})
        self.assertEqual(observations[paths[12]]["comments"], 42)
        self.assertNotIn("problem", answer)
        # The reset of the recording is in milliseconds; it is told as it stands, but nothing waits for it.
        self.assertNotIn("retry_after_ms", answer)
        helper.end()
        urls = [r["url"] for r in self.requests(loopback)]
        self.assertEqual(urls[1:5], [f"/repositories/1000/issues?per_page=3&page={n}" for n in range(2, 6)])
        self.assertEqual(len(urls), 9)  # and all but the last once more, with their tags

    def test_a_renamed_repository_as_recorded(self):
        loopback = self.github("recorded-rename")
        helper = self.helper(loopback)
        old = "octokit-fixture-org/rename-repository/issues/1"
        observations, _ = self.fetch(helper, old)
        self.assertEqual(observations[old]["state"], "open")
        self.assertEqual(observations[old]["moved_to"], "https://github.com/octokit-fixture-org/rename-repository-newname/issues/1")
        helper.end()


class States(harness.Case):
    def test_each_state_and_reason(self):
        loopback = self.github("states")
        helper = self.helper(loopback)
        for number, state, reason in ((1, "closed", "completed"), (2, "closed", "not_planned"), (3, "closed", "duplicate"),
                                      (4, "closed", None), (5, "closed", "eaten_by_a_grue"), (6, "open", "reopened"), (7, "open", None)):
            path = f"acme/app/issues/{number}"
            observation = self.fetch(helper, path)[0][path]
            self.assertEqual((observation["state"], observation.get("reason"), observation["kind"]), (state, reason, "issue"))

    def test_b20_merged_is_told_from_closed(self):
        loopback = self.github("states")
        helper = self.helper(loopback)
        for number, state in ((10, "merged"), (11, "closed"), (12, "open"), (13, "merged"), (14, "closed")):
            path = f"acme/app/pull/{number}"
            observation = self.fetch(helper, path)[0][path]
            self.assertEqual((observation["state"], observation["kind"]), (state, "pull_request"))

    def test_b24_not_modified_without_a_tag(self):
        loopback = self.github("conditional")
        helper = self.helper(loopback)
        path = "acme/app/issues/7"
        states = [self.fetch(helper, path)[0][path]["state"] for _ in range(4)]
        self.assertEqual(states, ["open", "unchanged", "unchanged", "closed"])
        helper.end()
        self.assertEqual([r.get("condition") for r in self.requests(loopback)], [None, 'W/"a1"', 'W/"a1"', 'W/"a1"'])
        self.assertTrue(self.kept[f"https://github.com/{path}"].endswith('"b2"'))


class Redirects(harness.Case):
    def test_b25_a_transferred_issue(self):
        observation, _, requests = self.one("transferred")
        self.assertEqual(observation["state"], "open")
        self.assertEqual(observation["moved_to"], "https://github.com/acme/other/issues/99")
        self.assertEqual(len(requests), 2)

    def test_temporary_redirects_are_not_stored(self):
        for status in ("302", "307"):
            self.forget()
            observation, _, _ = self.one("temporary", status)
            self.assertEqual(observation["state"], "open")
            self.assertNotIn("moved_to", observation)

    def test_b25_the_token_goes_to_no_other_host(self):
        stranger = self.github("states")
        for place in (stranger.url, f"http://localhost:{stranger.port}", f"//127.0.0.1:{stranger.port}"):
            observation, _, requests = self.one("other-host", f"{place}/repos/acme/app/issues/7")
            self.assertEqual(observation["state"], "unknown")
            self.assertEqual(len(requests), 1)
        self.assertEqual(self.requests(stranger), [])

    def test_b25_a_redirect_loop_is_bounded(self):
        observation, _, requests = self.one("redirect-loop")
        self.assertEqual((observation["state"], observation["problem"]), ("unknown", "redirects without an end"))
        self.assertEqual(len(requests), 6)


class Gone(harness.Case):
    def test_b26_gone_is_told_from_refused_and_delays_nobody(self):
        loopback = self.github("gone-refused-closed")
        helper = self.helper(loopback, token=None)
        nine, ten, eleven = (f"acme/app/issues/{n}" for n in (9, 10, 11))
        self.assertEqual(self.fetch(helper, nine)[0][nine]["state"], "gone")
        observations, answer = self.fetch(helper, ten, eleven)
        self.assertEqual((observations[ten]["state"], observations[eleven]["state"]), ("unknown", "closed"))
        self.assertNotIn("problem", answer)
        self.fetch(helper, ten)
        helper.end()
        asked = [r["url"] for r in self.requests(loopback)]
        self.assertEqual(asked.count("/repos/acme/app/issues/10"), 1)  # looked at again slowly

    def test_issues_switched_off_are_not_gone(self):
        self.assertEqual(self.one("disabled")[0]["state"], "unknown")

    def test_not_found_in_a_visible_repository_is_gone(self):
        self.assertEqual(self.one("missing-item")[0]["state"], "gone")

    def test_not_found_in_a_repository_that_is_not_seen_is_unknown(self):
        observation, answer, _ = self.one("missing-repository")
        self.assertEqual(observation["state"], "unknown")
        self.assertNotIn("problem", answer)

    def test_a_bad_token_is_the_whole_trackers_problem(self):
        observation, answer, _ = self.one("bad-token")
        self.assertEqual(observation["state"], "unknown")
        self.assertEqual(answer["problem"], "GitHub answered 401: Bad credentials")


class Limits(harness.Case):
    def test_b21_each_form_of_a_limit(self):
        for form, wait in (("403-primary", 601), ("403-primary-ms", 3600), ("403-secondary-bare", 60), ("403-abuse", 60),
                           ("403-retry-after", 91), ("429-retry-after", 6), ("429-date", 181), ("429-bare", 60)):
            with self.subTest(form):
                self.forget()
                observation, answer, requests = self.one("limit", form)
                self.assertEqual((observation["state"], answer["retry_after_ms"]), ("unknown", wait * 1000))
                self.assertEqual(len(requests), 1)

    def test_b21_the_next_pass_keeps_the_pause(self):
        """The next process is kept from asking by reconciler: test_sync.py."""
        loopback = self.github("limit", "429-bare")
        helper = self.helper(loopback)
        for _ in range(2):
            _, answer = self.fetch(helper, "acme/app/issues/7", "acme/b/issues/1")
            self.assertIn("problem", answer)
            self.assertLessEqual(answer["retry_after_ms"], 60000)
        self.assertEqual(answer["problem"], "GitHub asked for a pause")
        self.assertEqual(helper.end(), 0)
        self.assertEqual(len(self.requests(loopback)), 1)

    def test_graphql_is_limited_with_status_200(self):
        loopback = self.github("graphql-limited")
        helper = self.helper(loopback)
        _, answer = self.fetch(helper, *(f"acme/app/issues/{n}" for n in range(1, 6)))
        self.assertEqual((answer["retry_after_ms"], "problem" in answer), (3600000, True))

    def test_forty_percent_are_left_to_people(self):
        loopback = self.github("budget")
        helper = self.helper(loopback)
        observations, answer = self.fetch(helper, "acme/app/issues/7", "acme/b/issues/7")
        self.assertEqual(sorted(o["state"] for o in observations.values()), ["open", "unknown"])
        self.assertEqual((answer["budget"]["limit"], answer["budget"]["remaining"]), (5000, 2000))
        self.assertIn("retry_after_ms", answer)
        self.assertNotIn("problem", answer)  # it was reached; only people may go on
        _, answer = self.fetch(helper, "acme/app/issues/7")
        self.assertEqual(answer["problem"], "the rest of the token's budget is left to people")


class GraphQL(harness.Case):
    def test_a_batch_with_every_kind_of_answer(self):
        loopback = self.github("graphql")
        helper = self.helper(loopback)
        observations, _ = self.fetch(helper, *(f"acme/app/issues/{n}" for n in range(1, 6)))
        self.assertEqual([o["state"] for o in observations.values()], ["open", "closed", "merged", "gone", "open"])
        self.assertEqual(observations["acme/app/issues/2"]["reason"], "duplicate")
        helper.end()
        self.assertEqual([r["url"] for r in self.requests(loopback)], ["/graphql", "/repos/acme/app/issues/4"])

    def test_errors_without_data_are_answered_by_single_reads(self):
        loopback = self.github("graphql-errors")
        helper = self.helper(loopback)
        observations, _ = self.fetch(helper, *(f"acme/app/issues/{n}" for n in range(1, 6)))
        self.assertEqual({o["state"] for o in observations.values()}, {"open"})


class Connections(harness.Case):
    def test_b22_html_twice_then_closed(self):
        loopback = self.github("html")
        helper = self.helper(loopback)
        path = "acme/app/issues/7"
        told = [self.fetch(helper, path)[0][path] for _ in range(3)]
        self.assertEqual([o["state"] for o in told], ["unknown", "unknown", "closed"])
        for observation, status in zip(told, (502, 200)):
            self.assertTrue(observation["problem"].startswith(f"GitHub answered {status}, not JSON: <!DOCTYPE html>"))
            self.assertLess(len(observation["problem"]), 120)

    def test_what_is_no_answer_and_a_helper_that_is_well_after_each(self):
        loopback = self.github("by-repository")
        helper = self.helper(loopback)
        good = "acme/states/issues/7"
        for scenario in ("truncated", "cut-json", "huge", "bomb", "reset", "garbage", "hang", "drip"):
            with self.subTest(scenario):
                bad = f"acme/{scenario}/issues/7"
                observations, answer = self.fetch(helper, bad, deadline_ms=1500)
                self.assertEqual(observations[bad]["state"], "unknown")
                self.assertEqual("problem" in answer, scenario != "cut-json")
                self.forget()
                observations, answer = self.fetch(helper, good)
                self.assertEqual((observations[good]["state"], "problem" in answer), ("open", False))
        self.assertEqual(helper.end(), 0)

    def test_many_headers_are_no_harm(self):
        self.assertEqual(self.one("endless-headers")[0]["state"], "open")

    def test_nobody_listens(self):
        helper = self.helper(None)
        observations, answer = self.fetch(helper, "acme/app/issues/7")
        self.assertEqual(observations["acme/app/issues/7"]["state"], "unknown")
        self.assertTrue(answer["problem"].startswith("GitHub could not be asked: "))


class Paging(harness.Case):
    """B23 and worse: a listing that is not whole says nothing of what it does not hold."""

    def walk(self, scenario, argument=""):
        loopback = self.github(scenario, argument)
        helper = self.helper(loopback, token=None)
        paths = [f"acme/app/issues/{n}" for n in range(1, 7)]
        # As if seen before, so that a whole listing would make them unchanged.
        self.kept = {f"https://github.com/{p}": "1;1507651140;1507651200;o;i;1;2017-10-10T14:00:00Z;;" for p in paths}
        self.cursors = {"repo:acme/app": "1;1507647600;0;"}
        observations, _ = self.fetch(helper, *paths)
        helper.end()
        return [o["state"] for o in observations.values()], [r["url"] for r in self.requests(loopback)]

    def test_endless_looping_and_shrinking_pages(self):
        for scenario, pages in (("endless-pages", 7), ("looping-pages", 2), ("shrinking-pages", 2)):
            with self.subTest(scenario):
                states, urls = self.walk(scenario)
                self.assertEqual(states, ["open"] * 6)  # read one by one: they have new comments
                self.assertEqual(len([u for u in urls if "/issues/" not in u]), pages)

    def test_a_next_page_at_another_host_is_not_asked(self):
        stranger = self.github("states")
        states, urls = self.walk("pages-elsewhere", f"{stranger.url}/repositories/9/issues?page=2")
        self.assertEqual((states, len(urls)), (["open"] * 6, 7))
        self.assertEqual(self.requests(stranger), [])


if __name__ == "__main__":
    harness.main()
