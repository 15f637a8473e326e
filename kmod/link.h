/* SPDX-License-Identifier: GPL-2.0-only */
/* The hardware edge: a card's link as the PCI core shows it. */
#ifndef SOFTTAPE_LINK_H
#define SOFTTAPE_LINK_H

#include "softtape.h"

struct pci_dev;

struct pci_dev *softtape_link_port(struct pci_dev *card);
struct pci_dev *softtape_link_function(struct pci_dev *card, unsigned int function);
bool softtape_link_bound(struct pci_dev *card);
int softtape_link_read(struct pci_dev *card, struct softtape_link *ret_link);
int softtape_link_settle(struct pci_dev *card, const struct softtape_policy *policy,
			 struct softtape_outcome *outcome);
enum softtape_cap softtape_link_cap(struct pci_dev *card, __u8 cap, const struct softtape_step *step, __u8 *ret_tls);
int softtape_link_set_tls(struct pci_dev *port, __u8 from, __u8 to);

#endif
