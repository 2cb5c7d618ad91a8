#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# The contract of tests/vm/run, proven by boots: see tests/vm/README.md.
use strict;
use warnings;
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use Test::More;
use Time::HiRes qw(time);

my $vm = dirname(__FILE__) . '/..';
my $dir = tempdir(CLEANUP => 1);

sub slurp
{
	my ($path) = @_;
	open my $file, '<:raw', $path or return '';
	local $/;
	return scalar <$file> // '';
}

# Runs the runner with the arguments given; returns status, standard output and standard error.
sub vm
{
	my $pid = fork // die "fork: $!";
	if (!$pid) {
		open STDOUT, '>:raw', "$dir/out" or die;
		open STDERR, '>:raw', "$dir/err" or die;
		exec "$vm/run", @_ or die;
	}
	waitpid $pid, 0;
	return ($? >> 8, slurp("$dir/out"), slurp("$dir/err"));
}

# The serial log that a failure names.
sub log_named
{
	my ($err) = @_;
	return $err =~ /serial log: (\S+)$/m ? slurp($1) : '';
}

subtest 'a command on 6.12: output, status, disks, shares, tools' => sub {
	mkdir "$dir/some share" or die;
	open my $file, '>', "$dir/some share/file" or die;
	print $file "shared\n";
	close $file;
	open $file, '>', "$dir/some share/script" or die;
	print $file <<'END';
python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 256)'
say() { echo "$*" >&2; }
say "cwd $(pwd) $(stat -f -c %T .) user $(id -u)"
for d in /lab /tmp; do
	cd $d && touch f && setfattr -n user.k -v v f && say "$d $(getfattr --only-values -n user.k f)" \
		"$(findmnt -no FSTYPE $d)"
done
[ "$(df -k --output=avail /lab | tail -n 1)" -ge 2097152 ] && say "lab large"
say "share $(cat '/share/some share/file')"
(echo x >'/share/some share/file') 2>/dev/null || say "share read-only"
mount -o remount,rw '/share/some share' 2>/dev/null || say "share stays read-only"
[ -x /share/weir/tests/vm/run ] && say "source"
for tool in git gcc make python3 node strace openssl ssh-keygen ssh-agent perl prove setfattr \
	getfacl mkfs.ext4 mkfs.xfs mkfs.btrfs ip ps setsid curl busybox fakeroot autoconf \
	automake libtoolize su; do
	command -v $tool >/dev/null || say "no $tool"
done
say "builder $(su builder -c 'echo $(id -u) $HOME')"
for fs in securityfs bpf cgroup2 tracefs debugfs; do
	findmnt -nt $fs >/dev/null || say "no $fs"
done
say "stdin $(wc -c)"
sleep 1000 &
exit 3
END
	close $file;
	my ($status, $out, $err) = vm('-s', "$dir/some share", '--', 'sh', '/share/some share/script');
	is $status, 3, 'the status is the command\'s';
	ok $out eq join('', map { chr } 0 .. 255) x 256, 'standard output passes byte for byte';
	$err =~ s/^vm: .*\n//mg;
	is $err, <<'END', 'standard error too, and it tells of a guest as promised';
cwd /lab ext2/ext3 user 0
/lab v ext4
/tmp v ext4
lab large
share shared
share read-only
share stays read-only
source
builder 1000 /home/builder
stdin 0
END
};

subtest '6.1: a status of the reserved range, more kernel arguments' => sub {
	my ($status, $out, $err) = vm('-k', '6.1', '-a', 'lsm=lockdown,yama', '--', 'sh', '-c',
		'uname -r; cat /sys/kernel/security/lsm; setfattr -n user.k -v v /tmp && exit 197');
	is $status, 196, '197 from the guest is reported as 196';
	like $err, qr/status 197/, 'with the number in the text';
	like $out, qr/^6\.1\..*\nlockdown,.*yama/, 'series and arguments arrive';
	unlike $out, qr/bpf/, 'an appended lsm= replaces the default';
};

subtest '7.2: a panic' => sub {
	my ($status, $out, $err) = vm('-k', '7.2', '--', 'sh', '-c',
		'uname -r; cat /sys/kernel/security/lsm; sleep 1; echo c >/proc/sysrq-trigger');
	is $status, 197, 'is 197';
	like $out, qr/^([7-9]|[1-9]\d)\.\d+\..*\nlockdown,.*bpf/, 'what came before it is passed on';
	like log_named($err), qr/^weir-vm: kernel .*^weir-vm: package .*sysrq triggered crash/ms,
		'the serial log is named, and has the versions';
};

subtest 'a command without end, and output as it comes' => sub {
	open my $pipe, '-|', "$vm/run -t 45 -- sh -c 'echo first; sleep 200' 2>$dir/err"
		or die;
	my $line = <$pipe>;
	my $came = time;
	close $pipe;
	is $? >> 8, 198, 'is 198 after -t seconds';
	is $line, "first\n", 'its output is there';
	cmp_ok time - $came, '>', 1, 'before the end';
	like log_named(slurp("$dir/err")), qr/weir-vm: start/, 'the serial log is named';
};

subtest 'a machine that ends by itself' => sub {
	my ($status, undef, $err) = vm('--', 'busybox', 'reboot', '-f');
	is $status, 199, 'is a failure of the harness';
	like log_named($err), qr/weir-vm: start/, 'the serial log is named';
};

subtest 'deterministic mode, twice' => sub {
	my $count = 'import time, os
for n in range(5):
    os.wait4(os.spawnlp(os.P_NOWAIT, "true", "true"), 0) if n % 2 else sum(range(10000 * n))
    print(time.monotonic_ns(), time.process_time_ns(), flush=True)';
	my @runs = map { [vm('-d', '--', 'python3', '-c', $count)] } 1 .. 2;
	is $runs[0][0], 0, 'runs';
	like $runs[0][1], qr/^(\d+ \d+\n){5}$/, 'and counts';
	is $runs[0][1], $runs[1][1], 'the same number of instructions each time';
};

subtest 'bad usage and kernels that are gone' => sub {
	my @bad = (
		[qr/no series 5\.10/, '-k', '5.10', '--', 'true'],
		[qr/no such directory/, '-s', "$dir/none", '--', 'true'],
		[qr/two shares are named/, '-s', $dir, '-s', $dir, '--', 'true'],
		[qr/no list .*packages\.none/, '-p', 'none', '--', 'true'],
		[qr/not a number/, '-t', 'soon', '--', 'true'],
		[qr/usage/],
	);
	for (@bad) {
		my ($text, @args) = @$_;
		my ($status, undef, $err) = vm(@args);
		is $status, 199, "199 for: @args";
		like $err, $text, 'in words';
	}
	# A copy of the runner with a table of its own: a series that never was, one that is over.
	system('cp', '-r', $vm, "$dir/vm") == 0 or die;
	open my $table, '>>', "$dir/vm/series" or die;
	print $table "6.3\tbookworm\tmax\n7.0\tsid:newest\tmax\n";
	close $table;
	like `$dir/vm/kernel 6.3 2>&1`, qr/no Debian suite has a 6\.3 kernel/, 'a series that vanished';
	is $? >> 8, 199, 'is a failure of the harness';
	like `$dir/vm/kernel -u 7.0 2>&1`, qr/Debian has no 7\.0 kernel any more: \S+ takes its place/,
		'or the newest later one stands in, and is named';
	is $? >> 8, 0, 'which is none';
};

done_testing;
