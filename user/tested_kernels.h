/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Series of kernels on which the module was built, loaded and watched with a card; one KERNEL(major, minor) each, included
 * with a KERNEL of one's own. README.md has the results; the gate readme-matrix compares. Doctor tells of a running kernel that
 * is none of them. Nothing is refused by number: dkms.conf asks for what a kernel offers.
 */
KERNEL(5, 10)
KERNEL(6, 1)
KERNEL(6, 12)
KERNEL(7, 2)
KERNEL(7, 3)
