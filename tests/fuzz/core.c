// SPDX-License-Identifier: GPL-2.0-only
/*
 * Both ends of a link made of any bytes through the module's pure core: registers, words, plan, report and line.
 *
 * The first byte chooses the policy and whether what follows are the bytes of both ends, or damage to sound ones: three
 * bytes each, offset and value.
 */
#include <stdlib.h>
#include <string.h>

#include "config.h"

#define SPACE	0x200	/* of each end; what is behind the first extended capabilities says nothing to the core */

static void put32(__u8 *space, int off, __u32 value)
{
	for (int i = 0; i < 4; i++)
		space[off + i] = value >> i * 8;
}

/* P104-100 and port as in tests/fixtures/cases/p104-100-with-port.txt, both with L1 substates at 0x100. */
static void make_sound(__u8 *card, __u8 *port)
{
	put32(card, 0x00, 0x1b8710de);
	put32(card, 0x08, 0x030200a1);
	put32(card, 0x34, 0x78);
	put32(card, 0x78, 0x00020010);
	put32(card, 0x84, 0x00453c41);
	put32(card, 0x88, 0x10110143);
	put32(card, 0xa4, 0x2);
	put32(card, 0xa8, 0x1);
	put32(port, 0x00, 0xa1188086);
	put32(port, 0x34, 0x40);
	put32(port, 0x40, 0x01420010);
	put32(port, 0x4c, 0x00100c43);
	put32(port, 0x50, 0x30110043);
	put32(port, 0x6c, 0xe);
	put32(port, 0x70, 0x3);
	card[0x06] = port[0x06] = 0x10;
	for (int i = 0; i < 2; i++) {
		put32(i ? card : port, 0x100, 0x0001001e);
		put32(i ? card : port, 0x104, 0x1f);
		put32(i ? card : port, 0x108, 0xf);
	}
}

static void make_ends(const unsigned char *data, size_t size, __u8 ends[2][SPACE])
{
	if (data[0] & 1) {
		memcpy(ends, data + 1, size - 1 < 2 * SPACE ? size - 1 : 2 * SPACE);
		return;
	}

	make_sound(ends[0], ends[1]);
	for (size_t i = 1; i + 2 < size; i += 3)
		ends[data[i] & 1][(data[i] >> 1 | data[i + 1] << 7) % SPACE] = data[i + 2];
}

static void expect(bool good)
{
	if (!good)
		abort();
}

/* What no bytes may bring about. */
static void check(const struct softtape_policy *policy, const struct softtape_view *view)
{
	const struct softtape_outcome outcome = { .cap_to = 1 };
	struct softtape_report report = { .card = softtape_card_at(0), .smbus = "off" };
	char line[SOFTTAPE_LINE_MAX];
	struct softtape_plan plan;

	softtape_plan_make(view, policy, &plan);
	expect(plan.nr >= 0 && plan.nr <= SOFTTAPE_STEPS_MAX);
	for (int i = 0; i < plan.nr; i++) {
		const struct softtape_step *step = &plan.step[i];

		if (step->what == SOFTTAPE_CAP)
			expect(policy->speed && step->to <= policy->speed);
		else
			expect(step->to == SOFTTAPE_OFF && softtape_value_on(step->from));
		if (step->what < SOFTTAPE_D3COLD)
			expect(policy->aspm != SOFTTAPE_ASPM_KEEP);
	}

	softtape_report_make(&report, view, view, policy, &outcome);
	report.after = "verify";
	expect(softtape_report_line(&report, line, sizeof(line)) < sizeof(line) - 1);
	expect(!softtape_report_differs(&report, &report));
	for (int i = 0; i < SOFTTAPE_NR_FIELDS; i++)
		expect(softtape_report_field(&report, i, line, sizeof(line)));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct softtape_link link = { .above = SOFTTAPE_ABOVE_PORT, .nr_fn = 1, .d3cold = SOFTTAPE_ON };
	struct softtape_policy policy = { 0 };
	struct softtape_view view;
	__u8 *ends;

	if (!size)
		return 0;

	/* On the heap, so that a read behind the end is seen. */
	ends = calloc(2, SPACE);
	expect(ends);
	make_ends(data, size, (void *)ends);
	policy.aspm = data[0] >> 1 & 1 ? SOFTTAPE_ASPM_KEEP : SOFTTAPE_ASPM_OFF;
	policy.speed = data[0] >> 2 & 3;
	policy.dry_run = data[0] >> 4 & 1;
	link.above = (data[0] >> 5 & 3) % 3;

	for (int i = 0; i < 2; i++) {
		struct config config = { ends + i * SPACE, data[0] >> 7 ? SPACE : 0x100 };

		config_end(&config, i ? &link.port : &link.fn[0]);
	}
	softtape_view_make(&link, &view);
	check(&policy, &view);
	free(ends);
	return 0;
}
