// Package services tells the testkit where the services for tests are. It
// starts none: scripts/services does, and leaves the addresses in .run/env.
package services

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// URL returns the address of a service from the variable DLO_TEST_<kind>_URL,
// kind being POSTGRES, AMQP, MANAGEMENT or REDIS: from the environment, else
// from .run/env beside go.mod. It skips the test under -short and fails it
// where neither names the service.
func URL(tb testing.TB, kind string) string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs real services")
	}
	name := "DLO_TEST_" + kind + "_URL"
	if v := os.Getenv(name); v != "" {
		return v
	}
	if v := lookup(name, filepath.Join(moduleRoot(tb), ".run", "env")); v != "" {
		return v
	}
	tb.Fatalf("%s is not known: run `make services`, or set it to a service of yours", name)
	return ""
}

// lookup finds a variable among a file's shell export lines, and returns ""
// where file or variable is missing.
func lookup(name, path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if v, ok := strings.CutPrefix(lines.Text(), "export "+name+"="); ok {
			return strings.Trim(v, "'")
		}
	}
	return ""
}

// moduleRoot returns the folder of go.mod, which is where a test runs or above.
func moduleRoot(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			tb.Fatal("there is no go.mod at or above the working directory")
		}
		dir = up
	}
}
