package helm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/action"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
)

// many has objects of the kinds that charts have most.
var many = []string{`apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80}, {name: https, port: 443}]}
`, `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: c, image: none, env: [{name: A, value: a}, {name: B, value: b}], resources: {limits: {cpu: 1000m, memory: 1Gi}}}
`, `apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
`, `apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {token: abc}
`, `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
`, `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
subjects: [{kind: ServiceAccount, name: web}]
`, `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {rules: [{host: x.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
`, `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 1, maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
`, `apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
`, `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: web}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`, `apiVersion: batch/v1
kind: CronJob
metadata: {name: web}
spec: {schedule: "0 0 * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: none}]}}}}}
`}

// H05: what others change of built-in objects is set back in every mode, and what they add beside it is theirs.
func TestDriftOfBuiltInObjectsIsCorrected(t *testing.T) {
	for _, force := range []bool{false, true} {
		t.Run(map[bool]string{false: "merging", true: "forcing"}[force], func(t *testing.T) {
			b := newBed(t)
			deployed := b.deploy(b.bundle("drift", many...))
			ctx := b.ctx()
			apps, core := b.Kube.AppsV1(), b.Kube.CoreV1()
			_, err := apps.Deployments(b.namespace).Patch(ctx, "web", types.StrategicMergePatchType, []byte(`{"spec":{"template":{"spec":{"containers":[
				{"name":"c","image":"other","env":[{"name":"A","value":"changed"},{"name":"C","value":"mine"}]}]}}}}`), metav1.PatchOptions{})
			require.NoError(t, err)
			_, err = core.Services(b.namespace).Patch(ctx, "web", types.JSONPatchType, []byte(`[{"op":"remove","path":"/spec/ports/1"}]`), metav1.PatchOptions{})
			require.NoError(t, err)
			require.NoError(t, core.ServiceAccounts(b.namespace).Delete(ctx, "web", metav1.DeleteOptions{}))
			got, err := b.Correct(ctx, deployed.ID, b.owner("drift"), fleet.CorrectDrift{Enabled: true, Force: force})
			require.NoError(t, err)
			assert.Equal(t, deployed, got)

			web, err := apps.Deployments(b.namespace).Get(ctx, "web", metav1.GetOptions{})
			require.NoError(t, err)
			container := web.Spec.Template.Spec.Containers[0]
			assert.Equal(t, "none", container.Image)
			env := map[string]string{}
			for _, variable := range container.Env {
				env[variable.Name] = variable.Value
			}
			assert.Equal(t, map[string]string{"A": "a", "B": "b", "C": "mine"}, env)
			assert.True(t, container.Resources.Limits.Cpu().Equal(resource.MustParse("1")))
			service, err := core.Services(b.namespace).Get(ctx, "web", metav1.GetOptions{})
			require.NoError(t, err)
			assert.Len(t, service.Spec.Ports, 2)
			_, err = core.ServiceAccounts(b.namespace).Get(ctx, "web", metav1.GetOptions{})
			require.NoError(t, err)
		})
	}
}

// What nobody changed is not written: neither by a correction, with force or without, nor by an upgrade to the same.
func TestWhatIsAsItShouldBeIsNotWritten(t *testing.T) {
	b := newBed(t)
	deployed := b.deploy(b.bundle("same", many...))
	// The controller manager writes statuses and defaults first.
	before := b.generations(deployed)
	for _, force := range []bool{false, true} {
		_, err := b.Correct(b.ctx(), deployed.ID, b.owner("same"), fleet.CorrectDrift{Enabled: true, Force: force})
		require.NoError(t, err)
	}
	job := b.bundle("same", many...)
	job.Release = deployed.ID
	b.deploy(job)
	assert.Equal(t, before, b.generations(deployed))
	pages, err := b.Kube.CoreV1().Secrets(b.namespace).List(b.ctx(), metav1.ListOptions{LabelSelector: "owner=helm"})
	require.NoError(t, err)
	assert.Len(t, pages.Items, 2)
}

// generations tells changes of what objects are to be from those of how they are.
func (b *bed) generations(release helmdeployer.Release) map[string]int64 {
	b.t.Helper()
	web, err := b.Kube.AppsV1().Deployments(release.Namespace).Get(b.ctx(), "web", metav1.GetOptions{})
	require.NoError(b.t, err)
	ingress, err := b.Kube.NetworkingV1().Ingresses(release.Namespace).Get(b.ctx(), "web", metav1.GetOptions{})
	require.NoError(b.t, err)
	cron, err := b.Kube.BatchV1().CronJobs(release.Namespace).Get(b.ctx(), "web", metav1.GetOptions{})
	require.NoError(b.t, err)
	return map[string]int64{"deployment": web.Generation, "ingress": ingress.Generation, "cronjob": cron.Generation}
}

// With force, what cannot be changed is made again, but nothing that holds data.
func TestForceMakesAgainWhatCannotBeChanged(t *testing.T) {
	b := newBed(t)
	selector := func(app string) string {
		return `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: ` + app + `}}
  template: {metadata: {labels: {app: ` + app + `}}, spec: {containers: [{name: c, image: none}]}}
`
	}
	claim := func(size string) string {
		return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: web}\nspec: {accessModes: [" + size + "], resources: {requests: {storage: 1Gi}}}\n"
	}
	b.deploy(b.bundle("force", selector("one"), claim("ReadWriteOnce")))
	job := b.bundle("force", selector("two"), claim("ReadWriteOnce"))
	_, err := b.Deploy(b.ctx(), job)
	require.ErrorContains(t, err, "field is immutable")
	assert.True(t, helmdeployer.IsFinal(err))
	job.Options.Helm = &fleet.HelmOptions{Force: true}
	b.deploy(job)
	web, err := b.Kube.AppsV1().Deployments(b.namespace).Get(b.ctx(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "two", web.Spec.Selector.MatchLabels["app"])

	job.Files[1] = file("m1.yaml", claim("ReadWriteMany"))
	_, err = b.Deploy(b.ctx(), job)
	require.ErrorContains(t, err, `PersistentVolumeClaim "web" is not removed and made again, although force is set`)
	kept, err := b.Kube.CoreV1().PersistentVolumeClaims(b.namespace).Get(b.ctx(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Nil(t, kept.DeletionTimestamp)
}

// A person with Helm sees our releases, and can roll one back; the next deployment goes on from there.
func TestHelmReadsOurReleases(t *testing.T) {
	b := newBed(t)
	b.deploy(b.bundle("seen", configMap("c", "one")))
	b.deploy(b.bundle("seen", configMap("c", "two")))
	flags := genericclioptions.NewConfigFlags(false)
	kubeconfig := b.Kubeconfig()
	flags.KubeConfig, flags.Namespace = &kubeconfig, &b.namespace
	helm := &action.Configuration{}
	require.NoError(t, helm.Init(flags, b.namespace, "secret", func(string, ...any) {}))
	seen, err := action.NewGet(helm).Run("seen")
	require.NoError(t, err)
	assert.Equal(t, 2, seen.Version)
	assert.Equal(t, "seen", seen.Chart.Metadata.Annotations["fleet.cattle.io/bundle-id"])
	rollback := action.NewRollback(helm)
	rollback.Version = 1
	require.NoError(t, rollback.Run("seen"))
	assert.Equal(t, "one", b.value("c"))
	found, err := b.List(b.ctx())
	require.NoError(t, err)
	assert.Contains(t, found, helmdeployer.Deployed{BundleID: "seen", Namespace: b.namespace, Name: "seen", Revision: 3})
	got := b.deploy(b.bundle("seen", configMap("c", "three")))
	assert.Equal(t, b.namespace+"/seen:4", got.ID)
	assert.Equal(t, "three", b.value("c"))
}
