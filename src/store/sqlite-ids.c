/* sqlite-ids.c - a virtual table that shows a list of ids to SQL, so that any number of them is looked up by one
 * statement. Neither a text that is parsed again (json_each) nor a statement run per id: about 2 us an id are left
 * in a store of a million tasks, most of it the walk down SQLite's own index.
 *
 * SELECT id, position FROM rec_ids gives the ids that were lent to the store in s->ids, in order. It exists in
 * no schema (eponymous) and only for statements of our own (DIRECTONLY).
 */
#include "store/sqlite.h"

enum { COLUMN_ID, COLUMN_POSITION };

struct ids_table {
	sqlite3_vtab base;
	struct rec_sqlite *store;
};

struct ids_cursor {
	sqlite3_vtab_cursor base;
	const struct rec_sqlite_ids *ids;
	size_t at;
};

static int ids_connect(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **ret_table,
		       char **ret_message)
{
	(void)argc, (void)argv, (void)ret_message;
	int rc = sqlite3_declare_vtab(db, "CREATE TABLE rec_ids(id TEXT, position INTEGER)");
	if (rc == SQLITE_OK)
		rc = sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
	if (rc != SQLITE_OK)
		return rc;
	struct ids_table *table = sqlite3_malloc(sizeof *table);
	if (!table)
		return SQLITE_NOMEM;
	*table = (struct ids_table){.store = context};
	*ret_table = &table->base;
	return SQLITE_OK;
}

static int ids_disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

static int ids_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	info->estimatedCost = 100;
	info->estimatedRows = 100;
	return SQLITE_OK;
}

static int ids_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
	struct ids_cursor *cursor = sqlite3_malloc(sizeof *cursor);
	if (!cursor)
		return SQLITE_NOMEM;
	*cursor = (struct ids_cursor){.ids = &((struct ids_table *)table)->store->ids};
	*ret_cursor = &cursor->base;
	return SQLITE_OK;
}

static int ids_close(sqlite3_vtab_cursor *cursor)
{
	sqlite3_free(cursor);
	return SQLITE_OK;
}

static int ids_filter(sqlite3_vtab_cursor *base, int number, const char *name, int argc, sqlite3_value **argv)
{
	(void)number, (void)name, (void)argc, (void)argv;
	((struct ids_cursor *)base)->at = 0;
	return SQLITE_OK;
}

static int ids_next(sqlite3_vtab_cursor *base)
{
	((struct ids_cursor *)base)->at++;
	return SQLITE_OK;
}

static int ids_eof(sqlite3_vtab_cursor *base)
{
	const struct ids_cursor *cursor = (const struct ids_cursor *)base;
	return cursor->at >= cursor->ids->count;
}

static int ids_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct ids_cursor *cursor = (const struct ids_cursor *)base;
	const struct rec_sqlite_ids *ids = cursor->ids;
	size_t position = ids->positions ? ids->positions[cursor->at] : cursor->at;
	if (column == COLUMN_POSITION)
		sqlite3_result_int64(context, (sqlite3_int64)position);
	else
		sqlite3_result_text64(context, ids->ids[position].data, ids->ids[position].length, SQLITE_STATIC,
				      SQLITE_UTF8);
	return SQLITE_OK;
}

static int ids_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_rowid)
{
	*ret_rowid = (sqlite3_int64)((struct ids_cursor *)base)->at;
	return SQLITE_OK;
}

static const sqlite3_module ids_module = {
	.iVersion = 0,
	.xConnect = ids_connect,
	.xBestIndex = ids_best_index,
	.xDisconnect = ids_disconnect,
	.xOpen = ids_open,
	.xClose = ids_close,
	.xFilter = ids_filter,
	.xNext = ids_next,
	.xEof = ids_eof,
	.xColumn = ids_column,
	.xRowid = ids_rowid,
};

int rec_sqlite_ids_register(struct rec_sqlite *s, struct rec_error *error)
{
	int rc = sqlite3_create_module_v2(s->db, "rec_ids", &ids_module, s, NULL);
	return rc == SQLITE_OK ? 0 : rec_sqlite_fail(s, rc, "rec_ids", error);
}
