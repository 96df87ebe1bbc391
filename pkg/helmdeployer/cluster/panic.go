package cluster

import (
	"fmt"
	"runtime/debug"

	"github.com/sirupsen/logrus"

	"github.com/rancher/fleet/pkg/registration"
)

// maxPanic bounds what is told of a panic, and of where it was: it may have words of a chart in it.
const maxPanic = 200

// safely turns a panic into an error. A goroutine of our own needs it: nobody else recovers there. What Helm does
// in goroutines of its own it cannot reach.
func safely(what string, do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			said := registration.Printable(fmt.Sprint(r), maxPanic)
			what = registration.Printable(what, maxPanic)
			logrus.Errorf("panic, %s: %s\n%s", what, said, debug.Stack())
			err = fmt.Errorf("%s: waiting for it ended in a panic, which is a fault of Helm or of this agent: %s", what, said)
		}
	}()
	return do()
}
