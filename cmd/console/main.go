// Command console is Dead Letter Office: it drains terminal queues into
// Postgres and serves the pages and the API from which operators replay. This
// package reads flags, opens and closes connections and joins the loops; it
// decides nothing about dead letters.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/seed-d2bf649b/dead-letter-office/internal/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

const usage = `Dead Letter Office, a console for RabbitMQ terminal dead-letter queues.

  console serve        drain the sources and serve pages, API and metrics
  console migrate      bring the console's own database up to this version
  console check        validate the settings and reach every dependency
  console healthcheck  ask a running console whether it is alive (for containers)
  console version      print the version

Every command takes --config FILE (or DLO_CONFIG; console.yaml where it exists)
and a flag for each setting, such as --server.listen; environment variables
such as DLO_SERVER_LISTEN do the same. README.md explains them.
`

// command is one word of the command line.
type command func(ctx context.Context, s settings) error

var commands = map[string]command{
	"serve": serve, "migrate": migrate, "check": check, "healthcheck": healthcheck, "version": version,
}

// settings is what a command starts from.
type settings struct {
	input  config.Input
	stdout io.Writer
	stderr io.Writer
}

// errReported says that the command failed and has said why.
var errReported = errors.New("reported")

// run is the whole program: arguments and environment in, exit code out.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		fmt.Fprint(stdout, usage)
		return 0
	}
	cmd, ok := commands[args[0]]
	if !ok {
		fmt.Fprintf(stderr, "console: there is no command %q\n\n%s", args[0], usage)
		return 2
	}
	input, err := parseFlags(args[0], args[1:], environ, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	err = cmd(ctx, settings{input: input, stdout: stdout, stderr: stderr})
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errReported):
	default:
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(stderr, "console: %s\n", strings.TrimRight(line, "\n"))
		}
	}
	return 1
}

// parseFlags reads --config and one flag for each setting.
func parseFlags(name string, args, environ []string, stderr io.Writer) (config.Input, error) {
	in := config.Input{Environ: environ, Flags: map[string]string{}}
	flags := flag.NewFlagSet("console "+name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage) }
	flags.StringVar(&in.Path, "config", defaultPath(environ), "the YAML `file` with the settings")
	for _, path := range config.Settings() {
		flags.Func(path, "sets `"+path+"` of the settings", func(v string) error {
			in.Flags[path] = v
			return nil
		})
	}
	if err := flags.Parse(args); err != nil {
		return in, err
	}
	if flags.NArg() > 0 {
		err := fmt.Errorf("console %s: unexpected argument %q", name, flags.Arg(0))
		fmt.Fprintln(stderr, err)
		return in, err
	}
	return in, nil
}

// defaultPath is DLO_CONFIG, else console.yaml where it exists, else none.
func defaultPath(environ []string) string {
	for _, line := range environ {
		if path, ok := strings.CutPrefix(line, "DLO_CONFIG="); ok {
			return path
		}
	}
	if _, err := os.Stat("console.yaml"); err == nil {
		return "console.yaml"
	}
	return ""
}
