/* shim-slots.c - the table of slots.h over the slots of slot.h. */
#include "conductor/shim-slots.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "conductor/slot.h"
#include "engine/exchange.h"

#define SLOTS_MAX 100000u /* folders looked at; a run has far fewer */
#define FILES_PER_SLOT 5u
#define UNSETTLED_AGAIN_MS 5
#define TASK_JSON_BYTES_MAX (96u << 20) /* a task with its texts, escaped */
#define TASK_JSON_BYTES_KEPT (64u << 10)

/* ---- Commands ---- */

static uint32_t slots_count(void *self)
{
	return ((struct rec_shim_slots *)self)->options.slot_count;
}

static struct slot *slot_of(struct rec_shim_slots *s, uint32_t number)
{
	return number < s->slot_count ? s->slots[number] : NULL;
}

/* ---- Task files ---- */

/* The file of an attempt that ended is written again for a later one. A file made anew for each attempt, or renamed,
 * costs more than everything else about its start together. */
static uint32_t task_file_free(const struct slot *slot)
{
	uint32_t file = 0;
	for (size_t i = 0; i < REC_SLOT_CLAIMS_MAX; i++) {
		const struct slot_claim *claim = &slot->claims[i];
		bool reads = claim->state != SLOT_CLAIM_NONE && claim->state != SLOT_CLAIM_TOLD;
		if (reads && claim->order.task_file == file)
			file = (file + 1) % REC_SLOT_TASK_FILES;
	}
	return file;
}

/* A child may have done anything to its file: linked it, so that it is somebody's by now, made it unwritable, or a FIFO
 * that nobody reads. */
static int task_file_open(const struct slot *slot, const char *name, struct stat *status)
{
	int fd = openat(slot->folder_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd >= 0 && fstat(fd, status) == 0 && S_ISREG(status->st_mode) && status->st_nlink == 1)
		return fd;
	if (fd >= 0)
		close(fd);
	else if (errno != EACCES && errno != ELOOP && errno != EISDIR && errno != EPERM && errno != ENXIO)
		return -1;
	status->st_size = 0;
	if (unlinkat(slot->folder_fd, name, 0) < 0 && errno != ENOENT)
		return -1; /* why it cannot be replaced, not that it is there */
	return openat(slot->folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static bool write_all(int fd, const char *bytes, size_t length)
{
	size_t done = 0;
	while (done < length) {
		ssize_t n = write(fd, bytes + done, length - done);
		if (n == 0)
			errno = EIO;
		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static int fail_task_file(const struct slot *slot, const char *name, int errnum, struct rec_error *error)
{
	if (errnum != EACCES && errnum != EPERM && errnum != EROFS)
		return rec_fail_errno(error, errnum, "%s/%s", slot->folder, name);
	return rec_fail(error, errnum == EROFS ? REC_E_READ_ONLY : REC_E_PERMISSION,
			"%s/%s: may not be written: %s (make file and folder writable; the batch goes on then)",
			slot->folder, name, strerrordesc_np(errnum));
}

/* The child's stdin. Written in place: it is read only after START, and a crash before that makes it void. */
static int task_write(struct rec_shim_slots *s, struct slot *slot, uint32_t file, const struct rec_slot_order *order,
		      struct rec_error *error)
{
	char name[REC_SLOT_TASK_BYTES];
	struct stat status;
	snprintf(name, sizeof name, REC_SLOT_TASK, file);
	rec_buffer_clear(&s->json);
	int r = rec_task_write_json(&s->json, order->task, true);
	r = r ? r : rec_buffer_add_text(&s->json, "\n");
	if (r != 0)
		return rec_fail(error, r, "%s/%s: the task does not fit", slot->folder, name);
	int fd = task_file_open(slot, name, &status);
	if (fd < 0 || !write_all(fd, s->json.data, s->json.length) ||
	    ((size_t)status.st_size > s->json.length && ftruncate(fd, (off_t)s->json.length) != 0))
		r = fail_task_file(slot, name, errno, error);
	if (fd >= 0)
		close(fd);
	if (s->json.capacity > TASK_JSON_BYTES_KEPT)
		rec_buffer_release(&s->json);
	return r;
}

/* A title longer than what fits the environment is cut at a character; the JSON has it whole. */
static size_t title_fitting(struct rec_slice title)
{
	size_t length = title.length > REC_TITLE_BYTES_MAX ? REC_TITLE_BYTES_MAX : title.length;
	while (length < title.length && length > 0 && ((unsigned char)title.data[length] & 0xc0) == 0x80)
		length--;
	return length;
}

static int slots_prepare(void *self, uint32_t number, const struct rec_slot_order *order, struct rec_error *error)
{
	struct rec_shim_slots *s = self;
	struct slot *slot = slot_of(s, number);
	int r = slot && !slot->adopted ? 0 : rec_fail(error, REC_E_BUG, "slot %u: not ours", number);
	if (r == 0 && !rec_slice_equal(rec_slice_of(slot->batch_id), s->options.batch_id))
		r = rec_slot_batch_write(s, slot, error);
	uint32_t file = r == 0 ? task_file_free(slot) : 0;
	r = r ? r : task_write(s, slot, file, order, error);
	if (r != 0)
		return r;
	struct slot_claim *claim = rec_slot_claim_add(slot, order->claim_id, SLOT_CLAIM_PREPARED);
	if (!claim)
		return rec_fail(error, REC_E_BUG, "slot %u: more than %u claims", number, REC_SLOT_CLAIMS_MAX);
	claim->order = (struct rec_shim_message){.type = REC_SHIM_START,
						 .claim_id = order->claim_id,
						 .number = (int32_t)order->attempt,
						 .id_length = (uint32_t)order->task->id.length,
						 .task_file = file};
	rec_buffer_clear(&claim->texts);
	if (rec_buffer_add(&claim->texts, order->task->id.data, order->task->id.length) != 0 ||
	    rec_buffer_add(&claim->texts, order->task->title.data, title_fitting(order->task->title)) != 0) {
		rec_slot_claim_remove(s, claim);
		return rec_fail_nomem(error);
	}
	rec_record_write(slot->map, REC_LANE_AHEAD,
			 (struct rec_record){.phase = REC_RECORD_STARTING, .claim_id = order->claim_id});
	rec_record_erase(slot->map, REC_LANE_FORGOTTEN, order->claim_id); /* a number that a rollback gave back */
	return 0;
}

static bool order_send(struct slot *slot, const struct slot_claim *claim)
{
	struct rec_slice id = {claim->texts.data, claim->order.id_length};
	struct rec_slice title = {claim->texts.data + id.length, claim->texts.length - id.length};
	return rec_slot_send(slot, &claim->order, id, title);
}

/* START to the slot's shim, which is started first if there is none. One that died just now is settled by the next
 * gathering; the claim is not started meanwhile. */
static int order_deliver(struct rec_shim_slots *s, struct slot *slot, const struct slot_claim *claim,
			 struct rec_error *error)
{
	int r = slot->socket < 0 && !slot->hung_up_us ? rec_slot_shim_start(s, slot, error) : 0;
	if (r)
		return r;
	return order_send(slot, claim) ? 0 : rec_fail(error, REC_E_IO, "%s: its shim is gone", slot->folder);
}

static int slots_start(void *self, uint32_t number, int64_t claim_id, struct rec_error *error)
{
	struct slot *slot = slot_of(self, number);
	struct slot_claim *claim = slot ? rec_slot_claim(slot, claim_id) : NULL;
	if (!claim || claim->state != SLOT_CLAIM_PREPARED)
		return rec_fail(error, REC_E_BUG, "slot %u: claim %lld is not prepared", number, (long long)claim_id);
	int r = order_deliver(self, slot, claim, error);
	claim->state = r == 0 ? SLOT_CLAIM_SENT : SLOT_CLAIM_TOLD;
	return r;
}

static void slots_recall(void *self, uint32_t number, int64_t claim_id)
{
	struct rec_shim_slots *s = self;
	struct slot *slot = slot_of(s, number);
	struct slot_claim *claim = slot ? rec_slot_claim(slot, claim_id) : NULL;
	if (!claim)
		return;
	if (claim->state == SLOT_CLAIM_PREPARED) {
		claim->state = SLOT_CLAIM_RECALLED;
		s->unsettled++;
	} else if (claim->state == SLOT_CLAIM_SENT) {
		rec_slot_send(slot, &(struct rec_shim_message){.type = REC_SHIM_RECALL, .claim_id = claim_id},
			      (struct rec_slice){0}, (struct rec_slice){0});
	}
}

/* A claim that may be ahead is recalled first: whichever it is by now, one of the two messages fits. */
static void slots_stop(void *self, uint32_t number, int64_t claim_id, enum rec_slot_signal signal)
{
	struct slot *slot = slot_of(self, number);
	struct slot_claim *claim = slot ? rec_slot_claim(slot, claim_id) : NULL;
	if (!claim)
		return;
	slots_recall(self, number, claim_id);
	if (claim->state == SLOT_CLAIM_SENT || claim->state == SLOT_CLAIM_RUNNING)
		rec_slot_send(slot,
			      &(struct rec_shim_message){.type = REC_SHIM_SIGNAL,
							 .claim_id = claim_id,
							 .number = signal == REC_SLOT_KILL ? SIGKILL : SIGTERM},
			      (struct rec_slice){0}, (struct rec_slice){0});
}

static void slots_life(void *self, uint32_t number, int64_t claim_id)
{
	struct slot *slot = slot_of(self, number);
	struct slot_claim *claim = slot ? rec_slot_claim(slot, claim_id) : NULL;
	if (claim && claim->state == SLOT_CLAIM_RUNNING)
		rec_slot_send(slot, &(struct rec_shim_message){.type = REC_SHIM_LIFE, .claim_id = claim_id},
			      (struct rec_slice){0}, (struct rec_slice){0});
}

static void slots_deadline(void *self, int64_t term_us, int64_t kill_us)
{
	struct rec_shim_slots *s = self;
	s->term_us = term_us;
	s->kill_us = kill_us;
	for (size_t i = 0; i < s->slot_count; i++)
		if (s->slots[i])
			rec_slot_deadline_send(s, s->slots[i]);
}

static void slots_forget(void *self, uint32_t number, int64_t claim_id)
{
	struct rec_shim_slots *s = self;
	struct slot *slot = slot_of(s, number);
	int64_t owed[REC_RECORD_CLAIMS_MAX];
	if (!slot)
		return;
	rec_record_write(slot->map, REC_LANE_FORGOTTEN,
			 (struct rec_record){.phase = REC_RECORD_FORGOTTEN, .claim_id = claim_id});
	rec_record_erase(slot->map, REC_LANE_AHEAD, claim_id); /* FORGOTTEN keeps but two; another slot may get it */
	struct slot_claim *claim = rec_slot_claim(slot, claim_id);
	if (claim)
		rec_slot_claim_remove(s, claim);
	if (slot->adopted && rec_slot_recorded(slot, owed) == 0)
		s->slots[number] = rec_slot_let_go(s, slot);
}

static int slots_next(void *self, struct rec_slot_event *ret_event, struct rec_error *error)
{
	struct rec_shim_slots *s = self;
	if (s->event_count == 0) {
		s->event_first = 0;
		int r = rec_slots_gather(s);
		if (r)
			return rec_fail_nomem(error);
	}
	if (s->event_count == 0)
		return REC_END;
	*ret_event = s->events[s->event_first++];
	s->event_count--;
	return 0;
}

/* ---- Batches ---- */

int rec_batch_lock_path(struct rec_buffer *out, const char *run_directory, struct rec_slice batch_id)
{
	rec_buffer_printf(out, "%s/batch-", run_directory);
	for (size_t i = 0; i < batch_id.length; i++) {
		unsigned char c = (unsigned char)batch_id.data[i];
		bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-';
		rec_buffer_printf(out, plain ? "%c" : "%%%02X", c);
	}
	return rec_buffer_add_text(out, ".lock") == 0 ? 0 : REC_E_NOMEM;
}

static struct held_batch *held_find(struct rec_shim_slots *s, struct rec_slice batch_id)
{
	for (size_t i = 0; i < s->held_count; i++)
		if (rec_slice_equal(rec_slice_of(s->held[i].id), batch_id))
			return &s->held[i];
	return NULL;
}

/* For people who are told that a batch is held: who holds it. Nothing decides by it. */
static void holder_write(int fd)
{
	char text[300], host[256] = "?";
	gethostname(host, sizeof host - 1);
	int n = snprintf(text, sizeof text, "pid %d on %s\n", (int)getpid(), host);
	if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) < 0)
		return;
}

static int slots_hold(void *self, struct rec_slice batch_id, struct rec_error *error)
{
	struct rec_shim_slots *s = self;
	struct rec_buffer path;
	int fd = -1;
	if (held_find(s, batch_id))
		return 0;
	rec_buffer_init(&path, s->allocator, 8192);
	char *id = rec_strndup(s->allocator, batch_id.data, batch_id.length);
	int r = id && rec_batch_lock_path(&path, s->options.run_directory, batch_id) == 0 ? 0 : rec_fail_nomem(error);
	if (r == 0 &&
	    rec_grow(s->allocator, (void **)&s->held, &s->held_capacity, s->held_count + 1, sizeof *s->held) != 0)
		r = rec_fail_nomem(error);
	if (r == 0)
		r = rec_file_lock(path.data, &fd, error);
	rec_buffer_release(&path);
	if (r != 0) {
		rec_free(s->allocator, id);
		return r;
	}
	holder_write(fd);
	s->held[s->held_count++] = (struct held_batch){id, fd};
	return 0;
}

static bool slots_holds(void *self, struct rec_slice batch_id)
{
	return held_find(self, batch_id) != NULL;
}

/* The file stays: removing it could leave two holders, one on the removed file. */
static void slots_let_go(void *self, struct rec_slice batch_id)
{
	struct rec_shim_slots *s = self;
	struct held_batch *held = held_find(s, batch_id);
	if (!held)
		return;
	close(held->fd);
	rec_free(s->allocator, held->id);
	*held = s->held[--s->held_count];
}

/* ---- Recovery ---- */

static int slot_append(struct rec_shim_slots *s, struct slot *slot, struct rec_error *error)
{
	if (rec_grow(s->allocator, (void **)&s->slots, &s->slot_capacity, s->slot_count + 1, sizeof(void *)) != 0)
		return rec_fail_nomem(error);
	slot->number = (uint32_t)s->slot_count;
	s->slots[s->slot_count++] = slot;
	return 0;
}

/* Takes the slot of a dead conductor that still owes an end. */
static int debtor_take(struct rec_shim_slots *s, uint32_t folder, struct rec_error *error)
{
	struct slot *slot;
	int64_t owed[REC_RECORD_CLAIMS_MAX];
	int r = rec_slot_take(s, folder, false, &slot, error);
	if (r != 0)
		return r < 0 ? r : 0; /* of a living conductor, or of ours */
	slot->adopted = true;
	if (rec_slot_recorded(slot, owed) == 0 || (r = slot_append(s, slot, error)) != 0)
		rec_slot_let_go(s, slot);
	return r;
}

static int debtors_take(struct rec_shim_slots *s, struct rec_error *error)
{
	int r = 0;
	DIR *folders = opendir(s->options.run_directory);
	if (!folders)
		return rec_fail_errno(error, errno, "%s", s->options.run_directory);
	for (struct dirent *entry; r == 0 && (entry = readdir(folders));) {
		char *end;
		if (strncmp(entry->d_name, "slot-", 5) != 0)
			continue;
		unsigned long folder = strtoul(entry->d_name + 5, &end, 10);
		if (end > entry->d_name + 5 && *end == '\0' && folder < SLOTS_MAX)
			r = debtor_take(s, (uint32_t)folder, error);
	}
	closedir(folders);
	return r;
}

static bool is_running(const struct slot *slot, int64_t claim_id)
{
	struct rec_record record;
	return rec_record_find(slot->map, REC_LANE_RUNNING, claim_id, &record) &&
	       !rec_record_find(slot->map, REC_LANE_ENDED, claim_id, &record);
}

static int slots_records(void *self, rec_slot_record_fn *fn, void *context, struct rec_error *error)
{
	struct rec_shim_slots *s = self;
	int r = debtors_take(s, error);
	for (size_t i = 0; i < s->slot_count && r == 0; i++) {
		int64_t owed[REC_RECORD_CLAIMS_MAX];
		size_t count = s->slots[i] ? rec_slot_recorded(s->slots[i], owed) : 0;
		for (size_t k = 0; k < count && r == 0; k++)
			r = fn(context, &(struct rec_slot_record){.slot = (uint32_t)i,
								  .claim_id = owed[k],
								  .runs = is_running(s->slots[i], owed[k]),
								  .batch_id = rec_slice_of(s->slots[i]->batch_id)});
	}
	return r;
}

/* What a shim that answered said by its HELLO: this claim runs; any other it was given ended or never started. */
static void adopt_living(struct rec_shim_slots *s, struct slot *slot, struct slot_claim *claim)
{
	if (claim->claim_id != slot->running_at_adoption) {
		rec_slot_claim_settle(s, slot, claim);
		return;
	}
	claim->state = SLOT_CLAIM_RUNNING;
	rec_slot_tell(s, slot, claim->claim_id, REC_SLOT_RUNNING);
}

static int slots_adopt(void *self, uint32_t number, int64_t claim_id, struct rec_error *error)
{
	struct rec_shim_slots *s = self;
	struct slot *slot = slot_of(s, number);
	int64_t running = 0;
	if (!slot || rec_slot_claim(slot, claim_id))
		return slot ? 0 : rec_fail(error, REC_E_BUG, "slot %u: nothing to adopt", number);
	if (rec_slots_room(s, 1) != 0)
		return rec_fail_nomem(error);
	int r = slot->socket >= 0 ? 0 : rec_slot_shim_connect(s, slot, &running, error);
	if (r < 0)
		return r;
	if (running)
		slot->running_at_adoption = running;
	struct slot_claim *claim = rec_slot_claim_add(slot, claim_id, SLOT_CLAIM_SENT);
	if (!claim)
		return rec_fail(error, REC_E_CORRUPT, "%s: its record names more claims than a slot can have",
				slot->folder);
	if (r == 0)
		adopt_living(s, slot, claim);
	else
		rec_slot_claim_settle(s, slot, claim);
	return 0;
}

static const struct rec_slots_ops shim_slots_ops = {
	.count = slots_count,
	.prepare = slots_prepare,
	.start = slots_start,
	.stop = slots_stop,
	.recall = slots_recall,
	.deadline = slots_deadline,
	.life = slots_life,
	.forget = slots_forget,
	.next = slots_next,
	.hold = slots_hold,
	.let_go = slots_let_go,
	.holds = slots_holds,
	.records = slots_records,
	.adopt = slots_adopt,
};

struct rec_slots rec_shim_slots_table(struct rec_shim_slots *s)
{
	return (struct rec_slots){&shim_slots_ops, s};
}

int rec_shim_slots_fd(const struct rec_shim_slots *s)
{
	return s->epoll_fd;
}

int rec_shim_slots_wait_ms(const struct rec_shim_slots *s)
{
	return s->event_count ? 0 : s->unsettled ? UNSETTLED_AGAIN_MS : -1;
}

/* ---- Opening and closing ---- */

static int folders_open(struct rec_shim_slots *s, struct rec_error *error)
{
	if (mkdir(s->options.run_directory, 0700) != 0 && errno != EEXIST)
		return rec_fail_errno(error, errno, "%s", s->options.run_directory);
	s->run_fd = open(s->options.run_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->run_fd < 0)
		return rec_fail_errno(error, errno, "%s", s->options.run_directory);
	if (mkdirat(s->run_fd, "logs", 0700) != 0 && errno != EEXIST)
		return rec_fail_errno(error, errno, "%s/logs", s->options.run_directory);
	s->logs_fd = openat(s->run_fd, "logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->logs_fd < 0)
		return rec_fail_errno(error, errno, "%s/logs", s->options.run_directory);
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return s->epoll_fd < 0 ? rec_fail_errno(error, errno, "epoll") : 0;
}

/* Many slots need many descriptors; the children get the limit that was there before. */
static void files_raise(struct rec_shim_slots *s)
{
	struct rlimit wanted;
	if (getrlimit(RLIMIT_NOFILE, &s->files_before) != 0)
		return;
	wanted = s->files_before;
	rlim_t need = (rlim_t)s->options.slot_count * FILES_PER_SLOT + 64;
	if (need <= wanted.rlim_cur)
		return;
	wanted.rlim_cur = need < wanted.rlim_max ? need : wanted.rlim_max;
	setrlimit(RLIMIT_NOFILE, &wanted);
}

/* REC_BATCH_ID stands in front, so that a hunt finds it without reading a large environment. */
static int environment_make(struct rec_shim_slots *s, struct rec_error *error)
{
	static const char name[] = "REC_BATCH_ID=";
	size_t count = 0;
	while (s->options.environment[count])
		count++;
	struct rec_buffer variable;
	rec_buffer_init(&variable, s->allocator, 4096);
	rec_buffer_add_text(&variable, name);
	rec_buffer_add(&variable, s->options.batch_id.data, s->options.batch_id.length);
	s->environment = rec_zalloc(s->allocator, count + 2, sizeof *s->environment);
	if (variable.failed || !s->environment) {
		rec_buffer_release(&variable);
		return rec_fail_nomem(error);
	}
	s->batch_variable = variable.data; /* the buffer's memory, released by rec_shim_slots_close */
	s->environment[0] = s->batch_variable;
	memcpy(s->environment + 1, s->options.environment, count * sizeof *s->environment);
	return 0;
}

/* The first slots that nobody owns and that owe nothing. */
static int slots_take(struct rec_shim_slots *s, struct rec_error *error)
{
	for (uint32_t folder = 0; s->slot_count < s->options.slot_count; folder++) {
		struct slot *slot;
		int64_t owed[REC_RECORD_CLAIMS_MAX];
		if (folder == SLOTS_MAX)
			return rec_fail(error, REC_E_LIMIT, "%s: more than %u slots are in use",
					s->options.run_directory, SLOTS_MAX);
		int r = rec_slot_take(s, folder, true, &slot, error);
		if (r < 0)
			return r;
		if (r > 0)
			continue;
		bool free = rec_slot_recorded(slot, owed) == 0 && rec_record_locked(slot->record_fd) == 0;
		if (!free || (r = slot_append(s, slot, error)) != 0)
			rec_slot_let_go(s, slot);
		if (r != 0)
			return r;
	}
	return 0;
}

int rec_shim_slots_open(const struct rec_shim_options *options, struct rec_shim_slots **ret_slots,
			struct rec_error *error)
{
	struct rec_shim_slots *s = rec_zalloc(options->allocator, 1, sizeof *s);
	if (!s)
		return rec_fail_nomem(error);
	s->options = *options;
	s->allocator = options->allocator;
	s->run_fd = s->logs_fd = s->epoll_fd = -1;
	rec_buffer_init(&s->json, s->allocator, TASK_JSON_BYTES_MAX);
	files_raise(s);
	int r = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 ? 0 : rec_fail_errno(error, errno, "prctl");
	if (r == 0)
		r = folders_open(s, error);
	if (r == 0)
		r = environment_make(s, error);
	if (r == 0)
		r = slots_take(s, error);
	if (r == 0)
		*ret_slots = s;
	else
		rec_shim_slots_close(s);
	return r;
}

struct rec_shim_slots *rec_shim_slots_close(struct rec_shim_slots *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->slot_count; i++)
		rec_slot_let_go(s, s->slots[i]); /* the socket ends: an idle shim leaves, a busy one lingers */
	while (s->held_count)
		slots_let_go(s, rec_slice_of(s->held[0].id));
	int *descriptors[] = {&s->run_fd, &s->logs_fd, &s->epoll_fd};
	for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
		if (*descriptors[i] >= 0)
			close(*descriptors[i]);
	rec_free(s->allocator, s->slots);
	rec_free(s->allocator, s->held);
	rec_free(s->allocator, s->events);
	rec_free(s->allocator, s->environment);
	rec_free(s->allocator, s->batch_variable);
	rec_buffer_release(&s->json);
	return rec_free(s->allocator, s);
}
