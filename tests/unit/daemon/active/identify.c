// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest behind a connection, found by its memory. The VMM is a child process, and the guest's
 * RAM is synthetic, with a process whose page has the challenge's bytes, or has not.
 */
#include "daemon/active/identify.h"

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/active/guests.h"
#include "daemon/host/image.h"
#include "daemon/host/task.h"
#include "libutil/clock.h"
#include "tests/unit/daemon/vmm.h"
#include "tests/unit/libguest/synthetic.h"
#include "tests/unit/ok.h"

#define PATIENCE_MS 60000 /* an idle machine takes some milliseconds */
#define CID 7
#define PORT 700
#define AGENT_PID 2
#define ADDRESS UINT64_C(0x401080)
#define PAGE_GPA UINT64_C(0xb20000)
#define S VMOP_NS_PER_S

static struct synthetic made;
static uint8_t *made_ram;
static pid_t vmm;
static struct vmop_images images;
static struct vmop_domains domains;
static struct vmop_tasks tasks;
static struct vmop_guests *guests;
static struct vmop_domain *domain;
static struct vmop_active_links *links;
static struct vmop_active_candidates candidates;
static uint64_t now_ns;
static int agent = -1; /* the agent's end of the connection */
static uint8_t nonce[VMOP_ACTIVE_NONCE_BYTES];

/* Map a page of the last process, in tables at free addresses. */
static void map_user_page(uint64_t address, uint64_t gpa)
{
	uint64_t table = SYNTHETIC_USER_PGD_GPA, next = 0xb10000;
	for (int level = 3; level > 0; level--, next += 4096) {
		uint64_t entry = next | 7;
		memset(made.ram + next, 0, 4096);
		memcpy(made.ram + table + 8 * (address >> (12 + 9 * level) & 511), &entry, 8);
		table = next;
	}
	uint64_t entry = gpa | 7;
	memcpy(made.ram + table + 8 * (address >> 12 & 511), &entry, 8);
}

static char device[64]; /* the file that the VMM has open */

/* Begin a VMM that has a file of that name open. */
static void begin_vmm(const char *name)
{
	char dir[] = "/tmp/vmop-identify.XXXXXX";
	assert_non_null(mkdtemp(dir));
	snprintf(device, sizeof(device), "%s/%s", dir, name);
	int fd = open(device, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	vmm = vmm_begin();
	close(fd);
}

static void end_vmm(void)
{
	if (vmm)
		vmm_end(vmm);
	vmm = 0;
}

static void make_guest(const struct synthetic_options *options)
{
	static const char name[16] = "vmopd";
	uint8_t *shared = made.ram;
	synthetic_make(&made, options);
	made_ram = made.ram;
	if (!shared)
		shared = mmap(NULL, SYNTHETIC_RAM_BYTES, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED);
	made.ram = shared;
	memcpy(made.ram, made_ram, SYNTHETIC_RAM_BYTES);
	map_user_page(ADDRESS, PAGE_GPA);
	memcpy(synthetic_at(&made,
			    synthetic_member(&made, made.task[AGENT_PID], VMOP_LAYOUT_TASK_COMM)),
	       name, sizeof(name));
}

/* Free the guest, but for the memory that the VMM shares. */
static void end_guest_image(void)
{
	uint8_t *shared = made.ram;
	made.ram = made_ram;
	synthetic_free(&made);
	made.ram = shared;
}

static void begin_with(const char *name)
{
	now_ns = 1000 * S;
	made.ram = NULL;
	make_guest(&(struct synthetic_options){0});
	begin_vmm(name);
	assert_ok(vmop_images_init(&images, 1024));
	assert_ok(vmop_domains_init(&domains, NULL, NULL, &images, NULL, NULL));
	domains.root = "";
	assert_ok(vmop_guests_create(&domains, &images, &tasks, 1000, NULL, NULL, &guests));
	domain = vmop_domains_new(&domains);
	assert_non_null(domain);
	vmop_domain_set_name(domain, "g1");
	vmop_domain_set_kind(domain, VMOP_DOMAIN_ACTIVE);
	vmop_domain_set_vmm_pid(domain, (uint32_t)vmm);
	vmop_domain_set_identified(domain, true);
	vmop_domain_name_images(domain);
	assert_ok(vmop_active_links_create(-1, &links));
	vmop_guests_tick(guests);
}

static int begin(void **state)
{
	(void)state;
	begin_with("vhost-vsock");
	return 0;
}

static int begin_without_vsock(void **state)
{
	(void)state;
	begin_with("vhost-net");
	return 0;
}

static int end(void **state)
{
	(void)state;
	if (agent >= 0)
		close(agent);
	agent = -1;
	unlink(device);
	*strrchr(device, '/') = '\0';
	rmdir(device);
	vmop_active_links_destroy(links);
	vmop_active_candidates_deinit(&candidates);
	vmop_guests_destroy(guests);
	end_vmm();
	domains.root = NULL;
	vmop_domains_deinit(&domains);
	vmop_tasks_deinit(&tasks);
	vmop_images_deinit(&images);
	uint8_t *shared = made.ram;
	end_guest_image();
	munmap(shared, SYNTHETIC_RAM_BYTES);
	return 0;
}

/* Connect an agent and read its challenge. */
static void connects(uint32_t cid)
{
	uint8_t frame[VMOP_ACTIVE_HEADER_BYTES + VMOP_ACTIVE_NONCE_BYTES];
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	if (agent >= 0)
		close(agent);
	agent = pair[1];
	assert_true(vmop_active_links_add(links, pair[0], cid, PORT, now_ns));
	vmop_active_links_pump(links, now_ns);
	assert_int_equal(recv(agent, frame, sizeof(frame), 0), sizeof(frame));
	memcpy(nonce, frame + VMOP_ACTIVE_HEADER_BYTES, sizeof(nonce));
}

static void claims(uint32_t pid, uint64_t address)
{
	const struct vmop_active_proof proof = {.address = address, .pid = pid};
	uint8_t payload[VMOP_ACTIVE_PROOF_BYTES], buf[64];
	const struct vmop_active_frame frame = {
		.type = VMOP_ACTIVE_FRAME_PROOF, .payload = payload, .len_bytes = sizeof(payload)};
	vmop_active_proof_encode(&proof, payload);
	size_t n = vmop_active_frame_encode(&frame, 0, buf, sizeof(buf));
	assert_int_equal(send(agent, buf, n, MSG_NOSIGNAL), (ssize_t)n);
	vmop_active_links_pump(links, now_ns);
}

static void step(void)
{
	vmop_active_candidates_follow(&candidates, &domains, now_ns);
	vmop_active_links_pump(links, now_ns);
	vmop_active_identify(links, &candidates, &domains, guests, now_ns);
}

/* Step for some time, or until the guest is bound. Return whether it is. */
static bool is_bound_within(int ms)
{
	for (int waited_ms = 0; waited_ms < ms; waited_ms += 5) {
		step();
		if (vmop_active_links_has(links, (uint32_t)vmm))
			return true;
		poll(NULL, 0, 5);
	}
	return false;
}

/* As long as it takes the honest guest to be found, several times. */
#define LONG_ENOUGH_MS 1500

static void write_nonce(void)
{
	memcpy(made.ram + PAGE_GPA + (ADDRESS & 0xfff), nonce, sizeof(nonce));
}

static void the_guest_with_the_bytes(void **state)
{
	(void)state;
	connects(CID);
	write_nonce();
	claims(AGENT_PID, ADDRESS);
	assert_true(is_bound_within(PATIENCE_MS));
	assert_int_equal(candidates.n, 1);
	assert_string_equal(candidates.at[0].name, "g1");
	assert_int_equal(vmop_active_links_losses(links)->n_unproven, 0);
}

/* The guest is found first, so that the others cannot pass for the reason that it was not. */
static void begin_with_a_known_guest(void)
{
	the_guest_with_the_bytes(NULL);
	close(agent);
	agent = -1;
	vmop_active_links_pump(links, now_ns);
	assert_false(vmop_active_links_has(links, (uint32_t)vmm));
}

static void wrong_claims(void **state)
{
	static const struct {
		uint32_t pid;
		uint64_t address;
		bool has_nonce;
	} cases[] = {
		{AGENT_PID, ADDRESS, false},	   /* other bytes are there */
		{AGENT_PID, ADDRESS + 1, true},	   /* not at this address */
		{AGENT_PID, ADDRESS + 4096, true}, /* no page */
		{AGENT_PID - 1, ADDRESS, true},	   /* another process */
		{4711, ADDRESS, true},		   /* no process */
	};
	(void)state;
	begin_with_a_known_guest();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		connects(CID + 1 + (uint32_t)i);
		if (cases[i].has_nonce)
			write_nonce();
		claims(cases[i].pid, cases[i].address);
		assert_false(is_bound_within(LONG_ENOUGH_MS));
		now_ns += VMOP_ACTIVE_CHECK_WAIT_NS + 1;
		step();
		assert_int_equal(vmop_active_links_losses(links)->n_unproven, i + 1);
	}
}

/* The bytes are in the memory of a process that is no vmopd: a server that got them by a network.
 */
static void a_process_of_another_name(void **state)
{
	(void)state;
	begin_with_a_known_guest();
	char *comm = (char *)synthetic_at(
		&made, synthetic_member(&made, made.task[AGENT_PID], VMOP_LAYOUT_TASK_COMM));
	connects(CID + 1);
	strcpy(comm, "httpd");
	poll(NULL, 0, 2500); /* until the list of processes is new */
	write_nonce();
	claims(AGENT_PID, ADDRESS);
	assert_false(is_bound_within(LONG_ENOUGH_MS));
	strcpy(comm, "vmopd");
	assert_true(is_bound_within(PATIENCE_MS));
}

static void a_guest_without_a_vsock(void **state)
{
	(void)state;
	connects(CID);
	write_nonce();
	claims(AGENT_PID, ADDRESS);
	assert_false(is_bound_within(LONG_ENOUGH_MS));
	assert_false(candidates.at[0].has_vsock);
}

static void a_guest_that_is_not_named(void **state)
{
	(void)state;
	begin_with_a_known_guest();
	vmop_domain_set_kind(domain, VMOP_DOMAIN_PASSIVE);
	connects(CID + 1);
	write_nonce();
	claims(AGENT_PID, ADDRESS);
	assert_false(is_bound_within(LONG_ENOUGH_MS));
	vmop_domain_set_kind(domain, VMOP_DOMAIN_ACTIVE);
	assert_true(is_bound_within(PATIENCE_MS));
}

/* As long as a guest's kernel is not known, a claim waits, and no guest is blamed. */
static void a_guest_that_boots(void **state)
{
	(void)state;
	uint8_t *ready = malloc(SYNTHETIC_RAM_BYTES);
	assert_non_null(ready);
	memcpy(ready, made.ram, SYNTHETIC_RAM_BYTES);
	memset(made.ram, 0, SYNTHETIC_RAM_BYTES);
	connects(CID);
	claims(AGENT_PID, ADDRESS);
	for (unsigned i = 0; i < 10; i++) {
		assert_false(is_bound_within(50));
		now_ns += VMOP_ACTIVE_CHECK_WAIT_NS;
	}
	assert_int_equal(vmop_active_links_losses(links)->n_unproven, 0);
	memcpy(made.ram, ready, SYNTHETIC_RAM_BYTES);
	free(ready);
	write_nonce();
	assert_true(is_bound_within(PATIENCE_MS));
}

static void a_guest_that_never_boots(void **state)
{
	(void)state;
	memset(made.ram, 0, SYNTHETIC_RAM_BYTES);
	connects(CID);
	claims(AGENT_PID, ADDRESS);
	for (uint64_t waited_ns = 0; waited_ns <= VMOP_ACTIVE_HOLD_NS + VMOP_ACTIVE_CHECK_WAIT_NS;
	     waited_ns += VMOP_ACTIVE_CHECK_WAIT_NS) {
		assert_int_equal(vmop_active_links_losses(links)->n_unproven, 0);
		step();
		now_ns += VMOP_ACTIVE_CHECK_WAIT_NS;
	}
	step();
	assert_int_equal(vmop_active_links_losses(links)->n_unproven, 1);
}

/* Put another kernel into the guest's memory, as a reboot does. */
static void boot_another_kernel(void)
{
	uint64_t btf = made.btf, bpf_head = made.bpf_head;
	end_guest_image();
	make_guest(&(struct synthetic_options){
		.vma_list = true, .stacks = true, .bpf_programs = true});
	assert_true(made.btf != btf || made.bpf_head != bpf_head);
}

/*
 * The guest reboots in the same VMM: its connection ends, and its next agent is found in the memory
 * of the new kernel. Its claims may be refused as long as the new kernel is not known.
 */
static void a_guest_that_reboots(void **state)
{
	(void)state;
	begin_with_a_known_guest();
	memset(made.ram, 0, SYNTHETIC_RAM_BYTES);
	assert_false(is_bound_within(300));
	boot_another_kernel();
	bool is_bound = false;
	for (unsigned i = 0; i < 100 && !is_bound; i++) {
		connects(CID);
		write_nonce();
		claims(AGENT_PID, ADDRESS);
		is_bound = is_bound_within(LONG_ENOUGH_MS);
		if (is_bound)
			break;
		vmop_guests_tick(guests);
		now_ns += VMOP_ACTIVE_CHECK_WAIT_NS + 1;
		step();
		now_ns += VMOP_ACTIVE_LONGEST_BAN_NS;
	}
	assert_true(is_bound);
	assert_int_equal(candidates.n, 1);
}

/* A new file of the session lists the guests anew: until then, the connection stays. */
static void a_guest_that_is_not_listed_for_a_while(void **state)
{
	(void)state;
	the_guest_with_the_bytes(NULL);
	vmop_domain_set_identified(domain, false);
	now_ns += VMOP_ACTIVE_UNLISTED_NS;
	step();
	assert_int_equal(candidates.n, 1);
	assert_true(vmop_active_links_has(links, (uint32_t)vmm));
	vmop_domain_set_identified(domain, true);
	step();
	now_ns += VMOP_ACTIVE_UNLISTED_NS;
	vmop_domain_set_identified(domain, false);
	step();
	assert_int_equal(candidates.n, 1);
	now_ns += 1;
	step();
	assert_int_equal(candidates.n, 0);
}

/* Its pid may be another process's by now: the domain does not know yet. */
static void a_vmm_that_ended(void **state)
{
	(void)state;
	begin_with_a_known_guest();
	uint32_t pid = (uint32_t)vmm;
	step();
	assert_int_equal(candidates.n, 1);
	connects(CID + 1);
	write_nonce();
	claims(AGENT_PID, ADDRESS);
	end_vmm();
	step();
	assert_int_equal(candidates.n, 0);
	for (unsigned i = 0; i < 20; i++) {
		step();
		poll(NULL, 0, 5);
	}
	assert_false(vmop_active_links_has(links, pid));
}

/* Return whether this act logs this text. */
static bool logs(const char *text, void (*act)(void))
{
	char line[512] = "";
	FILE *log = tmpfile();
	int stderr_fd = dup(STDERR_FILENO);
	bool is_there = false;
	assert_true(log && stderr_fd >= 0 && dup2(fileno(log), STDERR_FILENO) >= 0);
	act();
	assert_true(dup2(stderr_fd, STDERR_FILENO) >= 0);
	close(stderr_fd);
	rewind(log);
	while (fgets(line, sizeof(line), log))
		is_there |= strstr(line, text) != NULL;
	fclose(log);
	return is_there;
}

static void find_sampled(void)
{
	vmop_active_candidate_log(&candidates.at[0], true, true, now_ns);
}

static void find_silent(void)
{
	vmop_active_candidate_log(&candidates.at[0], false, true, now_ns);
}

/*
 * A guest that is gone is gone with a reason in the log, if it was sampled as an active one. Its
 * connection was lost before.
 */
static void a_guest_that_goes(void **state)
{
	(void)state;
	begin_with_a_known_guest();
	step();
	assert_true(logs("guest \"g1\" gets the host's samples now", find_sampled));
	assert_false(logs("guest", find_sampled));
	assert_false(logs("has gone", step));
	assert_false(logs("guest", find_silent));
	now_ns += VMOP_ACTIVE_SILENT_NS - 1;
	assert_false(logs("guest", find_silent));
	end_vmm();
	assert_true(logs("guest \"g1\" has gone while it was an active one", step));
	assert_false(logs("has gone", step));
	assert_int_equal(candidates.n, 0);
}

/* A guest that runs on without its agent is sampled as a passive one, with a reason in the log. */
static void an_agent_that_goes(void **state)
{
	(void)state;
	begin_with_a_known_guest();
	step();
	find_sampled();
	find_silent();
	/* A moment without samples is none without an agent. */
	now_ns += VMOP_ACTIVE_SILENT_NS - 1;
	assert_false(logs("guest", find_sampled));
	assert_false(logs("guest", find_silent));
	now_ns += VMOP_ACTIVE_SILENT_NS;
	assert_true(logs("guest \"g1\" no longer gets the host's samples", find_silent));
	now_ns += VMOP_ACTIVE_SILENT_NS;
	assert_false(logs("guest", find_silent));
	end_vmm();
	assert_false(logs("has gone", step));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_guest_with_the_bytes),
		TEST(wrong_claims),
		TEST(a_process_of_another_name),
		cmocka_unit_test_setup_teardown(a_guest_without_a_vsock, begin_without_vsock, end),
		TEST(a_guest_that_is_not_named),
		TEST(a_guest_that_boots),
		TEST(a_guest_that_never_boots),
		TEST(a_guest_that_reboots),
		TEST(a_guest_that_is_not_listed_for_a_while),
		TEST(a_vmm_that_ended),
		TEST(a_guest_that_goes),
		TEST(an_agent_that_goes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
