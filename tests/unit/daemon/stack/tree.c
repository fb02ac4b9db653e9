// SPDX-License-Identifier: GPL-2.0-or-later
/* The tree of stacks, stored in a real session file. */
#include "daemon/stack/tree.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/ok.h"

enum { IMAGES_MAX = 64 };

struct rig {
	char folder[64], path[96];
	struct vmop_db *db;
	struct vmop_images images;
	struct vmop_image *program, *library;
	struct vmop_stack_tree *tree;
	uint64_t now_ns;
};

static struct vmop_image *file(struct vmop_images *images, const char *path, uint64_t inode)
{
	return vmop_images_file(images, &(struct vmop_mapped_file){.path = path, .inode = inode});
}

static void begin(struct rig *rig, uint32_t max_nodes, uint32_t max_interval)
{
	memset(rig, 0, sizeof(*rig));
	strcpy(rig->folder, "/tmp/vmop-test-XXXXXX");
	assert_non_null(mkdtemp(rig->folder));
	snprintf(rig->path, sizeof(rig->path), "%s/session", rig->folder);
	assert_ok(vmop_db_create(rig->path, &rig->db));
	assert_ok(vmop_images_init(&rig->images, IMAGES_MAX));
	rig->program = file(&rig->images, "/bin/program", 1);
	rig->library = file(&rig->images, "/lib/library", 2);
	assert_ok(vmop_stack_tree_create(
		&rig->images,
		&(struct vmop_stack_tree_limits){.max_nodes = max_nodes,
						 .max_interval = max_interval,
						 .max_images = IMAGES_MAX},
		&rig->tree));
	rig->now_ns = 1700000000000000000;
}

static void end(struct rig *rig)
{
	char command[128];
	vmop_stack_tree_destroy(rig->tree);
	vmop_image_unref(&rig->images, rig->program);
	vmop_image_unref(&rig->images, rig->library);
	vmop_images_deinit(&rig->images);
	vmop_db_close(rig->db);
	snprintf(command, sizeof(command), "rm -rf '%s'", rig->folder);
	assert_int_equal(system(command), 0);
}

/* Put the images and new nodes into an interval. */
static void put(struct rig *rig)
{
	assert_ok(vmop_db_begin_interval(rig->db, rig->now_ns, 1000000000));
	for (uint32_t i = 0; i < rig->images.n_slots; i++) {
		struct vmop_image *image = rig->images.slots[i];
		if (!image || image->kind == VMOP_IMAGE_NONE)
			continue;
		vmop_images_assign_id(&rig->images, image);
		assert_ok(vmop_image_store(image, rig->db));
	}
	assert_ok(vmop_stack_tree_store(rig->tree, rig->db));
}

static void store(struct rig *rig)
{
	put(rig);
	assert_ok(vmop_db_commit(rig->db));
	vmop_stack_tree_stored(rig->tree);
	rig->now_ns += 1000000000;
}

static struct vmop_db_stack_node node_of(const struct vmop_db_stacks *stacks, uint32_t id)
{
	struct vmop_db_stack_node node;
	assert_true(vmop_db_stacks_node(stacks, (struct vmop_stack_id){id}, &node));
	return node;
}

static struct vmop_db_stacks *load(const struct rig *rig)
{
	struct vmop_db *db;
	struct vmop_db_stacks *stacks = NULL;
	assert_ok(vmop_db_open(rig->path, &db));
	assert_ok(vmop_db_load_stacks(db, SIZE_MAX, &stacks));
	vmop_db_close(db);
	return stacks;
}

/* Return the node of one frame; number 0: there is no room. */
static struct vmop_stack_node add(struct vmop_stack_tree *tree, struct vmop_stack_node parent,
				  struct vmop_image *image, uint64_t offset)
{
	const struct vmop_stack_caller caller = {.image = image, .offset = offset};
	struct vmop_stack_node node;
	if (!vmop_stack_tree_add(tree, parent, &caller, 1, &node))
		node.id.number = 0;
	return node;
}

/* While memory is short, no frame is added, and each refused stack is counted. */
static void short_of_memory(void **state)
{
	struct rig rig;
	struct vmop_stack_tree_facts facts;
	(void)state;
	begin(&rig, 1000, 100);
	struct vmop_stack_tree *tree = rig.tree;
	struct vmop_stack_node mark = vmop_stack_tree_end(tree, VMOP_STACK_COMPLETE);
	uint32_t first = add(tree, mark, rig.program, 0x10).id.number;
	/* Nodes that wait for their store stay. */
	vmop_stack_tree_save_memory(tree, true);
	assert_int_equal(add(tree, mark, rig.program, 0x10).id.number, first);
	vmop_stack_tree_save_memory(tree, false);
	store(&rig);
	vmop_stack_tree_save_memory(tree, true);
	mark = vmop_stack_tree_end(tree, VMOP_STACK_TOO_MANY);
	assert_int_not_equal(end.id.number, 0);
	assert_int_equal(add(tree, mark, rig.program, 0x10).id.number, 0);
	assert_int_equal(add(tree, mark, rig.program, 0x20).id.number, 0);
	vmop_stack_tree_facts(tree, &facts);
	assert_int_equal(facts.n_short, 2);
	assert_int_equal(facts.n_generations, 1);
	store(&rig);
	vmop_stack_tree_save_memory(tree, false);
	mark = vmop_stack_tree_end(tree, VMOP_STACK_COMPLETE);
	assert_true(add(tree, mark, rig.program, 0x10).id.number > first);
	store(&rig);
	struct vmop_db_stacks *stacks = load(&rig);
	assert_int_equal(node_of(stacks, first).offset, 0x10);
	vmop_db_stacks_destroy(stacks);
	end(&rig);
}

static void a_frame_has_one_node(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig, 1000, 100);
	struct vmop_stack_tree *tree = rig.tree;
	struct vmop_stack_node complete = vmop_stack_tree_end(tree, VMOP_STACK_COMPLETE);
	struct vmop_stack_node start = add(tree, complete, rig.program, 0x10);
	struct vmop_stack_node main = add(tree, start, rig.program, 0x20);
	struct vmop_stack_node again = add(tree, main, rig.program, 0x20);
	assert_int_equal(complete.id.number, 1);
	assert_int_equal(start.id.number, 2);
	assert_int_equal(main.id.number, 3);
	assert_int_equal(again.id.number, 4); /* recursion */
	assert_int_equal(add(tree, complete, rig.program, 0x10).id.number, 2);
	assert_int_equal(add(tree, start, rig.library, 0x20).id.number, 5);
	store(&rig);
	assert_int_equal(add(tree, start, rig.program, 0x20).id.number, 3);
	assert_int_equal(vmop_stack_tree_end(tree, VMOP_STACK_COMPLETE).id.number, 1);
	assert_int_equal(vmop_stack_tree_end(tree, VMOP_STACK_NO_CFI).id.number, 6);
	store(&rig);
	struct vmop_db_stacks *stacks = load(&rig);
	assert_int_equal(vmop_db_stacks_last(stacks), 6);
	assert_int_equal(node_of(stacks, 1).parent.number, 0);
	assert_int_equal(node_of(stacks, 1).image.number, 0);
	assert_int_equal(node_of(stacks, 1).offset, VMOP_STACK_COMPLETE);
	assert_int_equal(node_of(stacks, 4).parent.number, 3);
	assert_int_equal(node_of(stacks, 4).offset, 0x20);
	assert_int_equal(node_of(stacks, 4).image.number, rig.program->id.number);
	assert_int_equal(node_of(stacks, 5).image.number, rig.library->id.number);
	assert_int_equal(node_of(stacks, 6).offset, VMOP_STACK_NO_CFI);
	vmop_db_stacks_destroy(stacks);
	end(&rig);
}

static void nodes_of_a_rolled_back_interval_are_put_again(void **state)
{
	struct rig rig;
	struct vmop_stack_tree_facts facts;
	(void)state;
	begin(&rig, 1000, 100);
	struct vmop_stack_node torn = vmop_stack_tree_end(rig.tree, VMOP_STACK_TORN);
	add(rig.tree, torn, rig.program, 1);
	put(&rig);
	vmop_db_rollback(rig.db);
	vmop_stack_tree_facts(rig.tree, &facts);
	assert_int_equal(facts.n_waiting, 2);
	add(rig.tree, torn, rig.program, 2);
	store(&rig);
	vmop_stack_tree_facts(rig.tree, &facts);
	assert_int_equal(facts.n_waiting, 0);
	struct vmop_db_stacks *stacks = load(&rig);
	assert_int_equal(vmop_db_stacks_last(stacks), 3);
	assert_int_equal(node_of(stacks, 3).offset, 2);
	vmop_db_stacks_destroy(stacks);
	end(&rig);
}

static void an_interval_has_a_bound(void **state)
{
	struct rig rig;
	struct vmop_stack_tree_facts facts;
	(void)state;
	begin(&rig, 300, 100);
	struct vmop_stack_node root = vmop_stack_tree_end(rig.tree, VMOP_STACK_COMPLETE);
	for (uint64_t i = 0; i < 99; i++)
		assert_int_not_equal(add(rig.tree, root, rig.program, i).id.number, 0);
	assert_int_equal(add(rig.tree, root, rig.program, 99).id.number, 0);
	assert_int_not_equal(add(rig.tree, root, rig.program, 98).id.number, 0);
	/* An end mark has room in any case. */
	assert_int_not_equal(vmop_stack_tree_end(rig.tree, VMOP_STACK_TOO_MANY).id.number, 0);
	vmop_stack_tree_facts(rig.tree, &facts);
	assert_int_equal(facts.n_refused, 1);
	store(&rig);
	assert_int_not_equal(add(rig.tree, root, rig.program, 99).id.number, 0);
	end(&rig);
}

static void a_full_table_begins_anew(void **state)
{
	struct rig rig;
	struct vmop_stack_tree_facts facts;
	(void)state;
	begin(&rig, 300, 100);
	uint32_t refs = rig.program->refs;
	struct vmop_stack_node root = vmop_stack_tree_end(rig.tree, VMOP_STACK_COMPLETE);
	struct vmop_stack_node first = add(rig.tree, root, rig.program, 0);
	assert_int_equal(rig.program->refs, refs + 1);
	for (uint64_t interval = 0; interval < 3; interval++) {
		for (uint64_t i = 0; i < 90; i++)
			assert_int_not_equal(
				add(rig.tree, root, rig.program, interval * 90 + i).id.number, 0);
		store(&rig);
	}
	vmop_stack_tree_facts(rig.tree, &facts);
	assert_int_equal(facts.n_generations, 1);
	assert_int_equal(rig.program->refs, refs);
	/* The end mark stays, and ids go on. */
	assert_int_equal(vmop_stack_tree_end(rig.tree, VMOP_STACK_COMPLETE).id.number,
			 root.id.number);
	struct vmop_stack_node second = add(rig.tree, root, rig.program, 0);
	assert_true(second.id.number > first.id.number);
	assert_int_equal(second.id.number, 272);
	store(&rig);
	struct vmop_db_stacks *stacks = load(&rig);
	assert_int_equal(vmop_db_stacks_last(stacks), 272);
	assert_int_equal(node_of(stacks, 272).parent.number, root.id.number);
	vmop_db_stacks_destroy(stacks);
	end(&rig);
}

/* Images without room are worth more than the table. */
static void a_shortage_of_images_drops_the_table(void **state)
{
	struct rig rig;
	struct vmop_stack_tree_facts facts;
	struct vmop_image *others[IMAGES_MAX];
	(void)state;
	begin(&rig, 1000, 100);
	uint32_t n = 0;
	while (rig.images.n <= IMAGES_MAX / 4 * 3) {
		char name[16];
		snprintf(name, sizeof(name), "/other/%u", n);
		others[n] = file(&rig.images, name, 100 + n);
		n++;
	}
	struct vmop_stack_node root = vmop_stack_tree_end(rig.tree, VMOP_STACK_COMPLETE);
	for (uint32_t i = 0; i < n; i++) {
		add(rig.tree, root, others[i], 0);
		vmop_image_unref(&rig.images, others[i]);
	}
	uint32_t n_before = rig.images.n;
	store(&rig);
	vmop_images_sweep(&rig.images);
	vmop_stack_tree_facts(rig.tree, &facts);
	assert_int_equal(facts.n_generations, 1);
	assert_int_equal(rig.images.n, n_before - n);
	end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_has_one_node),
		cmocka_unit_test(short_of_memory),
		cmocka_unit_test(nodes_of_a_rolled_back_interval_are_put_again),
		cmocka_unit_test(an_interval_has_a_bound),
		cmocka_unit_test(a_full_table_begins_anew),
		cmocka_unit_test(a_shortage_of_images_drops_the_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
