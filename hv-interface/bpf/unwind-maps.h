// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's copy of unwind tables and address spaces, by which a BPF program on the sampling
 * event finds the callers of user code (--callgraph=bpf). daemon/stack fills it, the perf source
 * owns it (vmop_source_unwind_maps).
 *
 * The program reports only stacks that it has unwound to their end, or to the depth limit. All
 * others reach the daemon as a copy of the user stack, as with --callgraph=cfi, so that one place
 * decides why a stack ends. An empty map therefore costs time and no stack.
 *
 * Bounds: a full map refuses what does not fit (false), and these stacks are copied.
 */
#ifndef VMOP_HV_INTERFACE_BPF_UNWIND_MAPS_H
#define VMOP_HV_INTERFACE_BPF_UNWIND_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmop_unwind_maps;

/* How to find the caller's frame; a subset of struct vmop_cfi_rule in libstack/table.h. */
enum vmop_unwind_kind {
	VMOP_UNWIND_COPY = 0,	  /* not by the program: copy the stack */
	VMOP_UNWIND_REGISTER = 1, /* CFA = register + cfa_offset */
	VMOP_UNWIND_DEREF = 2,	  /* CFA = *(register + cfa_offset) + cfa_addend */
	VMOP_UNWIND_PLT = 3,	  /* CFA = rsp + 8 + ((rip & 15) >= cfa_offset ? 8 : 0) */
	VMOP_UNWIND_SIGNAL = 4,	  /* a signal trampoline */
	VMOP_UNWIND_END = 5,	  /* the outermost frame */
};

/* Where the caller's frame pointer or return address is. */
enum vmop_unwind_saved {
	VMOP_UNWIND_SAME = 0,	/* still in the register */
	VMOP_UNWIND_AT_CFA = 1, /* in memory, at CFA + offset */
	VMOP_UNWIND_AT_FP = 2,	/* in memory, at the frame pointer + offset */
	VMOP_UNWIND_LOST = 3,	/* nowhere */
};

struct vmop_unwind_rule {
	uint8_t kind;	      /* enum vmop_unwind_kind */
	uint8_t cfa_register; /* DWARF number; others than the stack's and frame's only innermost */
	uint8_t fp_saved, ra_saved; /* enum vmop_unwind_saved */
	int32_t cfa_offset, cfa_addend;
	int32_t fp_offset, ra_offset;
	uint32_t ra_is_signed; /* arm64: 1 if the return address has an authentication code */
};

/* Bits of an offset in the text below those that select a block of rows. */
#define VMOP_UNWIND_BLOCK_BITS 10
/* A row: the offset in its block above VMOP_UNWIND_RULE_BITS of the rule's index. */
#define VMOP_UNWIND_RULE_BITS 22

/*
 * A table. Rows are in the order of their offsets; a row's rule holds up to the next row, also
 * across blocks. blocks[i]..blocks[i + 1] are the rows in the block of offset >>
 * VMOP_UNWIND_BLOCK_BITS == first_block + i.
 */
struct vmop_unwind_table {
	uint64_t first_block;
	size_t n_blocks, n_rows, n_rules;
	const uint32_t *blocks; /* n_blocks + 1 */
	const uint32_t *rows;
	const struct vmop_unwind_rule *rules;
};

/*
 * Copy a table into the kernel, as number table < vmop_unwind_maps_facts().max_tables, in place of
 * an earlier one. Takes up to tens of ms, because it waits until the program no longer reads the
 * earlier one: not for the sampling thread. Any thread, several at a time for different numbers.
 */
bool vmop_unwind_maps_put_table(struct vmop_unwind_maps *maps, uint32_t table,
				const struct vmop_unwind_table *content);

/* Remove a table, which may be absent. As slow as vmop_unwind_maps_put_table. Any thread. */
void vmop_unwind_maps_remove_table(struct vmop_unwind_maps *maps, uint32_t table);

/* Has no table: the program follows frame pointers, into executable mappings only. */
#define VMOP_UNWIND_NO_TABLE UINT32_MAX
/* The table is absent or being built: the stack is copied. */
#define VMOP_UNWIND_NOT_YET (UINT32_MAX - 1)

/* An executable mapping. */
struct vmop_unwind_mapping {
	uint64_t start, end;
	uint64_t offset; /* of start, in the table's terms */
	uint32_t table;
	uint32_t reserved; /* 0 */
};

/*
 * Give the program the executable mappings of a process (of the initial pid namespace), sorted and
 * disjoint, in place of earlier ones. Stacks that the program finds by them carry generation, which
 * is not 0 (vmop_stack_capture.user_generation). Takes microseconds. Sampling thread.
 */
bool vmop_unwind_maps_put_process(struct vmop_unwind_maps *maps, uint32_t pid, uint64_t generation,
				  const struct vmop_unwind_mapping *mappings, size_t n);

/* Forget a process, which may be unknown. Sampling thread. */
void vmop_unwind_maps_remove_process(struct vmop_unwind_maps *maps, uint32_t pid);

struct vmop_unwind_maps_facts {
	uint32_t max_tables;
	uint32_t n_tables, n_processes;
	size_t table_bytes; /* of the kernel's memory */
	size_t n_mappings;
	uint64_t n_refused; /* tables and processes that did not fit */
	/* Samples since the start: unwound in the kernel, of which some found the ring full; and
	 * copied. */
	uint64_t n_unwound, n_copied;
};
/* Any thread. */
void vmop_unwind_maps_facts(const struct vmop_unwind_maps *maps,
			    struct vmop_unwind_maps_facts *ret);

#endif
