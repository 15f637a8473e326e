// SPDX-License-Identifier: GPL-2.0-only
/* The table of findings: complete, and its words from the small lists. */
#include "test.h"

#include "finding.h"
#include "selftest.h"

static void test_rows(void **state)
{
	static const char actions[] = " none capture configure cool driver install kernel-parameter permission power reboot "
				      "reseat retire riser slower wait ";
	enum finding_code code;
	char action[64];
	int i;

	(void)state;
	for (i = 0; i < FINDING_NR; i++) {
		const struct finding_info *info = finding_info(i);
		struct finding finding;

		finding_make(&finding, i, NULL, "%s", "");
		if (!info->title || !info->cause || !info->remedy || !info->command || !info->action)
			fail_msg("%s is not complete", finding_word(&finding));
		if (!info->zh.title || !info->zh.cause || !info->zh.remedy)
			fail_msg("%s has no Chinese", finding_word(&finding));
		snprintf(action, sizeof(action), " %s ", info->action);
		if (!strstr(actions, action))
			fail_msg("%s: action '%s'", finding_word(&finding), info->action);
		assert_true(finding_find(finding_word(&finding), &code));
		assert_int_equal(code, i);
	}
}

/* One word for one thing; a part of a command that is prose would stay English in Chinese output. */
static void test_words(void **state)
{
	int i, n;

	(void)state;
	for (i = 0; i < FINDING_NR; i++) {
		const struct finding_info *info = finding_info(i);
		const char *texts[] = { info->zh.title, info->zh.cause, info->zh.remedy };

		for (n = 0; n < (int)ARRAY_SIZE(texts); n++) {
			const char *cable = strstr(texts[n], "转接线");

			if (strstr(texts[n], "流处理器"))
				fail_msg("%s: 流处理器 is a CUDA core, a multiprocessor is 流式多处理器", info->title);
			if (cable && cable != strstr(texts[n], "SATA 转接线") + strlen("SATA "))
				fail_msg("%s: a riser is 转接卡", info->title);
		}
		if (strstr(info->command, "reboot)"))
			fail_msg("%s: prose in the command", info->title);
	}
}

static void test_causes(void **state)
{
	int i;

	(void)state;
	for (i = SELFTEST_CAUSE_NONE + 1; i < SELFTEST_NR_CAUSES; i++)
		if (!finding_cause_zh(selftest_cause_code(i)))
			fail_msg("%s has no Chinese", selftest_cause_code(i));
	assert_null(finding_cause_zh("nothing"));
}

/* FNV-1a of "a" is af63dc4c8601ec8c (the reference's test vectors). */
static void test_message_id(void **state)
{
	char id[33];

	(void)state;
	finding_message_id("a", id, sizeof(id));
	assert_string_equal(id, "0a6f1f9d0d5b4a0eaf63dc4c8601ec8c");
}

/* Evidence comes from anywhere and goes to a terminal and into JSON. */
static void test_evidence(void **state)
{
	struct finding finding;

	(void)state;
	finding_make(&finding, FINDING_INPUT, NULL, "%s", "a\033[31mb\xff\n");
	assert_string_equal(finding.evidence, "a?[31mb??");
}

static void test_command(void **state)
{
	struct finding finding;
	char command[1024], small[8];

	(void)state;
	finding_make(&finding, FINDING_DRIFTED, "0000:0a:00.0", "%s", "");
	finding_command(&finding, command, sizeof(command));
	assert_non_null(strstr(command, "/sys/bus/pci/devices/0000:0a:00.0/softtape/verify"));
	finding_command(&finding, small, sizeof(small));
	assert_string_equal(small, "echo 1 ");
	finding_template(FINDING_MODULE_ABSENT, command, sizeof(command));
	assert_non_null(strstr(command, "/dkms-softtape $(uname -r)"));
	util_copy(finding.command, sizeof(finding.command), "apt install x");
	finding_command(&finding, command, sizeof(command));
	assert_string_equal(command, "apt install x");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_message_id),
		cmocka_unit_test(test_evidence),
		cmocka_unit_test(test_command),
	};

	return cmocka_run_group_tests_name("finding", tests, NULL, NULL);
}
