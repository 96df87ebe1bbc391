package preflight

import (
	"context"
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/pkg/registration"
)

// secretText must not be in any report.
const secretText = "s3cret-that-nobody-may-see"

// name is a host that resolves nowhere: only a proxy knows the way.
const name = "hub.example.test"

// kubeconfig has a token, unless change says otherwise.
func kubeconfig(t testing.TB, server string, ca []byte, change ...func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) []byte {
	t.Helper()
	cluster := &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	user := &clientcmdapi.AuthInfo{Token: secretText}
	for _, c := range change {
		c(cluster, user)
	}
	out := clientcmdapi.NewConfig()
	out.Clusters["c"], out.AuthInfos["u"] = cluster, user
	out.Contexts["x"], out.CurrentContext = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}, "x"
	data, err := clientcmd.Write(*out)
	require.NoError(t, err)
	return data
}

// jwt is a token that nobody has signed.
func jwt(claims string) string {
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"RS256"}`)) + "." + part([]byte(claims)) + "." + part([]byte(secretText))
}

// importToken is a token of an import account that is good from and until, from now.
func importToken(l life) string {
	now := time.Now()
	return jwt(fmt.Sprintf(`{"sub":"system:serviceaccount:cattle-fleet-clusters-system:edge","iat":%d,"nbf":%d,"exp":%d}`,
		now.Add(l.from).Unix(), now.Add(l.from).Unix(), now.Add(l.until).Unix()))
}

// values are those of a token, with more beside them.
func values(t testing.TB, server string, ca []byte, token string, more map[string]any) []byte {
	t.Helper()
	document, err := registration.Bootstrap{
		APIServerURL: server, APIServerCA: ca, ClusterNamespace: "fleet-default", Token: token, TokenName: "edge",
		SystemRegistrationNamespace: "cattle-fleet-clusters-system",
	}.Values()
	require.NoError(t, err)
	all := map[string]any{}
	require.NoError(t, yaml.Unmarshal(document, &all))
	for key, value := range more {
		all[key] = value
	}
	document, err = yaml.Marshal(all)
	require.NoError(t, err)
	return document
}

// stepLimit is how long a step may take in these tests; those that wait for its end make it short.
const stepLimit = 10 * time.Second

// look makes the checks, and sees that no report tells a secret.
func look(t *testing.T, document []byte, o Options) Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if o.StepLimit == 0 {
		o.StepLimit = stepLimit
	}
	report := Run(ctx, document, o)
	text, err := yaml.Marshal(report)
	require.NoError(t, err)
	assert.NotContains(t, string(text), secretText)
	assert.NotContains(t, string(text), "eyJ")
	for _, c := range report.Checks {
		assert.Contains(t, []Result{OK, Warning, Failed, Skipped}, c.Result, c.Name)
		assert.NotEmpty(t, c.Found, c.Name)
		assert.Equal(t, c.Result == Warning || c.Result == Failed, c.Remedy != "", "%s: a remedy where there is something to do: %+v", c.Name, c)
	}
	return report
}

// check finds a check of a report.
func check(t *testing.T, r Report, name string) Check {
	t.Helper()
	c := find(r, name)
	require.NotEmpty(t, c.Name, "there is no check %s", name)
	return c
}

func find(r Report, name string) Check {
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	return Check{}
}

// results are all checks that are neither fine nor skipped, by name.
func results(r Report) map[string]Result {
	out := map[string]Result{}
	for _, c := range r.Checks {
		if c.Result == Warning || c.Result == Failed {
			out[c.Name] = c.Result
		}
	}
	return out
}

func emptyDeployments() *appsv1.DeploymentList {
	return &appsv1.DeploymentList{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DeploymentList"}}
}
