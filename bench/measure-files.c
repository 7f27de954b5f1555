/* measure-files.c - a directory of task files: the first snapshot against reading and parsing the same files bare, also
 * where they are indexed, an idle tick, a tick after k changes, and how soon a change by hand is decided on.
 *
 * usage: measure-files FOLDER TASKS PAIRS CHANGES     FOLDER does not exist yet, and is left behind
 * Prints lines "NAME TAB VALUE".
 *
 * Bare is the least that gives each task's fields: the directory's entries, for each an open, a stat, a read and a
 * close, and every token of its text by the same tokenizer.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "measure.h"
#include "store/store.h"

#define IDLE_LOOKS 20000

struct world {
	const char *folder;
	char uri[512];
	int tasks;
	uint64_t tokens; /* so that nothing bare is optimised away */
};

static void must(int r, const struct rec_error *error)
{
	if (r < 0)
		measure_die("store", error->message);
}

static struct rec_store *store_open(const struct world *w, enum rec_store_mode mode)
{
	const struct rec_store_options options = {.mode = mode};
	struct rec_store *store = NULL;
	struct rec_error error;
	must(rec_store_open(w->uri, &options, &store, &error), &error);
	return store;
}

static void task_id(int number, char out[64])
{
	snprintf(out, 64, "%08x-5eed-4000-8000-%012x", (unsigned)number * 2654435761u, (unsigned)number);
}

static void store_fill(const struct world *w)
{
	struct rec_store *store = store_open(w, REC_STORE_INIT);
	struct rec_error error;
	must(rec_store_begin(store, &error), &error);
	for (int i = 0; i < w->tasks; i++) {
		char id[64], before[64];
		task_id(i, id);
		task_id(i / 2, before);
		struct rec_slice depends = rec_slice_of(before);
		const struct rec_blocker blocker = {.id = rec_slice_of(id), .question = rec_slice_of("Which one?")};
		const struct rec_task task = {
			.id = rec_slice_of(id),
			.title = rec_slice_of("A task of an ordinary length of title"),
			.description = rec_slice_of("What is to be done, in a sentence or two. It has no quotes."),
			.status = i % 10 == 0 ? REC_BLOCKED : REC_READY,
			.depends_on = &depends,
			.depends_on_count = i > 0,
			.is_leaf = true,
			.blockers = &blocker,
			.blocker_count = i % 10 == 0,
		};
		must(rec_store_create(store, &task, &error), &error);
	}
	must(rec_store_commit(store, &error), &error);
	rec_store_close(store);
}

/* ---- The first snapshot ---- */

static void text_tokens(struct world *w, int fd, size_t size)
{
	struct rec_json_reader reader;
	struct rec_json_token token;
	rec_json_init(&reader, NULL, size + 1);
	char *space = rec_json_space(&reader, size + 1);
	ssize_t got = space ? read(fd, space, size + 1) : -1;
	if (got < 0)
		measure_die("read", "failed");
	rec_json_added(&reader, (size_t)got);
	rec_json_finish(&reader);
	while (rec_json_next(&reader, &token, NULL) == 0)
		w->tokens++;
	rec_json_release(&reader);
}

static double bare(void *context)
{
	struct world *w = context;
	double begin = measure_cpu_us();
	DIR *folder = opendir(w->folder);
	struct dirent *entry;
	struct stat status;
	if (!folder)
		measure_die(w->folder, "cannot be opened");
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		int fd = openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &status) < 0)
			measure_die(entry->d_name, "cannot be opened");
		text_tokens(w, fd, (size_t)status.st_size);
		close(fd);
	}
	closedir(folder);
	return measure_cpu_us() - begin;
}

static double ours(void *context)
{
	struct world *w = context;
	struct rec_snapshot snapshot;
	struct rec_error error;
	double begin = measure_cpu_us();
	struct rec_store *store = store_open(w, REC_STORE_READ);
	must(rec_store_snapshot(store, NULL, 0, REC_SNAPSHOT_BLOCKERS, &snapshot, &error), &error);
	double end = measure_cpu_us();
	if (snapshot.count != (size_t)w->tasks)
		measure_die("snapshot", "another number of tasks");
	rec_snapshot_release(&snapshot);
	rec_store_close(store);
	return end - begin;
}

/* The same after somebody has opened a group, who left the texts in one file. */
static void measure_indexed(struct world *w, size_t count)
{
	struct measure_pairs pairs;
	struct rec_error error;
	struct rec_store *store = store_open(w, REC_STORE_WRITE);
	must(rec_store_begin(store, &error), &error);
	rec_store_rollback(store);
	rec_store_close(store);
	measure_pairs_init(&pairs, count);
	measure_pairs_run(&pairs, ours, bare, w);
	struct measure_result result = measure_pairs_result(&pairs);
	printf("files_again_ratio\t%.3f\nfiles_again_us\t%.1f\n", result.ratio, result.a_us);
	measure_pairs_release(&pairs);
}

/* ---- Ticks ---- */

static int count_id(void *context, struct rec_slice id)
{
	(void)id;
	++*(size_t *)context;
	return 0;
}

static size_t look(struct rec_store *store, struct rec_cursor *cursor)
{
	struct rec_error error;
	size_t told = 0;
	must(rec_store_changes(store, cursor, count_id, &told, &error), &error);
	return told;
}

/* As an editor: under another name, then into place. */
static void edit(const struct world *w, int number, const char *status)
{
	char id[64], path[1024], other[1024], text[512];
	task_id(number, id);
	snprintf(path, sizeof path, "%s/%s.json", w->folder, id);
	snprintf(other, sizeof other, "%s/.%s.swp", w->folder, id);
	int length = snprintf(text, sizeof text, "{\n  \"title\": \"edited\",\n  \"status\": \"%s\"\n}\n", status);
	int fd = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, text, (size_t)length) != length || close(fd) < 0 || rename(other, path) < 0)
		measure_die(path, "cannot be written");
}

static void measure_ticks(const struct world *w, struct rec_store *store, struct rec_cursor *cursor)
{
	static const int changes[] = {1, 10, 1000};
	double begin = measure_cpu_us();
	for (int i = 0; i < IDLE_LOOKS; i++)
		look(store, cursor);
	printf("files_idle_us\t%.3f\n", (measure_cpu_us() - begin) / IDLE_LOOKS);
	for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
		int count = changes[k] < w->tasks ? changes[k] : w->tasks;
		for (int i = 0; i < count; i++)
			edit(w, i, k % 2 ? "READY" : "DONE");
		begin = measure_cpu_us();
		if (look(store, cursor) < (size_t)count)
			measure_die("tick", "a change was missed");
		printf("files_tick_%d_us\t%.1f\n", changes[k], measure_cpu_us() - begin);
	}
}

/* ---- Reaction ---- */

/* The other process: waits to be told, edits, says when the file was in place. */
static void editor(const struct world *w, int from, int to, int changes)
{
	char go;
	for (int i = 0; i < changes && read(from, &go, 1) == 1; i++) {
		double now = measure_now_us(); /* before the file is written: that is part of it */
		edit(w, i % w->tasks, i / w->tasks % 2 ? "READY" : "FAILED");
		if (write(to, &now, sizeof now) != sizeof now)
			_exit(1);
	}
	_exit(0);
}

static void measure_reaction(const struct world *w, struct rec_store *store, struct rec_cursor *cursor, int changes)
{
	int go[2], done[2], fd;
	struct rec_error error;
	double *reactions = measure_alloc((size_t)changes, sizeof *reactions);
	if (pipe(go) < 0 || pipe(done) < 0)
		measure_die("pipe", "failed");
	must(rec_store_wake_fd(store, &fd, &error), &error);
	pid_t pid = fork();
	if (pid == 0)
		editor(w, go[0], done[1], changes);
	for (int i = 0; i < changes; i++) {
		double written, decided;
		struct pollfd wake = {.fd = fd, .events = POLLIN};
		if (write(go[1], "g", 1) != 1)
			measure_die("pipe", "failed");
		while (look(store, cursor) == 0)
			if (poll(&wake, 1, 5000) <= 0)
				measure_die("reaction", "a change was missed");
		decided = measure_now_us();
		if (read(done[0], &written, sizeof written) != sizeof written)
			measure_die("pipe", "failed");
		reactions[i] = decided > written ? decided - written : 0;
	}
	waitpid(pid, NULL, 0);
	printf("files_reaction_us\t%.1f\n", measure_quantile(reactions, (size_t)changes, 0.5));
	printf("files_reaction_p99_us\t%.1f\n", measure_quantile(reactions, (size_t)changes, 0.99));
	free(reactions);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		measure_die("usage", "measure-files FOLDER TASKS PAIRS CHANGES");
	struct world w = {.folder = argv[1], .tasks = measure_number(argv[2])};
	struct measure_pairs pairs;
	struct rec_cursor cursor = {0};
	struct rec_error error;
	snprintf(w.uri, sizeof w.uri, "dir:%s", w.folder);
	store_fill(&w);
	measure_pairs_init(&pairs, (size_t)measure_number(argv[3]));
	measure_pairs_run(&pairs, ours, bare, &w);
	struct measure_result result = measure_pairs_result(&pairs);
	printf("files_ratio\t%.3f\nfiles_first_us\t%.1f\nfiles_bare_us\t%.1f\n", result.ratio, result.a_us,
	       result.b_us);
	measure_pairs_release(&pairs);
	measure_indexed(&w, (size_t)measure_number(argv[3]));
	struct rec_store *store = store_open(&w, REC_STORE_READ);
	must(rec_store_changes(store, &cursor, count_id, NULL, &error), &error);
	measure_ticks(&w, store, &cursor);
	measure_reaction(&w, store, &cursor, measure_number(argv[4]));
	rec_store_close(store);
	return 0;
}
