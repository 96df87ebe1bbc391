package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/explain"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// maxRequests is how many requests of one cluster are looked at. Whoever has a token may send as many as it likes.
const maxRequests = 1000

// factReader reads what a hub knows of a cluster, as far as the person may read it.
type factReader struct {
	*hub
	ctx    context.Context
	system string
	now    time.Time
}

// facts reads about a cluster. anywhere allows to find its Cluster in another workspace than the usual one.
func (r factReader) facts(cluster object, anywhere bool) (explain.Facts, error) {
	f := explain.Facts{Now: r.now, Workspace: cluster.workspace, Name: cluster.name}
	var err error
	if f.Cluster, err = r.cluster(cluster); err != nil {
		return f, err
	}
	named, named1, err := r.tokensFor(f)
	if err != nil {
		return f, err
	}
	r.requests(&f, named)
	if f.Cluster == nil && len(f.Requests.Value) == 0 && named1 == nil {
		return r.elsewhere(f, anywhere)
	}
	r.lease(&f)
	r.token(&f, named1) // the Lease says which request the agent lives by
	r.hubFacts(&f)
	r.warnings(&f)
	return f, r.ctx.Err()
}

// cluster is nil where there is no Cluster of this name.
func (r factReader) cluster(o object) (*fleet.Cluster, error) {
	found, err := readOne[fleet.Cluster](r.ctx, r.hub, kindCluster, o)
	if apierrors.IsNotFound(err) && !errors.Is(err, errNoHub) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Cluster %s: %w", o, err)
	}
	return found, nil
}

// elsewhere is for a name of which nothing is known in a workspace: it takes the only Cluster of that name.
func (r factReader) elsewhere(f explain.Facts, anywhere bool) (explain.Facts, error) {
	if anywhere {
		var found []object
		options := metav1.ListOptions{FieldSelector: "metadata.name=" + f.Name}
		err := each(r.ctx, r.hub, kindCluster, metav1.NamespaceAll, options, func(c *fleet.Cluster) error {
			found = append(found, object{c.Namespace, c.Name})
			return nil
		})
		if err == nil && len(found) == 1 && found[0].workspace != f.Workspace {
			return r.facts(found[0], false)
		}
	}
	if f.Requests.Unknown != "" {
		return f, fmt.Errorf("there is no Cluster %s in workspace %s, and whether one is asked for is unknown: %s", f.Name, f.Workspace, f.Requests.Unknown)
	}
	return f, r.missing(r.ctx, kindCluster, object{f.Workspace, f.Name})
}

// tokensFor are the tokens that would register a Cluster of this name, and one of them. They matter where there is none
// yet; who may not list them sees less.
func (r factReader) tokensFor(f explain.Facts) (map[string]bool, *fleet.ClusterRegistrationToken, error) {
	if f.Cluster != nil {
		return nil, nil, nil
	}
	named := map[string]bool{}
	var newest *fleet.ClusterRegistrationToken
	err := each(r.ctx, r.hub, kindToken, f.Workspace, metav1.ListOptions{}, func(t *fleet.ClusterRegistrationToken) error {
		if t.Spec.ClusterName == f.Name {
			named[t.Name] = true
			if newest == nil || newest.CreationTimestamp.Before(&t.CreationTimestamp) {
				newest = t
			}
		}
		return nil
	})
	if err = notServed(err); errors.Is(err, errNoHub) {
		return nil, nil, err
	}
	return named, newest, nil
}

func (r factReader) requests(f *explain.Facts, named map[string]bool) {
	err := each(r.ctx, r.hub, kindRequest, f.Workspace, metav1.ListOptions{}, func(request *fleet.ClusterRegistration) error {
		if explain.Concerns(request, f.Cluster, f.Name, named) && len(f.Requests.Value) < maxRequests {
			f.Requests.Value = append(f.Requests.Value, request)
		}
		return nil
	})
	f.Requests.Unknown = unknown(err, "list clusterregistrations", f.Workspace)
}

// token reads the one that the cluster joins with; named is the one that would register it.
func (r factReader) token(f *explain.Facts, named *fleet.ClusterRegistrationToken) {
	name := explain.TokenName(*f)
	if name == "" {
		f.Token.Value = named
		return
	}
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return // the request names what cannot exist
	}
	token, err := readOne[fleet.ClusterRegistrationToken](r.ctx, r.hub, kindToken, object{f.Workspace, name})
	if !apierrors.IsNotFound(err) {
		f.Token.Value, f.Token.Unknown = token, unknown(err, "get clusterregistrationtokens", f.Workspace)
	}
}

func (r factReader) lease(f *explain.Facts) {
	if f.Cluster == nil || f.Cluster.Status.Namespace == "" {
		return
	}
	namespace := f.Cluster.Status.Namespace
	lease, err := r.clients.CoordinationV1().Leases(namespace).Get(r.ctx, names.HeartbeatLease, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		f.Lease.Unknown = unknown(err, "get leases", namespace)
	default:
		f.Lease.Value = lease
	}
}

// hubFacts is what agents are told of the hub: by its configuration, or else by the values of the cluster's token.
func (r factReader) hubFacts(f *explain.Facts) {
	cm, err := r.clients.CoreV1().ConfigMaps(r.system).Get(r.ctx, names.ControllerConfigMap, metav1.GetOptions{})
	if err == nil {
		cfg, _, parsed := config.Parse(cm.Data[names.ConfigKey], config.Config{})
		if parsed == nil && (cfg.APIServerURL != "" || len(cfg.APIServerCA) > 0) {
			f.Hub.Value = &explain.Hub{URL: printable(cfg.APIServerURL, maxSentence), CA: cfg.APIServerCA, Source: "the hub's configuration"}
			return
		}
	}
	if token := f.Token.Value; token != nil && token.Status.SecretName != "" && len(validation.IsDNS1123Subdomain(token.Status.SecretName)) == 0 {
		secret, unread := r.clients.CoreV1().Secrets(f.Workspace).Get(r.ctx, token.Status.SecretName, metav1.GetOptions{})
		if unread == nil && secret.Type == names.ValuesSecretType {
			// A document that lacks something still tells the rest.
			values, _ := registration.ParseValues(secret.Data[registration.KeyValues])
			f.Hub.Value = &explain.Hub{URL: printable(values.APIServerURL, maxSentence), CA: values.APIServerCA, Source: "the values of token " + token.Name}
			return
		}
	}
	if apierrors.IsNotFound(err) {
		f.Hub.Unknown = fmt.Sprintf("there is no ConfigMap %s in namespace %s; --%s names another", names.ControllerConfigMap, r.system, flagSystem)
		return
	}
	f.Hub.Unknown = unknown(err, "get configmaps", r.system)
}

// warnings are the hub's events about the cluster, its token and its requests.
func (r factReader) warnings(f *explain.Facts) {
	about := map[string]bool{}
	if f.Cluster != nil {
		about[kindCluster.name+"/"+f.Name] = true
	}
	if f.Token.Value != nil {
		about[kindToken.name+"/"+f.Token.Value.Name] = true
	}
	for _, request := range f.Requests.Value {
		about[kindRequest.name+"/"+request.Name] = true
	}
	list, err := r.clients.CoreV1().Events(f.Workspace).List(r.ctx, metav1.ListOptions{FieldSelector: "type=" + corev1.EventTypeWarning, Limit: pageSize})
	if err != nil {
		f.Warnings.Unknown = unknown(err, "list events", f.Workspace)
		return
	}
	for i := range list.Items {
		event := &list.Items[i]
		subject := event.InvolvedObject.Kind + "/" + event.InvolvedObject.Name
		if !about[subject] || !strings.HasPrefix(event.InvolvedObject.APIVersion, fleet.SchemeGroupVersion.Group+"/") {
			continue
		}
		f.Warnings.Value = append(f.Warnings.Value, explain.Warning{
			Time: eventTime(event), About: printable(strings.Replace(subject, "/", " ", 1), maxSentence),
			Reason: printable(event.Reason, maxWord), Message: fmt.Sprint(shown(event.Message)),
		})
	}
}

// eventTime is when an event was seen last.
func eventTime(event *corev1.Event) metav1.Time {
	times := []metav1.Time{event.LastTimestamp, metav1.NewTime(event.EventTime.Time), event.CreationTimestamp}
	if event.Series != nil {
		times = append(times, metav1.NewTime(event.Series.LastObservedTime.Time))
	}
	last := slices.MaxFunc(times, func(a, b metav1.Time) int { return a.Compare(b.Time) })
	return metav1.NewTime(last.UTC())
}

// unknown says why something could not be read; empty where it could.
func unknown(err error, what, namespace string) string {
	switch {
	case err == nil:
		return ""
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("you may not %s in namespace %s", what, namespace)
	}
	return fmt.Sprint(shown(fmt.Sprintf("%s in namespace %s: %v", what, namespace, err)))
}
