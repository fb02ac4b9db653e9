// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/unwind.h"

#include <elf.h>
#include <stdlib.h>

#include "libstack/entry-step.h"
#include "libstack/frame.h"

/* A step's result: it found the caller. Every other value ends the stack. */
#define GOES_ON VMOP_STACK_END_UNKNOWN

enum {
	N_PIECES = 4, /* pieces of code that a walk remembers */
	/* No stack is larger: an address farther above the copy is not one of the stack's. */
	LARGEST_STACK_BYTES = 1 << 30,
	/*
	 * A copy that is shorter than asked ended at a page that is not present: the end of the
	 * mapping, or the untouched part of a large array, which the stack goes on behind.
	 */
	LARGEST_HOLE_BYTES = 1 << 20,
};

/*
 * Rules that were found before: of return addresses and of interrupted instructions. There are few
 * of the former, and the latter may not displace them.
 */
enum {
	RETURN_SLOT_BITS = 12,
	INTERRUPTED_SLOT_BITS = 10,
	MEMO_SLOTS = (1 << RETURN_SLOT_BITS) + (1 << INTERRUPTED_SLOT_BITS),
	MEMO_OFFSET_BITS = 40, /* of the keys */
};

/* The rule of an offset of a table. Two lie in a cache line. */
struct known_rule {
	uint64_t key; /* the table's serial number, above the offset; 0: none */
	struct vmop_cfi_rule rule;
};

/*
 * Stacks have few distinct return addresses, whose rules lie far apart in the tables: keeping them
 * side by side saves some cache misses a frame.
 */
struct vmop_unwinder {
	const struct vmop_machine *machine;
	struct known_rule memo[MEMO_SLOTS];
};

/* One unwinding. */
struct walk {
	const struct vmop_machine *machine;
	struct known_rule *memo;
	size_t entry_bytes; /* CFI that steps by raw entries may still read */
	const struct vmop_code_space *space;
	struct vmop_stack_copy copy;
	struct vmop_frame frame;
	const struct vmop_code_piece *piece; /* of the frame's code */
	bool is_elsewhere; /* a signal handler ran on a stack of its own: frame is not in copy */
	struct vmop_unwound *unwound;
	struct vmop_code_piece pieces[N_PIECES];
	unsigned n_pieces; /* counts on: the oldest piece is replaced, but never the frame's */
};

static bool contains(const struct vmop_code_piece *piece, uint64_t address)
{
	return address - piece->start < piece->end - piece->start;
}

/* Find the mapping of a user address, first among those that the walk has met. */
static const struct vmop_code_piece *find_piece(struct walk *walk, uint64_t address)
{
	if (address >> 63)
		return NULL; /* the kernel's half, or the vsyscall page */
	if (walk->piece && contains(walk->piece, address))
		return walk->piece;
	for (unsigned i = 0; i < N_PIECES; i++) {
		if (contains(&walk->pieces[i], address))
			return &walk->pieces[i];
	}
	if (&walk->pieces[walk->n_pieces % N_PIECES] == walk->piece)
		walk->n_pieces++;
	struct vmop_code_piece *piece = &walk->pieces[walk->n_pieces % N_PIECES];
	*piece = (struct vmop_code_piece){0};
	if (!walk->space->find(walk->space->arg, address, piece) || !contains(piece, address)) {
		*piece = (struct vmop_code_piece){0};
		return NULL;
	}
	walk->n_pieces++;
	return piece;
}

/*
 * Find the mapping of the code that returns to *address, and remove a pointer authentication code
 * from *address: it is above the 48 or 52 bits of user addresses.
 */
static const struct vmop_code_piece *find_caller(struct walk *walk, uint64_t *address,
						 bool may_be_signed)
{
	static const unsigned user_bits[] = {48, 52};
	const struct vmop_code_piece *piece = find_piece(walk, *address - 1);
	if (piece || !may_be_signed || !walk->machine->signs_addresses)
		return piece;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t stripped = *address & ((UINT64_C(1) << user_bits[i]) - 1);
		piece = stripped ? find_piece(walk, stripped - 1) : NULL;
		if (piece) {
			*address = stripped;
			return piece;
		}
	}
	return NULL;
}

/* Return how a stack ends that needs the word at address, which is not in the copy. */
static enum vmop_stack_end end_outside(const struct walk *walk, uint64_t address)
{
	const struct vmop_stack_copy *copy = &walk->copy;
	uint64_t reach = copy->is_full ? LARGEST_STACK_BYTES : LARGEST_HOLE_BYTES;
	if (walk->is_elsewhere || address - copy->start < copy->len_bytes + reach)
		return VMOP_STACK_COPY_SHORT;
	return VMOP_STACK_TORN;
}

static bool read_word(const struct walk *walk, uint64_t address, uint64_t *ret)
{
	return vmop_stack_copy_read(&walk->copy, address, ret);
}

/* Return how a stack ends whose next return address is not in code. */
static enum vmop_stack_end end_without_code(const struct walk *walk)
{
	return walk->frame.is_by_fp ? VMOP_STACK_NO_CFI : VMOP_STACK_TORN;
}

static bool is_entry(const struct walk *walk, uint64_t offset)
{
	return vmop_cfi_table_is_entry(walk->piece->table, offset);
}

static uint64_t code_address(const struct walk *walk)
{
	return vmop_frame_code_address(&walk->frame, walk->machine->pc);
}

/* Return the address's offset in the terms of the piece's table. */
static uint64_t table_offset(const struct walk *walk, uint64_t address)
{
	return address - walk->piece->start + walk->piece->offset;
}

/*
 * Return how a stack ends at a return address of 0. The outermost functions of most programs have
 * CFI that ends the stack there: `_start`, and `clone` in a new thread. In other functions,
 * something has overwritten the address. A chain of frame pointers ends with a record of zeros.
 */
static enum vmop_stack_end end_at_zero(const struct walk *walk, const struct vmop_frame *caller)
{
	unsigned fp = walk->machine->fp;
	bool is_end_of_chain =
		walk->frame.is_by_fp && vmop_frame_knows(caller, fp) && caller->regs[fp] == 0;
	bool is_marked = walk->piece->state == VMOP_CODE_HAS_TABLE &&
			 vmop_cfi_table_ends_with_zero(walk->piece->table);
	return is_end_of_chain || is_marked ? VMOP_STACK_COMPLETE : end_without_code(walk);
}

/* Go on with a frame whose registers are complete, if its return address is in code. */
static enum vmop_stack_end enter_caller(struct walk *walk, struct vmop_frame *caller,
					bool is_signed)
{
	uint64_t *pc = &caller->regs[walk->machine->pc];
	if (*pc == 0)
		return end_at_zero(walk, caller);
	const struct vmop_code_piece *piece = find_caller(walk, pc, is_signed);
	if (!piece)
		return end_without_code(walk);
	walk->frame = *caller;
	walk->piece = piece;
	return GOES_ON;
}

/*
 * Find the frame address where the stack pointer is unknown, after a step by frame pointers: a
 * function that saved the frame pointer and the return address side by side points to them.
 */
static enum vmop_stack_end cfa_from_record(const struct walk *walk,
					   const struct vmop_cfi_rule *rule, uint64_t *ret)
{
	const struct vmop_machine *machine = walk->machine;
	if (rule->cfa_register != machine->sp || rule->kind != VMOP_CFI_REGISTER ||
	    rule->fp_saved != VMOP_CFI_AT_CFA || rule->ra_saved != VMOP_CFI_AT_CFA ||
	    rule->ra_offset - (int64_t)rule->fp_offset != 8 ||
	    !vmop_frame_knows(&walk->frame, machine->fp))
		return VMOP_STACK_NO_CFI;
	*ret = walk->frame.regs[machine->fp] - (uint64_t)(int64_t)rule->fp_offset;
	return GOES_ON;
}

static enum vmop_stack_end find_cfa(const struct walk *walk, const struct vmop_cfi_rule *rule,
				    uint64_t *ret)
{
	const struct vmop_frame *frame = &walk->frame;
	unsigned base = rule->kind == VMOP_CFI_PLT ? walk->machine->sp : rule->cfa_register;
	if (!vmop_frame_knows(frame, base))
		return cfa_from_record(walk, rule, ret);
	uint64_t offset = (uint64_t)(int64_t)rule->cfa_offset, cell = frame->regs[base] + offset;
	switch (rule->kind) {
	case VMOP_CFI_PLT:
		*ret = frame->regs[base] + 8 +
		       ((frame->regs[walk->machine->pc] & 15) >= offset ? 8 : 0);
		return GOES_ON;
	case VMOP_CFI_DEREF:
		if (!read_word(walk, cell, ret))
			return end_outside(walk, cell);
		*ret += (uint64_t)(int64_t)rule->cfa_addend;
		return GOES_ON;
	default:
		*ret = cell;
		return GOES_ON;
	}
}

/*
 * Find the address at which a register is saved. False: it is not in memory. A place below the
 * stack pointer is free: in an epilogue, CFI still describes registers that were just popped.
 */
static bool find_saved(const struct walk *walk, uint8_t saved, int32_t offset, uint64_t cfa,
		       uint64_t *ret)
{
	const struct vmop_machine *machine = walk->machine;
	const struct vmop_frame *frame = &walk->frame;
	*ret = (uint64_t)(int64_t)offset;
	if (saved == VMOP_CFI_AT_FP) {
		*ret += frame->regs[machine->fp];
		return vmop_frame_knows(frame, machine->fp);
	}
	*ret += cfa;
	return saved == VMOP_CFI_AT_CFA &&
	       !(vmop_frame_knows(frame, machine->sp) && *ret < frame->regs[machine->sp]);
}

static enum vmop_stack_end find_return_address(const struct walk *walk,
					       const struct vmop_cfi_rule *rule, uint64_t cfa,
					       uint64_t *ret)
{
	uint64_t place;
	if (find_saved(walk, rule->ra_saved, rule->ra_offset, cfa, &place))
		return read_word(walk, place, ret) ? GOES_ON : end_outside(walk, place);
	if (rule->ra_saved == VMOP_CFI_LOST || rule->ra_saved == VMOP_CFI_AT_FP)
		return VMOP_STACK_NO_CFI;
	if (!vmop_frame_knows(&walk->frame, walk->machine->link))
		return VMOP_STACK_TORN; /* it made a call, and its own return address is lost */
	*ret = walk->frame.regs[walk->machine->link];
	return GOES_ON;
}

/* Set the caller's value of a register. It stays unknown where it can't be found. */
static void find_register(const struct walk *walk, unsigned reg, uint8_t saved, int32_t offset,
			  uint64_t cfa, struct vmop_frame *caller)
{
	uint64_t place, bit = UINT64_C(1) << reg;
	if (saved == VMOP_CFI_LOST)
		return;
	if (find_saved(walk, saved, offset, cfa, &place)) {
		if (read_word(walk, place, &caller->regs[reg]))
			caller->known |= bit;
	} else if (saved != VMOP_CFI_AT_FP) {
		caller->regs[reg] = walk->frame.regs[reg];
		caller->known |= walk->frame.known & bit;
	}
}

/* Return whether the caller's frame is above: a leaf function may have no frame of its own. */
static bool moves_up(const struct walk *walk, const struct vmop_cfi_rule *rule, uint64_t cfa)
{
	bool is_leaf = walk->frame.is_interrupted && rule->ra_saved == VMOP_CFI_SAME;
	return cfa > walk->frame.floor || (is_leaf && cfa == walk->frame.floor);
}

static enum vmop_stack_end step_by_rule(struct walk *walk, const struct vmop_cfi_rule *rule)
{
	const struct vmop_machine *machine = walk->machine;
	uint64_t cfa, address;
	enum vmop_stack_end end = find_cfa(walk, rule, &cfa);
	if (end != GOES_ON)
		return end;
	if (!moves_up(walk, rule, cfa))
		return end_without_code(walk);
	end = find_return_address(walk, rule, cfa, &address);
	if (end != GOES_ON)
		return end;
	struct vmop_frame caller;
	caller.known = UINT64_C(1) << machine->sp | UINT64_C(1) << machine->pc;
	caller.floor = caller.regs[machine->sp] = cfa;
	caller.regs[machine->pc] = address;
	caller.is_interrupted = caller.is_by_fp = false;
	/* Few callers need these two. */
	find_register(walk, machine->fp, rule->fp_saved, rule->fp_offset, cfa, &caller);
	if (machine->extra != VMOP_NO_REGISTER)
		find_register(walk, machine->extra, rule->extra_saved, rule->extra_offset, cfa,
			      &caller);
	return enter_caller(walk, &caller, rule->ra_is_signed);
}

/* Step by the frame that the kernel made for a signal: all registers are in it. */
static enum vmop_stack_end step_by_signal_frame(struct walk *walk)
{
	const struct vmop_machine *machine = walk->machine;
	struct vmop_frame interrupted = {.is_interrupted = true};
	if (!vmop_frame_knows(&walk->frame, machine->sp))
		return VMOP_STACK_NO_CFI;
	uint64_t sp = walk->frame.regs[machine->sp];
	for (unsigned i = 0; i < machine->n_regs; i++) {
		uint64_t place = sp + machine->signal_regs[i];
		if (!read_word(walk, place, &interrupted.regs[i]))
			return end_outside(walk, place);
	}
	interrupted.known = (UINT64_C(1) << machine->n_regs) - 1;
	interrupted.floor = interrupted.regs[machine->sp];
	uint64_t offset = interrupted.floor - walk->copy.start;
	if (offset < walk->copy.len_bytes && interrupted.floor <= sp)
		return VMOP_STACK_TORN;
	walk->piece = find_piece(walk, interrupted.regs[machine->pc]);
	if (!walk->piece)
		return VMOP_STACK_TORN;
	walk->is_elsewhere |= offset >= walk->copy.len_bytes;
	walk->frame = interrupted;
	return GOES_ON;
}

/* Return how the stack ends if the frame pointer is not in the copy. */
static enum vmop_stack_end end_outside_fp(const struct walk *walk, uint64_t fp)
{
	bool is_chain = walk->frame.is_by_fp && fp > walk->frame.floor;
	return is_chain ? end_outside(walk, fp) : VMOP_STACK_NO_CFI;
}

/*
 * Step by the frame pointer, which points to the caller's frame pointer and the return address.
 * Code without CFI may use the register for something else: then it hardly ever points to an
 * address in code.
 */
static enum vmop_stack_end step_by_frame_pointer(struct walk *walk)
{
	const struct vmop_machine *machine = walk->machine;
	struct vmop_frame caller = {.is_by_fp = true};
	uint64_t fp = walk->frame.regs[machine->fp], *regs = caller.regs;
	/* Both psABIs end the chain of frame pointers with 0, as at the start of goroutines. */
	if (walk->frame.is_by_fp && vmop_frame_knows(&walk->frame, machine->fp) && fp == 0)
		return VMOP_STACK_COMPLETE;
	if (!vmop_frame_knows(&walk->frame, machine->fp) || fp % 8 || fp < walk->frame.floor)
		return VMOP_STACK_NO_CFI;
	if (!read_word(walk, fp, &regs[machine->fp]) ||
	    !read_word(walk, fp + 8, &regs[machine->pc]))
		return end_outside_fp(walk, fp);
	caller.known = UINT64_C(1) << machine->fp | UINT64_C(1) << machine->pc;
	caller.floor = fp + 8;
	if (machine->record_is_at_end) {
		caller.known |= UINT64_C(1) << machine->sp;
		caller.floor = regs[machine->sp] = fp + 16;
	}
	walk->frame.is_by_fp = true; /* a bad address is the fault of the frame pointer */
	enum vmop_stack_end end = enter_caller(walk, &caller, true);
	walk->unwound->n_by_frame_pointer += end == GOES_ON;
	return end;
}

/* Return whether the frame is that of a signal trampoline, to which a handler returns. */
static bool is_trampoline(const struct walk *walk)
{
	const struct vmop_machine *machine = walk->machine;
	const struct vmop_frame *frame = &walk->frame;
	return !frame->is_interrupted && vmop_frame_knows(frame, machine->sp) &&
	       machine->is_signal_frame(&walk->copy, frame->regs[machine->sp]);
}

/* Return whether the frame pointer points to a frame record with that return address. */
static bool has_record(const struct walk *walk, uint64_t return_address)
{
	uint64_t fp = walk->frame.regs[walk->machine->fp], saved;
	return fp >= walk->frame.floor && read_word(walk, fp + 8, &saved) &&
	       saved == return_address;
}

/*
 * Step out of an interrupted leaf function without CFI and without a frame, as those of arm64's
 * vDSO are. The link register has its return address if that is in another mapping: after a call,
 * the register would have an address in the function itself. False: it is no such function.
 */
static bool step_by_link(struct walk *walk)
{
	const struct vmop_machine *machine = walk->machine;
	struct vmop_frame caller = walk->frame;
	if (!caller.is_interrupted || !vmop_frame_knows(&caller, machine->link))
		return false;
	uint64_t link = caller.regs[machine->link];
	if (contains(walk->piece, link) || has_record(walk, link))
		return false;
	caller.regs[machine->pc] = link;
	caller.known &= machine->callee_saved;
	caller.is_interrupted = false;
	caller.is_by_fp = true; /* a bad address does not show that the stack is torn */
	return link && enter_caller(walk, &caller, true) == GOES_ON;
}

/*
 * Step out of code without CFI: a trampoline of signals, a leaf function, or code that may use
 * frame pointers.
 */
static enum vmop_stack_end step_without_cfi(struct walk *walk)
{
	if (is_trampoline(walk))
		return step_by_signal_frame(walk);
	return step_by_link(walk) ? GOES_ON : step_by_frame_pointer(walk);
}

static enum vmop_stack_end step_by_entry(struct walk *walk, uint64_t offset)
{
	struct vmop_cfi_entry entry;
	struct vmop_frame caller = walk->frame;
	uint64_t fault;
	if (!vmop_cfi_table_entry(walk->piece->table, offset, &entry))
		return VMOP_STACK_NO_CFI;
	uint64_t bias = code_address(walk) - (offset + entry.address_minus_offset);
	if (!vmop_entry_step(walk->machine, &entry, bias, &walk->copy, &caller, &walk->entry_bytes,
			     &fault))
		return fault && end_outside(walk, fault) == VMOP_STACK_COPY_SHORT
			       ? VMOP_STACK_COPY_SHORT
			       : VMOP_STACK_NO_CFI;
	uint64_t sp = caller.regs[walk->machine->sp];
	/* As in vfork(2), which keeps its return address in a register. */
	bool is_leaf = walk->frame.is_interrupted && sp == walk->frame.floor;
	if (sp <= walk->frame.floor && !is_leaf)
		return VMOP_STACK_TORN;
	caller.floor = sp;
	enum vmop_stack_end end = enter_caller(walk, &caller, true);
	walk->unwound->n_by_expression += end == GOES_ON;
	return end;
}

static void find_in_table(const struct walk *walk, uint64_t offset, struct vmop_cfi_rule *ret)
{
	const struct vmop_cfi_table *table = walk->piece->table;
	uint64_t serial = vmop_cfi_table_serial(table);
	if (!serial || serial >> (64 - MEMO_OFFSET_BITS) || offset >> MEMO_OFFSET_BITS) {
		vmop_cfi_table_find(table, offset, ret);
		return;
	}
	uint64_t key = serial << MEMO_OFFSET_BITS | offset;
	uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);
	struct known_rule *known = walk->frame.is_interrupted
					   ? &walk->memo[(1 << RETURN_SLOT_BITS) +
							 (hash >> (64 - INTERRUPTED_SLOT_BITS))]
					   : &walk->memo[hash >> (64 - RETURN_SLOT_BITS)];
	if (known->key != key) {
		vmop_cfi_table_find(table, offset, &known->rule);
		known->key = key;
	}
	*ret = known->rule;
}

/*
 * Find the rule of the frame's instruction. The CFI of a trampoline may begin at the return address
 * itself, which no call has made.
 */
static void find_rule(const struct walk *walk, uint64_t offset, struct vmop_cfi_rule *ret)
{
	find_in_table(walk, offset, ret);
	if (ret->kind != VMOP_CFI_NONE || walk->frame.is_interrupted)
		return;
	vmop_cfi_table_find(walk->piece->table, offset + 1, ret);
	if (ret->kind != VMOP_CFI_SIGNAL)
		ret->kind = VMOP_CFI_NONE;
}

static enum vmop_stack_end step_by_table(struct walk *walk)
{
	struct vmop_cfi_rule rule;
	uint64_t offset = table_offset(walk, code_address(walk));
	enum vmop_stack_end end;
	find_rule(walk, offset, &rule);
	switch ((enum vmop_cfi_kind)rule.kind) {
	case VMOP_CFI_REGISTER:
	case VMOP_CFI_DEREF:
	case VMOP_CFI_PLT:
		end = step_by_rule(walk, &rule);
		break;
	case VMOP_CFI_SIGNAL:
		return step_by_signal_frame(walk);
	case VMOP_CFI_END:
		return VMOP_STACK_COMPLETE;
	case VMOP_CFI_EXPRESSION:
		return step_by_entry(walk, offset);
	default:
		if (is_entry(walk, offset))
			return VMOP_STACK_COMPLETE;
		if (vmop_cfi_table_is_partial(walk->piece->table) && !is_trampoline(walk))
			return VMOP_STACK_UNREADABLE;
		return step_without_cfi(walk);
	}
	if (end != VMOP_STACK_TORN)
		return end;
	/* A trampoline without CFI may lie close behind a function, whose last rule is found. */
	if (is_trampoline(walk))
		return step_by_signal_frame(walk);
	/* Not every entry point has CFI that ends the stack there. */
	return is_entry(walk, offset) ? VMOP_STACK_COMPLETE : end;
}

/* Replace the walk's frame by its caller's, or return how the stack ends. */
static enum vmop_stack_end step(struct walk *walk)
{
	switch (walk->piece->state) {
	case VMOP_CODE_HAS_TABLE:
		return step_by_table(walk);
	case VMOP_CODE_PENDING:
		walk->unwound->pending_address = code_address(walk);
		return VMOP_STACK_TABLE_LATE;
	case VMOP_CODE_UNREADABLE:
		return VMOP_STACK_UNREADABLE;
	default:
		return step_without_cfi(walk);
	}
}

/* Begin at the captured registers. */
static enum vmop_stack_end begin(struct walk *walk, const struct vmop_stack_capture *capture)
{
	const struct vmop_machine *machine = walk->machine;
	struct vmop_frame *frame = &walk->frame;
	memcpy(frame->regs, capture->user_regs, machine->n_regs * sizeof(frame->regs[0]));
	frame->known = (UINT64_C(1) << machine->n_regs) - 1;
	frame->floor = frame->regs[machine->sp];
	frame->is_interrupted = true;
	frame->is_by_fp = false;
	walk->copy = (struct vmop_stack_copy){
		.bytes = capture->user_stack,
		.len_bytes = capture->user_stack ? capture->user_stack_bytes : 0,
		.start = frame->floor,
		.is_full = capture->user_stack_bytes >= capture->user_stack_asked_bytes,
	};
	if (capture->is_compat)
		return VMOP_STACK_NO_CFI;
	walk->piece = find_piece(walk, frame->regs[machine->pc]);
	return walk->piece ? GOES_ON : VMOP_STACK_TORN;
}

void vmop_unwind(struct vmop_unwinder *unwinder, const struct vmop_code_space *space,
		 const struct vmop_stack_capture *capture, struct vmop_stack_frame *frames,
		 size_t max_frames, struct vmop_unwound *ret)
{
	struct walk walk;
	*ret = (struct vmop_unwound){0};
	walk.machine = unwinder->machine;
	walk.memo = unwinder->memo;
	walk.entry_bytes = VMOP_ENTRY_STEP_BYTES;
	walk.space = space;
	walk.piece = NULL;
	walk.is_elsewhere = false;
	walk.unwound = ret;
	walk.n_pieces = 0;
	memset(walk.pieces, 0, sizeof(walk.pieces));
	enum vmop_stack_end end = begin(&walk, capture);
	for (;;) {
		frames[ret->n_frames++] = (struct vmop_stack_frame){
			.address = walk.frame.regs[walk.machine->pc],
			.is_interrupted = walk.frame.is_interrupted,
			.mapping = walk.piece ? walk.piece->mapping : NULL,
		};
		if (end == GOES_ON)
			end = step(&walk);
		if (end == GOES_ON && ret->n_frames >= max_frames)
			end = VMOP_STACK_DEPTH_LIMIT;
		if (end != GOES_ON)
			break;
	}
	ret->end = end;
}

struct vmop_error *vmop_unwinder_create(uint16_t machine, struct vmop_unwinder **ret)
{
	*ret = NULL;
	if (machine != EM_X86_64 && machine != EM_AARCH64)
		return vmop_error_new(
			VMOP_ERROR_CANT,
			"call stacks of machine %u can't be unwound: only x86-64 and arm64",
			machine);
	struct vmop_unwinder *unwinder = calloc(1, sizeof(*unwinder));
	if (!unwinder)
		return &vmop_error_no_memory;
	unwinder->machine = machine == EM_X86_64 ? &vmop_machine_x86_64 : &vmop_machine_arm64;
	*ret = unwinder;
	return NULL;
}

void vmop_unwinder_destroy(struct vmop_unwinder *unwinder)
{
	free(unwinder);
}
