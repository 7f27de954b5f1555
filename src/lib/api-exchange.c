/* api-exchange.c - export writes through a buffer of 64 KiB; an import holds its reconciler until it is over. */
#include "engine/exchange.h"
#include "lib/api.h"

#define CHUNK_BYTES (64u << 10)

/* ---- Export ---- */

struct export
{
	enum rec_export_form form;
	rec_write_callback *callback;
	void *context;
	struct rec_buffer out;
	uint64_t count;
	struct rec_error *error;
};

static int flush(struct export *e)
{
	int r = e->out.length ? e->callback(e->context, e->out.data, e->out.length) : 0;
	rec_buffer_clear(&e->out);
	return r;
}

static int export_failed(struct export *e)
{
	if (e->out.failed == REC_E_LIMIT)
		return rec_fail(e->error, REC_E_LIMIT, "export: a task takes more than 1 GiB as JSON");
	return rec_fail_nomem(e->error);
}

static int task_write(void *context, const struct rec_exported *exported)
{
	struct export *e = context;
	if (e->form == REC_EXPORT_ARRAY && e->count)
		rec_buffer_add_text(&e->out, ",\n");
	rec_exported_write_json(&e->out, exported);
	if (e->form == REC_EXPORT_LINES)
		rec_buffer_add_text(&e->out, "\n");
	e->count++;
	if (e->out.failed)
		return export_failed(e);
	return e->out.length >= CHUNK_BYTES ? flush(e) : 0;
}

static int tasks_write(struct reconciler *r, struct export *e, const char *const *ids, size_t count)
{
	int result = 0;
	if (!ids)
		return rec_export_all(r->store, task_write, e, e->error);
	for (size_t i = 0; result == 0 && i < count; i++)
		result = rec_export_one(r->store, rec_slice_of(ids[i]), task_write, e, e->error);
	return result;
}

int rec_export(struct reconciler *r, const char *const *ids, size_t id_count, enum rec_export_form form,
	       rec_write_callback *callback, void *context, struct rec_error *error)
{
	struct export e = {.form = form, .callback = callback, .context = context, .error = error};
	int result = rec_api_enter(r, error);
	if (result)
		return result;
	rec_buffer_init(&e.out, r->allocator, (size_t)1 << 30);
	if (form == REC_EXPORT_ARRAY)
		rec_buffer_add_text(&e.out, "[");
	result = tasks_write(r, &e, ids, id_count);
	if (result == 0 && form == REC_EXPORT_ARRAY)
		rec_buffer_add_text(&e.out, "]\n");
	if (result == 0)
		result = e.out.failed ? export_failed(&e) : flush(&e);
	rec_buffer_release(&e.out);
	return result;
}

/* ---- Import ---- */

struct rec_importer {
	struct reconciler *reconciler;
	struct rec_import *import;
};

int rec_importer_new(struct reconciler *r, const struct rec_import_settings *settings,
		     struct rec_importer **ret_importer, struct rec_error *error)
{
	struct rec_import_settings own;
	int result = rec_api_enter(r, error);
	if (result == 0)
		result = rec_abi_read(&own, sizeof own, settings, "struct rec_import_settings", error);
	if (result)
		return result;
	struct rec_importer *importer = rec_zalloc(r->allocator, 1, sizeof *importer);
	if (!importer)
		return rec_fail_nomem(error);
	struct rec_import_options options = {
		.ignore_unknown = own.ignore_unknown != 0,
		.keep_missing = own.keep_missing != 0,
		.dry_run = own.dry_run != 0,
	};
	importer->reconciler = r;
	result = rec_import_begin(r->store, &options, &importer->import, error);
	if (result) {
		rec_free(r->allocator, importer);
		return result;
	}
	r->import = importer->import;
	*ret_importer = importer;
	return 0;
}

/* Once it has failed or is finished the reconciler is free again. */
static int importer_leave(struct rec_importer *importer, int result, bool over)
{
	if (importer->reconciler->import == importer->import && (over || result))
		importer->reconciler->import = NULL;
	return result;
}

int rec_importer_feed(struct rec_importer *importer, const char *bytes, size_t length, struct rec_error *error)
{
	struct rec_slice slice = {bytes, length};
	return importer_leave(importer, rec_import_feed(importer->import, slice, error), false);
}

int rec_importer_finish(struct rec_importer *importer, uint64_t *ret_tasks, struct rec_error *error)
{
	uint64_t tasks = 0;
	int result = importer_leave(importer, rec_import_finish(importer->import, &tasks, error), true);
	if (result == 0 && ret_tasks)
		*ret_tasks = tasks;
	return result;
}

struct rec_importer *rec_importer_free(struct rec_importer *importer)
{
	if (!importer)
		return NULL;
	struct reconciler *r = importer->reconciler;
	importer_leave(importer, 0, true);
	rec_import_free(importer->import);
	return rec_free(r->allocator, importer);
}
