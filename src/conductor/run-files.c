/* run-files.c - see run-files.h. The names are the shim's, which writes there. */
#include "conductor/run-files.h"

#include <stdio.h>

#include "shim/log-name.h"
#include "shim/protocol.h"

int rec_log_folder_path(struct rec_buffer *out, const char *run_directory, struct rec_slice task_id)
{
	char folder[REC_LOG_FOLDER_BYTES];
	return rec_buffer_printf(out, "%s/logs/%s", run_directory,
				 rec_log_folder(task_id.data, task_id.length, folder));
}

int rec_log_path(struct rec_buffer *out, const char *run_directory, struct rec_slice task_id, uint32_t attempt)
{
	char name[REC_LOG_NAME_BYTES];
	return rec_buffer_printf(out, "%s/logs/%s", run_directory,
				 rec_log_name(task_id.data, task_id.length, (int32_t)attempt, name));
}

int rec_heartbeat_path(struct rec_buffer *out, const char *task_file)
{
	const char *slash = strrchr(task_file, '/');
	char name[REC_SLOT_TASK_BYTES];
	bool known = false;
	for (unsigned i = 0; slash && i < REC_SLOT_TASK_FILES; i++) {
		snprintf(name, sizeof name, REC_SLOT_TASK, i);
		known = known || strcmp(slash + 1, name) == 0;
	}
	if (!known)
		return REC_E_INVALID;
	return rec_buffer_printf(out, "%.*s/" REC_SLOT_HEARTBEAT, (int)(slash - task_file), task_file);
}
