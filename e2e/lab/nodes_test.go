package lab

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatNodesMissIsInOneError(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := CheckNodes()
	require.ErrorContains(t, err, "apt-get install -y --no-install-recommends containerd runc")
	require.ErrorContains(t, err, "iproute2 mount")
	require.ErrorContains(t, err, "scripts/install-node-packages")
}

func TestNodesThatCannotBeAreRefused(t *testing.T) {
	for says, options := range map[string]Options{
		"-1 nodes: there can be 1 to 53":   {Nodes: -1},
		"1000 nodes: there can be 1 to 53": {Nodes: 1000},
		"only one of them can look after":  {Nodes: 1, Pods: []string{"stand-in"}},
	} {
		options.Name, options.Root = "edge", "/"
		_, err := options.complete()
		require.ErrorContains(t, err, says)
	}
	require.ErrorContains(t, checkPlace("/var/lib/builds/fleet/.lab"), "nodes have their own")
	require.NoError(t, checkPlace("/var/library/.lab"))
}

func TestEachSlotHasANetworkOfItsOwn(t *testing.T) {
	var taken []netip.Prefix
	for number := range slots {
		s := &slot{number: number}
		for _, text := range []string{s.podRange(), s.serviceRange()} {
			fresh := netip.MustParsePrefix(text)
			for _, other := range taken {
				require.False(t, fresh.Overlaps(other), "%s and %s", fresh, other)
			}
			taken = append(taken, fresh)
		}
		require.Contains(t, s.url(1), s.serviceAddress())
		require.Contains(t, s.url(0), "127.0.0.1")
		require.LessOrEqual(t, len(s.bridge()), 15, "the kernel takes no longer name")
		for _, address := range []string{s.gateway(), s.nodeAddress(1), s.nodeAddress(MaxNodes)} {
			require.True(t, netip.MustParsePrefix(s.podRange()).Contains(netip.MustParseAddr(address)))
		}
		require.NotEqual(t, s.nodeAddress(MaxNodes), s.podAddress(firstPodAddress))
	}
}

func TestOurPlaceInEachCgroupHierarchy(t *testing.T) {
	const own = "9:name=systemd:/user\n8:cpu,cpuacct:/\n4:memory:/a/b\n0::/whole\n"
	for _, c := range []struct {
		kind    string
		options []string
		want    string
	}{
		{"cgroup", []string{"rw", "memory"}, "/a/b"},
		{"cgroup", []string{"rw", "cpu", "cpuacct"}, "/"},
		{"cgroup", []string{"rw", "xattr", "name=systemd"}, "/user"},
		{"cgroup2", []string{"rw", "nsdelegate"}, "/whole"},
		{"cgroup", []string{"rw", "pids"}, ""},
	} {
		got, found := placeIn(own, c.kind, c.options)
		require.Equal(t, c.want, got, "%v", c.options)
		require.Equal(t, c.want != "", found)
	}
}
