// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The unwinder of user stacks in the kernel: libstack/unwind.c over the live stack instead of a
 * copy, by the same rules and with the same checks. It does less: raw CFI, entry points without CFI
 * and whatever contradicts the rules are not its business. It gives up, and the daemon unwinds the
 * copy and finds the reason.
 */
#ifndef VMOP_HV_INTERFACE_BPF_UNWIND_BPF_H
#define VMOP_HV_INTERFACE_BPF_UNWIND_BPF_H

/* A step's result: the caller was found. An enum vmop_stack_end ends the stack. */
#define GOES_ON 0
/* The program gives up with an enum vmop_bpf_outcome. */
#define GIVE_UP(outcome) (0x100 | (outcome))
#define GAVE_UP(end) ((end)&0x100)

/* Per-CPU memory: a program on an event is never interrupted by another (bpf_prog_active). */
struct scratch {
	uint32_t alignment;
	struct vmop_bpf_stack stack;
	uint64_t frames[VMOP_BPF_MAX_FRAMES]; /* of stack */
	uint64_t regs[N_REGISTERS];	      /* of the innermost frame */
	task_regs saved_regs;		      /* those that user code left at the kernel's entry */
};

_Static_assert(offsetof(struct scratch, frames) == 4 + sizeof(struct vmop_bpf_stack), "no gap");

/* One unwinding. */
struct walk {
	struct scratch *scratch;
	uint64_t pc, sp, fp, link;
	uint64_t floor; /* the frame ends above this address */
	uint64_t innermost_sp;
	struct vmop_unwind_mapping piece; /* of the frame's code */
	uint32_t first, n_mappings;
	uint32_t n_frames, end;
	bool knows_sp, knows_fp, knows_link;
	bool is_interrupted, is_innermost, is_by_fp;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VMOP_BPF_MAX_PROCESSES);
	__type(key, uint32_t);
	__type(value, struct vmop_bpf_process);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, VMOP_BPF_MAX_MAPPINGS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct vmop_unwind_mapping);
} mappings SEC(".maps");

struct table {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_INNER_MAP);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(union vmop_bpf_page));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, VMOP_BPF_MAX_TABLES);
	__type(key, uint32_t);
	__array(values, struct table);
} tables SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* Find the mapping of a user address. False: it is in none. */
static __always_inline bool find_piece(struct walk *walk, uint64_t address)
{
	if (address - walk->piece.start < walk->piece.end - walk->piece.start)
		return true;
	uint32_t low = walk->first, n = walk->n_mappings;
	for (int i = 0; i < VMOP_BPF_MAPPING_BITS && n > 1; i++) {
		uint32_t half = n / 2, key = low + half;
		const struct vmop_unwind_mapping *probe = bpf_map_lookup_elem(&mappings, &key);
		if (!probe)
			return false;
		if (probe->start <= address)
			low = key;
		n -= half;
	}
	const struct vmop_unwind_mapping *found = bpf_map_lookup_elem(&mappings, &low);
	if (!found || !walk->n_mappings || address < found->start || address >= found->end)
		return false;
	walk->piece = *found;
	return true;
}

/* Find the mapping of the code that returns to *address, as find_caller in libstack/unwind.c. */
static __always_inline bool find_caller(struct walk *walk, uint64_t *address, bool may_be_signed)
{
	if (find_piece(walk, *address - 1))
		return true;
	if (!HAS_LINK || !may_be_signed)
		return false;
	for (unsigned bits = 48; bits <= 52; bits += 4) {
		uint64_t stripped = strip_code(*address, bits);
		if (stripped && find_piece(walk, stripped - 1)) {
			*address = stripped;
			return true;
		}
	}
	return false;
}

/* Return how many of the n rows from the first one on begin at most at the offset. */
static __always_inline uint32_t count_rows(const union vmop_bpf_page *page, uint32_t first,
					   uint32_t n, uint32_t offset)
{
	uint32_t base = 0, left = n;
	for (int i = 0; i < VMOP_BPF_DIR_COUNT_BITS && left > 1; i++) {
		uint32_t half = left / 2;
		uint32_t row = page->rows[(first + base + half) & (VMOP_BPF_PAGE_ROWS - 1)];
		if (row >> VMOP_UNWIND_RULE_BITS <= offset)
			base += half;
		left -= half;
	}
	uint32_t row = page->rows[(first + base) & (VMOP_BPF_PAGE_ROWS - 1)];
	return row >> VMOP_UNWIND_RULE_BITS <= offset ? base + 1 : 0;
}

/* Set *ret to the rule of the instruction at that offset. Its kind is COPY without one. */
static __always_inline bool find_rule(const struct walk *walk, uint64_t offset,
				      struct vmop_unwind_rule *ret)
{
	uint32_t number = walk->piece.table, zero = 0;
	void *table = bpf_map_lookup_elem(&tables, &number);
	if (!table)
		return false;
	const union vmop_bpf_page *page = bpf_map_lookup_elem(table, &zero);
	if (!page)
		return false;
	uint64_t block = (offset >> VMOP_UNWIND_BLOCK_BITS) - page->words[VMOP_BPF_FIRST_BLOCK];
	ret->kind = VMOP_UNWIND_COPY;
	if (block >= page->words[VMOP_BPF_N_BLOCKS])
		return true;
	uint32_t rule_page = page->words[VMOP_BPF_RULE_PAGE];
	uint32_t word = (uint32_t)block + VMOP_BPF_TABLE_WORDS;
	uint32_t key = word / VMOP_BPF_PAGE_WORDS;
	page = bpf_map_lookup_elem(table, &key);
	if (!page)
		return false;
	uint64_t entry = page->words[word & (VMOP_BPF_PAGE_WORDS - 1)];
	uint32_t n = entry >> VMOP_BPF_DIR_COUNT_SHIFT & ((1 << VMOP_BPF_DIR_COUNT_BITS) - 1);
	uint32_t rule = entry >> VMOP_BPF_DIR_RULE_SHIFT & VMOP_BPF_NO_RULE;
	if (n) {
		uint32_t first = entry >> VMOP_BPF_DIR_ROW_SHIFT & (VMOP_BPF_PAGE_ROWS - 1);
		key = entry & ((1 << VMOP_BPF_DIR_PAGE_BITS) - 1);
		page = bpf_map_lookup_elem(table, &key);
		if (!page)
			return false;
		uint32_t below =
			count_rows(page, first, n, offset & ((1 << VMOP_UNWIND_BLOCK_BITS) - 1));
		if (below)
			rule = page->rows[(first + below - 1) & (VMOP_BPF_PAGE_ROWS - 1)] &
			       VMOP_BPF_NO_RULE;
	}
	if (rule == VMOP_BPF_NO_RULE)
		return true;
	key = rule_page + rule / VMOP_BPF_PAGE_RULES;
	page = bpf_map_lookup_elem(table, &key);
	if (!page)
		return false;
	*ret = page->rules[rule & (VMOP_BPF_PAGE_RULES - 1)].rule;
	return true;
}

/* Go on at a return address, if it is in code. */
static __always_inline uint32_t enter_caller(struct walk *walk, uint64_t address, bool is_signed)
{
	if (!find_caller(walk, &address, is_signed))
		return GIVE_UP(VMOP_BPF_NO_CODE);
	walk->pc = address;
	walk->is_interrupted = walk->is_innermost = false;
	walk->knows_link = false;
	return GOES_ON;
}

/* Step by the frame that the kernel made for a signal. */
static __always_inline uint32_t step_by_signal_frame(struct walk *walk)
{
	uint64_t sp = walk->sp, pc, interrupted_sp;
	if (!walk->knows_sp)
		return GIVE_UP(VMOP_BPF_NO_RULE_HERE);
	if (!read_word(sp + SIGNAL_PC, &pc) || !read_word(sp + SIGNAL_SP, &interrupted_sp) ||
	    !read_word(sp + SIGNAL_FP, &walk->fp) ||
	    (HAS_LINK && !read_word(sp + SIGNAL_LINK, &walk->link)))
		return GIVE_UP(VMOP_BPF_NO_MEMORY);
	/* The interrupted code is above the handler, or on another stack. */
	if (interrupted_sp - walk->innermost_sp <= sp - walk->innermost_sp)
		return GIVE_UP(VMOP_BPF_NO_PROGRESS);
	if (!find_piece(walk, pc))
		return GIVE_UP(VMOP_BPF_NO_CODE);
	walk->pc = pc;
	walk->sp = walk->floor = interrupted_sp;
	walk->knows_fp = true;
	walk->knows_link = HAS_LINK;
	walk->is_interrupted = true;
	walk->is_innermost = walk->is_by_fp = false;
	return GOES_ON;
}

static __always_inline bool is_trampoline(const struct walk *walk)
{
	return !walk->is_interrupted && walk->knows_sp && is_signal_frame(walk->sp);
}

/*
 * Step out of an interrupted leaf function without a frame: step_by_link in libstack/unwind.c.
 * Return false if it is no such function.
 */
static __always_inline bool step_by_link(struct walk *walk)
{
	uint64_t saved, link = walk->link;
	if (!HAS_LINK || !walk->is_interrupted || !walk->knows_link || !link)
		return false;
	if (link - walk->piece.start < walk->piece.end - walk->piece.start)
		return false;
	if (walk->fp >= walk->floor && read_word(walk->fp + 8, &saved) && saved == link)
		return false;
	if (enter_caller(walk, link, true) != GOES_ON)
		return false;
	walk->is_by_fp = true;
	return true;
}

/* Step by the frame pointer, which points to the caller's frame pointer and return address. */
static __always_inline uint32_t step_by_frame_pointer(struct walk *walk)
{
	uint64_t fp = walk->fp, caller_fp, address;
	if (walk->is_by_fp && walk->knows_fp && fp == 0)
		return VMOP_STACK_COMPLETE;
	if (!walk->knows_fp || fp % 8 || fp < walk->floor)
		return GIVE_UP(VMOP_BPF_NO_RULE_HERE);
	if (!read_word(fp, &caller_fp) || !read_word(fp + 8, &address))
		return GIVE_UP(VMOP_BPF_NO_MEMORY);
	/* A chain ends with a record of zeros. */
	if (walk->is_by_fp && caller_fp == 0 && address == 0)
		return VMOP_STACK_COMPLETE;
	walk->fp = caller_fp;
	walk->knows_sp = RECORD_IS_AT_END;
	walk->sp = fp + 16;
	walk->floor = RECORD_IS_AT_END ? fp + 16 : fp + 8;
	walk->is_by_fp = true;
	return enter_caller(walk, address, true);
}

static __always_inline uint32_t step_without_cfi(struct walk *walk)
{
	if (is_trampoline(walk))
		return step_by_signal_frame(walk);
	if (step_by_link(walk))
		return GOES_ON;
	return step_by_frame_pointer(walk);
}

/* Set *ret to the value of a register in the frame. False: it is not known. */
static __always_inline bool find_register(const struct walk *walk, uint8_t number, uint64_t *ret)
{
	if (number == SP) {
		*ret = walk->sp;
		return walk->knows_sp;
	}
	if (number == FP) {
		*ret = walk->fp;
		return walk->knows_fp;
	}
	*ret = walk->scratch->regs[number & (N_REGISTERS - 1)];
	return walk->is_innermost;
}

/* Find the frame address where the stack pointer is not known: libstack/unwind.c. */
static __always_inline bool find_cfa_by_record(const struct walk *walk,
					       const struct vmop_unwind_rule *rule, uint64_t *ret)
{
	*ret = walk->fp - (uint64_t)(int64_t)rule->fp_offset;
	return rule->cfa_register == SP && rule->kind == VMOP_UNWIND_REGISTER &&
	       rule->fp_saved == VMOP_UNWIND_AT_CFA && rule->ra_saved == VMOP_UNWIND_AT_CFA &&
	       (int64_t)rule->ra_offset - rule->fp_offset == 8 && walk->knows_fp;
}

static __always_inline uint32_t find_cfa(const struct walk *walk,
					 const struct vmop_unwind_rule *rule, uint64_t *ret)
{
	uint64_t base, offset = (uint64_t)(int64_t)rule->cfa_offset;
	bool is_plt = rule->kind == VMOP_UNWIND_PLT;
	if (!find_register(walk, is_plt ? SP : rule->cfa_register, &base))
		return find_cfa_by_record(walk, rule, ret) ? GOES_ON
							   : GIVE_UP(VMOP_BPF_NO_RULE_HERE);
	*ret = base + offset;
	if (is_plt)
		*ret = base + 8 + ((walk->pc & 15) >= offset ? 8 : 0);
	if (rule->kind != VMOP_UNWIND_DEREF)
		return GOES_ON;
	if (!read_word(base + offset, ret))
		return GIVE_UP(VMOP_BPF_NO_MEMORY);
	*ret += (uint64_t)(int64_t)rule->cfa_addend;
	return GOES_ON;
}

/*
 * Find the place in memory of a saved register. False: it is not in memory, as below the stack
 * pointer in an epilogue.
 */
static __always_inline bool find_saved(const struct walk *walk, uint8_t saved, int32_t offset,
				       uint64_t cfa, uint64_t *ret)
{
	*ret = (uint64_t)(int64_t)offset;
	if (saved == VMOP_UNWIND_AT_FP) {
		*ret += walk->fp;
		return walk->knows_fp;
	}
	*ret += cfa;
	return saved == VMOP_UNWIND_AT_CFA && !(walk->knows_sp && *ret < walk->sp);
}

static __always_inline uint32_t find_return_address(const struct walk *walk,
						    const struct vmop_unwind_rule *rule,
						    uint64_t cfa, uint64_t *ret)
{
	uint64_t place;
	if (find_saved(walk, rule->ra_saved, rule->ra_offset, cfa, &place))
		return read_word(place, ret) ? GOES_ON : GIVE_UP(VMOP_BPF_NO_MEMORY);
	*ret = walk->link;
	return walk->knows_link && rule->ra_saved <= VMOP_UNWIND_AT_CFA
		       ? GOES_ON
		       : GIVE_UP(VMOP_BPF_NO_RULE_HERE);
}

static __always_inline void find_frame_pointer(struct walk *walk,
					       const struct vmop_unwind_rule *rule, uint64_t cfa)
{
	uint64_t place;
	if (find_saved(walk, rule->fp_saved, rule->fp_offset, cfa, &place))
		walk->knows_fp = read_word(place, &walk->fp);
	else if (rule->fp_saved >= VMOP_UNWIND_AT_FP)
		walk->knows_fp = false;
}

static __always_inline uint32_t step_by_rule(struct walk *walk, const struct vmop_unwind_rule *rule)
{
	uint64_t cfa, address;
	uint32_t end = find_cfa(walk, rule, &cfa);
	if (end != GOES_ON)
		return end;
	bool is_leaf = walk->is_interrupted && rule->ra_saved == VMOP_UNWIND_SAME;
	if (cfa < walk->floor || (cfa == walk->floor && !is_leaf))
		return GIVE_UP(VMOP_BPF_NO_PROGRESS);
	end = find_return_address(walk, rule, cfa, &address);
	if (end != GOES_ON)
		return end;
	find_frame_pointer(walk, rule, cfa);
	walk->sp = walk->floor = cfa;
	walk->knows_sp = true;
	walk->is_by_fp = false;
	return enter_caller(walk, address, rule->ra_is_signed);
}

static __always_inline uint32_t step_by_table(struct walk *walk)
{
	struct vmop_unwind_rule rule = {};
	uint64_t code = walk->pc - !walk->is_interrupted;
	if (!find_rule(walk, code - walk->piece.start + walk->piece.offset, &rule))
		return GIVE_UP(VMOP_BPF_NO_TABLE);
	switch (rule.kind) {
	case VMOP_UNWIND_REGISTER:
	case VMOP_UNWIND_DEREF:
	case VMOP_UNWIND_PLT:
		return step_by_rule(walk, &rule);
	case VMOP_UNWIND_SIGNAL:
		return step_by_signal_frame(walk);
	case VMOP_UNWIND_END:
		return VMOP_STACK_COMPLETE;
	default:
		return is_trampoline(walk) ? step_by_signal_frame(walk)
					   : GIVE_UP(VMOP_BPF_NO_RULE_HERE);
	}
}

/* Note the frame and find its caller: the body of bpf_loop. Return 1 at the end of the stack. */
static long step(uint32_t i, void *arg)
{
	struct walk *walk = arg;
	uint32_t at = i & (VMOP_BPF_MAX_FRAMES - 1);
	walk->scratch->frames[at] =
		walk->pc | (i && walk->is_interrupted ? VMOP_USER_FRAME_INTERRUPTED : 0);
	walk->n_frames = at + 1;
	walk->end = walk->piece.table == VMOP_UNWIND_NO_TABLE ? step_without_cfi(walk)
							      : step_by_table(walk);
	return walk->end != GOES_ON;
}

/* Set the walk to the user registers of the task. False: it has none of a 64-bit program. */
static __always_inline bool begin(struct bpf_perf_event_data *ctx, struct walk *walk)
{
	struct scratch *scratch = walk->scratch;
	if (is_in_user_mode(ctx)) {
		if (!are_of_program(&ctx->regs))
			return false;
		COPY_REGISTERS(&ctx->regs, scratch->regs);
		/* A load from ctx that the compiler shares with the other branch is refused. */
		barrier();
	} else {
		task_regs *regs = &scratch->saved_regs;
		uint64_t at = (uint64_t)bpf_task_pt_regs(bpf_get_current_task_btf());
		if (!at || are_being_saved(ctx, at) ||
		    bpf_probe_read_kernel(regs, sizeof(*regs), (const void *)at) ||
		    !are_of_program(regs))
			return false;
		COPY_REGISTERS(regs, scratch->regs);
	}
	walk->pc = scratch->regs[PC];
	walk->sp = walk->floor = walk->innermost_sp = scratch->regs[SP];
	walk->fp = scratch->regs[FP];
	walk->link = HAS_LINK ? scratch->regs[LINK] : 0;
	walk->knows_sp = walk->knows_fp = walk->is_interrupted = walk->is_innermost = true;
	walk->knows_link = HAS_LINK;
	return true;
}

/*
 * Unwind the user stack of the current task into the CPU's scratch. Return an enum
 * vmop_bpf_outcome; with VMOP_BPF_UNWOUND, *ret_bytes bytes from scratch->stack on are the record.
 */
static __always_inline uint32_t unwind(struct bpf_perf_event_data *ctx, struct scratch *scratch,
				       uint32_t *ret_bytes)
{
	uint32_t pid = bpf_get_current_pid_tgid() >> 32;
	uint64_t cookie = bpf_get_attach_cookie(ctx);
	uint32_t max_frames = cookie >> VMOP_BPF_COOKIE_FRAMES_SHIFT & VMOP_BPF_COOKIE_FRAMES_MASK;
	const struct vmop_bpf_process *process = bpf_map_lookup_elem(&processes, &pid);
	if (!process)
		return VMOP_BPF_NO_PROCESS;
	uint64_t generation = process->generation;
	struct walk walk = {
		.scratch = scratch,
		.first = process->first,
		.n_mappings = process->n,
	};
	if (!begin(ctx, &walk))
		return VMOP_BPF_NO_REGISTERS;
	if (!find_piece(&walk, walk.pc))
		return VMOP_BPF_NO_CODE;
	/* The limit is one of callers, and the code that runs in user mode is none. */
	bpf_loop(max_frames + is_in_user_mode(ctx), step, &walk, 0);
	if (GAVE_UP(walk.end))
		return walk.end & 0xff;
	/* The mappings may have been reused while they were read: then the process has others. */
	process = bpf_map_lookup_elem(&processes, &pid);
	if (!process || process->generation != generation)
		return VMOP_BPF_CHANGED;
	uint32_t n = walk.n_frames;
	if (n > VMOP_BPF_MAX_FRAMES)
		return VMOP_BPF_NOT_WRITTEN;
	scratch->stack.kind = VMOP_BPF_HOST_STACK;
	scratch->stack.event = cookie & VMOP_BPF_COOKIE_EVENT_MASK;
	scratch->stack.end = walk.end == GOES_ON ? VMOP_STACK_DEPTH_LIMIT : walk.end;
	scratch->stack.n_frames = n;
	scratch->stack.reserved = 0;
	scratch->stack.period_events = ctx->sample_period;
	scratch->stack.generation = generation;
	*ret_bytes = sizeof(scratch->stack) + n * sizeof(scratch->frames[0]);
	return VMOP_BPF_UNWOUND;
}

#endif
