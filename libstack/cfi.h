// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The records of .eh_frame (Linux Standard Base 5, section 10.6) and .debug_frame (DWARF 5, section
 * 6.4.1): common information entries (CIE) and frame description entries (FDE). Their programs are
 * run by cfi-program.h. Sections are untrusted; every function takes time proportional to the bytes
 * of one record. Nothing is allocated.
 */
#ifndef VMOP_LIBSTACK_CFI_H
#define VMOP_LIBSTACK_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A larger record is damage: those of the largest functions have some hundred KiB. */
#define VMOP_CFI_MAX_RECORD_BYTES ((size_t)1 << 20)

/* Bytes of a section that could not be read: from start up to end. */
struct vmop_cfi_hole {
	size_t start, end;
};

struct vmop_cfi_section {
	const uint8_t *bytes; /* the caller's; zeros in holes */
	size_t len_bytes;
	struct vmop_cfi_hole *holes; /* the caller's: ascending, disjoint */
	size_t n_holes, hole_capacity;
	uint64_t address; /* ELF virtual address */
	bool is_debug_frame;
	uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
};

/* Where a record lies. Offsets count from the section's start. */
struct vmop_cfi_record {
	size_t offset, len_bytes; /* with its length field */
	size_t body;		  /* offset of the first byte after the CIE pointer */
	bool is_cie;
	bool is_missing;     /* part of it is in a hole: is_cie, body, cie_offset are not known */
	uint64_t cie_offset; /* of an FDE; unchecked */
};

struct vmop_cfi_cie {
	struct vmop_cfi_record record;
	uint64_t code_factor; /* of advances, in bytes */
	int64_t data_factor;  /* of saved registers' offsets, in bytes */
	uint64_t ra_column;   /* the return address's DWARF register */
	const uint8_t *program;
	size_t program_bytes;
	uint8_t pointer_encoding; /* of FDEs' addresses: DW_EH_PE_ */
	bool has_augmentation;	  /* FDEs have augmentation data */
	bool is_signal;		  /* signal trampolines */
};

struct vmop_cfi_fde {
	struct vmop_cfi_record record;
	uint64_t function_address, function_bytes; /* bytes are not 0; the sum may overflow */
	const uint8_t *program;
	size_t program_bytes;
};

/*
 * Read the record at *offset and set *offset to the next. False: there are no more, because of the
 * section's end, its terminator, a length that can't be right, or a length that lies in a hole.
 */
bool vmop_cfi_next_record(const struct vmop_cfi_section *section, size_t *offset,
			  struct vmop_cfi_record *ret);

/* Return whether a byte from start up to end, of which there is at least one, is in a hole. */
bool vmop_cfi_has_hole(const struct vmop_cfi_section *section, size_t start, size_t end);

/* Return whether the length of a record at offset, in the section, lies in a hole. */
bool vmop_cfi_is_missing(const struct vmop_cfi_section *section, size_t offset);

/*
 * Read the CIE at an offset. False: the record is no CIE, damaged, missing, or of an unknown kind.
 */
bool vmop_cfi_read_cie(const struct vmop_cfi_section *section, uint64_t offset,
		       struct vmop_cfi_cie *ret);

/*
 * Read the FDE of a record that is not missing and whose CIE is cie. False: it is damaged, or its
 * function was removed.
 */
bool vmop_cfi_read_fde(const struct vmop_cfi_section *section, const struct vmop_cfi_record *record,
		       const struct vmop_cfi_cie *cie, struct vmop_cfi_fde *ret);

/* Encodings of pointers (Linux Standard Base 5, section 10.5): a format and an application. */
enum {
	VMOP_CFI_PTR_ABSOLUTE = 0x00,
	VMOP_CFI_PTR_ULEB = 0x01,
	VMOP_CFI_PTR_U16 = 0x02,
	VMOP_CFI_PTR_U32 = 0x03,
	VMOP_CFI_PTR_U64 = 0x04,
	VMOP_CFI_PTR_SLEB = 0x09,
	VMOP_CFI_PTR_S16 = 0x0a,
	VMOP_CFI_PTR_S32 = 0x0b,
	VMOP_CFI_PTR_S64 = 0x0c,
	VMOP_CFI_PTR_FORMAT = 0x0f,
	VMOP_CFI_PTR_PC_RELATIVE = 0x10,
	VMOP_CFI_PTR_DATA_RELATIVE = 0x30,
	VMOP_CFI_PTR_APPLICATION = 0x70,
	VMOP_CFI_PTR_INDIRECT = 0x80,
};

struct vmop_cfi_cursor;

/*
 * Read a pointer. address is that of the cursor's position. data_address is what data-relative
 * pointers count from; 0 refuses them, as in .eh_frame. An encoding that can't be read makes the
 * cursor bad.
 */
uint64_t vmop_cfi_pointer(struct vmop_cfi_cursor *cursor, uint8_t encoding, uint64_t address,
			  uint64_t data_address);

#endif
