package telemetry

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

// newBook is a ledger whose work a test does itself, and how many Events it has given up.
func newBook(fails error, find func(subject) (subject, bool)) (*ledger, *fake.Clientset, *int) {
	clients, dropped := fake.NewClientset(), 0
	clients.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		return fails != nil, nil, fails
	})
	l := newLedger(clients, "test", clocktesting.NewFakePassiveClock(began), find, func(string) { dropped++ })
	return l, clients, &dropped
}

func aDecision(name string) event {
	e := normal(aboutRequest(request("r")), reasonApproved, "message")
	e.name = name
	return e
}

func TestDecisionsThatWaitAreBounded(t *testing.T) {
	l, _, dropped := newBook(nil, nil)
	for i := range maxWaiting + 10 {
		l.add(aDecision(fmt.Sprintf("e-%d", i)))
		l.add(aDecision(fmt.Sprintf("e-%d", i)))
	}
	assert.Len(t, l.waiting, maxWaiting)
	assert.Equal(t, 2*10, *dropped)
}

func TestADecisionIsWrittenUnderItsName(t *testing.T) {
	l, clients, _ := newBook(nil, nil)
	l.add(aDecision("e"))
	require.NoError(t, l.work(t.Context(), "e"))
	require.NoError(t, l.work(t.Context(), "e"), "nothing is left to do")
	got, err := clients.CoreV1().Events(workspace).Get(t.Context(), "e", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "uid-of-r", string(got.InvolvedObject.UID))
	assert.Equal(t, "test", got.Source.Component)
	assert.True(t, got.LastTimestamp.Time.Equal(began))
	assert.Empty(t, l.waiting)
}

func TestWhatCannotBeWrittenIsGivenUpInTheEnd(t *testing.T) {
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "e", errors.New("it goes"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, test := range map[string]struct {
		err           error
		tries, losses int
	}{
		"it is there":            {apierrors.NewAlreadyExists(schema.GroupResource{Resource: "events"}, "e"), 1, 0},
		"the namespace is gone":  {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, workspace), 1, 0},
		"the namespace is going": {terminating, 1, 0},
		"it fails on":            {apierrors.NewInternalError(errors.New("no")), maxTries, 1},
	} {
		l, _, dropped := newBook(test.err, nil)
		l.add(aDecision("e"))
		tries := 1
		for l.work(t.Context(), "e") != nil {
			tries++
			require.LessOrEqual(t, tries, maxTries, name)
		}
		assert.Equal(t, test.tries, tries, name)
		assert.Equal(t, test.losses, *dropped, name)
		assert.Empty(t, l.waiting, name)
	}
}

// A Cluster that is not there in the end was deleted: there is nobody to tell it of.
func TestADecisionDoesNotWaitForAClusterForEver(t *testing.T) {
	l, clients, dropped := newBook(nil, func(s subject) (subject, bool) { return s, false })
	e := aDecision("e")
	e.about = subject{kind: clusterKind, namespace: workspace, name: "edge"}
	l.add(e)
	tries := 1
	for l.work(t.Context(), "e") != nil {
		tries++
	}
	assert.Equal(t, maxLooks, tries)
	assert.Empty(t, clients.Actions())
	assert.Zero(t, *dropped)
}
