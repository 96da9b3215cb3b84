package main

import "syscall"

// ownGroup starts a child in a process group of its own, and has it told to
// end when its parent dies.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
