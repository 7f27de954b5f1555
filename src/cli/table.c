/* table.c - kept rows are one buffer of NUL-terminated cells; settling the widths writes the head, and from
 * then on each completed row is written and forgotten at once.
 */
#include "cli/table.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

#define GAP "  "
#define ELLIPSIS "…"
#define ID_COLUMNS_LEAST 9 /* eight of a UUID, and the ellipsis */

void table_init(struct table *table, struct output *out, const struct table_column *columns, size_t column_count)
{
	*table = (struct table){.out = out, .columns = columns, .column_count = column_count};
	for (size_t i = 0; i < column_count; i++) {
		size_t title = strlen(columns[i].title);
		table->widths[i] = title > columns[i].columns_least ? title : columns[i].columns_least;
	}
	rec_buffer_init(&table->cells, NULL, OUTPUT_RECORD_BYTES_MAX);
}

void table_release(struct table *table)
{
	rec_buffer_release(&table->cells);
}

/* ---- Widths ------------------------------------------------------------------------------------- */

static size_t total_columns(const struct table *table)
{
	size_t total = (table->column_count - 1) * strlen(GAP);
	for (size_t i = 0; i < table->column_count; i++)
		total += table->widths[i];
	return total;
}

static int compare_cells(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The columns that two neighbours in sorted order must show to be told apart, with the ellipsis. */
static size_t columns_to_differ(const char *a, const char *b)
{
	size_t same = 0;
	while (a[same] && a[same] == b[same])
		same++;
	return a[same] == b[same] ? 0 : rec_text_columns((struct rec_slice){b, same}) + 2;
}

/* The narrowest width in which the ids of the kept rows still differ. O(rows log rows); without memory for the
 * list they are not cut at all. */
static size_t id_columns(const struct table *table, size_t column)
{
	const char **cells = rec_alloc(NULL, (table->row_count + 1) * sizeof cells[0]);
	const char *cell = table->cells.data;
	size_t needed = ID_COLUMNS_LEAST;
	if (!cells)
		return table->widths[column];
	for (size_t i = 0; i < table->row_count * table->column_count; i++) {
		if (i % table->column_count == column)
			cells[i / table->column_count] = cell;
		cell += strlen(cell) + 1;
	}
	qsort(cells, table->row_count, sizeof cells[0], compare_cells);
	for (size_t i = 1; i < table->row_count; i++) {
		size_t differ = columns_to_differ(cells[i - 1], cells[i]);
		needed = differ > needed ? differ : needed;
	}
	rec_free(NULL, cells);
	return needed;
}

/* Flexible columns give way from the left until the row fits: ids at once to their narrowest width, since a few
 * columns more of an id tell nobody anything, texts by as much as is needed. */
static void fit(struct table *table)
{
	size_t total = total_columns(table);
	for (size_t i = 0; i < table->column_count && total > table->out->columns; i++) {
		bool is_id = table->columns[i].is_id;
		size_t least = is_id ? id_columns(table, i) : table->columns[i].columns_cut;
		if (least == 0 || table->widths[i] <= least)
			continue;
		size_t spare = table->widths[i] - least, excess = total - table->out->columns;
		size_t cut = is_id || spare < excess ? spare : excess;
		table->widths[i] -= cut;
		total -= cut;
	}
}

/* ---- Rows --------------------------------------------------------------------------------------- */

static void write_spaces(struct output *out, size_t count)
{
	while (count-- > 0)
		rec_buffer_add(&out->buffer, " ", 1);
}

static void write_cell(struct table *table, size_t column, enum style style, struct rec_slice text)
{
	const struct table_column *kind = &table->columns[column];
	size_t width = table->widths[column], taken = rec_text_columns(text);
	bool cut = (kind->columns_cut || kind->is_id) && table->out->columns && taken > width;
	if (cut) {
		text = rec_text_fitting(text, width - 1);
		taken = rec_text_columns(text) + 1;
	}
	size_t padding = taken < width ? width - taken : 0;
	if (kind->right)
		write_spaces(table->out, padding);
	output_styled(table->out, style, text);
	if (cut)
		output_styled(table->out, style, rec_slice_of(ELLIPSIS));
	if (!kind->right && column + 1 < table->column_count)
		write_spaces(table->out, padding);
	output_text(table->out, column + 1 < table->column_count ? GAP : "\n");
}

static void write_kept(struct table *table)
{
	const char *cell = table->cells.data;
	for (size_t row = 0; row < table->row_count; row++) {
		for (size_t column = 0; column < table->column_count; column++) {
			struct rec_slice text = rec_slice_of(cell);
			write_cell(table, column, table->styles[row][column], text);
			cell += text.length + 1;
		}
	}
	table->row_count = 0;
	rec_buffer_clear(&table->cells);
}

static void settle(struct table *table)
{
	if (table->out->columns)
		fit(table);
	table->settled = true;
	for (size_t column = 0; column < table->column_count; column++)
		write_cell(table, column, STYLE_BOLD, rec_slice_of(table->columns[column].title));
}

void table_flush(struct table *table)
{
	if (table->row_count == 0)
		return;
	if (table->cells.failed) {
		table->out->buffer.failed = table->cells.failed; /* told by the next flush of the output */
		return;
	}
	if (!table->settled)
		settle(table);
	write_kept(table);
}

void table_cell(struct table *table, enum style style, struct rec_slice text)
{
	size_t start = table->cells.length;
	rec_text_show(&table->cells, text, TABLE_CELL_BYTES_MAX);
	if (!table->cells.failed) {
		size_t taken =
			rec_text_columns((struct rec_slice){table->cells.data + start, table->cells.length - start});
		if (!table->settled && taken > table->widths[table->cell])
			table->widths[table->cell] = taken;
	}
	rec_buffer_add(&table->cells, "", 1);
	table->styles[table->row_count][table->cell] = (uint8_t)style;
	if (++table->cell < table->column_count)
		return;
	table->cell = 0;
	table->row_count++;
	table->rows++;
	if (table->settled || table->row_count == TABLE_ROWS_KEPT)
		table_flush(table);
}

void table_text(struct table *table, enum style style, const char *text)
{
	table_cell(table, style, rec_slice_of(text));
}

void table_number(struct table *table, int64_t number)
{
	char text[24];
	snprintf(text, sizeof text, "%lld", (long long)number);
	table_text(table, STYLE_PLAIN, text);
}
