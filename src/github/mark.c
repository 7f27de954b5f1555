/* mark.c - fields between semicolons, a version first; the entity tag stands last since only it may hold anything. */
#include "github/mark.h"

#include <inttypes.h>

#include "base/json.h"

static const char states[] = {
	[GH_STATE_UNKNOWN] = '?', [GH_STATE_OPEN] = 'o', [GH_STATE_CLOSED] = 'c', [GH_STATE_MERGED] = 'm'};

/* The text up to the next semicolon, which is taken too; *good turns false if there is none. */
static struct rec_slice field_take(struct rec_slice *rest, bool *good)
{
	const char *end = rest->length ? memchr(rest->data, ';', rest->length) : NULL;
	if (!end) {
		*good = false;
		return (struct rec_slice){0};
	}
	struct rec_slice field = {rest->data, (size_t)(end - rest->data)};
	rest->data = end + 1;
	rest->length -= field.length + 1;
	return field;
}

static int64_t count_take(struct rec_slice *rest, int64_t minimum, bool *good)
{
	int64_t value = 0;
	struct rec_slice field = field_take(rest, good);
	if (rec_json_int64(field, &value) < 0 || value < minimum || value > INT64_MAX / 1000000)
		*good = false;
	return value;
}

static bool etag_is_good(struct rec_slice etag)
{
	if (etag.length > GH_ETAG_BYTES_MAX)
		return false;
	for (size_t i = 0; i < etag.length; i++)
		if (etag.data[i] < ' ' || etag.data[i] > '~')
			return false;
	return true;
}

static struct rec_slice etag_kept(struct rec_slice etag)
{
	return etag_is_good(etag) ? etag : (struct rec_slice){0};
}

/* Reasons are words; whatever is none cannot be told from another that is none, and need not be. */
static struct rec_slice word_kept(struct rec_slice word)
{
	if (word.length > 64)
		return rec_slice_of("?");
	for (size_t i = 0; i < word.length; i++) {
		char c = word.data[i];
		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_')
			return rec_slice_of("?");
	}
	return word;
}

static bool time_is_good(struct rec_slice text)
{
	return text.length <= 40 && etag_is_good(text);
}

int gh_mark_read(struct rec_slice text, struct gh_mark *ret_mark)
{
	struct gh_mark m = {0};
	struct rec_slice rest = text;
	bool good = text.length <= GH_MARK_BYTES_MAX;
	good = good && rec_slice_equal(field_take(&rest, &good), rec_slice_of("1"));
	m.covered_s = count_take(&rest, 0, &good);
	m.verified_s = count_take(&rest, 0, &good);
	struct rec_slice state = field_take(&rest, &good), kind = field_take(&rest, &good);
	m.comments = count_take(&rest, -1, &good);
	m.updated = field_take(&rest, &good);
	m.reason = field_take(&rest, &good);
	m.etag = rest;
	const char *letter = state.length == 1 ? memchr(states, state.data[0], sizeof states) : NULL;
	bool pull = rec_slice_equal(kind, rec_slice_of("p"));
	if (!good || !letter || (!pull && !rec_slice_equal(kind, rec_slice_of("i"))) || !time_is_good(m.updated) ||
	    !etag_is_good(m.etag))
		return REC_E_INVALID;
	m.state = (enum gh_state)(letter - states);
	m.pull = pull;
	*ret_mark = m;
	return 0;
}

int gh_mark_write(struct rec_buffer *out, const struct gh_mark *m)
{
	struct rec_slice reason = word_kept(m->reason), etag = etag_kept(m->etag), updated = m->updated;
	if (!time_is_good(updated) || (updated.length && memchr(updated.data, ';', updated.length)))
		updated = (struct rec_slice){0};
	rec_buffer_printf(out, "1;%" PRId64 ";%" PRId64 ";%c;%c;%" PRId64 ";", m->covered_s, m->verified_s,
			  states[m->state], m->pull ? 'p' : 'i', m->comments);
	rec_buffer_add(out, updated.data, updated.length);
	rec_buffer_add(out, ";", 1);
	rec_buffer_add(out, reason.data, reason.length);
	rec_buffer_add(out, ";", 1);
	return rec_buffer_add(out, etag.data, etag.length);
}

bool gh_mark_same(const struct gh_mark *a, const struct gh_mark *b)
{
	return a->state == b->state && a->pull == b->pull && a->comments == b->comments &&
	       rec_slice_equal(a->updated, b->updated) && rec_slice_equal(word_kept(a->reason), word_kept(b->reason));
}

int gh_cursor_read(struct rec_slice text, struct gh_cursor *ret_cursor)
{
	struct gh_cursor c = {0};
	struct rec_slice rest = text;
	bool good = text.length <= GH_MARK_BYTES_MAX;
	good = good && rec_slice_equal(field_take(&rest, &good), rec_slice_of("1"));
	c.since_s = count_take(&rest, 0, &good);
	struct rec_slice links = field_take(&rest, &good);
	good = good && rec_json_int64(links, &c.links) == 0 && c.links >= 0;
	c.etag = rest;
	if (!good || !etag_is_good(c.etag))
		return REC_E_INVALID;
	*ret_cursor = c;
	return 0;
}

int gh_cursor_write(struct rec_buffer *out, const struct gh_cursor *c)
{
	struct rec_slice etag = etag_kept(c->etag);
	rec_buffer_printf(out, "1;%" PRId64 ";%" PRId64 ";", c->since_s, c->links);
	return rec_buffer_add(out, etag.data, etag.length);
}

int gh_turn_read(struct rec_slice text, size_t *ret_turn)
{
	struct rec_slice rest = text;
	bool good = text.length <= GH_MARK_BYTES_MAX;
	good = good && rec_slice_equal(field_take(&rest, &good), rec_slice_of("1"));
	int64_t turn = count_take(&rest, 0, &good);
	if (!good || rest.length)
		return REC_E_INVALID;
	*ret_turn = (size_t)turn;
	return 0;
}

int gh_turn_write(struct rec_buffer *out, size_t turn)
{
	return rec_buffer_printf(out, "1;%zu;", turn);
}
