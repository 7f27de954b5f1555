/* test-shim-slots.h - slots of one conductor over a folder of its own, a script as the command, and a conductor that is
 * killed. Nothing sleeps: every wait is for an event. */
#ifndef REC_CONDUCTOR_TEST_SHIM_SLOTS_H
#define REC_CONDUCTOR_TEST_SHIM_SLOTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conductor/hunt.h"
#include "conductor/shim-slots.h"

#define DEADLINE_MS 10000

static const char *shim_path; /* what the test was started with */

/* valgrind 3.19 has no pidfd_open, and its vfork is fork: what rests on hearing of, or ending, a process that is no
 * child of ours, or on the errno of a program that cannot be run, is left out there. */
static inline void skip_under_valgrind(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (fd < 0)
		skip();
	close(fd);
}

struct rig {
	char folder[64], run[80];
	struct rec_shim_slots *slots;
	struct rec_slots table;
	char script[512];
	const char *command[4];
	const struct rec_allocator *allocator;
};

static inline void rig_open(struct rig *rig, const char *batch, uint32_t count)
{
	struct rec_error error;
	static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
	rig->command[0] = "/bin/sh";
	rig->command[1] = "-c";
	rig->command[2] = rig->script;
	rig->command[3] = NULL;
	const struct rec_shim_options options = {.run_directory = rig->run,
						 .shim_path = shim_path,
						 .batch_id = rec_slice_of(batch),
						 .slot_count = count,
						 .command = rig->command,
						 .environment = environment,
						 .workdir = rig->folder,
						 .log_limit_bytes = 1000,
						 .allocator = rig->allocator};
	int r = rec_shim_slots_open(&options, &rig->slots, &error);
	if (r)
		fail_msg("%s", error.message);
	rig->table = rec_shim_slots_table(rig->slots);
}

static inline void rig_new(struct rig *rig, const char *script, uint32_t count)
{
	*rig = (struct rig){.folder = "/tmp/reconciler-slots-XXXXXX"};
	assert_non_null(mkdtemp(rig->folder));
	snprintf(rig->run, sizeof rig->run, "%s/rec-run", rig->folder);
	snprintf(rig->script, sizeof rig->script, "%s", script);
	rig_open(rig, "batch-1", count);
}

static inline int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status, (void)type, (void)walk;
	return remove(path);
}

static inline void rig_end(struct rig *rig)
{
	rec_shim_slots_close(rig->slots);
	while (waitpid(-1, NULL, 0) > 0) /* shims that leave */
		;
	nftw(rig->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Lets the script of the attempt with this name go on. */
static inline void rig_touch(struct rig *rig, const char *name)
{
	char path[160];
	snprintf(path, sizeof path, "%s/%s", rig->folder, name);
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
}

/* The script says when; the deadline is the test's own. */
static inline void rig_until(const char *path)
{
	while (access(path, F_OK) != 0) {
		struct pollfd none = {-1, 0, 0};
		poll(&none, 1, 5);
	}
}

#define WAIT_FOR(name) "while [ ! -e " name " ]; do sleep 0.01; done; "

static inline void rig_prepare(struct rig *rig, uint32_t slot, int64_t claim)
{
	struct rec_error error;
	struct rec_task task = {.id = rec_slice_of("T1"),
				.title = rec_slice_of("a title"),
				.status_text = rec_slice_of("IN_PROGRESS"),
				.status = REC_IN_PROGRESS,
				.created_at = rec_slice_of("2026-01-01T00:00:00.000000+00:00"),
				.updated_at = rec_slice_of("2026-01-01T00:00:00.000000+00:00"),
				.is_leaf = true};
	const struct rec_slot_order order = {.claim_id = claim, .attempt = 1, .task = &task};
	if (rig->table.ops->prepare(rig->table.self, slot, &order, &error) != 0)
		fail_msg("%s", error.message);
}

static inline void rig_start(struct rig *rig, uint32_t slot, int64_t claim)
{
	struct rec_error error;
	rig_prepare(rig, slot, claim);
	if (rig->table.ops->start(rig->table.self, slot, claim, &error) != 0)
		fail_msg("%s", error.message);
}

/* Memory may run out on the way: whoever is told so asks again. */
static inline struct rec_slot_event rig_next(struct rig *rig)
{
	struct rec_slot_event event;
	for (;;) {
		int r = rig->table.ops->next(rig->table.self, &event, NULL);
		if (r == 0)
			return event;
		if (r == REC_E_NOMEM)
			continue;
		assert_int_equal(r, REC_END);
		struct pollfd wait = {rec_shim_slots_fd(rig->slots), POLLIN, 0};
		int again_ms = rec_shim_slots_wait_ms(rig->slots);
		int n = poll(&wait, 1, again_ms < 0 ? DEADLINE_MS : again_ms);
		assert_true(n > 0 || again_ms >= 0);
	}
}

static inline struct rec_slot_event rig_expect(struct rig *rig, enum rec_slot_event_kind kind, int64_t claim)
{
	struct rec_slot_event event = rig_next(rig);
	assert_string_equal(rec_slot_event_text(event.kind), rec_slot_event_text(kind));
	assert_int_equal(event.claim_id, claim);
	return event;
}

struct recorded {
	struct rec_slot_record first;
	char batch[64];
	unsigned count;
};

static inline int record_keep(void *context, const struct rec_slot_record *record)
{
	struct recorded *recorded = context;
	if (recorded->count++ == 0) {
		recorded->first = *record;
		snprintf(recorded->batch, sizeof recorded->batch, "%.*s", (int)record->batch_id.length,
			 record->batch_id.data);
	}
	return 0;
}

static inline struct recorded rig_records(struct rig *rig)
{
	struct recorded recorded = {.count = 0};
	assert_int_equal(rig->table.ops->records(rig->table.self, record_keep, &recorded, NULL), 0);
	return recorded;
}

/* A conductor that gets as far as `until` with claim 7 (and 8 ahead) in slot 0 and is killed there. Its shim lives on.
 */
enum crash_point { CRASH_PREPARED, CRASH_RUNNING, CRASH_AHEAD, CRASH_IN_GROUP, CRASH_GIVEN_AGAIN };
static inline void conductor_crash(struct rig *rig, enum crash_point until)
{
	int ready[2];
	assert_int_equal(pipe(ready), 0);
	rec_shim_slots_close(rig->slots);
	pid_t pid = fork();
	if (pid == 0) {
		rig_open(rig, "batch-1", 1);
		if (rig->table.ops->hold(rig->table.self, rec_slice_of("batch-1"), NULL) != 0)
			_exit(1);
		if (until == CRASH_IN_GROUP) { /* whose end is about to be recorded with the claim of 8 */
			rig_start(rig, 0, 6);
			rig_expect(rig, REC_SLOT_RUNNING, 6);
			rig_expect(rig, REC_SLOT_ENDED, 6);
		}
		rig_prepare(rig, 0, 7);
		if (until == CRASH_GIVEN_AGAIN) { /* the group failed, so the store gives its number to the next one */
			rig->table.ops->forget(rig->table.self, 0, 7);
			rig_prepare(rig, 0, 7);
		}
		if (until != CRASH_PREPARED) {
			rig->table.ops->start(rig->table.self, 0, 7, NULL);
			rig_expect(rig, REC_SLOT_RUNNING, 7);
		}
		if (until == CRASH_AHEAD)
			rig_start(rig, 0, 8);
		if (until == CRASH_IN_GROUP)
			rig_prepare(rig, 0, 8);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	char byte;
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	rig_open(rig, "batch-2", 1);
}

#endif
