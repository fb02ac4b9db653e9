// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The session of a guest comes home, over pairs of sockets: from a real server of sessions, and
 * from guests that refuse, send rubbish, too much, too slowly, or a session that is not theirs.
 */
#include "daemon/active/fetches.h"

#include <cmocka.h>
#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/active/fetched-file.h"
#include "daemon/active/file-stream.h"
#include "daemon/active/session-server.h"
#include "hv-interface/active-file.h"
#include "libdb/session-files.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/worker.h"
#include "tests/unit/daemon/active/guest-session.h"

#define TOKEN UINT64_C(0x1122334455667788)
#define VMM 4711

static char dir[64], guest_path[80], host_path[80];
static struct vmop_setup setup;
static struct vmop_fetches *fetches;
static struct vmop_session_server *server;
static uint64_t offered_token;

static int guest_fd; /* the guest's end of the last connection */

/* ---- the guest ------------------------------------------------------------------------------- */

static void offer(void *arg, struct vmop_offered_session *ret)
{
	(void)arg;
	*ret = (struct vmop_offered_session){.token = offered_token, .path = strdup(guest_path)};
}

static int dial_server(uint32_t cid)
{
	int pair[2];
	assert_int_equal(cid, 7);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	vmop_session_server_take(server, pair[1]);
	return pair[0];
}

/* Connect to a guest that the test plays. */
static int dial_test(uint32_t cid)
{
	int pair[2];
	(void)cid;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	__atomic_store_n(&guest_fd, pair[1], __ATOMIC_SEQ_CST);
	return pair[0];
}

/* ---- the host ------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static struct vmop_db_clock host_clock; /* of the guest's session */

static int begin(void **state)
{
	(void)state;
	const struct vmop_session_server_options options = {.listener_fd = -1, .offer = offer};
	strcpy(dir, "/tmp/vmop-fetch-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(guest_path, sizeof(guest_path), "%s/current.vmop", dir);
	snprintf(host_path, sizeof(host_path), "%s/current~web_1.vmop", dir);
	assert_ok(vmop_setup_init(&setup));
	assert_ok(vmop_setup_set(&setup, "session-dir", dir, false));
	assert_ok(vmop_setup_set(&setup, "session-mode", "0640", false));
	assert_ok(vmop_setup_set(&setup, "fetch-size", "1M", false));
	assert_ok(vmop_session_server_create(&options, &server));
	offered_token = TOKEN;
	host_clock.n = 0;
	guest_fd = -1;
	return 0;
}

static int end(void **state)
{
	(void)state;
	vmop_fetches_destroy(fetches);
	fetches = NULL;
	vmop_session_server_destroy(server);
	vmop_setup_deinit(&setup);
	if (guest_fd >= 0)
		close(guest_fd);
	return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void begin_fetch(int (*dial)(uint32_t cid), bool host_has_uuid)
{
	const struct vmop_fetched_guest guest = {.vmm_pid = VMM,
						 .cid = 7,
						 .pidfd = -1,
						 .token = TOKEN,
						 .name = "web/1",
						 .uuid = UUID,
						 .clock = &host_clock};
	if (!fetches)
		assert_ok(vmop_fetches_create(&setup, dial, &fetches));
	vmop_fetches_set_host(fetches, host_has_uuid);
	vmop_fetches_begin(fetches, &guest);
}

/* Count the files of the directory. */
static unsigned n_files(void)
{
	DIR *stream = opendir(dir);
	unsigned n = 0;
	assert_non_null(stream);
	for (const struct dirent *entry; (entry = readdir(stream));)
		n += *entry->d_name != '.';
	closedir(stream);
	return n;
}

static void finish(enum vmop_fetches_state wanted)
{
	vmop_fetches_wait(fetches, NULL, NULL);
	assert_int_equal(vmop_fetches_state(fetches, VMM), wanted);
}

/* Check that a session with this content is fetched or not, and that nothing else stays. */
static void fetch_content(const struct content *content, bool host_has_uuid,
			  enum vmop_fetches_state wanted)
{
	put_session(guest_path, content);
	begin_fetch(dial_server, host_has_uuid);
	finish(wanted);
	assert_int_equal(access(host_path, F_OK) == 0, wanted == VMOP_FETCHES_DONE);
	assert_int_equal(n_files(), wanted == VMOP_FETCHES_DONE ? 2 : 1);
}

/* ---- an honest guest ------------------------------------------------------------------------- */

static void comes_home(void **state)
{
	(void)state;
	struct stat st;
	const struct content content = honest();
	fetch_content(&content, true, VMOP_FETCHES_DONE);
	assert_int_equal(samples_in(host_path), 3);
	assert_int_equal(stat(host_path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	/* Once more: it replaces the old file. */
	ino_t before = st.st_ino;
	begin_fetch(dial_server, true);
	finish(VMOP_FETCHES_DONE);
	assert_int_equal(stat(host_path, &st), 0);
	assert_int_not_equal(st.st_ino, before);
	assert_int_equal(n_files(), 2);
}

static void a_session_that_goes_on(void **state)
{
	(void)state;
	const struct content content = honest();
	const struct vmop_db_cell cell = {.offset = 16, .samples = 4, .weight_events = 4};
	const struct vmop_db_chunk_key key = {.vcpu = -1, .cpu = -1, .image = {1}};
	const struct vmop_db_event event = {.name = "cpu-clock", .source = "perf", .unit = "ns"};
	struct vmop_db *db = NULL;
	unlink(guest_path);
	assert_ok(vmop_db_create(guest_path, &db));
	assert_ok(vmop_db_put_event(db, &event));
	assert_ok(vmop_db_put_domain(db, &(struct vmop_db_domain){.name = "host", .uuid = UUID}));
	assert_ok(vmop_db_put_image(db, &(struct vmop_db_image){.id = {1}, .name = "/bin/x"}));
	assert_ok(vmop_db_begin_interval(db, content.start_ns, VMOP_NS_PER_S));
	assert_ok(vmop_db_put_chunk(db, &key, &cell, 1));
	assert_ok(vmop_db_commit(db));
	begin_fetch(dial_server, true);
	finish(VMOP_FETCHES_DONE);
	assert_int_equal(samples_in(host_path), 4);
	assert_ok(vmop_db_finish(db));
}

static void off(void **state)
{
	(void)state;
	const struct content content = honest();
	assert_ok(vmop_setup_set(&setup, "fetch-size", "off", false));
	put_session(guest_path, &content);
	begin_fetch(dial_server, true);
	finish(VMOP_FETCHES_NONE);
}

static void too_large(void **state)
{
	(void)state;
	struct content content = honest();
	content.n_symbols = 1200;
	fetch_content(&content, true, VMOP_FETCHES_FAILED);
}

static void another_session(void **state)
{
	(void)state;
	const struct content content = honest();
	offered_token = TOKEN + 1;
	fetch_content(&content, true, VMOP_FETCHES_FAILED);
}

/* ---- a session that is not the guest's ---------------------------------------------------------
 */

static void poses_as_another(void **state)
{
	(void)state;
	struct content content = honest();
	content.uuid = OTHER_UUID;
	fetch_content(&content, true, VMOP_FETCHES_FAILED);
	content.uuid = NULL;
	fetch_content(&content, true, VMOP_FETCHES_FAILED);
}

static void has_another(void **state)
{
	(void)state;
	struct content content = honest();
	content.other_uuid = OTHER_UUID;
	fetch_content(&content, true, VMOP_FETCHES_FAILED);
}

/* A guest of KVM has no hypervisor; a domain of Xen has one, whose names only dom0 gives. */
static void has_a_hypervisor(void **state)
{
	(void)state;
	struct content content = honest();
	content.n_hypervisors = 1;
	fetch_content(&content, true, VMOP_FETCHES_FAILED);
}

/* A guest of the guest, as vmopd --active stores it: only its name distinguishes it. */
static void has_an_inner_guest(void **state)
{
	(void)state;
	struct content content = honest();
	content.other_uuid = "";
	fetch_content(&content, true, VMOP_FETCHES_DONE);
}

static void poses_as_the_host(void **state)
{
	(void)state;
	struct content content = honest();
	char name[256];
	assert_int_equal(gethostname(name, sizeof(name)), 0);
	content.hostname = name;
	fetch_content(&content, false, VMOP_FETCHES_FAILED);
	/* UUIDs distinguish two machines of one name. */
	fetch_content(&content, true, VMOP_FETCHES_DONE);
}

static void another_time(void **state)
{
	(void)state;
	struct content content = honest();
	content.start_ns += 3 * VMOP_FETCHED_CLOCK_NS;
	fetch_content(&content, true, VMOP_FETCHES_FAILED);
	content.start_ns -= 6 * VMOP_FETCHED_CLOCK_NS;
	fetch_content(&content, true, VMOP_FETCHES_FAILED);
}

/* A guest that was saved for weeks goes on with the time of then. */
static void another_time_that_is_known(void **state)
{
	(void)state;
	struct content content = honest();
	const int64_t behind_ns = 30 * (int64_t)VMOP_FETCHED_CLOCK_NS;
	uint64_t now_ns = content.start_ns;
	content.start_ns -= (uint64_t)behind_ns;
	host_clock = (struct vmop_db_clock){.n = 1, .parts = {{content.start_ns, 0, behind_ns}}};
	fetch_content(&content, true, VMOP_FETCHES_DONE);
	/* It is the clock of that session only. */
	content.start_ns -= VMOP_NS_PER_S;
	unlink(host_path);
	fetch_content(&content, true, VMOP_FETCHES_FAILED);
	/* With it, the time of this session is another one. */
	content.start_ns = now_ns;
	host_clock.parts[0].session_ns = now_ns;
	fetch_content(&content, true, VMOP_FETCHES_FAILED);
}

static void no_session(void **state)
{
	(void)state;
	FILE *file = fopen(guest_path, "w");
	assert_non_null(file);
	fputs("garbage", file);
	fclose(file);
	begin_fetch(dial_server, true);
	finish(VMOP_FETCHES_FAILED);
	assert_int_equal(n_files(), 1);
}

/* Read the whole session at path, as a report does. */
static struct vmop_error *see_symbols(void *arg, const struct vmop_db_image *image)
{
	_cleanup_free_ struct vmop_symbol *symbols = NULL;
	size_t n;
	return vmop_db_get_symbols(arg, image->id, &symbols, &n);
}

/* A file with damage or forged values is refused, or can be read to its end. */
static void changed_bytes(void **state)
{
	enum { N_CHANGED = 150 };
	struct vmop_fetched_place place = {.session_dir = dir,
					   .file = (char[]){"changed.vmop"},
					   .uuid = UUID,
					   .host_has_uuid = true};
	struct content content = honest();
	uint64_t random = 1;
	unsigned n_refused = 0;
	(void)state;
	content.n_symbols = 20;
	put_session(guest_path, &content);
	place.since_ns = content.start_ns;
	_cleanup_free_ char *whole = NULL;
	size_t len_bytes;
	assert_ok(vmop_io_read_file(guest_path, 1 << 20, &whole, &len_bytes));
	for (unsigned i = 0; i < N_CHANGED; i++) {
		struct vmop_fetched_file file;
		uint64_t sum = 0;
		_cleanup_free_ char *bytes = malloc(len_bytes);
		memcpy(bytes, whole, len_bytes);
		for (unsigned change = 0; change <= i % 4; change++) {
			random = random * UINT64_C(6364136223846793005) + 1;
			/* Half of the changes are in the first page and the schema. */
			size_t at = (random >> 33) % (change % 2 ? len_bytes : 4096);
			bytes[at] ^= (char)(1 << (random >> 60) % 8);
		}
		assert_ok(vmop_fetched_file_begin(&file, &place));
		assert_ok(vmop_fetched_file_write(&file, bytes, len_bytes - i % 3 * 4096));
		struct vmop_error *err = vmop_fetched_file_check(&file);
		n_refused += err != NULL;
		if (!err) {
			char path[96];
			struct vmop_db *db;
			snprintf(path, sizeof(path), "%s/%s", dir, place.file);
			assert_ok(vmop_fetched_file_publish(&file, place.file));
			assert_ok(vmop_db_open(path, &db));
			assert_ok(vmop_db_each_total(db, NULL, add_total, &sum));
			assert_ok(vmop_db_each_image(db, see_symbols, db));
			vmop_db_close(db);
			unlink(path);
		}
		vmop_error_destroy(err);
		vmop_fetched_file_end(&file);
		assert_int_equal(n_files(), 1);
	}
	print_message("%u of %u changed sessions are refused\n", n_refused, N_CHANGED);
	assert_in_range(n_refused, N_CHANGED / 2, N_CHANGED);
}

/* Names steer nothing: they are stored as they are, and each reader of sessions escapes them. */
static void hostile_names(void **state)
{
	char longest[65537];
	const char *const names[] = {"\033[2J\033]0;x\007", "</script><script>x", "a\nb,\"c\"",
				     "\xff\xed\xa0\x80",    "../../etc/passwd",	  longest};
	struct content content = honest();
	struct vmop_db *db;
	uint64_t sum = 0;
	(void)state;
	memset(longest, 'L', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	put_session(guest_path, &content);
	unlink(guest_path);
	assert_ok(vmop_db_create(guest_path, &db));
	assert_ok(vmop_db_put_info(db, "hostname", names[0]));
	assert_ok(vmop_db_put_event(
		db, &(struct vmop_db_event){.name = names[1], .source = "perf", .unit = "ns"}));
	assert_ok(vmop_db_put_domain(db, &(struct vmop_db_domain){.name = names[0], .uuid = UUID}));
	for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct vmop_db_image image = {
			.id = {1 + i}, .kind = VMOP_IMAGE_MODULE, .name = names[i]};
		const struct vmop_symbol symbols[] = {
			{.offset = 0, .len_bytes = UINT64_MAX, .name = names[i], .type = 'T'},
			{.offset = UINT64_MAX, .len_bytes = 1, .name = names[i], .type = '\n'}};
		assert_ok(vmop_db_put_image(db, &image));
		vmop_error_destroy(vmop_db_put_symbols(db, image.id, symbols, 2));
	}
	assert_ok(vmop_db_begin_interval(db, content.start_ns, VMOP_NS_PER_S));
	const struct vmop_db_cell cell = {.offset = 1, .samples = INT64_MAX};
	assert_ok(vmop_db_put_chunk(
		db, &(struct vmop_db_chunk_key){.vcpu = -1, .cpu = -1, .image = {1}}, &cell, 1));
	assert_ok(vmop_db_commit(db));
	assert_ok(vmop_db_finish(db));
	begin_fetch(dial_server, true);
	finish(VMOP_FETCHES_DONE);
	assert_int_equal(n_files(), 2);
	assert_ok(vmop_db_open(host_path, &db));
	assert_ok(vmop_db_each_total(db, NULL, add_total, &sum));
	assert_int_equal(sum, INT64_MAX);
	vmop_db_close(db);
}

/* ---- a guest that sends what it likes ----------------------------------------------------------
 */

static void put_frame(uint32_t sequence, enum vmop_active_frame_type type, const void *payload,
		      size_t len_bytes)
{
	static uint8_t buf[VMOP_ACTIVE_HEADER_BYTES + VMOP_ACTIVE_BULK_BYTES];
	const struct vmop_active_frame frame = {
		.type = type, .payload = payload, .len_bytes = (uint32_t)len_bytes};
	size_t n = vmop_active_frame_encode(&frame, sequence, buf, sizeof(buf));
	assert_int_not_equal(n, 0);
	assert_int_equal(send(guest_fd, buf, n, MSG_NOSIGNAL), (ssize_t)n);
}

static void put_line(uint32_t sequence, const char *line)
{
	put_frame(sequence, VMOP_ACTIVE_FRAME_LINE, line, strlen(line));
}

/* Begin a fetch from the test; the dial is over once there is a socket. */
static void begin_from_test(void)
{
	guest_fd = -1;
	begin_fetch(dial_test, true);
	while (__atomic_load_n(&guest_fd, __ATOMIC_SEQ_CST) < 0)
		usleep(1000);
}

static void fails_soon(void)
{
	uint64_t since_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	finish(VMOP_FETCHES_FAILED);
	assert_true(vmop_clock_ns(CLOCK_MONOTONIC) - since_ns < VMOP_FILE_STREAM_STALL_NS);
	assert_int_equal(n_files(), 0);
}

static void rubbish(void **state)
{
	(void)state;
	static uint8_t zeros[64];
	begin_from_test();
	assert_int_equal(send(guest_fd, zeros, sizeof(zeros), MSG_NOSIGNAL), sizeof(zeros));
	fails_soon();
}

static void too_much(void **state)
{
	(void)state;
	static uint8_t block[VMOP_ACTIVE_BULK_BYTES];
	begin_from_test();
	put_line(0, "file 1048577"); /* more than 1 MiB */
	fails_soon();
	close(guest_fd);
	begin_from_test();
	put_line(0, "file 20000");
	put_frame(1, VMOP_ACTIVE_FRAME_BULK, block, sizeof(block));
	put_frame(2, VMOP_ACTIVE_FRAME_BULK, block, sizeof(block));
	fails_soon();
}

static void cut_off(void **state)
{
	(void)state;
	static uint8_t block[VMOP_ACTIVE_BULK_BYTES];
	begin_from_test();
	put_line(0, "file 20000");
	put_frame(1, VMOP_ACTIVE_FRAME_BULK, block, sizeof(block));
	close(guest_fd);
	guest_fd = -1;
	fails_soon();
}

/* A guest that sends nothing delays neither another one nor the end of the session. */
static void stalls(void **state)
{
	(void)state;
	uint64_t since_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	begin_from_test();
	put_line(0, "file 20000");
	assert_true(vmop_fetches_step(fetches));
	assert_int_equal(vmop_fetches_state(fetches, VMM), VMOP_FETCHES_GOES_ON);
	vmop_fetches_destroy(fetches);
	fetches = NULL;
	assert_int_equal(n_files(), 0);
	assert_true(vmop_clock_ns(CLOCK_MONOTONIC) - since_ns < 5 * VMOP_NS_PER_S);
}

/* ---- a host's session that is left meanwhile --------------------------------------------------
 */

/* Make the host's current session, which has no samples. */
#define PATH_BYTES 96

static void put_host_session(char path[PATH_BYTES])
{
	const struct content content = {
		.uuid = "", .hostname = "host", .start_ns = vmop_clock_ns(CLOCK_REALTIME)};
	snprintf(path, PATH_BYTES, "%s/host/current.vmop", dir);
	put_session(path, &content);
}

/* Begin to fetch a session, into a directory of the host's own. */
static void begin_beside(char path[PATH_BYTES])
{
	const struct content content = honest();
	char host_dir[PATH_BYTES];
	snprintf(host_dir, sizeof(host_dir), "%s/host", dir);
	assert_int_equal(mkdir(host_dir, 0755), 0);
	assert_ok(vmop_setup_set(&setup, "session-dir", host_dir, false));
	put_host_session(path);
	put_session(guest_path, &content);
	begin_fetch(dial_server, true);
}

static bool is_there(const char *name)
{
	char path[96];
	snprintf(path, sizeof(path), "%s/host/%s", dir, name);
	return access(path, F_OK) == 0;
}

/* The file comes beside the session that was the current one at the fetch's begin. */
static void session_is_saved(void **state)
{
	(void)state;
	char current[PATH_BYTES], saved[PATH_BYTES], later[PATH_BYTES];
	begin_beside(current);
	snprintf(saved, sizeof(saved), "%s/host/day.vmop", dir);
	snprintf(later, sizeof(later), "%s/host/later.vmop", dir);
	assert_ok(vmop_session_move(current, saved));
	vmop_fetches_leave_session(fetches, saved);
	put_host_session(current);
	vmop_fetches_leave_session(fetches, later); /* that is not its session */
	finish(VMOP_FETCHES_DONE);
	assert_true(is_there("day~web_1.vmop"));
	assert_false(is_there("current~web_1.vmop"));
	assert_false(is_there("later~web_1.vmop"));
	assert_false(is_there("current~web_1.vmop.new"));
	/* The next one is for the new session. */
	begin_fetch(dial_server, true);
	finish(VMOP_FETCHES_DONE);
	assert_true(is_there("current~web_1.vmop"));
}

static void session_is_discarded(void **state)
{
	(void)state;
	char current[PATH_BYTES], saved[PATH_BYTES];
	begin_beside(current);
	vmop_fetches_leave_session(fetches, NULL);
	put_host_session(current);
	finish(VMOP_FETCHES_FAILED);
	assert_false(is_there("current~web_1.vmop"));
	assert_false(is_there("current~web_1.vmop.new"));
	/* One that was saved and then removed. */
	snprintf(saved, sizeof(saved), "%s/host/day.vmop", dir);
	begin_fetch(dial_server, true);
	vmop_fetches_leave_session(fetches, saved);
	finish(VMOP_FETCHES_FAILED);
	assert_false(is_there("day~web_1.vmop"));
	assert_false(is_there("current~web_1.vmop.new"));
}

/* ---- limits of time
 * ------------------------------------------------------------------------------ */

struct drip {
	struct vmop_worker worker;
	struct vmop_file_stream stream;
	struct vmop_error *err;
};

static void drip_run(struct vmop_worker *worker)
{
	struct drip *drip = (struct drip *)worker;
	struct vmop_active_frame frame;
	while (!drip->err)
		drip->err = vmop_file_stream_receive(&drip->stream, &frame);
}

static void drip_destroy(struct vmop_worker *worker)
{
	(void)worker;
}

/* Receive from a guest that sends so many bytes, one every 50 ms, and check the error. */
static void drip_fails(unsigned n_bytes, uint64_t stall_ns, uint64_t whole_ns, const char *text)
{
	static const struct vmop_worker_ops ops = {"drip", drip_run, drip_destroy};
	static struct drip drip;
	int fd = dial_test(7);
	memset(&drip, 0, sizeof(drip));
	vmop_file_stream_begin(&drip.stream, fd, &drip.worker);
	drip.stream.stall_ns = stall_ns;
	drip.stream.end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + whole_ns;
	assert_ok(vmop_worker_begin(&drip.worker, &ops));
	for (unsigned i = 0; i < n_bytes; i++) {
		send(guest_fd, "v", 1, MSG_NOSIGNAL);
		usleep(50000);
	}
	struct timespec until = vmop_worker_deadline(5000);
	pthread_mutex_lock(&drip.worker.lock);
	while (!drip.worker.has_ended && vmop_worker_wait(&drip.worker, &until))
		;
	assert_true(drip.worker.has_ended);
	pthread_mutex_unlock(&drip.worker.lock);
	assert_non_null(drip.err);
	assert_non_null(strstr(drip.err->message, text));
	vmop_error_destroy(drip.err);
	vmop_worker_end(&drip.worker);
	vmop_file_stream_end(&drip.stream);
}

static void too_slowly(void **state)
{
	(void)state;
	drip_fails(0, VMOP_NS_PER_S / 5, 3 * VMOP_NS_PER_S, "does not answer");
	close(guest_fd);
	drip_fails(4, 3 * VMOP_NS_PER_S, VMOP_NS_PER_S / 2, "too long");
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(comes_home),
		UNIT(a_session_that_goes_on),
		UNIT(off),
		UNIT(too_large),
		UNIT(another_session),
		UNIT(poses_as_another),
		UNIT(has_another),
		UNIT(has_a_hypervisor),
		UNIT(has_an_inner_guest),
		UNIT(poses_as_the_host),
		UNIT(another_time),
		UNIT(another_time_that_is_known),
		UNIT(no_session),
		UNIT(changed_bytes),
		UNIT(hostile_names),
		UNIT(rubbish),
		UNIT(too_much),
		UNIT(cut_off),
		UNIT(stalls),
		UNIT(session_is_saved),
		UNIT(session_is_discarded),
		UNIT(too_slowly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
