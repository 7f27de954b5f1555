/* response.c - headers are compared without regard to case; a value that does not make sense is as good as none.
 * Waits are clamped here, in one place: recorded answers hold reset times in milliseconds, clocks are wrong, and no
 * answer may switch a tracker off for good. */
#include "github/response.h"

#include "base/json.h"
#include "base/timestamp.h"
#include "github/fold.h"

void gh_response_init(struct gh_response *r, const struct rec_allocator *a)
{
	*r = (struct gh_response){0};
	rec_arena_init(&r->arena, a);
	rec_buffer_init(&r->body, a, GH_BODY_BYTES_MAX);
	gh_response_clear(r);
}

void gh_response_release(struct gh_response *r)
{
	rec_arena_release(&r->arena);
	rec_buffer_release(&r->body);
}

void gh_response_clear(struct gh_response *r)
{
	struct rec_arena arena = r->arena;
	struct rec_buffer body = r->body;
	rec_arena_release(&arena);
	rec_buffer_clear(&body);
	*r = (struct gh_response){.arena = arena, .body = body};
	r->retry_after_s = -1;
	r->retry_at_us = r->date_us = INT64_MIN;
	r->budget = (struct gh_budget){-1, -1, -1};
}

/* ---- Header lines ---- */

static bool name_is(struct rec_slice name, const char *wanted)
{
	return gh_equal_fold(name, rec_slice_of(wanted));
}

static struct rec_slice trimmed(struct rec_slice text)
{
	while (text.length && strchr(" \t\r\n", text.data[text.length - 1]))
		text.length--;
	while (text.length && (text.data[0] == ' ' || text.data[0] == '\t')) {
		text.data++;
		text.length--;
	}
	return text;
}

static struct rec_slice keep(struct gh_response *r, struct rec_slice value)
{
	if (r->arena.bytes + value.length > GH_HEADERS_BYTES_MAX)
		return (struct rec_slice){0};
	char *copy = rec_arena_strndup(&r->arena, value.data, value.length);
	if (!copy)
		r->failed = REC_E_NOMEM;
	return (struct rec_slice){copy, copy ? value.length : 0};
}

static int64_t count_of(struct rec_slice value)
{
	int64_t count;
	return rec_json_int64(value, &count) == 0 && count >= 0 ? count : -1;
}

/* "HTTP/1.1 200 OK", "HTTP/2 200" */
static void status_take(struct gh_response *r, struct rec_slice line)
{
	const char *blank = memchr(line.data, ' ', line.length);
	int status = 0;
	gh_response_clear(r);
	if (!blank)
		return;
	for (const char *p = blank + 1; p < line.data + line.length && *p >= '0' && *p <= '9' && status < 1000; p++)
		status = status * 10 + (*p - '0');
	r->status = status >= 100 && status <= 599 ? status : 0;
}

void gh_response_line(struct gh_response *r, struct rec_slice line)
{
	line = trimmed(line);
	if (line.length >= 5 && memcmp(line.data, "HTTP/", 5) == 0) {
		status_take(r, line);
		return;
	}
	const char *colon = line.length ? memchr(line.data, ':', line.length) : NULL;
	if (!colon)
		return;
	struct rec_slice name = {line.data, (size_t)(colon - line.data)};
	struct rec_slice value = trimmed((struct rec_slice){colon + 1, line.length - name.length - 1});
	if (name_is(name, "etag"))
		r->etag = keep(r, value);
	else if (name_is(name, "link"))
		r->link = keep(r, value);
	else if (name_is(name, "location"))
		r->location = keep(r, value);
	else if (name_is(name, "date"))
		(void)gh_http_date_parse(value, &r->date_us);
	else if (name_is(name, "retry-after")) {
		r->retry_after_s = count_of(value);
		(void)gh_http_date_parse(value, &r->retry_at_us);
	} else if (name_is(name, "x-ratelimit-limit"))
		r->budget.limit = count_of(value);
	else if (name_is(name, "x-ratelimit-remaining"))
		r->budget.remaining = count_of(value);
	else if (name_is(name, "x-ratelimit-reset"))
		r->budget.reset_s = count_of(value);
	else if (name_is(name, "x-ratelimit-resource"))
		r->graphql = name_is(value, "graphql");
}

static int two_digits(const char *p, int *ret_value)
{
	if (p[0] < '0' || p[0] > '9' || p[1] < '0' || p[1] > '9')
		return REC_E_INVALID;
	*ret_value = (p[0] - '0') * 10 + (p[1] - '0');
	return 0;
}

int gh_http_date_parse(struct rec_slice text, int64_t *ret_us)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	int day, century, years;
	char iso[] = "YYYY-MM-DDTHH:MM:SSZ";
	if (text.length != 29 || text.data[3] != ',' || memcmp(text.data + 25, " GMT", 4) != 0)
		return REC_E_INVALID;
	if (two_digits(text.data + 5, &day) < 0 || two_digits(text.data + 12, &century) < 0 ||
	    two_digits(text.data + 14, &years) < 0)
		return REC_E_INVALID;
	for (int month = 0; month < 12; month++) {
		if (memcmp(months + 3 * month, text.data + 8, 3) != 0)
			continue;
		memcpy(iso, text.data + 12, 4);
		iso[5] = (char)('0' + (month + 1) / 10);
		iso[6] = (char)('0' + (month + 1) % 10);
		memcpy(iso + 8, text.data + 5, 2);
		memcpy(iso + 11, text.data + 17, 8);
		return rec_timestamp_parse(rec_slice_of(iso), ret_us);
	}
	return REC_E_INVALID;
}

/* ---- Link ---- */

static struct rec_slice rest_from(struct rec_slice text, size_t at)
{
	at = at < text.length ? at : text.length;
	return (struct rec_slice){text.data + at, text.length - at};
}

/* Takes one parameter value: a token or a quoted string (without its quotes; escapes stay). */
static struct rec_slice value_take(struct rec_slice *rest)
{
	bool quoted = rest->length && rest->data[0] == '"';
	size_t begin = quoted ? 1 : 0, end = begin;
	while (end < rest->length && (quoted ? rest->data[end] != '"' : !strchr(",; \t", rest->data[end])))
		end += quoted && rest->data[end] == '\\' && end + 1 < rest->length ? 2 : 1;
	struct rec_slice value = {rest->data + begin, end - begin};
	*rest = rest_from(*rest, end + (quoted ? 1 : 0));
	return value;
}

/* Is the relation one of the words of a rel value? */
static bool has_word(struct rec_slice words, const char *relation)
{
	while (words.length) {
		size_t end = 0;
		while (end < words.length && words.data[end] != ' ')
			end++;
		if (name_is((struct rec_slice){words.data, end}, relation))
			return true;
		words = rest_from(words, end + 1);
	}
	return false;
}

/* The parameters behind a target, up to the comma that ends them; whether rel (the first counts) has the word. */
static bool parameters_take(struct rec_slice *rest, const char *relation)
{
	bool found = false, seen = false;
	while (rest->length && rest->data[0] != ',') {
		if (strchr("; \t", rest->data[0])) {
			*rest = rest_from(*rest, 1);
			continue;
		}
		size_t end = 0;
		while (end < rest->length && !strchr("=;, \t", rest->data[end]))
			end++;
		struct rec_slice name = {rest->data, end};
		*rest = rest_from(*rest, end);
		if (!rest->length || rest->data[0] != '=')
			continue;
		*rest = rest_from(*rest, 1);
		struct rec_slice value = value_take(rest);
		if (!seen && name_is(name, "rel")) {
			seen = true;
			found = has_word(value, relation);
		}
	}
	return found;
}

struct rec_slice gh_link_header_find(struct rec_slice header, const char *relation)
{
	struct rec_slice rest = header;
	while (rest.length) {
		if (strchr(", \t", rest.data[0])) {
			rest = rest_from(rest, 1);
			continue;
		}
		const char *end = rest.data[0] == '<' ? memchr(rest.data, '>', rest.length) : NULL;
		if (!end)
			break;
		struct rec_slice target = {rest.data + 1, (size_t)(end - rest.data) - 1};
		rest = rest_from(rest, target.length + 2);
		if (parameters_take(&rest, relation))
			return target;
	}
	return (struct rec_slice){0};
}

int64_t gh_url_page(struct rec_slice url)
{
	for (size_t i = 0; i + 6 <= url.length; i++) {
		if ((url.data[i] != '?' && url.data[i] != '&') || memcmp(url.data + i + 1, "page=", 5) != 0)
			continue;
		size_t begin = i + 6, end = begin;
		while (end < url.length && url.data[end] >= '0' && url.data[end] <= '9')
			end++;
		return end > begin ? count_of((struct rec_slice){url.data + begin, end - begin}) : -1;
	}
	return -1;
}

/* ---- Limits ---- */

static int64_t clamped(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

int64_t gh_budget_wait_s(const struct gh_budget *b, int64_t now_us)
{
	int64_t now_s = now_us / 1000000;
	if (b->reset_s < 0 || b->reset_s <= now_s)
		return GH_WAIT_S_MIN;
	return clamped(b->reset_s - now_s + 1, 1, GH_WAIT_S_MAX);
}

static bool mentions(struct rec_slice message, const char *words)
{
	size_t length = strlen(words);
	for (size_t i = 0; i + length <= message.length; i++)
		if (name_is((struct rec_slice){message.data + i, length}, words))
			return true;
	return false;
}

bool gh_response_limited(const struct gh_response *r, struct rec_slice message, unsigned strikes, int64_t now_us,
			 int64_t *ret_wait_s)
{
	int64_t now = r->date_us != INT64_MIN ? r->date_us : now_us;
	if (r->status != 403 && r->status != 429)
		return false;
	if (r->retry_after_s >= 0) {
		*ret_wait_s = clamped(r->retry_after_s, 0, GH_WAIT_S_MAX - 1) + 1;
	} else if (r->retry_at_us != INT64_MIN) {
		*ret_wait_s = clamped(r->retry_at_us / 1000000 - now / 1000000, 0, GH_WAIT_S_MAX - 1) + 1;
	} else if (r->budget.remaining == 0) {
		*ret_wait_s = gh_budget_wait_s(&r->budget, now);
	} else if (r->status == 429 || mentions(message, "rate limit") || mentions(message, "abuse detection") ||
		   mentions(message, "secondary rate")) {
		*ret_wait_s = clamped((int64_t)GH_WAIT_S_MIN << (strikes < 6 ? strikes : 6), 1, GH_WAIT_S_MAX);
	} else {
		return false;
	}
	return true;
}
