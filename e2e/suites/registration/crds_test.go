package registration_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/codegen/crdfacts"
)

var (
	crdsOnce    sync.Once
	crdsCluster *stage.Cluster
)

// withCRDs is an API server with the CRDs and no controller of ours.
func withCRDs(t *testing.T) *stage.Cluster {
	t.Helper()
	crdsOnce.Do(func() {
		c := clusters(t, plane{name: "crds", options: []lab.Option{lab.WithoutControllerManager()}})[0]
		for _, crd := range manifests(t) {
			_, err := applyServerSide(t.Context(), c, crd)
			require.NoError(t, err, crd.GetName())
		}
		awaitServed(t, c)
		crdsCluster = c
	})
	require.NotNil(t, crdsCluster, "the CRDs were not installed; see the first test that needed them")
	return crdsCluster
}

// manifests are the files of chart fleet-crd, as they lie there.
func manifests(t *testing.T) (all []*unstructured.Unstructured) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repository, "charts", "fleet-crd", "templates", "*"))
	require.NoError(t, err)
	require.Len(t, files, kinds)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		u := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal(content, &u.Object), file)
		all = append(all, u)
	}
	return all
}

func definitions(c *stage.Cluster) dynamic.ResourceInterface {
	return c.Dynamic.Resource(stage.Definitions)
}

// applyServerSide is "kubectl apply --server-side".
func applyServerSide(ctx context.Context, c *stage.Cluster, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return definitions(c).Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: "test"})
}

// awaitServed waits for all kinds at once: a server that is not ready for one tells its client to come back in a second.
func awaitServed(t *testing.T, c *stage.Cluster) {
	t.Helper()
	waits, ctx := errgroup.WithContext(until(t, patience))
	for _, crd := range manifests(t) {
		waits.Go(func() error {
			return stage.Await(ctx, crd.GetName()+" to be served", func(ctx context.Context) (bool, string, error) {
				_, err := c.Dynamic.Resource(fleet.SchemeGroupVersion.WithResource(plural(crd))).List(ctx, metav1.ListOptions{})
				return err == nil, "", err
			})
		})
	}
	require.NoError(t, waits.Wait())
}

func plural(crd *unstructured.Unstructured) string {
	name, _, _ := strings.Cut(crd.GetName(), ".")
	return name
}

// The manifests go in with kubectl as well, and a second time changes nothing.
func TestCRDsAreAppliedTwiceWithoutAChange(t *testing.T) {
	c := withCRDs(t)
	for _, crd := range manifests(t) {
		before, err := definitions(c).Get(t.Context(), crd.GetName(), metav1.GetOptions{})
		require.NoError(t, err)
		after, err := applyServerSide(t.Context(), c, crd)
		require.NoError(t, err)
		assert.Equal(t, before.GetResourceVersion(), after.GetResourceVersion(), "%s was changed by the second apply", crd.GetName())
		assert.Equal(t, int64(1), after.GetGeneration(), crd.GetName())
	}
}

// What kubectl apply without --server-side does: the object repeats itself in an annotation, which has a limit.
func TestCRDsFitTheAnnotationOfKubectlApply(t *testing.T) {
	c := withCRDs(t)
	for _, crd := range manifests(t) {
		annotated := crd.DeepCopy()
		content, err := json.Marshal(crd.Object)
		require.NoError(t, err)
		annotated.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": string(content)})
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotated.GetAnnotations()}})
		require.NoError(t, err)
		_, err = definitions(c).Patch(t.Context(), crd.GetName(), types.MergePatchType, patch, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		assert.NoError(t, err, crd.GetName())
	}
}

// Every field on a real server: null is kept where a field is nullable and dropped elsewhere, and the emptiest values ({},
// [], 0, "", false) come back as they were sent.
func TestEveryFieldTakesNullAndNothing(t *testing.T) {
	c := withCRDs(t)
	facts, err := crdfacts.All()
	require.NoError(t, err)
	require.Len(t, facts, kinds)
	for _, crd := range manifests(t) {
		kind, _, err := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		require.NoError(t, err)
		t.Run(kind, func(t *testing.T) {
			p := newProbe(t, c, crd, newSchema(facts[kind]))
			nullable := 0
			var all errgroup.Group
			all.SetLimit(4)
			for _, fact := range p.schema {
				if fact.Nullable() {
					nullable++
				}
				all.Go(func() error {
					p.null(t, fact)
					p.least(t, fact)
					return nil
				})
			}
			require.NoError(t, all.Wait())
			t.Logf("%d fields, %d of them nullable", len(p.schema), nullable)
		})
	}
}

// probe sends objects of one kind to an API server.
type probe struct {
	kind   string
	client dynamic.ResourceInterface
	schema schema
	// withStatus says that the status has a resource of its own; created is an object to write it to.
	withStatus bool
	created    *unstructured.Unstructured
}

func newProbe(t *testing.T, c *stage.Cluster, crd *unstructured.Unstructured, s schema) *probe {
	t.Helper()
	kind, _, err := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	require.NoError(t, err)
	scope, _, err := unstructured.NestedString(crd.Object, "spec", "scope")
	require.NoError(t, err)
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	require.NoError(t, err)
	_, withStatus, err := unstructured.NestedMap(versions[0].(map[string]any), "subresources", "status")
	require.NoError(t, err)
	p := &probe{kind: kind, schema: s, withStatus: withStatus, client: c.Dynamic.Resource(fleet.SchemeGroupVersion.WithResource(plural(crd)))}
	if scope == "Namespaced" {
		p.client = c.Dynamic.Resource(fleet.SchemeGroupVersion.WithResource(plural(crd))).Namespace("default")
	}
	object := s.leastObject(t, "")
	if spec := s.leastObject(t, "spec"); len(spec) > 0 {
		object["spec"] = spec
	}
	p.created, err = p.client.Create(t.Context(), p.named("kept", object), metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	require.NoError(t, err)
	return p
}

// named makes an object of the kind of some content.
func (p *probe) named(name string, content map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(fleet.SchemeGroupVersion.WithKind(p.kind))
	u.SetName(name)
	return u
}

// send writes a value to a field and returns the object as the server would keep it.
func (p *probe) send(t *testing.T, path string, value any) (*unstructured.Unstructured, error) {
	t.Helper()
	object := p.schema.object(t, path, value)
	dry := []string{metav1.DryRunAll}
	if p.withStatus && strings.HasPrefix(path, "status") {
		update := p.created.DeepCopy()
		update.Object["status"] = object["status"]
		return p.client.UpdateStatus(context.Background(), update, metav1.UpdateOptions{DryRun: dry, FieldValidation: metav1.FieldValidationStrict})
	}
	return p.client.Create(context.Background(), p.named("probe", object), metav1.CreateOptions{DryRun: dry, FieldValidation: metav1.FieldValidationStrict})
}

func (p *probe) null(t *testing.T, fact crdfacts.Fact) {
	t.Helper()
	reply, err := p.send(t, fact.Path, nil)
	if !fact.Nullable() && (fact.Required() || element(fact.Path)) {
		assert.True(t, apierrors.IsInvalid(err), "null in %s: %v", fact, err)
		return
	}
	if !assert.NoError(t, err, "null in %s", fact) {
		return
	}
	value, found := at(reply.Object, fact.Path)
	_, hasDefault := flag(fact, "default=")
	switch {
	case fact.Nullable():
		assert.True(t, found && value == nil, "null in %s came back as %#v (found: %t)", fact, value, found)
	case hasDefault:
		assert.True(t, found && value != nil, "null in %s came back as %#v (found: %t)", fact, value, found)
	default:
		assert.False(t, found, "null in %s came back as %#v", fact, value)
	}
}

func (p *probe) least(t *testing.T, fact crdfacts.Fact) {
	t.Helper()
	least := p.schema.least(t, fact)
	reply, err := p.send(t, fact.Path, least)
	if !assert.NoError(t, err, "%#v in %s", least, fact) {
		return
	}
	value, found := at(reply.Object, fact.Path)
	assert.True(t, found, "%#v in %s was dropped", least, fact)
	assert.Equal(t, p.defaulted(least, fact), value, "%s", fact)
}

// defaulted adds to an object what the server adds.
func (p *probe) defaulted(value any, fact crdfacts.Fact) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	for _, child := range p.schema.children(fact.Path) {
		if standard, ok := flag(child, "default="); ok {
			object[child.Path[strings.LastIndex(child.Path, ".")+1:]] = strings.Trim(standard, "'")
		}
	}
	return object
}
