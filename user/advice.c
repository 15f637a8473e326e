// SPDX-License-Identifier: GPL-2.0-only
/*
 * From what is in a host to what goes with it: driver, CUDA, PyTorch, memory, link, power, clocks. Pure: facts in, sentences
 * out. What is not known is said to be unknown; nothing here is carried out.
 */
#include "advice.h"

#include <stdarg.h>
#include <string.h>

/* Below this a copy is what a program waits for: Gen1 x4 carries about 850, a Gen3 x16 slot 13000 (measured: facts of the cards). */
#define NARROW_MBS	2000u

/* What mining rigs ran at for years without losing much: seven tenths of the power (a rule of thumb, not a measurement). */
#define QUIET_PERCENT	70u

/* Board, memory, disk and fans beside the processor; and a processor whose limit is not known. Usual values. */
#define HOST_REST_W	50u
#define HOST_CPU_W	100u

#define VENV	"python3 -m venv ~/torch && "
#define PACKAGES "$(dpkg-query -W -f '${Package} ' '*nvidia*' '*cuda*')"
#define INDEX	"https://download.pytorch.org/whl/"

const char *advice_topic_word(enum advice_topic topic)
{
	static const char *const words[] = {
#define X(id, word) [id] = word,
		ADVICE_TOPICS(X)
#undef X
	};

	return words[topic];
}

const char *advice_state_word(enum advice_state state)
{
	static const char *const words[] = {
#define X(id, word) [id] = word,
		ADVICE_STATES(X)
#undef X
	};

	return words[state];
}

static PRINTF_LIKE(6, 7) struct advice_item *add(struct advice_list *list, enum advice_topic topic, enum advice_state state,
						 const char *bdf, const char *source, const char *format, ...)
{
	struct advice_item *item;
	va_list args;

	list->item = util_grow(list->item, list->nr, &list->room, sizeof(*list->item));
	item = &list->item[list->nr++];
	*item = (struct advice_item){ .topic = topic, .state = state, .source = source };
	util_copy(item->bdf, sizeof(item->bdf), bdf);
	va_start(args, format);
	vsnprintf(item->text, sizeof(item->text), format, args);
	va_end(args);
	return item;
}

static PRINTF_LIKE(2, 3) void set_command(struct advice_item *item, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(item->command, sizeof(item->command), format, args);
	va_end(args);
}

static PRINTF_LIKE(2, 3) void set_undo(struct advice_item *item, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(item->undo, sizeof(item->undo), format, args);
	va_end(args);
}

void advice_free(struct advice_list *list)
{
	free(list->item);
	memset(list, 0, sizeof(*list));
}

/* --- driver --- */

static void gpus_text(const struct advice_facts *facts, char *buf, size_t size)
{
	if (facts->nr == 1)
		util_copy(buf, size, "The one NVIDIA GPU");
	else
		snprintf(buf, size, "The %zu NVIDIA GPUs together", facts->nr);
}

static void branches_text(const struct compat *compat, char *buf, size_t size)
{
	const char *flavour = compat->proprietary ? compat->open ? "proprietary or open" : "proprietary" : "open";

	if (!compat->branch_min)
		snprintf(buf, size, "any branch, %s flavour", flavour);
	else if (compat->branch_max)
		snprintf(buf, size, "branches %u to %u, %s flavour", compat->branch_min, compat->branch_max, flavour);
	else
		snprintf(buf, size, "branch %u or newer, %s flavour", compat->branch_min, flavour);
}

static bool flavour_fits(const struct advice_facts *facts)
{
	return !facts->flavour[0] || (!strcmp(facts->flavour, "open") ? facts->compat.open : facts->compat.proprietary);
}

static bool branch_fits(const struct advice_facts *facts)
{
	return facts->branch >= facts->compat.branch_min && (!facts->compat.branch_max || facts->branch <= facts->compat.branch_max);
}

static const char driver_source[] =
	"NixOS/nixos-hardware issue 1880, NVIDIA/open-gpu-kernel-modules issue 19, Debian's nvidia-detect lists";

static void advise_mix(const struct advice_facts *facts, struct advice_list *list)
{
	char text[128];
	size_t i;

	add(list, ADVICE_DRIVER, ADVICE_CHANGE, "", driver_source,
	    "No one driver drives the %zu NVIDIA GPUs of this host. Put them into different hosts, or give one kind to a virtual machine.",
	    facts->nr);
	for (i = 0; i < facts->nr; i++) {
		branches_text(&facts->card[i].compat, text, sizeof(text));
		add(list, ADVICE_DRIVER, ADVICE_HINT, facts->card[i].bdf, driver_source, "%s (%s): %s", facts->card[i].name,
		    facts->card[i].compat.generation, text);
	}
}

/* Who takes NVIDIA's own packages gets the branch after the last one with the next upgrade. */
static void advise_hold(const struct advice_facts *facts, struct advice_list *list)
{
	unsigned int debian = compat_debian_branch(facts->stack.codename);
	struct advice_item *item;

	if (debian)
		add(list, ADVICE_DRIVER, ADVICE_FITS, "", "Debian's package lists", "Debian %s has branch %u in non-free, which %s.",
		    facts->stack.codename, debian, debian >= facts->compat.branch_min &&
		    (!facts->compat.branch_max || debian <= facts->compat.branch_max) ? "fits" : "does not fit");
	if (!facts->compat.branch_max)
		return;

	item = add(list, ADVICE_DRIVER, ADVICE_HINT, "", driver_source,
		   "Branch %u is the last for %s%s. With packages from NVIDIA's own repository an upgrade would pass it: hold them.",
		   facts->compat.branch_max, facts->compat.generation,
		   facts->compat.branch_max == 580 ? " (until June 2028, says NVIDIA)" : "");
	set_command(item, "sudo apt-mark hold " PACKAGES);
	set_undo(item, "sudo apt-mark unhold " PACKAGES);
}

static void advise_driver(const struct advice_facts *facts, struct advice_list *list)
{
	struct advice_item *item;
	char text[128], gpus[64];

	if (!facts->common) {
		advise_mix(facts, list);
		return;
	}

	branches_text(&facts->compat, text, sizeof(text));
	gpus_text(facts, gpus, sizeof(gpus));
	if (!facts->branch) {
		item = add(list, ADVICE_DRIVER, ADVICE_HINT, "", driver_source, "No driver is installed. %s: %s.", gpus, text);
		set_command(item, "%s", facts->install);
	} else if (branch_fits(facts) && flavour_fits(facts)) {
		add(list, ADVICE_DRIVER, ADVICE_FITS, "", driver_source, "Driver branch %u%s%s fits. %s: %s.", facts->branch,
		    facts->flavour[0] ? ", " : "", facts->flavour, gpus, text);
	} else {
		item = add(list, ADVICE_DRIVER, ADVICE_CHANGE, "", driver_source,
			   "Driver branch %u%s%s does not fit. %s: %s.", facts->branch, facts->flavour[0] ? ", " : "", facts->flavour, gpus,
			   text);
		set_command(item, "%s", facts->install);
	}

	advise_hold(facts, list);
}

/* --- CUDA and PyTorch --- */

static const char cuda_source[] = "NVIDIA's CUDA release notes; ptxas 13.0 refuses sm_61";

static void advise_cuda(const struct advice_facts *facts, struct advice_list *list)
{
	unsigned int cuda = compat_branch_cuda(facts->branch), last = facts->compat.cuda_max, toolkit = facts->stack.toolkit;

	if (!facts->common) {
		add(list, ADVICE_CUDA, ADVICE_UNKNOWN, "", driver_source,
		    "CUDA and PyTorch depend on which of the GPUs stay together.");
		return;
	}
	if (cuda)
		add(list, ADVICE_CUDA, ADVICE_FITS, "", cuda_source,
		    "Driver branch %u offers CUDA %u.%u: programs built with CUDA %u.x run, those of %u.x do not.", facts->branch,
		    cuda / 100, cuda % 100, cuda / 100, cuda / 100 + 1);
	if (last)
		add(list, ADVICE_CUDA, ADVICE_HINT, "", cuda_source,
		    "Toolkit %u.%u is the last that builds for capability %u.%u; %u.0 and its libraries dropped it.", last / 100, last % 100,
		    facts->compat.compute / 10, facts->compat.compute % 10, last / 100 + 1);
	if (!toolkit)
		return;

	if (last && toolkit / 100 > last / 100)
		add(list, ADVICE_CUDA, ADVICE_CHANGE, "", cuda_source, "The installed toolkit %u.%u cannot build for these GPUs: take %u.%u.",
		    toolkit / 100, toolkit % 100, last / 100, last % 100);
	else if (facts->branch && facts->branch < compat_cuda_branch(toolkit))
		add(list, ADVICE_CUDA, ADVICE_CHANGE, "", cuda_source, "The installed toolkit %u.%u needs driver branch %u or newer.",
		    toolkit / 100, toolkit % 100, compat_cuda_branch(toolkit));
	else
		add(list, ADVICE_CUDA, ADVICE_FITS, "", cuda_source, "The installed toolkit %u.%u fits.", toolkit / 100, toolkit % 100);
}

static const char torch_source[] = "pytorch .ci/manywheel/build_cuda.sh, issues 157517, 182250, 190385";

/* "2.14" as the bound that leaves out 2.15. */
static void below_text(const char *newest, char *buf, size_t size)
{
	unsigned int version = newest ? stack_version(newest) : 0;

	buf[0] = '\0';
	if (version)
		snprintf(buf, size, "<%u.%u", version / 100, version % 100 + 1);
}

static void advise_wheels(const struct advice_facts *facts, struct advice_list *list)
{
	struct advice_item *item;
	struct torch torch;
	char below[16];

	compat_torch(&facts->compat, facts->branch, &torch);
	below_text(torch.newest, below, sizeof(below));
	item = add(list, ADVICE_PYTORCH, ADVICE_HINT, "", torch_source, "Wheels with code for capability %u.%u: index %s%s%s.",
		   facts->compat.compute / 10, facts->compat.compute % 10, torch.index, torch.newest ? ", up to PyTorch " : "",
		   torch.newest ? torch.newest : "");
	set_command(item, VENV "~/torch/bin/pip install 'torch%s' --index-url " INDEX "%s", below, torch.index);
	set_undo(item, "rm -r ~/torch");
	item = add(list, ADVICE_PYTORCH, ADVICE_HINT, "", torch_source,
		   "The one-line check: it must print sm_%u%s or name the card, and 2.0, and no warning.", facts->compat.compute,
		   facts->compat.compute == 61 ? " or sm_60" : "");
	set_command(item, "~/torch/bin/python -c \"import torch; print(torch.__version__, torch.cuda.get_arch_list(), "
		    "torch.cuda.get_device_name(0), (torch.ones(1, device='cuda') * 2).item())\"");
}

static void advise_installed_torch(const struct advice_facts *facts, struct advice_list *list)
{
	unsigned int i;

	for (i = 0; i < facts->stack.nr_torch; i++) {
		const struct stack_torch *torch = &facts->stack.torch[i];

		if (!torch->cuda)
			add(list, ADVICE_PYTORCH, ADVICE_CHANGE, "", torch_source, "PyTorch %s in %s was built without CUDA.", torch->text,
			    torch->path);
		else if (!compat_torch_has_code(torch->version, torch->cuda, facts->compat.compute))
			add(list, ADVICE_PYTORCH, ADVICE_CHANGE, "", torch_source,
			    "PyTorch %s in %s has no code for capability %u.%u: it fails with 'no kernel image'.", torch->text, torch->path,
			    facts->compat.compute / 10, facts->compat.compute % 10);
		else if (facts->branch && facts->branch < compat_cuda_branch(torch->cuda))
			add(list, ADVICE_PYTORCH, ADVICE_CHANGE, "", cuda_source, "PyTorch %s in %s needs driver branch %u or newer.",
			    torch->text, torch->path, compat_cuda_branch(torch->cuda));
		else
			add(list, ADVICE_PYTORCH, ADVICE_FITS, "", torch_source, "PyTorch %s in %s fits.", torch->text, torch->path);
	}
}

static void advise_cudnn(const struct advice_facts *facts, struct advice_list *list)
{
	unsigned int last = compat_cudnn_max(facts->compat.compute), found = facts->stack.cudnn;
	static const char source[] = "immich pull request 23110; Arch Linux package cudnn9.10-cuda12.9";
	struct advice_item *item;

	if (last && found > last)
		add(list, ADVICE_PYTORCH, ADVICE_CHANGE, "", source, "The installed cuDNN %u.%u dropped these GPUs: take %u.%u.",
		    found / 100, found % 100, last / 100, last % 100);
	else if (last && found)
		add(list, ADVICE_PYTORCH, ADVICE_FITS, "", source, "The installed cuDNN %u.%u fits; %u.%u is the last for these GPUs.",
		    found / 100, found % 100, last / 100, last % 100);
	if (!last || found)
		return;

	item = add(list, ADVICE_PYTORCH, ADVICE_HINT, "", source, "cuDNN %u.%u is the last for these GPUs: look what a wheel brings.",
		   last / 100, last % 100);
	set_command(item, "~/torch/bin/pip list | grep -i cudnn");
}

static void advise_pytorch(const struct advice_facts *facts, struct advice_list *list)
{
	struct advice_item *item;

	if (!facts->common)
		return;
	if (!facts->compat.compute) {
		add(list, ADVICE_PYTORCH, ADVICE_UNKNOWN, "", torch_source, "The capability of a GPU is not known, so no wheel can be named.");
		return;
	}

	advise_wheels(facts, list);
	advise_installed_torch(facts, list);
	advise_cudnn(facts, list);
	if (facts->compat.compute >= 70)
		return;

	item = add(list, ADVICE_PYTORCH, ADVICE_HINT, "", "ChatTTS issue 341, nnUNet issue 2188, triton issue 161",
		   "Triton needs capability 7.0: torch.compile and what is built on it (vLLM's and others' kernels) fail; run eagerly.");
	set_command(item, "export TORCHDYNAMO_DISABLE=1");
	set_undo(item, "unset TORCHDYNAMO_DISABLE");
}

/* --- memory of the cards, and what they compute well --- */

/* A driver keeps some of the memory for itself. */
static bool is_size(unsigned int found_mib, unsigned int sold_mib)
{
	return sold_mib && found_mib <= sold_mib && found_mib >= sold_mib - sold_mib / 16;
}

static void advise_vbios(const struct advice_card *card, struct advice_list *list)
{
	const struct board *board = card->board;
	struct advice_item *item;

	if (!board || !card->memory_mib) {
		add(list, ADVICE_MEMORY, ADVICE_UNKNOWN, card->bdf, "", "%s: %s", card->name, card->memory_mib ?
		    "no data sheet to compare its memory with." : "the driver does not tell its memory.");
		return;
	}

	if (is_size(card->memory_mib, board->memory_mib[0]) || is_size(card->memory_mib, board->memory_mib[1])) {
		add(list, ADVICE_MEMORY, ADVICE_FITS, card->bdf, board->source, "%s: %u MiB, as sold.", card->name, card->memory_mib);
		return;
	}

	if (card->memory_mib < board->memory_mib[0]) {
		add(list, ADVICE_MEMORY, ADVICE_HINT, card->bdf, board->source,
		    "%s: %u MiB, sold with %u: a board of another kind, or memory that somebody switched off because it was bad.", card->name,
		    card->memory_mib, board->memory_mib[0]);
		return;
	}

	item = add(list, ADVICE_MEMORY, ADVICE_HINT, card->bdf, board->source,
		   "%s: %u MiB, sold with %u.%s Somebody may also have changed clocks and power limits; softtape cannot tell which VBIOS it "
		   "is%s%s. What counts is whether all of the memory keeps its data.", card->name, card->memory_mib, board->memory_mib[0],
		   board->changed_mib && is_size(card->memory_mib, board->changed_mib) ?
		   " This size is known from cards whose VBIOS was changed." : " This size is not known of this product.",
		   card->nvml.vbios[0] ? ", it calls itself " : "", card->nvml.vbios);
	set_command(item, "sudo softtape check --level long %s", card->bdf);
}

static bool any_capability(const struct advice_facts *facts, unsigned int compute)
{
	size_t i;

	for (i = 0; i < facts->nr; i++)
		if (facts->card[i].mining && facts->card[i].compat.compute == compute)
			return true;
	return false;
}

static bool any_slow_fma(const struct advice_facts *facts)
{
	size_t i;

	for (i = 0; i < facts->nr; i++)
		if (facts->card[i].mining && facts->card[i].slow_fma)
			return true;
	return false;
}

static void advise_memory(const struct advice_facts *facts, struct advice_list *list)
{
	unsigned int cards_mib = 0;
	size_t i;

	for (i = 0; i < facts->nr; i++) {
		cards_mib += facts->card[i].memory_mib;
		if (facts->card[i].mining)
			advise_vbios(&facts->card[i], list);
	}

	if (any_capability(facts, 61))
		add(list, ADVICE_MEMORY, ADVICE_HINT, "", "measured on a P104-100: FP32 3.37, FP16 0.083 TFLOP/s, INT8 15.8 TOP/s",
		    "Capability 6.1 computes FP16 at 1/64 of FP32: half precision saves memory, not time. 8-bit integers are its strength: "
		    "quantised models (llama.cpp) suit it.");
	if (any_slow_fma(facts))
		add(list, ADVICE_MEMORY, ADVICE_HINT, "", "a review of a CMP 170HX: FP32 0.39 TFLOP/s with FMA, 6.25 without",
		    "The maker cut fused multiply-add on the CMP cards: own CUDA code built with nvcc -fmad=false can be many times faster.");
	if (facts->host_mib && cards_mib > facts->host_mib)
		add(list, ADVICE_MEMORY, ADVICE_HINT, "", "arithmetic",
		    "The cards have %u MiB together, the host %u: load models by mapping them (safetensors, torch.load(mmap=True)), one "
		    "after the other.", cards_mib, facts->host_mib);
}

/* --- links --- */

static const char link_source[] = "measured on P104-100 and CMP cards: 0.16 to 0.2 GB/s at 2.5 GT/s x1, 0.75 to 0.85 at x4";

static bool is_narrow(const struct advice_card *card)
{
	return card->mining && card->link_mbs && card->link_mbs < NARROW_MBS;
}

static void advise_narrow(const struct advice_facts *facts, struct advice_list *list)
{
	size_t i, nr = 0;

	for (i = 0; i < facts->nr; i++)
		nr += is_narrow(&facts->card[i]);
	if (!nr)
		return;

	add(list, ADVICE_LINK, ADVICE_HINT, "", link_source,
	    "Narrow links (%zu of %zu GPUs): keep model and data on the card, copy once, compute often. Otherwise feed few large batches "
	    "from pinned memory while it computes: DataLoader(pin_memory=True, num_workers=2, prefetch_factor=4, persistent_workers=True) "
	    "and x.to('cuda', non_blocking=True); send bytes (uint8) and convert on the card.", nr, facts->nr);
	if (nr > 1)
		add(list, ADVICE_LINK, ADVICE_HINT, "", link_source,
		    "Do not train one model data-parallel over such links: each step moves all gradients. One model per card, or layers split "
		    "over the cards, moves little.");
}

static void advise_link(const struct advice_facts *facts, struct advice_list *list)
{
	size_t i;

	for (i = 0; i < facts->nr; i++) {
		const struct advice_card *card = &facts->card[i];

		if (!card->mining)
			continue;
		/* 1 GiB is 1074 MB. */
		if (!card->link_mbs)
			add(list, ADVICE_LINK, ADVICE_UNKNOWN, card->bdf, "", "%s: speed and width of its link are not known.", card->name);
		else
			add(list, ADVICE_LINK, is_narrow(card) ? ADVICE_HINT : ADVICE_FITS, card->bdf, link_source,
			    "%s: %u.%u GT/s x%u carries about %u MB/s, 1 GiB takes %.1f s.", card->name, card->speed_mts / 1000,
			    card->speed_mts % 1000 / 100, card->width, card->link_mbs, 1074.0 / card->link_mbs);
	}

	for (i = 0; i < facts->nr; i++) {
		const struct advice_card *card = &facts->card[i];

		if (card->mining && card->shared > 1 && card->shared_mbs)
			add(list, ADVICE_LINK, ADVICE_HINT, card->bdf, link_source,
			    "is one of %u cards that share an uplink of about %u MB/s.", card->shared, card->shared_mbs);
	}

	advise_narrow(facts, list);
}

/* --- power --- */

/* What a card may draw: what it is set to now, else what it was sold with. */
static unsigned int card_w(const struct advice_card *card)
{
	if (card->nvml.known && card->nvml.limit_mw)
		return (card->nvml.limit_mw + 999) / 1000;
	return card->board ? card->board->power_w : 0;
}

/* Sizes that power supplies are sold in, watts. */
static unsigned int supply_for(unsigned int watts)
{
	static const unsigned int sizes[] = {
		300, 400, 450, 500, 550, 600, 650, 750, 850, 1000, 1200, 1300, 1600, 2000, 2400,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		if (sizes[i] >= watts)
			return sizes[i];
	return 0;
}

/**
 * advice_budget_make - add up what the rig may draw
 * @facts:	cards and host
 * @ret_budget:	filled
 */
void advice_budget_make(const struct advice_facts *facts, struct advice_budget *ret_budget)
{
	struct advice_budget budget = { .host_assumed = !facts->laptop };
	unsigned int watts;
	size_t i;

	if (!facts->laptop)
		budget.host_w = (facts->cpu_w ? facts->cpu_w : HOST_CPU_W) + HOST_REST_W;
	for (i = 0; i < facts->nr; i++) {
		/* A laptop feeds itself and what is inside. */
		if (facts->laptop && !facts->card[i].mining)
			continue;
		watts = card_w(&facts->card[i]);
		budget.cards_w += watts;
		budget.unknown += !watts;
	}

	watts = budget.cards_w + budget.host_w;
	budget.total_w = (watts * (100 + ADVICE_RESERVE_PERCENT) + 99) / 100;
	budget.supply_w = budget.unknown ? 0 : supply_for(budget.total_w);
	*ret_budget = budget;
}

static void advise_budget(const struct advice_facts *facts, struct advice_list *list)
{
	static const char source[] = "power limits from NVML, else data sheets; processor limit from RAPL; the rest usual values";
	struct advice_budget budget;
	char host[96];

	advice_budget_make(facts, &budget);
	if (facts->laptop)
		util_copy(host, sizeof(host), "nothing for the laptop, which feeds itself");
	else if (facts->cpu_w)
		snprintf(host, sizeof(host), "%u W host (processor %u, %u assumed for the rest)", budget.host_w, facts->cpu_w, HOST_REST_W);
	else
		snprintf(host, sizeof(host), "%u W host (assumed: the processor's limit is not known)", budget.host_w);
	if (budget.unknown)
		add(list, ADVICE_POWER, ADVICE_UNKNOWN, "", source,
		    "%u W cards + %s + %u %% reserve = %u W, and %u cards whose power is not known: add theirs before you choose a supply.",
		    budget.cards_w, host, ADVICE_RESERVE_PERCENT, budget.total_w, budget.unknown);
	else if (!budget.supply_w)
		add(list, ADVICE_POWER, ADVICE_HINT, "", source,
		    "%u W cards + %s + %u %% reserve = %u W: more than one supply carries. Two supplies must switch on together.",
		    budget.cards_w, host, ADVICE_RESERVE_PERCENT, budget.total_w);
	else
		add(list, ADVICE_POWER, ADVICE_HINT, "", source, "%u W cards + %s + %u %% reserve = %u W: a supply of %u W.", budget.cards_w,
		    host, ADVICE_RESERVE_PERCENT, budget.total_w, budget.supply_w);

	if (facts->nr > 1)
		add(list, ADVICE_POWER, ADVICE_HINT, "", "PCIe CEM: 75 W per x16 slot; SATA plug: three 1.5 A pins of 12 V",
		    "A card may take 75 W through its slot or riser: feed each riser from a PCIe plug of the same supply as the card, never "
		    "from a SATA plug (54 W); with three or more cards in slots use the board's extra power plugs.");
}

/* A round number of watts that the card accepts. */
static unsigned int quiet_w(const struct nvml_card *nvml)
{
	unsigned int watts = nvml->default_mw / 1000 * QUIET_PERCENT / 100 / 5 * 5, min_w = (nvml->min_mw + 999) / 1000;

	return watts < min_w ? min_w : watts;
}

static void advise_limit(const struct advice_card *card, struct advice_list *list)
{
	const struct nvml_card *nvml = &card->nvml;
	struct advice_item *item;
	unsigned int watts;
	char sold[96];

	if (!nvml->known || !nvml->default_mw || !nvml->min_mw) {
		if (card->board)
			snprintf(sold, sizeof(sold), "sold with %u W, %s", card->board->power_w, card->board->plugs);
		else
			util_copy(sold, sizeof(sold), "what it was sold with is not known");
		item = add(list, ADVICE_POWER, ADVICE_UNKNOWN, card->bdf, card->board ? card->board->source : "",
			   "%s: its power limits cannot be read%s; %s.", card->name, nvml->known ? " on this card" :
			   " without the driver", sold);
		set_command(item, "nvidia-smi -q -d POWER -i %s", card->bdf);
		return;
	}

	watts = quiet_w(nvml);
	if (card->board && nvml->limit_mw / 1000 > card->board->power_w * 11 / 10)
		add(list, ADVICE_POWER, ADVICE_HINT, card->bdf, card->board->source,
		    "%s: its limit is %u W, it was sold with %u (%s): check plugs and cooling, or lower it.", card->name,
		    nvml->limit_mw / 1000, card->board->power_w, card->board->plugs);
	if (nvml->limit_mw / 1000 <= watts) {
		add(list, ADVICE_POWER, ADVICE_FITS, card->bdf, "NVML", "%s: limited to %u of %u W.", card->name, nvml->limit_mw / 1000,
		    nvml->default_mw / 1000);
		return;
	}

	item = add(list, ADVICE_POWER, ADVICE_HINT, card->bdf, "NVML; 70 % is a rule of thumb of mining rigs",
		   "%s: %u W now, %u to %u allowed. Lower the power limit first: it cools, calms the supply and costs little speed. Lost when "
		   "the driver unloads, so keep it loaded (-pm 1).", card->name, nvml->limit_mw / 1000, (nvml->min_mw + 999) / 1000,
		   nvml->max_mw / 1000);
	set_command(item, "sudo nvidia-smi -i %s -pm 1 && sudo nvidia-smi -i %s -pl %u && nvidia-smi -i %s "
		    "--query-gpu=power.limit --format=csv,noheader", card->bdf, card->bdf, watts, card->bdf);
	set_undo(item, "sudo nvidia-smi -i %s -pl %u", card->bdf, nvml->default_mw / 1000);
}

static void advise_power(const struct advice_facts *facts, struct advice_list *list)
{
	size_t i;

	advise_budget(facts, list);
	for (i = 0; i < facts->nr; i++)
		if (facts->card[i].mining)
			advise_limit(&facts->card[i], list);
}

/* --- clocks and fans: after the power limit, and only what can be read back --- */

#define PYNVML	"sudo ~/torch/bin/python -c \"import pynvml as n; n.nvmlInit(); h = n.nvmlDeviceGetHandleByPciBusId('%s'.encode()); "

static void advise_clocks(const struct advice_card *card, struct advice_list *list)
{
	static const char source[] = "NVML's documentation: locked clocks from Volta on, clock offsets from Maxwell on";
	const struct nvml_card *nvml = &card->nvml;
	struct advice_item *item;

	if (!nvml->known) {
		add(list, ADVICE_CLOCKS, ADVICE_UNKNOWN, card->bdf, "", "%s: the driver's library was not asked.", card->name);
		return;
	}

	if (nvml->locks_clocks && card->compat.compute >= 70 && nvml->max_mhz) {
		item = add(list, ADVICE_CLOCKS, ADVICE_HINT, card->bdf, source,
			   "%s: errors under load that a lower power limit does not cure may go with lower clocks (highest now %u MHz).",
			   card->name, nvml->max_mhz);
		set_command(item, "sudo nvidia-smi -i %s -lgc 0,%u", card->bdf, nvml->max_mhz * 8 / 10 / 15 * 15);
		set_undo(item, "sudo nvidia-smi -i %s -rgc", card->bdf);
	}

	if (!nvml->offset_reads) {
		add(list, ADVICE_CLOCKS, ADVICE_UNKNOWN, card->bdf, source,
		    "%s: no clock offsets: this driver has no call for them or this card does not answer it. nvidia-settings would need a "
		    "display server, which a headless card has not.", card->name);
		return;
	}

	item = add(list, ADVICE_CLOCKS, ADVICE_HINT, card->bdf, source,
		   "%s: clock offsets can be set and read back without a display server (pip install nvidia-ml-py). Only downwards makes a "
		   "card more stable; believe the number that is read back.", card->name);
	set_command(item, PYNVML "n.nvmlDeviceSetGpcClkVfOffset(h, -50); print(n.nvmlDeviceGetGpcClkVfOffset(h))\"", card->bdf);
	set_undo(item, PYNVML "n.nvmlDeviceSetGpcClkVfOffset(h, 0)\"", card->bdf);
}

static void advise_fan(const struct advice_card *card, struct advice_list *list)
{
	static const char source[] = "NVML of this card; nvmlDeviceSetFanSpeed_v2 in NVML's documentation";
	const struct nvml_card *nvml = &card->nvml;
	struct advice_item *item;

	if (!nvml->known)
		return;
	if (!nvml->has_fan) {
		add(list, ADVICE_FANS, ADVICE_HINT, card->bdf, source,
		    "%s: reports no fan: a passive card needs a stream of air through it, or its fan is not wired to it.", card->name);
		return;
	}

	item = add(list, ADVICE_FANS, nvml->sets_fan ? ADVICE_HINT : ADVICE_FITS, card->bdf, source,
		   "%s: %u C, fan at %u %% by the card's own curve. Keep it: lower the power limit first. %s", card->name, nvml->celsius,
		   nvml->fan_percent, nvml->sets_fan ? "A fixed speed stays fixed when the card gets hot; this sets it and gives it back." :
		   "This driver has no call for a fan without a display server.");
	if (!nvml->sets_fan)
		return;
	set_command(item, PYNVML "n.nvmlDeviceSetFanSpeed_v2(h, 0, 80); print(n.nvmlDeviceGetFanSpeed_v2(h, 0))\"", card->bdf);
	set_undo(item, PYNVML "n.nvmlDeviceSetDefaultFanSpeed_v2(h, 0)\"", card->bdf);
}

/**
 * advice_make - what goes with this host
 * @facts:	what is there
 * @ret_list:	filled, by topic; free it with advice_free()
 */
void advice_make(const struct advice_facts *facts, struct advice_list *ret_list)
{
	struct advice_list list = { 0 };
	size_t i;

	advise_driver(facts, &list);
	advise_cuda(facts, &list);
	advise_pytorch(facts, &list);
	advise_memory(facts, &list);
	advise_link(facts, &list);
	advise_power(facts, &list);
	for (i = 0; i < facts->nr; i++)
		if (facts->card[i].mining)
			advise_clocks(&facts->card[i], &list);
	for (i = 0; i < facts->nr; i++)
		if (facts->card[i].mining)
			advise_fan(&facts->card[i], &list);
	*ret_list = list;
}
