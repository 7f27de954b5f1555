/* document.c - a thin layer over base/json: the whole text is handed to the reader at once, so "more" cannot be had. */
#include "github/document.h"

int gh_document_init(struct gh_document *d, const struct rec_allocator *a, struct rec_slice text)
{
	*d = (struct gh_document){0};
	rec_json_init(&d->reader, a, text.length + 1);
	char *space = rec_json_space(&d->reader, text.length + 1);
	if (!space)
		return REC_E_NOMEM;
	if (text.length)
		memcpy(space, text.data, text.length);
	rec_json_added(&d->reader, text.length);
	rec_json_finish(&d->reader);
	return 0;
}

void gh_document_release(struct gh_document *d)
{
	rec_json_release(&d->reader);
}

int gh_document_next(struct gh_document *d)
{
	int r = rec_json_next(&d->reader, &d->token, NULL);
	if (r == 0 || r == REC_E_NOMEM)
		return r;
	return REC_E_INVALID;
}

int gh_document_skip(struct gh_document *d)
{
	bool object = d->token.type == REC_JSON_OBJECT_BEGIN;
	if (!object && d->token.type != REC_JSON_ARRAY_BEGIN)
		return 0;
	unsigned depth = d->token.depth;
	enum rec_json_type end = object ? REC_JSON_OBJECT_END : REC_JSON_ARRAY_END;
	int r;
	do
		r = gh_document_next(d);
	while (r == 0 && (d->token.type != end || d->token.depth != depth));
	return r;
}

int gh_document_key(struct gh_document *d)
{
	int r = gh_document_next(d);
	if (r < 0)
		return r;
	return d->token.type == REC_JSON_OBJECT_END ? REC_END : 0;
}

int gh_document_element(struct gh_document *d)
{
	int r = gh_document_next(d);
	if (r < 0)
		return r;
	return d->token.type == REC_JSON_ARRAY_END ? REC_END : 0;
}

int gh_document_end(struct gh_document *d)
{
	int r = gh_document_next(d);
	if (r < 0)
		return r;
	if (d->token.type != REC_JSON_END_DOCUMENT)
		return REC_E_INVALID;
	r = rec_json_next(&d->reader, &d->token, NULL);
	return r == REC_END ? 0 : r == REC_E_NOMEM ? r : REC_E_INVALID;
}

int gh_document_name(const struct gh_document *d, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (rec_slice_equal(d->token.text, rec_slice_of(names[i])))
			return i;
	return -1;
}
