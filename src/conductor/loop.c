/* loop.c - see loop.h. A wait for some descriptors and a time is one ppoll(2); the slots gather any number of
 * sockets behind one of them, the trackers any number of pipes. (A library's event loop was weighed and left: it would
 * add its start-up and its memory to every run and carry nothing that these lines do not.)
 *
 * The store's wake-up may come before its commit is visible, so struct rec_relook plans further looks after it. Our own
 * commits wake us too. So a look is no step: as long as nobody else has committed, which is one question of some
 * microseconds, the driver is left alone. */
#include "conductor/loop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

#define NO_MEMORY_PAUSE_US 1000000
#define WAIT_US_MAX (INT64_C(3600) * 1000000)
#define CLOSING_US (INT64_C(30) * 1000000) /* for items that are being closed when the batch has ended */
#define CLOSING_STOPPED_US (INT64_C(2) * 1000000)

struct loop {
	const struct rec_loop_options *options;
	struct rec_shim_slots *slots;
	struct rec_driver *driver;
	struct rec_outside *outside; /* NULL: no trackers */
	struct rec_relook relook;
	int signal_fd, wake_fd;
	int64_t due_us, refresh_us, outside_due_us; /* monotonic: next step, next refresh, next step of trackers */
	int signal, signals;
	uint64_t commits;
	int64_t forced_us;                  /* when a signal said so; 0: none did */
	int64_t idle_us;                    /* since then nothing ran and nothing was committed */
	uint64_t idle_commits, idle_errors; /* at that time */
	char trouble[256];                  /* told last */
	bool only_look;                     /* nothing but the store may have moved since the last step */
};

static int64_t now_us(void)
{
	return rec_clock_real.monotonic_us(rec_clock_real.context);
}

/* ---- Signals ------------------------------------------------------------------------------------ */

static int signals_open(struct loop *loop, struct rec_error *error)
{
	sigset_t wanted;
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGINT);
	sigaddset(&wanted, SIGTERM);
	sigaddset(&wanted, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &wanted, NULL) != 0)
		return rec_fail_errno(error, errno, "signals");
	loop->signal_fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
	return loop->signal_fd < 0 ? rec_fail_errno(error, errno, "signals") : 0;
}

static void signals_read(struct loop *loop)
{
	struct signalfd_siginfo info;
	while (read(loop->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
		if (info.ssi_signo == SIGHUP)
			continue;
		if (!loop->signal || info.ssi_signo == SIGTERM)
			loop->signal = (int)info.ssi_signo;
		if (!loop->forced_us && (info.ssi_signo == SIGTERM || ++loop->signals > 1))
			loop->forced_us = now_us();
		if (loop->forced_us)
			rec_driver_force(loop->driver);
		else
			rec_driver_drain(loop->driver);
	}
}

/* ---- Waiting ------------------------------------------------------------------------------------ */

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t give_up_at(const struct loop *loop)
{
	int64_t since_us = loop->idle_us > loop->forced_us ? loop->idle_us : loop->forced_us;
	return loop->forced_us ? since_us + loop->options->driver.machine.grace_us : INT64_MAX;
}

static int64_t wait_us(const struct loop *loop, int64_t now)
{
	int64_t wait = loop->due_us == INT64_MAX ? WAIT_US_MAX : loop->due_us - now;
	int64_t again = rec_relook_wait_us(&loop->relook, now);
	int slots_ms = rec_shim_slots_wait_ms(loop->slots);
	if (again >= 0)
		wait = earlier(wait, again);
	if (slots_ms >= 0)
		wait = earlier(wait, slots_ms * INT64_C(1000));
	if (loop->options->refresh_us)
		wait = earlier(wait, loop->refresh_us - now);
	if (loop->forced_us && now < give_up_at(loop))
		wait = earlier(wait, give_up_at(loop) - now);
	if (loop->outside_due_us != INT64_MAX)
		wait = earlier(wait, loop->outside_due_us - now);
	return wait < 0 ? 0 : earlier(wait, WAIT_US_MAX);
}

static int wait_for_something(struct loop *loop, struct rec_error *error)
{
	struct pollfd waits[] = {{.fd = loop->signal_fd, .events = POLLIN},
				 {.fd = rec_shim_slots_fd(loop->slots), .events = POLLIN},
				 {.fd = loop->wake_fd, .events = POLLIN},
				 {.fd = loop->outside ? rec_outside_fd(loop->outside) : -1, .events = POLLIN}};
	int64_t wait = wait_us(loop, now_us());
	struct timespec limit = {.tv_sec = wait / 1000000, .tv_nsec = wait % 1000000 * 1000};
	int ready = ppoll(waits, sizeof waits / sizeof *waits, &limit, NULL);
	if (ready < 0 && errno != EINTR)
		return rec_fail_errno(error, errno, "waiting");
	loop->only_look = ready >= 0 && !(ready > 0 && (waits[0].revents || waits[1].revents)) &&
			  rec_shim_slots_wait_ms(loop->slots) < 0;
	if (ready > 0 && waits[3].revents)
		loop->outside_due_us = 0;
	if (ready > 0 && waits[0].revents)
		signals_read(loop);
	if (ready > 0 && waits[2].revents) {
		rec_store_wake_drain(loop->options->driver.store);
		rec_relook_woken(&loop->relook, now_us());
	}
	return 0;
}

static void refresh(struct loop *loop)
{
	int64_t now = now_us();
	if (!loop->options->refresh_us || now < loop->refresh_us)
		return;
	loop->options->refresh(loop->options->context, loop->driver, now);
	loop->refresh_us = now + loop->options->refresh_us;
}

/* What our own commits woke is of no interest, and waits to be read already. */
static void own_commits_pass(struct loop *loop)
{
	uint64_t commits = rec_driver_commits(loop->driver);
	if (commits == loop->commits)
		return;
	loop->commits = commits;
	rec_store_wake_drain(loop->options->driver.store);
	rec_relook_committed(&loop->relook, now_us());
}

/* ---- Trackers ----------------------------------------------------------------------------------- */

static bool own_child(void *context, int pid)
{
	return rec_trackers_own(context, pid);
}

/* In front of the driver's listener: what it finished may have to be closed elsewhere. */
static void tell(void *context, const struct rec_event *event)
{
	struct loop *loop = context;
	const struct rec_driver_options *driver = &loop->options->driver;
	if (rec_slice_equal(event->event, rec_slice_of("RECONCILIATION_ERROR")) && event->detail.length)
		rec_text_shown(loop->trouble, sizeof loop->trouble, event->detail);
	if (loop->outside && rec_slice_equal(event->event, rec_slice_of("BATCH_TASK_COMPLETED")))
		rec_outside_finished(loop->outside, event->task_id, event->attempt);
	if (driver->tell)
		driver->tell(driver->context, event);
}

static int finishing(void *context, struct rec_slice task_id, int64_t attempt, struct rec_error *error)
{
	struct loop *loop = context;
	return rec_outside_finishing(loop->outside, task_id, attempt, error);
}

static int outside_open(struct loop *loop, struct rec_error *error)
{
	const struct rec_driver_options *driver = &loop->options->driver;
	const struct rec_outside_options options = {
		.store = driver->store,
		.trackers = loop->options->trackers,
		.slots = rec_shim_slots_table(loop->slots),
		.host = driver->host,
		.batch_id = driver->batch_id,
		.interval_us = driver->reconcile_interval_us,
		.close_issues = loop->options->close_issues,
		.allocator = driver->allocator,
		.tell = driver->tell,
		.context = driver->context,
	};
	loop->outside_due_us = INT64_MAX;
	if (!options.trackers || rec_trackers_count(options.trackers) == 0)
		return 0;
	loop->outside_due_us = 0;
	return rec_outside_new(&options, &loop->outside, error);
}

/* What they say goes into the store; the driver has to look there. */
static int outside_work(struct loop *loop, struct rec_error *error)
{
	bool wrote = false;
	if (!loop->outside || now_us() < loop->outside_due_us)
		return 0;
	int r = rec_outside_step(loop->outside, &loop->outside_due_us, &wrote, error);
	if (r == REC_E_NOMEM) {
		loop->outside_due_us = now_us() + NO_MEMORY_PAUSE_US;
		r = 0;
	}
	if (wrote) {
		loop->only_look = false;
		loop->due_us = 0;
		rec_store_wake_drain(loop->options->driver.store);
		rec_relook_committed(&loop->relook, now_us());
	}
	return r;
}

/* ---- A turn ------------------------------------------------------------------------------------- */

/* Who was told to stop at once, and has stopped what ran, does not wait for ever for a store that takes nothing: a
 * moved one may never come back. Nothing is lost by that, for the slots keep how everything ended. */
static int give_up(struct loop *loop, struct rec_error *error)
{
	int64_t now = now_us();
	uint64_t commits = rec_driver_commits(loop->driver), errors = rec_driver_errors(loop->driver);
	if (commits != loop->idle_commits || rec_machine_runs(rec_driver_machine(loop->driver))) {
		loop->idle_us = now;
		loop->idle_commits = commits;
		loop->idle_errors = errors;
	}
	if (now < give_up_at(loop) || errors == loop->idle_errors)
		return 0;
	return rec_fail(error, REC_E_IO,
			"what ran was stopped, but that could not be recorded: %s (reconciler resume records it)",
			loop->trouble);
}

/* REC_END: the batch has ended. */
static int turn(struct loop *loop, struct rec_error *error)
{
	int64_t now = now_us();
	rec_relook_looked(&loop->relook, now);
	bool quiet = loop->only_look && now < loop->due_us && rec_driver_is_quiet(loop->driver);
	int r = quiet ? 0 : rec_driver_step(loop->driver, &loop->due_us, error);
	if (r == REC_E_NOMEM) {
		loop->due_us = now_us() + NO_MEMORY_PAUSE_US;
		r = 0;
	}
	own_commits_pass(loop);
	if (!quiet && loop->options->stepped)
		loop->options->stepped(loop->options->context);
	refresh(loop);
	r = r ? r : outside_work(loop, error);
	r = r ? r : give_up(loop, error);
	return r == 0 ? wait_for_something(loop, error) : r;
}

/* ---- The whole run ------------------------------------------------------------------------------ */

static void result_fill(const struct loop *loop, struct rec_loop_result *result)
{
	const struct rec_machine *machine = rec_driver_machine(loop->driver);
	*result = (struct rec_loop_result){.outcome = rec_driver_outcome(loop->driver),
					   .signal = loop->signal,
					   .counts = rec_machine_counts(machine),
					   .reconciled = rec_machine_reconciled(machine),
					   .errors = rec_driver_errors(loop->driver)};
	if (loop->outside)
		result->outside = rec_outside_counts(loop->outside);
}

static int run(struct loop *loop, struct rec_loop_result *ret_result, struct rec_error *error)
{
	struct rec_driver_options driver = loop->options->driver;
	driver.slots = rec_shim_slots_table(loop->slots);
	driver.tell = tell;
	driver.context = loop;
	int r = rec_store_wake_fd(driver.store, &loop->wake_fd, error);
	if (r == 0 && loop->wake_fd >= 0)
		rec_relook_woken(&loop->relook, now_us());
	if (r == 0)
		r = outside_open(loop, error);
	driver.finishing = loop->outside ? finishing : NULL;
	if (r == 0)
		r = rec_driver_new(&driver, &loop->driver, error);
	if (r == 0 && loop->options->begun)
		loop->options->begun(loop->options->context, loop->driver);
	while (r == 0)
		r = turn(loop, error);
	if (r != REC_END)
		return r;
	if (loop->outside)
		rec_outside_finish(loop->outside, loop->signal ? CLOSING_STOPPED_US : CLOSING_US);
	result_fill(loop, ret_result);
	return 0;
}

static int make_held(struct loop *loop, rec_loop_make_fn *make, struct rec_error *error)
{
	struct rec_slots table = rec_shim_slots_table(loop->slots);
	int r = table.ops->hold(table.self, loop->options->driver.batch_id, error);
	return r == 0 && make ? make(loop->options->context, error) : r;
}

int rec_loop_run(const struct rec_loop_options *options, rec_loop_make_fn *make, struct rec_loop_result *ret_result,
		 struct rec_error *error)
{
	struct loop loop = {.options = options, .signal_fd = -1, .wake_fd = -1};
	struct rec_shim_options slots = options->slots;
	if (options->trackers) {
		slots.own_child = own_child;
		slots.context = options->trackers;
	}
	int r = signals_open(&loop, error);
	if (r == 0)
		r = rec_shim_slots_open(&slots, &loop.slots, error);
	if (r == 0)
		r = make_held(&loop, make, error);
	if (r == 0)
		r = run(&loop, ret_result, error);
	rec_driver_free(loop.driver);
	rec_outside_free(loop.outside);
	rec_shim_slots_close(loop.slots);
	rec_close_fd(&loop.signal_fd);
	return r;
}
