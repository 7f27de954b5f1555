/* sim.h - a world in which everything but the code under test is simulated: the real machine and driver, over the real
 * store in memory (several handles on one), with simulated slots, shims, processes, clock, people and disasters.
 *
 * One seed decides everything. At every call that a conductor makes of the store or of the slots the world may step in:
 * time passes, processes act, people change tasks, another conductor takes its whole turn, the store fails, or the
 * conductor dies on the spot (from then on none of its calls has any effect). Rules are checked the moment they could
 * be broken; the first broken one ends the run.
 *
 * A run has two parts: faults and people for a while, then quiet, in which every batch must come to its end within a
 * stated number of turns.
 */
#ifndef REC_TESTS_SIM_H
#define REC_TESTS_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "conductor/batch.h"
#include "conductor/driver.h"
#include "core/retry.h"
#include "store/backend.h"

#define SIM_TASKS_MAX 16
#define SIM_CONDUCTORS_MAX 3
#define SIM_HOSTS_MAX 3u
#define SIM_LEASE_US (60 * SIM_SECOND)
#define SIM_FORGOTTEN 2u /* tombstones that a slot's record keeps */
#define SIM_FOLDERS_MAX 24
#define SIM_RECORDS_MAX 8 /* of a slot; the rule is stricter */
#define SIM_PROCESSES_MAX 64
#define SIM_SLOTS_MAX 8u       /* of one conductor */
#define SIM_SLOT_FOREIGN 1000u /* slots of dead conductors: this plus the folder's number */
#define SIM_CALLS_MAX 5000u    /* of the store in one turn of a conductor */
#define SIM_DEPTH_MAX 256
#define SIM_ITEMS 6u /* issues and pull requests */
#define SIM_VERSIONS_MAX 64u
#define SIM_URL_BYTES 48
#define SIM_SECOND INT64_C(1000000)

/* What may go wrong, as a set. */
enum sim_fault {
	SIM_PEOPLE = 1,  /* people change, answer, withdraw, delete, reopen, add tasks */
	SIM_CRASHES = 2, /* conductors die at any call */
	SIM_SHIM_DEATHS = 4,
	SIM_REBOOTS = 8,       /* everything dies, some records are lost */
	SIM_STORE_FAULTS = 16, /* busy, I/O, full; commits that fail, or only seem to */
	SIM_SLOT_FAULTS = 32,  /* slots that cannot prepare or start; events that come late */
	SIM_STALE_LOOKS = 64,  /* the store is read apart, results come late */
	SIM_OPERATOR = 128,    /* stop requests */
	SIM_NO_MEMORY = 256,   /* a conductor's next allocations may fail */
	SIM_ALL_FAULTS = 511,
	SIM_TRACKERS = 512, /* issues change, trackers lie, lag, reorder and fail; drawn apart from the others */
	SIM_PARENTS = 1024, /* some tasks are children of others, whose status follows; drawn apart too */
};
/* Beside enum rec_planted. */
#define SIM_PLANTED_FORGETS 0x10000u    /* a pass over links forgets what it knew */
#define SIM_PLANTED_TOMBSTONE 0x20000u  /* a slot that is given a number again still says that it is forgotten */
#define SIM_PLANTED_LEFT_AHEAD 0x40000u /* a slot that forgets a number that was given back still says STARTING */

/* What a process does. */
enum sim_script {
	SIM_SUCCEED,         /* exit 0 */
	SIM_FAIL,            /* exit 1 */
	SIM_AGAIN,           /* exit 75 */
	SIM_DIE,             /* signal 11 */
	SIM_HANG,            /* until it is signalled */
	SIM_WRITE_DONE,      /* writes DONE, cleans up, exit 0 */
	SIM_WRITE_FAILED,    /* writes FAILED, exit 1 */
	SIM_WRITE_BLOCKED,   /* asks, writes BLOCKED, exit 0 */
	SIM_ASK,             /* raises a blocker, exit 0 */
	SIM_WRITE_DONE_HANG, /* writes DONE and never ends by itself */
	SIM_SCRIPT_COUNT,
};

struct sim_options {
	uint64_t seed;
	unsigned faults;  /* enum sim_fault */
	unsigned planted; /* enum rec_planted */
	unsigned tasks, conductors, slots;
	unsigned hosts;                     /* more than 1: they share the store, and have leases */
	unsigned turns;                     /* of the first part */
	bool trace;                         /* tell everything on stderr */
	struct rec_machine_options machine; /* for every batch */
	bool wait;
	bool all_ready; /* also without wait, where nothing may follow from it */
};
/* Sizes, limits and durations that follow from the seed. */
struct sim_options sim_options_from_seed(uint64_t seed);

struct sim_task {
	char id[8];
	bool made;
	int parent;       /* -1: none */
	bool bad;         /* since its claim its status was, at some moment, one that stops a child */
	int64_t children; /* how many were started, in all */
	int scripts[8];   /* what its next children do; -1: as the seed says */
	unsigned script_count, script_next;
	int64_t known_us; /* the tracker's time of the newest observation that is remembered of its link */
};

/* One state of an item at its tracker. */
struct sim_version {
	enum rec_observed state;
	const char *reason;
	int64_t second; /* the tracker's clock tells no less */
	int64_t comments;
	unsigned number; /* of all changes, in order */
};
struct sim_item {
	bool pull;
	struct sim_version versions[SIM_VERSIONS_MAX];
	unsigned count;
};

struct sim_process {
	int64_t claim_id;
	unsigned task;
	int folder;
	unsigned host;
	bool alive;      /* the child itself */
	bool grandchild; /* something it left behind is alive */
	bool ignores_term;
	bool signalled; /* by us */
	bool by_itself; /* ended without having been signalled */
	bool end_kept;  /* its end is in the slot's record */
	bool robbed;    /* another host took its claim: how it ended is of no account any more */
	enum sim_script script;
	unsigned stage;
	int64_t started_us, next_us;
	struct rec_exit exit;
};

enum sim_record_state { SIM_STARTING, SIM_RECEIVED, SIM_RUNNING, SIM_ENDED, SIM_VOID, SIM_LOST };
struct sim_record {
	int64_t claim_id;
	unsigned task;
	enum sim_record_state state;
	char batch_id[8];
	struct rec_exit exit;
	int64_t took_us;
	bool adopted, told_running, told_end;
	bool asked;     /* signs of life */
	bool unwritten; /* planted: it is not on the disk before its child runs */
};
/* A record that says STARTING still, seen by nobody for as long as its number counts as forgotten. */
struct sim_leftover {
	int64_t claim_id;
	char batch_id[8];
};
struct sim_folder {
	bool made, shim;
	unsigned host;
	int64_t forgotten[SIM_FORGOTTEN];
	unsigned forgotten_next;
	struct sim_leftover leftover; /* planted */
	int64_t term_us, kill_us;     /* by then nothing of it may run; 0: no lease */
	bool termed;
	int owner;    /* conductor, -1: nobody living */
	bool foreign; /* taken over for its records, not as a slot */
	struct sim_record records[SIM_RECORDS_MAX];
	unsigned record_count;
	char batch_id[8];
};

struct sim;
struct sim_conductor {
	struct sim *w;
	int index;
	unsigned host;
	int64_t term_us, kill_us; /* of its lease, for its slots */
	bool alive, busy;         /* busy: its turn is under way */
	bool ended;               /* its batch has */
	bool was_alone;           /* when its last turn was over */
	bool forced, drained;
	char batch_id[8];
	char owner[24]; /* no two have the same; ends with the host */
	struct rec_driver *driver;
	struct rec_store *store, *reader; /* reader: for looks that are read apart */
	struct rec_look *look;
	int look_result;
	bool look_read;
	struct rec_error look_error;
	int64_t due_us;
	int folders[SIM_SLOTS_MAX]; /* of its slots */
	unsigned slot_count;
	bool may_die;   /* this turn */
	unsigned calls; /* of the store, in this turn */
	struct rec_failing_allocator memory;
	int64_t ending; /* the claim whose end was written last */
};

struct sim_batch {
	int holder[SIM_HOSTS_MAX]; /* there: conductor + 1; 0: nobody */
	char id[8];
	bool made;
	bool forced; /* asked to be */
	bool has_ended;
	enum rec_batch_status outcome;
};

/* A machine. While it sleeps nothing of it moves, and when it wakes its processes may be the first to. */
struct sim_host {
	struct sim *w;
	struct rec_clock clock;
	char name[4];
	bool asleep, waking;
	bool cut;          /* from the store */
	int64_t slept_us;  /* in all: so far its monotonic clock is behind */
	int64_t asleep_us; /* since */
	int64_t wall_us;   /* its wall clock is off by */
};

/* Where there was a choice, which way was taken, so that all ways can be tried in turn. On tried paths nothing happens
 * by chance. */
struct sim_paths {
	uint8_t taken[SIM_DEPTH_MAX], ways[SIM_DEPTH_MAX];
	unsigned depth, depth_max, at;
	unsigned left;                                                          /* disturbances that may still come */
	void (*disturb)(struct sim *w, struct sim_conductor *c, bool in_group); /* at every call of a conductor */
	bool store_fails;                                                       /* at the next call */
	bool store_is_full;                                                     /* at every call that would write */
	unsigned stage;                                                         /* of the story that is told */
	uint64_t fail_at;   /* that allocation of each conductor fails; 0: none */
	uint64_t calls_max; /* how many allocations a conductor made at most */
};

struct sim {
	struct sim_options options;
	struct rec_random random;
	struct sim_paths *paths; /* NULL: the seed decides */
	struct rec_clock_manual clock;
	struct rec_store *keeper; /* people's and workers' handle, and ours */
	struct sim_task tasks[SIM_TASKS_MAX];
	unsigned task_count;
	struct sim_host hosts[SIM_HOSTS_MAX];
	struct sim_conductor conductors[SIM_CONDUCTORS_MAX];
	struct sim_batch batches[SIM_CONDUCTORS_MAX];
	struct sim_folder folders[SIM_FOLDERS_MAX];
	struct sim_process processes[SIM_PROCESSES_MAX];
	struct sim_item items[SIM_ITEMS];
	unsigned versions; /* of all items */
	bool liars;        /* helpers may tell what is not so */
	struct sim_syncer *syncers[2];
	int64_t event_seq; /* up to here the trackers' events were checked */
	unsigned nesting;
	unsigned owners;   /* given so far */
	unsigned blockers; /* made so far */
	bool quiet;        /* the second part */
	bool nobody_came;  /* after the last lease was over: what it covered may still be there */
	uint64_t turns;
	char violation[400]; /* the broken rule, or empty */
};

/* ---- The world (world.c) ---- */

int sim_open(struct sim *w, const struct sim_options *options);
void sim_close(struct sim *w);
/* Without chance: disturb (may be NULL) is asked at every call of a conductor. */
int sim_open_story(struct sim *w, const struct sim_options *options, struct sim_paths *paths);
/* Every conductor has a turn, shims act, time passes to what is due next. */
void sim_round(struct sim *w);
/* Both parts. Returns whether no rule was broken. */
bool sim_run(struct sim *w);
/* Runs the seed; on a broken rule prints it, again with everything told. Returns whether all is well. */
bool sim_seed(const struct sim_options *options);
/* One thing happens. */
void sim_turn(struct sim *w);
/* Quiet from now on; every batch must end. */
bool sim_settle(struct sim *w, uint64_t turns_max);
bool sim_all_ended(const struct sim *w);
void sim_shims_act(struct sim *w);
void sim_show(struct sim *w); /* what is stored, and what every conductor believes */
/* 0 to ways - 1; on tried paths always 0. */
uint32_t sim_choose(struct sim *w, uint32_t ways);
/* In one of `often` cases. Never on tried paths. */
bool sim_chance(struct sim *w, uint32_t often);
void sim_pass(struct sim *w, int64_t us);
/* To the moment when something is due next; false if nothing ever is. */
bool sim_pass_to_next(struct sim *w);
void sim_say(struct sim *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A rule is broken. */
void sim_broken(struct sim *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Something may step in while a conductor's call is under way. */
void sim_interrupt(struct sim *w, struct sim_conductor *c, bool in_group);

/* ---- Conductors (conductors.c) ---- */

/* Makes a batch of these tasks (bits; 0: all) and a conductor for it. */
void sim_batch_start(struct sim *w, int index, unsigned tasks);
/* A conductor for a batch that has none: takes it up again. */
void sim_batch_resume(struct sim *w, int index);
void sim_conductor_turn(struct sim_conductor *c);
/* From now on none of its calls has any effect; freed when its turn is over. */
void sim_conductor_die(struct sim_conductor *c);
/* Frees those that died. */
void sim_conductors_bury(struct sim *w);
void sim_reboot(struct sim *w, unsigned host);

/* ---- Hosts (hosts.c) ---- */

void sim_hosts_open(struct sim *w);
/* One falls asleep, wakes, is cut off or is back. */
void sim_hosts_act(struct sim *w);
void sim_host_sleep(struct sim *w, unsigned host);
void sim_host_wake(struct sim *w, unsigned host);
void sim_hosts_settle(struct sim *w); /* all are there again */
bool sim_host_is_awake(const struct sim *w, unsigned host);
/* It sleeps, or just woke: what it still runs it has had no chance to end. */
bool sim_host_was_paused(const struct sim *w, unsigned host);
/* When a slot has to end something by itself; INT64_MAX: never. */
int64_t sim_deadline_next(const struct sim *w);
/* What is due of that is done, by every slot whose host is awake. */
void sim_deadlines_keep(struct sim *w);

/* ---- Store (sim-store.c) ---- */

int sim_store_open(struct sim_conductor *c, struct rec_store **ret_store);
/* What dies with its conductor. */
void sim_store_abandon(struct rec_store *s);

/* ---- Slots, shims, processes (sim-slots.c, processes.c) ---- */

extern const struct rec_slots_ops sim_slots_ops;
/* Folders for a new conductor's slots. */
void sim_slots_take(struct sim_conductor *c);
void sim_slots_leave(struct sim_conductor *c); /* it died */
struct sim_record *sim_record_find(struct sim_folder *f, int64_t claim_id);
struct sim_process *sim_process_of(struct sim *w, int64_t claim_id);
bool sim_claim_lives(const struct sim *w, int64_t claim_id);
void sim_shim_act(struct sim *w, int folder);
void sim_shim_die(struct sim *w, int folder);
void sim_process_start(struct sim *w, int folder, struct sim_record *record);
void sim_process_signal(struct sim *w, struct sim_process *p, bool kill);
/* All of it is gone at once: power, or hunted down. */
void sim_process_vanish(struct sim_process *p);
void sim_processes_act(struct sim *w);
int64_t sim_processes_due(const struct sim *w); /* INT64_MAX: never */
int sim_folder_of_slot(struct sim_conductor *c, uint32_t slot);

/* ---- People and workers (people.c) ---- */

void sim_people_act(struct sim *w);
/* In quiet: whatever would keep a batch open for ever is settled. */
void sim_people_settle(struct sim *w);
unsigned sim_task_add(struct sim *w, enum rec_status status, unsigned depends_on);
unsigned sim_child_add(struct sim *w, enum rec_status status, unsigned depends_on, int parent); /* -1: of nobody */
/* A roll-up moved a task that may be running: a rec_rollup_fn with the world as its context. */
void sim_parent_moved(void *context, const struct rec_rollup_change *change);
bool sim_status_set(struct sim *w, unsigned task, enum rec_status to, const char *who);
enum rec_status sim_status_of(struct sim *w, unsigned task);
bool sim_blocker_add(struct sim *w, unsigned task);
bool sim_blockers_answer(struct sim *w, unsigned task); /* all open ones */
bool sim_task_delete(struct sim *w, unsigned task);
int sim_task_find(const struct sim *w, struct rec_slice id); /* -1: none */

/* ---- Trackers, and passes over links (trackers.c) ---- */

int sim_trackers_open(struct sim *w);
void sim_trackers_close(struct sim *w);
void sim_trackers_link(struct sim *w, unsigned task);
/* An item changes, or a pass takes a step. */
void sim_trackers_act(struct sim *w);
void sim_trackers_settle(struct sim *w);

/* ---- Rules (rules.c) ---- */

void sim_rules_at_start(struct sim *w, const struct sim_process *p);
void sim_rules_at_claim(struct sim_conductor *c, struct rec_store *inner, const struct rec_claim *claim);
/* A dead conductor's claim is adopted: by then it is the adopter's in the store. */
void sim_rules_at_adoption(struct sim_conductor *c, int64_t claim_id);
void sim_rules_before_end(struct sim_conductor *c, struct rec_store *inner, int64_t claim_id);
void sim_rules_at_end(struct sim_conductor *c, int64_t claim_id, const struct rec_finish *finish);
void sim_rules_at_status(struct sim_conductor *c, struct rec_store *inner, struct rec_slice id, enum rec_status now,
			 enum rec_status from, enum rec_status to);
void sim_rules_at_row(struct sim_conductor *c, const struct rec_batch_task *row);
void sim_rules_at_stop(struct sim_conductor *c, const struct sim_process *p);
void sim_rules_after_turn(struct sim_conductor *c);
void sim_rules_at_batch_end(struct sim_conductor *c);
void sim_rules_at_the_end(struct sim *w);

#endif
