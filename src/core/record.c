/* record.c - the one behaviour of plain records: names. */
#include "core/record.h"

static const char *const texts[] = {
	[REC_OPEN] = "OPEN",
	[REC_ANSWERED] = "ANSWERED",
	[REC_RESOLVED] = "RESOLVED",
	[REC_BLOCKER_UNRECOGNISED] = "?",
};

const char *rec_blocker_status_text(enum rec_blocker_status s)
{
	return (unsigned)s <= REC_BLOCKER_UNRECOGNISED ? texts[s] : "?";
}

enum rec_blocker_status rec_blocker_status_parse(struct rec_slice text)
{
	unsigned s = REC_OPEN;
	while (s < REC_BLOCKER_UNRECOGNISED && !rec_slice_equal(text, rec_slice_of(texts[s])))
		s++;
	return (enum rec_blocker_status)s;
}

/* The position of `text` among `count` texts, or -1. */
static int text_find(const char *const *names, int count, struct rec_slice text)
{
	for (int i = 0; i < count; i++)
		if (rec_slice_equal(text, rec_slice_of(names[i])))
			return i;
	return -1;
}

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static const char *const batch_texts[] = {
	[REC_BATCH_RUNNING] = "RUNNING",
	[REC_BATCH_COMPLETED] = "COMPLETED",
	[REC_BATCH_PARTIAL] = "PARTIAL",
	[REC_BATCH_CANCELLED] = "CANCELLED",
};

const char *rec_batch_status_text(enum rec_batch_status s)
{
	return (unsigned)s <= REC_BATCH_CANCELLED ? batch_texts[s] : "?";
}

int rec_batch_status_parse(struct rec_slice text)
{
	return text_find(batch_texts, COUNT(batch_texts), text);
}

static const char *const stop_texts[] = {
	[REC_BATCH_GO_ON] = "",
	[REC_BATCH_DRAIN] = "drain",
	[REC_BATCH_FORCE] = "force",
};

const char *rec_batch_stop_text(enum rec_batch_stop s)
{
	return (unsigned)s <= REC_BATCH_FORCE ? stop_texts[s] : "?";
}

int rec_batch_stop_parse(struct rec_slice text)
{
	return text_find(stop_texts, COUNT(stop_texts), text);
}

/* ---- Links and observations ---- */

static const char *const observed_texts[] = {
	[REC_OBSERVED_UNKNOWN] = "unknown", [REC_OBSERVED_OPEN] = "open", [REC_OBSERVED_CLOSED] = "closed",
	[REC_OBSERVED_MERGED] = "merged",   [REC_OBSERVED_GONE] = "gone", [REC_OBSERVED_UNCHANGED] = "unchanged",
};

const char *rec_observed_text(enum rec_observed o)
{
	return (unsigned)o <= REC_OBSERVED_UNCHANGED ? observed_texts[o] : "?";
}

int rec_observed_parse(struct rec_slice text)
{
	return text_find(observed_texts, COUNT(observed_texts), text);
}

static const char *const kind_texts[] = {
	[REC_LINK_KIND_UNKNOWN] = "unknown",
	[REC_LINK_ISSUE] = "issue",
	[REC_LINK_PULL_REQUEST] = "pull_request",
};

const char *rec_link_kind_text(enum rec_link_kind k)
{
	return (unsigned)k <= REC_LINK_PULL_REQUEST ? kind_texts[k] : "?";
}

int rec_link_kind_parse(struct rec_slice text)
{
	return text_find(kind_texts, COUNT(kind_texts), text);
}

static bool begins_with(struct rec_slice text, const char *front)
{
	size_t length = strlen(front);
	return text.length >= length && memcmp(text.data, front, length) == 0;
}

/* Cuts the last part of a path off: "a/b/c" gives "c" and leaves "a/b". */
static struct rec_slice part_pop(struct rec_slice *path)
{
	size_t start = path->length;
	while (start > 0 && path->data[start - 1] != '/')
		start--;
	struct rec_slice part = {path->data + start, path->length - start};
	path->length = start > 0 ? start - 1 : 0;
	return part;
}

static bool is_number(struct rec_slice text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
	return text.length > 0 && text.length < 20;
}

bool rec_link_url_has_login(struct rec_slice url)
{
	size_t i = 0;
	while (i < url.length && !strchr("/?#", url.data[i])) /* the scheme; strchr finds a NUL, too */
		i++;
	if (i == 0 || url.length - i < 2 || memcmp(url.data + i - 1, "://", 3) != 0)
		return false;
	for (i += 2; i < url.length && !strchr("/?#", url.data[i]); i++)
		if (url.data[i] == '@')
			return true;
	return false;
}

enum rec_link_kind rec_link_kind_of_url(struct rec_slice url)
{
	size_t scheme = begins_with(url, "https://") ? 8 : begins_with(url, "http://") ? 7 : 0;
	if (!scheme || url.length > REC_LINK_URL_BYTES_MAX)
		return REC_LINK_KIND_UNKNOWN;
	for (size_t i = 0; i < url.length; i++)
		if ((unsigned char)url.data[i] <= ' ' || (unsigned char)url.data[i] >= 0x7f)
			return REC_LINK_KIND_UNKNOWN;
	struct rec_slice path = {url.data + scheme, url.length - scheme};
	for (size_t i = 0; i < path.length; i++)
		if (path.data[i] == '?' || path.data[i] == '#')
			path.length = i;
	if (path.length && path.data[path.length - 1] == '/')
		path.length--;
	struct rec_slice number = part_pop(&path), word = part_pop(&path), name = part_pop(&path);
	if (!is_number(number) || name.length == 0 || path.length == 0)
		return REC_LINK_KIND_UNKNOWN;
	if (rec_slice_equal(word, rec_slice_of("issues")))
		return REC_LINK_ISSUE;
	bool pull = rec_slice_equal(word, rec_slice_of("pull")) || rec_slice_equal(word, rec_slice_of("pulls")) ||
		    rec_slice_equal(word, rec_slice_of("merge_requests"));
	return pull ? REC_LINK_PULL_REQUEST : REC_LINK_KIND_UNKNOWN;
}
