// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The BPF program that counts application I/O: of the threads of one process and of their children.
 * It runs at the end of every system call, where the registers still have the arguments. At the
 * begin it runs only if times are wanted. Other threads cost a look-up in a table, and one in their
 * own memory for calls of I/O.
 *
 * A thread's counts are its own, so they need no lock: the key of an entry has its number. What has
 * no room there is counted in each CPU's rests, which have room for everything.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h> /* needs linux/bpf.h's types */

#include <bpf/bpf_core_read.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/bpf/appio-layout.h"

char program_license[] SEC("license") = "GPL";

const volatile struct vmop_appio_settings settings SEC(VMOP_APPIO_SETTINGS_SECTION);

struct vmop_appio_progress progress = {0};

/* ---- the kernel's structures -------------------------------------------------------------- */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r10, r9, r8, bp, bx, cx, dx, si, di, orig_ax, ip, sp;
};
struct thread_info {
	uint32_t status;
};
#else
struct pt_regs {
	uint64_t regs[31], sp, pc, orig_x0;
	int32_t syscallno;
};
struct thread_info {
	unsigned long flags;
};
#endif
struct super_block;
struct inode {
	uint16_t i_mode;
	uint32_t i_rdev;
	unsigned long i_ino;
};
struct qstr {
	const unsigned char *name;
};
struct dentry {
	struct qstr d_name;
};
struct path {
	struct dentry *dentry;
};
struct file {
	unsigned int f_mode;
	struct inode *f_inode;
	struct path f_path;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
	unsigned long *open_fds;
};
struct files_struct {
	struct fdtable *fdt;
};
struct task_struct {
	struct thread_info thread_info;
	unsigned int flags;
	int pid, tgid;
	struct task_struct *group_leader;
	struct files_struct *files;
	char comm[16];
};
struct sigaction {
	void *sa_handler;
	unsigned long sa_flags;
};
struct k_sigaction {
	struct sigaction sa;
};
struct vm_area_struct {
	struct file *vm_file;
};
struct io_uring_cqe {
	int32_t res;
};
struct io_kiocb {
	struct file *file;
	uint8_t opcode;
};
struct bpf_iter__task {
	void *meta;
	struct task_struct *task;
};
#pragma clang attribute pop

/* arch/x86/include/asm/thread_info.h, arch/arm64/include/asm/thread_info.h */
#define TS_COMPAT 2
#define TIF_32BIT 22
#define X32_BIT 0x40000000u
/* include/linux/errno.h: the kernel's own codes for a call that a signal interrupted */
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ENOIOCTLCMD 515
#define ERESTART_RESTARTBLOCK 516
#define ENOENT 2
#define EINTR 4
#define EAGAIN 11
#define SA_RESTART 0x10000000
#define FMODE_WRITE 2
#define PF_IO_WORKER 0x10
/* include/linux/mm_types.h */
#define FAULT_ERRORS_OR_RETRY 0x473
#define FAULT_MAJOR 4

#define MAX_VECTOR 1024	   /* UIO_MAXIOV */
#define MAX_FD_WORDS 16384 /* of the map of open descriptors: 1,048,576 of them */

/* ---- maps --------------------------------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct vmop_appio_member);
} members SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, VMOP_APPIO_MAX_TASKS + 1);
	__type(key, uint32_t);
	__type(value, struct vmop_appio_task);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, VMOP_APPIO_MAX_ENTRIES);
	__type(key, uint32_t);
	__type(value, struct vmop_appio_slot);
} entries SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VMOP_APPIO_MAX_ENTRIES);
	__type(key, struct vmop_appio_key);
	__type(value, uint32_t); /* index in the array */
} indices SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, VMOP_APPIO_N_RESTS);
	__type(key, uint32_t);
	__type(value, struct vmop_appio_counts);
} rests SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct vmop_appio_losses);
} losses SEC(".maps");

#define COUNT(field)                                                                               \
	do {                                                                                       \
		uint32_t zero_ = 0;                                                                \
		struct vmop_appio_losses *losses_ = bpf_map_lookup_elem(&losses, &zero_);          \
		if (losses_)                                                                       \
			losses_->field++;                                                          \
	} while (0)

/* ---- a system call ------------------------------------------------------------------------ */

/* One that has returned. */
struct call {
	uint64_t args[5];
	int64_t result;
	uint64_t bytes, wanted, time_ns;
	int32_t fds[2]; /* -1: none */
	uint8_t id, class, form, is_compat;
};

#if defined(__TARGET_ARCH_x86)
static __always_inline bool is_compat(struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}

static __always_inline uint32_t number_of(struct pt_regs *regs)
{
	return (uint32_t)regs->orig_ax;
}

static __always_inline void read_args(struct pt_regs *regs, struct call *call)
{
	if (call->is_compat) {
		call->args[0] = (uint32_t)regs->bx;
		call->args[1] = (uint32_t)regs->cx;
		call->args[2] = (uint32_t)regs->dx;
		call->args[3] = (uint32_t)regs->si;
		call->args[4] = (uint32_t)regs->di;
		return;
	}
	call->args[0] = regs->di;
	call->args[1] = regs->si;
	call->args[2] = regs->dx;
	call->args[3] = regs->r10;
	call->args[4] = regs->r8;
}

static __always_inline uint64_t ip_of(struct pt_regs *regs)
{
	return regs->ip;
}
#else
static __always_inline bool is_compat(struct task_struct *task)
{
	return task->thread_info.flags >> TIF_32BIT & 1;
}

static __always_inline uint32_t number_of(struct pt_regs *regs)
{
	return (uint32_t)regs->syscallno;
}

static __always_inline void read_args(struct pt_regs *regs, struct call *call)
{
	uint64_t mask = call->is_compat ? UINT32_MAX : UINT64_MAX;
	call->args[0] = regs->orig_x0 & mask; /* the result is in its place */
	call->args[1] = regs->regs[1] & mask;
	call->args[2] = regs->regs[2] & mask;
	call->args[3] = regs->regs[3] & mask;
	call->args[4] = regs->regs[4] & mask;
}

static __always_inline uint64_t ip_of(struct pt_regs *regs)
{
	return regs->pc;
}
#endif

/* Return the id of a call of I/O, else 0. */
static __always_inline uint8_t id_of(uint32_t number, bool compat)
{
	if (number >= VMOP_APPIO_MAX_NUMBERS)
		return 0;
	/* For the verifier, which the compiler's own form of the comparison does not convince. */
	__asm__ volatile("" : "+r"(number));
	number &= VMOP_APPIO_MAX_NUMBERS - 1;
	return compat ? settings.compat[number] : settings.native[number];
}

/* Replace socketcall(2) by the call that it makes: its arguments are in memory. */
static __always_inline bool open_socketcall(struct call *call)
{
	uint32_t which = (uint32_t)call->args[0], words[5] = {0};
	if (which >= VMOP_APPIO_MAX_SOCKETCALLS)
		return false;
	call->id = settings.socketcalls[which];
	if (!call->id)
		return false;
	/* socket(2) has three arguments, the shortest ones of recv(2) four. */
	uint32_t size = which == 9 || which == 10 ? 16 : which >= 16 && which != 18 ? 12 : 16;
	if (which == 19)
		size = 20;
	if (which == 1 || which == 5)
		size = 12;
	if (bpf_probe_read_user(words, size & 31, (void *)call->args[1]) != 0) {
		COUNT(n_unread);
		return false;
	}
	for (int i = 0; i < 5; i++)
		call->args[i] = words[i];
	return true;
}

static __always_inline void find_fds(struct call *call)
{
	call->fds[0] = call->fds[1] = -1;
	if (call->class >= VMOP_APPIO_SELECT)
		return;
	call->fds[0] = (int32_t)call->args[0];
	if (call->class != VMOP_APPIO_COPY)
		return;
	if (call->form == VMOP_APPIO_SENDFILE) {
		call->fds[0] = (int32_t)call->args[1];
		call->fds[1] = (int32_t)call->args[0];
	} else {
		call->fds[1] =
			(int32_t)(call->form == VMOP_APPIO_TEE ? call->args[1] : call->args[2]);
	}
}

/* ---- sizes -------------------------------------------------------------------------------- */

/* A walk over a vector in the program's memory, at its 64-bit or 32-bit layout. */
struct walk {
	uint64_t at, sum;
	uint32_t step, field, width; /* bytes */
	bool failed;
};

static long add_field(uint32_t i, void *context)
{
	struct walk *walk = context;
	uint64_t value = 0;
	const void *at = (void *)(walk->at + (uint64_t)i * walk->step + walk->field);
	long status = walk->width == 8 ? bpf_probe_read_user(&value, 8, at)
				       : bpf_probe_read_user(&value, 4, at);
	if (status != 0) {
		walk->failed = true;
		return 1;
	}
	walk->sum += value;
	return 0;
}

/* Add up a field of n elements. False: they can't be read. */
static __always_inline bool add_up(struct walk *walk, uint64_t n)
{
	if (n > MAX_VECTOR)
		return false;
	bpf_loop((uint32_t)n, add_field, walk, 0);
	return !walk->failed;
}

static __always_inline bool size_vector(uint64_t at, uint64_t n, bool compat, uint64_t *ret)
{
	struct walk walk = {.at = at,
			    .step = compat ? 8 : 16,
			    .field = compat ? 4 : 8,
			    .width = compat ? 4 : 8};
	bool done = add_up(&walk, n);
	*ret = walk.sum;
	return done;
}

static __always_inline bool size_message(uint64_t at, bool compat, uint64_t *ret)
{
	/* struct msghdr: msg_iov and msg_iovlen. */
	uint64_t where[2] = {0};
	if (compat) {
		uint32_t narrow[2];
		if (bpf_probe_read_user(narrow, sizeof(narrow), (void *)(at + 8)) != 0)
			return false;
		where[0] = narrow[0];
		where[1] = narrow[1];
	} else if (bpf_probe_read_user(where, sizeof(where), (void *)(at + 16)) != 0) {
		return false;
	}
	return size_vector(where[0], where[1], compat, ret);
}

/* Set the bytes of messages by their msg_len: struct mmsghdr. */
static __always_inline bool size_messages(struct call *call)
{
	struct walk walk = {.at = call->args[1],
			    .step = call->is_compat ? 32 : 64,
			    .field = call->is_compat ? 28 : 56,
			    .width = 4};
	bool done = add_up(&walk, (uint64_t)call->result);
	call->bytes = walk.sum;
	return done;
}

/*
 * Set the bytes and whether there should have been more: wanted is above result then. Functions
 * that are not static are verified once, and not again for each way that leads to them.
 */
__noinline int vmop_appio_find_sizes(struct call *call)
{
	bool done = true;
	if (!call)
		return 0;
	call->bytes = (uint64_t)call->result;
	call->wanted = call->args[2];
	switch (call->form) {
	case VMOP_APPIO_VECTOR:
		done = size_vector(call->args[1], call->args[2], call->is_compat, &call->wanted);
		break;
	case VMOP_APPIO_MESSAGE:
		done = size_message(call->args[1], call->is_compat, &call->wanted);
		break;
	case VMOP_APPIO_MESSAGES:
		done = size_messages(call);
		break;
	case VMOP_APPIO_SENDFILE:
		call->wanted = call->args[3];
		break;
	case VMOP_APPIO_SPLICE:
		call->wanted = call->args[4];
		break;
	}
	if (!done)
		COUNT(n_unread);
	return 0;
}

/* ---- files -------------------------------------------------------------------------------- */

static __always_inline struct file *file_of(struct task_struct *task, int32_t fd)
{
	struct file *file = NULL;
	struct files_struct *files = task->files;
	if (!files || fd < 0)
		return NULL;
	struct fdtable *table = files->fdt;
	if ((uint32_t)fd >= table->max_fds)
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd);
	return file;
}

/* By the type in a mode: include/uapi/linux/stat.h. */
static __always_inline uint8_t kind_of(struct inode *inode)
{
	switch (BPF_CORE_READ(inode, i_mode) >> 12) {
	case 1:
		return VMOP_APPIO_KIND_PIPE;
	case 2: {
		/* The majors of terminals: Documentation/admin-guide/devices.txt. */
		uint32_t major = BPF_CORE_READ(inode, i_rdev) >> 20;
		bool is_tty = major == 4 || major == 5 || (major >= 136 && major <= 143);
		return is_tty ? VMOP_APPIO_KIND_TTY : VMOP_APPIO_KIND_DEVICE;
	}
	case 6:
		return VMOP_APPIO_KIND_DEVICE;
	case 8:
		return VMOP_APPIO_KIND_FILE;
	case 12:
		return VMOP_APPIO_KIND_SOCKET;
	default:
		return VMOP_APPIO_KIND_OTHER;
	}
}

/* Set the key's part that the file decides. */
static __always_inline void set_file(struct vmop_appio_key *key, struct file *file)
{
	struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : NULL;
	if (!inode)
		return;
	key->kind = kind_of(inode);
	key->inode = BPF_CORE_READ(inode, i_ino);
}

/* ---- counting ----------------------------------------------------------------------------- */

static __always_inline struct vmop_appio_counts *rest_of(const struct vmop_appio_key *key)
{
	uint32_t i = ((uint32_t)key->call * 2 + key->direction) * VMOP_APPIO_N_KINDS + key->kind;
	COUNT(n_left_out);
	return bpf_map_lookup_elem(&rests, &i);
}

/* Make an entry of a thread that has none for this key yet, and set *index. */
static __noinline struct vmop_appio_slot *new_entry(const struct vmop_appio_key *key,
						    struct file *file, uint32_t *index)
{
	if (!key || !index)
		return NULL;
	/* So that a counter that goes on cannot come back to 0. */
	if (progress.n_entries >= VMOP_APPIO_MAX_ENTRIES)
		return NULL;
	*index = __sync_fetch_and_add(&progress.n_entries, 1);
	struct vmop_appio_slot *slot = bpf_map_lookup_elem(&entries, index);
	if (!slot || bpf_map_update_elem(&indices, key, index, BPF_NOEXIST) != 0)
		return NULL;
	if (file) {
		const unsigned char *name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
		bpf_probe_read_kernel_str(slot->entry.name, sizeof(slot->entry.name), name);
	}
	struct vmop_appio_task *task = bpf_map_lookup_elem(&tasks, &key->task);
	if (task)
		bpf_get_current_comm(task->name, sizeof(task->name));
	slot->key = *key;
	return slot;
}

/* Find the counts of a key, and set *ret_index, if they are an entry's. */
static __always_inline struct vmop_appio_counts *counts_of(const struct vmop_appio_key *key,
							   struct file *file, uint32_t *ret_index)
{
	struct vmop_appio_slot *slot = NULL;
	*ret_index = VMOP_APPIO_MAX_ENTRIES;
	if (key->task) {
		const uint32_t *index = bpf_map_lookup_elem(&indices, key);
		if (index) {
			*ret_index = *index;
			slot = bpf_map_lookup_elem(&entries, ret_index);
		} else {
			slot = new_entry(key, file, ret_index);
		}
	}
	return slot ? &slot->entry.counts : rest_of(key);
}

static __always_inline void add_outcome(struct vmop_appio_counts *counts, const struct call *call,
					uint8_t direction)
{
	counts->calls++;
	if (call->result < 0) {
		if (call->result == -EINTR)
			counts->interrupted++;
		else if (call->result == -EAGAIN)
			counts->would_block++;
		else
			counts->errors++;
		return;
	}
	if (call->class == VMOP_APPIO_SELECT) {
		counts->ends += call->result == 0;
		return;
	}
	if (call->form == VMOP_APPIO_NO_SIZE)
		return;
	counts->bytes += call->bytes;
	if (call->result == 0 && call->wanted && direction == VMOP_APPIO_IN)
		counts->ends++;
	else if ((uint64_t)call->result < call->wanted &&
		 (call->result || call->class != VMOP_APPIO_COPY))
		counts->shorts++;
}

/* Where an entry that this thread found before is noted. */
static __always_inline struct vmop_appio_found *found_at(struct vmop_appio_member *own, int32_t fd,
							 uint8_t call)
{
	return &own->found[((uint32_t)fd * 5 + call) & (VMOP_APPIO_N_FOUND - 1)];
}

/* Find the counts of one side of a call by its file. */
static __noinline struct vmop_appio_counts *
find_counts(struct vmop_appio_member *own, const struct call *call, int32_t fd, uint32_t direction)
{
	uint32_t index, generation = progress.n_closed + 1;
	if (!own || !call)
		return NULL;
	struct vmop_appio_key key = {
		.task = own->task, .fd = fd, .call = call->id, .direction = (uint8_t)direction};
	struct file *file = file_of(bpf_get_current_task_btf(), fd);
	set_file(&key, file);
	if (call->class == VMOP_APPIO_PIPE && file)
		key.direction = !!(BPF_CORE_READ(file, f_mode) & FMODE_WRITE);
	struct vmop_appio_counts *counts = counts_of(&key, file, &index);
	/* A number without a file can get one without a close. */
	if (counts && index < VMOP_APPIO_MAX_ENTRIES && (file || fd < 0) &&
	    call->class != VMOP_APPIO_PIPE) {
		struct vmop_appio_found *found = found_at(own, fd, call->id);
		*found = (struct vmop_appio_found){.fd = fd,
						   .index = index,
						   .generation = generation,
						   .call = call->id,
						   .direction = key.direction};
	}
	return counts;
}

/* Add one side of a call: its second one is the output of a copy. */
__noinline int vmop_appio_add_side(struct vmop_appio_member *own, const struct call *call,
				   uint32_t is_second)
{
	struct vmop_appio_counts *counts = NULL;
	if (!own || !call)
		return 0;
	int32_t fd = is_second ? call->fds[1] : call->fds[0];
	uint8_t direction = is_second || call->class == VMOP_APPIO_WRITE;
	const struct vmop_appio_found *found = found_at(own, fd, call->id);
	if (found->generation == progress.n_closed + 1 && found->fd == fd &&
	    found->call == call->id && found->direction == direction) {
		uint32_t index = found->index;
		struct vmop_appio_slot *slot = bpf_map_lookup_elem(&entries, &index);
		if (slot)
			counts = &slot->entry.counts;
	}
	if (!counts)
		counts = find_counts(own, call, fd, direction);
	if (!counts)
		return 0;
	add_outcome(counts, call, direction);
	if (!is_second)
		counts->time_ns += call->time_ns;
	return 0;
}

static __always_inline void add_call(const struct call *call, struct vmop_appio_member *own)
{
	vmop_appio_add_side(own, call, 0);
	if (call->class == VMOP_APPIO_COPY)
		vmop_appio_add_side(own, call, 1);
}

/* Count bits of a word: BPF has no instruction for it. */
static __always_inline uint32_t n_bits(uint64_t word)
{
	word -= word >> 1 & 0x5555555555555555;
	word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
	word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return (uint32_t)(word * 0x0101010101010101 >> 56);
}

struct open_count {
	const unsigned long *words;
	uint32_t n;
};

static long count_word(uint32_t i, void *context)
{
	struct open_count *count = context;
	uint64_t word = 0;
	bpf_probe_read_kernel(&word, sizeof(word), count->words + i);
	count->n += n_bits(word);
	return 0;
}

/* Note how many descriptors are open now, if they are more than before. */
static __always_inline void note_open(struct task_struct *task, uint32_t number)
{
	struct files_struct *files = task->files;
	struct vmop_appio_task *own = bpf_map_lookup_elem(&tasks, &number);
	if (!files || !own)
		return;
	struct fdtable *table = files->fdt;
	struct open_count count = {.words = table->open_fds};
	uint32_t n_words = table->max_fds / 64;
	bpf_loop(n_words < MAX_FD_WORDS ? n_words : MAX_FD_WORDS, count_word, &count, 0);
	if (count.n > own->open_peak)
		own->open_peak = count.n;
}

/* ---- interrupted calls -------------------------------------------------------------------- */

/* Count the pending call as interrupted. */
static __always_inline void give_up(struct vmop_appio_member *own)
{
	struct call call = {.result = -EINTR, .id = own->call, .time_ns = own->spent_ns};
	if (own->call >= VMOP_APPIO_MAX_CALLS)
		return;
	call.class = settings.classes[own->call];
	call.form = settings.forms[own->call];
	call.fds[0] = own->fds[0];
	call.fds[1] = own->fds[1];
	own->pending = VMOP_APPIO_SETTLED;
	own->spent_ns = 0;
	add_call(&call, own);
}

/* Note a call that the kernel will make once more, or end with EINTR. */
static __always_inline void note_pending(struct vmop_appio_member *own, const struct call *call,
					 struct pt_regs *regs)
{
	bool is_same = own->pending && own->call == call->id && own->ip == ip_of(regs) &&
		       own->sp == regs->sp;
	if (own->pending && !is_same)
		COUNT(n_unsure);
	if (!is_same)
		own->spent_ns = 0;
	own->pending = VMOP_APPIO_UNDECIDED;
	own->call = call->id;
	own->fds[0] = call->fds[0];
	own->fds[1] = call->fds[1];
	own->code = (int32_t)-call->result;
	own->ip = ip_of(regs);
	own->sp = regs->sp;
	own->spent_ns += call->time_ns;
}

/* Return whether a call is the pending one again. restart_syscall(2) has no arguments. */
static __always_inline bool is_again(const struct vmop_appio_member *own, const struct call *call,
				     struct pt_regs *regs)
{
	return (own->call == call->id || call->class == VMOP_APPIO_RESTART) &&
	       own->ip == ip_of(regs) && own->sp == regs->sp;
}

/* Settle what became of the pending call, now that the thread made this one. */
static __always_inline void settle(struct vmop_appio_member *own, struct call *call,
				   struct pt_regs *regs)
{
	if (!is_again(own, call, regs))
		return; /* one of a signal's handler */
	call->id = own->call;
	call->class = settings.classes[own->call & (VMOP_APPIO_MAX_CALLS - 1)];
	call->form = settings.forms[own->call & (VMOP_APPIO_MAX_CALLS - 1)];
	call->fds[0] = own->fds[0];
	call->fds[1] = own->fds[1];
	call->time_ns += own->spent_ns;
	own->pending = VMOP_APPIO_SETTLED;
	own->spent_ns = 0;
	COUNT(n_restarts);
}

/* A signal is delivered: its action decides whether the interrupted call is made once more. */
SEC("tp_btf/signal_deliver")
int vmop_appio_signal(uint64_t *ctx)
{
	struct k_sigaction *action = (struct k_sigaction *)ctx[2];
	struct vmop_appio_member *own =
		bpf_task_storage_get(&members, bpf_get_current_task_btf(), NULL, 0);
	if (!own || own->pending != VMOP_APPIO_UNDECIDED)
		return 0;
	if ((uint64_t)action->sa.sa_handler <= 1) /* SIG_DFL, SIG_IGN */
		return 0;
	if (own->code == ERESTARTNOINTR ||
	    (own->code == ERESTARTSYS && action->sa.sa_flags & SA_RESTART))
		own->pending = VMOP_APPIO_RESTARTING;
	else
		give_up(own);
	return 0;
}

/* ---- system calls ------------------------------------------------------------------------- */

SEC("tp_btf/sys_enter")
int vmop_appio_enter(uint64_t *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (!id_of((uint32_t)ctx[1], is_compat(task)))
		return 0;
	struct vmop_appio_member *own = bpf_task_storage_get(&members, task, NULL, 0);
	if (own && own->state == VMOP_APPIO_COUNTED)
		own->entered_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void count_foreign(struct task_struct *task, uint32_t number)
{
	if (number == UINT32_MAX || !(number & X32_BIT))
		return;
	struct vmop_appio_member *own = bpf_task_storage_get(&members, task, NULL, 0);
	if (own && own->state == VMOP_APPIO_COUNTED)
		COUNT(n_foreign);
}

SEC("tp_btf/sys_exit")
int vmop_appio_leave(uint64_t *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx[0];
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t number = number_of(regs);
	struct call call = {.is_compat = is_compat(task)};
	call.id = id_of(number, call.is_compat);
	if (!call.id) {
		if (number >= VMOP_APPIO_MAX_NUMBERS)
			count_foreign(task, number);
		return 0;
	}
	struct vmop_appio_member *own = bpf_task_storage_get(&members, task, NULL, 0);
	if (!own || own->state != VMOP_APPIO_COUNTED)
		return 0;
	call.result = call.is_compat ? (int32_t)ctx[1] : (int64_t)ctx[1];
	if (own->entered_ns) {
		call.time_ns = bpf_ktime_get_ns() - own->entered_ns;
		own->entered_ns = 0;
	}
	read_args(regs, &call);
	call.class = settings.classes[call.id & (VMOP_APPIO_MAX_CALLS - 1)];
	if (call.class == VMOP_APPIO_SOCKETS) {
		if (!open_socketcall(&call))
			return 0;
		call.class = settings.classes[call.id & (VMOP_APPIO_MAX_CALLS - 1)];
	}
	call.form = settings.forms[call.id & (VMOP_APPIO_MAX_CALLS - 1)];
	find_fds(&call);
	if (call.result <= -ERESTARTSYS && call.result >= -ERESTART_RESTARTBLOCK &&
	    call.result != -ENOIOCTLCMD) {
		if (call.class == VMOP_APPIO_RESTART)
			call.id = own->call;
		note_pending(own, &call, regs);
		return 0;
	}
	if (own->pending)
		settle(own, &call, regs);
	if (call.class == VMOP_APPIO_RESTART) /* of another call than these */
		return 0;
	/* Before the entry is looked up: after it the number may be another file's. */
	if (call.class == VMOP_APPIO_CLOSE || call.class == VMOP_APPIO_OPEN)
		__sync_fetch_and_add(&progress.n_closed, 1);
	if (call.form == VMOP_APPIO_SIZE) {
		call.bytes = (uint64_t)call.result;
		call.wanted = call.args[2];
	} else if (call.form != VMOP_APPIO_NO_SIZE && call.result >= 0) {
		vmop_appio_find_sizes(&call);
	}
	add_call(&call, own);
	if (call.class == VMOP_APPIO_OPEN && call.result >= 0)
		note_open(task, own->task);
	return 0;
}

/* ---- threads ------------------------------------------------------------------------------ */

static __always_inline void note_task(struct task_struct *task, uint32_t number)
{
	struct vmop_appio_task *own = bpf_map_lookup_elem(&tasks, &number);
	if (!own || !number)
		return;
	own->pid = (uint32_t)task->tgid;
	own->tid = (uint32_t)task->pid;
	bpf_probe_read_kernel(own->name, sizeof(own->name), task->comm);
}

static __always_inline void adopt(struct vmop_appio_member *own, struct task_struct *task,
				  uint8_t state)
{
	uint32_t number = __sync_fetch_and_add(&progress.n_tasks, 1) + 1;
	own->task = number <= VMOP_APPIO_MAX_TASKS ? number : 0;
	note_task(task, own->task);
	own->state = state;
}

SEC("tp_btf/sched_process_fork")
int vmop_appio_fork(uint64_t *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx[0];
	struct task_struct *child = (struct task_struct *)ctx[1];
	struct vmop_appio_member *own = bpf_task_storage_get(&members, parent, NULL, 0);
	if (!own || own->state != VMOP_APPIO_COUNTED)
		return 0;
	own = bpf_task_storage_get(&members, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (own)
		adopt(own, child, VMOP_APPIO_COUNTED);
	else
		COUNT(n_lost_tasks);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int vmop_appio_exec(uint64_t *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	struct vmop_appio_member *own = bpf_task_storage_get(&members, task, NULL, 0);
	if (!own || own->state < VMOP_APPIO_WAITING)
		return 0;
	own->state = VMOP_APPIO_COUNTED;
	own->pending = VMOP_APPIO_SETTLED;
	__sync_fetch_and_add(&progress.n_closed, 1); /* O_CLOEXEC */
	note_task(task, own->task);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int vmop_appio_exit(uint64_t *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	struct vmop_appio_member *own = bpf_task_storage_get(&members, task, NULL, 0);
	if (!own || own->state != VMOP_APPIO_COUNTED)
		return 0;
	if (own->pending)
		give_up(own); /* killed in it */
	own->state = VMOP_APPIO_STRANGER;
	return 0;
}

/* Adopt the threads of the process whose leader is marked. */
SEC("iter/task")
int vmop_appio_adopt(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	if (!task)
		return 0;
	struct task_struct *leader = task->group_leader;
	if (!leader)
		return 0;
	struct vmop_appio_member *mark = bpf_task_storage_get(&members, leader, NULL, 0);
	if (!mark || mark->mark == VMOP_APPIO_UNMARKED)
		return 0;
	uint8_t state =
		mark->mark == VMOP_APPIO_MARK_FOR_EXEC ? VMOP_APPIO_WAITING : VMOP_APPIO_COUNTED;
	struct vmop_appio_member *own =
		bpf_task_storage_get(&members, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!own) {
		COUNT(n_lost_tasks);
		return 0;
	}
	if (own->state != VMOP_APPIO_STRANGER)
		return 0;
	adopt(own, task, state);
	progress.n_adopted++;
	return 0;
}

/* ---- faults and io_uring ------------------------------------------------------------------- */

static __always_inline void count_fault(const struct vmop_appio_member *own, bool is_major)
{
	struct vmop_appio_task *task = own->task ? bpf_map_lookup_elem(&tasks, &own->task) : NULL;
	if (task) {
		task->file_faults++;
		task->major_faults += is_major;
		return;
	}
	COUNT(file_faults);
	if (is_major)
		COUNT(major_faults);
}

SEC("fexit/handle_mm_fault")
int vmop_appio_fault(uint64_t *ctx)
{
	struct vm_area_struct *area = (struct vm_area_struct *)ctx[0];
	uint32_t result = (uint32_t)ctx[4];
	if (result & FAULT_ERRORS_OR_RETRY)
		return 0;
	struct vmop_appio_member *own =
		bpf_task_storage_get(&members, bpf_get_current_task_btf(), NULL, 0);
	if (own && own->state == VMOP_APPIO_COUNTED && area->vm_file)
		count_fault(own, result & FAULT_MAJOR);
	return 0;
}

static long has_file(struct task_struct *task, struct vm_area_struct *area, void *context)
{
	(void)task;
	*(bool *)context = area->vm_file != NULL;
	return 0;
}

/* In place of the program above: the processor's exception, before the kernel handles it. */
SEC("tp_btf/page_fault_user")
int vmop_appio_exception(uint64_t *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct vmop_appio_member *own = bpf_task_storage_get(&members, task, NULL, 0);
	bool is_file = false;
	if (!own || own->state != VMOP_APPIO_COUNTED)
		return 0;
	long status = bpf_find_vma(task, ctx[0], has_file, &is_file, 0);
	if (status != 0 && status != -ENOENT)
		COUNT(n_unseen_faults); /* another thread changes the mappings */
	if (is_file)
		count_fault(own, false);
	return 0;
}

/* By io_uring's operation: include/uapi/linux/io_uring.h. -1: it transfers nothing. */
static __always_inline int direction_of(uint8_t opcode)
{
	switch (opcode) {
	case 1:	 /* READV */
	case 4:	 /* READ_FIXED */
	case 10: /* RECVMSG */
	case 22: /* READ */
	case 27: /* RECV */
	case 49: /* READ_MULTISHOT */
		return VMOP_APPIO_IN;
	case 2:	 /* WRITEV */
	case 5:	 /* WRITE_FIXED */
	case 9:	 /* SENDMSG */
	case 23: /* WRITE */
	case 26: /* SEND */
	case 47: /* SEND_ZC */
	case 48: /* SENDMSG_ZC */
		return VMOP_APPIO_OUT;
	default:
		return -1;
	}
}

/* A request of io_uring: its thread, or a worker of its process, has completed it. */
SEC("tp_btf/io_uring_complete")
int vmop_appio_complete(uint64_t *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct io_kiocb *request = (struct io_kiocb *)ctx[1];
	uint8_t opcode = 0;
	struct file *file = NULL;
	int32_t result;
	if (!request)
		return 0;
	if (task->flags & PF_IO_WORKER)
		task = task->group_leader;
	struct vmop_appio_member *own = task ? bpf_task_storage_get(&members, task, NULL, 0) : NULL;
	if (!own || own->state != VMOP_APPIO_COUNTED)
		return 0;
	bpf_core_read(&opcode, sizeof(opcode), &request->opcode);
	bpf_core_read(&file, sizeof(file), &request->file);
	if (settings.complete_form == VMOP_APPIO_COMPLETE_ENTRY)
		bpf_core_read(&result, sizeof(result), &((struct io_uring_cqe *)ctx[2])->res);
	else
		result = (int32_t)ctx[3];
	int direction = direction_of(opcode);
	if (direction < 0) {
		/* It may have been a close. */
		__sync_fetch_and_add(&progress.n_closed, 1);
		return 0;
	}
	struct vmop_appio_key key = {.task = own->task,
				     .fd = -1,
				     .call = settings.complete,
				     .direction = (uint8_t)direction};
	set_file(&key, file);
	uint32_t index;
	struct vmop_appio_counts *counts = counts_of(&key, file, &index);
	if (!counts)
		return 0;
	/* Workers of one process share an entry. */
	__sync_fetch_and_add(&counts->calls, 1);
	if (result > 0)
		__sync_fetch_and_add(&counts->bytes, (uint64_t)result);
	else if (result == 0 && direction == VMOP_APPIO_IN)
		__sync_fetch_and_add(&counts->ends, 1);
	else if (result == -EINTR)
		__sync_fetch_and_add(&counts->interrupted, 1);
	else if (result == -EAGAIN)
		__sync_fetch_and_add(&counts->would_block, 1);
	else if (result < 0)
		__sync_fetch_and_add(&counts->errors, 1);
	return 0;
}
