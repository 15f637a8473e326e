// SPDX-License-Identifier: GPL-2.0-only
/* The softtape/ directory of a card in sysfs. Shows snapshots: never reads config space or takes a record's mutex. */
#include <linux/pci.h>
#include <linux/sysfs.h>

#include "record.h"

struct field_attribute {
	struct device_attribute attr;
	enum softtape_field field;
};

static ssize_t field_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct field_attribute *field = container_of(attr, struct field_attribute, attr);
	struct softtape_report report;
	char text[SOFTTAPE_LINE_MAX];

	if (!softtape_record_snapshot(dev, &report))
		return -ENODEV;

	softtape_report_field(&report, field->field, text, sizeof(text));
	return sysfs_emit(buf, "%s\n", text);
}

#define FIELD(_name, _field) \
	static struct field_attribute field_##_name = { __ATTR(_name, 0444, field_show, NULL), _field }

FIELD(card, SOFTTAPE_F_CARD);
FIELD(state, SOFTTAPE_F_STATE);
FIELD(aspm, SOFTTAPE_F_ASPM);
FIELD(clkpm, SOFTTAPE_F_CLKPM);
FIELD(l1ss, SOFTTAPE_F_L1SS);
FIELD(d3cold, SOFTTAPE_F_D3COLD);
FIELD(cap, SOFTTAPE_F_CAP);
FIELD(speed, SOFTTAPE_F_SPEED);
FIELD(smbus, SOFTTAPE_F_SMBUS);

/* The values of all files with their reasons. Without "after", which says why a line was printed. */
static ssize_t report_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct softtape_report report;
	char text[SOFTTAPE_LINE_MAX];

	if (!softtape_record_snapshot(dev, &report))
		return -ENODEV;

	report.after = NULL;
	softtape_report_values(&report, text, sizeof(text));
	return sysfs_emit(buf, "%s\n", text);
}
static DEVICE_ATTR_RO(report);

/* Writing 1 re-reads and re-applies; when the write returns, the other files show the result. */
static ssize_t verify_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	int ret;

	if (!sysfs_streq(buf, "1"))
		return -EINVAL;

	ret = softtape_record_verify(dev);
	return ret ? ret : count;
}
static DEVICE_ATTR_WO(verify);

static struct attribute *attributes[] = {
	&field_card.attr.attr,
	&field_state.attr.attr,
	&field_aspm.attr.attr,
	&field_clkpm.attr.attr,
	&field_l1ss.attr.attr,
	&field_d3cold.attr.attr,
	&field_cap.attr.attr,
	&field_speed.attr.attr,
	&field_smbus.attr.attr,
	&dev_attr_report.attr,
	&dev_attr_verify.attr,
	NULL,
};

static const struct attribute_group group = {
	.name = "softtape",
	.attrs = attributes,
};

/**
 * softtape_sysfs_add - make the directory
 * @pdev:	the matched function
 *
 * Not managed by devres: the driver core refuses to probe a device that has resources before
 * (drivers/base/dd.c:really_probe), and that would keep the NVIDIA driver away.
 *
 * Return: 0, or what sysfs_create_group() gave (-ENOMEM, -EEXIST).
 */
int softtape_sysfs_add(struct pci_dev *pdev)
{
	return sysfs_create_group(&pdev->dev.kobj, &group);
}

/**
 * softtape_sysfs_del - remove the directory, wait for its readers and for a running verify
 * @pdev:	the matched function, still registered; not called with the record's mutex held
 */
void softtape_sysfs_del(struct pci_dev *pdev)
{
	sysfs_remove_group(&pdev->dev.kobj, &group);
}
