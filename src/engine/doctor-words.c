/* doctor-words.c - words that consist of plain characters stand bare in a command; all others are quoted so that
 * the line can be pasted into a shell whatever the id holds. */
#include "engine/doctor-words.h"

#include "base/text.h"

#define SENTENCE_BYTES_MAX (1u << 20)

void rec_teller_init(struct rec_teller *t, const struct rec_allocator *a, rec_finding_fn *fn, void *context)
{
	*t = (struct rec_teller){.fn = fn, .context = context};
	rec_buffer_init(&t->sentence, a, SENTENCE_BYTES_MAX);
	rec_buffer_init(&t->command, a, REC_TEXT_BYTES_MAX * 4);
}

void rec_teller_release(struct rec_teller *t)
{
	rec_buffer_release(&t->sentence);
	rec_buffer_release(&t->command);
}

int rec_tell(struct rec_teller *t, const char *kind, struct rec_slice task_id, struct rec_error *error)
{
	rec_buffer_add(&t->sentence, "", 0);
	rec_buffer_add(&t->command, "", 0);
	if (t->sentence.failed || t->command.failed)
		return rec_fail_nomem(error);
	struct rec_finding finding = {
		.kind = kind,
		.task_id = task_id,
		.sentence = t->sentence.data,
		.command = t->command.data,
	};
	t->count++;
	int r = t->fn ? t->fn(t->context, &finding) : 0;
	rec_buffer_clear(&t->sentence);
	rec_buffer_clear(&t->command);
	return r;
}

void rec_tell_id(struct rec_buffer *out, struct rec_slice id)
{
	rec_buffer_add_text(out, "\"");
	rec_text_show(out, id, REC_ID_BYTES_MAX);
	rec_buffer_add_text(out, "\"");
}

static bool word_is_plain(struct rec_slice word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:@%+/-";
	for (size_t i = 0; i < word.length; i++)
		if (!memchr(plain, word.data[i], sizeof plain - 1))
			return false;
	return word.length > 0;
}

/* Would it look on a screen as it is? What does not would not be what is copied from there. */
static bool word_is_shown(struct rec_slice word)
{
	struct rec_buffer shown;
	rec_buffer_init(&shown, NULL, 1u << 20);
	bool same = rec_text_show(&shown, word, SIZE_MAX) == 0 && rec_slice_equal(rec_buffer_slice(&shown), word);
	rec_buffer_release(&shown);
	return same;
}

/* In the quotes that shells have for such words: $'line\x0aline'. */
static void word_escape(struct rec_buffer *out, struct rec_slice word)
{
	rec_buffer_add_text(out, "$'");
	for (size_t i = 0; i < word.length; i++) {
		unsigned char c = (unsigned char)word.data[i];
		bool ascii = c >= 0x20 && c < 0x7f;
		rec_buffer_printf(out, !ascii ? "\\x%02x" : c == '\'' || c == '\\' ? "\\%c" : "%c", c);
	}
	rec_buffer_add_text(out, "'");
}

void rec_tell_word(struct rec_buffer *out, struct rec_slice word)
{
	if (word_is_plain(word)) {
		rec_buffer_add(out, word.data, word.length);
		return;
	}
	if (!word_is_shown(word)) {
		word_escape(out, word);
		return;
	}
	rec_buffer_add_text(out, "'");
	for (size_t i = 0; i < word.length; i++)
		if (word.data[i] == '\'')
			rec_buffer_add_text(out, "'\\''");
		else
			rec_buffer_add(out, word.data + i, 1);
	rec_buffer_add_text(out, "'");
}

void rec_tell_target(struct rec_buffer *out, struct rec_slice id)
{
	rec_buffer_add_text(out, id.length && id.data[0] == '-' ? " -- " : " ");
	rec_tell_word(out, id);
}

void rec_tell_dependencies(struct rec_buffer *out, const struct rec_task *task, rec_keep_fn *keep, void *context)
{
	size_t kept = 0;
	for (size_t i = 0; i < task->depends_on_count; i++)
		if (keep(context, task->depends_on[i])) {
			kept++;
			rec_buffer_add_text(out, " --depends-on=");
			rec_tell_word(out, task->depends_on[i]);
		}
	if (kept == 0)
		rec_buffer_add_text(out, " --depends-on=");
}
