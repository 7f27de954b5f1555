/* files-index.c - the texts of task files once more, in one file, .rec/index: whoever looks at a directory for the
 * first time asks the system when each file last changed, and reads only those that have changed since they were put
 * there. Asking costs a quarter of reading.
 *
 * It is only a cache. A text counts if the file is, by inode, size and both times, the one that was read, and a sum
 * over name, identity and text is right; then it is parsed like any other. Nothing goes in that was read so soon after
 * its last change that a further one might not show. Where anything is not as it should be, the files are read. It is
 * written anew, by whoever opens a group, when an eighth of the files had to be read, without waiting for the disk.
 *
 * It holds what is in files that not everybody may be allowed to read, so it is its owner's alone.
 */
#include "store/files.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "base/idmap.h"

#define INDEX "index"
#define INDEX_NEW "index.new"
#define INDEX_BYTES_MAX ((size_t)256 << 20)
#define TEXT_BYTES_MAX ((size_t)64 << 10) /* a longer file is read: it is not the opening that costs */
#define READ_MIN 256u                     /* fewer files are read as fast */
#define SEED UINT64_C(0x7265635f696e6478)
#define COARSE_NS INT64_C(2000000000) /* of a clock that tells whole seconds */
#define SECOND_NS INT64_C(1000000000)

/* ---- Bytes ---- */

struct head {
	char magic[16];
	uint64_t order, device;
};
struct entry_head {
	uint64_t sum;
	struct rec_files_identity identity;
	uint64_t name_length;
};

static struct head head_of(uint64_t device)
{
	return (struct head){"rec-files-idx-1", UINT64_C(0x0102030405060708), device};
}

static uint64_t sum_of(const struct entry_head *head, struct rec_slice name, struct rec_slice text)
{
	const struct rec_slice identity = {(const char *)&head->identity, sizeof head->identity};
	return rec_hash(text, rec_hash(name, rec_hash(identity, SEED)));
}

void rec_files_index_head(struct rec_buffer *out, uint64_t device)
{
	const struct head head = head_of(device);
	rec_buffer_add(out, &head, sizeof head);
}

bool rec_files_index_begin(struct rec_slice *bytes, uint64_t device)
{
	const struct head head = head_of(device);
	if (bytes->length < sizeof head || memcmp(bytes->data, &head, sizeof head) != 0)
		return false;
	*bytes = (struct rec_slice){bytes->data + sizeof head, bytes->length - sizeof head};
	return true;
}

void rec_files_index_add(struct rec_buffer *out, struct rec_slice name, const struct rec_files_identity *identity,
			 struct rec_slice text)
{
	struct entry_head head = {.identity = *identity, .name_length = name.length};
	head.sum = sum_of(&head, name, text);
	rec_buffer_add(out, &head, sizeof head);
	rec_buffer_add(out, name.data, name.length);
	rec_buffer_add(out, text.data, text.length);
}

bool rec_files_index_next(struct rec_slice *bytes, struct rec_files_indexed *ret)
{
	struct entry_head head;
	if (bytes->length < sizeof head)
		return false;
	memcpy(&head, bytes->data, sizeof head);
	uint64_t left = bytes->length - sizeof head, size = (uint64_t)head.identity.size;
	if (head.name_length > left || size > left - head.name_length)
		return false;
	ret->whole = (struct rec_slice){bytes->data, sizeof head + (size_t)head.name_length + (size_t)size};
	ret->name = (struct rec_slice){bytes->data + sizeof head, (size_t)head.name_length};
	ret->text = (struct rec_slice){ret->name.data + ret->name.length, (size_t)size};
	ret->identity = head.identity;
	*bytes = (struct rec_slice){bytes->data + ret->whole.length, bytes->length - ret->whole.length};
	return true;
}

bool rec_files_index_sound(const struct rec_files_indexed *entry)
{
	struct entry_head head;
	memcpy(&head, entry->whole.data, sizeof head);
	return head.sum == sum_of(&head, entry->name, entry->text);
}

/* ---- The first look ---- */

static int content_read(struct rec_files *f, int fd, size_t length)
{
	char *space = rec_buffer_space(&f->index.old, length);
	size_t done = 0;
	while (space && done < length) {
		ssize_t got = f->io->read(f->io->context, fd, space + done, length - done, -1);
		if (got <= 0)
			return -1;
		done += (size_t)got;
	}
	rec_buffer_added(&f->index.old, done);
	return space ? 0 : -1;
}

/* None that another person made: it would be read in place of files. */
static void old_read(struct rec_files *f, uint64_t device)
{
	struct stat status;
	rec_cleanup(rec_close_fd) int fd = f->io->openat(f->io->context, f->rec, INDEX,
							 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	if (fd < 0 || f->io->fstat(f->io->context, fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    status.st_uid != geteuid() || (uint64_t)status.st_size > INDEX_BYTES_MAX)
		return;
	if (content_read(f, fd, (size_t)status.st_size) < 0)
		return;
	f->index.rest = rec_buffer_slice(&f->index.old);
	if (!rec_files_index_begin(&f->index.rest, device))
		f->index.rest = (struct rec_slice){NULL, 0};
}

void rec_files_index_release(struct rec_files *f)
{
	rec_buffer_release(&f->index.old);
	rec_buffer_release(&f->index.next);
}

void rec_files_index_open(struct rec_files *f)
{
	const struct rec_allocator *a = f->memory.store.allocator;
	struct stat status;
	if (f->loaded || f->rec < 0)
		return;
	rec_files_index_release(f);
	f->index = (struct rec_files_index){0};
	rec_buffer_init(&f->index.old, a, INDEX_BYTES_MAX);
	rec_buffer_init(&f->index.next, a, INDEX_BYTES_MAX);
	if (f->io->fstat(f->io->context, f->directory, &status) < 0)
		return;
	old_read(f, status.st_dev);
	f->index.collects = f->memory.store.info.mode != REC_STORE_READ;
	if (f->index.collects)
		rec_files_index_head(&f->index.next, status.st_dev);
}

void rec_files_index_close(struct rec_files *f)
{
	rec_buffer_release(&f->index.old);
	f->index.rest = (struct rec_slice){NULL, 0};
	f->index.has_at = f->index.collects = false;
}

/* The entry of that name; files are looked at in the order in which they stand here. */
static bool entry_seek(struct rec_files_index *index, struct rec_slice name)
{
	for (;;) {
		if (!index->has_at)
			index->has_at = rec_files_index_next(&index->rest, &index->at);
		if (!index->has_at)
			return false;
		int order = rec_slice_compare(index->at.name, name);
		if (order >= 0)
			return order == 0;
		index->has_at = false;
	}
}

bool rec_files_index_find(struct rec_files *f, const char *name, struct rec_slice *ret_text, struct stat *ret_status)
{
	struct rec_files_index *index = &f->index;
	struct rec_files_identity now;
	if (!index->rest.data || !entry_seek(index, rec_slice_of(name)) ||
	    f->io->stat(f->io->context, f->directory, name, ret_status) < 0)
		return false;
	rec_files_identity_of(ret_status, &now);
	if (!S_ISREG(ret_status->st_mode) || !rec_files_identity_equal(&now, &index->at.identity) ||
	    !rec_files_index_sound(&index->at))
		return false;
	*ret_text = index->at.text;
	if (index->collects) {
		index->looked++;
		index->settled++;
		rec_buffer_add(&index->next, index->at.whole.data, index->at.whole.length);
	}
	return true;
}

/* ---- What is to be written ---- */

/* Could a file that was just read change again without a sign of it? Some file systems tell whole seconds. */
static bool settled(const struct rec_files_identity *identity)
{
	int64_t now_ns = rec_clock_real.wall_us(rec_clock_real.context) * 1000;
	return !rec_files_young(identity) &&
	       (identity->ctime_ns % SECOND_NS != 0 || now_ns - identity->ctime_ns > COARSE_NS);
}

void rec_files_index_keep(struct rec_files *f, const char *name, struct rec_slice text, const struct stat *status)
{
	struct rec_files_index *index = &f->index;
	struct rec_files_identity identity;
	if (!index->collects)
		return;
	index->looked++;
	rec_files_identity_of(status, &identity);
	if (!settled(&identity))
		return;
	index->settled++;
	index->read++;
	if (text.length == (size_t)status->st_size && text.length <= TEXT_BYTES_MAX)
		rec_files_index_add(&index->next, rec_slice_of(name), &identity, text);
}

static int new_write(struct rec_files *f)
{
	const struct rec_io *io = f->io;
	struct rec_slice bytes = rec_buffer_slice(&f->index.next);
	(void)io->unlink(io->context, f->rec, INDEX_NEW);
	rec_cleanup(rec_close_fd) int fd =
		io->openat(io->context, f->rec, INDEX_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -1 : io->write(io->context, fd, bytes.data, bytes.length, 0);
}

void rec_files_index_write(struct rec_files *f)
{
	const struct rec_io *io = f->io;
	const struct rec_files_index *index = &f->index;
	bool worth = index->read >= READ_MIN && index->read >= index->settled / 8;
	if (worth && !index->next.failed && index->settled >= index->looked - index->looked / 8 &&
	    (new_write(f) < 0 || io->rename(io->context, f->rec, INDEX_NEW, f->rec, INDEX) < 0))
		(void)io->unlink(io->context, f->rec, INDEX_NEW);
	rec_buffer_release(&f->index.next);
	f->index.read = 0;
}
