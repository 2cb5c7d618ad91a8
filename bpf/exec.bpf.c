/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs: each file that exec runs, scripts and their interpreters alike. */
#include "bpf/lib/decide.bpf.h"

static __always_inline int run_file(struct file *file)
{
	struct inode *inode = file->f_inode;
	struct dentry *dentry = file->f_path.dentry;
	struct weir_objects objects = { .first = dentry, .inode = inode };
	struct weir_note *note;
	struct weir_ask ask;

	if (!weir_enter(&ask, WEIR_HOOK_BPRM_CHECK, WEIR_OP_EXEC, 0))
		return ask.deny;
	note = &ask.work->note;
	weir_look(&ask, dentry, WEIR_RIGHT_EXEC, WEIR_EV_BAD_FIRST);
	if (note->kind != WEIR_KIND_NONE && weir_is_memfd(dentry))
		note->kind = WEIR_KIND_EXEC_MEMFD;
	if (note->kind == WEIR_KIND_NONE && !(ask.run->flags & WEIR_RUN_DEAD))
		return weir_pass(&ask, WEIR_HOOK_BPRM_CHECK);
	return weir_leave(&ask, &objects);
}

SEC("lsm/bprm_check_security")
int BPF_PROG(weir_bprm_check, struct linux_binprm *bprm)
{
	WEIR_ANSWER(run_file(WEIR_PLAIN(linux_binprm, bprm)->file));
}
