package provenance

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/client-go/tools/record"

	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

func TestAChangeOfTheProofIsToldOnce(t *testing.T) {
	unknown := registration.Provenance{}
	inForce := registration.Provenance{Reason: registration.ProvenanceInForce}
	away := registration.Provenance{Reason: registration.ProvenanceNotInstalled, Message: "install it"}
	reworded := registration.Provenance{Reason: registration.ProvenanceNotInstalled, Message: "install it again"}
	idle := registration.Provenance{Reason: registration.ProvenanceNotInForce, Message: "it lets all through"}
	events := record.NewFakeRecorder(10)
	tell := announcer(events, names.NamespacesOf(names.DefaultSystemNamespace))
	for _, step := range []struct {
		what          string
		before, found registration.Provenance
		want          string
	}{
		{"all is in order at the start", unknown, inForce, ""},
		{"the policy goes", inForce, away, "Warning NotInstalled ProvenanceEnforced=False: install it"},
		{"the same in other words", away, reworded, ""},
		{"it is there and does nothing", reworded, idle, "Warning NotInForce ProvenanceEnforced=False: it lets all through"},
		{"it is in force again", idle, inForce, "Normal ProvenanceEnforced The origin of registration requests is checked again by admission policy fleet-registration"},
		{"there is none at the start", unknown, away, "Warning NotInstalled ProvenanceEnforced=False: install it"},
	} {
		tell(step.before, step.found)
		var got string
		select {
		case got = <-events.Events:
		default:
		}
		assert.Equal(t, step.want, got, step.what)
	}
}
