/* run-files.h - where things are below `rec-run`, for those who only look: output of attempts, signs of life. */
#ifndef REC_CONDUCTOR_RUN_FILES_H
#define REC_CONDUCTOR_RUN_FILES_H

#include "base/buffer.h"

/* Appends RUN-DIRECTORY/logs/TASK, the folder of a task's output. 0, REC_E_NOMEM, REC_E_LIMIT. */
int rec_log_folder_path(struct rec_buffer *out, const char *run_directory, struct rec_slice task_id);
/* Appends the file of one attempt in it. */
int rec_log_path(struct rec_buffer *out, const char *run_directory, struct rec_slice task_id, uint32_t attempt);
/* Appends the file whose time is the last heartbeat, given REC_TASK_FILE as the child has it; REC_E_INVALID if that is
 * no such file. */
int rec_heartbeat_path(struct rec_buffer *out, const char *task_file);

#endif
