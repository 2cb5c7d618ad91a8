/* SPDX-License-Identifier: MIT */
/*
 * Records from an enemy: decoding, and all that takes decoded events. The input is a row
 * of records, each as long as its own head says (at least 8 bytes), so that one input can
 * tell the story of several processes.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "user/event/event.h"
#include "user/event/finding.h"
#include "user/event/lineage.h"
#include "user/event/mounts.h"
#include "user/event/mutation.h"
#include "user/event/verdict.h"

static const char mountinfo[] = "25 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
				"30 25 8:2 /sub /mnt/a\\040b rw - ext4 /dev/sda2 rw\n"
				"31 25 0:40 / /lab rw - tmpfs tmpfs rw\n";

struct world {
	struct mounts *mounts;
	struct lineage *lineage;
	struct findings *findings;
	struct mutations *mutations;
	struct verdict verdict;
};

static void check_path(const char *text, int len)
{
	FUZZ_REQUIRE(len >= 0 && strlen(text) == (size_t)len);
	if (text[0] != '/')
		return;
	FUZZ_REQUIRE(!strstr(text, "//") && !strstr(text, "/../"));
	FUZZ_REQUIRE(len == 1 || text[len - 1] != '/');
}

static void check_paths(const struct event *e)
{
	char text[EVENT_PATH_SIZE];
	uint32_t flags = e->head.type == WEIR_RECORD_EXEC ? e->exec.flags
			 : e->head.type == WEIR_RECORD_OP ? e->op.flags
							  : 0;
	int len = event_path_first(e, text, sizeof(text));

	FUZZ_REQUIRE(len >= 0 && strlen(text) == (size_t)len);
	if (!(flags & WEIR_EV_UNRESOLVED))
		check_path(text, len);
	len = event_path_second(e, text, sizeof(text));
	FUZZ_REQUIRE(len >= 0 && strlen(text) == (size_t)len);
	if (!(flags & WEIR_EV_UNRESOLVED))
		check_path(text, len);
}

static void take(struct world *w, const uint8_t *data, size_t len)
{
	struct lineage_proc *proc = NULL;
	struct event_why why = { 0 };
	struct event event;

	if (event_decode(data, len, &event, &why) < 0) {
		FUZZ_REQUIRE(why.reason > EVENT_REFUSE_NONE && why.reason < EVENT_REFUSE_COUNT);
		FUZZ_REQUIRE(why.offset <= len);
		verdict_add_refused(&w->verdict, &why);
		return;
	}
	FUZZ_REQUIRE(event.head.size == len);
	check_paths(&event);
	verdict_add_event(&w->verdict, &event);
	lineage_add(w->lineage, &event, &proc);
	FUZZ_REQUIRE(findings_add_event(w->findings, &event, proc) >= 0);
	FUZZ_REQUIRE(mutations_add(w->mutations, &event) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world *w = calloc(1, sizeof(*w));
	json_t *json;

	FUZZ_REQUIRE(w && mounts_parse(mountinfo, strlen(mountinfo), &w->mounts, NULL) == 0);
	w->lineage = lineage_new(w->mounts);
	w->findings = findings_new(w->mounts, w->lineage);
	w->mutations = mutations_new(40, "/ws");
	while (size > 0) {
		uint32_t len = 0;
		uint8_t *copy;

		if (size >= 8)
			memcpy(&len, data + 4, sizeof(len));
		if (len < 8 || len > size)
			len = (uint32_t)size;
		copy = malloc(len);
		FUZZ_REQUIRE(copy);
		memcpy(copy, data, len);
		take(w, copy, len);
		free(copy);
		data += len;
		size -= len;
	}
	json = findings_json(w->findings);
	FUZZ_REQUIRE(json);
	json_decref(json);
	/* without END nothing is clean */
	FUZZ_REQUIRE(verdict_finish(&w->verdict) != VERDICT_CLEAN);
	findings_free(w->findings);
	lineage_free(w->lineage);
	mutations_free(w->mutations);
	mounts_free(w->mounts);
	free(w);
	return 0;
}
