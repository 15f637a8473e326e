/* SPDX-License-Identifier: GPL-2.0-only */
/* From what is in a host to what goes with it: driver, CUDA, PyTorch, memory, link, power, clocks. Pure. */
#ifndef ADVICE_H
#define ADVICE_H

#include "board.h"
#include "compat.h"
#include "nvml.h"
#include "stack.h"

/* X(enumerator, word), in the order they are printed; the words are interface (JSON). */
#define ADVICE_TOPICS(X)			\
	X(ADVICE_DRIVER,	"driver")	\
	X(ADVICE_CUDA,		"cuda")		\
	X(ADVICE_PYTORCH,	"pytorch")	\
	X(ADVICE_MEMORY,	"memory")	\
	X(ADVICE_LINK,		"link")		\
	X(ADVICE_POWER,		"power")	\
	X(ADVICE_CLOCKS,	"clocks")	\
	X(ADVICE_FANS,		"fans")

enum advice_topic {
#define X(id, word) id,
	ADVICE_TOPICS(X)
#undef X
	ADVICE_TOPIC_NR,
};

/*
 * X(enumerator, word). fits: what is there is right. change: what is there does not go together. hint: worth doing.
 * unknown: could not be found out.
 */
#define ADVICE_STATES(X)			\
	X(ADVICE_FITS,		"fits")		\
	X(ADVICE_CHANGE,	"change")	\
	X(ADVICE_HINT,		"hint")		\
	X(ADVICE_UNKNOWN,	"unknown")

enum advice_state {
#define X(id, word) id,
	ADVICE_STATES(X)
#undef X
};

/**
 * struct advice_item - one piece of advice
 * @topic:	what it is about
 * @state:	how much it matters
 * @bdf:	card, empty = the host
 * @text:	one or two sentences
 * @command:	what to type, empty = nothing
 * @undo:	what takes @command back, empty = nothing to take back
 * @source:	where the fact is from
 */
struct advice_item {
	enum advice_topic topic;
	enum advice_state state;
	char bdf[ADDRESS_MAX];
	char text[512];
	char command[768];
	char undo[384];
	const char *source;
};

struct advice_list {
	struct advice_item *item;
	size_t nr;
	size_t room;
};

/**
 * struct advice_card - one NVIDIA GPU of the host; 0 = not known
 * @bdf:	address
 * @name:	product name
 * @mining:	it is in the card list
 * @slow_fma:	its FMA throughput was cut by the maker
 * @compat:	what it can live with
 * @speed_mts:	MT/s of its link now
 * @width:	lanes now
 * @link_mbs:	what the link carries one way, 10^6 bytes per second
 * @shared:	cards that share one link further up, this one counted; 0 or 1 = none
 * @shared_mbs:	what that link carries
 * @memory_mib:	memory as the driver tells it
 * @board:	as sold, NULL = not known
 * @nvml:	what NVML says, .known = false when it does not
 */
struct advice_card {
	char bdf[ADDRESS_MAX];
	char name[CARD_WORD_MAX];
	bool mining;
	bool slow_fma;
	struct compat compat;
	unsigned int speed_mts;
	unsigned int width;
	unsigned int link_mbs;
	unsigned int shared;
	unsigned int shared_mbs;
	unsigned int memory_mib;
	const struct board *board;
	struct nvml_card nvml;
};

/**
 * struct advice_facts - everything the advice rests on
 * @stack:	what is installed
 * @compat:	what all GPUs can live with together
 * @common:	one driver can drive all of them
 * @branch:	of the installed driver, 0 = none
 * @flavour:	"proprietary", "open", or empty = not known
 * @install:	the lines that bring the driver to this host
 * @card:	every NVIDIA GPU
 * @nr:		their number
 * @host_mib:	memory of the host
 * @laptop:	the cards in the list are fed by a supply of their own
 * @cpu_w:	long-term power limit of the processors, 0 = not known
 */
struct advice_facts {
	struct stack stack;
	struct compat compat;
	bool common;
	unsigned int branch;
	char flavour[16];
	char install[768];
	struct advice_card *card;
	size_t nr;
	unsigned int host_mib;
	bool laptop;
	unsigned int cpu_w;
};

/**
 * struct advice_budget - power of the whole rig, watts
 * @cards_w:	limits of the cards whose power is known
 * @unknown:	cards whose power is not known
 * @host_w:	the rest of the host
 * @host_assumed: part of @host_w is a usual value, not one of this host
 * @total_w:	both with the reserve
 * @supply_w:	next standard size; 0 = there is none, or @unknown is not 0
 */
struct advice_budget {
	unsigned int cards_w;
	unsigned int unknown;
	unsigned int host_w;
	bool host_assumed;
	unsigned int total_w;
	unsigned int supply_w;
};

#define ADVICE_RESERVE_PERCENT	20u

const char *advice_topic_word(enum advice_topic topic);
const char *advice_state_word(enum advice_state state);
void advice_budget_make(const struct advice_facts *facts, struct advice_budget *ret_budget);
void advice_make(const struct advice_facts *facts, struct advice_list *ret_list);
void advice_free(struct advice_list *list);

#endif
