/* The shim as a real process, driven over its socket as a conductor would. Nothing here sleeps: each test
 * waits for the message, the end of file or the process it is about, with a deadline. */
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
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/protocol.h"
#include "shim/record.h"

#define DEADLINE_MS 10000
/* Under ThreadSanitizer vfork is fork: what a child that cannot be executed writes into our memory is not seen. */
#if defined(__has_feature)
#define VFORK_IS_FORK __has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__)
#define VFORK_IS_FORK 1
#else
#define VFORK_IS_FORK 0
#endif

static const char *shim_path;

struct rig {
	char folder[64];
	int slot_fd, logs_fd, record_fd, socket;
	struct rec_record_map *map;
	pid_t shim;
};

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status, (void)type, (void)walk;
	return remove(path);
}

/* A slot's folder and a shim for `command` (NULL-terminated) that was heard to say HELLO. */
static void rig_start(struct rig *rig, const char *log_limit, const char *const *command)
{
	int ends[2];
	char numbers[3][16];
	snprintf(rig->folder, sizeof rig->folder, "/tmp/reconciler-shim-XXXXXX");
	assert_non_null(mkdtemp(rig->folder));
	rig->slot_fd = open(rig->folder, O_RDONLY | O_DIRECTORY);
	assert_int_equal(mkdirat(rig->slot_fd, "logs", 0700), 0);
	rig->logs_fd = openat(rig->slot_fd, "logs", O_RDONLY | O_DIRECTORY);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	rig->socket = ends[0];
	for (int i = 0; i < 3; i++)
		snprintf(numbers[i], 16, "%d", (int[]){rig->slot_fd, rig->logs_fd, ends[1]}[i]);
	const char *arguments[32] = {shim_path, numbers[0], numbers[1], numbers[2], "/", log_limit, "--"};
	for (int i = 0; command[i]; i++)
		arguments[7 + i] = command[i];
	rig->shim = fork();
	if (rig->shim == 0) {
		execv(shim_path, (char *const *)(uintptr_t)arguments);
		_exit(126);
	}
	close(ends[1]);
}

static struct rec_shim_message rig_receive_on(int socket)
{
	struct rec_shim_message message = {0};
	struct pollfd wait = {socket, POLLIN, 0};
	assert_int_equal(poll(&wait, 1, DEADLINE_MS), 1);
	assert_int_equal(recv(socket, &message, sizeof message, 0), sizeof message);
	assert_int_equal(message.version, REC_SHIM_VERSION);
	return message;
}

static struct rec_shim_message rig_expect(struct rig *rig, enum rec_shim_type type)
{
	struct rec_shim_message message = rig_receive_on(rig->socket);
	assert_int_equal(message.type, type);
	return message;
}

static void rig_open_record(struct rig *rig)
{
	rig->record_fd = openat(rig->slot_fd, REC_SLOT_RECORD, O_RDWR);
	rig->map = rec_record_map_open(rig->record_fd);
	assert_non_null(rig->map);
}

static void rig_new(struct rig *rig, const char *log_limit, const char *const *command)
{
	rig_start(rig, log_limit, command);
	rig_expect(rig, REC_SHIM_HELLO);
	rig_open_record(rig);
}

static void rig_sh(struct rig *rig, const char *script)
{
	const char *const command[] = {"/bin/sh", "-c", script, "sh", "{id}", "{title}", "{attempt}", NULL};
	rig_new(rig, "1000", command);
}

static void rig_send(struct rig *rig, struct rec_shim_message message, const char *id, const char *title)
{
	char packet[sizeof message + 8192];
	message.version = REC_SHIM_VERSION;
	message.id_length = (uint32_t)strlen(id);
	message.title_length = (uint32_t)strlen(title);
	memcpy(packet, &message, sizeof message);
	memcpy(packet + sizeof message, id, strlen(id));
	memcpy(packet + sizeof message + strlen(id), title, strlen(title));
	size_t length = sizeof message + strlen(id) + strlen(title);
	assert_int_equal(send(rig->socket, packet, length, MSG_NOSIGNAL), (ssize_t)length);
}

static void rig_task(struct rig *rig, uint32_t file, const char *content)
{
	char name[REC_SLOT_TASK_BYTES];
	snprintf(name, sizeof name, REC_SLOT_TASK, file);
	int fd = openat(rig->slot_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	close(fd);
}

static void rig_begin(struct rig *rig, int64_t claim)
{
	uint32_t file = (uint32_t)claim % REC_SLOT_TASK_FILES;
	rig_task(rig, file, "{}");
	rig_send(rig,
		 (struct rec_shim_message){.type = REC_SHIM_START, .claim_id = claim, .number = 1, .task_file = file},
		 "T1", "a title");
}

static struct rec_shim_message rig_run(struct rig *rig, int64_t claim)
{
	rig_begin(rig, claim);
	assert_int_equal(rig_expect(rig, REC_SHIM_RUNNING).claim_id, claim);
	struct rec_shim_message ended = rig_expect(rig, REC_SHIM_ENDED);
	assert_int_equal(ended.claim_id, claim);
	return ended;
}

static size_t rig_log(struct rig *rig, const char *name, char *out, size_t capacity)
{
	int fd = openat(rig->logs_fd, name, O_RDONLY);
	if (fd < 0)
		return 0;
	ssize_t n = read(fd, out, capacity - 1);
	close(fd);
	assert_true(n >= 0);
	out[n] = '\0';
	return (size_t)n;
}

/* Ends the shim (QUIT, or it is gone already) and returns its wait status. */
static int rig_end(struct rig *rig)
{
	int status = -1;
	rig_send(rig, (struct rec_shim_message){.type = REC_SHIM_QUIT}, "", "");
	close(rig->socket);
	assert_int_equal(waitpid(rig->shim, &status, 0), rig->shim);
	rec_record_map_close(rig->map);
	close(rig->record_fd);
	close(rig->slot_fd);
	close(rig->logs_fd);
	nftw(rig->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return status;
}

/* Waits until the process with this pid is gone or a zombie of somebody else. */
static bool process_ends(pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return errno == ESRCH;
	struct pollfd wait = {pidfd, POLLIN, 0};
	int n = poll(&wait, 1, DEADLINE_MS);
	close(pidfd);
	return n == 1;
}

static void test_shim__exit_code_and_signal_are_kept_apart(void **state)
{
	(void)state;
	struct rig rig;
	rig_sh(&rig, "case $3 in 1) exit 143;; esac");
	struct rec_shim_message ended = rig_run(&rig, 7);
	assert_true(WIFEXITED(ended.number) && WEXITSTATUS(ended.number) == 143);
	assert_int_equal(rig_end(&rig), 0);
	rig_sh(&rig, "kill -TERM $$");
	ended = rig_run(&rig, 8);
	assert_true(WIFSIGNALED(ended.number) && WTERMSIG(ended.number) == SIGTERM);
	struct rec_record record;
	assert_true(rec_record_find(rig.map, REC_LANE_ENDED, 8, &record));
	assert_int_equal(record.phase, REC_RECORD_ENDED);
	assert_int_equal(record.wait_status, ended.number);
	rig_end(&rig);
}

static void test_shim__task_arrives_by_arguments_environment_stdin_and_file(void **state)
{
	(void)state;
	struct rig rig;
	char log[1000];
	rig_sh(&rig,
	       "echo \"$1|$2|$3|$REC_TASK_ID|$REC_TASK_TITLE|$REC_ATTEMPT|$REC_CLAIM\"; cat; cat \"$REC_TASK_FILE\"");
	rig_task(&rig, 1, "the task;");
	rig_send(&rig, (struct rec_shim_message){.type = REC_SHIM_START, .claim_id = 5, .number = 3, .task_file = 1},
		 "a/b 'c'", "{id} $(x) %n {{..}}");
	rig_expect(&rig, REC_SHIM_RUNNING);
	assert_int_equal(rig_expect(&rig, REC_SHIM_ENDED).number, 0);
	rig_log(&rig, "a%2Fb%20%27c%27/3.log", log, sizeof log);
	assert_string_equal(log, "a/b 'c'|{id} $(x) %n {{..}}|3|a/b 'c'|{id} $(x) %n {{..}}|3|5\nthe task;the task;");
	rig_end(&rig);
}

static void test_shim__a_task_file_that_is_a_fifo_or_a_link_starts_nothing(void **state)
{
	(void)state;
	struct rig rig;
	rig_sh(&rig, "true");
	for (int32_t file = 0; file < 2; file++) {
		char name[REC_SLOT_TASK_BYTES];
		snprintf(name, sizeof name, REC_SLOT_TASK, (unsigned)file);
		assert_int_equal(file ? symlinkat("/dev/null", rig.slot_fd, name) : mkfifoat(rig.slot_fd, name, 0600),
				 0);
		rig_send(
			&rig,
			(struct rec_shim_message){
				.type = REC_SHIM_START, .claim_id = 5 + file, .number = 1, .task_file = (uint32_t)file},
			"T1", "a title");
		rig_expect(&rig, REC_SHIM_RUNNING);
		assert_int_equal(rig_expect(&rig, REC_SHIM_ENDED).spawn_errno, file ? ELOOP : EINVAL);
	}
	rig_end(&rig);
}

static void test_shim__odd_bytes_in_the_output_are_kept_raw(void **state)
{
	(void)state;
	struct rig rig;
	char log[100];
	rig_sh(&rig, "printf 'a\\224\\000b'");
	assert_int_equal(rig_run(&rig, 1).output_bytes, 4);
	assert_int_equal(rig_log(&rig, "T1/1.log", log, sizeof log), 4);
	assert_memory_equal(log, "a\224\0b", 4);
	rig_end(&rig);
}

static void test_shim__no_output_makes_no_file_and_long_output_is_cut_with_notice(void **state)
{
	(void)state;
	struct rig rig;
	char log[2000];
	rig_sh(&rig, "true");
	rig_run(&rig, 1);
	assert_int_equal(faccessat(rig.logs_fd, "T1/1.log", F_OK, 0), -1);
	rig_end(&rig);
	rig_sh(&rig, "head -c 100000 /dev/zero | tr '\\0' x");
	assert_int_equal(rig_run(&rig, 1).output_bytes, 100000);
	assert_int_equal(rig_log(&rig, "T1/1.log", log, sizeof log),
			 1000 + strlen("\n[output cut after 1000 bytes]\n"));
	assert_non_null(strstr(log, "x\n[output cut after 1000 bytes]\n"));
	rig_end(&rig);
}

static void test_shim__a_grandchild_with_our_stdout_is_ended_not_waited_for(void **state)
{
	(void)state;
	struct rig rig;
	char log[100];
	rig_sh(&rig, "sleep 3600 & echo $!");
	struct rec_shim_message ended = rig_run(&rig, 1);
	assert_int_equal(ended.number, 0);
	assert_int_equal(ended.survivors, 1);
	rig_log(&rig, "T1/1.log", log, sizeof log);
	assert_int_equal(kill((pid_t)strtol(log, NULL, 10), 0), -1);
	rig_end(&rig);
}

static void test_shim__descendants_that_left_session_and_ignore_sigterm_are_killed(void **state)
{
	(void)state;
	struct rig rig;
	char log[100];
	rig_sh(&rig, "D=$(dirname \"$REC_TASK_FILE\"); export D; "
		     "setsid sh -c 'trap \"\" TERM; echo $$; : >$D/ready; while :; do sleep 1; done' & "
		     "while [ ! -e $D/ready ]; do sleep 0.01; done; exit 0");
	struct rec_shim_message ended = rig_run(&rig, 1);
	assert_int_equal(ended.number, 0);
	assert_true(ended.survivors >= 1);
	rig_log(&rig, "T1/1.log", log, sizeof log);
	assert_int_equal(kill((pid_t)strtol(log, NULL, 10), 0), -1);
	rig_end(&rig);
}

static void test_shim__signal_reaches_the_whole_tree(void **state)
{
	(void)state;
	struct rig rig;
	rig_sh(&rig, "sleep 3600 & setsid sleep 3600 & echo ready; wait");
	rig_begin(&rig, 1);
	rig_expect(&rig, REC_SHIM_RUNNING);
	rig_send(&rig, (struct rec_shim_message){.type = REC_SHIM_SIGNAL, .claim_id = 99, .number = SIGKILL}, "", "");
	rig_send(&rig, (struct rec_shim_message){.type = REC_SHIM_LIFE}, "", "");
	rig_expect(&rig, REC_SHIM_LIFE); /* the signal for another claim did nothing */
	rig_send(&rig, (struct rec_shim_message){.type = REC_SHIM_SIGNAL, .claim_id = 1, .number = SIGKILL}, "", "");
	struct rec_shim_message ended = rig_expect(&rig, REC_SHIM_ENDED);
	assert_true(WIFSIGNALED(ended.number) && WTERMSIG(ended.number) == SIGKILL);
	assert_int_equal(ended.signalled, 1);
	rig_end(&rig);
}

static void test_shim__an_attempt_ahead_starts_when_the_former_ended(void **state)
{
	(void)state;
	struct rig rig;
	char log[100];
	rig_sh(&rig, "if [ $REC_CLAIM = 1 ]; then while [ ! -e \"$(dirname \"$REC_TASK_FILE\")/go\" ]; do sleep 0.01; "
		     "done; fi; cat");
	rig_begin(&rig, 1);
	rig_expect(&rig, REC_SHIM_RUNNING);
	rig_task(&rig, 0, "second");
	rig_send(&rig, (struct rec_shim_message){.type = REC_SHIM_START, .claim_id = 2, .number = 1}, "T2", "");
	close(openat(rig.slot_fd, "go", O_CREAT | O_WRONLY, 0600));
	assert_int_equal(rig_expect(&rig, REC_SHIM_ENDED).claim_id, 1);
	assert_int_equal(rig_expect(&rig, REC_SHIM_RUNNING).claim_id, 2);
	assert_int_equal(rig_expect(&rig, REC_SHIM_ENDED).claim_id, 2);
	rig_log(&rig, "T2/1.log", log, sizeof log);
	assert_string_equal(log, "second");
	rig_end(&rig);
}

static void test_shim__recall_voids_what_has_not_started_only(void **state)
{
	(void)state;
	struct rig rig;
	rig_sh(&rig, "exec sleep 3600");
	rig_begin(&rig, 1);
	rig_expect(&rig, REC_SHIM_RUNNING);
	rig_begin(&rig, 2);
	rig_send(&rig, (struct rec_shim_message){.type = REC_SHIM_RECALL, .claim_id = 1}, "", "");
	rig_send(&rig, (struct rec_shim_message){.type = REC_SHIM_RECALL, .claim_id = 2}, "", "");
	assert_int_equal(rig_expect(&rig, REC_SHIM_VOID).claim_id, 2);
	struct rec_record record;
	assert_true(rec_record_find(rig.map, REC_LANE_ENDED, 2, &record));
	assert_int_equal(record.phase, REC_RECORD_VOID);
	rig_send(&rig, (struct rec_shim_message){.type = REC_SHIM_SIGNAL, .claim_id = 1, .number = SIGTERM}, "", "");
	assert_int_equal(rig_expect(&rig, REC_SHIM_ENDED).claim_id, 1);
	rig_end(&rig);
}

static void test_shim__a_lost_conductor_ends_nothing_and_the_next_one_adopts(void **state)
{
	(void)state;
	struct rig rig;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct rec_record record;
	rig_sh(&rig, "while [ ! -e \"$(dirname \"$REC_TASK_FILE\")/go\" ]; do sleep 0.01; done; exit 3");
	rig_begin(&rig, 1);
	rig_expect(&rig, REC_SHIM_RUNNING);
	rig_begin(&rig, 2);
	close(rig.socket);
	snprintf(address.sun_path, sizeof address.sun_path, "%s/" REC_SLOT_CONTROL, rig.folder);
	rig.socket = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(connect(rig.socket, (const struct sockaddr *)&address, sizeof address), 0);
	struct rec_shim_message hello = rig_expect(&rig, REC_SHIM_HELLO);
	assert_int_equal(hello.claim_id, 1);
	assert_true(rec_record_find(rig.map, REC_LANE_ENDED, 2, &record));
	assert_int_equal(record.phase, REC_RECORD_VOID);
	assert_int_equal(rec_record_locked(rig.record_fd), 1);
	close(openat(rig.slot_fd, "go", O_CREAT | O_WRONLY, 0600));
	struct rec_shim_message ended = rig_expect(&rig, REC_SHIM_ENDED);
	assert_int_equal(WEXITSTATUS(ended.number), 3);
	rig_end(&rig);
}

static void test_shim__without_conductor_the_end_is_recorded_and_the_shim_leaves(void **state)
{
	(void)state;
	struct rig rig;
	struct rec_record record;
	int status;
	rig_sh(&rig, "while [ ! -e \"$(dirname \"$REC_TASK_FILE\")/go\" ]; do sleep 0.01; done; exit 4");
	rig_begin(&rig, 1);
	rig_expect(&rig, REC_SHIM_RUNNING);
	close(rig.socket);
	close(openat(rig.slot_fd, "go", O_CREAT | O_WRONLY, 0600));
	assert_true(process_ends(rig.shim));
	assert_int_equal(waitpid(rig.shim, &status, 0), rig.shim);
	assert_int_equal(rec_record_locked(rig.record_fd), 0);
	assert_true(rec_record_find(rig.map, REC_LANE_ENDED, 1, &record));
	assert_int_equal(WEXITSTATUS(record.wait_status), 4);
	rec_record_map_close(rig.map);
	nftw(rig.folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void test_shim__killed_itself_takes_the_child_along(void **state)
{
	(void)state;
	struct rig rig;
	struct rec_record record;
	rig_sh(&rig, "exec sleep 3600");
	rig_begin(&rig, 1);
	pid_t child = rig_expect(&rig, REC_SHIM_RUNNING).number;
	int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	kill(rig.shim, SIGKILL);
	waitpid(rig.shim, NULL, 0);
	struct pollfd wait = {pidfd, POLLIN, 0};
	assert_int_equal(poll(&wait, 1, DEADLINE_MS), 1);
	close(pidfd);
	assert_int_equal(rec_record_locked(rig.record_fd), 0);
	assert_true(rec_record_find(rig.map, REC_LANE_RUNNING, 1, &record));
	assert_false(rec_record_find(rig.map, REC_LANE_ENDED, 1, &record));
	rec_record_map_close(rig.map);
	nftw(rig.folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void test_shim__a_command_that_cannot_be_executed_ends_with_its_errno(void **state)
{
	(void)state;
	struct rig rig;
	const char *const command[] = {"/nonexistent/command", NULL};
	if (VFORK_IS_FORK)
		skip();
	rig_new(&rig, "0", command);
	struct rec_shim_message ended = rig_run(&rig, 1);
	assert_int_equal(ended.spawn_errno, ENOENT);
	assert_int_equal(WEXITSTATUS(ended.number), 127);
	assert_int_equal(rig_run(&rig, 2).spawn_errno, ENOENT); /* and it serves on */
	rig_end(&rig);
}

static struct rec_shim_message rig_life(struct rig *rig)
{
	struct rec_shim_message life;
	do {
		rig_send(rig, (struct rec_shim_message){.type = REC_SHIM_LIFE}, "", "");
		life = rig_expect(rig, REC_SHIM_LIFE);
	} while (life.output_bytes == 0);
	return life;
}

static void test_shim__signs_of_life_are_output_cpu_time_and_heartbeat(void **state)
{
	(void)state;
	struct rig rig;
	rig_sh(&rig,
	       "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; touch \"$(dirname \"$REC_TASK_FILE\")/heartbeat\"; "
	       "echo done; exec sleep 3600");
	rig_begin(&rig, 1);
	rig_expect(&rig, REC_SHIM_RUNNING);
	struct rec_shim_message life = rig_life(&rig);
	assert_true(life.cpu_us > 0);
	assert_true(life.heartbeat_us > 0);
	assert_int_equal(life.output_bytes, 5);
	rig_send(&rig, (struct rec_shim_message){.type = REC_SHIM_SIGNAL, .claim_id = 1, .number = SIGTERM}, "", "");
	rig_expect(&rig, REC_SHIM_ENDED);
	rig_end(&rig);
}

static void rig_deadline(struct rig *rig, int64_t term_us, int64_t kill_us)
{
	rig_send(rig, (struct rec_shim_message){.type = REC_SHIM_DEADLINE, .started_us = term_us, .ended_us = kill_us},
		 "", "");
}

#define PAST 1
#define FAR (INT64_MAX / 2)
static void test_shim__at_its_deadline_what_runs_is_stopped_and_what_waits_is_void(void **state)
{
	(void)state;
	struct rig rig;
	rig_sh(&rig, "exec sleep 3600");
	rig_deadline(&rig, FAR, FAR);
	rig_begin(&rig, 1);
	rig_expect(&rig, REC_SHIM_RUNNING);
	rig_begin(&rig, 2);
	rig_deadline(&rig, PAST, FAR);
	assert_int_equal(rig_expect(&rig, REC_SHIM_VOID).claim_id, 2);
	struct rec_shim_message ended = rig_expect(&rig, REC_SHIM_ENDED);
	assert_true(ended.claim_id == 1 && ended.signalled);
	assert_true(WIFSIGNALED(ended.number) && WTERMSIG(ended.number) == SIGTERM);
	rig_begin(&rig, 3); /* too late */
	assert_int_equal(rig_expect(&rig, REC_SHIM_VOID).claim_id, 3);
	assert_int_equal(rig_end(&rig), 0);
}

static void test_shim__at_its_deadline_what_ignores_sigterm_is_killed_also_without_conductor(void **state)
{
	(void)state;
	struct rig rig;
	struct rec_record end;
	int status;
	rig_sh(&rig, "trap '' TERM; echo; while :; do sleep 3600; done");
	rig_begin(&rig, 1);
	rig_expect(&rig, REC_SHIM_RUNNING);
	rig_life(&rig);
	rig_begin(&rig, 2);
	rig_deadline(&rig, PAST, FAR);
	assert_int_equal(rig_expect(&rig, REC_SHIM_VOID).claim_id, 2); /* at once, whatever the first takes to end */
	assert_int_equal(rec_record_find(rig.map, REC_LANE_ENDED, 1, &end), false);
	rig_deadline(&rig, PAST, PAST);
	close(rig.socket);
	assert_int_equal(waitpid(rig.shim, &status, 0), rig.shim);
	assert_true(rec_record_find(rig.map, REC_LANE_ENDED, 1, &end));
	assert_true(WIFSIGNALED(end.wait_status) && WTERMSIG(end.wait_status) == SIGKILL && end.signalled);
	rec_record_map_close(rig.map);
	nftw(rig.folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void test_shim__a_second_shim_on_the_slot_is_refused(void **state)
{
	(void)state;
	struct rig rig;
	rig_sh(&rig, "true");
	int ends[2];
	char slot[16], logs[16], socket_text[16];
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	snprintf(slot, sizeof slot, "%d", rig.slot_fd);
	snprintf(logs, sizeof logs, "%d", rig.logs_fd);
	snprintf(socket_text, sizeof socket_text, "%d", ends[1]);
	pid_t second = fork();
	if (second == 0) {
		int null = open("/dev/null", O_WRONLY);
		dup2(null, 2);
		execl(shim_path, shim_path, slot, logs, socket_text, "/", "0", "--", "/bin/true", (char *)NULL);
		_exit(126);
	}
	int status;
	assert_int_equal(waitpid(second, &status, 0), second);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
	assert_int_equal(rig_run(&rig, 1).number, 0); /* the first is not disturbed */
	close(ends[0]);
	close(ends[1]);
	rig_end(&rig);
}

static void test_shim__garbage_on_the_socket_is_ignored(void **state)
{
	(void)state;
	struct rig rig;
	char garbage[5000];
	rig_sh(&rig, "true");
	memset(garbage, 0xff, sizeof garbage);
	for (size_t length = 1; length < sizeof garbage; length = length * 3 + 1)
		assert_true(send(rig.socket, garbage, length, MSG_NOSIGNAL) > 0);
	struct rec_shim_message lying = {.version = REC_SHIM_VERSION,
					 .type = REC_SHIM_START,
					 .claim_id = 9,
					 .id_length = UINT32_MAX,
					 .title_length = 1};
	assert_true(send(rig.socket, &lying, sizeof lying, MSG_NOSIGNAL) > 0);
	assert_int_equal(rig_expect(&rig, REC_SHIM_VOID).claim_id, 9);
	assert_int_equal(rig_run(&rig, 1).number, 0);
	assert_int_equal(rig_end(&rig), 0);
}

int main(int count, char **arguments)
{
	if (count < 2)
		return 2;
	shim_path = arguments[1];
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* as a conductor is */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shim__exit_code_and_signal_are_kept_apart),
		cmocka_unit_test(test_shim__task_arrives_by_arguments_environment_stdin_and_file),
		cmocka_unit_test(test_shim__a_task_file_that_is_a_fifo_or_a_link_starts_nothing),
		cmocka_unit_test(test_shim__odd_bytes_in_the_output_are_kept_raw),
		cmocka_unit_test(test_shim__no_output_makes_no_file_and_long_output_is_cut_with_notice),
		cmocka_unit_test(test_shim__a_grandchild_with_our_stdout_is_ended_not_waited_for),
		cmocka_unit_test(test_shim__descendants_that_left_session_and_ignore_sigterm_are_killed),
		cmocka_unit_test(test_shim__signal_reaches_the_whole_tree),
		cmocka_unit_test(test_shim__an_attempt_ahead_starts_when_the_former_ended),
		cmocka_unit_test(test_shim__recall_voids_what_has_not_started_only),
		cmocka_unit_test(test_shim__a_lost_conductor_ends_nothing_and_the_next_one_adopts),
		cmocka_unit_test(test_shim__without_conductor_the_end_is_recorded_and_the_shim_leaves),
		cmocka_unit_test(test_shim__killed_itself_takes_the_child_along),
		cmocka_unit_test(test_shim__a_command_that_cannot_be_executed_ends_with_its_errno),
		cmocka_unit_test(test_shim__signs_of_life_are_output_cpu_time_and_heartbeat),
		cmocka_unit_test(test_shim__at_its_deadline_what_runs_is_stopped_and_what_waits_is_void),
		cmocka_unit_test(test_shim__at_its_deadline_what_ignores_sigterm_is_killed_also_without_conductor),
		cmocka_unit_test(test_shim__a_second_shim_on_the_slot_is_refused),
		cmocka_unit_test(test_shim__garbage_on_the_socket_is_ignored),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
