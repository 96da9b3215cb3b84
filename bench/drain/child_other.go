//go:build !linux

package main

import "syscall"

// child is how a process of ours starts: Ctrl-C is not for it, since it is
// ended in an orderly way.
func child() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
