package proc

import (
	"os/exec"
	"runtime"
	"sync"
)

// The kernel sends the death signal when the *thread* ends that made the child. So all children are made by one
// goroutine that never gives its thread back.
var starts = sync.OnceValue(func() chan<- func() {
	requests := make(chan func())
	go serveStarts(requests)
	return requests
})

func serveStarts(requests <-chan func()) {
	runtime.LockOSThread()
	for start := range requests {
		start()
	}
}

func startOnLastingThread(cmd *exec.Cmd) error {
	result := make(chan error, 1)
	starts() <- func() { result <- cmd.Start() }
	return <-result
}
