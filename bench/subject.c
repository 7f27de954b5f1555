/* subject.c - what is measured: a store and a batch state in memory.
 *
 * The counting allocator keeps each piece's size in front of it; its cost is why it is used for counting only and
 * never while time is taken.
 */
#include "subject.h"

#include <malloc.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "measure.h"

#define FEW 10
#define FEED_BYTES (64u << 10) /* how the command feeds its parser */

static void *count_allocate(void *context, size_t size)
{
	struct counting_allocator *c = context;
	void *memory = malloc(size);

	if (memory) {
		c->in_use += malloc_usable_size(memory);
		c->most = c->in_use > c->most ? c->in_use : c->most;
	}
	return memory;
}

static void count_release(void *context, void *memory)
{
	struct counting_allocator *c = context;

	if (memory)
		c->in_use -= malloc_usable_size(memory);
	free(memory);
}

static void *count_reallocate(void *context, void *memory, size_t size)
{
	struct counting_allocator *c = context;
	size_t before = memory ? malloc_usable_size(memory) : 0;
	void *moved = realloc(memory, size);

	if (moved) {
		c->in_use += malloc_usable_size(moved) - before;
		c->most = c->in_use > c->most ? c->in_use : c->most;
	}
	return moved;
}

void counting_allocator_init(struct counting_allocator *c)
{
	*c = (struct counting_allocator){
		.allocator = {.allocate = count_allocate,
			      .reallocate = count_reallocate,
			      .release = count_release,
			      .context = c},
	};
}

void subject_must(int result, const struct rec_error *error)
{
	if (result < 0)
		measure_die("library", error->message);
	if (result > 0)
		measure_die("library", "an outcome that a benchmark does not expect");
}

static double parse_bytes(struct rec_belief *belief, struct rec_slice bytes)
{
	struct rec_error error;
	struct rec_belief_parser parser;
	double begin = measure_cpu_us();

	rec_belief_parser_init(&parser, belief, false);
	for (size_t at = 0; at < bytes.length; at += FEED_BYTES) {
		size_t length = bytes.length - at < FEED_BYTES ? bytes.length - at : FEED_BYTES;
		struct rec_slice piece = {bytes.data + at, length};
		subject_must(rec_belief_parser_feed(&parser, piece, &error), &error);
	}
	subject_must(rec_belief_parser_finish(&parser, &error), &error);
	double end = measure_cpu_us();
	rec_belief_parser_release(&parser);
	return end - begin;
}

double subject_parse(struct rec_belief *belief, const char *batch, size_t *ret_bytes)
{
	struct rec_error error;
	struct rec_buffer content;

	rec_buffer_init(&content, NULL, SIZE_MAX / 2);
	subject_must(rec_file_read(batch, SIZE_MAX / 4, &content, &error), &error);
	double us = parse_bytes(belief, rec_buffer_slice(&content));
	if (ret_bytes)
		*ret_bytes = content.length;
	rec_buffer_release(&content);
	return us;
}

void subject_open(struct subject *s, const char *path, const char *batch, enum rec_store_mode mode, bool counted)
{
	struct rec_error error;

	counting_allocator_init(&s->memory);
	const struct rec_allocator *allocator = counted ? &s->memory.allocator : NULL;
	struct rec_store_options options = {.mode = mode, .allocator = allocator};
	subject_must(rec_store_open(path, &options, &s->store, &error), &error);
	rec_belief_init(&s->belief, allocator, rec_random_u64());
	if (batch)
		(void)subject_parse(&s->belief, batch, NULL);
}

void subject_close(struct subject *s)
{
	rec_belief_release(&s->belief);
	s->store = rec_store_close(s->store);
}

/* The first id from position `from` on whose task is BLOCKED, or is not. */
static struct rec_slice pick(const struct rec_results *results, size_t from, bool blocked)
{
	size_t count = results->snapshot.count;

	for (size_t i = 0; i < count; i++) {
		size_t at = (from + i) % count;
		if ((results->snapshot.facts[at].status == REC_BLOCKED) == blocked)
			return results->snapshot.ids[at];
	}
	measure_die("few", "no such task");
}

static double time_check(struct subject *s, const struct rec_slice *ids, size_t count)
{
	struct rec_results results;
	struct rec_error error;
	double begin = measure_cpu_us();

	int r = rec_check(s->store, REC_CHECK_MERGED, ids, count, &s->belief, &results, &error);
	double end = measure_cpu_us();
	subject_must(r, &error);
	rec_results_release(&results);
	return end - begin;
}

double subject_few_us(struct subject *s, bool one_blocked, size_t runs)
{
	struct rec_slice few[FEW];
	struct rec_results results;
	struct rec_error error;
	double *times = measure_alloc(runs, sizeof *times);

	subject_must(rec_check(s->store, REC_CHECK_MERGED, NULL, 0, &s->belief, &results, &error), &error);
	for (size_t i = 0; i < FEW; i++)
		few[i] = pick(&results, i * results.snapshot.count / FEW, one_blocked && i == FEW / 2);
	rec_results_release(&results);
	for (size_t i = 0; i < runs; i++)
		times[i] = time_check(s, few, FEW);
	double median = measure_quantile(times, runs, 0.5);
	free(times);
	return median;
}
