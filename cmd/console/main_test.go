package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestCommandLine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{"no command shows how to use it", nil, 0, "console serve", ""},
		{"help shows how to use it", []string{"help"}, 0, "console migrate", ""},
		{"version", []string{"version"}, 0, "console ", ""},
		{"unknown command", []string{"server"}, 2, "", `there is no command "server"`},
		{"unknown flag", []string{"serve", "--listne", "x"}, 2, "", "flag provided but not defined"},
		{"stray argument", []string{"migrate", "now"}, 2, "", `unexpected argument "now"`},
		{"file that is not there", []string{"serve", "--config", "nowhere.yaml"}, 1, "", "nowhere.yaml"},
		{"nothing configured", []string{"migrate", "--config", ""}, 1, "", "console: database.url: is required"},
		{"flag sets a setting", []string{"migrate", "--config", "", "--database.url", "http://x/"}, 1, "", "postgres://"},
		{"check reports a bad setting", []string{"check", "--config", ""}, 1, "FAIL  settings", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), tt.args, nil, &stdout, &stderr)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.Contains(stdout.String(), tt.stdout) || !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("stdout:\n%s\nstderr:\n%s\nwant %q and %q in them", &stdout, &stderr, tt.stdout, tt.stderr)
			}
		})
	}
}

// A password in a URL that does not parse must not come back in the answer.
func TestBrokenURLKeepsItsPassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:s3cret@h:port/db", "host=h password=s3cret port=x", "postgres://u:s3cret%zz@h/"} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), []string{"migrate", "--config", "", "--database.url", url}, nil, &stdout, &stderr); code != 1 {
			t.Errorf("%s: exit code %d, want 1", url, code)
		}
		if out := stdout.String() + stderr.String(); strings.Contains(out, "s3cret") {
			t.Errorf("the answer shows the password: %s", out)
		}
	}
}

func TestServeStopsWhenAskedBeforeItsDatabaseIsThere(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	env := []string{
		"DLO_SERVER_LISTEN=127.0.0.1:0", "DLO_SERVER_METRICS_LISTEN=127.0.0.1:0",
		"DLO_DATABASE_URL=postgres://nobody@127.0.0.1:1/none",
	}
	var stdout, stderr bytes.Buffer
	config := t.TempDir() + "/console.yaml"
	writeFile(t, config, "brokers: [{name: b, url: \"amqp://127.0.0.1:1/\"}]\nsources: [{name: s, broker: b, queue: q}]\n")
	if code := run(ctx, []string{"serve", "--config", config}, env, &stdout, &stderr); code != 0 {
		t.Errorf("exit code %d, want 0; stderr:\n%s", code, &stderr)
	}
}
