// SPDX-License-Identifier: GPL-2.0-only
/* Checks of the NVIDIA driver: bound to each card or why not, nodes, versions, and what is built on top of it. */
#include <errno.h>
#include <string.h>

#include "apt.h"
#include "busy.h"
#include "doctor.h"
#include "quirks.h"
#include "selftest.h"

static bool is_bound(const struct card *card)
{
	return !strcmp(card->driver, "nvidia");
}

static bool any_bound(const struct result *result)
{
	size_t i;

	for (i = 0; i < result->nr; i++)
		if (is_bound(&result->row[i].card))
			return true;
	return false;
}

static void take_outcome(struct finding_list *findings, const struct outcome *outcome)
{
	unsigned int i;

	for (i = 0; i < outcome->nr_finding; i++)
		finding_append(findings, &outcome->finding[i]);
}

static bool is_too_old(const struct bind_facts *facts, const struct compat *compat)
{
	unsigned int branch = (unsigned int)atoi(facts->version);

	return branch && compat->branch_min && branch < compat->branch_min;
}

static void driver_lines(const struct doctor *doctor, const struct card *card, char *buf, size_t size)
{
	struct compat compat;

	compat_gpu(card->device, card->row ? card->row->compute : 0, &compat);
	apt_driver_lines(&doctor->stack, doctor->common ? &doctor->compat : &compat, buf, size);
}

/**
 * doctor_driver_lines - what to type on this host when there is no driver for a card
 * @card:	the card; the other GPUs of the host count too
 * @buf:	filled
 * @size:	bytes in @buf
 */
void doctor_driver_lines(const struct card *card, char *buf, size_t size)
{
	struct result every = { .nr = 0 };
	struct doctor doctor;

	doctor_look(&doctor, NULL, &every);
	driver_lines(&doctor, card, buf, size);
	result_free(&every);
}

/* What one card needs and another of this host cannot live with is no advice. */
static bool is_about_driver(enum finding_code code)
{
	return code == FINDING_BRANCH || code == FINDING_OPEN || code == FINDING_BRANCH_OLD;
}

static void check_binding(struct doctor *doctor, const struct card *card)
{
	struct finding_list *findings = &doctor->result->findings;
	struct finding finding;
	struct bind_facts facts;
	struct compat compat;

	bind_facts_read(card, &facts);
	compat_gpu(card->device, card->row->compute, &compat);
	if (bind_decide(&facts, true, card->bdf, &finding) != BIND_NEVER) {
		if (facts.bar[0]) {
			bind_no_space(&facts, card->bdf, &finding);
			finding_append(findings, &finding);
		}
		return;
	}

	if (finding.code == FINDING_NO_MODULE)
		driver_lines(doctor, card, finding.command, sizeof(finding.command));
	/* What the driver never got to say about a card that is older than its branch. */
	if ((finding.code == FINDING_NOT_BOUND || finding.code == FINDING_NOT_LOADED) && is_too_old(&facts, &compat))
		finding_make(&finding, FINDING_BRANCH_OLD, card->bdf, "driver %s, %s needs branch %u or newer", facts.version,
			     compat.generation, compat.branch_min);
	if (is_about_driver(finding.code) && !doctor->common)
		util_copy(finding.command, sizeof(finding.command), "softtape advise");
	finding_append(findings, &finding);
}

static void check_quirks(struct doctor *doctor, const struct card *card)
{
	struct outcome outcome = { .run = RUN_NONE };

	quirks_judge(card, host_exists("/sys/module/softtape"), &outcome);
	take_outcome(&doctor->result->findings, &outcome);
}

/* What a check found and a look from outside cannot see. */
static void take_last_check(struct doctor *doctor, const struct row *row)
{
	static const enum finding_code codes[] = {
		FINDING_DATA, FINDING_ALIAS, FINDING_OTHER_CHIP, FINDING_GPU, FINDING_CRASHED, FINDING_HUNG, FINDING_SLOW_COPY,
		FINDING_UNEVEN_COPY, FINDING_SHARED_COPY, FINDING_SLOW_MEMORY, FINDING_SM_UNSEEN, FINDING_LINK_ERRORS,
		FINDING_THROTTLED, FINDING_HOT, FINDING_CUDA,
	};
	const struct outcome *outcome = row->outcome;
	struct finding finding;
	unsigned int i;
	size_t n;

	if (outcome && outcome->run == RUN_INTERRUPTED)
		finding_add(&doctor->result->findings, FINDING_INTERRUPTED, row->card.bdf,
			    "the last check (%s) has no verdict; it was in phase %s", outcome->level,
			    outcome->nr_phase ? outcome->phase[outcome->nr_phase - 1].name : "driver");
	for (i = 0; outcome && i < outcome->nr_finding; i++)
		for (n = 0; n < ARRAY_SIZE(codes); n++) {
			finding = outcome->finding[i];
			if (finding.code != codes[n])
				continue;
			snprintf(finding.evidence, sizeof(finding.evidence), "last check: %.480s",
				 outcome->finding[i].evidence);
			finding_append(&doctor->result->findings, &finding);
		}
}

static void add_cuda(struct doctor *doctor, enum selftest_cause cause, const char *evidence)
{
	struct finding finding;

	finding_make(&finding, FINDING_CUDA, NULL, "%s", evidence);
	util_copy(finding.word, sizeof(finding.word), selftest_cause_code(cause));
	finding_append(&doctor->result->findings, &finding);
}

static void check_libraries(struct doctor *doctor)
{
	const struct stack *stack = &doctor->stack;
	const char *other = stack->libcuda[0] && strcmp(stack->libcuda, stack->driver) ? stack->libcuda :
			    stack->nvml[0] && strcmp(stack->nvml, stack->driver) ? stack->nvml : NULL;

	if (!stack->libcuda_found)
		add_cuda(doctor, SELFTEST_LIB_ABSENT, "no libcuda.so.1 where the loader looks");
	else if (stack->libcuda_empty)
		add_cuda(doctor, SELFTEST_LIB_BROKEN, "libcuda.so.1 has no bytes");
	else if (other && stack->driver[0] && !doctor->facts.simulated)
		finding_add(&doctor->result->findings, FINDING_MISMATCH, NULL, "module %s, libraries %s",
			    stack->driver, other);
}

static bool is_denied(const char *node)
{
	char path[HOST_PATH_MAX];

	host_path(node, path, sizeof(path));
	return access(path, R_OK | W_OK) && errno == EACCES;
}

/* libcuda calls it (it is setuid root) for the module nvidia_uvm and for nodes that are not there yet. */
static bool makes_nodes(const struct doctor *doctor)
{
	return doctor->facts.simulated || host_exists("/usr/bin/nvidia-modprobe");
}

/* Returns whether the nodes are there, usable or not. */
static bool check_nodes(struct doctor *doctor, const struct card *card)
{
	struct finding_list *findings = &doctor->result->findings;
	char proc[HOST_PATH_MAX], node[64];

	host_path("/proc", proc, sizeof(proc));
	if (!busy_node(card->bdf, proc, node, sizeof(node)))
		return true;

	if (!host_exists(node) || !host_exists("/dev/nvidiactl")) {
		if (stack_is_container())
			finding_add(findings, FINDING_CONTAINER, card->bdf, "%s is not in this container", node);
		else if (!makes_nodes(doctor))
			finding_add(findings, FINDING_NODES, card->bdf, "%s is missing",
				    host_exists(node) ? "/dev/nvidiactl" : node);
		return false;
	}

	if (is_denied(node) || is_denied("/dev/nvidiactl"))
		finding_add(findings, FINDING_NODES_DENIED, card->bdf, "%s may not be opened by this user", node);
	return true;
}

static void check_driver_parts(struct doctor *doctor)
{
	struct finding_list *findings = &doctor->result->findings;
	bool nodes = true;
	size_t i;

	check_libraries(doctor);
	for (i = 0; i < doctor->result->nr; i++)
		if (is_bound(&doctor->result->row[i].card))
			nodes &= check_nodes(doctor, &doctor->result->row[i].card);

	nodes &= !makes_nodes(doctor);
	if (nodes && !host_exists("/sys/module/nvidia_uvm"))
		finding_add(findings, FINDING_UVM, NULL,
			    "nvidia_uvm is not loaded, and no nvidia-modprobe is there to do it");
	else if (nodes && !host_exists("/dev/nvidia-uvm"))
		finding_add(findings, FINDING_UVM, NULL,
			    "/dev/nvidia-uvm is missing, and no nvidia-modprobe is there to make it");
	if (!host_exists("/run/nvidia-persistenced/socket") && !doctor->facts.simulated)
		finding_add(findings, FINDING_PERSISTENCE, NULL, "/run/nvidia-persistenced/socket is not there");
}

/* CUDA that the driver offers against what was installed on top of it. */
static void check_programs(struct doctor *doctor)
{
	struct finding_list *findings = &doctor->result->findings;
	const struct compat *compat = &doctor->compat;
	const struct stack *stack = &doctor->stack;
	unsigned int branch = (unsigned int)atoi(stack->driver[0] ? stack->driver : doctor->facts.version), i;
	unsigned int cuda = compat_branch_cuda(branch);

	for (i = 0; i < stack->nr_torch; i++) {
		const struct stack_torch *torch = &stack->torch[i];

		if (torch->cuda && branch && branch < compat_cuda_branch(torch->cuda))
			finding_add(findings, FINDING_CUDA_OLD, NULL,
				    "PyTorch %s in %s wants CUDA %u.%u, driver %u offers %u.%u", torch->text,
				    torch->path, torch->cuda / 100, torch->cuda % 100, branch, cuda / 100,
				    cuda % 100);
		if (!compat_torch_has_code(torch->version, torch->cuda, compat->compute))
			finding_add(findings, FINDING_CUDA_NEW, NULL,
				    "PyTorch %s in %s has no code for capability %u.%u", torch->text, torch->path,
				    compat->compute / 10, compat->compute % 10);
	}

	if (!stack->toolkit)
		return;
	if (compat->cuda_max && stack->toolkit / 100 > compat->cuda_max / 100)
		finding_add(findings, FINDING_CUDA_NEW, NULL,
			    "CUDA toolkit %u.%u cannot build for capability %u.%u, %u.x is the last",
			    stack->toolkit / 100, stack->toolkit % 100, compat->compute / 10, compat->compute % 10,
			    compat->cuda_max / 100);
	else if (branch && branch < compat_cuda_branch(stack->toolkit))
		finding_add(findings, FINDING_CUDA_OLD, NULL, "CUDA toolkit %u.%u, driver %u offers %u.%u",
			    stack->toolkit / 100, stack->toolkit % 100, branch, cuda / 100, cuda % 100);
}

/* One line per kind: which GPU wants what. */
static void check_mix(struct doctor *doctor)
{
	char text[400] = "";
	struct compat compat;
	size_t i, len;

	if (doctor->common)
		return;

	for (i = 0; i < doctor->result->nr; i++) {
		const struct card *card = &doctor->result->row[i].card;

		compat_gpu(card->device, card->row ? card->row->compute : 0, &compat);
		len = strlen(text);
		snprintf(text + len, sizeof(text) - len, "%s%s %s: %s from %u", len ? "; " : "", card->bdf,
			 compat.generation,
			 compat.proprietary ? compat.open ? "either flavour" : "proprietary" : "open",
			 compat.branch_min);
		len = strlen(text);
		if (compat.branch_max)
			snprintf(text + len, sizeof(text) - len, " to %u", compat.branch_max);
	}
	finding_add(&doctor->result->findings, FINDING_MIXED, NULL, "%s", text);
}

/* The open flavour says "Dual MIT/GPL" of itself (open-gpu-kernel-modules kernel-open/nvidia/nv.c). */
static const char *flavour(const struct bind_facts *facts)
{
	if (!facts->license[0])
		return "flavour not known";
	return strcmp(facts->license, "Dual MIT/GPL") ? "proprietary" : "open";
}

static void note_driver(struct doctor *doctor)
{
	const struct bind_facts *facts = &doctor->facts;

	/* Which module takes a card is known by the card. */
	if (!doctor->result->nr)
		result_fact(doctor->result, "nvidia", "%s%s", doctor->stack.driver[0] ? doctor->stack.driver : "not loaded",
			    doctor->stack.driver[0] ? ", loaded" : "");
	else if (!facts->loaded && !facts->installed)
		result_fact(doctor->result, "nvidia", "no driver for this kernel");
	else
		result_fact(doctor->result, "nvidia", "%s, %s, %s%s", facts->version[0] ? facts->version : "version not known",
			    flavour(facts), facts->loaded ? "loaded" : "not loaded", facts->simulated ? " (simulated)" : "");
}

/**
 * doctor_driver - the NVIDIA driver and what is built on it
 * @doctor:	the look
 */
void doctor_driver(struct doctor *doctor)
{
	struct result *result = doctor->result;
	size_t i;

	note_driver(doctor);
	check_mix(doctor);
	for (i = 0; i < result->nr; i++) {
		if (!result->row[i].card.row)
			continue;
		check_binding(doctor, &result->row[i].card);
		check_quirks(doctor, &result->row[i].card);
		take_last_check(doctor, &result->row[i]);
	}
	if (any_bound(result))
		check_driver_parts(doctor);
	if (result->nr)
		check_programs(doctor);
}
