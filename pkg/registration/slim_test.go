package registration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

func ordinary() *fleet.ClusterRegistration {
	return &fleet.ClusterRegistration{
		ObjectMeta: metav1.ObjectMeta{Name: "request-x", Labels: map[string]string{names.RegistrationTokenLabel: "edge"}},
		Spec:       fleet.ClusterRegistrationSpec{ClientID: "client", ClientRandom: "random", ClusterLabels: map[string]string{"env": "dev"}},
	}
}

func TestAnOrdinaryRequestIsKeptWhole(t *testing.T) {
	r := ordinary()
	require.NoError(t, ValidateRequest(r))
	Slim(r)
	assert.Equal(t, ordinary(), r)
}

func TestALargeRequestIsCutAndRefusedAllTheSame(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	many := map[string]string{}
	for i := range 20000 {
		many[fmt.Sprintf("key-%d", i)] = "value"
	}
	for name, change := range map[string]func(*fleet.ClusterRegistration){
		"client ID":       func(r *fleet.ClusterRegistration) { r.Spec.ClientID = large },
		"client random":   func(r *fleet.ClusterRegistration) { r.Spec.ClientRandom = large },
		"a label's value": func(r *fleet.ClusterRegistration) { r.Spec.ClusterLabels["a"] = large },
		"a label's key":   func(r *fleet.ClusterRegistration) { r.Spec.ClusterLabels = map[string]string{large: "a"} },
		"many labels":     func(r *fleet.ClusterRegistration) { r.Spec.ClusterLabels = many },
		"an annotation":   func(r *fleet.ClusterRegistration) { r.Annotations = map[string]string{"a": large} },
		"annotations":     func(r *fleet.ClusterRegistration) { r.Annotations = many },
		"labels":          func(r *fleet.ClusterRegistration) { r.Labels = many },
		"a key":           func(r *fleet.ClusterRegistration) { r.Spec.Identity = &fleet.RegistrationIdentity{PublicKey: large} },
		"options": func(r *fleet.ClusterRegistration) {
			r.Spec.Agent = &fleet.RegistrationAgent{Options: &fleet.AgentOptions{EnvVars: []corev1.EnvVar{{Name: "A", Value: large}}}}
		},
		"a version": func(r *fleet.ClusterRegistration) { r.Spec.Agent = &fleet.RegistrationAgent{Version: large} },
	} {
		t.Run(name, func(t *testing.T) {
			r := ordinary()
			change(r)
			require.Error(t, ValidateRequest(r))
			Slim(r)
			require.Error(t, ValidateRequest(r), "what was cut is still too long")
			size := len(fmt.Sprintf("%v", r))
			assert.Less(t, size, 4*maxMetadataBytes, "bytes that are kept")
			before := r.DeepCopy()
			Slim(r)
			assert.Equal(t, before, r, "a second look changes nothing")
		})
	}
}
