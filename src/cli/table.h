/* table.h - rows for people: columns aligned by display width. On a terminal a row that is too wide is cut in
 * its flexible columns; elsewhere only a cell over TABLE_CELL_BYTES_MAX is.
 *
 * The first rows are kept to find the widths; later ones are written as they come (memory does not grow with
 * the number of rows), so a later cell may push its row out of line, but never loses anything.
 */
#ifndef REC_CLI_TABLE_H
#define REC_CLI_TABLE_H

#include "cli/output.h"

#define TABLE_COLUMNS_MAX 8
#define TABLE_ROWS_KEPT 1024
#define TABLE_CELL_BYTES_MAX 4096

struct table_column {
	const char *title;
	size_t columns_least; /* a width to reserve from the start; 0: as the cells need */
	size_t columns_cut;   /* flexible: may be cut down to this many; 0: never cut */
	bool is_id;           /* flexible: cut to what still tells the ids apart, eight columns at least */
	bool right;           /* numbers */
};

struct table {
	struct output *out;
	const struct table_column *columns;
	size_t column_count;
	size_t widths[TABLE_COLUMNS_MAX]; /* widest cell so far, then the final width */
	bool settled;                     /* widths are final, the head is written */
	struct rec_buffer cells;          /* of the rows kept, each cell terminated by NUL */
	uint8_t styles[TABLE_ROWS_KEPT][TABLE_COLUMNS_MAX];
	size_t row_count; /* kept */
	size_t cell;      /* next column of the current row */
	uint64_t rows;    /* in all */
};
void table_init(struct table *table, struct output *out, const struct table_column *columns, size_t column_count);
void table_release(struct table *table);
/* The cells of a row from left to right; the last one ends the row. Control characters are made visible. */
void table_cell(struct table *table, enum style style, struct rec_slice text);
void table_text(struct table *table, enum style style, const char *text);
void table_number(struct table *table, int64_t number);
/* Writes what is kept; the widths are final from then on. Without rows it writes nothing. */
void table_flush(struct table *table);

#endif
