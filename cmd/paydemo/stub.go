package main

import "context"

func webCommand(context.Context, []string) error  { return nil }
func demoCommand(context.Context, []string) error { return nil }
