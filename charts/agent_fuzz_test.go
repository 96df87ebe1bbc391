package charts

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	fleetconfig "github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// maxYAMLKey keeps a key below the 1024 characters that a parser of YAML takes, each of them escaped; the test could not
// write a file with more.
const maxYAMLKey = 160

// inValues puts something else in place of what no values file can hold.
func inValues(r rune) rune {
	if r == utf8.RuneError || r >= 0x7f && r <= 0x9f || r == '\ufffe' || r == '\uffff' {
		return '{'
	}
	return r
}

// FuzzValuesBecomeABootstrap: whatever a values file says, the chart refuses it, or the agent reads from its Secret and its
// ConfigMap exactly what the file says. Nothing on the way takes a text for YAML, for a template or for a number.
func FuzzValuesBecomeABootstrap(f *testing.F) {
	const ca = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
	f.Add("https://hub.example.com:6443", ca, "fleet-default", "ey.J0.ken", "edge", "cattle-fleet-clusters-system", "client", "env", "prod")
	f.Add("https://hub", "", "null", "1e3", "007", "true", "0x1F", "a/b", "~")
	f.Add("https://hub", "{{ .Release.Name }}", "yes", "{{fail `x`}}", "no", "1.0", "$(HOST)", "a", "{{ 1 }}")
	f.Add("https://hub ", "\n---\nkind: Secret\n", " a ", " t\n", "e.d", "off", "\u2028", "k", "\"")
	f.Add("hub", "\x00", "", "", "", "", "\xff", "", "")
	f.Add("https://hub", "a: b # c\r\n", "a", "!!binary aGk=", "&a", "*a", "|", "? k", "- v")
	f.Fuzz(func(t *testing.T, url, ca, workspace, token, tokenName, registrationNamespace, clientID, key, value string) {
		for _, text := range []*string{&url, &ca, &workspace, &token, &tokenName, &registrationNamespace, &clientID, &key, &value} {
			*text = strings.Map(inValues, *text)
		}
		if len(key) > maxYAMLKey {
			return
		}
		document, err := yaml.Marshal(map[string]any{
			"apiServerURL": url, "apiServerCA": ca, "clusterNamespace": workspace, "token": token, "tokenName": tokenName,
			"systemRegistrationNamespace": registrationNamespace, "clientID": clientID, "labels": map[string]string{key: value},
		})
		require.NoError(t, err)
		if len(document) > 64<<10 {
			return
		}
		i := agent("")
		i.values = string(document)
		r, err := i.render()
		if err != nil {
			if len(token) >= 20 && !strings.Contains(url+tokenName, token) {
				require.NotContains(t, err.Error(), token)
			}
			require.True(t, url == "" || token == "" || tokenName == "", "only what is missing is refused here, the agent knows the rest: %v", err)
			return
		}
		want, wantErr := registration.ParseValues(document)
		got, gotErr := registration.ParseBootstrap(find[*corev1.Secret](t, r, i.namespace, names.AgentBootstrapSecret).Data)
		require.Equal(t, wantErr == nil, gotErr == nil, "%v\n%v", wantErr, gotErr)
		require.Equal(t, want, got)

		parsed, warnings, err := fleetconfig.Parse(configText(t, r, names.ConfigKey), fleetconfig.Default("dev"))
		require.NoError(t, err)
		require.Empty(t, warnings)
		require.Equal(t, clientID, parsed.ClientID)
		require.Equal(t, map[string]string{key: value}, parsed.Labels)
	})
}
