// Command paydemo is the articles' payment system in small, built on package
// guard: a gateway that says which orders are paid, a consumer that charges
// them behind three guards, a bank, and the faults that the system can be told
// to have. It knows nothing of the console but how to start it for the demo.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const help = `paydemo is the articles' payment system in small.

  paydemo topology   declare exchanges and queues
  paydemo produce    make orders and say that they are paid
  paydemo consume    charge them, behind three guards
  paydemo web        a page to see accounts and orders, and to cause and mend faults
  paydemo set        set a fault: paydemo set bank=down
  paydemo demo       all of it together with the console

paydemo COMMAND -h lists the flags of a command.
`

var commands = map[string]func(context.Context, []string) error{
	"topology": topologyCommand,
	"produce":  produceCommand,
	"consume":  consumeCommand,
	"web":      webCommand,
	"set":      setCommand,
	"demo":     demoCommand,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	os.Exit(status(err))
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, help)
		return errUsage
	}
	command, known := commands[args[0]]
	if !known {
		fmt.Fprint(os.Stderr, help)
		return fmt.Errorf("%w: there is no command %q", errUsage, args[0])
	}
	return command(ctx, args[1:])
}

// status is the program's answer to its caller: 2 for a wrong command line.
func status(err error) int {
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}
