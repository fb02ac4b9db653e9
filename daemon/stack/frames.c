// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/stack/frames.h"

/* One call of vmop_stack_framer_resolve. */
struct resolution {
	struct vmop_stack_framer *framer;
	const struct vmop_stack_task *task;
	const struct vmop_stack_capture *capture;
	struct vmop_stack_frames *frames;
	bool is_kernel;
};

/* Append a frame. False: the depth limit is reached. */
static bool append(struct resolution *resolution, struct vmop_image *image, uint64_t offset)
{
	struct vmop_stack_frames *frames = resolution->frames;
	if (frames->n == resolution->framer->max_frames) {
		frames->end = VMOP_STACK_DEPTH_LIMIT;
		return false;
	}
	frames->at[frames->n++] = (struct vmop_stack_caller){.image = image, .offset = offset};
	return true;
}

static struct vmop_image *unattributed(const struct resolution *resolution,
				       enum vmop_unattributed reason)
{
	return resolution->framer->images->unattributed[reason];
}

static bool append_kernel(struct resolution *resolution, uint64_t address)
{
	struct vmop_image *image = vmop_kernel_find(resolution->framer->kernel, address);
	if (image)
		return append(resolution, image, address - image->base);
	resolution->frames->lacks |= VMOP_STACK_LACKS_KERNEL_TEXT;
	return append(resolution, unattributed(resolution, VMOP_UNATTRIBUTED_KERNEL_TEXT), address);
}

/* Append the frames of the kernel, except the interrupted address. False: the limit is reached. */
static bool kernel_part(struct resolution *resolution)
{
	const struct vmop_stack_capture *capture = resolution->capture;
	for (size_t i = 1; i < capture->n_kernel_frames; i++)
		if (!append_kernel(resolution, capture->kernel_frames[i] - 1))
			return false;
	return true;
}

/* Append a frame in user mode. region may be NULL: no mapping has the address. */
static bool append_user(struct resolution *resolution, const struct vmop_region *region,
			uint64_t address)
{
	const struct vmop_image *vsyscall = resolution->framer->kernel->vsyscall;
	if (region)
		return append(resolution, region->image, address - region->start + region->offset);
	if (vsyscall && address - vsyscall->base < vsyscall->len_bytes)
		return append(resolution, resolution->framer->kernel->vsyscall,
			      address - vsyscall->base);
	return append(resolution, unattributed(resolution, VMOP_UNATTRIBUTED_NO_MAPPING), address);
}

static bool find_code(void *arg, uint64_t address, struct vmop_code_piece *ret)
{
	const struct resolution *resolution = arg;
	const struct vmop_region *region = vmop_regions_find(resolution->task->regions, address);
	if (!region)
		return false;
	ret->start = region->start;
	ret->end = region->end;
	ret->offset = region->offset;
	ret->mapping = region;
	ret->state = vmop_stack_tables_find(resolution->framer->tables, region,
					    resolution->task->pid, &ret->table);
	uint32_t age = vmop_stack_tables_kernel_age(resolution->framer->tables, region);
	if (age > resolution->frames->kernel_age)
		resolution->frames->kernel_age = age;
	return true;
}

/* Append the callers in the copy of the user stack. */
static void unwound_part(struct resolution *resolution)
{
	struct vmop_stack_frame user[VMOP_STACK_FRAMES_MAX + 1];
	struct vmop_stack_frames *frames = resolution->frames;
	const struct vmop_code_space space = {.find = find_code, .arg = resolution};
	struct vmop_unwound unwound;
	/* The sampled code itself is not a caller. */
	size_t skip = resolution->is_kernel ? 0 : 1;
	vmop_unwind(resolution->framer->unwinder, &space, resolution->capture, user,
		    resolution->framer->max_frames - frames->n + skip, &unwound);
	frames->end = unwound.end;
	if (unwound.end == VMOP_STACK_TABLE_LATE)
		frames->lacks |= VMOP_STACK_LACKS_TABLE;
	for (size_t i = skip; i < unwound.n_frames; i++)
		if (!append_user(resolution, user[i].mapping,
				 user[i].address - !user[i].is_interrupted))
			return;
}

/*
 * Return the address of the instruction that was interrupted, or made a call, in frame i of those
 * that the kernel found.
 */
static uint64_t given_address(const struct vmop_stack_capture *capture, size_t i)
{
	uint64_t frame = capture->user_frames[i];
	/* Without tables the kernel reports whatever it reads, also a word with that bit. */
	if (i && capture->user_generation && frame & VMOP_USER_FRAME_INTERRUPTED)
		return frame & ~VMOP_USER_FRAME_INTERRUPTED;
	return frame - (i != 0);
}

/* Whether code has callers. */
enum outermost { OUTERMOST_UNKNOWN, IS_OUTERMOST, HAS_CALLERS };

/* Look up in its unwind table whether the code at address in region is an outermost function. */
static enum outermost find_outermost(struct resolution *resolution,
				     const struct vmop_region *region, uint64_t address,
				     struct vmop_code_piece *ret_piece)
{
	struct vmop_cfi_rule rule;
	*ret_piece = (struct vmop_code_piece){0};
	if (!region || !find_code(resolution, address, ret_piece) ||
	    ret_piece->state != VMOP_CODE_HAS_TABLE)
		return OUTERMOST_UNKNOWN;
	uint64_t offset = address - ret_piece->start + ret_piece->offset;
	vmop_cfi_table_find(ret_piece->table, offset, &rule);
	return rule.kind == VMOP_CFI_END || vmop_cfi_table_is_entry(ret_piece->table, offset)
		       ? IS_OUTERMOST
		       : HAS_CALLERS;
}

/*
 * Find how a stack ends whose outermost frame is at address in region, if the kernel did not report
 * it.
 */
static void find_end(struct resolution *resolution, const struct vmop_region *region,
		     uint64_t address)
{
	struct vmop_code_piece piece;
	enum outermost outermost = find_outermost(resolution, region, address, &piece);
	if (piece.state == VMOP_CODE_PENDING)
		resolution->frames->lacks |= VMOP_STACK_LACKS_TABLE;
	if (outermost == IS_OUTERMOST)
		resolution->frames->end = VMOP_STACK_COMPLETE;
}

/*
 * Return whether a stack is torn that the kernel unwound by tables to a return address of 0: the
 * code at address in region, its outermost frame, is no outermost function.
 */
static bool ends_at_torn(struct resolution *resolution, const struct vmop_region *region,
			 uint64_t address)
{
	struct vmop_code_piece piece;
	return find_outermost(resolution, region, address, &piece) == HAS_CALLERS &&
	       !vmop_cfi_table_ends_with_zero(piece.table);
}

/* Append the user addresses that the kernel found, up to the first one outside of code. */
static void given_part(struct resolution *resolution)
{
	const struct vmop_stack_capture *capture = resolution->capture;
	const struct vmop_region *region = NULL;
	uint64_t address = 0;
	resolution->frames->end = capture->user_end;
	for (size_t i = 0; i < capture->n_user_frames; i++) {
		address = given_address(capture, i);
		region = vmop_regions_find(resolution->task->regions, address);
		if (i && !region) {
			resolution->frames->end = VMOP_STACK_TORN;
			return;
		}
		/* The sampled code itself is not a caller. */
		if ((i || resolution->is_kernel) && !append_user(resolution, region, address))
			return;
	}
	if (capture->user_end == VMOP_STACK_END_UNKNOWN)
		find_end(resolution, region, address);
	else if (capture->user_generation && capture->user_end == VMOP_STACK_COMPLETE &&
		 !resolution->task->is_end_known && ends_at_torn(resolution, region, address))
		resolution->frames->end = VMOP_STACK_TORN;
}

static void user_part(struct resolution *resolution);

/* Use the user frames that came after the sample, if they are there. */
static void deferred_part(struct resolution *resolution)
{
	struct vmop_stack_capture whole = *resolution->capture;
	struct resolution with_user = *resolution;
	with_user.capture = &whole;
	whole.n_user_frames = vmop_deferred_stacks_find(resolution->framer->deferred,
							whole.user_cookie, &whole.user_frames);
	whole.user_cookie = 0;
	if (whole.n_user_frames) {
		user_part(&with_user);
		return;
	}
	resolution->frames->lacks |= VMOP_STACK_LACKS_USER_PART;
	resolution->frames->end = VMOP_STACK_NOT_RECORDED;
}

/* Return whether the source reports why a stack has no user part, although not by tables. */
static bool has_no_user_part(const struct resolution *resolution)
{
	const struct vmop_stack_capture *capture = resolution->capture;
	bool is_end =
		resolution->task->is_kernel_thread && capture->user_end == VMOP_STACK_NOT_RECORDED;
	return !capture->n_user_frames && !capture->user_regs && !capture->user_generation &&
	       capture->user_end != VMOP_STACK_END_UNKNOWN && !is_end;
}

static void user_part(struct resolution *resolution)
{
	const struct vmop_stack_capture *capture = resolution->capture;
	const struct vmop_stack_task *task = resolution->task;
	struct vmop_stack_frames *frames = resolution->frames;
	bool is_unwindable = capture->user_regs && !capture->is_compat;
	if (has_no_user_part(resolution)) {
		frames->end = capture->user_end;
	} else if (capture->user_cookie && !task->is_kernel_thread) {
		deferred_part(resolution);
	} else if (task->is_kernel_thread ||
		   (resolution->framer->has_user_parts && resolution->is_kernel &&
		    !capture->is_compat && !is_unwindable && !capture->n_user_frames)) {
		frames->end = VMOP_STACK_COMPLETE; /* a kernel thread */
	} else if (!is_unwindable && !capture->n_user_frames) {
		frames->end = VMOP_STACK_NOT_RECORDED;
	} else if (!task->regions) {
		frames->end = VMOP_STACK_UNREADABLE;
		if (task->is_unread)
			frames->lacks |= VMOP_STACK_LACKS_MAPS;
	} else if (frames->n == resolution->framer->max_frames) {
		frames->end = VMOP_STACK_DEPTH_LIMIT;
	} else if (task->is_outdated) {
		frames->end = VMOP_STACK_OUTDATED;
	} else if (capture->n_user_frames) {
		given_part(resolution);
	} else {
		unwound_part(resolution);
	}
}

void vmop_stack_framer_resolve(struct vmop_stack_framer *framer, const struct vmop_stack_task *task,
			       const struct vmop_stack_capture *capture, bool is_kernel,
			       struct vmop_stack_frames *ret)
{
	struct resolution resolution = {.framer = framer,
					.task = task,
					.capture = capture,
					.frames = ret,
					.is_kernel = is_kernel};
	ret->n = 0;
	ret->lacks = 0;
	ret->kernel_age = 0;
	ret->end = VMOP_STACK_END_UNKNOWN;
	if (!is_kernel || kernel_part(&resolution))
		user_part(&resolution);
}
