#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Checks of fakehost.ko and nvidia.ko, run as root inside the test guest (busybox is enough; needs setpci, debugfs).
# usage: check.sh MODULE_DIRECTORY; prints one line a check, exit status 1 when one failed
set -u

mod=$1
port=4b4b:00:00.0
ep=4b4b:01:00.0
dev=/sys/bus/pci/devices
par=/sys/module/fakehost/parameters
log=/sys/kernel/debug/fakehost/log
lnkctl=CAP_EXP+10.w
lnksta=CAP_EXP+12.w
lnkctl2=CAP_EXP+30.w
failed=0

is() {
	if [ "$2" = "$3" ]; then
		echo "ok $1"
	else
		echo "FAIL $1: got '$2', expected '$3'"
		failed=1
	fi
}

reg() {
	setpci -s "$1" "$2"
}

# What was written since the last clear, enumeration noise left out.
log_of() {
	grep -E " ($1)\$" "$log" | while read -r who off size old written now name; do
		: "$off" "$size"
		printf '%s %s %s->%s=%s;' "$who" "$name" "$old" "$written" "$now"
	done
}

# Names in a directory that match a pattern, each followed by a blank.
names() {
	for f in "$1"/$2; do
		[ ! -e "$f" ] || printf '%s ' "${f##*/}"
	done
}

log_clear() {
	echo > "$log"
}

fakehost() {
	insmod "$mod/fakehost.ko" "$@"
	log_clear
}

retrain_to() {
	reg $port "$lnkctl2=$1:f"
	reg $port "$lnkctl=20:20"
}

trained() {
	reg $port $lnksta > /dev/null
	reg $port $lnksta > /dev/null
	reg $port $lnksta
}

replug() {
	echo 1 > $dev/$ep/remove
	echo 0 > $par/present
	echo 1 > $par/present
	echo 1 > /sys/bus/pci/rescan
}

check_link() {
	fakehost
	is "every window and BAR assigned" "$(dmesg | grep -c "4b4b.*can't assign")" 0
	is "card in its own domain" "$(cat $dev/$ep/vendor $dev/$ep/device $dev/$ep/class | tr '\n' ' ')" "0x10de 0x1b87 0x030200 "
	is "BAR0 assigned" "$(sed -n '1s/.* 0x0*\([1-9a-f][0-9a-f]*\) .*/\1/p' $dev/$ep/resource)" 4000ffffff
	is "ASPM core sees L0s, L1 and Clock PM" "$(cat $dev/$ep/link/l0s_aspm $dev/$ep/link/l1_aspm $dev/$ep/link/clkpm | tr -d '\n')" 111
	is "speed as trained" "$(cat $dev/$ep/current_link_speed)" "8.0 GT/s PCIe"

	echo 0 > $dev/$ep/link/l1_aspm
	is "the core clears L1 on both ends" "$(reg $ep $lnkctl) $(reg $port $lnkctl)" "0141 0041"
	is "the card first" "$(log_of lnkctl | cut -d ' ' -f 1)" ep

	log_clear
	retrain_to 1
	is "retrain: training shown twice" "$(reg $port $lnksta) $(reg $port $lnksta) $(reg $port $lnksta)" "3843 3843 7041"
	is "retrain: speed on both ends" "$(reg $ep $lnksta) $(cat $dev/$ep/current_link_speed)" "1041 2.5 GT/s PCIe"
	reg $port $lnksta=4000
	is "LBMS: cleared by writing 1" "$(reg $port $lnksta)" 3041
	is "log has the writes in order" "$(log_of '.*')" \
		"port lnkctl2 0003->0001=0001;port lnkctl 0041->0061=0041;port lnksta 7041->4000=3041;"
	rmmod fakehost
	is "nothing left after unload" "$(names $dev '4b4b*')" ""
}

check_faults() {
	fakehost ep_lnkctl_rw=0 port_tls_rw=0 ep_l1ss=0xf
	reg $ep $lnkctl=0
	retrain_to 1
	is "stuck registers keep their value" "$(reg $ep $lnkctl) $(reg $port $lnkctl2) $(trained)" "0143 0003 7043"

	echo 15 > $par/port_tls_rw
	echo 2 > $par/tls_min
	retrain_to 1
	is "target speed clamped" "$(reg $port $lnkctl2) $(trained)" "0002 7042"
	echo 0 > $par/tls_min

	echo 1 > $par/fail_speed
	retrain_to 1
	is "training lost the link" "$(trained) $(reg $ep 0.w)" "5000 ffff"
	retrain_to 3
	is "old speed brings it back" "$(trained) $(reg $ep 0.w)" "7043 10de"

	echo -1 > $par/train_reads
	retrain_to 2
	is "training never ends" "$(trained) $(trained) $(trained)" "7843 7843 7843"
	rmmod fakehost

	fakehost port_version=1 ep_version=1 ep_speed=2
	is "version 1: no LNKCTL2, speed of the slower end" "$(reg $port $lnkctl2) $(reg $ep $lnksta)" "0000 1042"
	rmmod fakehost
}

check_swap() {
	fakehost
	echo 0 > $par/present
	is "gone: all ones" "$(reg $ep 0.l) $(reg $ep 88.w) $(reg $ep 108.l)" "ffffffff ffff ffffffff"
	is "gone: port reports the link down" "$(reg $port $lnksta)" 1000
	echo 1 > $dev/$ep/remove
	echo 1 > /sys/bus/pci/rescan
	is "gone: rescan finds nothing" "$(names $dev $ep)" ""
	echo 0x1d81 > $par/ep_device
	echo 1 > $par/present
	echo 1 > /sys/bus/pci/rescan
	is "another card in the slot" "$(cat $dev/$ep/device) $(cat $dev/$ep/current_link_speed)" "0x1d81 8.0 GT/s PCIe"
	rmmod fakehost
}

# S3 takes the power: the link comes back at full speed, the core restores registers and does not retrain.
check_suspend() {
	if ! grep -q deep /sys/power/mem_sleep || [ ! -e /sys/class/rtc/rtc0/wakealarm ]; then
		echo "skip suspend: no S3 or no RTC in this guest"
		return
	fi
	fakehost
	reg $ep $lnkctl=0
	retrain_to 1
	trained > /dev/null
	log_clear
	echo deep > /sys/power/mem_sleep
	echo +2 > /sys/class/rtc/rtc0/wakealarm
	echo mem > /sys/power/state
	is "resumed with firmware's values, restored by the core" "$(log_of lnkctl2 | cut -d ';' -f 1)" "port lnkctl2 0003->0001=0001"
	is "target speed restored, link at full speed" "$(reg $port $lnkctl2) $(reg $port $lnksta)" "0001 3043"
	is "card restored" "$(reg $ep $lnkctl) $(reg $ep 14.l)" "0000 00000040"
	rmmod fakehost
}

check_nvidia() {
	fakehost
	reg $ep $lnkctl=0
	reg $port $lnkctl=40
	insmod "$mod/nvidia.ko" version=590.44.01 aspm_on=1
	insmod "$mod/nvidia-uvm.ko"
	is "nvidia binds" "$(basename "$(readlink $dev/$ep/driver)")" nvidia
	is "version in sysfs" "$(cat /sys/module/nvidia/version)" 590.44.01
	is "version in procfs" "$(sed -n 's/NVRM version: NVIDIA UNIX x86_64 Kernel Module  \([0-9.]*\)  .*/\1/p' /proc/driver/nvidia/version)" 590.44.01
	is "information in procfs" "$(sed -n 's/Device Minor: *\t *//p' /proc/driver/nvidia/gpus/$ep/information)" 0
	is "majors" "$(sed -n 's/195 //p' /proc/devices | tr '\n' ' ')" "nvidia nvidiactl "
	is "nodes" "$(for n in nvidia0 nvidiactl nvidia-uvm; do stat -c '%a %t:%T' /dev/$n; done | sed 's/ [^c].*:/ uvm:/' | tr '\n' ' ')" \
		"666 c3:0 666 c3:ff 666 uvm:0 "
	is "aspm_on set both ends" "$(reg $port $lnkctl) $(reg $ep $lnkctl)" "0043 0103"

	for i in $(seq 20); do
		replug
		[ -e /dev/nvidia0 ] || is "bound again, cycle $i" no yes
	done
	is "one card after 20 cycles" "$(ls /proc/driver/nvidia/gpus)" $ep

	echo 1 > /sys/module/nvidia/parameters/hang
	(: < /dev/nvidia0) &
	for i in $(seq 1000); do
		grep -q '^State:	D' /proc/$!/status && break
	done
	is "a hung open is in state D" "$(sed -n 's/State:	\(.\).*/\1/p' /proc/$!/status)" D
	echo 0 > /sys/module/nvidia/parameters/hang
	wait $!
	is "and ends when told" $? 0

	rmmod nvidia-uvm
	rmmod nvidia
	is "unload leaves no node" "$(names /dev 'nvidia*')" ""
	is "unload leaves no procfs" "$(names /proc/driver 'nvidia*')" ""
}

check_failures() {
	while read -r fail text; do
		dmesg -c > /dev/null
		insmod "$mod/nvidia.ko" fail="$fail" 2> /dev/null
		is "fail=$fail: not loaded" "$(names /sys/module nvidia)" ""
		is "fail=$fail: says why" "$(dmesg | grep -q "NVRM.*$text" && echo yes)" yes
	done <<- END
		legacy will ignore
		open not supported by open
		bar0 BAR0 is 0M @ 0x0
		lost fallen off the bus and is not responding
	END
	insmod "$mod/nvidia.ko" fail=lost fail_id=0x1d81
	is "fail_id: another card's failure" "$(basename "$(readlink $dev/$ep/driver)")" nvidia
	rmmod nvidia
	rmmod fakehost

	fakehost mem=0
	insmod "$mod/nvidia.ko" 2> /dev/null
	is "no room for BAR0: no driver" "$(dmesg | grep -q 'BAR 0.*failed to assign' && echo unassigned) $(names $dev/$ep driver)" "unassigned "
	rmmod fakehost
	insmod "$mod/nvidia.ko" 2> /dev/null
	is "no card: not loaded" "$(dmesg | tail -1 | sed 's/.*NVRM/NVRM/')" "NVRM: No NVIDIA GPU found."
	insmod "$mod/nvidia.ko" resident=1
	is "resident without a card" "$(names /dev 'nvidia*')" "nvidiactl "
	fakehost
	is "hot-add with a resident driver" "$(names /dev 'nvidia*')" "nvidia0 nvidiactl "
	rmmod fakehost
	rmmod nvidia
}

check_link
check_faults
check_swap
check_suspend
check_nvidia
check_failures
is "no splat in the kernel log" "$(dmesg | grep -cE 'BUG|WARNING|Call Trace|Oops')" 0
exit $failed
