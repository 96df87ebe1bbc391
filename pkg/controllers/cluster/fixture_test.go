package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/controllers/controllertest"
	"github.com/rancher/fleet/pkg/names"
)

const (
	workspace = "fleet-default"
	edge      = "edge"
	edgeUID   = "uid-of-edge"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func hubNames() names.Namespaces { return names.NamespacesOf(names.DefaultSystemNamespace) }

// place is the namespace of the Cluster edge.
func place() string { return names.ClusterNamespace(workspace, edge) }

func newCluster(change ...func(*fleet.Cluster)) *fleet.Cluster {
	c := &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: edge, UID: edgeUID},
		Spec:       fleet.ClusterSpec{KubeConfigSecret: "kubeconfig"},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

// prepare gives a Cluster what its first look gives it.
func prepare(c *fleet.Cluster) {
	c.Finalizers = []string{names.ClusterFinalizer}
	c.Spec.ClientID = "client"
}

func deleted(c *fleet.Cluster) { c.DeletionTimestamp = &metav1.Time{Time: now} }

func namespace(annotations map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: place(), UID: "uid-of-namespace", Annotations: annotations}}
}

func ownedBy(uid string) map[string]string {
	return map[string]string{
		names.ClusterNamespaceAnnotation: workspace,
		names.ClusterAnnotation:          edge,
		names.OwnerAnnotation:            "Cluster/" + workspace + "/" + edge + "/" + uid,
	}
}

func request(name string, change ...func(*fleet.ClusterRegistration)) *fleet.ClusterRegistration {
	r := &fleet.ClusterRegistration{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: name, UID: types.UID("uid-of-" + name)},
		Status:     fleet.ClusterRegistrationStatus{ClusterName: edge},
	}
	for _, f := range change {
		f(r)
	}
	return r
}

func account(name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: hubNames().Agents, Name: name,
		Annotations: map[string]string{names.ClusterNamespaceAnnotation: workspace, names.ClusterAnnotation: edge},
	}}
}

// hub is the controller over memory.
type hub struct {
	*handler
	script
	clusters      *controllertest.Controller[*fleet.Cluster, *fleet.ClusterList]
	registrations *controllertest.Controller[*fleet.ClusterRegistration, *fleet.ClusterRegistrationList]
	tokens        *controllertest.Controller[*fleet.ClusterRegistrationToken, *fleet.ClusterRegistrationTokenList]
	bundles       *controllertest.Controller[*fleet.Bundle, *fleet.BundleList]
	namespaces    *controllertest.ClusterController[*corev1.Namespace, *corev1.NamespaceList]
	accounts      *controllertest.Controller[*corev1.ServiceAccount, *corev1.ServiceAccountList]
	leases        *controllertest.Controller[*coordinationv1.Lease, *coordinationv1.LeaseList]
	deployments   *controllertest.Controller[*fleet.BundleDeployment, *fleet.BundleDeploymentList]
	clock         *clocktesting.FakePassiveClock
	// definition is that of Bundles, nil for one that is deleted.
	definition *metav1.PartialObjectMetadata
}

func newHub(t *testing.T) *hub {
	t.Helper()
	const group = "fleet.cattle.io"
	h := &hub{
		clusters:      controllertest.New[*fleet.Cluster, *fleet.ClusterList](group, "clusters"),
		registrations: controllertest.New[*fleet.ClusterRegistration, *fleet.ClusterRegistrationList](group, "clusterregistrations"),
		tokens:        controllertest.New[*fleet.ClusterRegistrationToken, *fleet.ClusterRegistrationTokenList](group, "clusterregistrationtokens"),
		bundles:       controllertest.New[*fleet.Bundle, *fleet.BundleList](group, "bundles"),
		namespaces:    controllertest.NewCluster[*corev1.Namespace, *corev1.NamespaceList]("", "namespaces"),
		accounts:      controllertest.New[*corev1.ServiceAccount, *corev1.ServiceAccountList]("", "serviceaccounts"),
		leases:        controllertest.New[*coordinationv1.Lease, *coordinationv1.LeaseList]("coordination.k8s.io", "leases"),
		deployments:   controllertest.New[*fleet.BundleDeployment, *fleet.BundleDeploymentList](group, "bundledeployments"),
		clock:         clocktesting.NewFakePassiveClock(now),
		definition:    &metav1.PartialObjectMetadata{},
	}
	h.handler = newHandler(Deps{
		Clusters: h.clusters, Registrations: h.registrations, Tokens: h.tokens, Bundles: h.bundles, Namespaces: h.namespaces,
		Accounts: h.accounts, Leases: h.leases, Names: hubNames(), Clock: h.clock, Deployments: h.deployments,
		Definition: func(context.Context) (*metav1.PartialObjectMetadata, error) {
			return h.definition, h.fails["get definition"]
		},
		Config: config.NewSource("dev"),
	})
	h.addIndexers()
	h.fails = map[string]error{}
	h.clusters.Fail, h.registrations.Fail, h.tokens.Fail = h.of("Cluster"), h.of("ClusterRegistration"), h.of("ClusterRegistrationToken")
	h.deployments.Fail = h.of("BundleDeployment")
	h.bundles.Fail, h.namespaces.Fail, h.leases.Fail = h.of("Bundle"), h.of("Namespace"), h.of("Lease")
	return h
}

// look runs the handler once, with the Cluster as the cache has it.
func (h *hub) look(t *testing.T) error {
	t.Helper()
	c, err := h.clusters.Cache().Get(workspace, edge)
	require.NoError(t, err)
	_, err = h.onChange(workspace+"/"+edge, c)
	return err
}

// script notes the calls to the API server that change something, in their order, and makes some of them fail.
type script struct {
	calls []string
	fails map[string]error
}

func (s *script) of(kind string) func(verb, key string) error {
	return func(verb, key string) error {
		call := verb + " " + kind + " " + key
		if verb != "get" && verb != "list" {
			s.calls = append(s.calls, call)
		}
		return s.fails[call]
	}
}

// writes are the calls since the last time this was asked.
func (s *script) writes() []string {
	calls := s.calls
	s.calls = nil
	return calls
}
