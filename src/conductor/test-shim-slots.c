/* Slots on real processes: what the driver hears, and what a conductor that comes after a dead one hears. A
 * dead conductor is a forked process that was killed. Nothing sleeps: every wait is for an event. */
#include "conductor/test-shim-slots.h"

/* Under ThreadSanitizer vfork is fork: what a child that cannot be executed writes into our memory is not seen. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VFORK_IS_FORK 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(VFORK_IS_FORK)
#define skip_where_vfork_is_fork() skip()
#else
#define skip_where_vfork_is_fork() ((void)0)
#endif

static void test_slots__an_attempt_runs_ends_and_is_forgotten(void **state)
{
	(void)state;
	struct rig rig;
	rig_new(&rig, "exit 143", 2);
	rig_start(&rig, 1, 5);
	assert_int_equal(rig_expect(&rig, REC_SLOT_RUNNING, 5).slot, 1);
	struct rec_slot_event ended = rig_expect(&rig, REC_SLOT_ENDED, 5);
	assert_false(ended.by_signal);
	assert_int_equal(ended.code, 143);
	assert_true(ended.took_us >= 0);
	assert_int_equal(rig_records(&rig).count, 1);
	rig.table.ops->forget(rig.table.self, 1, 5);
	assert_int_equal(rig_records(&rig).count, 0);
	rig_end(&rig);
}

static void test_slots__the_child_reads_its_task_as_json(void **state)
{
	(void)state;
	struct rig rig;
	rig_new(&rig,
		"grep -q '\"id\":\"T1\"' && grep -q '\"title\":\"a title\"' \"$REC_TASK_FILE\" && "
		"[ \"$REC_BATCH_ID,$REC_CLAIM\" = batch-1,3 ]",
		1);
	rig_start(&rig, 0, 3);
	rig_expect(&rig, REC_SLOT_RUNNING, 3);
	assert_int_equal(rig_expect(&rig, REC_SLOT_ENDED, 3).code, 0);
	rig_end(&rig);
}

static void test_slots__a_claim_ahead_starts_by_itself(void **state)
{
	(void)state;
	struct rig rig;
	rig_new(&rig, "[ $REC_CLAIM = 2 ] || " WAIT_FOR("go") "true", 1);
	rig_start(&rig, 0, 1);
	rig_expect(&rig, REC_SLOT_RUNNING, 1);
	rig_start(&rig, 0, 2);
	rig_touch(&rig, "go");
	rig_expect(&rig, REC_SLOT_ENDED, 1);
	rig_expect(&rig, REC_SLOT_RUNNING, 2);
	rig_expect(&rig, REC_SLOT_ENDED, 2);
	rig_end(&rig);
}

static void test_slots__two_more_are_prepared_while_two_ends_wait_and_start_once_those_are_forgotten(void **state)
{
	(void)state;
	struct rig rig;
	rig_new(&rig, "read -r line; [ \"$line\" = \"$(cat \"$REC_TASK_FILE\")\" ]", 1);
	for (int64_t claim = 1; claim < 9; claim += 2) {
		for (int64_t i = 0; i < 2; i++)
			rig_prepare(&rig, 0, claim + i);
		assert_int_equal(rig_records(&rig).count, claim == 1 ? 2 : 4);
		for (int64_t i = claim > 1 ? -2 : 0; i < 0; i++)
			rig.table.ops->forget(rig.table.self, 0, claim + i);
		for (int64_t i = 0; i < 2; i++)
			assert_int_equal(rig.table.ops->start(rig.table.self, 0, claim + i, NULL), 0);
		for (int64_t i = 0; i < 2; i++) {
			rig_expect(&rig, REC_SLOT_RUNNING, claim + i);
			assert_int_equal(rig_expect(&rig, REC_SLOT_ENDED, claim + i).code, 0);
		}
	}
	rig_end(&rig);
}

static void test_slots__a_task_file_that_a_child_kept_is_its_own(void **state)
{
	(void)state;
	struct rig rig;
	struct stat kept, now;
	char path[160];
	rig_new(&rig,
		"case $REC_CLAIM in 1) ln \"$REC_TASK_FILE\" kept;; 2) chmod 0 \"$REC_TASK_FILE\";; "
		"3) rm \"$REC_TASK_FILE\"; ln -s kept \"$REC_TASK_FILE\";; 4) rm \"$REC_TASK_FILE\"; mkfifo "
		"\"$REC_TASK_FILE\";; *) grep -q '\"T1\"' \"$REC_TASK_FILE\";; "
		"esac",
		1);
	for (int64_t claim = 1; claim <= 5; claim++) {
		rig_start(&rig, 0, claim);
		rig_expect(&rig, REC_SLOT_RUNNING, claim);
		assert_int_equal(rig_expect(&rig, REC_SLOT_ENDED, claim).code, 0);
		rig.table.ops->forget(rig.table.self, 0, claim);
		snprintf(path, sizeof path, "%s/kept", rig.folder);
		assert_int_equal(stat(path, claim == 1 ? &kept : &now), 0);
		assert_true(claim == 1 || (now.st_ino == kept.st_ino && now.st_mtim.tv_nsec == kept.st_mtim.tv_nsec));
	}
	rig_end(&rig);
}

static void test_slots__stop_ends_what_runs_and_voids_what_waits(void **state)
{
	(void)state;
	struct rig rig;
	rig_new(&rig, "exec sleep 3600", 1);
	rig_start(&rig, 0, 1);
	rig_expect(&rig, REC_SLOT_RUNNING, 1);
	rig_start(&rig, 0, 2);
	rig.table.ops->stop(rig.table.self, 0, 2, REC_SLOT_TERM);
	rig_expect(&rig, REC_SLOT_VOID, 2);
	rig.table.ops->stop(rig.table.self, 0, 1, REC_SLOT_TERM);
	struct rec_slot_event ended = rig_expect(&rig, REC_SLOT_ENDED, 1);
	assert_true(ended.by_signal);
	assert_int_equal(ended.code, SIGTERM);
	rig_end(&rig);
}

static void test_slots__stop_of_a_prepared_claim_voids_it(void **state)
{
	(void)state;
	struct rig rig;
	rig_new(&rig, "true", 1);
	rig_prepare(&rig, 0, 1);
	rig.table.ops->stop(rig.table.self, 0, 1, REC_SLOT_KILL);
	rig_expect(&rig, REC_SLOT_VOID, 1);
	rig_end(&rig);
}

static void test_slots__a_killed_shim_is_lost_with_its_whole_tree(void **state)
{
	(void)state;
	skip_under_valgrind();
	struct rig rig;
	char path[160], text[32] = "";
	rig_new(&rig,
		"setsid sh -c 'echo $$ >deep; : >ready; exec sleep 3600' & " WAIT_FOR(
			"ready") "echo $PPID >shim; : >told; wait",
		1);
	rig_start(&rig, 0, 4);
	rig_expect(&rig, REC_SLOT_RUNNING, 4);
	rig_start(&rig, 0, 5); /* waits behind it: never started */
	snprintf(path, sizeof path, "%s/told", rig.folder);
	rig_until(path);
	snprintf(path, sizeof path, "%s/shim", rig.folder);
	FILE *file = fopen(path, "r");
	assert_non_null(fgets(text, sizeof text, file));
	fclose(file);
	kill((pid_t)strtol(text, NULL, 10), SIGKILL);
	struct rec_slot_event first = rig_next(&rig), second = rig_next(&rig);
	struct rec_slot_event lost = first.kind == REC_SLOT_LOST ? first : second;
	struct rec_slot_event voided = first.kind == REC_SLOT_LOST ? second : first;
	assert_int_equal(lost.kind, REC_SLOT_LOST);
	assert_int_equal(lost.claim_id, 4);
	assert_int_equal(voided.kind, REC_SLOT_VOID);
	assert_int_equal(voided.claim_id, 5);
	snprintf(path, sizeof path, "%s/deep", rig.folder);
	file = fopen(path, "r");
	assert_non_null(fgets(text, sizeof text, file));
	fclose(file);
	assert_true(kill((pid_t)strtol(text, NULL, 10), 0) == -1 && errno == ESRCH);
	rig.table.ops->forget(rig.table.self, 0, 4);
	rig.table.ops->forget(rig.table.self, 0, 5);
	rig_end(&rig);
}

static void test_slots__a_slot_serves_on_after_its_shim_was_killed(void **state)
{
	(void)state;
	skip_under_valgrind();
	struct rig rig;
	rig_new(&rig, "[ $REC_CLAIM = 1 ] && kill -KILL $PPID; exit 9", 1);
	rig_start(&rig, 0, 1);
	struct rec_slot_event event = rig_next(&rig);
	if (event.kind == REC_SLOT_RUNNING)
		event = rig_next(&rig);
	assert_int_equal(event.kind, REC_SLOT_LOST);
	rig.table.ops->forget(rig.table.self, 0, 1);
	rig_start(&rig, 0, 2);
	rig_expect(&rig, REC_SLOT_RUNNING, 2);
	assert_int_equal(rig_expect(&rig, REC_SLOT_ENDED, 2).code, 9);
	rig_end(&rig);
}

/* The shim's own descriptor of its record, with the lock on it: as long as we have it, the lock stays. -1: not allowed.
 */
static int record_lock_keep(pid_t shim)
{
	char path[64], target[256];
	int pidfd = (int)syscall(SYS_pidfd_open, shim, 0), kept = -1;
	for (int fd = 0; fd < 32 && kept < 0; fd++) {
		snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)shim, fd);
		ssize_t length = readlink(path, target, sizeof target - 1);
		target[length > 0 ? length : 0] = '\0';
		if (strstr(target, "/slot-0000/record"))
			kept = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	}
	close(pidfd);
	return kept;
}

static void test_slots__a_shim_that_hung_up_but_is_not_gone_gets_no_second_beside_it(void **state)
{
	(void)state;
	skip_under_valgrind();
	struct rig rig;
	char path[160], text[32] = "";
	rig_new(&rig, "echo $PPID >made; mv made shim; exec sleep 3600", 1);
	rig_start(&rig, 0, 1);
	rig_expect(&rig, REC_SLOT_RUNNING, 1);
	snprintf(path, sizeof path, "%s/shim", rig.folder);
	rig_until(path);
	FILE *file = fopen(path, "r");
	assert_non_null(fgets(text, sizeof text, file));
	fclose(file);
	pid_t shim = (pid_t)strtol(text, NULL, 10);
	int lock = record_lock_keep(shim);
	kill(shim, SIGKILL);
	if (lock < 0) { /* no pidfd_getfd here */
		rig_end(&rig);
		skip();
	}
	struct pollfd hung_up = {rec_shim_slots_fd(rig.slots), POLLIN, 0};
	assert_int_equal(poll(&hung_up, 1, DEADLINE_MS), 1);
	assert_int_equal(rig.table.ops->next(rig.table.self, &(struct rec_slot_event){0}, NULL), REC_END);
	rig_prepare(&rig, 0, 2);
	assert_int_equal(rig.table.ops->start(rig.table.self, 0, 2, NULL), REC_E_IO);
	close(lock);
	rig_expect(&rig, REC_SLOT_LOST, 1);
	assert_int_equal(rec_shim_slots_wait_ms(rig.slots), -1);
	rig_end(&rig);
}

static void test_slots__a_command_that_cannot_run_says_its_errno(void **state)
{
	(void)state;
	skip_under_valgrind();
	struct rig rig;
	skip_where_vfork_is_fork();
	rig_new(&rig, "", 1);
	rig.command[0] = "/nonexistent";
	rig_start(&rig, 0, 1);
	rig_expect(&rig, REC_SLOT_RUNNING, 1);
	struct rec_slot_event ended = rig_expect(&rig, REC_SLOT_ENDED, 1);
	assert_true(ended.not_executed);
	assert_int_equal(ended.code, ENOENT);
	rig_end(&rig);
}

static void test_slots__a_missing_shim_is_said_and_nothing_starts(void **state)
{
	(void)state;
	skip_under_valgrind();
	struct rig rig;
	struct rec_error error;
	const char *real = shim_path;
	shim_path = "/nonexistent/shim";
	rig_new(&rig, "true", 1);
	shim_path = real;
	rig_prepare(&rig, 0, 1);
	assert_true(rig.table.ops->start(rig.table.self, 0, 1, &error) < 0);
	assert_non_null(strstr(error.message, "/nonexistent/shim"));
	assert_int_equal(rig.table.ops->next(rig.table.self, &(struct rec_slot_event){0}, NULL), REC_END);
	rig_end(&rig);
}

static void check_adopted_to_its_end(enum crash_point point)
{
	struct rig rig;
	rig_new(&rig, WAIT_FOR("go") "exit 6", 1);
	conductor_crash(&rig, point);
	struct recorded found = rig_records(&rig);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.first.claim_id, 7);
	assert_string_equal(found.batch, "batch-1");
	assert_int_equal(rig.table.ops->hold(rig.table.self, rec_slice_of("batch-1"), NULL), 0);
	assert_int_equal(rig.table.ops->adopt(rig.table.self, found.first.slot, 7, NULL), 0);
	rig_expect(&rig, REC_SLOT_RUNNING, 7);
	rig_touch(&rig, "go");
	assert_int_equal(rig_expect(&rig, REC_SLOT_ENDED, 7).code, 6);
	rig.table.ops->forget(rig.table.self, found.first.slot, 7);
	assert_int_equal(rig_records(&rig).count, 0);
	rig_end(&rig);
}

static void test_recovery__a_running_child_is_adopted_and_watched_to_its_end(void **state)
{
	(void)state;
	skip_under_valgrind();
	check_adopted_to_its_end(CRASH_RUNNING);
}

static void test_recovery__a_claim_whose_number_was_forgotten_before_is_adopted(void **state)
{
	(void)state;
	skip_under_valgrind();
	check_adopted_to_its_end(CRASH_GIVEN_AGAIN);
}

static void test_recovery__a_number_given_again_is_of_the_slot_that_has_it_now(void **state)
{
	(void)state;
	struct rig rig;
	rig_new(&rig, "true", 2);
	for (int64_t claim = 5; claim <= 6; claim++) {
		rig_start(&rig, 0, claim);
		rig_expect(&rig, REC_SLOT_RUNNING, claim);
		rig_expect(&rig, REC_SLOT_ENDED, claim);
	}
	rig_prepare(&rig, 0, 7);
	for (int64_t claim = 7; claim >= 5; claim--) /* the group failed; then the ends were recorded */
		rig.table.ops->forget(rig.table.self, 0, claim);
	assert_int_equal(rig_records(&rig).count, 0);
	rig_prepare(&rig, 1, 7);
	struct recorded found = rig_records(&rig);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.first.slot, 1);
	assert_int_equal(found.first.claim_id, 7);
	rig.table.ops->forget(rig.table.self, 1, 7);
	rig_end(&rig);
}

static void test_recovery__an_adopted_child_can_be_stopped(void **state)
{
	(void)state;
	skip_under_valgrind();
	struct rig rig;
	rig_new(&rig, "exec sleep 3600", 1);
	conductor_crash(&rig, CRASH_RUNNING);
	struct recorded found = rig_records(&rig);
	assert_int_equal(rig.table.ops->adopt(rig.table.self, found.first.slot, 7, NULL), 0);
	rig_expect(&rig, REC_SLOT_RUNNING, 7);
	rig.table.ops->stop(rig.table.self, found.first.slot, 7, REC_SLOT_KILL);
	assert_true(rig_expect(&rig, REC_SLOT_ENDED, 7).by_signal);
	rig_end(&rig);
}

static void test_recovery__what_was_only_prepared_is_void(void **state)
{
	(void)state;
	skip_under_valgrind();
	struct rig rig;
	rig_new(&rig, "true", 1);
	conductor_crash(&rig, CRASH_PREPARED);
	struct recorded found = rig_records(&rig);
	assert_int_equal(found.count, 1);
	assert_int_equal(rig.table.ops->adopt(rig.table.self, found.first.slot, 7, NULL), 0);
	rig_expect(&rig, REC_SLOT_VOID, 7);
	rig.table.ops->forget(rig.table.self, found.first.slot, 7);
	assert_int_equal(rig_records(&rig).count, 0);
	rig_end(&rig);
}

static int adopt_found(void *context, const struct rec_slot_record *record)
{
	int64_t *claims = context;
	claims[record->claim_id == 7 ? 0 : 1] = record->slot + 1;
	return 0;
}

static void test_recovery__a_claim_ahead_is_void_and_the_running_one_goes_on(void **state)
{
	(void)state;
	skip_under_valgrind();
	struct rig rig;
	int64_t slots[2] = {0, 0};
	rig_new(&rig, WAIT_FOR("go") "exit 6", 1);
	conductor_crash(&rig, CRASH_AHEAD);
	assert_int_equal(rig.table.ops->records(rig.table.self, adopt_found, slots, NULL), 0);
	assert_true(slots[0] > 0 && slots[1] > 0);
	assert_int_equal(rig.table.ops->adopt(rig.table.self, (uint32_t)slots[0] - 1, 7, NULL), 0);
	assert_int_equal(rig.table.ops->adopt(rig.table.self, (uint32_t)slots[1] - 1, 8, NULL), 0);
	rig_expect(&rig, REC_SLOT_RUNNING, 7);
	rig_expect(&rig, REC_SLOT_VOID, 8);
	rig_touch(&rig, "go");
	rig_expect(&rig, REC_SLOT_ENDED, 7);
	rig_end(&rig);
}

static void test_recovery__killed_while_ends_and_claims_are_one_group_each_is_accounted_for(void **state)
{
	(void)state;
	skip_under_valgrind();
	struct rig rig;
	rig_new(&rig, "[ $REC_CLAIM != 7 ] || " WAIT_FOR("go") "true", 1);
	conductor_crash(&rig, CRASH_IN_GROUP);
	struct recorded recorded = rig_records(&rig);
	assert_int_equal(recorded.count, 3);
	for (int64_t claim = 6; claim <= 8; claim++)
		assert_int_equal(rig.table.ops->adopt(rig.table.self, recorded.first.slot, claim, NULL), 0);
	rig_expect(&rig, REC_SLOT_ENDED, 6);
	rig_expect(&rig, REC_SLOT_RUNNING, 7);
	rig_expect(&rig, REC_SLOT_VOID, 8);
	rig_touch(&rig, "go");
	rig_expect(&rig, REC_SLOT_ENDED, 7);
	rig_end(&rig);
}

static void test_recovery__slots_of_a_living_conductor_are_left_alone(void **state)
{
	(void)state;
	struct rig rig, second = {.command = {NULL}};
	rig_new(&rig, WAIT_FOR("go") "exit 6", 1);
	assert_int_equal(rig.table.ops->hold(rig.table.self, rec_slice_of("batch-1"), NULL), 0);
	rig_start(&rig, 0, 1);
	rig_expect(&rig, REC_SLOT_RUNNING, 1);
	memcpy(&second, &rig, sizeof rig);
	rig_open(&second, "batch-2", 1);
	assert_int_equal(rig_records(&second).count, 0);
	assert_int_equal(second.table.ops->hold(second.table.self, rec_slice_of("batch-1"), NULL), REC_CONFLICT);
	rec_shim_slots_close(second.slots);
	rig_touch(&rig, "go");
	rig_expect(&rig, REC_SLOT_ENDED, 1);
	rig_end(&rig);
}

static void test_hunt__an_environment_must_name_claim_and_batch(void **state)
{
	(void)state;
	static const char block[] = "REC_CLAIM=12\0A=B\0REC_BATCH_ID=b-1\0REC_CLAIMS=1";
	struct rec_slice text = {block, sizeof block - 1};
	assert_true(rec_environment_claims(text, 12, rec_slice_of("b-1")));
	assert_false(rec_environment_claims(text, 1, rec_slice_of("b-1")));
	assert_false(rec_environment_claims(text, 12, rec_slice_of("b-")));
	assert_false(rec_environment_claims(text, 12, rec_slice_of("b-12")));
	assert_false(rec_environment_claims((struct rec_slice){block, 13}, 12, rec_slice_of("b-1")));
	assert_false(rec_environment_claims((struct rec_slice){NULL, 0}, 12, rec_slice_of("b-1")));
}

int main(int count, char **arguments)
{
	if (count < 2)
		return 2;
	shim_path = arguments[1];
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots__an_attempt_runs_ends_and_is_forgotten),
		cmocka_unit_test(test_slots__the_child_reads_its_task_as_json),
		cmocka_unit_test(test_slots__a_claim_ahead_starts_by_itself),
		cmocka_unit_test(
			test_slots__two_more_are_prepared_while_two_ends_wait_and_start_once_those_are_forgotten),
		cmocka_unit_test(test_slots__a_task_file_that_a_child_kept_is_its_own),
		cmocka_unit_test(test_slots__stop_ends_what_runs_and_voids_what_waits),
		cmocka_unit_test(test_slots__stop_of_a_prepared_claim_voids_it),
		cmocka_unit_test(test_slots__a_killed_shim_is_lost_with_its_whole_tree),
		cmocka_unit_test(test_slots__a_slot_serves_on_after_its_shim_was_killed),
		cmocka_unit_test(test_slots__a_shim_that_hung_up_but_is_not_gone_gets_no_second_beside_it),
		cmocka_unit_test(test_slots__a_command_that_cannot_run_says_its_errno),
		cmocka_unit_test(test_slots__a_missing_shim_is_said_and_nothing_starts),
		cmocka_unit_test(test_recovery__a_running_child_is_adopted_and_watched_to_its_end),
		cmocka_unit_test(test_recovery__a_claim_whose_number_was_forgotten_before_is_adopted),
		cmocka_unit_test(test_recovery__a_number_given_again_is_of_the_slot_that_has_it_now),
		cmocka_unit_test(test_recovery__an_adopted_child_can_be_stopped),
		cmocka_unit_test(test_recovery__what_was_only_prepared_is_void),
		cmocka_unit_test(test_recovery__a_claim_ahead_is_void_and_the_running_one_goes_on),
		cmocka_unit_test(test_recovery__killed_while_ends_and_claims_are_one_group_each_is_accounted_for),
		cmocka_unit_test(test_recovery__slots_of_a_living_conductor_are_left_alone),
		cmocka_unit_test(test_hunt__an_environment_must_name_claim_and_batch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
