// SPDX-License-Identifier: GPL-2.0-or-later
/* How guests are found, named, selected and billed, on synthetic records and a synthetic /proc. */
#include "tests/unit/daemon/common.h"

#include "daemon/guest/domain.h"
#include "daemon/profile/profiler-open.h"
#include "libutil/clock.h"
#include "libutil/vmm.h"

#define GUEST VMOP_SAMPLE_GUEST
#define GUEST_USER_IP 0x7f1200400000ull
#define GUEST_KERNEL_IP 0xffffffff81000010ull

static const char vmm_maps[] =
	"00400000-00410000 r-xp 00001000 fe:00 11 /usr/bin/qemu-system-x86_64\n"
	"7f0000000000-7f0000003000 rw-s 00000000 00:10 12 anon_inode:kvm-vcpu:1\n"
	"7f0000003000-7f0000006000 rw-s 00000000 00:10 12 anon_inode:kvm-vcpu:0\n";

/* Put a VMM into the synthetic /proc, with vCPU threads pid + 1 and pid + 2. */
static void machine_vmm(const struct rig *rig, uint32_t pid, const char *name)
{
	char path[96];
	machine_process(rig, pid, "qemu-system-x86", vmm_maps);
	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	machine_file(rig, path,
		     "/usr/bin/qemu-system-x86_64%c-name%cguest=%s,debug-threads=on%c-uuid%c"
		     "00000000-0000-0000-0000-%012u%c",
		     0, 0, name, 0, 0, pid, 0);
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, pid);
	machine_file(rig, path, "qemu-system-x86\n");
	for (uint32_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, pid + 1 + i);
		machine_file(rig, path, "CPU %u/KVM\n", 1 - i); /* not in the order of the tids */
	}
}

static struct vmop_domain_stats domain(const struct rig *rig, const char *name)
{
	struct vmop_domain_stats stats;
	for (size_t i = 0; vmop_profiler_domain(rig->profiler, i, &stats); i++)
		if (!strcmp(stats.name, name))
			return stats;
	fail_msg("no domain \"%s\"", name);
	return stats;
}

static const struct row *row_of(const struct session *session, enum vmop_bill bill,
				enum vmop_mode mode)
{
	for (size_t i = 0; i < session->n; i++)
		if (session->rows[i].key.billed.number && session->rows[i].key.bill == bill &&
		    session->rows[i].key.mode == mode)
			return &session->rows[i];
	fail_msg("no row with bill %d, mode %d", bill, mode);
	return NULL;
}

static void four_items_on_a_guests_bill(void **state)
{
	struct rig rig;
	(void)state;
	rig_folder(&rig);
	machine_vmm(&rig, 500, "g1");
	rig_begin(&rig,
		  (struct vmop_profiler_options){
			  .setup = &(struct vmop_setup){.separate = VMOP_SETUP_SEPARATE_CPU}});
	rig.now_ns = UINT64_MAX / 2; /* after the start times in /proc */
	give_sample(&rig, 500, 501, GUEST_USER_IP, GUEST | VMOP_SAMPLE_KERNEL); /* a wrong flag */
	give_sample(&rig, 500, 501, GUEST_KERNEL_IP, GUEST | VMOP_SAMPLE_USER);
	give_sample(&rig, 500, 502, 0xffffffffc0000000, VMOP_SAMPLE_KERNEL);
	give_sample(&rig, 500, 502, 0x400010, VMOP_SAMPLE_USER);
	give_sample(&rig, 500, 500, 0xffffffff81000000, VMOP_SAMPLE_KERNEL);
	const struct session *session = rig_flush(&rig);
	struct vmop_domain_stats g1 = domain(&rig, "g1");
	assert_int_equal(g1.kind, VMOP_DOMAIN_PASSIVE);
	assert_string_equal(g1.uuid, "00000000-0000-0000-0000-000000000500");
	assert_int_equal(g1.vmm_pid, 500);
	assert_int_equal(g1.n_vcpus, 2);
	assert_true(g1.is_running);
	assert_int_equal(g1.samples_guest_user, 1);
	assert_int_equal(g1.samples_guest_kernel, 1);
	assert_int_equal(g1.samples_hypervisor, 1);
	assert_int_equal(g1.samples_vmm, 2);

	const struct row *row = row_of(session, VMOP_BILL_SELF, VMOP_MODE_USER);
	assert_string_equal(row->image, "[guest g1 user]");
	assert_int_equal(row->offset, GUEST_USER_IP);
	assert_int_equal(row->key.domain.number, g1.id.number);
	assert_int_equal(row->key.billed.number, g1.id.number);
	assert_int_equal(row->key.vcpu, 1);
	assert_int_equal(row->key.task.number, 0);
	row = row_of(session, VMOP_BILL_SELF, VMOP_MODE_KERNEL);
	assert_string_equal(row->image, "[guest g1 kernel]");
	assert_int_equal(row->offset, GUEST_KERNEL_IP);
	row = row_of(session, VMOP_BILL_HYPERVISOR, VMOP_MODE_HYPERVISOR);
	assert_true(vmop_domain_id_is_host(row->key.domain));
	assert_int_equal(row->key.vcpu, 0);
	assert_int_equal(row->pid, 500);
	row = row_of(session, VMOP_BILL_VMM, VMOP_MODE_USER);
	assert_string_equal(row->image, "/usr/bin/qemu-system-x86_64");
	row = row_of(session, VMOP_BILL_VMM, VMOP_MODE_KERNEL);
	assert_int_equal(row->key.vcpu, -1);

	assert_int_equal(session->n_domains, 2);
	assert_int_equal(session->n_vcpus, 2);
	for (size_t i = 0; i < session->n_vcpus; i++)
		assert_int_equal(session->vcpus[i].tid, 502 - session->vcpus[i].number);
	rig_end(&rig);
}

/* arm64: the source reports the mode of the guest; a 32-bit guest's kernel is in the lower half. */
static void a_mode_that_is_known(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, 0);
	give_program(&rig, 700, "some-vmm", "/bin/some-vmm", 1);
	give_sample(&rig, 700, 701, 0xc0008000,
		    GUEST | VMOP_SAMPLE_KERNEL | VMOP_SAMPLE_MODE_KNOWN);
	give_sample(&rig, 700, 701, 0x10400, GUEST | VMOP_SAMPLE_USER | VMOP_SAMPLE_MODE_KNOWN);
	const struct session *session = rig_flush(&rig);
	const struct row *row = row_of(session, VMOP_BILL_SELF, VMOP_MODE_KERNEL);
	assert_string_equal(row->image, "[guest pid-700 kernel]");
	assert_int_equal(row->offset, 0xc0008000);
	row = row_of(session, VMOP_BILL_SELF, VMOP_MODE_USER);
	assert_string_equal(row->image, "[guest pid-700 user]");
	rig_end(&rig);
}

static void a_guest_known_only_by_its_samples(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, 0);
	give_program(&rig, 700, "some-vmm", "/bin/some-vmm", 1);
	give_sample(&rig, 700, 701, GUEST_USER_IP, GUEST);
	give_sample(&rig, 700, 701, 0xffffffff81000000, VMOP_SAMPLE_KERNEL);
	give_exit(&rig, 700, 701);
	give_exit(&rig, 700, 700);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "[guest pid-700 user]", NULL), 1);
	struct vmop_domain_stats guest = domain(&rig, "pid-700");
	assert_int_equal(guest.samples_hypervisor, 1);
	assert_false(guest.is_running);
	for (size_t i = 0; i < session->n_domains; i++)
		assert_int_equal(session->domains[i].last_seen_ns != 0,
				 vmop_domain_id_equals(session->domains[i].id, guest.id));
	/* The next process of that pid is another guest. */
	give_program(&rig, 700, "some-vmm", "/bin/some-vmm", 1);
	give_sample(&rig, 700, 701, GUEST_USER_IP, GUEST);
	session = rig_flush(&rig);
	assert_int_equal(session->n_domains, 3);
	rig_end(&rig);
}

static void unselected_guests_give_no_addresses(void **state)
{
	static const char *const selected[] = {"g1"};
	struct rig rig;
	(void)state;
	rig_folder(&rig);
	machine_vmm(&rig, 500, "g1");
	machine_vmm(&rig, 600, "g2");
	rig_begin(&rig, (struct vmop_profiler_options){.passive_domains = selected,
						       .n_passive_domains = 1});
	rig.now_ns = UINT64_MAX / 2;
	give_sample(&rig, 500, 501, GUEST_USER_IP, GUEST);
	give_sample(&rig, 600, 601, GUEST_USER_IP, GUEST);
	give_sample(&rig, 600, 601, GUEST_KERNEL_IP, GUEST);
	give_sample(&rig, 600, 601, 0xffffffff81000000, VMOP_SAMPLE_KERNEL);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "[guest g1 user]", NULL), 1);
	assert_int_equal(samples_of(session, "[unselected guest]", NULL), 2);
	for (size_t i = 0; i < session->n; i++)
		if (!strcmp(session->rows[i].image, "[unselected guest]"))
			assert_int_equal(session->rows[i].offset, 0);
	struct vmop_domain_stats g2 = domain(&rig, "g2");
	assert_int_equal(g2.kind, VMOP_DOMAIN_UNSELECTED);
	assert_int_equal(g2.samples_hypervisor, 1);
	rig_end(&rig);
}

/* An active guest is sampled like a passive one, also if --passive-domains leaves it out. */
static void active_guests_are_sampled_too(void **state)
{
	static const char *const selected[] = {"g2"};
	struct vmop_setup setup;
	struct rig rig;
	(void)state;
	ok(vmop_setup_init(&setup));
	ok(vmop_setup_set(&setup, "active-domains", "g1", false));
	ok(vmop_setup_set(&setup, "guest-cpu", "0", false)); /* no sample waits for a reading */
	rig_folder(&rig);
	machine_vmm(&rig, 500, "g1");
	machine_vmm(&rig, 600, "g2");
	rig_begin(&rig, (struct vmop_profiler_options){.passive_domains = selected,
						       .n_passive_domains = 1,
						       .setup = &setup});
	rig.now_ns = UINT64_MAX / 2;
	give_sample(&rig, 500, 501, GUEST_USER_IP, GUEST);
	give_sample(&rig, 600, 601, GUEST_USER_IP, GUEST);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "[guest g1 user]", NULL), 1);
	assert_int_equal(samples_of(session, "[guest g2 user]", NULL), 1);
	assert_int_equal(domain(&rig, "g1").kind, VMOP_DOMAIN_ACTIVE);
	assert_int_equal(domain(&rig, "g2").kind, VMOP_DOMAIN_PASSIVE);
	rig_end(&rig);
	vmop_setup_deinit(&setup);
}

static void without_an_address_it_is_opaque(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, 0);
	give_program(&rig, 700, "vmm", "/bin/vmm", 1);
	give_sample(&rig, 700, 701, 0, GUEST | VMOP_SAMPLE_NO_IP);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "[opaque guest]", NULL), 1);
	assert_int_equal(domain(&rig, "pid-700").kind, VMOP_DOMAIN_OPAQUE);
	for (size_t i = 0; i < session->n_domains; i++)
		if (!vmop_domain_id_is_host(session->domains[i].id))
			assert_int_equal(session->domains[i].kind, VMOP_DOMAIN_OPAQUE);
	rig_end(&rig);
}

static void kernel_workers_are_the_guests(void **state)
{
	struct rig rig;
	(void)state;
	rig_folder(&rig);
	machine_vmm(&rig, 500, "g1");
	machine_file(&rig, "/proc/502/status", "Name:\tx\nTgid:\t500\n");
	rig_begin(&rig, (struct vmop_profiler_options){0});
	rig.now_ns = UINT64_MAX / 2;
	give_fork(&rig, 2, 800, 800);
	give_comm(&rig, 800, 800, "vhost-500", 0);
	give_fork(&rig, 2, 801, 801);
	give_comm(&rig, 801, 801, "vhost-502", 0); /* by a thread's id */
	give_fork(&rig, 2, 802, 802);
	give_comm(&rig, 802, 802, "vhost-999", 0); /* of another process */
	give_fork(&rig, 1, 803, 803);
	give_comm(&rig, 803, 803, "vhost-500", 0); /* a program with the same name */
	ok(vmop_profiler_tick(rig.profiler));
	for (uint32_t pid = 800; pid < 804; pid++)
		give_sample(&rig, pid, pid, 0xffffffff81000000, VMOP_SAMPLE_KERNEL);
	rig_flush(&rig);
	assert_int_equal(domain(&rig, "g1").samples_vmm, 2);
	assert_int_equal(domain(&rig, "host").samples_guest_kernel, 2);
	rig_end(&rig);
}

/* A VMM that started after the scan is found by the name of its program, or by debugfs. */
static void guests_that_come_later(void **state)
{
	struct rig rig;
	struct vmop_domain_stats stats;
	(void)state;
	rig_folder(&rig);
	machine_file(&rig, "/proc/cpuinfo", "-");
	rig_begin(&rig, (struct vmop_profiler_options){0});
	rig.now_ns = UINT64_MAX / 2;
	machine_process(&rig, 500, "qemu-system-x86", "00400000-00410000 r-xp 0 fe:00 11 /q\n");
	give_fork(&rig, 1, 500, 500);
	give_comm(&rig, 500, 500, "qemu-system-x86", 1);
	machine_process(&rig, 600, "odd", "");
	give_fork(&rig, 1, 600, 600);
	ok(vmop_profiler_tick(rig.profiler));
	assert_false(vmop_profiler_domain(rig.profiler, 1, &stats)); /* it has no VM yet */
	machine_vmm(&rig, 500, "late");
	machine_vmm(&rig, 600, "odd");
	machine_file(&rig, "/sys/kernel/debug/kvm/600-9/vcpu5/pid", "601\n");
	for (int i = 0; i < 3; i++)
		ok(vmop_profiler_tick(rig.profiler));
	assert_int_equal(domain(&rig, "late").vmm_pid, 500);
	assert_int_equal(domain(&rig, "odd").vmm_pid, 600);
	const struct session *session = rig_flush(&rig);
	size_t found = 0;
	for (size_t i = 0; i < session->n_vcpus; i++)
		found += session->vcpus[i].tid == 601 && session->vcpus[i].number == 5;
	assert_int_equal(found, 1);	       /* KVM's number precedes a thread's name */
	give_comm(&rig, 500, 500, "other", 1); /* it executes another program */
	assert_false(domain(&rig, "late").is_running);
	rig_end(&rig);
}

/* A vCPU whose number was guessed gives it up to the vCPU whose thread has it in its name. */
static void guessed_vcpu_numbers_give_way(void **state)
{
	struct rig rig;
	(void)state;
	rig_folder(&rig);
	machine_file(&rig, "/proc/cpuinfo", "-");
	rig_begin(&rig, (struct vmop_profiler_options){0});
	rig.now_ns = UINT64_MAX / 2;
	machine_vmm(&rig, 500, "g1");
	machine_file(&rig, "/proc/500/task/502/comm", "no name\n");
	give_sample(&rig, 500, 501, GUEST_USER_IP, GUEST); /* guessed to be 0; 1 by its name */
	give_sample(&rig, 500, 502, GUEST_USER_IP, GUEST); /* guessed to be 1 */
	const struct session *session = rig_flush(&rig);
	assert_int_equal(session->n_vcpus, 2);
	for (size_t i = 0; i < session->n_vcpus; i++)
		assert_int_equal(session->vcpus[i].tid, 502 - session->vcpus[i].number);
	rig_end(&rig);
}

static void a_passive_image_names_kernel_functions(void **state)
{
	static const char *const selected[] = {"g1"};
	struct rig rig;
	char image[128];
	(void)state;
	rig_folder(&rig);
	machine_vmm(&rig, 500, "g1");
	machine_file(&rig, "/System.map",
		     "ffffffff81000000 T _text\nffffffff81000100 T first\n"
		     "ffffffff81000200 T second\nffffffff81000300 T _etext\n");
	snprintf(image, sizeof(image), "%s/root/System.map", rig.folder);
	struct vmop_passive_image images[] = {{.path = image, .offset_bytes = 0x1c000000}};
	rig_begin(&rig, (struct vmop_profiler_options){.passive_domains = selected,
						       .n_passive_domains = 1,
						       .passive_images = images});
	rig.now_ns = UINT64_MAX / 2;
	give_sample(&rig, 500, 501, 0xffffffff9d000110, GUEST);
	give_sample(&rig, 500, 501, 0xffff888000000000, GUEST); /* below its code */
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "[guest g1 kernel]", NULL), 1);
	assert_int_equal(samples_of(session, "[guest g1 unknown kernel text]", NULL), 1);
	const struct row *row = &session->rows[0];
	if (strcmp(row->image, "[guest g1 kernel]") != 0)
		row = &session->rows[1];
	assert_int_equal(row->offset, 0x110);
	assert_int_equal(row->base, 0xffffffff9d000000);
	assert_string_equal(domain(&rig, "g1").image, image);

	struct vmop_db *db;
	struct vmop_symbol *symbols;
	size_t n;
	ok(vmop_db_open(rig.path, &db));
	ok(vmop_db_get_symbols(db, row->key.image, &symbols, &n));
	assert_int_equal(n, 4);
	assert_string_equal(symbols[1].name, "first");
	assert_int_equal(symbols[1].offset, 0x100);
	free(symbols);
	vmop_db_close(db);
	rig_end(&rig);
}

/* Create a profiler, which must fail with a message that contains `what`. */
static void rejects(struct vmop_profiler_options options, const char *what)
{
	struct rig rig;
	rig_folder(&rig);
	machine_vmm(&rig, 500, "g1");
	struct vmop_error *err = rig_create(&rig, &options, &fake_source);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	if (!strstr(err->message, what))
		fail_msg("\"%s\" does not contain \"%s\"", err->message, what);
	vmop_error_destroy(err);
	rig.profiler = NULL;
	rig_end(&rig);
}

static void the_set_up_is_checked(void **state)
{
	static const char *const unknown[] = {"g1", "nobody"}, *const all[] = {"all"};
	struct vmop_passive_image missing[] = {{.path = "/nonexistent/vmlinux"}};
	(void)state;
	rejects((struct vmop_profiler_options){.passive_domains = unknown, .n_passive_domains = 2},
		"\"nobody\" does not run; those that do: g1 (pid 500)");
	struct vmop_setup setup;
	ok(vmop_setup_init(&setup));
	ok(vmop_setup_set(&setup, "active-domains", "g1,nobody", false));
	rejects((struct vmop_profiler_options){.setup = &setup},
		"active domain \"nobody\" does not run; those that do: g1 (pid 500)");
	vmop_setup_deinit(&setup);
	rejects((struct vmop_profiler_options){.passive_domains = all,
					       .n_passive_domains = 1,
					       .passive_images = missing},
		"/nonexistent/vmlinux");
}

/* Join arguments as /proc/PID/cmdline does. Returns the length. */
static size_t join(const char *const *arguments, char *text)
{
	size_t len = 0;
	for (size_t i = 0; arguments[i]; i++) {
		strcpy(text + len, arguments[i]);
		len += strlen(arguments[i]) + 1;
	}
	return len;
}

static void qmp_sockets(void **state)
{
	static const struct {
		const char *arguments[8];
		const char *path; /* NULL: none */
	} cases[] = {
		{{"qemu", "-qmp", "unix:/run/q,server=on,wait=off"}, "/run/q"},
		{{"qemu", "-qmp", "unix:/run/a,,b,server,nowait", "-m", "1G"}, "/run/a,b"},
		{{"qemu", "-qmp", "unix:/run/q"}, NULL}, /* it connects there */
		{{"qemu", "-qmp", "unix:/run/q,server=off"}, NULL},
		{{"qemu", "-qmp", "tcp:localhost:4444,server"}, NULL},
		{{"qemu", "-qmp", "stdio"}, NULL},
		{{"qemu", "-monitor", "unix:/run/hmp,server"}, NULL},
		{{"kvm", "-chardev", "socket,id=other,path=/run/o,server=on", "-chardev",
		  "socket,id=qmp,path=/run/100.qmp,server=on,wait=off", "-mon",
		  "chardev=qmp,mode=control"},
		 "/run/100.qmp"},
		{{"kvm", "-mon", "qmp,mode=control", "-chardev",
		  "socket,path=/run/p,server,id=qmp"},
		 "/run/p"},
		{{"kvm", "-mon", "qmp", "-chardev", "socket,path=/run/p,server,id=qmp"}, NULL},
		{{"kvm", "-mon", "qmp,mode=control", "-chardev", "socket,id=qmp,fd=28,server=on"},
		 NULL}, /* libvirt's */
		{{"kvm", "-mon", "qmp,mode=control", "-chardev", "pipe,id=qmp,path=/run/p,server"},
		 NULL},
		{{"qemu", "-qmp"}, NULL},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[512], path[108];
		size_t len = join(cases[i].arguments, text);
		bool is_there = vmop_vmm_qmp_socket(text, len, path, sizeof(path));
		assert_int_equal(is_there, cases[i].path != NULL);
		if (is_there)
			assert_string_equal(path, cases[i].path);
	}
}

static void command_lines(void **state)
{
	static const struct {
		const char *arguments[8], *name, *uuid;
	} cases[] = {
		{{"/usr/bin/qemu-system-x86_64", "-name", "g,debug-threads=on", "-uuid", "U"},
		 "g",
		 "U"},
		{{"kvm", "-name", "guest=a,,b,process=x", "-m", "1G"}, "a,b", ""},
		{{"kvm", "-name", "debug-threads=on,guest=late"}, "late", ""},
		{{"qemu", "--name=eq"}, "eq", ""},
		{{"./firecracker", "--api-sock", "/x", "--id", "fc-1"}, "fc-1", ""},
		{{"cloud-hypervisor", "--api-socket", "path=/run/vm7", "--platform",
		  "num_pci_segments=2,uuid=V"},
		 "vm7",
		 "V"},
		{{"crosvm", "run", "-s", "/run/c.sock", "--name", "cros"}, "cros", ""},
		{{"lkvm", "run", "-n", "lk"}, "lk", ""},
		{{"qemu", "-name"}, "", ""},
		{{"qemu", "name", "x"}, "", ""},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[512], name[VMOP_GUEST_NAME_BYTES], uuid[VMOP_UUID_BYTES];
		size_t len = join(cases[i].arguments, text);
		vmop_vmm_parse_cmdline(text, len, name, uuid);
		assert_string_equal(name, cases[i].name);
		assert_string_equal(uuid, cases[i].uuid);
	}
	uint32_t number = 99;
	assert_true(vmop_vmm_vcpu_of_comm("CPU 12/KVM", &number) && number == 12);
	assert_true(vmop_vmm_vcpu_of_comm("fc_vcpu 3", &number) && number == 3);
	assert_true(vmop_vmm_vcpu_of_comm("vcpu0", &number) && number == 0);
	assert_false(vmop_vmm_vcpu_of_comm("CPU 12/TCG", &number));
	assert_false(vmop_vmm_vcpu_of_comm("vcpu0x", &number));
	assert_false(vmop_vmm_vcpu_of_comm("", &number));
}

/* Check that the row of domain changed, or did not, and mark it as stored. */
static void check_row(struct vmop_domains *domains, const struct vmop_domain *domain,
		      bool has_changed)
{
	assert_int_equal(domain->is_stored, !has_changed);
	vmop_domains_stored(domains);
	assert_true(domain->is_stored);
}

static void a_row_changes_only_with_its_domain(void **state)
{
	static struct vmop_domains domains;
	static struct vmop_images images;
	char longest[2 * VMOP_GUEST_NAME_BYTES];
	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_null(vmop_images_init(&images, 16));
	assert_null(vmop_domains_init(&domains, NULL, NULL, &images, NULL, NULL));
	struct vmop_domain *guest = vmop_domains_new(&domains);
	assert_non_null(guest);
	check_row(&domains, guest, true);
	for (int again = 0; again < 2; again++) {
		vmop_domain_set_name(guest, "g1");
		check_row(&domains, guest, !again);
		vmop_domain_set_uuid(guest, "1-2");
		check_row(&domains, guest, !again);
		vmop_domain_set_vmm(guest, "qemu");
		check_row(&domains, guest, !again);
		vmop_domain_set_vmm_pid(guest, 7);
		check_row(&domains, guest, !again);
		vmop_domain_set_kind(guest, VMOP_DOMAIN_PASSIVE);
		check_row(&domains, guest, !again);
		vmop_domain_set_note(guest, "not in the row");
		vmop_domain_count_user(guest);
		check_row(&domains, guest, false);
	}
	vmop_domain_set_name(guest, "g"); /* a prefix is another name */
	check_row(&domains, guest, true);
	vmop_domain_set_name(guest, longest);
	check_row(&domains, guest, true);
	assert_int_equal(strlen(guest->name), VMOP_GUEST_NAME_BYTES - 1);
	vmop_domain_set_name(guest, longest);
	check_row(&domains, guest, false);
	vmop_domain_deselect(guest, VMOP_DOMAIN_UNSELECTED);
	check_row(&domains, guest, true);
	vmop_domain_end(guest);
	check_row(&domains, guest, true);
	vmop_domains_deinit(&domains);
	vmop_images_deinit(&images);
}

/* Store the domains, and compare domain 1's stored note with expected; NULL: it has none. */
static void check_context_note(struct vmop_domains *domains, struct vmop_db *db,
			       const char *expected)
{
	_cleanup_free_ char *note = NULL;
	ok(vmop_db_begin_interval(db, vmop_clock_ns(CLOCK_REALTIME), 1));
	ok(vmop_domains_store(domains, db));
	ok(vmop_db_commit(db));
	vmop_domains_stored(domains);
	ok(vmop_db_get_info(db, "domain-1-context", &note));
	if (expected)
		assert_string_equal(note, expected);
	else
		assert_null(note);
}

static void a_reason_for_no_contexts(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, 0);
	struct vmop_domains *domains = &rig.profiler->domains;
	give_program(&rig, 700, "some-vmm", "/bin/some-vmm", 1);
	give_sample(&rig, 700, 701, GUEST_KERNEL_IP, GUEST | VMOP_SAMPLE_KERNEL);
	rig_flush(&rig);
	struct vmop_domain *guest = domains->at[1];
	check_context_note(domains, rig.db, NULL);
	char text[400];
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	vmop_domain_set_context_note(guest, text);
	assert_false(guest->is_stored);
	text[sizeof(guest->context_note) - 1] = 0;
	check_context_note(domains, rig.db, text);
	vmop_domain_set_context_note(guest, "BPF is locked");
	check_context_note(domains, rig.db, "BPF is locked");
	vmop_domain_set_context_note(guest, "BPF is locked");
	assert_true(guest->is_stored);
	vmop_domain_set_context_note(guest, NULL);
	check_context_note(domains, rig.db, "");
	rig_end(&rig);
}

static struct vmop_error *note_uuid(void *arg, const struct vmop_db_domain *domain)
{
	bool *have_uuids = arg;
	assert_true(domain->id.number < 2);
	have_uuids[domain->id.number] = domain->uuid && *domain->uuid;
	return NULL;
}

/* The host of an active guest accepts its session only without the UUIDs of further guests. */
static void guests_of_an_active_guest_have_no_uuid(void **state)
{
	(void)state;
	for (unsigned is_read_elsewhere = 0; is_read_elsewhere < 2; is_read_elsewhere++) {
		struct rig rig;
		bool have_uuids[2] = {false};
		rig_records_only(&rig, 0);
		struct vmop_domains *domains = &rig.profiler->domains;
		domains->is_read_elsewhere = is_read_elsewhere;
		give_program(&rig, 700, "some-vmm", "/bin/some-vmm", 1);
		give_sample(&rig, 700, 701, GUEST_KERNEL_IP, GUEST | VMOP_SAMPLE_KERNEL);
		vmop_domain_set_uuid(domains->at[0], "1-2");
		vmop_domain_set_uuid(domains->at[1], "3-4");
		rig_flush(&rig);
		ok(vmop_db_each_domain(rig.db, note_uuid, have_uuids));
		assert_true(have_uuids[0]);
		assert_int_equal(have_uuids[1], !is_read_elsewhere);
		rig_end(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reason_for_no_contexts),
		cmocka_unit_test(guests_of_an_active_guest_have_no_uuid),
		cmocka_unit_test(four_items_on_a_guests_bill),
		cmocka_unit_test(a_mode_that_is_known),
		cmocka_unit_test(a_guest_known_only_by_its_samples),
		cmocka_unit_test(unselected_guests_give_no_addresses),
		cmocka_unit_test(active_guests_are_sampled_too),
		cmocka_unit_test(without_an_address_it_is_opaque),
		cmocka_unit_test(kernel_workers_are_the_guests),
		cmocka_unit_test(guests_that_come_later),
		cmocka_unit_test(guessed_vcpu_numbers_give_way),
		cmocka_unit_test(a_passive_image_names_kernel_functions),
		cmocka_unit_test(the_set_up_is_checked),
		cmocka_unit_test(a_row_changes_only_with_its_domain),
		cmocka_unit_test(command_lines),
		cmocka_unit_test(qmp_sockets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
