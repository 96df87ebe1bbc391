package permissions_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/canary"
	"github.com/rancher/fleet/e2e/stage"
)

// secretsStored is where the API server keeps Secrets in etcd.
const secretsStored = "/registry/secrets/"

// Attack 11, CVE-2021-36782, CVE-2022-43757, CVE-2024-52284: what is secret is in Secrets, and nowhere else: not in any other
// object of hub or cluster (statuses and Events are objects), in no log, metric or output of the command. Hub and agent log
// all that they can. That the search can find something is proved on the way: every value is found in a Secret, and one that
// is planted is found outside.
func TestSecretsAreNowhereButInSecrets(t *testing.T) {
	b := ofTheBed(t)
	values := b.sow(t)
	search, err := canary.New(append(values, canary.Value{Name: "password of the own proxy", Data: []byte(ownProxy)})...)
	require.NoError(t, err)

	inSecrets := map[string]bool{}
	for _, plane := range []*stage.Cluster{b.Hub, b.edge} {
		objects, findings := b.stored(t, search, plane, inSecrets)
		assert.Greater(t, objects, 100, "objects of %s that were looked at", plane.Name)
		report(t, findings)
	}
	for _, value := range values {
		assert.True(t, inSecrets[value.Name], "%s is in no Secret: the search looks for something else than there is", value.Name)
	}
	report(t, b.logged(t, search))
	report(t, b.shown(t, search))

	planted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "planted"}, BinaryData: map[string][]byte{"x": values[0].Data}}
	_, err = b.Hub.Kube.CoreV1().ConfigMaps("default").Create(t.Context(), planted, metav1.CreateOptions{})
	require.NoError(t, err)
	_, findings := b.stored(t, search, b.Hub, inSecrets)
	require.NotEmpty(t, findings)
	assert.Equal(t, canary.Finding{Value: values[0].Name, Place: "hub /registry/configmaps/default/planted", Form: "as it is"}, findings[0])
}

func report(t *testing.T, findings []canary.Finding) {
	t.Helper()
	for _, f := range findings {
		t.Errorf("a secret is where it must not be: %s", f)
	}
}

// stored looks into all that etcd has. Secrets are where the values belong: those are noted.
func (b *bed) stored(t *testing.T, search *canary.Searcher, plane *stage.Cluster, inSecrets map[string]bool) (objects int, findings []canary.Finding) {
	t.Helper()
	name := map[*stage.Cluster]string{b.Hub: "hub", b.edge: "edge"}[plane]
	err := plane.Stored(stage.Until(t, patience), func(key string, value []byte) {
		found := search.In(name+" "+key, value)
		if strings.HasPrefix(key, secretsStored) {
			for _, f := range found {
				inSecrets[f.Value] = true
			}
			return
		}
		objects++
		findings = append(findings, found...)
	})
	require.NoError(t, err)
	return objects, findings
}

// logged looks into the logs of hub and agents, and of the API servers: what is asked of them is logged there.
func (b *bed) logged(t *testing.T, search *canary.Searcher) (findings []canary.Finding) {
	t.Helper()
	var files []string
	for _, plane := range []*stage.Cluster{b.Hub, b.edge} {
		logs, err := filepath.Glob(filepath.Join(plane.Dir, "logs", "*.log"))
		require.NoError(t, err)
		files = append(append(files, logs...), plane.AuditLog())
	}
	logged, detailed := map[string]bool{}, false
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		logged[file], detailed = len(content) > 0, detailed || bytes.Contains(content, []byte("level=debug"))
		findings = append(findings, search.In("log "+filepath.Base(file), content)...)
	}
	for _, p := range b.Processes() {
		assert.True(t, logged[p.Log], "the log of %s was not looked at, or is empty: %s", p.Name, p.Log)
	}
	assert.True(t, detailed, "nobody logs all that it can")
	return findings
}

// commands are what people type to look at a hub.
var commands = []string{
	"cluster list -A -o yaml", "cluster list -A", "cluster explain edge -n fleet-default -o yaml", "cluster explain edge -n fleet-default",
	"cluster explain refused -n fleet-default -o yaml", "token list -A -o yaml", "token list -A", "registration list -A -o yaml",
	"bundle list -A -o yaml", "bundle explain sown -n fleet-default -o yaml", "bundle explain sown -n fleet-default",
}

// shown looks into what people and their programs see.
func (b *bed) shown(t *testing.T, search *canary.Searcher) (findings []canary.Finding) {
	t.Helper()
	for _, words := range commands {
		command := exec.CommandContext(stage.Until(t, patience), b.Binary(), strings.Fields(words)...)
		command.Env = append(os.Environ(), "KUBECONFIG="+b.Hub.Kubeconfig())
		var out bytes.Buffer
		command.Stdout, command.Stderr = &out, &out
		require.NoError(t, command.Run(), "fleet %s: %s", words, out.String())
		require.NotEmpty(t, out.String(), words)
		findings = append(findings, search.In("fleet "+words, out.Bytes())...)
	}
	for name, address := range map[string]string{"hub": b.hubMetrics, "agent": b.agentMetrics} {
		var content []byte
		await(t, "the metrics of the "+name, func(ctx context.Context) (ok bool, seen string, err error) {
			content, err = get(ctx, "http://"+address+"/metrics")
			return len(content) > 0, fmt.Sprintf("%d bytes", len(content)), err
		})
		findings = append(findings, search.In("metrics of the "+name, content)...)
	}
	return findings
}

func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(io.LimitReader(answer.Body, 64<<20))
}
