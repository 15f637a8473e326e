/* SPDX-License-Identifier: GPL-2.0-only */
/* One record per card: what was found, what was done, what was said. */
#ifndef SOFTTAPE_RECORD_H
#define SOFTTAPE_RECORD_H

#include "softtape.h"

struct device;
struct pci_dev;

/* main.c: set at load, never changed after. */
extern struct softtape_policy softtape_policy;

int softtape_record_init(void);
void softtape_record_exit(void);

void softtape_record_add(struct pci_dev *pdev, bool late);
void softtape_record_wait(void);
void softtape_record_bind(struct pci_dev *pdev);
void softtape_record_bound(struct pci_dev *pdev);
void softtape_record_unbound(struct pci_dev *pdev);
void softtape_record_del(struct pci_dev *pdev);
void softtape_record_resume(void);

int softtape_record_verify(struct device *dev);
bool softtape_record_snapshot(struct device *dev, struct softtape_report *ret_report);

/* sysfs.c */
int softtape_sysfs_add(struct pci_dev *pdev);
void softtape_sysfs_del(struct pci_dev *pdev);

#endif
