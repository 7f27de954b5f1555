/* The lanes of a slot's record: what a reader sees after a writer died at any byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/record.h"

static int file_new(void)
{
	int fd = memfd_create("record", MFD_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void test_record__a_new_file_holds_nothing(void **state)
{
	(void)state;
	int fd = file_new();
	struct rec_record_map *map = rec_record_map_open(fd);
	assert_non_null(map);
	for (int lane = 0; lane < REC_LANE_COUNT; lane++)
		assert_int_equal(rec_record_newest(map, (enum rec_lane)lane).phase, REC_RECORD_EMPTY);
	rec_record_map_close(map);
	close(fd);
}

static void test_record__the_newest_wins_and_the_one_before_is_still_found(void **state)
{
	(void)state;
	int fd = file_new();
	struct rec_record_map *map = rec_record_map_open(fd), *other = rec_record_map_open(fd);
	struct rec_record found;
	for (int64_t claim = 1; claim <= 5; claim++)
		rec_record_write(map, REC_LANE_ENDED,
				 (struct rec_record){.phase = REC_RECORD_ENDED, .claim_id = claim, .wait_status = 256});
	assert_int_equal(rec_record_newest(other, REC_LANE_ENDED).claim_id, 5);
	assert_true(rec_record_find(other, REC_LANE_ENDED, 4, &found));
	assert_int_equal(found.wait_status, 256);
	assert_false(rec_record_find(other, REC_LANE_ENDED, 3, &found));
	assert_false(rec_record_find(other, REC_LANE_RUNNING, 5, &found));
	rec_record_map_close(map);
	rec_record_map_close(other);
	close(fd);
}

static void test_record__a_damaged_byte_anywhere_leaves_the_record_before(void **state)
{
	(void)state;
	int fd = file_new();
	struct rec_record_map *map = rec_record_map_open(fd);
	rec_record_write(map, REC_LANE_RUNNING, (struct rec_record){.phase = REC_RECORD_RUNNING, .claim_id = 1});
	rec_record_write(map, REC_LANE_RUNNING, (struct rec_record){.phase = REC_RECORD_RUNNING, .claim_id = 2});
	int newest = map->lanes[REC_LANE_RUNNING][0].claim_id == 2 ? 0 : 1;
	unsigned char *bytes = (unsigned char *)&map->lanes[REC_LANE_RUNNING][newest];
	for (size_t i = 0; i < sizeof(struct rec_record); i++) {
		bytes[i] ^= 0x40;
		assert_int_equal(rec_record_newest(map, REC_LANE_RUNNING).claim_id, 1);
		bytes[i] ^= 0x40;
	}
	assert_int_equal(rec_record_newest(map, REC_LANE_RUNNING).claim_id, 2);
	rec_record_map_close(map);
	close(fd);
}

static void test_record__a_damaged_record_is_the_next_to_be_overwritten(void **state)
{
	(void)state;
	int fd = file_new();
	struct rec_record_map *map = rec_record_map_open(fd);
	rec_record_write(map, REC_LANE_AHEAD, (struct rec_record){.phase = REC_RECORD_STARTING, .claim_id = 1});
	rec_record_write(map, REC_LANE_AHEAD, (struct rec_record){.phase = REC_RECORD_STARTING, .claim_id = 2});
	int newest = map->lanes[REC_LANE_AHEAD][0].claim_id == 2 ? 0 : 1;
	map->lanes[REC_LANE_AHEAD][newest].checksum ^= 1;
	rec_record_write(map, REC_LANE_AHEAD, (struct rec_record){.phase = REC_RECORD_STARTING, .claim_id = 3});
	struct rec_record found;
	assert_true(rec_record_find(map, REC_LANE_AHEAD, 1, &found));
	assert_int_equal(rec_record_newest(map, REC_LANE_AHEAD).claim_id, 3);
	rec_record_map_close(map);
	close(fd);
}

static void test_record__an_erased_claim_is_gone_and_its_neighbour_stays(void **state)
{
	(void)state;
	int fd = file_new();
	struct rec_record_map *map = rec_record_map_open(fd);
	struct rec_record found;
	for (int64_t claim = 1; claim <= 2; claim++)
		rec_record_write(map, REC_LANE_AHEAD,
				 (struct rec_record){.phase = REC_RECORD_STARTING, .claim_id = claim});
	rec_record_write(map, REC_LANE_FORGOTTEN, (struct rec_record){.phase = REC_RECORD_FORGOTTEN, .claim_id = 2});
	rec_record_erase(map, REC_LANE_AHEAD, 2);
	rec_record_erase(map, REC_LANE_AHEAD, 3);
	assert_false(rec_record_find(map, REC_LANE_AHEAD, 2, &found));
	assert_true(rec_record_find(map, REC_LANE_FORGOTTEN, 2, &found));
	rec_record_write(map, REC_LANE_AHEAD, (struct rec_record){.phase = REC_RECORD_STARTING, .claim_id = 3});
	assert_true(rec_record_find(map, REC_LANE_AHEAD, 1, &found));
	assert_int_equal(rec_record_newest(map, REC_LANE_AHEAD).claim_id, 3);
	rec_record_map_close(map);
	close(fd);
}

static void test_record__the_lock_is_life_and_ends_with_the_process(void **state)
{
	(void)state;
	char path[] = "/tmp/reconciler-record-XXXXXX";
	int fd = mkstemp(path), ready[2];
	assert_true(fd >= 0 && pipe(ready) == 0);
	assert_int_equal(rec_record_locked(fd), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char proc[64];
		snprintf(proc, sizeof proc, "%s", path);
		int own = open(proc, 2);
		char taken = (char)(rec_record_lock(own) == 0);
		if (write(ready[1], &taken, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	char taken = 0;
	assert_int_equal(read(ready[0], &taken, 1), 1);
	assert_int_equal(taken, 1);
	assert_int_equal(rec_record_locked(fd), 1);
	assert_int_equal(rec_record_lock(fd), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(rec_record_locked(fd), 0);
	assert_int_equal(rec_record_lock(fd), 0);
	unlink(path);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record__a_new_file_holds_nothing),
		cmocka_unit_test(test_record__the_newest_wins_and_the_one_before_is_still_found),
		cmocka_unit_test(test_record__a_damaged_byte_anywhere_leaves_the_record_before),
		cmocka_unit_test(test_record__a_damaged_record_is_the_next_to_be_overwritten),
		cmocka_unit_test(test_record__an_erased_claim_is_gone_and_its_neighbour_stays),
		cmocka_unit_test(test_record__the_lock_is_life_and_ends_with_the_process),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
