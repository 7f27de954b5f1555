/* print.c - the shapes of results that several commands share. */
#include <stdio.h>

#include "base/json.h"
#include "cli/cli.h"

void cli_json_text(struct rec_buffer *out, const char *key, struct rec_slice text)
{
	bool first = out->length > 0 && out->data[out->length - 1] == '{';
	rec_buffer_printf(out, "%s\"%s\":", first ? "" : ",", key);
	if (text.data)
		rec_json_write_string(out, text);
	else
		rec_buffer_add_text(out, "null");
}

void cli_json_number(struct rec_buffer *out, const char *key, int64_t number)
{
	bool first = out->length > 0 && out->data[out->length - 1] == '{';
	rec_buffer_printf(out, "%s\"%s\":%lld", first ? "" : ",", key, (long long)number);
}

void cli_json_bool(struct rec_buffer *out, const char *key, bool value)
{
	bool first = out->length > 0 && out->data[out->length - 1] == '{';
	rec_buffer_printf(out, "%s\"%s\":%s", first ? "" : ",", key, value ? "true" : "false");
}

void cli_list_begin(struct cli *cli)
{
	if (cli->format == FORMAT_JSON)
		output_text(&cli->out, "[");
}

struct rec_buffer *cli_list_item(struct cli *cli, uint64_t index)
{
	if (cli->format == FORMAT_JSON && index > 0)
		rec_buffer_add_text(&cli->out.buffer, ",");
	return &cli->out.buffer;
}

void cli_list_item_end(struct cli *cli)
{
	if (cli->format == FORMAT_NDJSON)
		rec_buffer_add_text(&cli->out.buffer, "\n");
	output_more(&cli->out);
}

void cli_list_end(struct cli *cli)
{
	if (cli->format == FORMAT_JSON)
		output_text(&cli->out, "]\n");
}

void cli_print_id(struct cli *cli, const char *id)
{
	struct rec_buffer *out = &cli->out.buffer;
	if (cli->format == FORMAT_TABLE) {
		output_printf(&cli->out, "%s\n", id);
		return;
	}
	rec_buffer_add_text(out, "{");
	cli_json_text(out, "id", rec_slice_of(id));
	rec_buffer_add_text(out, "}\n");
}

void cli_print_change(struct cli *cli, struct rec_slice id, enum rec_status from, enum rec_status to)
{
	struct rec_buffer *out = &cli->out.buffer;
	if (cli->format == FORMAT_TABLE) {
		output_shown(&cli->out, id, REC_ID_BYTES_MAX);
		output_text(&cli->out, ": ");
		output_styled(&cli->out, style_of_status(from), rec_slice_of(rec_status_text(from)));
		output_text(&cli->out, " -> ");
		output_styled(&cli->out, style_of_status(to), rec_slice_of(rec_status_text(to)));
		output_text(&cli->out, "\n");
		return;
	}
	rec_buffer_add_text(out, "{");
	cli_json_text(out, "id", id);
	cli_json_text(out, "from", rec_slice_of(rec_status_text(from)));
	cli_json_text(out, "to", rec_slice_of(rec_status_text(to)));
	rec_buffer_add_text(out, "}");
}

void cli_print_done(struct cli *cli, struct rec_slice id, const char *done)
{
	struct rec_buffer *out = &cli->out.buffer;
	if (cli->format == FORMAT_TABLE) {
		output_shown(&cli->out, id, REC_ID_BYTES_MAX);
		output_printf(&cli->out, ": %s\n", done);
		return;
	}
	rec_buffer_add_text(out, "{");
	cli_json_text(out, "id", id);
	cli_json_text(out, "result", rec_slice_of(done));
	rec_buffer_add_text(out, "}\n");
}
