package main

import (
	"context"
	"errors"
	"flag"
	"strings"
)

// setCommand sets controls, as the page's forms do: "bank=down", "bank=up"
// (which also ends the faults of single orders), "order:P1=bank_timeout".
func setCommand(ctx context.Context, args []string) error {
	var s services
	flags := flag.NewFlagSet("paydemo set", flag.ContinueOnError)
	s.flagsFor(flags)
	if err := flags.Parse(args); err != nil {
		return usage(err)
	}
	pool, err := openDatabase(ctx, s.postgres, 0)
	if err != nil {
		return err
	}
	defer pool.Close()
	c := controls{pool}
	for _, setting := range flags.Args() {
		name, value, ok := strings.Cut(setting, "=")
		if !ok {
			return usage(errors.New("a setting is written name=value"))
		}
		if err := c.apply(ctx, name, value); err != nil {
			return usage(err)
		}
	}
	return nil
}

// apply sets one control. A bank that is up again is up for all orders.
func (c controls) apply(ctx context.Context, name, value string) error {
	if name == controlBank && value == bankUp {
		return c.restoreBank(ctx)
	}
	return c.set(ctx, name, value)
}
