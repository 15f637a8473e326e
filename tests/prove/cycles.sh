#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Runs in the light guest: cards come and go while the module does too, files are read, drivers bind, policies change.
# usage: cycles.sh SEED CYCLES; prints what failed and at the end "cycles N seed N records N"; status 1 when a card was missed
#
# What is chosen comes from the seed; how the processes meet is up to the kernel. The others take part in each cycle, each
# from a moment of its own on, and then wait for the next one: the plugs are to get the time. Only builtins of the shell in
# the loops, as a process costs as much as a plug here.

seed=$1 cycles=$2
mod=/lib/modules
dev=/sys/bus/pci/devices
bus=/sys/devices/pci4b4b:00/pci_bus/4b4b:00
par=/sys/module/fakehost/parameters
stop=/run/stop pause=/run/pause busy=/run/busy now=/run/cycle clock=/run/clock
card=4b4b:01:00.0
records=0 failed=0

# The next number from 0 to $1 - 1, in $r.
random()
{
	seed=$(((seed * 1103515245 + 12345) & 0x7fffffff))
	r=$(((seed >> 8) % $1))
}

put()
{
	echo "$1" >"$2"
} 2>/dev/null

get()
{
	read -r line <"$1"
} 2>/dev/null

# A sleep without a process: nobody writes into this pipe.
nap()
{
	# shellcheck disable=SC3045 # busybox has -t
	read -r -t "$1" _ <&9
}

# Waits for the next cycle, and in it up to 0.4 s.
join()
{
	until get $now && [ "$line" != "$cycle" ]; do
		[ ! -e $stop ] || return 1
		nap 0.01
	done
	cycle=$line
	random 40
	[ $r -ge 10 ] || r=0$r
	nap 0.$r
	return 0
}

readers()
{
	while join; do
		for f in card state aspm clkpm l1ss d3cold cap speed smbus report; do
			get $dev/$card/softtape/$f
		done
		put 1 $dev/$card/softtape/verify
	done
}

binders()
{
	while join; do
		put $card /sys/bus/pci/drivers/nvidia/unbind
		put $card /sys/bus/pci/drivers/nvidia/bind
		put powersave /sys/module/pcie_aspm/parameters/policy
		put 1 $dev/$card/link/l1_aspm
		put default /sys/module/pcie_aspm/parameters/policy
	done
}

loaders()
{
	while join; do
		if [ -e $pause ]; then
			: >$busy.off
			continue
		fi
		rm -f $busy.off
		random 5
		case $r in
		0) args="speed=gen1" ;;
		1) args="dry_run=Y" ;;
		2) args="aspm=force smbus=hold" ;;
		3) args="d3cold=keep skip=4b4b:02:00.0" ;;
		*) args="" ;;
		esac
		rmmod softtape
		# shellcheck disable=SC2086 # several arguments
		insmod $mod/softtape.ko $args
	done
}

# With the module resident every card that comes must have a record, and a last word.
expect_record()
{
	n=0
	until get $dev/"$2"/softtape/state && [ "$line" != pending ]; do
		n=$((n + 1))
		if [ $n = 1000 ]; then
			echo "cycle $1: no record of $2, or still pending"
			failed=1
			return
		fi
		nap 0.01
	done
	records=$((records + 1))
}

hold_loaders()
{
	: >$pause
	put "before $1" $now
	until [ -e $busy.off ]; do nap 0.01; done
	[ -e /sys/module/softtape ] || insmod $mod/softtape.ko
}

rm -f $stop $pause $busy.off $now $clock
mkfifo $clock
exec 9<>$clock
insmod $mod/fakehost.ko functions=2 slots=2 ep_l1ss=0xf port_l1ss=0xf
insmod $mod/nvidia.ko resident=1
insmod $mod/softtape.ko
put 0 $par/present
readers &
seed=$((seed + 1))
binders &
seed=$((seed + 1))
loaders &

i=0
while [ $i -lt "$cycles" ]; do
	# Twenty cycles with the module coming and going, twenty with it resident.
	case $((i % 40)) in
	0) rm -f $pause $busy.off ;;
	20) hold_loaders $i ;;
	esac
	put $i $now
	put 3 $par/present
	put 1 $bus/rescan
	if [ $((i % 40)) -ge 20 ]; then
		expect_record $i $card
		expect_record $i 4b4b:02:00.0
	fi
	random 4
	case $r in
	0)	# gone before anybody is told
		put 0 $par/present
		put 1 $dev/$card/remove ;;
	1)	# vanishes somewhere in what is still going on
		random 60
		put $((r + 1)) $par/vanish_at
		nap 0.005
		put 1 $dev/$card/remove
		put 0 $par/vanish_at ;;
	2)	# an access fails
		random 60
		put $((r + 1)) $par/fail_at
		put 1 $dev/$card/remove
		put 0 $par/fail_at ;;
	3)	put 1 $dev/$card/remove ;;
	esac
	put 1 $dev/4b4b:01:00.1/remove
	put 1 $dev/4b4b:02:00.0/remove
	put 1 $dev/4b4b:02:00.1/remove
	put 0 $par/present
	i=$((i + 1))
done

: >$stop
wait
[ -e /sys/module/softtape ] && rmmod softtape
rmmod nvidia
rmmod fakehost
echo "cycles $cycles seed $1 records $records"
exit $failed
