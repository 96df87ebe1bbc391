package permissions_test

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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/e2e/permissions"
	"github.com/rancher/fleet/e2e/stage"
)

// identity is somebody who makes attempts at an API server.
type identity struct {
	name string
	// cluster is the API server as this identity sees it, admin the same for the administrator.
	cluster, admin *stage.Cluster
	client         *http.Client
	// versions of the groups.
	versions map[string]string
}

func newIdentity(t *testing.T, name string, admin *stage.Cluster, token string) identity {
	t.Helper()
	c, err := admin.AsToken(name, token)
	require.NoError(t, err)
	client, err := rest.HTTPClientFor(c.Config)
	require.NoError(t, err)
	groups, err := admin.Kube.Discovery().ServerGroups()
	require.NoError(t, err)
	i := identity{name: name, cluster: c, admin: admin, client: client, versions: map[string]string{}}
	for _, group := range groups.Groups {
		i.versions[group.Name] = group.PreferredVersion.Version
	}
	return i
}

// try makes an attempt, without effect where there could be one, and says whether it was allowed. Whoever is allowed to
// may still be told that the object is not there, or that the empty document is none.
func (i identity) try(ctx context.Context, a permissions.Attempt) (allowed bool, answer string, err error) {
	if a.Asked() {
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
	if a.Verb == "watch" && reply.StatusCode == http.StatusOK {
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

// path is where an attempt is made.
func (i identity) path(a permissions.Attempt) string {
	if a.Path != "" {
		return a.Path
	}
	if a.Verb == "impersonate" {
		return "/api/v1/namespaces/default"
	}
	path := "/api/" + i.versions[""]
	if a.Group != "" {
		path = "/apis/" + a.Group + "/" + i.versions[a.Group]
	}
	if a.Namespace != "" {
		path += "/namespaces/" + a.Namespace
	}
	path += "/" + a.Resource
	if a.Named() {
		path += "/" + a.Name
	}
	if a.Subresource != "" {
		path += "/" + a.Subresource
	}
	return path
}

// methods are those of the verbs; a verb that is not here reads.
var methods = map[string]string{
	"create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch, "delete": http.MethodDelete, "deletecollection": http.MethodDelete,
}

func (i identity) request(ctx context.Context, a permissions.Attempt) (*http.Request, error) {
	method, query := http.MethodGet, url.Values{}
	switch {
	case methods[a.Verb] != "":
		method = methods[a.Verb]
		query.Set("dryRun", "All")
	case a.Verb == "watch":
		query.Set("watch", "true")
		query.Set("timeoutSeconds", "1")
	case a.Verb == "list" || a.Verb == "get":
		query.Set("limit", "1")
	case a.Verb != "impersonate":
		return nil, fmt.Errorf("%s: no request has this verb", a)
	}
	contentType := map[string]string{"create": "application/json", "update": "application/json", "patch": "application/merge-patch+json"}[a.Verb]
	var body io.Reader
	if contentType != "" {
		body = strings.NewReader("{}")
	}
	request, err := http.NewRequestWithContext(ctx, method, i.cluster.URL+i.path(a)+"?"+query.Encode(), body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a, err)
	}
	request.Header.Set("Content-Type", contentType)
	if a.Verb == "impersonate" {
		request.Header.Set("Impersonate-User", a.Name)
	}
	return request, nil
}

// review asks the API server. Whom it does not know it does not answer: that is a no.
func (i identity) review(ctx context.Context, a permissions.Attempt) (allowed bool, answer string, err error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: a.Verb, Group: a.Group, Resource: a.Resource, Subresource: a.Subresource, Namespace: a.Namespace, Name: a.Name,
		},
	}}
	reply, err := i.cluster.Kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) {
		return false, err.Error(), nil
	}
	if err != nil {
		return false, "", fmt.Errorf("%s: %w", a, err)
	}
	return reply.Status.Allowed, reply.Status.Reason, nil
}

// rules are what the API server says that somebody may do in a namespace, a line for each resource and path. Whom it does
// not know has none.
func (i identity) rules(ctx context.Context, namespace string) ([]string, error) {
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	reply, err := i.cluster.Kube.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{})
	if apierrors.IsUnauthorized(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("rules in namespace %s: %w", namespace, err)
	}
	var lines []string
	for _, rule := range reply.Status.ResourceRules {
		lines = append(lines, linesOf(rule)...)
	}
	for _, rule := range reply.Status.NonResourceRules {
		for _, path := range rule.NonResourceURLs {
			lines = append(lines, strings.Join(slices.Sorted(slices.Values(rule.Verbs)), ",")+" "+path)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

func linesOf(rule authorizationv1.ResourceRule) (lines []string) {
	verbs := strings.Join(slices.Sorted(slices.Values(rule.Verbs)), ",")
	for _, group := range rule.APIGroups {
		for _, full := range rule.Resources {
			resource, subresource, _ := strings.Cut(full, "/")
			line := verbs + " " + permissions.Attempt{Group: group, Resource: resource, Subresource: subresource}.What()
			if len(rule.ResourceNames) > 0 {
				line += " " + strings.Join(rule.ResourceNames, ",")
			}
			lines = append(lines, line)
		}
	}
	return lines
}
