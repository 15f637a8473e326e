// SPDX-License-Identifier: GPL-2.0-only
/* What can be wrong: the one table of codes, causes and remedies, and a list of what was found. */
#include "finding.h"

#include <stdarg.h>
#include <string.h>

#include "host.h"

#define X(id, word) [id] = word,
static const char *const codes[] = { FINDINGS(X) };
#undef X

/*
 * Actions: none, capture, configure, cool, driver, install, kernel-parameter, permission, power, reboot, reseat, retire,
 * riser, slower, wait.
 */
static const struct finding_info table[] = {
	[FINDING_USAGE] = {
		.severity = FINDING_ERROR, .action = "none",
		.title = "the command line was not understood",
		.cause = "A command, option, value or address is not one that softtape knows.",
		.remedy = "See the help.",
		.command = "softtape --help",
		.zh = {
			"命令行无法理解",
			"softtape 不认识其中的命令、选项、取值或地址。",
			"请查看帮助。",
		},
	},
	[FINDING_INPUT] = {
		.severity = FINDING_ERROR, .action = "capture",
		.title = "the input cannot be read",
		.cause = "The file is not there, may not be read, or holds no bytes of any PCI device.",
		.remedy = "Take the dump again, as root: only root sees more than the first 64 bytes.",
		.command = "sudo lspci -xxxx > dump.txt",
		.zh = {
			"输入无法读取",
			"文件不存在、没有读取权限，或其中没有任何 PCI 设备的字节。",
			"请以 root 重新导出：只有 root 能看到前 64 字节以外的内容。",
		},
	},
	[FINDING_DUMP_DEVICE] = {
		.severity = FINDING_WARNING, .action = "capture",
		.title = "one device of the dump cannot be read",
		.cause = "Its lines are cut, garbled, or show a device that did not answer. The other devices "
			"are not affected.",
		.remedy = "Take the dump again, as root; a device that reads all ones was off the bus.",
		.command = "sudo lspci -xxxx > dump.txt",
		.zh = {
			"导出文件中有一个设备无法读取",
			"它的行被截断、内容混乱，或该设备当时没有应答。其他设备不受影响。",
			"请以 root 重新导出；全部读成 1 的设备当时已掉线。",
		},
	},
	[FINDING_DUMP_AGAIN] = {
		.severity = FINDING_INFO, .action = "none",
		.title = "an address comes twice in the dump",
		.cause = "The text holds several machines, or one machine twice. Each card gets the port nearest before it, or else "
			"the first one behind.",
		.remedy = "Nothing to do if that is so; otherwise give each machine's dump by itself.",
		.command = "softtape plan -F dump.txt",
		.zh = {
			"导出文件中同一个地址出现两次",
			"文本里有几台机器，或同一台机器两次。每张卡取它之前最近的端口，没有时取它之后的第一个。",
			"如果确实如此，无需处理；否则请分别给出每台机器的导出文件。",
		},
	},
	[FINDING_NO_CARD] = {
		.severity = FINDING_INFO, .action = "none",
		.title = "no mining card is present",
		.cause = "No PCI function of this machine is in softtape's list. Other NVIDIA cards are left alone.",
		.remedy = "If a card should be there: check its power and its riser with the power off, then let "
			"the kernel look again.",
		.command = "sudo softtape rescan",
		.zh = {
			"没有矿卡",
			"本机没有任何 PCI 功能在 softtape 的列表中。其他 NVIDIA 卡不会被触碰。",
			"如果应该有卡：断电后检查供电和转接卡，再让内核重新扫描。",
		},
	},
	[FINDING_NOT_FOUND] = {
		.severity = FINDING_ERROR, .action = "reseat",
		.title = "there is no device at this address",
		.cause = "The address is mistyped, the card is gone, or the kernel has not looked since it was "
			"plugged.",
		.remedy = "See what is there; without hot-plug support of the board let the kernel look again.",
		.command = "softtape list --any; sudo softtape rescan",
		.zh = {
			"该地址没有设备",
			"地址写错、卡已不在，或插卡之后内核还没有重新查看。",
			"查看现有设备；主板不支持热插拔时让内核重新扫描。",
		},
	},
	[FINDING_NOT_NVIDIA] = {
		.severity = FINDING_ERROR, .action = "none",
		.title = "this device is not an NVIDIA display function",
		.cause = "softtape can only judge NVIDIA cards.",
		.remedy = "Name another address.",
		.command = "softtape list --any",
		.zh = {
			"该设备不是 NVIDIA 显示设备",
			"softtape 只能判断 NVIDIA 卡。",
			"请指定其他地址。",
		},
	},
	[FINDING_PERMISSION] = {
		.severity = FINDING_ERROR, .action = "permission",
		.title = "this needs root",
		.cause = "The kernel lets only root do this.",
		.remedy = "Run it as root.",
		.command = "sudo softtape rescan",
		.zh = {
			"需要 root 权限",
			"内核只允许 root 做这件事。",
			"请以 root 运行。",
		},
	},
	[FINDING_OFF_BUS] = {
		.severity = FINDING_ERROR, .action = "reseat",
		.title = "the card fell off the bus",
		.cause = "Its configuration space reads all ones: nobody answers any more. Power, riser or "
			"contact failed.",
		.remedy = "Switch the power off, check the power plugs and the riser, reseat the card, start again.",
		.command = "sudo softtape rescan",
		.zh = {
			"卡从总线上掉线",
			"配置空间全部读成 1：已无人应答。供电、转接卡或触点有故障。",
			"关机断电，检查供电插头和转接卡，重新插好卡再启动。",
		},
	},
	[FINDING_BAR] = {
		.severity = FINDING_ERROR, .action = "kernel-parameter",
		.title = "the card got no address space for its registers or memory",
		.cause = "The bridge window is too small, or the firmware left no room. The driver cannot start "
			"without it.",
		.remedy = "Add pci=realloc to the kernel command line, which lets the kernel lay out the windows itself, or switch "
			"on 'Above 4G decoding' in the firmware setup, then reboot.",
		.command = "sudo dmesg | grep -e {bdf} -e 'bridge window'",
		.zh = {
			"卡没有得到寄存器或显存的地址空间",
			"桥的窗口太小，或固件没有留出空间。没有地址空间驱动无法启动。",
			"在内核命令行加上 pci=realloc，让内核自己安排窗口，或在固件设置中打开 Above 4G decoding（少数老主板打开后反而黑屏），然后重启。",
		},
	},
	[FINDING_NOUVEAU] = {
		.severity = FINDING_ERROR, .action = "configure",
		.title = "nouveau owns the card",
		.cause = "nouveau bound first, so the nvidia driver cannot; nouveau has no CUDA.",
		.remedy = "Keep nouveau away and rebuild the initramfs, then reboot.",
		.command = "echo 'blacklist nouveau' | sudo tee /etc/modprobe.d/no-nouveau.conf && sudo "
			"update-initramfs -u && sudo reboot",
		.zh = {
			"nouveau 占用了卡",
			"nouveau 先绑定，nvidia 驱动就无法绑定；nouveau 没有 CUDA。",
			"屏蔽 nouveau，重建 initramfs，然后重启。",
		},
	},
	[FINDING_NVIDIAFB] = {
		.severity = FINDING_ERROR, .action = "configure",
		.title = "nvidiafb owns the card",
		.cause = "The frame buffer driver bound first, so the nvidia driver cannot.",
		.remedy = "Keep nvidiafb away and rebuild the initramfs, then reboot.",
		.command = "echo 'blacklist nvidiafb' | sudo tee /etc/modprobe.d/no-nvidiafb.conf && sudo "
			"update-initramfs -u && sudo reboot",
		.zh = {
			"nvidiafb 占用了卡",
			"帧缓冲驱动先绑定，nvidia 驱动就无法绑定。",
			"屏蔽 nvidiafb，重建 initramfs，然后重启。",
		},
	},
	[FINDING_VFIO] = {
		.severity = FINDING_ERROR, .action = "configure",
		.title = "the card is reserved for a virtual machine",
		.cause = "A vfio driver holds the card on purpose, so the host cannot use it.",
		.remedy = "Test inside the virtual machine, or give the card back to the host.",
		.command = "echo {bdf} | sudo tee /sys/bus/pci/drivers/{driver}/unbind && echo | sudo tee "
			"/sys/bus/pci/devices/{bdf}/driver_override && echo {bdf} | sudo tee "
			"/sys/bus/pci/drivers_probe",
		.zh = {
			"卡被保留给虚拟机",
			"vfio 驱动有意占住了卡，宿主机不能使用。",
			"在虚拟机里测试，或把卡还给宿主机。",
		},
	},
	[FINDING_OWNER] = {
		.severity = FINDING_ERROR, .action = "configure",
		.title = "another driver owns the card",
		.cause = "A driver that is not nvidia is bound to the card.",
		.remedy = "Unbind it, then let the kernel choose again.",
		.command = "echo {bdf} | sudo tee /sys/bus/pci/drivers/{driver}/unbind && echo {bdf} | sudo tee "
			"/sys/bus/pci/drivers_probe",
		.zh = {
			"另一个驱动占用了卡",
			"绑定在卡上的不是 nvidia 驱动。",
			"解除绑定，再让内核重新选择。",
		},
	},
	[FINDING_NO_MODULE] = {
		.severity = FINDING_ERROR, .action = "install",
		.title = "there is no nvidia module for the running kernel",
		.cause = "No nvidia driver is installed, or it was not built for this kernel (its headers were "
			"missing).",
		.remedy = "Install headers and driver (Debian: component non-free); for a Pascal or Volta card "
			"at most branch 580.",
		.command = "softtape doctor",
		.zh = {
			"当前内核没有 nvidia 模块",
			"没有安装 nvidia 驱动，或没有为这个内核编译（缺少头文件）。",
			"安装头文件和驱动（Debian：non-free 组件）；Pascal 或 Volta 卡最高用 580 分支。",
		},
	},
	[FINDING_SECURE_BOOT] = {
		.severity = FINDING_ERROR, .action = "configure",
		.title = "Secure Boot refuses the nvidia module",
		.cause = "The module is not signed with a key that this machine's firmware or shim trusts.",
		.remedy = "Enrol the key that DKMS signs with and confirm it on the console at the next boot, or "
			"switch Secure Boot off.",
		.command = "sudo mokutil --import /var/lib/dkms/mok.pub && sudo reboot",
		.zh = {
			"Secure Boot 拒绝了 nvidia 模块",
			"模块没有用本机固件或 shim 信任的密钥签名。",
			"注册 DKMS 的签名密钥并在下次启动时于控制台确认，或关闭 Secure Boot。",
		},
	},
	[FINDING_BRANCH] = {
		.severity = FINDING_ERROR, .action = "driver",
		.title = "the nvidia driver is too new for this card",
		.cause = "Branch 590 and later ignore Pascal and Volta cards; 580 is the last that drives them.",
		.remedy = "Install branch 580 or older (Debian's own packages are).",
		.command = "sudo apt install nvidia-driver/stable nvidia-kernel-dkms/stable && sudo reboot",
		.zh = {
			"nvidia 驱动对这张卡来说太新",
			"590 及以后的分支不再支持 Pascal 和 Volta；580 是最后一个支持的分支。",
			"安装 580 或更早的分支（Debian 自带的都可以）。",
		},
	},
	[FINDING_OPEN] = {
		.severity = FINDING_ERROR, .action = "driver",
		.title = "the open nvidia module cannot drive this card",
		.cause = "The open flavour needs a GPU System Processor: Turing or newer. Cards before that need "
			"the proprietary flavour.",
		.remedy = "Install the proprietary flavour.",
		.command = "sudo apt install nvidia-kernel-dkms nvidia-open-kernel-dkms- && sudo reboot",
		.zh = {
			"开源版 nvidia 模块不能驱动这张卡",
			"开源版需要 GSP 处理器，即 Turing 或更新的卡；更早的卡需要闭源版。",
			"安装闭源版。",
		},
	},
	[FINDING_NOT_LOADED] = {
		.severity = FINDING_ERROR, .action = "configure",
		.title = "the nvidia module exists but is not loaded",
		.cause = "Nothing loaded it within the waiting time: it is blacklisted, or loading failed.",
		.remedy = "Load it and look at the message.",
		.command = "sudo modprobe nvidia; sudo dmesg | grep -i -e nvrm -e nvidia | tail",
		.zh = {
			"nvidia 模块存在但没有加载",
			"等待时间内没有加载：被屏蔽，或加载失败。",
			"手动加载并查看提示。",
		},
	},
	[FINDING_NOT_BOUND] = {
		.severity = FINDING_ERROR, .action = "driver",
		.title = "the nvidia module is loaded but did not take the card",
		.cause = "Its probe failed or it was never asked. The kernel log says why, in lines with NVRM.",
		.remedy = "Read the kernel log; check the card's power plugs.",
		.command = "sudo dmesg | grep -e NVRM -e {bdf} | tail",
		.zh = {
			"nvidia 模块已加载但没有接管这张卡",
			"探测失败，或从未被要求。内核日志中带 NVRM 的行会说明原因。",
			"阅读内核日志；检查卡的供电插头。",
		},
	},
	[FINDING_MODULE_ABSENT] = {
		.severity = FINDING_WARNING, .action = "install",
		.title = "the kernel module softtape is not loaded",
		.cause = "Without it nobody settles the card's link: ASPM, Clock PM and D3cold stay as the "
			"firmware left them.",
		.remedy = "Load it; if there is none for this kernel, build it.",
		.command = "sudo modprobe softtape || sudo /etc/kernel/postinst.d/dkms-softtape {kernel}",
		.zh = {
			"内核模块 softtape 没有加载",
			"没有它，卡的链路就没人处理：ASPM、Clock PM 和 D3cold 保持固件留下的状态。",
			"加载它；如果当前内核没有，就编译。",
		},
	},
	[FINDING_NOT_CLAIMED] = {
		.severity = FINDING_WARNING, .action = "configure",
		.title = "the kernel module softtape does not know this card",
		.cause = "The loaded module is older than this program, or the card is only listed here.",
		.remedy = "Reload the module when no card is busy, or reboot.",
		.command = "sudo modprobe -r softtape && sudo modprobe softtape",
		.zh = {
			"内核模块 softtape 不认识这张卡",
			"已加载的模块比本程序旧，或这张卡只列在本程序里。",
			"在没有卡忙时重新加载模块，或重启。",
		},
	},
	[FINDING_QUIRKS_PENDING] = {
		.severity = FINDING_WARNING, .action = "wait",
		.title = "the card's link is not settled yet",
		.cause = "The module could not reach the card or its port so far and goes on trying.",
		.remedy = "Look again in a minute; keep the port awake.",
		.command = "cat /sys/bus/pci/devices/{bdf}/softtape/state",
		.zh = {
			"卡的链路还没有处理完",
			"模块目前还无法访问卡或其端口，会继续尝试。",
			"一分钟后再看；保持端口不休眠。",
		},
	},
	[FINDING_QUIRKS_REFUSED] = {
		.severity = FINDING_WARNING, .action = "kernel-parameter",
		.title = "not every setting of the link was accepted",
		.cause = "refused:firmware - the firmware kept control over ASPM. refused:core - the kernel runs "
			"with pcie_aspm=off. refused:readback - the register did not take the value. "
			"refused:driver - something switched it on again.",
		.remedy = "For firmware and core: load the module with aspm=force. For readback the hardware decides.",
		.command = "echo 'options softtape aspm=force' | sudo tee /etc/modprobe.d/softtape-aspm.conf && "
			"sudo reboot",
		.zh = {
			"链路的设置没有全部被接受",
			"refused:firmware 表示固件保留了 ASPM 的控制权；refused:core 表示内核以 pcie_aspm=off 运行；refused:readback 表示寄存器没有接受该值；refused:driver 表示又被重新打开。",
			"firmware 和 core：以 aspm=force 加载模块；readback 由硬件决定。",
		},
	},
	[FINDING_QUIRKS_LOST] = {
		.severity = FINDING_ERROR, .action = "reseat",
		.title = "the module lost the card",
		.cause = "The card stopped answering while its link was being settled.",
		.remedy = "Switch the power off, check the power plugs and the riser, start again.",
		.command = "sudo dmesg | grep softtape: | tail",
		.zh = {
			"模块丢失了这张卡",
			"处理链路时卡停止应答。",
			"关机断电，检查供电插头和转接卡，再启动。",
		},
	},
	[FINDING_QUIRKS_SKIPPED] = {
		.severity = FINDING_INFO, .action = "none",
		.title = "the module leaves this slot alone, as configured",
		.cause = "The parameter skip= names the slot.",
		.remedy = "Nothing to do.",
		.command = "cat /sys/module/softtape/parameters/skip",
		.zh = {
			"按配置，模块不处理这个插槽",
			"参数 skip= 指定了该插槽。",
			"无需处理。",
		},
	},
	[FINDING_QUIRKS_DRY_RUN] = {
		.severity = FINDING_INFO, .action = "none",
		.title = "the module changes nothing, as configured",
		.cause = "The parameter dry_run is set: the module plans and reports only.",
		.remedy = "Nothing to do.",
		.command = "cat /sys/bus/pci/devices/{bdf}/softtape/report",
		.zh = {
			"按配置，模块不做任何改动",
			"设置了参数 dry_run：模块只计划和报告。",
			"无需处理。",
		},
	},
	[FINDING_DRIFTED] = {
		.severity = FINDING_WARNING, .action = "configure",
		.title = "the registers no longer say what the module settled",
		.cause = "Somebody changed the link afterwards: an ASPM policy, a tool, or the driver.",
		.remedy = "Let the module settle it again, then look for who changes it.",
		.command = "echo 1 | sudo tee /sys/bus/pci/devices/{bdf}/softtape/verify; cat "
			"/sys/module/pcie_aspm/parameters/policy",
		.zh = {
			"寄存器与模块设置的不再一致",
			"之后有人改动了链路：ASPM 策略、某个工具或驱动。",
			"让模块重新设置，再找出是谁改的。",
		},
	},
	[FINDING_CAP] = {
		.severity = FINDING_WARNING, .action = "configure",
		.title = "the speed cap that was asked for does not hold",
		.cause = "lifted - something raised the port's target speed again. refused - the port did not "
			"take it, is too old for it, or a driver was already bound.",
		.remedy = "For refused(driver): load softtape before the driver, that is reboot.",
		.command = "cat /sys/bus/pci/devices/{bdf}/softtape/report",
		.zh = {
			"要求的速度上限没有生效",
			"lifted 表示端口的目标速度又被提高；refused 表示端口不接受、太旧，或驱动已经绑定。",
			"refused(driver)：要在驱动之前加载 softtape，即重启。",
		},
	},
	[FINDING_BUSY] = {
		.severity = FINDING_ERROR, .action = "wait",
		.title = "another process uses the card",
		.cause = "A test would disturb it and be disturbed.",
		.remedy = "Stop that process, or test all the same.",
		.command = "sudo softtape check --force {bdf}",
		.zh = {
			"另一个进程正在使用这张卡",
			"测试会干扰它，也会被它干扰。",
			"停止该进程，或强制测试。",
		},
	},
	[FINDING_LOCKED] = {
		.severity = FINDING_ERROR, .action = "wait",
		.title = "a check of this card is already running",
		.cause = "Two checks of one card would disturb each other.",
		.remedy = "Wait for it, then read its verdict.",
		.command = "softtape status {bdf}",
		.zh = {
			"这张卡的检查正在运行",
			"同一张卡的两个检查会互相干扰。",
			"等它结束，再看结论。",
		},
	},
	[FINDING_CUDA] = {
		.severity = FINDING_ERROR, .action = "install",
		.title = "CUDA could not be tried on the card",
		.cause = "The driver's user-space part is missing, broken, of another version, or not allowed.",
		.remedy = "See the evidence; the driver's packages must all have one version.",
		.command = "dpkg -l 'libcuda1' 'nvidia-*' | grep ^ii; ls -l /dev/nvidia*",
		.zh = {
			"无法在这张卡上尝试 CUDA",
			"驱动的用户态部分缺失、损坏、版本不同，或不被允许。",
			"看证据；驱动的所有软件包必须是同一版本。",
		},
	},
	[FINDING_DATA] = {
		.severity = FINDING_ERROR, .action = "retire",
		.title = "the card computed, kept or moved wrong data",
		.cause = "Memory, chip, power or riser is faulty. This card corrupts results.",
		.remedy = "Try another riser and another power plug, lower the clocks; if it stays, retire the card.",
		.command = "sudo softtape check {bdf}",
		.zh = {
			"卡计算、保存或传输了错误的数据",
			"显存、芯片、供电或转接卡有故障。这张卡会破坏结果。",
			"换转接卡和供电插头，降低频率；仍然如此就淘汰这张卡。",
		},
	},
	[FINDING_INJECTED] = {
		.severity = FINDING_INFO, .action = "none",
		.title = "what was corrupted on purpose was found",
		.cause = "--inject changed words between writing and checking; the test found all of them and nothing else.",
		.remedy = "Nothing to do. Only a check without --inject tells of the card.",
		.command = "sudo softtape check {bdf}",
		.zh = {
			"故意改坏的内容被找到了",
			"--inject 在写入和检查之间改坏了几个字；测试把它们全部找到，没有发现别的错误。",
			"无需处理。只有不带 --inject 的检查才能说明卡的情况。",
		},
	},
	[FINDING_GPU] = {
		.severity = FINDING_ERROR, .action = "riser",
		.title = "CUDA reported an error of the card during the test",
		.cause = "The driver gave up on a command. An Xid line in the kernel log says more.",
		.remedy = "Check power and riser; read the kernel log.",
		.command = "sudo dmesg | grep -e Xid -e NVRM | tail",
		.zh = {
			"测试中 CUDA 报告了卡的错误",
			"驱动放弃了一条命令。内核日志中的 Xid 行会说明更多。",
			"检查供电和转接卡；阅读内核日志。",
		},
	},
	[FINDING_CRASHED] = {
		.severity = FINDING_ERROR, .action = "driver",
		.title = "the test process died inside the driver's library",
		.cause = "libcuda crashed or left; that is not what a healthy card and driver do.",
		.remedy = "Read the kernel log; reinstall the driver if it happens on every card.",
		.command = "sudo dmesg | grep -e Xid -e NVRM -e segfault | tail",
		.zh = {
			"测试进程在驱动的库里崩溃",
			"libcuda 崩溃或退出；正常的卡和驱动不会这样。",
			"阅读内核日志；如果每张卡都这样，重装驱动。",
		},
	},
	[FINDING_HUNG] = {
		.severity = FINDING_ERROR, .action = "reboot",
		.title = "the card or its driver gave no answer in time",
		.cause = "A call into the driver did not come back. A process stuck there cannot be killed.",
		.remedy = "Read the kernel log, check power and riser with the power off, then start again.",
		.command = "sudo dmesg | grep -e Xid -e NVRM -e 'blocked for more' | tail",
		.zh = {
			"卡或驱动没有按时应答",
			"一次驱动调用没有返回。卡在其中的进程无法被杀死。",
			"阅读内核日志，断电检查供电和转接卡，再启动。",
		},
	},
	[FINDING_SLOW_COPY] = {
		.severity = FINDING_WARNING, .action = "riser",
		.title = "copies are far slower than the link can carry",
		.cause = "Repeated transfers over a bad riser, or other traffic on a shared uplink.",
		.remedy = "Try another riser or slot, or cap the speed.",
		.command = "softtape list --tree",
		.zh = {
			"拷贝远慢于链路的能力",
			"坏的转接卡导致重传，或共享上行链路上有其他流量。",
			"换转接卡或插槽，或限制速度。",
		},
	},
	[FINDING_ALIAS] = {
		.severity = FINDING_ERROR, .action = "retire",
		.title = "the card has less memory than it says",
		.cause = "Two addresses are the same memory. That is what an '8 GiB' firmware on a board with 4 GiB "
			"looks like, or a broken address line.",
		.remedy = "Send it back, or write the firmware of the real board; use no more than the real size.",
		.command = "nvidia-smi -q -i {bdf} | grep -i -e vbios -e total",
		.zh = {
			"卡的显存比它声称的少",
			"两个地址对应同一块显存：把 8 GiB 固件刷到 4 GiB 的板子上就是这样，也可能是地址线损坏。",
			"请退货，或刷回原板固件；使用的显存不要超过真实容量。",
		},
	},
	[FINDING_OTHER_CHIP] = {
		.severity = FINDING_WARNING, .action = "capture",
		.title = "the chip is not the one that the card's id stands for",
		.cause = "CUDA reports another generation than cards with this PCI id have: the card's firmware belongs to "
			"another card.",
		.remedy = "Keep the evidence for the seller; write the firmware of the real board.",
		.command = "nvidia-smi -q -i {bdf} | grep -i -e 'product name' -e vbios",
		.zh = {
			"芯片与卡的 id 不符",
			"CUDA 报告的代际与该 PCI id 的卡不同：卡上的固件属于另一种卡。",
			"请保留证据给卖家；刷回真实板子的固件。",
		},
	},
	[FINDING_UNEVEN_COPY] = {
		.severity = FINDING_WARNING, .action = "riser",
		.title = "copies of equal size take very different times",
		.cause = "Packets are repeated now and then, or something else uses the same uplink.",
		.remedy = "Try another riser or slot; stop what else copies.",
		.command = "softtape list --tree",
		.zh = {
			"同样大小的拷贝用时差别很大",
			"数据包时有重传，或同一上行链路上有其他流量。",
			"请更换转接卡或插槽；停止其他拷贝。",
		},
	},
	[FINDING_SLOW_MEMORY] = {
		.severity = FINDING_WARNING, .action = "configure",
		.title = "the card's memory is far slower than its clock says",
		.cause = "The clock is held down (heat, power), or the memory repeats transfers.",
		.remedy = "Look for throttling and an underclocked memory; watch the temperature.",
		.command = "nvidia-smi -q -i {bdf} -d CLOCK,PERFORMANCE,TEMPERATURE",
		.zh = {
			"显存远比其频率应有的速度慢",
			"频率被压低（温度、功率），或显存在重传。",
			"请检查是否降频、显存频率是否过低；注意温度。",
		},
	},
	[FINDING_SM_UNSEEN] = {
		.severity = FINDING_WARNING, .action = "none",
		.title = "not every multiprocessor was seen to compute",
		.cause = "Some never got work in the time of the test. Nothing is known about them.",
		.remedy = "Check again at a longer level, with nothing else on the card.",
		.command = "sudo softtape check --level standard {bdf}",
		.zh = {
			"并非每个流式多处理器都参与了计算",
			"其中一些在测试期间没有分到任务，情况不明。",
			"请让卡空闲，用更长的级别再检查一次。",
		},
	},
	[FINDING_LINK_ERRORS] = {
		.severity = FINDING_WARNING, .action = "riser",
		.title = "the link had to repeat transfers",
		.cause = "Bits change on the way: riser, its cable, contacts or slot. The link repairs that, at a price, "
			"until it no longer can.",
		.remedy = "Try another riser or slot, or cap the speed.",
		.command = "sudo dmesg | grep -e AER -e {bdf} | tail",
		.zh = {
			"链路不得不重传数据",
			"数据在途中出错：转接卡、线缆、触点或插槽。链路会修复，但有代价，直到修不了为止。",
			"请更换转接卡或插槽，或限制链路速度。",
		},
	},
	[FINDING_SHARED_COPY] = {
		.severity = FINDING_WARNING, .action = "riser",
		.title = "cards that share an uplink slow each other down beyond its limit",
		.cause = "Together they copy at less than half of what their uplink or their own links carry.",
		.remedy = "Spread the cards over more ports, or use them at different times.",
		.command = "softtape list --tree",
		.zh = {
			"共享上行链路的卡互相拖慢，超出链路上限",
			"它们同时拷贝时的总速度不到上行链路或各自链路能力的一半。",
			"请把卡分散到更多端口，或错开使用时间。",
		},
	},
	[FINDING_THROTTLED] = {
		.severity = FINDING_WARNING, .action = "power",
		.title = "the hardware slowed the card down",
		.cause = "A brake of the power supply or of the board was pulled: supply, cables and plugs are weak.",
		.remedy = "Check the power cables; do not feed a card through a SATA plug.",
		.command = "nvidia-smi -q -i {bdf} -d PERFORMANCE,POWER",
		.zh = {
			"硬件把卡降速了",
			"电源或板子触发了功率刹车：供电、线缆或插头太弱。",
			"请检查供电线；不要用 SATA 插头给卡供电。",
		},
	},
	[FINDING_SLOWER] = {
		.severity = FINDING_WARNING, .action = "none",
		.title = "the card is slower than in the earlier check",
		.cause = "A rate fell by more than a tenth: another slot or riser, heat, clocks, or a card that ages.",
		.remedy = "Compare slot, riser, temperature and clocks of both checks.",
		.command = "sudo softtape check --level standard {bdf}",
		.zh = {
			"卡比上次检查时慢",
			"某项速率下降超过十分之一：换了插槽或转接卡、过热、频率变化，或卡在老化。",
			"请比较两次检查的插槽、转接卡、温度和频率。",
		},
	},
	[FINDING_INTERRUPTED] = {
		.severity = FINDING_WARNING, .action = "wait",
		.title = "the check was ended before it was done",
		.cause = "It was stopped or killed, or the machine went down. Nobody knows whether the card works.",
		.remedy = "Check again; the journal of the card's unit says who ended the last one.",
		.command = "sudo softtape check {bdf}",
		.zh = {
			"检查没有做完就结束了",
			"它被停止或杀死，或机器关机。这张卡是否正常还不知道。",
			"再检查一次；是谁结束了上一次检查，见该卡单元的日志。",
		},
	},
	[FINDING_NEEDS_ROOT] = {
		.severity = FINDING_INFO, .action = "permission",
		.title = "link registers can only be read by root",
		.cause = "The kernel shows others the first 64 bytes of configuration space; the link's "
			"registers lie behind them.",
		.remedy = "Run it as root to see them.",
		.command = "sudo softtape plan {bdf}",
		.zh = {
			"链路寄存器只有 root 能读",
			"内核只让其他用户看到配置空间的前 64 字节，链路寄存器在其后。",
			"以 root 运行即可看到。",
		},
	},
	[FINDING_NO_STATE] = {
		.severity = FINDING_WARNING, .action = "configure",
		.title = "the state of the check cannot be stored",
		.cause = "The state folder cannot be made or written. The verdict itself is not affected.",
		.remedy = "Make the folder writable: /run/softtape for root, $XDG_RUNTIME_DIR/softtape for others.",
		.command = "sudo systemd-tmpfiles --create",
		.zh = {
			"检查的状态无法保存",
			"状态目录无法创建或写入。结论本身不受影响。",
			"让目录可写：root 用 /run/softtape，其他用户用 $XDG_RUNTIME_DIR/softtape。",
		},
	},
	[FINDING_CARD_MISSING] = {
		.severity = FINDING_ERROR, .action = "reseat",
		.title = "a card that was here last time is missing",
		.cause = "The inventory of the last check names a card that the kernel does not see now: "
			"power, riser or contact failed, or the board dropped the slot at boot.",
		.remedy = "Switch the power off, check power plugs and riser, start again. If the card was "
			"taken out on purpose, save the inventory anew: softtape inventory save.",
		.command = "sudo softtape rescan",
		.zh = {
			"上次还在的卡不见了",
			"上次检查的清单里有一张卡，内核现在看不到：供电、转接卡或触点故障，或主板启动时放弃了该插槽。",
			"断电，检查供电插头和转接卡，再启动。如果是有意拔掉的，请重新保存清单：softtape inventory save。",
		},
	},
	[FINDING_INVENTORY] = {
		.severity = FINDING_WARNING, .action = "configure",
		.title = "the list of remembered cards is damaged",
		.cause = "A line of the inventory is not one that softtape wrote. A card that it named would not be missed.",
		.remedy = "See that all cards are there, then save the inventory anew.",
		.command = "softtape list; sudo softtape inventory save",
		.zh = {
			"记住的卡的清单已损坏",
			"清单中有一行不是 softtape 写的。那一行上的卡如果不见了，不会被发现。",
			"先确认所有卡都在，再重新保存清单。",
		},
	},
	[FINDING_FLAPPING] = {
		.severity = FINDING_WARNING, .action = "riser",
		.title = "a card comes and goes",
		.cause = "It left the bus several times within an hour: a loose riser or cable, a contact, or a supply that gives way.",
		.remedy = "Switch the power off, reseat card and riser, try another riser and another power cable.",
		.command = "sudo journalctl -b -k | grep -e {bdf} -e 'Slot('",
		.zh = {
			"一张卡反复出现又消失",
			"一小时内它多次离开总线：转接卡或线缆松动、触点不良，或电源撑不住。",
			"断电，重新插好卡和转接卡，换转接卡和供电线试试。",
		},
	},
	[FINDING_CARDS_FEWER] = {
		.severity = FINDING_ERROR, .action = "reseat",
		.title = "there are fewer cards than expected",
		.cause = "--expect or expected_cards= names a number, and the kernel sees fewer cards.",
		.remedy = "Switch the power off, check power plugs and risers of the missing cards, start "
			"again.",
		.command = "softtape list --tree",
		.zh = {
			"卡的数量少于预期",
			"--expect 或 expected_cards= 给出了数量，而内核看到的卡更少。",
			"断电，检查缺少的卡的供电插头和转接卡，再启动。",
		},
	},
	[FINDING_NOT_SEEN] = {
		.severity = FINDING_INFO, .action = "permission",
		.title = "not everything could be looked at",
		.cause = "Some facts can only be read by root, or the kernel keeps them from users. What "
			"depends on them was not judged.",
		.remedy = "Run it as root to see the rest.",
		.command = "sudo softtape doctor",
		.zh = {
			"有些内容无法查看",
			"有些信息只有 root 能读，或内核不让用户看。依赖它们的项目没有判断。",
			"以 root 运行即可看到其余部分。",
		},
	},
	[FINDING_HEADERS] = {
		.severity = FINDING_WARNING, .action = "install",
		.title = "an installed kernel has no headers",
		.cause = "DKMS can build neither softtape nor the nvidia driver for a kernel without its "
			"headers: after a boot into that kernel the cards stay without a driver.",
		.remedy = "Install the headers of that kernel; the package without a version follows kernel "
			"updates.",
		.command = "sudo apt install linux-headers-amd64",
		.zh = {
			"某个已安装的内核没有头文件",
			"没有头文件，DKMS 就无法为该内核编译 softtape 和 nvidia 驱动：用那个内核启动后卡没有驱动。",
			"安装该内核的头文件；不带版本号的软件包会跟随内核更新。",
		},
	},
	[FINDING_DKMS] = {
		.severity = FINDING_WARNING, .action = "install",
		.title = "a module is not built for an installed kernel",
		.cause = "DKMS knows the module, but not for every installed kernel: headers were missing or "
			"the build failed. After a boot into that kernel the module is missing: the card is "
			"gone after a reboot.",
		.remedy = "Build it; if that fails, the end of make.log says why.",
		.command = "sudo /etc/kernel/postinst.d/dkms-softtape {kernel}; sudo dkms autoinstall -k {kernel}",
		.zh = {
			"模块没有为某个已安装的内核编译",
			"DKMS 认识该模块，但没有为每个已安装的内核编译：缺少头文件或编译失败。用那个内核重启后模块缺失，卡也就“消失”了。",
			"编译它；失败时 make.log 的末尾会说明原因。",
		},
	},
	[FINDING_SOFTTAPE_REJECTED] = {
		.severity = FINDING_ERROR, .action = "configure",
		.title = "Secure Boot refuses the module softtape",
		.cause = "The firmware enforces Secure Boot and the kernel does not trust the key that the "
			"module is signed with, or it is not signed.",
		.remedy = "Enrol the key that DKMS signs with and confirm it on the console at the next boot "
			"(a rig without a console needs one once), or switch Secure Boot off.",
		.command = "sudo mokutil --import /var/lib/dkms/mok.pub && sudo reboot",
		.zh = {
			"Secure Boot 拒绝了 softtape 模块",
			"固件启用了 Secure Boot，而内核不信任模块的签名密钥，或模块没有签名。",
			"注册 DKMS 的签名密钥，并在下次启动时于控制台确认（无显示器的机器需要接一次），或关闭 Secure Boot。",
		},
	},
	[FINDING_MOK] = {
		.severity = FINDING_WARNING, .action = "configure",
		.title = "the key that signed the modules is not enrolled",
		.cause = "Modules are signed by a key that is in none of the kernel's key rings. With Secure "
			"Boot on they will be refused.",
		.remedy = "Enrol the key and confirm it on the console at the next boot, or switch Secure Boot "
			"off.",
		.command = "sudo mokutil --import /var/lib/dkms/mok.pub && sudo reboot",
		.zh = {
			"模块的签名密钥没有注册",
			"模块由一个不在内核任何密钥环中的密钥签名。打开 Secure Boot 时会被拒绝。",
			"注册密钥并在下次启动时于控制台确认，或关闭 Secure Boot。",
		},
	},
	[FINDING_LOCKDOWN] = {
		.severity = FINDING_INFO, .action = "none",
		.title = "the kernel is locked down",
		.cause = "Unsigned modules are refused, and user space may not write to configuration space. "
			"softtape's own module works when it is signed.",
		.remedy = "Nothing to do while the modules load.",
		.command = "cat /sys/kernel/security/lockdown",
		.zh = {
			"内核处于锁定状态",
			"未签名的模块会被拒绝，用户态也不能写配置空间。softtape 的模块只要有签名就能工作。",
			"模块能加载就无需处理。",
		},
	},
	[FINDING_STALE] = {
		.severity = FINDING_WARNING, .action = "reboot",
		.title = "the loaded module softtape is not the installed one",
		.cause = "It was loaded before an update, or an old copy came from the initramfs.",
		.remedy = "Reboot, or load it again while no card is busy.",
		.command = "sudo modprobe -r softtape && sudo modprobe softtape",
		.zh = {
			"已加载的 softtape 模块不是已安装的那个",
			"它在更新之前加载，或来自 initramfs 里的旧副本。",
			"重启，或在没有卡忙时重新加载。",
		},
	},
	[FINDING_VERSIONS] = {
		.severity = FINDING_WARNING, .action = "install",
		.title = "the program and the module softtape have different versions",
		.cause = "One of the two was updated alone. They still talk to each other, but a newer word of "
			"one may be unknown to the other.",
		.remedy = "Install both from one source, then reboot.",
		.command = "softtape --version; cat /sys/module/softtape/version; sudo dkms status softtape",
		.zh = {
			"程序和 softtape 模块的版本不同",
			"只更新了其中一个。它们仍能配合，但一方的新词另一方可能不认识。",
			"从同一来源安装两者，然后重启。",
		},
	},
	[FINDING_INITRAMFS] = {
		.severity = FINDING_WARNING, .action = "configure",
		.title = "the initramfs is older than the modules",
		.cause = "The initramfs may hold an old copy of a module, or of the list of what to keep away, "
			"and the old copy wins at boot.",
		.remedy = "Build it anew.",
		.command = "sudo update-initramfs -u -k all",
		.zh = {
			"initramfs 比模块旧",
			"initramfs 里可能有模块或屏蔽列表的旧副本，启动时旧副本优先。",
			"重新生成 initramfs。",
		},
	},
	[FINDING_LATE] = {
		.severity = FINDING_INFO, .action = "reboot",
		.title = "softtape was loaded after the nvidia driver",
		.cause = "The link was settled under a driver that was already bound, so a speed cap could not "
			"be set.",
		.remedy = "Nothing if no cap is wanted; else reboot, softtape is then loaded first.",
		.command = "sudo reboot",
		.zh = {
			"softtape 在 nvidia 驱动之后才加载",
			"驱动已经绑定之后才处理链路，所以无法设置速度上限。",
			"不需要上限就不用管；否则重启，那时 softtape 会先加载。",
		},
	},
	[FINDING_KERNEL] = {
		.severity = FINDING_INFO, .action = "none",
		.title = "softtape was not tried on this series of kernels",
		.cause = "The module builds by what a kernel offers, not by its number; nothing is known against this one.",
		.remedy = "Nothing to do if the cards' state is applied or unchanged. A report, good or bad, helps others.",
		.command = "softtape list; sudo softtape report",
		.zh = {
			"softtape 没有在这个系列的内核上试过",
			"模块按内核提供的功能编译，不看版本号；没有已知的问题。",
			"如果卡的状态是 applied 或 unchanged，无需处理。无论好坏，报告都能帮助别人。",
		},
	},
	[FINDING_HARMLESS] = {
		.severity = FINDING_INFO, .action = "none",
		.title = "the build or the kernel log has lines that look bad and are not",
		.cause = "'Skipping BTF generation' says that the kernel's debug information is not installed; 'taints kernel' that the "
			"module is not part of the kernel, or not signed. Every module built by DKMS has them.",
		.remedy = "Nothing to do. With Secure Boot a refused module has a finding of its own.",
		.command = "cat /proc/sys/kernel/tainted",
		.zh = {
			"编译或内核日志中有看似糟糕其实无害的行",
			"“Skipping BTF generation”表示没有安装内核的调试信息；“taints kernel”表示模块不属于内核本身，或没有签名。"
			"每个由 DKMS 编译的模块都有这些行。",
			"无需处理。Secure Boot 拒绝的模块另有说明。",
		},
	},
	[FINDING_BOOT_FILES] = {
		.severity = FINDING_WARNING, .action = "install",
		.title = "softtape is not set up to start at boot",
		.cause = "A file that loads the module or starts the check is missing: it works now and is "
			"gone after the next reboot.",
		.remedy = "Install softtape completely.",
		.command = "sudo make install",
		.zh = {
			"softtape 没有设置为开机启动",
			"缺少加载模块或启动检查的文件：现在能用，重启之后就没了。",
			"完整安装 softtape。",
		},
	},
	[FINDING_BRANCH_OLD] = {
		.severity = FINDING_ERROR, .action = "driver",
		.title = "the nvidia driver is too old for this card",
		.cause = "The card came out after this driver branch.",
		.remedy = "Install a newer branch that still knows every card of this machine.",
		.command = "softtape advise",
		.zh = {
			"nvidia 驱动对这张卡来说太旧",
			"这张卡比该驱动分支更新。",
			"安装更新的、且仍支持本机所有卡的分支。",
		},
	},
	[FINDING_MIXED] = {
		.severity = FINDING_ERROR, .action = "driver",
		.title = "no single nvidia driver drives all cards of this machine",
		.cause = "Only one nvidia driver can be loaded. One card needs a branch or a flavour that "
			"another one does not know, as with a new internal GPU beside a Pascal mining card.",
		.remedy = "Keep one of the two away from the driver (vfio-pci or another machine), or use the "
			"older GPU through another driver.",
		.command = "softtape advise",
		.zh = {
			"没有一个 nvidia 驱动能同时支持本机所有的卡",
			"只能加载一个 nvidia 驱动。一张卡需要的分支或版本不支持另一张卡，例如新的内置显卡旁边插一张 Pascal 矿卡。",
			"让其中一张不使用该驱动（vfio-pci 或换一台机器），或让旧显卡用别的驱动。",
		},
	},
	[FINDING_NODES] = {
		.severity = FINDING_ERROR, .action = "driver",
		.title = "device nodes of the driver are missing",
		.cause = "The driver is bound, but /dev has no file for the card. The driver does not make "
			"them itself: nvidia-modprobe or the persistence daemon does.",
		.remedy = "Install nvidia-modprobe, which makes them.",
		.command = "sudo apt install nvidia-modprobe && sudo nvidia-modprobe -c 0",
		.zh = {
			"缺少驱动的设备文件",
			"驱动已绑定，但 /dev 中没有卡的文件。驱动自己不创建，由 nvidia-modprobe 或常驻守护进程创建。",
			"安装 nvidia-modprobe，由它创建。",
		},
	},
	[FINDING_UVM] = {
		.severity = FINDING_ERROR, .action = "driver",
		.title = "CUDA's second module nvidia_uvm is not ready",
		.cause = "Without nvidia_uvm and /dev/nvidia-uvm CUDA finds no device; programs then quietly "
			"use the processor.",
		.remedy = "Install nvidia-modprobe, which loads it and makes the node.",
		.command = "sudo apt install nvidia-modprobe && sudo nvidia-modprobe -u -c 0",
		.zh = {
			"CUDA 的第二个模块 nvidia_uvm 没有就绪",
			"没有 nvidia_uvm 和 /dev/nvidia-uvm，CUDA 找不到设备；程序会悄悄改用处理器。",
			"安装 nvidia-modprobe，由它加载模块并创建设备文件。",
		},
	},
	[FINDING_NODES_DENIED] = {
		.severity = FINDING_ERROR, .action = "permission",
		.title = "this user may not open the device nodes",
		.cause = "Debian lets only the group video open them, or a setting of the module says so.",
		.remedy = "Join the group, then log in again.",
		.command = "sudo usermod -aG video $USER",
		.zh = {
			"当前用户不能打开设备文件",
			"Debian 只允许 video 组打开，或模块的参数如此设置。",
			"加入该组，然后重新登录。",
		},
	},
	[FINDING_MISMATCH] = {
		.severity = FINDING_ERROR, .action = "reboot",
		.title = "the loaded nvidia module and its libraries have different versions",
		.cause = "The driver was updated and the old module is still loaded, or the libraries come "
			"from another source. CUDA refuses to start.",
		.remedy = "Reboot; if it stays, remove the driver that came from the other source.",
		.command = "sudo reboot",
		.zh = {
			"已加载的 nvidia 模块和它的库版本不同",
			"驱动更新后旧模块仍在，或库来自别的来源。CUDA 会拒绝启动。",
			"重启；如果仍然如此，删除来自其他来源的驱动。",
		},
	},
	[FINDING_PERSISTENCE] = {
		.severity = FINDING_INFO, .action = "configure",
		.title = "the persistence daemon is not running",
		.cause = "Without it the driver starts the card anew for each program: seconds of delay, and "
			"settings such as a power limit are lost in between.",
		.remedy = "Start the daemon.",
		.command = "sudo apt install nvidia-persistenced && sudo systemctl enable --now "
			"nvidia-persistenced",
		.zh = {
			"常驻守护进程没有运行",
			"没有它，驱动会为每个程序重新启动卡：有数秒延迟，功耗上限等设置也会丢失。",
			"启动守护进程。",
		},
	},
	[FINDING_CUDA_OLD] = {
		.severity = FINDING_ERROR, .action = "driver",
		.title = "the driver's CUDA is too old for an installed program",
		.cause = "An installed PyTorch or toolkit was built for a newer CUDA than the driver offers.",
		.remedy = "Install a build for an older CUDA, or a newer driver branch that still knows the "
			"card.",
		.command = "softtape advise",
		.zh = {
			"驱动的 CUDA 对已安装的程序来说太旧",
			"已安装的 PyTorch 或工具包是为比驱动更新的 CUDA 编译的。",
			"安装为较旧 CUDA 编译的版本，或仍支持这张卡的更新驱动分支。",
		},
	},
	[FINDING_CUDA_NEW] = {
		.severity = FINDING_ERROR, .action = "install",
		.title = "an installed program has no code for this card",
		.cause = "This build of PyTorch or this toolkit dropped the card's generation: it says 'no "
			"kernel image is available' or does not see the card.",
		.remedy = "Install the build that softtape advise names.",
		.command = "softtape advise",
		.zh = {
			"已安装的程序没有适用于这张卡的代码",
			"该 PyTorch 版本或工具包放弃了这一代卡：会报 no kernel image is available，或看不到卡。",
			"安装 softtape advise 指出的版本。",
		},
	},
	[FINDING_INIT_FAILED] = {
		.severity = FINDING_ERROR, .action = "reseat",
		.title = "the driver could not start the card",
		.cause = "RmInitAdapter failed: the driver bound and then the card did not come up. This is "
			"what Windows shows as Code 43. Power, riser, a flashed VBIOS or the card itself.",
		.remedy = "Check power plugs and riser with the power off; keep the numbers in parentheses for "
			"a report; try the card in another slot.",
		.command = "sudo dmesg | grep -e RmInitAdapter -e NVRM | tail",
		.zh = {
			"驱动无法启动这张卡",
			"RmInitAdapter failed：驱动绑定了，但卡没有起来。Windows 把它显示为代码 43。可能是供电、转接卡、刷过的 VBIOS 或卡本身。",
			"断电检查供电插头和转接卡；保留括号里的数字用于报告；把卡换到另一个插槽。",
		},
	},
	[FINDING_POWER_CABLE] = {
		.severity = FINDING_ERROR, .action = "power",
		.title = "a power cable of the card is missing",
		.cause = "The driver reads from the card that its 6- or 8-pin plug has no power.",
		.remedy = "Switch the power off and plug the cable; never feed a card through SATA adapters.",
		.command = "sudo dmesg | grep 'power cables'",
		.zh = {
			"卡缺少供电线",
			"驱动从卡上读到 6 针或 8 针插头没有电。",
			"断电插好供电线；不要用 SATA 转接线给卡供电。",
		},
	},
	[FINDING_PROBE_NOT_CALLED] = {
		.severity = FINDING_WARNING, .action = "configure",
		.title = "the nvidia driver was not asked to take a card",
		.cause = "It was loaded while another driver (nouveau, nvidiafb, vfio) had a card.",
		.remedy = "Keep the other driver away, rebuild the initramfs, reboot.",
		.command = "lspci -nnk -d 10de:",
		.zh = {
			"nvidia 驱动没有被要求接管某张卡",
			"加载它时，另一个驱动（nouveau、nvidiafb、vfio）占着卡。",
			"屏蔽另一个驱动，重建 initramfs，重启。",
		},
	},
	[FINDING_WINDOW] = {
		.severity = FINDING_ERROR, .action = "kernel-parameter",
		.title = "a bridge above the card has no window for its memory",
		.cause = "The card's 64-bit BAR lies where the bridge above does not pass it on.",
		.remedy = "Add pci=realloc to the kernel command line, which lets the kernel lay out the windows itself, or change "
			"'Above 4G decoding' in the firmware setup, then reboot.",
		.command = "sudo dmesg | grep -e {bdf} -e 'bridge window'",
		.zh = {
			"卡上方的桥没有显存窗口",
			"卡的 64 位 BAR 所在的位置，上方的桥不转发。",
			"在内核命令行加上 pci=realloc，让内核自己安排窗口，或在固件设置中更改 Above 4G decoding，然后重启。",
		},
	},
	[FINDING_REMOVED_IN_USE] = {
		.severity = FINDING_WARNING, .action = "reboot",
		.title = "a card was removed while a program used it",
		.cause = "The driver waits for that program, and so does everything that waits for the driver.",
		.remedy = "Stop the program; if it does not end, reboot. End programs before a card is "
			"unplugged.",
		.command = "sudo fuser -v /dev/nvidia*",
		.zh = {
			"卡在使用中被移除",
			"驱动在等那个程序，其他等驱动的也都在等。",
			"停止该程序；停不下来就重启。拔卡前先结束程序。",
		},
	},
	[FINDING_D3COLD_STUCK] = {
		.severity = FINDING_ERROR, .action = "power",
		.title = "the card did not come back from power saving",
		.cause = "The kernel could not bring it from D3cold to D0: its power or link is gone.",
		.remedy = "Switch the machine off completely, then on. Load softtape, which keeps the card out "
			"of D3cold.",
		.command = "sudo modprobe softtape; cat /sys/bus/pci/devices/{bdf}/d3cold_allowed",
		.zh = {
			"卡没有从省电状态恢复",
			"内核无法把它从 D3cold 带回 D0：供电或链路已断。",
			"完全断电后再开机。加载 softtape，它会阻止卡进入 D3cold。",
		},
	},
	[FINDING_XID_BUS] = {
		.severity = FINDING_ERROR, .action = "power",
		.title = "the driver saw the card fall off the bus",
		.cause = "Xid 79 or 'fallen off the bus': the card stopped answering under load. Mostly power "
			"(weak supply, one cable for two plugs) or the riser; crashes in training look like "
			"this.",
		.remedy = "Give each plug its own cable, lower the power limit, change the riser, try "
			"speed=gen1; then test long.",
		.command = "sudo nvidia-smi -i {bdf} -pl 100; sudo softtape check --level long {bdf}",
		.zh = {
			"驱动发现卡从总线上掉线",
			"Xid 79 或 fallen off the bus：卡在负载下停止应答。多半是供电（电源太弱、一根线带两个插头）或转接卡；训练中崩溃就是这样。",
			"每个插头单独用一根线，降低功耗上限，换转接卡，试 speed=gen1；然后做长时间测试。",
		},
	},
	[FINDING_XID_MEMORY] = {
		.severity = FINDING_ERROR, .action = "retire",
		.title = "the driver reported errors of the card's memory",
		.cause = "Xid 48, 63, 64, 92, 94 or 95: the memory of the card gave wrong data.",
		.remedy = "Lower the memory clock, improve cooling, test the whole memory; if it stays, retire "
			"the card.",
		.command = "sudo softtape check --level long {bdf}",
		.zh = {
			"驱动报告了卡的显存错误",
			"Xid 48、63、64、92、94 或 95：卡的显存给出了错误数据。",
			"降低显存频率，改善散热，测试全部显存；仍然如此就淘汰这张卡。",
		},
	},
	[FINDING_XID_APP] = {
		.severity = FINDING_INFO, .action = "none",
		.title = "the driver stopped a program for an error",
		.cause = "Xid 13, 31, 43, 45, 68 or 109 come from the program that ran more often than from "
			"the card.",
		.remedy = "If several different programs meet it on one card only, test that card long.",
		.command = "sudo softtape check --level long {bdf}",
		.zh = {
			"驱动因错误停止了一个程序",
			"Xid 13、31、43、45、68 或 109 多半来自程序而不是卡。",
			"如果几个不同的程序只在一张卡上遇到，就对那张卡做长时间测试。",
		},
	},
	[FINDING_XID] = {
		.severity = FINDING_WARNING, .action = "riser",
		.title = "the driver reported an error of the card",
		.cause = "An Xid that is not about a program: a hang, a bad transfer or a failing part.",
		.remedy = "Check power and riser, then test long. NVIDIA's list of Xid numbers says more.",
		.command = "sudo dmesg | grep Xid | tail; sudo softtape check --level long {bdf}",
		.zh = {
			"驱动报告了卡的错误",
			"与程序无关的 Xid：挂起、传输错误或部件故障。",
			"检查供电和转接卡，再做长时间测试。NVIDIA 的 Xid 列表有更多说明。",
		},
	},
	[FINDING_AER_STORM] = {
		.severity = FINDING_WARNING, .action = "slower",
		.title = "the link to the card has many corrected errors",
		.cause = "Packets arrive damaged and are sent again: the signal over riser, cable or contacts "
			"is bad. It costs speed and ends in lost cards.",
		.remedy = "Change the riser, clean the contacts, keep cables away from power lines; a lower "
			"link speed often cures it.",
		.command = "echo 'options softtape speed=gen1' | sudo tee /etc/modprobe.d/softtape-speed.conf "
			"&& sudo reboot",
		.zh = {
			"到卡的链路有很多已纠正的错误",
			"数据包损坏后重发：转接卡、线缆或触点的信号差。会降低速度，最后掉卡。",
			"换转接卡，清洁触点，让线缆远离电源线；降低链路速度往往有效。",
		},
	},
	[FINDING_AER_SOME] = {
		.severity = FINDING_INFO, .action = "none",
		.title = "the link to the card had a few corrected errors",
		.cause = "A handful since boot is normal; the receiver asked again and got the data.",
		.remedy = "Nothing to do unless the number grows.",
		.command = "cat /sys/bus/pci/devices/{bdf}/aer_dev_correctable",
		.zh = {
			"到卡的链路有少量已纠正的错误",
			"启动以来有几个是正常的；接收方要求重发并得到了数据。",
			"数字不增长就无需处理。",
		},
	},
	[FINDING_AER_FATAL] = {
		.severity = FINDING_ERROR, .action = "riser",
		.title = "the link to the card had errors that could not be corrected",
		.cause = "Data was lost on the way. The driver may have reset the card, or lost it.",
		.remedy = "Change the riser or the slot, check power, try speed=gen1.",
		.command = "grep . /sys/bus/pci/devices/{bdf}/aer_dev_*fatal",
		.zh = {
			"到卡的链路有无法纠正的错误",
			"数据在途中丢失。驱动可能复位了卡，或丢了卡。",
			"换转接卡或插槽，检查供电，试 speed=gen1。",
		},
	},
	[FINDING_NARROW] = {
		.severity = FINDING_WARNING, .action = "reseat",
		.title = "the link has fewer lanes than both ends can do",
		.cause = "Dirty or taped contacts, a card that does not sit straight, an M.2 adapter, or a slot that shares "
			"its lanes. Width does not change with load, so this is real.",
		.remedy = "Reseat the card and clean the contacts, or use another slot.",
		.command = "sudo lspci -vv -s {bdf} | grep -e LnkCap -e LnkSta",
		.zh = {
			"链路的通道数少于两端的能力",
			"触点脏或贴了胶带、卡没有插正、M.2 转接板，或插槽共享通道。通道数不随负载变化，所以这是真实的。",
			"重新插卡并清洁触点，或换插槽。",
		},
	},
	[FINDING_ONE_LANE] = {
		.severity = FINDING_INFO, .action = "none",
		.title = "the link has one lane, though both ends can do more",
		.cause = "That is what a USB-cable riser carries. Without a riser the contacts are bad or taped. Computing is "
			"not slower, copies are: about 0.2 GB/s at 2.5 GT/s.",
		.remedy = "With a riser nothing is wrong. Without one reseat the card and clean the contacts.",
		.command = "softtape advise",
		.zh = {
			"链路只有一条通道，而两端都支持更多",
			"USB 线转接卡只有一条通道。没有用转接卡时，是触点不良或贴了胶带。计算不受影响，拷贝变慢：2.5 GT/s 时约 0.2 GB/s。",
			"使用转接卡时没有问题。没有使用时，重新插卡并清洁触点。",
		},
	},
	[FINDING_PORT_NARROW] = {
		.severity = FINDING_INFO, .action = "none",
		.title = "the slot has fewer lanes than the card",
		.cause = "An M.2 adapter carries four lanes, a x1 slot one. Computing is not slower, copies "
			"are. An M.2 adapter gives no power worth the name either.",
		.remedy = "Load data once and keep it on the card; feed the card by its own plugs.",
		.command = "softtape advise",
		.zh = {
			"插槽的通道数少于卡",
			"M.2 转接板有四条通道，x1 插槽有一条。计算不受影响，拷贝变慢。M.2 转接板也几乎不供电。",
			"数据一次载入并留在卡上；用卡自己的插头供电。",
		},
	},
	[FINDING_SLOW_LINK] = {
		.severity = FINDING_WARNING, .action = "configure",
		.title = "the link is slower than both ends can do",
		.cause = "The driver lowers the speed of an idle card, so look again under load. If it stays: "
			"a speed cap in the firmware setup or of softtape, or a signal that failed at the "
			"higher speed.",
		.remedy = "Look while something runs on the card. A slow link that is stable is better than a "
			"fast one that is not.",
		.command = "softtape check {bdf}",
		.zh = {
			"链路速度低于两端的能力",
			"驱动会降低空闲卡的速度，请在负载下再看。如果仍然如此：固件或 softtape 设了上限，或高速下信号失败。",
			"在卡有任务时查看。稳定的慢链路好过不稳定的快链路。",
		},
	},
	[FINDING_SMALL_LINK] = {
		.severity = FINDING_INFO, .action = "none",
		.title = "this card's link is small by design",
		.cause = "Most mining cards run at 2.5 GT/s with one to four lanes; no setting changes that. "
			"About 0.2 GB/s per lane.",
		.remedy = "Load data once, keep it on the card, use big batches.",
		.command = "softtape advise",
		.zh = {
			"这张卡的链路本来就小",
			"多数矿卡是 2.5 GT/s、一到四条通道，任何设置都改不了。每条通道约 0.2 GB/s。",
			"数据一次载入并留在卡上，用大批次。",
		},
	},
	[FINDING_POWER_TOOL] = {
		.severity = FINDING_WARNING, .action = "configure",
		.title = "a power-saving tool may undo the card's settings",
		.cause = "TLP, powertop or tuned switch runtime power management and ASPM on again, at boot or "
			"when the power source changes.",
		.remedy = "Tell the tool to leave the card alone, or let softtape settle it again.",
		.command = "echo 'RUNTIME_PM_DENYLIST=\"01:00.0\"' | sudo tee /etc/tlp.d/50-softtape.conf && "
			"sudo tlp start",
		.zh = {
			"省电工具可能撤销卡的设置",
			"TLP、powertop 或 tuned 会在启动或切换电源时重新打开运行时电源管理和 ASPM。",
			"让工具不要碰这张卡，或让 softtape 重新设置。",
		},
	},
	[FINDING_ASPM_POLICY] = {
		.severity = FINDING_INFO, .action = "configure",
		.title = "the kernel's ASPM policy saves power",
		.cause = "With powersave or powersupersave the kernel switches ASPM on wherever it can. "
			"softtape holds it off on the cards' own links only.",
		.remedy = "Nothing to do while softtape is loaded; the links above a card can be told to "
			"perform.",
		.command = "echo performance | sudo tee /sys/module/pcie_aspm/parameters/policy",
		.zh = {
			"内核的 ASPM 策略是省电",
			"powersave 或 powersupersave 会让内核尽量打开 ASPM。softtape 只在卡自己的链路上保持关闭。",
			"softtape 已加载就无需处理；也可以让上方的链路以性能优先。",
		},
	},
	[FINDING_D_STATE] = {
		.severity = FINDING_ERROR, .action = "reboot",
		.title = "a process is stuck in the driver",
		.cause = "It waits inside the kernel for an answer of the card and cannot be killed.",
		.remedy = "Read the kernel log, switch the power off, check power and riser, start again.",
		.command = "ps -eo pid,stat,wchan:30,comm | awk '$2 ~ /^D/'; sudo dmesg | grep -e Xid -e NVRM "
			"| tail",
		.zh = {
			"有进程卡在驱动里",
			"它在内核中等待卡的应答，无法被杀死。",
			"阅读内核日志，断电检查供电和转接卡，再启动。",
		},
	},
	[FINDING_CONTAINER] = {
		.severity = FINDING_ERROR, .action = "configure",
		.title = "this container cannot use the card",
		.cause = "The card is in sysfs, but the device nodes were not handed in.",
		.remedy = "Start the container with the card; the host needs NVIDIA's container toolkit.",
		.command = "docker run --gpus all ...",
		.zh = {
			"这个容器不能使用卡",
			"sysfs 中有卡，但没有把设备文件交给容器。",
			"启动容器时带上卡；宿主机需要 NVIDIA 的容器工具包。",
		},
	},
	[FINDING_DISPLAY] = {
		.severity = FINDING_WARNING, .action = "configure",
		.title = "the display is set up on a card without outputs",
		.cause = "A headless card became the primary screen, so the console stays black after the "
			"driver came in.",
		.remedy = "Take the X configuration away and let the display use the other GPU; the machine "
			"itself runs: log in over the network.",
		.command = "sudo mv /etc/X11/xorg.conf /etc/X11/xorg.conf.off && sudo reboot",
		.zh = {
			"显示被设置在没有输出的卡上",
			"无输出的卡成了主屏幕，装上驱动后控制台黑屏。",
			"移走 X 配置，让另一块显卡负责显示；机器本身在运行：可以通过网络登录。",
		},
	},
	[FINDING_HOT] = {
		.severity = FINDING_WARNING, .action = "cool",
		.title = "the card is too hot",
		.cause = "It slows itself down, and wrong data and short life follow. Cards from mining often "
			"have dry paste and worn fans.",
		.remedy = "Lower the power limit first, clean the cooler, renew the paste, give it air.",
		.command = "sudo nvidia-smi -i {bdf} -pl 100",
		.zh = {
			"卡温度过高",
			"它会自动降频，随后是错误数据和寿命缩短。矿卡往往硅脂干、风扇旧。",
			"先降低功耗上限，清洁散热器，换硅脂，改善通风。",
		},
	},
	[FINDING_FAN] = {
		.severity = FINDING_ERROR, .action = "cool",
		.title = "the card is warm and its fan stands still",
		.cause = "The fan is broken, unplugged, or held at zero by a setting.",
		.remedy = "Check the fan's plug and whether it turns freely; until then lower the power limit. "
			"Fans run by temperature again after a reboot.",
		.command = "sudo nvidia-smi -i {bdf} -pl 100; nvidia-smi -q -i {bdf} -d TEMPERATURE",
		.zh = {
			"卡已发热而风扇不转",
			"风扇坏了、没插好，或被设置为零。",
			"检查风扇插头以及能否自由转动；在此之前降低功耗上限。重启后风扇恢复按温度运行。",
		},
	},
	[FINDING_HOST_MEMORY] = {
		.severity = FINDING_WARNING, .action = "configure",
		.title = "the machine ran out of memory",
		.cause = "The kernel ended a program because main memory was full: mining rigs often have 4 or "
			"8 GB. In training this looks like a crash of the card.",
		.remedy = "Use fewer data-loader workers, add swap or memory.",
		.command = "free -h; sudo journalctl -k -g 'Out of memory'",
		.zh = {
			"机器内存耗尽",
			"主内存已满，内核结束了一个程序：矿机往往只有 4 或 8 GB。训练中看起来像卡崩溃。",
			"减少数据加载进程，增加交换空间或内存。",
		},
	},
	[FINDING_MASTER] = {
		.severity = FINDING_WARNING, .action = "driver",
		.title = "the card may not read or write main memory",
		.cause = "Bus Master is off in its command register though a driver is bound; unloading nvidia "
			"leaves some cards so.",
		.remedy = "Load the driver again.",
		.command = "sudo modprobe -r nvidia_uvm nvidia_drm nvidia_modeset nvidia && sudo modprobe "
			"nvidia",
		.zh = {
			"卡不能读写主内存",
			"驱动已绑定，但命令寄存器中的 Bus Master 是关的；卸载 nvidia 后有些卡会这样。",
			"重新加载驱动。",
		},
	},
	[FINDING_STATE_OLD] = {
		.severity = FINDING_WARNING, .action = "wait",
		.title = "the last check is older than allowed",
		.cause = "--max-age names a limit, and the stored verdict is older.",
		.remedy = "Check again.",
		.command = "sudo softtape check {bdf}",
		.zh = {
			"上次检查比允许的更旧",
			"--max-age 给出了时限，而保存的结论更旧。",
			"再检查一次。",
		},
	},
	[FINDING_TIMEOUT] = {
		.severity = FINDING_ERROR, .action = "wait",
		.title = "the cards were not final in time",
		.cause = "A check is still running, waits for a driver, or was never started.",
		.remedy = "See which card it is; the unit softtape@ADDRESS starts the check at plug.",
		.command = "softtape status; systemctl list-units 'softtape@*'",
		.zh = {
			"卡没有按时得出结论",
			"检查仍在运行、在等驱动，或从未开始。",
			"看看是哪张卡；单元 softtape@地址 会在插卡时开始检查。",
		},
	},
};

/**
 * finding_info - the row of a code
 * @code:	any code
 */
const struct finding_info *finding_info(enum finding_code code)
{
	return &table[code];
}

/**
 * finding_text - the words of a row
 * @code:	any code
 * @language:	in which language
 */
struct finding_text finding_text(enum finding_code code, enum finding_language language)
{
	const struct finding_info *info = &table[code];

	if (language == FINDING_CHINESE)
		return info->zh;
	return (struct finding_text){ .title = info->title, .cause = info->cause, .remedy = info->remedy };
}

/**
 * finding_cause_zh - what a cause of the self-test means, in Chinese
 * @word:	its code; the English words are in selftest.h
 *
 * Return: the text, NULL when there is none.
 */
const char *finding_cause_zh(const char *word)
{
	static const struct {
		const char *word;
		const char *text;
	} causes[] = {
		{ "libcuda-absent", "没有安装 libcuda.so.1：从与驱动相同的来源安装（Debian：libcuda1）" },
		{ "libcuda-broken", "libcuda.so.1 存在但不能使用：与驱动一起重装" },
		{ "libcuda-stub", "工具包的 libcuda 存根挡住了驱动的库：从 LD_LIBRARY_PATH 中去掉 stubs 目录" },
		{ "libcuda-mismatch", "libcuda 与已加载的 nvidia 模块版本不同：更新驱动后请重启" },
		{ "libcuda-compat", "前向兼容库不适用于这类卡：使用驱动自带的 libcuda" },
		{ "cuda-no-device", "CUDA 找不到可用设备：nvidia 模块是否已加载，/dev/nvidia* 是否可访问" },
		{ "cuda-not-visible", "CUDA 可用但不提供这张卡：看内核日志中关于该地址的 NVRM 行" },
		{ "cuda-not-ready", "驱动说系统尚未就绪：稍后再试，或启动它等待的服务" },
		{ "cuda-init-failed", "CUDA 没有启动：nvidia_uvm 是否已加载，/dev/nvidia-uvm 是否可访问；看内核日志" },
		{ "card-busy", "另一个进程占用了卡：停止它，或退出独占计算模式" },
		{ "card-memory-busy", "卡的空闲显存太少：另一个进程在使用" },
		{ "jit-library-absent", "缺少驱动的 PTX 编译库（Debian：libnvidia-ptxjitcompiler1）" },
		{ "jit-refused", "驱动拒绝为这张卡编译测试" },
		{ "host-error", "本机无法启动测试：内存、进程或文件不足" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(causes); i++)
		if (!strcmp(causes[i].word, word))
			return causes[i].text;
	return NULL;
}

/**
 * finding_message_id - the journal's MESSAGE_ID of a finding
 * @word:	the word it is printed under
 * @buf:	filled with 32 hex digits
 * @size:	bytes in @buf, at least 33
 *
 * Half of it is fixed, half is the word's FNV-1a hash: journal and catalog agree without a list of numbers.
 */
void finding_message_id(const char *word, char *buf, size_t size)
{
	unsigned long long hash = 0xcbf29ce484222325ull;

	for (; *word; word++)
		hash = (hash ^ (unsigned char)*word) * 0x100000001b3ull;
	snprintf(buf, size, "0a6f1f9d0d5b4a0e%016llx", hash);
}

/* The stable word a finding is printed under. */
const char *finding_word(const struct finding *finding)
{
	return finding->word[0] ? finding->word : codes[finding->code];
}

/**
 * finding_find - the code of a word
 * @word:	what a user typed
 * @ret_code:	set on success
 *
 * Return: true when there is such a code.
 */
bool finding_find(const char *word, enum finding_code *ret_code)
{
	int i;

	for (i = 0; i < FINDING_NR; i++) {
		if (strcmp(codes[i], word))
			continue;
		*ret_code = i;
		return true;
	}

	return false;
}

const char *finding_severity_word(enum finding_severity severity)
{
	static const char *const words[] = {
		[FINDING_INFO] = "info",
		[FINDING_WARNING] = "warning",
		[FINDING_ERROR] = "error",
	};

	return words[severity];
}

/* The word in braces at @text as its value; NULL when it is none of ours. */
static const char *placeholder(const char *text, const char *bdf, const char *kernel, const char *driver)
{
	if (!strncmp(text, "{bdf}", 5))
		return bdf;
	if (!strncmp(text, "{kernel}", 8))
		return kernel;
	if (!strncmp(text, "{driver}", 8))
		return driver;
	return NULL;
}

static void fill(const char *text, const char *bdf, const char *kernel, const char *driver, char *buf, size_t size)
{
	const char *value;
	size_t len = 0;

	while (*text && len < size - 1) {
		value = placeholder(text, bdf, kernel, driver);
		if (!value) {
			buf[len++] = *text++;
			continue;
		}
		util_copy(buf + len, size - len, value);
		len += strlen(buf + len);
		text = strchr(text, '}') + 1;
	}

	buf[len] = '\0';
}

/**
 * finding_command - what to type against a finding
 * @finding:	the finding; its bdf and driver are put in
 * @buf:	filled
 * @size:	bytes in @buf
 */
void finding_command(const struct finding *finding, char *buf, size_t size)
{
	char release[128];

	if (finding->command[0]) {
		util_copy(buf, size, finding->command);
		return;
	}

	host_release(release, sizeof(release));
	fill(table[finding->code].command, finding->bdf[0] ? finding->bdf : "ADDRESS", release,
	     finding->driver[0] ? finding->driver : "DRIVER", buf, size);
}

/**
 * finding_template - the command of a row as documents show it, the same on every machine
 * @code:	the row
 * @buf:	filled
 * @size:	bytes in @buf
 */
void finding_template(enum finding_code code, char *buf, size_t size)
{
	fill(table[code].command, "ADDRESS", "$(uname -r)", "DRIVER", buf, size);
}

static PRINTF_LIKE(4, 0) void make(struct finding *ret_finding, enum finding_code code, const char *bdf,
				   const char *format, va_list args)
{
	char *c;

	memset(ret_finding, 0, sizeof(*ret_finding));
	ret_finding->code = code;
	util_copy(ret_finding->bdf, sizeof(ret_finding->bdf), bdf ? bdf : "");
	vsnprintf(ret_finding->evidence, sizeof(ret_finding->evidence), format, args);

	/* Evidence may quote the kernel log or the user: no control characters, no broken UTF-8. */
	for (c = ret_finding->evidence; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

/**
 * finding_make - fill in one finding
 * @ret_finding: filled
 * @code:	which
 * @bdf:	card it is about, NULL = none
 * @format:	evidence
 */
void finding_make(struct finding *ret_finding, enum finding_code code, const char *bdf, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	make(ret_finding, code, bdf, format, args);
	va_end(args);
}

void finding_append(struct finding_list *list, const struct finding *finding)
{
	list->item = util_grow(list->item, list->nr, &list->room, sizeof(*list->item));
	list->item[list->nr++] = *finding;
}

void finding_add(struct finding_list *list, enum finding_code code, const char *bdf, const char *format, ...)
{
	struct finding finding;
	va_list args;

	va_start(args, format);
	make(&finding, code, bdf, format, args);
	va_end(args);
	finding_append(list, &finding);
}

/**
 * finding_add_command - the same with the command that fits this machine
 * @list:	the list
 * @code:	which
 * @bdf:	card it is about, NULL = none
 * @command:	what to type instead of the row's command
 * @format:	evidence, one line
 */
void finding_add_command(struct finding_list *list, enum finding_code code, const char *bdf, const char *command,
			 const char *format, ...)
{
	struct finding finding;
	va_list args;

	va_start(args, format);
	make(&finding, code, bdf, format, args);
	va_end(args);
	util_copy(finding.command, sizeof(finding.command), command);
	finding_append(list, &finding);
}

void finding_free(struct finding_list *list)
{
	free(list->item);
	memset(list, 0, sizeof(*list));
}
