/* exchange-links.c - the links of a task that is imported. They are put where `reconciler link` puts them, and what
 * was remembered of them where a sync does; addresses are judged there. */
#include "base/text.h"
#include "engine/exchange-import.h"

static int fail_link(const struct rec_import *i, const struct rec_import_link *item, int code, struct rec_error *error)
{
	char text[REC_PLACE_BYTES], task[128], shown[128];
	if (code == REC_E_NOMEM)
		return code;
	bool secret = rec_link_url_has_login(item->link.url);
	return rec_fail_context(error, code, "%s: link \"%s\" of task \"%s\"", rec_place_show(item->place, text),
				secret ? "..." : rec_text_shown(shown, sizeof shown, item->link.url),
				rec_text_shown(task, sizeof task, i->task.id));
}

static int fail_twice(struct rec_error *error)
{
	return rec_fail(error, REC_E_INVALID, "stands twice in the links of the task (remove one)");
}

bool rec_link_is_remembered(const struct rec_link *link)
{
	return link->state != REC_OBSERVED_UNKNOWN || link->kind != REC_LINK_KIND_UNKNOWN || link->reason.data ||
	       link->time.data || link->has_comments || link->moved_to.data || link->observed_at.data || link->gone ||
	       link->made_done_at.data;
}

/* It is there with the task itself, and only once. */
static int implicit_judge(const struct rec_import *i, const struct rec_import_link *item, struct rec_error *error)
{
	const struct rec_slice *external = &i->task.external_url;
	if (!external->data || !rec_slice_equal(*external, item->link.url) ||
	    rec_link_kind_of_url(*external) == REC_LINK_KIND_UNKNOWN)
		return rec_fail(error, REC_E_INVALID,
				"is implicit, but no issue or pull request that is the task's external_url (leave "
				"\"implicit\" out)");
	for (size_t k = 0; k < i->link_count; k++)
		if (&i->links[k] != item && rec_slice_equal(i->links[k].link.url, item->link.url))
			return fail_twice(error);
	return 0;
}

static int link_import(struct rec_import *i, struct rec_import_link *item, struct rec_error *error)
{
	item->link.task_id = i->task.id;
	int r = item->link.implicit ? implicit_judge(i, item, error)
				    : rec_store_link_put(i->store, i->task.id, item->link.url, error);
	if (r == REC_EXISTS)
		return fail_twice(error);
	if (r == 0 && rec_link_is_remembered(&item->link))
		r = rec_store_link_observed(i->store, &item->link, error);
	return r <= 0 ? r : rec_fail(error, REC_E_BUG, "the store answered %d to a new link (please report)", r);
}

int rec_import_links(struct rec_import *i, struct rec_error *error)
{
	for (size_t k = 0; k < i->link_count; k++) {
		int r = link_import(i, &i->links[k], error);
		if (r)
			return fail_link(i, &i->links[k], r, error);
	}
	return 0;
}
