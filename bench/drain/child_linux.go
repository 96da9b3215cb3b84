package main

import "syscall"

// child is how a process of ours starts: Ctrl-C is not for it, since it is
// ended in an orderly way, and it does not outlive us.
func child() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
}
