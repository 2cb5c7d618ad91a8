/* SPDX-License-Identifier: MIT */
/*
 * Inside of user/report: pieces of sentences. All texts that come out are safe for a
 * terminal, whatever the JSON holds. Findings are taken in the form of finding_json().
 */
#ifndef WEIR_REPORT_TEXT_H
#define WEIR_REPORT_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/base/buf.h"

/* Where a report is written to. A failed append stays in the buffer's `failed`. */
struct page {
	struct buf *b;
	bool color;
};

enum tone {
	TONE_GOOD,
	TONE_BAD,
	TONE_DOUBT,
	TONE_STRONG,
};

/* Members that may be missing. Returns: borrowed text, "" if there is none; 0. */
const char *text_of(const json_t *o, const char *name);
uint64_t text_number(const json_t *o, const char *name);

/* Appends a text as it is but for what could disturb a terminal. Borrows: s. */
void text_add(struct page *p, const char *s);

/* The same; long ones lose their middle, never half a character. Borrows: s. */
void text_add_path(struct page *p, const char *s);

/* A text in a tone, when the page has color. Borrows: s. */
void text_add_tone(struct page *p, enum tone tone, const char *s);

/* The lines of a text, each after `indent`. Borrows: all. */
void text_add_lines(struct page *p, const char *indent, const char *s);

/* "1 finding", "2,000 findings". noun is the singular. Borrows: noun. */
void text_add_count(struct page *p, uint64_t n, const char *noun);

/* "850 ms", "12.4 s", "3 min 20 s". Units: milliseconds */
void text_add_duration(struct page *p, uint64_t ms);

/* Arguments in one line; words that a shell would split are quoted. max: bytes, about.
 * Borrows: args, an array of texts. */
void text_add_command(struct page *p, const json_t *args, size_t max);

/* "make(4700) > sh(4711) > cp(4720)", the run's first process first. Borrows: f. */
void text_add_actor(struct page *p, const json_t *f);

/* "append to file", "remove file of 12 bytes" (with size): what was done to the object.
 * Borrows: f. */
void text_add_action(struct page *p, const json_t *f, bool size);

/* "denied", "let through", "refused by the kernel", "" where nothing was done.
 * Returns: static text. Borrows: f. */
const char *text_outcome(const json_t *f);

/* Whether it is only to be known, and speaks against nobody. Borrows: f. */
bool text_is_notice(const json_t *f);

/* Whether a flag of a finding is set. Borrows: f, name. */
bool text_has_flag(const json_t *f, const char *name);

#endif
