/* SPDX-License-Identifier: MIT */
/*
 * The promotion digest: SHA-256 of one text that holds everything a promotion is about. An
 * approval signs it, the commit carries it in its trailer Weir-Promotion. Any change of
 * anything gives another digest.
 *
 * Text, version 1: lines "KEY VALUE", each ended by a newline, in this order, nothing else.
 * Values are escaped by user/base/escape.h, so that a value never holds a newline. "-"
 * stands for an empty value.
 *
 *   weir-promotion/1
 *   kind NAME                      of writeback/kind.h; a run has no such line
 *   repository ID                  of gate.yaml
 *   ref NAME                       target
 *   directory NAME                 of a directory (writeback/dirs.h), these five:
 *   path PATH                      its place on the gate's host
 *   from DIRECTORY                 below the workspace, whose files it takes
 *   branch REF                     that the run was made from
 *   old COMMIT                     what the ref must hold, and PATH show
 *   base COMMIT                    parent, and what the ref must hold; the commit of a tag; of a
 *                                  directory, the one that the run was made from
 *   rebased COMMIT                 the commit that the run began with, where that is another
 *                                  (writeback/rebase.h)
 *   tree TREE                      git's id of the new tree
 *   changes SHA256                 of the changes text
 *   pack SHA256                    of the quarantined pack's file
 *   message SHA256                 of the message without trailers, as it stands in the commit
 *   author NAME <EMAIL>
 *   break-glass COMMIT             each in the history of the base that people pushed past the
 *                                  gate (writeback/glass.h), in order
 *   run ID
 *   nonce N
 *   statement SHA256
 *   host HEX                       public host key that signed the statement
 *   trace SHA256                   chain root
 *   counters SHA256
 *   coverage SHA256
 *   before SHA256                  manifest
 *   after SHA256                   manifest
 *   policy SHA256
 *   policy-source base commit|gate.yaml
 *   verdict NAME
 *   exit code N|signal N
 *   crosscheck full|stat|trace
 *   hashed N                       files that the cross-check read again
 *   skipped N                      with trace: entries of manifest(after) it did not look at
 *   signers SHA256                 of the allowed_signers file
 *   review none                    nobody has to look; or `required`, and then the lines of
 *                                  writeback/approve.h about people, producers and needs
 *   keys COUNT SHA256              changes of keys before this, where there are some
 *                                  (writeback/keyhist.h)
 *   exception SHA256               each that was used (writeback/exception.h)
 *   accepted ID COUNT              each finding of a violated run that one of them covers
 *   finding ID warn|accepted PLACE TIMES PATH   any number, in the order found (hazard.h)
 *   gate VERSION                   build of weir-gate
 *
 * Where no run made it, these lines stand in place of those from `run` to `hashed`:
 *
 *   run ID                         of the order (writeback/order.h)
 *   nonce N
 *   statement SHA256               of the order
 *   object COMMIT                  that it is about: the one that is reverted or tagged
 *   policy SHA256
 *   policy-source base commit
 *
 * Changes text, version 1: "weir-changes/1", then one line for each changed path, in the
 * order of paths: LETTER OLD-MODE NEW-MODE SIZE SHA256 OLD-ID NEW-ID PATH, the path escaped,
 * "-" for what does not apply.
 */
#ifndef WEIR_WRITEBACK_DIGEST_H
#define WEIR_WRITEBACK_DIGEST_H

#include "user/base/buf.h"
#include "writeback/changes.h"

#define PROMOTION_HEAD "weir-promotion/1"
#define CHANGES_HEAD "weir-changes/1"

/* Appends the changes text. Returns: 0 or -ENOMEM. Borrows: c. */
int digest_changes(const struct changes *c, struct buf *ret_text);

/* Finds the value of a key in a promotion text, still escaped. Returns: 0 or -ENOENT.
 * Borrows: text, key. Gives: ret_value, terminated. */
int digest_find(const char *text, const char *key, struct buf *ret_value);

#endif
