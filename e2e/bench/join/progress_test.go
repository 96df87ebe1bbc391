package join

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/bench"
)

func TestARunSaysWhatItIsAboutToDo(t *testing.T) {
	var out bytes.Buffer
	o := Options{Hub: bench.HubOptions{Out: &out}, N: 5}
	o.Hub.Tell("%s", o.plan())
	require.Equal(t, "   5 joins at once\n", out.String())
	require.Equal(t, "20 joins, one after the other", Options{N: 1, Singles: 20}.plan())
	require.Equal(t, "50 joins, 5 a second: 10s", Options{N: 50, Rate: 5}.plan())
	Options{}.Hub.Tell("nobody listens")
}

func TestFiguresOfABusyMachineCarryAWarning(t *testing.T) {
	var busy, quiet bytes.Buffer
	Run{CoresOfOthers: 1.43, CPUBound: 9}.Print(&busy)
	Run{CoresOfOthers: bench.QuietMachine}.Print(&quiet)
	require.Contains(t, busy.String(), "WARNING: other programs kept 1.43 cores busy meanwhile, more than 0.1")
	require.Contains(t, busy.String(), "this machine could do 9.0/s at most")
	require.NotContains(t, quiet.String(), "WARNING")
}
