package provenance

import (
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	policyResource = "validatingadmissionpolicies"
	// nobodys is what the probe's request names, token and client alike.
	nobodys = "provenance-probe"
)

// observation is what a look has shown.
type observation struct {
	served bool
	// missing is the kind of what does not exist, empty where all does.
	missing string
	// failure is what kept the hub from asking.
	failure error
	// answer is what the API server said to the request that it should refuse, nil where it took it.
	answer error
}

// server is the API server as the hub asks it.
type server interface {
	// served says whether there are admission policies.
	served(ctx context.Context) (bool, error)
	// missing is the kind of what does not exist of the policy.
	missing(ctx context.Context) (kind string, err error)
	// try sends the request that is to be refused. failure says that it was not sent.
	try(ctx context.Context) (answer, failure error)
}

func observe(ctx context.Context, s server) observation {
	seen := observation{served: true}
	if seen.missing, seen.failure = s.missing(ctx); seen.missing != "" || seen.failure != nil {
		return seen
	}
	seen.answer, seen.failure = s.try(ctx)
	return seen
}

// apiServer is the real one.
type apiServer struct {
	clients kubernetes.Interface
	config  *rest.Config
	names   names.Namespaces
}

func (s *apiServer) served(ctx context.Context) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	group := admissionv1.SchemeGroupVersion.String()
	list, err := s.clients.Discovery().ServerResourcesForGroupVersion(group)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking which kinds %s has: %w", group, err)
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == policyResource }), nil
}

func (s *apiServer) missing(ctx context.Context) (string, error) {
	policies := s.clients.AdmissionregistrationV1()
	_, err := policies.ValidatingAdmissionPolicies().Get(ctx, names.RegistrationPolicy, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "ValidatingAdmissionPolicy", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading ValidatingAdmissionPolicy %s: %w", names.RegistrationPolicy, err)
	}
	_, err = policies.ValidatingAdmissionPolicyBindings().Get(ctx, names.RegistrationPolicy, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "ValidatingAdmissionPolicyBinding", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading ValidatingAdmissionPolicyBinding %s: %w", names.RegistrationPolicy, err)
	}
	return "", nil
}

func (s *apiServer) try(ctx context.Context) (answer, failure error) {
	minted, err := kube.Mint(ctx, s.clients, s.names.Registration, names.ProbeAccount, kube.MinLifetime)
	if err != nil {
		return nil, err
	}
	probe, err := kube.AsBearer(s.config, minted.Token, userAgent)
	if err != nil {
		return nil, err
	}
	_, answer = probe.Resource(fleet.SchemeGroupVersion.WithResource("clusterregistrations")).Namespace(s.names.Registration).
		Create(ctx, wrongRequest(s.names.Registration), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if answer != nil && !isAnswer(answer) {
		return nil, fmt.Errorf("sending the probe: %w", answer)
	}
	return answer, nil
}

// wrongRequest is as every request is, but for its token, which is nobody's.
func wrongRequest(namespace string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(fleet.SchemeGroupVersion.WithKind("ClusterRegistration"))
	u.SetNamespace(namespace)
	u.SetName(registration.RequestPrefix + nobodys)
	u.SetLabels(map[string]string{names.RegistrationTokenLabel: nobodys})
	u.Object["spec"] = map[string]any{"clientID": nobodys, "clientRandom": nobodys}
	return u
}
