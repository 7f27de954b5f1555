"""A loss of power, as far as it can be had without one: everything dies, and of the store's log what was synced is left."""
import json
import os
import unittest

from running import RunCase

PRELOAD = os.environ.get("KEEP_SYNCED")  # the preloaded library; not with sanitizers


@unittest.skipUnless(PRELOAD, "a preloaded library and a sanitizer do not go together")
class PowerLoss(RunCase):
    def lose_power(self, batch):
        batch.kill()
        self.end_everything()
        self.assert_nothing_runs()
        log = self.store.with_name(self.store.name + "-wal")
        log.with_name(log.name + ".synced").replace(log)
        self.store.with_name(self.store.name + "-shm").unlink()

    def told(self, batch, count):
        """The ids of finished tasks that the batch has told when it dies; at least `count`."""
        done = set()
        while len(done) < count:
            event = batch.object()
            if event["event"] == "BATCH_TASK_COMPLETED":
                done.add(event["task_id"])
        self.lose_power(batch)
        rest = batch.rest[batch.process.stdout] + batch.process.stdout.read()
        for line in rest.decode().splitlines():
            event = json.loads(line)
            if event["event"] == "BATCH_TASK_COMPLETED":
                done.add(event["task_id"])
        return done

    def test_nothing_that_was_told_is_taken_back_and_the_rest_is_run_again(self):
        ids = [f"T{number:03}" for number in range(400)]
        self.reconciler("-q", "task", "import", "-", stdin="\n".join(json.dumps({"id": id, "title": id}) for id in ids))
        worker = self.script("exit 0")
        batch = self.batch("--format", "ndjson", "-j", "2", worker=worker, env={"LD_PRELOAD": PRELOAD})
        told = self.told(batch, 60)
        self.assertLess(len(told), len(ids), "the power went too late for this test")
        self.assertEqual({id for id in told if self.stored(id) != "DONE"}, set())
        self.resume(batch.id).finish()
        self.assertEqual(self.stored_all(), {"DONE"})
        self.assert_whole()


if __name__ == "__main__":
    unittest.main()
