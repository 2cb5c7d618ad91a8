/* SPDX-License-Identifier: MIT */
#include "user/kern/types.h"

#include <dirent.h>
#include <errno.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi/casts.h"
#include "user/base/cleanup.h"
#include "user/base/fsio.h"

#define BTF_DIR "/sys/kernel/btf"

/* Names of types, each with a mark. */
struct wanted {
	struct hsearch_data table;
	unsigned int missing; /* not found so far */
};

struct copier {
	const struct btf *from;
	struct btf *to;
	__u32 *copies; /* ids in to, by those in from; 0: none yet */
	int pointer;   /* of to: all pointers are this one, as nobody asks where they lead */
};

int types_open(struct btf **ret_kernel, struct weir_err *e)
{
	*ret_kernel = btf__load_vmlinux_btf();
	if (!*ret_kernel)
		return err_set(
			e, -ENOENT,
			"this kernel has no BTF (/sys/kernel/btf/vmlinux): use a kernel built "
			"with CONFIG_DEBUG_INFO_BTF");
	return 0;
}

void types_close(struct btf **kernel)
{
	btf__free(*kernel);
}

static void free_wanted(struct wanted *wanted)
{
	hdestroy_r(&wanted->table);
}

static bool has_fields(const struct btf_type *t)
{
	return btf_is_composite(t) || btf_is_any_enum(t);
}

/* The mark of a name, NULL if nobody wants it. */
static ENTRY *find(struct wanted *wanted, const char *name)
{
	ENTRY key = { (char *)name, NULL }, *found = NULL;

	hsearch_r(key, FIND, &found, &wanted->table);
	return found;
}

/* What comes after ___ tells shapes of one type apart (libbpf's flavors). names: room for the
 * bytes of all, *used of them taken. */
static int want(struct wanted *wanted, const char *name, char *names, size_t *used)
{
	const char *flavor = strstr(name, "___");
	size_t len = flavor ? (size_t)(flavor - name) : strlen(name);
	ENTRY entry = { .key = names + *used }, *ret;

	memcpy(entry.key, name, len);
	entry.key[len] = '\0';
	if (len == 0 || strncmp(name, "weir_", 5) == 0 || find(wanted, entry.key))
		return 0;
	if (!hsearch_r(entry, ENTER, &ret, &wanted->table))
		return -ENOMEM;
	*used += len + 1;
	wanted->missing++;
	return 0;
}

/* Gives: *ret_names, which the table borrows. */
static int want_all(struct wanted *wanted, const struct btf *programs, char **ret_names)
{
	__u32 count = btf__type_cnt(programs);
	size_t size = 1, used = 0;
	int err = 0;

	for (__u32 id = 1; id < count; id++)
		size += strlen(btf__name_by_offset(programs,
						   btf__type_by_id(programs, id)->name_off)) +
			1;
	*ret_names = malloc(size);
	if (!*ret_names || !hcreate_r(2 * (size_t)count, &wanted->table))
		return -ENOMEM;
	for (__u32 id = 1; id < count && err == 0; id++) {
		const struct btf_type *t = btf__type_by_id(programs, id);

		if (has_fields(t))
			err = want(wanted, btf__name_by_offset(programs, t->name_off), *ret_names,
				   &used);
	}
	return err;
}

static int copy(struct copier *c, __u32 id);

/* Copies what a type is made of. */
static int copy_parts(struct copier *c, const struct btf_type *t)
{
	int err;

	if (btf_is_composite(t)) {
		for (__u16 i = 0; i < btf_vlen(t); i++) {
			err = copy(c, btf_members(t)[i].type);
			if (err < 0)
				return err;
		}
		return 0;
	}
	if (btf_is_array(t)) {
		err = copy(c, btf_array(t)->type);
		return err < 0 ? err : copy(c, btf_array(t)->index_type);
	}
	return btf_is_mod(t) || btf_is_typedef(t) || btf_is_type_tag(t) ? copy(c, t->type) : 0;
}

/* Puts the ids of the copies into one. */
static void join_parts(const struct copier *c, struct btf_type *t)
{
	if (btf_is_composite(t)) {
		for (__u16 i = 0; i < btf_vlen(t); i++)
			btf_members(t)[i].type = c->copies[btf_members(t)[i].type];
	} else if (btf_is_array(t)) {
		btf_array(t)->type = c->copies[btf_array(t)->type];
		btf_array(t)->index_type = c->copies[btf_array(t)->index_type];
	} else if (btf_is_mod(t) || btf_is_typedef(t) || btf_is_type_tag(t)) {
		t->type = c->copies[t->type];
	}
}

/* Copies a type, unless that is done; nothing contains itself but by a pointer. */
static int copy(struct copier *c, __u32 id)
{
	const struct btf_type *t = btf__type_by_id(c->from, id);
	int copied;

	if (id == 0 || c->copies[id])
		return 0;
	if (!t)
		return -EINVAL;
	if (btf_is_ptr(t)) {
		c->copies[id] = (__u32)c->pointer;
		return 0;
	}
	copied = copy_parts(c, t);
	if (copied < 0)
		return copied;
	copied = btf__add_type(c->to, c->from, t);
	if (copied < 0)
		return copied;
	c->copies[id] = (__u32)copied;
	join_parts(c, (struct btf_type *)btf__type_by_id(c->to, (__u32)copied));
	return 0;
}

/* Copies the types from the id first on that are wanted; ids: where their ids go, or NULL. */
static int copy_wanted(struct copier *c, struct wanted *wanted, __u32 first, __u32 *ids)
{
	static const char *const casts[] = {
#define CAST_NAME(name) #name,
		WEIR_CASTS(CAST_NAME)
#undef CAST_NAME
	};
	__u32 count = btf__type_cnt(c->from);

	for (__u32 id = first; id < count; id++) {
		const struct btf_type *t = btf__type_by_id(c->from, id);
		const char *name;
		ENTRY *found;
		int err;

		if (!has_fields(t) || !t->name_off)
			continue;
		name = btf__name_by_offset(c->from, t->name_off);
		found = find(wanted, name);
		if (!found)
			continue;
		wanted->missing -= !found->data;
		found->data = found;
		err = copy(c, id);
		if (err < 0)
			return err;
		for (size_t i = 0; ids && i < ARRAY_SIZE(casts); i++)
			if (btf_is_struct(t) && !ids[i] && strcmp(casts[i], name) == 0)
				ids[i] = id;
	}
	return 0;
}

/* A module's types follow on the kernel's, which they use. */
static int copy_module(struct copier *c, struct wanted *wanted, struct btf *kernel,
		       const char *name)
{
	__u32 first = btf__type_cnt(kernel), count;
	cleanup_with(types_close) struct btf *module = btf__load_module_btf(name, kernel);
	__u32 *copies;

	/* it may have been unloaded */
	if (!module)
		return errno == ENOENT ? 0 : -errno;
	count = btf__type_cnt(module);
	copies = reallocarray(c->copies, count, sizeof(*copies));
	if (!copies)
		return -ENOMEM;
	memset(copies + first, 0, (count - first) * sizeof(*copies));
	c->copies = copies;
	c->from = module;
	return copy_wanted(c, wanted, first, NULL);
}

static int copy_modules(struct copier *c, struct wanted *wanted, struct btf *kernel)
{
	cleanup_closedir DIR *dir = opendir(BTF_DIR);
	const struct dirent *entry;
	int err = 0;

	if (!dir)
		return -errno;
	while (err == 0 && wanted->missing && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, "vmlinux") != 0)
			err = copy_module(c, wanted, kernel, entry->d_name);
	return err;
}

/* The programs' constants: ids by enum weir_cast. */
static __u32 *ids_of_casts(struct bpf_object *programs)
{
	struct bpf_map *map = bpf_object__find_map_by_name(programs, ".rodata");
	size_t size = 0;
	__u32 *ids = map ? (__u32 *)bpf_map__initial_value(map, &size) : NULL;

	return size >= WEIR_CAST_COUNT * sizeof(*ids) ? ids : NULL;
}

static int copy_all(struct copier *c, struct btf *kernel, struct bpf_object *programs)
{
	cleanup_with(free_wanted) struct wanted wanted = { 0 };
	cleanup_free char *names = NULL;
	__u32 *ids = ids_of_casts(programs);
	int err = ids ? want_all(&wanted, bpf_object__btf(programs), &names) : -ENOENT;

	c->pointer = btf__add_ptr(c->to, 0);
	if (err == 0 && c->pointer < 0)
		err = c->pointer;
	if (err == 0)
		err = copy_wanted(c, &wanted, 1, ids);
	return err < 0 ? err : copy_modules(c, &wanted, kernel);
}

int types_pick(struct btf *kernel, struct bpf_object *programs, int fd, struct weir_err *e)
{
	cleanup_with(types_close) struct btf *picked = btf__new_empty();
	struct copier c = { .from = kernel, .to = picked };
	const void *bytes;
	__u32 size;
	int err;

	c.copies = calloc(btf__type_cnt(kernel), sizeof(*c.copies));
	err = picked && c.copies ? copy_all(&c, kernel, programs) : -ENOMEM;
	free(c.copies);
	if (err < 0)
		return err_errno(e, err, "picking the kernel's types that the programs name");
	bytes = btf__raw_data(picked, &size);
	err = bytes ? fsio_write_all(fd, bytes, size) : -ENOMEM;
	return err < 0 ? err_errno(e, err, "types for the programs") : 0;
}
