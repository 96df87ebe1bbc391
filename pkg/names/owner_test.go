package names

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOwnerRefMakesTheRoundTrip(t *testing.T) {
	for _, want := range []OwnerRef{
		{Kind: "ClusterRegistration", Namespace: "fleet-default", Name: "request-x", UID: uid},
		{Kind: "Namespace", Name: "edge.eu", UID: uid},
	} {
		got, ok := ParseOwnerRef(want.String())
		assert.True(t, ok, want.String())
		assert.Equal(t, want, got)
	}
}

func TestMalformedOwnerRefsNameNobody(t *testing.T) {
	for _, s := range []string{"", "/", "///", "Cluster", "Cluster/ns/edge", "Cluster/ns/edge/", "Cluster/ns//uid", "/ns/edge/uid", "Cluster/ns/edge/uid/more"} {
		got, ok := ParseOwnerRef(s)
		assert.False(t, ok, "%q", s)
		assert.Zero(t, got, "%q", s)
	}
}
