package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// machine describes what the benchmark runs on.
func machine(ctx context.Context) (string, error) {
	kernel, err := exec.CommandContext(ctx, "uname", "-sr").Output()
	if err != nil {
		return "", err
	}
	memory, err := lineOf("/proc/meminfo", "MemTotal")
	if err != nil {
		return "", err
	}
	cpu, err := lineOf("/proc/cpuinfo", "model name")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d cores of %s, memory %s, %s, %s",
		runtime.NumCPU(), cpu, memory, strings.TrimSpace(string(kernel)), runtime.Version()), nil
}

// lineOf is what a file of /proc says about a name.
func lineOf(path, name string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value), nil
		}
	}
	return "unknown", nil
}
