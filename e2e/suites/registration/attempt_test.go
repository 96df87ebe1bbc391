package registration_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/e2e/stage"
)

// attempt is one thing that somebody tries to do.
type attempt struct {
	verb, group, resource, subresource string
	// namespace is empty for all of them, or for none.
	namespace, name string
}

func (a attempt) String() string {
	what := a.resource
	if a.group != "" {
		what += "." + a.group
	}
	if a.subresource != "" {
		what += "/" + a.subresource
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s/%s", a.verb, what, a.namespace, a.name))
}

// named are the verbs that need the name of an object.
var named = []string{"get", "update", "patch", "delete"}

// virtual are the verbs that no request has.
var virtual = []string{"register", "bind", "escalate"}

// identity is somebody who makes attempts at an API server.
type identity struct {
	cluster *stage.Cluster
	client  *http.Client
	// versions of the groups.
	versions map[string]string
}

func newIdentity(t *testing.T, c *stage.Cluster, versions map[string]string) identity {
	t.Helper()
	client, err := rest.HTTPClientFor(c.Config)
	require.NoError(t, err)
	return identity{cluster: c, client: client, versions: versions}
}

// versions are the preferred ones of an API server's groups.
func versions(t *testing.T, c *stage.Cluster) map[string]string {
	t.Helper()
	groups, err := c.Kube.Discovery().ServerGroups()
	require.NoError(t, err)
	out := map[string]string{}
	for _, group := range groups.Groups {
		out[group.Name] = group.PreferredVersion.Version
	}
	return out
}

// try makes an attempt, without effect where there could be one, and says whether it was allowed. Whoever is allowed to
// may still be told that the object is not there, or that the empty document is none.
func (i identity) try(ctx context.Context, a attempt) (allowed bool, answer string, err error) {
	if slices.Contains(virtual, a.verb) {
		return i.review(ctx, a)
	}
	request, err := i.request(ctx, a)
	if err != nil {
		return false, "", err
	}
	reply, err := i.client.Do(request)
	if err != nil {
		return false, "", fmt.Errorf("%s: %w", a, err)
	}
	defer reply.Body.Close()
	if a.verb == "watch" && reply.StatusCode == http.StatusOK {
		return true, reply.Status, nil
	}
	body, err := io.ReadAll(io.LimitReader(reply.Body, 1<<10))
	if err != nil {
		return false, "", fmt.Errorf("%s: %w", a, err)
	}
	if reply.StatusCode >= http.StatusInternalServerError || reply.StatusCode == http.StatusTooManyRequests {
		return false, "", fmt.Errorf("%s: %s: %s", a, reply.Status, body) // says nothing
	}
	return reply.StatusCode != http.StatusForbidden && reply.StatusCode != http.StatusUnauthorized, reply.Status + ": " + string(body), nil
}

func (i identity) request(ctx context.Context, a attempt) (*http.Request, error) {
	path := "/api/" + i.versions[""]
	if a.group != "" {
		path = "/apis/" + a.group + "/" + i.versions[a.group]
	}
	if a.namespace != "" {
		path += "/namespaces/" + a.namespace
	}
	path += "/" + a.resource
	if slices.Contains(named, a.verb) || a.subresource != "" {
		path += "/" + a.name
	}
	if a.subresource != "" {
		path += "/" + a.subresource
	}
	method, query, contentType := http.MethodGet, url.Values{}, ""
	switch a.verb {
	case "list", "get":
		query.Set("limit", "1")
	case "watch":
		query.Set("watch", "true")
		query.Set("timeoutSeconds", "1")
	case "create":
		method, contentType = http.MethodPost, "application/json"
	case "update":
		method, contentType = http.MethodPut, "application/json"
	case "patch":
		method, contentType = http.MethodPatch, "application/merge-patch+json"
	case "delete", "deletecollection":
		method = http.MethodDelete
	case "impersonate":
		path = "/api/v1/namespaces/default"
	default:
		return nil, fmt.Errorf("%s: no request has this verb", a)
	}
	var body io.Reader
	if method != http.MethodGet {
		query.Set("dryRun", "All")
	}
	if contentType != "" {
		body = strings.NewReader("{}")
	}
	request, err := http.NewRequestWithContext(ctx, method, i.cluster.URL+path+"?"+query.Encode(), body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a, err)
	}
	request.Header.Set("Content-Type", contentType)
	if a.verb == "impersonate" {
		request.Header.Set("Impersonate-User", a.name)
	}
	return request, nil
}

func (i identity) review(ctx context.Context, a attempt) (allowed bool, answer string, err error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: a.verb, Group: a.group, Resource: a.resource, Subresource: a.subresource, Namespace: a.namespace, Name: a.name,
		},
	}}
	reply, err := i.cluster.Kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, "", fmt.Errorf("%s: %w", a, err)
	}
	return reply.Status.Allowed, reply.Status.Reason, nil
}

// rules are what the API server says that somebody may do in a namespace, a line for each resource.
func (i identity) rules(ctx context.Context, namespace string) ([]string, error) {
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	reply, err := i.cluster.Kube.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("rules in namespace %s: %w", namespace, err)
	}
	var lines []string
	for _, rule := range reply.Status.ResourceRules {
		verbs := slices.Sorted(slices.Values(rule.Verbs))
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				resource, subresource, _ := strings.Cut(resource, "/")
				what := attempt{verb: strings.Join(verbs, ","), group: group, resource: resource, subresource: subresource}
				line := strings.TrimSuffix(what.String(), " /")
				if len(rule.ResourceNames) > 0 {
					line += " " + strings.Join(rule.ResourceNames, ",")
				}
				lines = append(lines, line)
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}
