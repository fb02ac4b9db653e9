// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The session of an active domain of Xen comes to dom0: both ends are the real ones, over memory
 * that takes the place of granted pages. Also agents that refuse, stall, vanish, send rubbish, too
 * much, or a session that is not theirs.
 */
#include "daemon/xen/fetching.h"

#include <cmocka.h>
#include <dirent.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "daemon/active/fetches.h"
#include "daemon/active/file-stream.h"
#include "daemon/active/session-server.h"
#include "daemon/xen/window-server.h"
#include "hv-interface/active-file.h"
#include "tests/unit/daemon/active/guest-session.h"

#define TOKEN UINT64_C(0x1122334455667788)
#define DOMAIN 3u
#define REF 77u /* of the first page */

/* ---- the machine: lines, memory and domains -------------------------------------------------- */

struct store {
	struct vmop_active_store base;
	char *out;
	const char *in;
};
static char wish[VMOP_ACTIVE_MESSAGE_BYTES], answer[VMOP_ACTIVE_MESSAGE_BYTES];
static unsigned n_stores, n_shared, n_mapped; /* n_shared and n_mapped: also by threads */
static int memory_fd;
static bool refuses_share, refuses_map;

static bool store_read(struct vmop_active_store *base, char buf[VMOP_ACTIVE_MESSAGE_BYTES])
{
	strcpy(buf, ((struct store *)base)->in);
	return true;
}

static bool store_write(struct vmop_active_store *base, const char *line)
{
	strcpy(((struct store *)base)->out, line);
	return true;
}

static const struct vmop_active_store_ops store_ops = {store_read, store_write};
static struct store dom0_store = {{&store_ops}, wish, answer},
		    agent_store = {{&store_ops}, answer, wish};

static struct vmop_error *open_store(void *arg, uint32_t domain, struct vmop_active_store **ret)
{
	(void)arg;
	assert_int_equal(domain, DOMAIN);
	n_stores++;
	*ret = &dom0_store.base;
	return NULL;
}

static void close_store(void *arg, struct vmop_active_store *store)
{
	(void)arg;
	assert_ptr_equal(store, &dom0_store.base);
	n_stores--;
}

static const struct vmop_active_opener opener = {.open = open_store, .close = close_store};

static struct vmop_error *map_memory(struct vmop_granted *ret)
{
	ret->memory =
		mmap(NULL, VMOP_WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
	return ret->memory == MAP_FAILED ? &vmop_error_no_memory : NULL;
}

static struct vmop_error *share(uint32_t refs[VMOP_WINDOW_PAGES], struct vmop_granted *ret)
{
	if (refuses_share)
		return vmop_error_new(VMOP_ERROR_CANT, "no gntalloc");
	for (uint32_t i = 0; i < VMOP_WINDOW_PAGES; i++)
		refs[i] = REF + i;
	assert_int_equal(ftruncate(memory_fd, 0), 0);
	assert_int_equal(ftruncate(memory_fd, VMOP_WINDOW_BYTES), 0);
	__atomic_add_fetch(&n_shared, 1, __ATOMIC_SEQ_CST);
	return map_memory(ret);
}

static struct vmop_error *map(uint32_t domain, const uint32_t refs[VMOP_WINDOW_PAGES],
			      struct vmop_granted *ret)
{
	if (domain != DOMAIN || refuses_map)
		return vmop_error_new(VMOP_ERROR_CANT, "no such grant");
	for (uint32_t i = 0; i < VMOP_WINDOW_PAGES; i++)
		if (refs[i] != REF + i)
			return vmop_error_new(VMOP_ERROR_CANT, "no such grant");
	__atomic_add_fetch(&n_mapped, 1, __ATOMIC_SEQ_CST);
	return map_memory(ret);
}

static void unshare_memory(struct vmop_granted *granted)
{
	munmap(granted->memory, VMOP_WINDOW_BYTES);
	__atomic_sub_fetch(&n_shared, 1, __ATOMIC_SEQ_CST);
}

static void unmap(struct vmop_granted *granted)
{
	munmap(granted->memory, VMOP_WINDOW_BYTES);
	__atomic_sub_fetch(&n_mapped, 1, __ATOMIC_SEQ_CST);
}

static const struct vmop_grants_ops grants = {share, unshare_memory, map, unmap};

static uint64_t sessions_token;

static uint64_t agent_session(const struct vmop_source *source, uint32_t domain)
{
	(void)source;
	return domain == DOMAIN ? sessions_token : 0;
}

static const struct vmop_source_ops source_ops = {.agent_session = agent_session};
static struct vmop_source source = {.ops = &source_ops};
static struct vmop_domain dom0, domu;
static struct vmop_domains domains;

/* ---- both ends ------------------------------------------------------------------------------- */

static char dir[64], guest_path[80], host_path[80];
static struct vmop_setup setup;
static struct vmop_session_server *sessions;
static struct vmop_window_server *windows;
static struct vmop_xen_fetching *fetching;
static bool is_played; /* the test plays the server of sessions, */
static int guest_fd;   /* on this connection */

static void offer(void *arg, struct vmop_offered_session *ret)
{
	(void)arg;
	*ret = (struct vmop_offered_session){.token = TOKEN, .path = strdup(guest_path)};
}

static void serve(void *arg, int fd)
{
	(void)arg;
	if (is_played)
		guest_fd = fd;
	else
		vmop_session_server_take(sessions, fd);
}

static void begin_domains(void)
{
	memset(&dom0, 0, sizeof(dom0));
	memset(&domu, 0, sizeof(domu));
	memset(&domains, 0, sizeof(domains));
	strcpy(dom0.uuid, OTHER_UUID);
	vmop_domain_set_kind(&domu, VMOP_DOMAIN_ACTIVE);
	vmop_domain_set_name(&domu, "web/1");
	vmop_domain_set_source_id(&domu, DOMAIN);
	vmop_domain_set_uuid(&domu, UUID);
	domu.is_running = true;
	domains.at[domains.n++] = &dom0;
	domains.at[domains.n++] = &domu;
}

static int begin(void **state)
{
	(void)state;
	const struct vmop_session_server_options of_sessions = {.listener_fd = -1, .offer = offer};
	const struct vmop_window_server_options of_windows = {
		.store = &agent_store.base, .grants = &grants, .serve = serve};
	const struct vmop_xen_fetching_options options = {
		.setup = &setup, .source = &source, .windows = &opener, .grants = &grants};
	strcpy(dir, "/tmp/vmop-xen-fetch-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(guest_path, sizeof(guest_path), "%s/current.vmop", dir);
	snprintf(host_path, sizeof(host_path), "%s/current~web_1.vmop", dir);
	*wish = *answer = '\0';
	guest_fd = -1;
	is_played = refuses_share = refuses_map = false;
	sessions_token = TOKEN;
	begin_domains();
	memory_fd = memfd_create("window", MFD_CLOEXEC);
	assert_ok(vmop_setup_init(&setup));
	assert_ok(vmop_setup_set(&setup, "session-dir", dir, false));
	assert_ok(vmop_setup_set(&setup, "fetch-size", "1M", false));
	assert_ok(vmop_session_server_create(&of_sessions, &sessions));
	assert_ok(vmop_window_server_create(&of_windows, &windows));
	assert_ok(vmop_xen_fetching_create(&options, &fetching));
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static int end(void **state)
{
	(void)state;
	if (guest_fd >= 0)
		close(guest_fd);
	vmop_xen_fetching_destroy(fetching);
	vmop_window_server_destroy(windows);
	vmop_session_server_destroy(sessions);
	vmop_setup_deinit(&setup);
	close(memory_fd);
	assert_int_equal(n_stores, 0);
	assert_int_equal(n_shared, 0);
	assert_int_equal(n_mapped, 0);
	return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

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

/* Let both ends go on until nothing is fetched any more. Return the time that it took. */
static uint64_t finish(const char *note)
{
	uint64_t since_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	while (vmop_xen_fetching_step(fetching, &domains)) {
		vmop_window_server_look(windows);
		usleep(2000);
	}
	assert_string_equal(domu.note ? domu.note : "none", note);
	assert_string_equal(wish, "");
	return vmop_clock_ns(CLOCK_MONOTONIC) - since_ns;
}

static const char fetched[] = "its session was fetched";
static const char not_fetched[] = "its session was not fetched: see vmopd's log";

static void fetch_content(const struct content *content, const char *note)
{
	put_session(guest_path, content);
	vmop_xen_fetching_begin(fetching, &domains);
	finish(note);
	assert_int_equal(access(host_path, F_OK) == 0, note == fetched);
	assert_int_equal(n_files(), note == fetched ? 2 : 1);
}

/* ---- an honest agent ------------------------------------------------------------------------- */

static void comes_home(void **state)
{
	(void)state;
	struct stat st;
	struct content content = honest();
	content.n_hypervisors = 1; /* each active domain has samples of Xen */
	content.n_symbols = 150;   /* more than the window holds */
	fetch_content(&content, fetched);
	assert_int_equal(samples_in(host_path), 3);
	assert_int_equal(stat(host_path, &st), 0);
	/* Once more: it replaces the old file. */
	ino_t before = st.st_ino;
	fetch_content(&content, fetched);
	assert_int_equal(stat(host_path, &st), 0);
	assert_int_not_equal(st.st_ino, before);
}

/* A second request while one goes on changes nothing. */
static void once_at_a_time(void **state)
{
	(void)state;
	const struct content content = honest();
	put_session(guest_path, &content);
	vmop_xen_fetching_begin(fetching, &domains);
	char first[sizeof(wish)];
	strcpy(first, wish);
	vmop_xen_fetching_begin(fetching, &domains);
	assert_string_equal(wish, first);
	finish(fetched);
}

static void no_agent(void **state)
{
	(void)state;
	sessions_token = 0;
	vmop_xen_fetching_begin(fetching, &domains);
	assert_string_equal(wish, "");
	finish("none");
	sessions_token = TOKEN;
	vmop_domain_set_kind(&domu, VMOP_DOMAIN_PASSIVE);
	vmop_xen_fetching_begin(fetching, &domains);
	assert_string_equal(wish, "");
	finish("none");
}

static void another_session(void **state)
{
	(void)state;
	const struct content content = honest();
	sessions_token = TOKEN + 1;
	fetch_content(&content, not_fetched);
}

/* The line of a dom0 that is gone keeps no later one waiting. */
static void stale_wish(void **state)
{
	(void)state;
	const struct content content = honest();
	strcpy(wish, "1 0000000000000005");
	vmop_window_server_look(windows);
	assert_int_equal(n_shared, 1);
	vmop_window_server_look(windows);
	assert_int_equal(n_shared, 1);
	fetch_content(&content, fetched);
}

/* ---- what an agent's session must not have --------------------------------------------------- */

static void hypervisors(void **state)
{
	(void)state;
	struct content content = honest();
	content.n_hypervisors = 2;
	fetch_content(&content, not_fetched);
	content.n_hypervisors = 1;
	content.has_text = true;
	fetch_content(&content, not_fetched);
	content.has_text = false;
	content.has_symbols = true;
	fetch_content(&content, not_fetched);
	content = honest();
	content.other_uuid = OTHER_UUID;
	fetch_content(&content, not_fetched);
	content = honest();
	content.uuid = OTHER_UUID;
	fetch_content(&content, not_fetched);
}

/* ---- agents that do what they like ----------------------------------------------------------- */

static void grants_nothing(void **state)
{
	(void)state;
	const struct content content = honest();
	refuses_share = true;
	fetch_content(&content, not_fetched);
	refuses_share = false;
	refuses_map = true;
	fetch_content(&content, not_fetched);
	refuses_map = false;
	fetch_content(&content, fetched);
}

/* Answer dom0's wish by a line of the test's own, which follows the number. */
static void fails_with(const char *rest)
{
	char text[sizeof(answer)];
	vmop_xen_fetching_begin(fetching, &domains);
	snprintf(text, sizeof(text), "%s%s", wish, rest);
	strcpy(answer, text);
	while (vmop_xen_fetching_step(fetching, &domains))
		usleep(2000);
	assert_string_equal(domu.note, not_fetched);
	assert_int_equal(n_files(), 0);
}

static void wrong_answers(void **state)
{
	(void)state;
	char refs[400] = "";
	fails_with("");
	fails_with(" none no\x7e reason");
	for (unsigned i = 0; i < VMOP_WINDOW_PAGES; i++)
		strcat(refs, " ffffffff");
	fails_with(refs);
	/* Pages that were granted, but hold no window. */
	assert_int_equal(ftruncate(memory_fd, VMOP_WINDOW_BYTES), 0);
	*refs = '\0';
	for (uint32_t i = 0; i < VMOP_WINDOW_PAGES; i++)
		sprintf(refs + strlen(refs), " %x", REF + i);
	uint8_t *memory =
		mmap(NULL, VMOP_WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
	memset(memory, 0x5a, VMOP_WINDOW_BYTES);
	munmap(memory, VMOP_WINDOW_BYTES);
	fails_with(refs);
}

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

/* Begin a fetch from an agent whose server of sessions the test plays. */
static void begin_from_test(void)
{
	is_played = true;
	if (guest_fd >= 0)
		close(guest_fd);
	guest_fd = -1;
	vmop_xen_fetching_begin(fetching, &domains);
	vmop_window_server_look(windows);
	assert_true(guest_fd >= 0);
}

static void fails_soon(void)
{
	assert_true(finish(not_fetched) < VMOP_FILE_STREAM_STALL_NS);
	assert_int_equal(n_files(), 0);
}

static void rubbish(void **state)
{
	(void)state;
	static uint8_t zeros[64];
	begin_from_test();
	assert_int_equal(send(guest_fd, zeros, sizeof(zeros), MSG_NOSIGNAL), sizeof(zeros));
	fails_soon();
	begin_from_test();
	put_line(1, "file 20000"); /* a wrong sequence */
	fails_soon();
}

static void too_much(void **state)
{
	(void)state;
	static uint8_t block[VMOP_ACTIVE_BULK_BYTES];
	begin_from_test();
	put_line(0, "file 1048577"); /* more than 1 MiB */
	fails_soon();
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

/* Neither an agent that sends nothing nor one that does not answer delays the end. */
static void stalls(void **state)
{
	(void)state;
	uint64_t since_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	begin_from_test();
	put_line(0, "file 20000");
	for (unsigned i = 0; i < 20; i++) {
		assert_true(vmop_xen_fetching_step(fetching, &domains));
		usleep(5000);
	}
	assert_string_equal(domu.note, "its session is being fetched");
	vmop_xen_fetching_destroy(fetching);
	fetching = NULL;
	assert_int_equal(n_files(), 0);
	assert_true(vmop_clock_ns(CLOCK_MONOTONIC) - since_ns < 5 * VMOP_NS_PER_S);
}

static void does_not_answer(void **state)
{
	(void)state;
	uint64_t since_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	vmop_xen_fetching_begin(fetching, &domains);
	assert_true(vmop_xen_fetching_step(fetching, &domains));
	vmop_xen_fetching_destroy(fetching);
	fetching = NULL;
	assert_true(vmop_clock_ns(CLOCK_MONOTONIC) - since_ns < 5 * VMOP_NS_PER_S);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(comes_home),      UNIT(once_at_a_time), UNIT(no_agent),
		UNIT(another_session), UNIT(stale_wish),     UNIT(hypervisors),
		UNIT(grants_nothing),  UNIT(wrong_answers),  UNIT(rubbish),
		UNIT(too_much),	       UNIT(cut_off),	     UNIT(stalls),
		UNIT(does_not_answer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
