package main

import (
	"context"
	"fmt"
	"runtime/debug"
)

// release is set by the linker when a release is built.
var release = ""

// version prints what this binary is.
func version(_ context.Context, s settings) error {
	fmt.Fprintln(s.stdout, "console", releaseOf())
	return nil
}

// releaseOf is the linker's release, else what the Go toolchain knows of the
// commit it was built from.
func releaseOf() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision := ""
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = " " + s.Value
		}
	}
	return info.Main.Version + revision
}
