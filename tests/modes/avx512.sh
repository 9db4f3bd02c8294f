#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs README's program and the tests of kernels with the vectors of AVX-512, which qemu lacks, on a processor that Bochs emulates:
# avx512.sh [gtest filter]. By hand: Bochs takes some hundred times as long. Ends 0 only if that width was used and all passed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build/gcc
filter=${1:-'*Kernel*:Blocks*'}
programs=("$build/tests/readme/readme_graph" "$build/tests/engine_test")
"$root/.ci/packages" tests examples avx512
"$root/.ci/configure_tests" -DTRAINHOOK_WIDTHS=all
cmake --build "$build" --target readme_graph engine_test
work=$(mktemp -d)
trap 'jobs -p | xargs -r kill 2>/dev/null || true; rm -rf "$work"' EXIT

# A kernel of Linux, which is not installed.
cd "$work"
apt-get -q download "$(apt-cache depends linux-image-cloud-amd64 | awk '$1 == "Depends:" { print $2; exit }')"
dpkg-deb --extract linux-image-*.deb kernel

# Its file system, in memory: the programs, the libraries that they load, and a shell.
mkdir -p system/{bin,dev,proc,tmp,etc}
cp /bin/busybox system/bin/
cp /etc/ld.so.cache system/etc/
for program in "${programs[@]}"; do
  strip -o "system/bin/${program##*/}" "$program"
  ldd "$program" | grep -o '/[^ ]*' | xargs cp --parents --update --dereference -t system
done
cat >system/init <<EOF
#!/bin/busybox sh
for type in devtmpfs:dev proc:proc tmpfs:tmp; do busybox mount -t \${type%:*} none /\${type#*:}; done
cd /tmp
readme_graph && busybox grep -x 'kernel_width: "avx512"' line/run.pbtxt &&
  engine_test --gtest_color=no --gtest_filter='$filter' && echo "avx512: all passed"
busybox poweroff -f
EOF
chmod +x system/init

# Linux mistrusts the size that this Bochs gives for compacted states of a processor, and would switch AVX off: hence clearcpuid.
mkdir disc
(cd system && find . | cpio --quiet -o -H newc | gzip -1) >disc/system.gz
cp kernel/boot/vmlinuz-* disc/linux
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 disc/
printf '%s\n' 'default linux' 'label linux' 'kernel /linux' \
  'append initrd=/system.gz console=ttyS0,115200 loglevel=1 mitigations=off nokaslr tsc=reliable clearcpuid=xsaves,xsavec' >disc/isolinux.cfg
xorriso -as mkisofs -quiet -o disc.iso -b isolinux.bin -c boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table disc
cat >machine <<EOF
cpu: model=corei7_skylake_x, ips=50000000
memory: guest=1024, host=1024
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios.bin
ata0-master: type=cdrom, path=disc.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=printed
display_library: term
sound: waveoutdrv=dummy
log: log
panic: action=fatal
EOF

# It ends 1 when the machine is switched off. The c tells the debugger of Debian's Bochs to continue; it waits if nobody reads its screen.
touch printed
TERM=linux timeout -k 5 7200 bochs -q -f machine <<<c >said 2>&1 &
bochs=$!
until screen=$(grep -ao '/dev/pts/[0-9]*' said) || ! kill -0 $bochs; do sleep 1; done
cat "$screen" >/dev/null 2>&1 &
tail --pid=$bochs -n +1 -f printed
grep -q '^avx512: all passed' printed || { echo "avx512: failed; the machine says: $(tail -n 3 said log)" >&2; exit 1; }
