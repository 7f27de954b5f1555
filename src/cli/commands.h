/* commands.h - every command, one file each; commands.c arranges them. */
#ifndef REC_CLI_COMMANDS_H
#define REC_CLI_COMMANDS_H

#include "cli/command.h"

/* The program itself: its options are the global ones, its subcommands the commands. */
extern const struct command program;

extern const struct command command_init;
extern const struct command command_task_add;
extern const struct command command_task_edit;
extern const struct command command_task_delete;
extern const struct command command_task_import;
extern const struct command command_task_export;
extern const struct command command_task_list;
extern const struct command command_task_show;
extern const struct command command_task_set;
extern const struct command command_task_retry;
extern const struct command command_blocker_add;
extern const struct command command_blocker_answer;
extern const struct command command_blocker_resolve;
extern const struct command command_blocker_list;
extern const struct command command_link;
extern const struct command command_unlink;
extern const struct command command_sync;
extern const struct command command_check;
extern const struct command command_apply;
extern const struct command command_watch;
extern const struct command command_policy;
extern const struct command command_events;
extern const struct command command_events_verify;
extern const struct command command_doctor;
extern const struct command command_gc;
extern const struct command command_run;
extern const struct command command_resume;
extern const struct command command_stop;
extern const struct command command_status;
extern const struct command command_wait;
extern const struct command command_logs;
extern const struct command command_heartbeat;
extern const struct command command_tracker_test;
extern const struct command command_completion;

#endif
