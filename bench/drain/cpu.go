package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the kernel's unit of processor time in /proc.
const tick = 10 * time.Millisecond

// spent is the processor time that a part cost, by who spent it.
type spent struct {
	client, postgres, broker time.Duration
}

// spent is what has been spent up to now: by the given process, by the server
// that we started with its children, and by the broker if it is on this machine.
func (b *bench) spent(client int) (s spent) {
	s.client = cpuOf(client)
	if b.postgres.process != nil {
		s.postgres = cpuOfFamily(b.postgres.process.Process.Pid)
	}
	if b.broker.pid != 0 {
		s.broker = cpuOf(b.broker.pid)
	}
	return s
}

// since is what was spent after before, for each of n messages.
func (s spent) since(before spent, n int) spent {
	each := time.Duration(n)
	return spent{(s.client - before.client) / each, (s.postgres - before.postgres) / each, (s.broker - before.broker) / each}
}

func (s spent) String() string {
	return fmt.Sprintf("client %v, PostgreSQL %v, RabbitMQ %v a message", s.client, s.postgres, s.broker)
}

// cpuOf is what one process has spent, or 0 if it is gone.
func cpuOf(pid int) time.Duration {
	fields := stat(pid)
	if fields == nil {
		return 0
	}
	return ticks(fields[11]) + ticks(fields[12])
}

// cpuOfFamily is what a process, its children and those of them that ended have
// spent.
func cpuOfFamily(pid int) time.Duration {
	fields := stat(pid)
	if fields == nil {
		return 0
	}
	sum := cpuOf(pid) + ticks(fields[13]) + ticks(fields[14])
	all, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well formed
	for _, dir := range all {
		child, _ := strconv.Atoi(filepath.Base(dir)) // digits, by the pattern
		if f := stat(child); f != nil && f[1] == strconv.Itoa(pid) {
			sum += ticks(f[11]) + ticks(f[12])
		}
	}
	return sum
}

// stat are the fields of /proc/PID/stat from the state on, or nil.
func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return nil
	}
	return fields
}

func ticks(field string) time.Duration {
	n, _ := strconv.ParseInt(field, 10, 64) // a number, by the kernel's word
	return time.Duration(n) * tick
}
