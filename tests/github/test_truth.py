#!/usr/bin/env python3
"""Whatever happens to the issues, and whichever links are asked about: what is believed after a pass is what is true.

A seed decides everything and is printed. Issues change singly and by the hundred, also while a listing is read, vanish, and
time passes; links come and go, and the helper is restarted. "Unchanged" is where a mistake would hide: it is taken as the
state that was told last.
"""
import json
import os
import random
import time
import urllib.request

import harness

SEEDS = int(os.environ.get("SEEDS", "6"))
PASSES = 25
ISSUES = 260
VERIFIED_S = 3700  # after that a deleted issue must have been noticed


class Truth(harness.Case):
    def world(self, path):
        with urllib.request.urlopen(urllib.request.Request(f"{self.loopback.url}/{path}", method="POST"), timeout=30) as answer:
            return json.load(answer)

    def happens(self, chance):
        """Something happens to the issues of two repositories."""
        what = chance.choice(["nothing", "one", "one", "again", "few", "many", "twice", "wait", "disturb", "disturb"])
        if what != "again":  # the same issue as last time, maybe in the same second
            self.issue = chance.randrange(2), chance.randrange(1, ISSUES + 1)
        repo, number = self.issue
        if what in ("one", "again"):
            self.world(f"set/{repo}/{number}")
        elif what == "twice":  # in the same second
            self.world(f"set/{repo}/{number}")
            self.world(f"set/{repo}/{number}")
        elif what in ("few", "many"):
            self.world(f"change/{chance.choice([2, 10] if what == 'few' else [130, 300])}")
        elif what == "wait":
            self.world(f"wait/{chance.choice([1, 59, 61, 1000])}")
        elif what == "disturb":
            self.world("change/250")
            self.world(f"disturb/{repo}/{number}")
        return what

    def believe(self, helper, believed, paths):
        observations, answer = self.fetch(helper, *paths, budget_share=1)
        self.assertNotIn("problem", answer)
        for path, observation in observations.items():
            self.assertNotEqual(observation["state"], "unknown", observation)
            if observation["state"] != "unchanged":
                believed[path] = observation["state"]
            self.assertIn(path, believed)

    def run_seed(self, seed, token):
        chance = random.Random(seed)
        self.forget()
        self.loopback = self.github("world", f"2/{ISSUES}")
        helper = self.helper(self.loopback, token=token)
        every = [f"acme/r{repo}/issues/{number}" for repo in range(2) for number in range(1, ISSUES + 1)]
        linked = sorted(chance.sample(every, chance.choice([4, 40, 300, 300])))
        believed, self.issue = {}, (0, 1)
        for _ in range(PASSES):
            if chance.random() < 0.2:
                helper.end()
                helper = self.helper(self.loopback, token=token)
            if chance.random() < 0.3:
                linked = sorted({*chance.sample(linked, max(1, len(linked) * 3 // 4)), *chance.sample(every, chance.choice([1, 30]))})
            if chance.random() < 0.3:  # one is left out of a pass just when it changes
                _, repo, _, number = (absent := chance.choice(linked)).split("/")
                self.world(f"set/{repo[1:]}/{number}")
                self.believe(helper, believed, [path for path in linked if path != absent])
            what = self.happens(chance)
            truth = None
            while truth != (now := self.world("truth")):  # what happens behind a page that was read is seen by the next pass
                truth = now
                self.believe(helper, believed, linked)
            wrong = {path: (believed[path], truth[path]) for path in linked if believed[path] != truth[path]}
            self.assertEqual(wrong, {}, f"after {what}")
        if token:  # without one nothing is read again by the hour
            self.vanish(helper, chance, believed, linked)
        helper.end()
        self.loopback.end()

    def vanish(self, helper, chance, believed, linked):
        """Some are deleted, also behind a page: noticed once every link was read itself."""
        for path in chance.sample(linked, min(3, len(linked))):
            _, repo, _, number = path.split("/")
            self.world(f"delete/{repo[1:]}/{number}")
        self.world(f"change/{chance.choice([1, 250])}")
        self.world(f"disturb/0/-{chance.randrange(1, ISSUES + 1)}")
        self.believe(helper, believed, linked)
        self.believe(helper, believed, linked)
        self.world(f"wait/{VERIFIED_S}")
        self.believe(helper, believed, linked)
        truth = self.world("truth")
        self.assertEqual({path: believed[path] for path in linked}, {path: truth[path] for path in linked})

    def test_what_is_believed_is_what_is_true(self):
        first = int(os.environ.get("SEED", time.time_ns() // 1000000 % 1000000))
        for seed in range(first, first + SEEDS):
            print(f"seed {seed}", flush=True)
            with self.subTest(seed=seed):
                self.run_seed(seed, harness.TOKEN)

    def test_and_without_a_token(self):
        """Single reads instead of batches."""
        seed = int(os.environ.get("SEED", time.time_ns() // 1000000 % 1000000))
        print(f"seed {seed}", flush=True)
        self.run_seed(seed, None)


if __name__ == "__main__":
    harness.main()
