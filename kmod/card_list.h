/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cards softtape acts on: one CARD() row per PCI device id of vendor 10de, sorted by id. No include guard: each
 * user defines CARD() first. No other file may name an id.
 *
 * CARD(device, name, compute, quirks)
 *   device	PCI device id
 *   name	product name as printed; ids without a public name are called "unnamed mining GPU"
 *   compute	CUDA compute capability, major * 10 + minor (60 and 61 Pascal, 70 Volta, 75 Turing, 80 and 86 Ampere)
 *   quirks	SOFTTAPE_Q_* of softtape.h
 *
 * Marks: [driver] the table of 24 ids with one flag value inside the proprietary kernel blobs 535.274.02 and
 * 550.163.01; [name 550] the name is compiled into 470, 535 or 550; [pci.ids] snapshot 2026.10.24; [log] a dump or log
 * in a public repository; [report] somebody's words; [guess] ours.
 *
 * A similar id is never enough: 1d81, which one article gives for the P104-100, is the TITAN V [pci.ids].
 */

/* CMP 100-100, GP100. [driver] Name: [report: NVIDIA-patcher] */
CARD(0x15c2, "CMP 100-100", 60, 0)

/* P102-100, GP102. [driver] Name: [log: driver 570 reports "NVIDIA P102-100"] Class 0302: [log: two listings] */
CARD(0x1b07, "P102-100", 61, 0)

/* P104-100, GP104. [driver] [name 550] [pci.ids] Gen1 x4 by design, x1 on a riser: [report: AI6-P104-Homelab] */
CARD(0x1b87, "P104-100", 61, 0)

/* P104-101, GP104. [driver] [name 550] [pci.ids] */
CARD(0x1bc7, "P104-101", 61, 0)

/* P106-100, GP106. [driver] [name 550] Class 0302 and no audio function: [log: three dumps] */
CARD(0x1c07, "P106-100", 61, 0)

/* P106-090, GP106. [driver] [name 550] */
CARD(0x1c09, "P106-090", 61, 0)

/* CMP 100-200, GV100. [driver] "3D accelerator": [report: NVIDIA-patcher issue 92] */
CARD(0x1d83, "CMP 100-200", 70, 0)

/* CMP 100-210, GV100. [driver] Gen1 x1: [report: CMP100-210 README] */
CARD(0x1d84, "CMP 100-210", 70, 0)

/* CMP 100-200, GV100, a second id. [driver] */
CARD(0x1dc1, "CMP 100-200", 70, 0)

/* CMP 100-210, GV100, a second product of that name, not in the driver's table. [report: NVIDIA-patcher issue 105] */
CARD(0x1df4, "CMP 100-210", 70, 0)

/* CMP 50HX, TU102. [driver] [name 550] Class 0302, one function: [log] Throttled FMA: [report: CMP unlockers] */
CARD(0x1e09, "CMP 50HX", 75, SOFTTAPE_Q_SLOW_FMA)

/* Turing range. [driver] No public name. Throttled FMA: [guess: like its named siblings] */
CARD(0x1e49, "unnamed mining GPU", 75, SOFTTAPE_Q_SLOW_FMA)

/* Turing range. [driver] One project calls it CMP 50HX; pci.ids and the driver do not. */
CARD(0x1ebc, "unnamed mining GPU", 75, SOFTTAPE_Q_SLOW_FMA)

/* Turing range. [driver] TU117 says one tool, without evidence. */
CARD(0x1efc, "unnamed mining GPU", 75, SOFTTAPE_Q_SLOW_FMA)

/* CMP 40HX, TU106. [driver] [name 550] LnkCap 2.5 GT/s x16, one function, Clock PM on, capability version 1: [log] */
CARD(0x1f0b, "CMP 40HX", 75, SOFTTAPE_Q_SLOW_FMA)

/* GA100 range. [driver] No public name. */
CARD(0x2081, "unnamed mining GPU", 80, SOFTTAPE_Q_SLOW_FMA)

/* CMP 170HX 10 GB, GA100. [driver] FP32 0.39 TFLOP/s with FMA, 6.25 without: [report: a review of the 8 GB card] */
CARD(0x2082, "CMP 170HX", 80, SOFTTAPE_Q_SLOW_FMA)

/* GA100 range. [driver] No public name. */
CARD(0x2083, "unnamed mining GPU", 80, SOFTTAPE_Q_SLOW_FMA)

/* CMP 170HX 8 GB, GA100. [driver] LnkCap without ASPM, 2.5 GT/s x16 advertised, x4 trained: [log] */
CARD(0x20c2, "CMP 170HX", 80, SOFTTAPE_Q_SLOW_FMA)

/* CMP 30HX, TU116. [driver] [name 550] Stays at 2.5 GT/s whatever the board: [report: NVIDIA-patcher issue 450] */
CARD(0x2189, "CMP 30HX", 75, SOFTTAPE_Q_SLOW_FMA)

/* CMP 90HX, GA102. [driver] [name 550] [log: nouveau, 10 GB] */
CARD(0x220d, "CMP 90HX", 86, SOFTTAPE_Q_SLOW_FMA)

/* GA102 range. [driver] No public name. */
CARD(0x224d, "unnamed mining GPU", 86, SOFTTAPE_Q_SLOW_FMA)

/* CMP 70HX, GA104. [driver] [name 550] */
CARD(0x248a, "CMP 70HX", 86, SOFTTAPE_Q_SLOW_FMA)

/* GA104 range. [driver] No public name. */
CARD(0x24ca, "unnamed mining GPU", 86, SOFTTAPE_Q_SLOW_FMA)

/* GA106 range. [driver] No public name. */
CARD(0x250a, "unnamed mining GPU", 86, SOFTTAPE_Q_SLOW_FMA)
