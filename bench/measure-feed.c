/* measure-feed.c - what a long-running watch pays: an idle look, a look after k foreign changes.
 *
 * usage: measure-feed FOLDER RUNS     FOLDER as make-store left it; our tables are added to the store
 * Prints lines "NAME TAB VALUE".
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/watch.h"
#include "measure.h"
#include "subject.h"

#define IDLE_LOOKS 20000 /* one measurement: short looks are timed together */

struct feed {
	struct subject subject;
	struct rec_watch *watch;
	sqlite3 *foreign; /* another program's connection */
	sqlite3_stmt *change, *begin, *commit, *version;
	size_t next; /* the task changed next */
};

static int forget_result(void *context, const struct rec_result_view *view, int applied)
{
	(void)context;
	(void)view;
	(void)applied;
	return 0;
}

static uint64_t look(struct feed *f)
{
	struct rec_error error;
	uint64_t told = 0;

	subject_must(rec_watch_look(f->watch, (int64_t)measure_now_us(), forget_result, NULL, &told, &error), &error);
	return told;
}

static void open_foreign(struct feed *f, const char *path)
{
	if (sqlite3_open_v2(path, &f->foreign, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		measure_die(path, sqlite3_errmsg(f->foreign));
	sqlite3_busy_timeout(f->foreign, 5000);
	/* Every change moves the status, whatever it was: the watch must see each. */
	const char *sql =
		"UPDATE tasks SET status = CASE status WHEN 'READY' THEN 'DONE' ELSE 'READY' END WHERE id = ?1";
	if (sqlite3_prepare_v2(f->foreign, sql, -1, &f->change, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(f->foreign, "BEGIN IMMEDIATE", -1, &f->begin, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(f->foreign, "COMMIT", -1, &f->commit, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(f->foreign, "PRAGMA data_version", -1, &f->version, NULL) != SQLITE_OK)
		measure_die("prepare", sqlite3_errmsg(f->foreign));
}

static void step(struct feed *f, sqlite3_stmt *statement)
{
	if (sqlite3_step(statement) != SQLITE_DONE)
		measure_die("foreign change", sqlite3_errmsg(f->foreign));
	sqlite3_reset(statement);
}

static void change_tasks(struct feed *f, size_t count)
{
	const struct rec_belief *belief = &f->subject.belief;

	step(f, f->begin);
	for (size_t i = 0; i < count; i++) {
		struct rec_slice id = belief->ids[f->next++ % belief->count];
		sqlite3_bind_text(f->change, 1, id.data, (int)id.length, SQLITE_STATIC);
		step(f, f->change);
	}
	step(f, f->commit);
}

/* The least that can tell whether another program has committed: what an idle look is compared with. */
static double bare_looks(void *context)
{
	struct feed *f = context;
	double begin = measure_cpu_us();

	for (size_t k = 0; k < IDLE_LOOKS; k++) {
		if (sqlite3_step(f->version) != SQLITE_ROW)
			measure_die("data_version", sqlite3_errmsg(f->foreign));
		sqlite3_reset(f->version);
	}
	return (measure_cpu_us() - begin) / IDLE_LOOKS;
}

static double idle_looks(void *context)
{
	double begin = measure_cpu_us();

	for (size_t k = 0; k < IDLE_LOOKS; k++)
		(void)look(context);
	return (measure_cpu_us() - begin) / IDLE_LOOKS;
}

static void measure_idle(struct feed *f, size_t runs)
{
	struct measure_pairs p;

	measure_pairs_init(&p, runs);
	measure_pairs_run(&p, idle_looks, bare_looks, f);
	struct measure_result result = measure_pairs_result(&p);
	printf("idle_us\t%.3f\nidle_bare_us\t%.3f\nidle_ratio\t%.3f\n", result.a_us, result.b_us, result.ratio);
	measure_pairs_release(&p);
}

static void measure_tick(struct feed *f, size_t changes, size_t runs)
{
	double *times = measure_alloc(runs, sizeof *times);

	for (size_t i = 0; i < runs; i++) {
		change_tasks(f, changes);
		double begin = measure_cpu_us();
		uint64_t told = look(f);
		times[i] = measure_cpu_us() - begin;
		if (told == 0)
			measure_die("tick", "the watch did not see a change");
	}
	printf("tick_%zu_us\t%.1f\n", changes, measure_quantile(times, runs, 0.5));
	free(times);
}

static void start_watch(struct feed *f)
{
	struct rec_watch_options options = {.kind = REC_CHECK_MERGED, .only_believed = true};
	struct rec_error error;

	subject_must(rec_watch_new(f->subject.store, &options, &f->watch, &error), &error);
	for (size_t i = 0; i < f->subject.belief.count; i++)
		subject_must(
			rec_watch_believe(f->watch, f->subject.belief.ids[i], f->subject.belief.statuses[i], &error),
			&error);
	double begin = measure_cpu_us();
	(void)look(f);
	printf("first_look_us\t%.1f\n", measure_cpu_us() - begin);
}

int main(int count, char **arguments)
{
	char store[4096], batch[4096];
	struct feed f = {0};

	if (count != 3)
		measure_die("usage", "measure-feed FOLDER RUNS");
	size_t runs = (size_t)measure_number(arguments[2]);
	snprintf(store, sizeof store, "%s/state.db", arguments[1]);
	snprintf(batch, sizeof batch, "%s/batch.json", arguments[1]);
	subject_open(&f.subject, store, NULL, REC_STORE_INIT, false);
	subject_close(&f.subject);
	subject_open(&f.subject, store, batch, REC_STORE_WRITE, false);
	open_foreign(&f, store);
	printf("few_attached_us\t%.1f\n", subject_few_us(&f.subject, true, runs * 10));
	start_watch(&f);
	measure_idle(&f, runs);
	measure_tick(&f, 1, runs * 20);
	measure_tick(&f, 10, runs * 10);
	if (f.subject.belief.count >= 1000)
		measure_tick(&f, 1000, runs);
	f.watch = rec_watch_free(f.watch);
	sqlite3_finalize(f.change);
	sqlite3_finalize(f.begin);
	sqlite3_finalize(f.commit);
	sqlite3_finalize(f.version);
	sqlite3_close(f.foreign);
	subject_close(&f.subject);
	return 0;
}
