/* results.h - results of check, apply and watch for people and programs. */
#ifndef REC_CLI_RESULTS_H
#define REC_CLI_RESULTS_H

#include "cli/cli.h"
#include "engine/check.h"

/* All results of one check; applied: NULL leaves the key out. As a table: those with a discrepancy, and each
 * one whose id was named, then a line that counts them all. */
void results_print(struct cli *cli, const struct rec_results *results, const bool *applied, bool ids_named);

/* Columns of a result: with_time puts the time of day first, with_applied "APPLIED" last but one. */
void results_table_init(struct table *table, struct output *out, bool with_time, bool with_applied);
/* The cells of one result, without the time. applied: -1 if the table has no such column. */
void results_row(struct table *table, const struct rec_result_view *view, int applied);

#endif
