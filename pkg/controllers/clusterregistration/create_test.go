package clusterregistration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clocktesting "k8s.io/utils/clock/testing"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

var createNew = "create Cluster " + workspace + "/" + newName

// answers of an API server to the Cluster that a request is for.
func invalid() error {
	return apierrors.NewInvalid(schema.GroupKind{Group: "fleet.cattle.io", Kind: "Cluster"}, newName,
		field.ErrorList{field.Forbidden(field.NewPath("spec", "agentEnvVars"), "our policy")})
}

func forbidden(text string, causes ...metav1.StatusCause) error {
	err := apierrors.NewForbidden(schema.GroupResource{Group: "fleet.cattle.io", Resource: "clusters"}, newName, errors.New(text))
	err.ErrStatus.Details.Causes = causes
	return err
}

func answeredWith(code int32, text string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: text}}
}

// What the API server, a webhook or a policy refuses is said of the request. It is tried again where it may pass by itself.
func TestAClusterThatTheAPIServerRefusesIsSaidOfTheRequest(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		passes bool
		says   []string
	}{
		"invalid":                     {invalid(), false, []string{"spec.agentEnvVars", "our policy", "then delete the request"}},
		"a webhook, without a code":   {answeredWith(400, `admission webhook "names.example.com" denied the request: no`), false, []string{"names.example.com", "then delete the request"}},
		"a webhook, with its own":     {answeredWith(418, `admission webhook "names.example.com" denied the request: tea`), false, []string{"tea"}},
		"too large":                   {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), false, []string{"limit"}},
		"the workspace goes":          {forbidden("it is being terminated", metav1.StatusCause{Type: corev1.NamespaceTerminatingCause}), false, []string{"terminated"}},
		"a quota":                     {forbidden("exceeded quota: clusters, used: count=10"), true, []string{"exceeded quota", "tries again by itself"}},
		"a right, or a policy":        {forbidden("ValidatingAdmissionPolicy 'p' denied request"), true, []string{"ValidatingAdmissionPolicy", "policy"}},
		"a webhook that is not there": {apierrors.NewInternalError(errors.New(`failed calling webhook "w.example.com": no endpoints available`)), true, []string{"w.example.com", "tries again"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := alone(t)
			h.fails[createNew] = test.err
			err := h.look(t, "request-1")
			assert.Equal(t, test.passes, err != nil, "back-off: %v", err)
			assert.Equal(t, []string{createNew, noteRequest}, h.writes())
			value, reason, message := condition(t, h.live("request-1"), fleet.RegistrationConditionGranted)
			assert.Equal(t, "False", string(value))
			assert.Equal(t, "ClusterRefused", reason)
			for _, part := range append(test.says, newName) {
				assert.Contains(t, message, part)
			}
			assert.Empty(t, h.live("request-1").Status.ClusterName, "one that was never there is not gone")

			for range 3 {
				assert.Equal(t, test.passes, h.look(t, "request-1") != nil)
			}
			if !test.passes {
				assert.Empty(t, h.writes(), "neither tried nor said again")
				return
			}
			assert.Equal(t, []string{createNew, createNew, createNew}, h.writes(), "said once")
			delete(h.fails, createNew)
			require.NoError(t, h.look(t, "request-1"))
			assert.NotNil(t, h.clusters.Live(workspace, newName))
		})
	}
}

// An answer that differs with each try is written down once a minute and not once
// a try: the write would bring the request back at once.
func TestARefusalInOtherWordsIsToldOnceAMinute(t *testing.T) {
	h := alone(t)
	clock := h.Clock.(*clocktesting.FakePassiveClock)
	refuse := func(call int) {
		h.fails[createNew] = apierrors.NewInternalError(fmt.Errorf("failed calling webhook: no answer to call %d", call))
		require.Error(t, h.look(t, "request-1"))
	}
	refuse(40001)
	assert.Equal(t, []string{createNew, noteRequest}, h.writes())
	refuse(40002)
	clock.SetTime(now.Add(sayAgain - time.Second))
	refuse(40003)
	assert.Equal(t, []string{createNew, createNew}, h.writes())
	clock.SetTime(now.Add(sayAgain))
	refuse(40004)
	assert.Equal(t, []string{createNew, noteRequest}, h.writes())
	_, _, message := condition(t, h.live("request-1"), fleet.RegistrationConditionGranted)
	assert.Contains(t, message, "40004")

	// What is for good is said at once.
	h.fails[createNew] = invalid()
	require.NoError(t, h.look(t, "request-1"))
	assert.Equal(t, []string{createNew, noteRequest}, h.writes())
}

// Another Cluster, or another request, is another question.
func TestARefusedClusterIsTriedAgainOnceItIsAnother(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *hub){
		"the token allows fewer labels": func(_ *testing.T, h *hub) {
			h.tokens.Add(token(ofAPerson, func(t *fleet.ClusterRegistrationToken) { t.Spec.AllowedLabels = &[]string{} }))
		},
		"the hub takes no labels": func(t *testing.T, h *hub) {
			t.Helper()
			_, err := h.source.Load(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{names.VersionAnnotation: "v1"}},
				Data:       map[string]string{names.ConfigKey: `{"ignoreClusterRegistrationLabels": true}`},
			})
			require.NoError(t, err)
		},
		"another request under the name": func(_ *testing.T, h *hub) {
			r := h.live("request-1")
			r.UID = types.UID("another")
			h.registrations.Add(r)
		},
		"the request was away": func(t *testing.T, h *hub) {
			t.Helper()
			_, err := h.onChange(workspace+"/request-1", nil)
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := alone(t, func(r *fleet.ClusterRegistration) { r.Spec.ClusterLabels = map[string]string{"env": "none-of-ours"} })
			h.fails[createNew] = invalid()
			require.NoError(t, h.look(t, "request-1"))
			delete(h.fails, createNew)
			require.NoError(t, h.look(t, "request-1"))
			assert.Nil(t, h.clusters.Live(workspace, newName), "nothing has changed")
			h.writes()

			change(t, h)
			require.NoError(t, h.look(t, "request-1"))
			assert.Contains(t, h.writes(), createNew)
			assert.NotNil(t, h.clusters.Live(workspace, newName))
		})
	}
}

// What says nothing of the Cluster is no word on the request: it is tried again, and nothing is written.
func TestAFailureOfTheMomentIsNoRefusal(t *testing.T) {
	for name, err := range map[string]error{
		"the network": errors.New("connection refused"), "no answer": fmt.Errorf("post: %w", context.DeadlineExceeded),
		"401": answeredWith(401, "x"), "404": answeredWith(404, "x"), "408": answeredWith(408, "x"), "409": answeredWith(409, "x"), "429": answeredWith(429, "x"),
		"503": answeredWith(503, "x"), "504": answeredWith(504, "x"), "none": answeredWith(0, "x"),
	} {
		h := alone(t)
		h.fails[createNew] = err
		require.Error(t, h.look(t, "request-1"), name)
		assert.Equal(t, []string{createNew}, h.writes(), name)
	}
}

// A webhook's words may repeat what an agent chose.
func TestTheWordsOfARefusalAreBoundedAndPrintable(t *testing.T) {
	d, _ := refusedCluster("c", forbidden(strings.Repeat("\x1b[2J\n漢", 10_000)))
	assert.Less(t, len([]rune(d.message)), 1000)
	assert.Equal(t, -1, strings.IndexFunc(d.message, func(r rune) bool { return !unicode.IsGraphic(r) }))
	assert.Contains(t, d.message, "tries again by itself", "the way out is not cut")
}

// It leads to nothing, and does not stay for ever.
func TestARequestWhoseClusterIsRefusedIsCollected(t *testing.T) {
	for name, err := range map[string]error{"for good": invalid(), "for now": forbidden("exceeded quota")} {
		t.Run(name, func(t *testing.T) {
			h := alone(t)
			h.fails[createNew] = err
			_ = h.look(t, "request-1")
			_ = h.look(t, "request-1")
			after, waits := h.registrations.After(workspace, "request-1")
			assert.True(t, waits)
			h.Clock.(*clocktesting.FakePassiveClock).SetTime(now.Add(after))
			_ = h.look(t, "request-1")
			assert.Nil(t, h.live("request-1"))
		})
	}
}
