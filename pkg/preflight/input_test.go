package preflight

import (
	"encoding/base64"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// secretOf is a Secret as kubectl prints it.
func secretOf(t testing.TB, data map[string]string) []byte {
	t.Helper()
	encoded := map[string]string{}
	for key, value := range data {
		encoded[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	text, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"}, "data": encoded})
	require.NoError(t, err)
	return text
}

func TestInputIsRecognisedByItsContent(t *testing.T) {
	config, document := string(kubeconfig(t, "https://h", nil)), string(values(t, "https://h", nil, secretText, nil))
	for title, test := range map[string]struct {
		text string
		kind Kind
		// says is a part of the error.
		says string
	}{
		"a kubeconfig":                     {config, KindKubeconfig, ""},
		"as JSON":                          {`{"kind":"Config","clusters":[]}`, KindKubeconfig, ""},
		"without a kind":                   {"contexts: []", KindKubeconfig, ""},
		"values":                           {document, KindValues, ""},
		"values with nothing but a token":  {"token: x", KindValues, ""},
		"a kubeconfig's Secret":            {string(secretOf(t, map[string]string{"value": config})), KindKubeconfig, ""},
		"a token's Secret":                 {string(secretOf(t, map[string]string{"values": document})), KindValues, ""},
		"an agent's bootstrap Secret":      {string(secretOf(t, map[string]string{"token": "x", "apiServerURL": "https://h"})), KindValues, ""},
		"a Secret in plain text":           {"kind: Secret\nstringData: {value: x}", KindKubeconfig, ""},
		"nothing":                          {" \n", "", "empty"},
		"what is no YAML":                  {"{" + secretText, "", "no YAML"},
		"a list":                           {"- a", "", "no YAML or JSON mapping"},
		"a word":                           {secretText, "", "no YAML or JSON mapping"},
		"null":                             {"null", "", "no YAML or JSON mapping"},
		"something else":                   {"kind: ConfigMap\ndata: {a: b}", "", "none of the keys"},
		"both":                             {config + "\ntoken: x", "", "of a kubeconfig and of a token"},
		"a Secret of something else":       {string(secretOf(t, map[string]string{"a": "b"})), "", "neither key"},
		"a Secret with both":               {string(secretOf(t, map[string]string{"value": config, "values": document})), "", "both keys"},
		"a Secret that was edited by hand": {"kind: Secret\ndata: {value: '*'}", "", "no base64"},
		"what is too large":                {strings.Repeat("a", MaxInput+1), "", "more than"},
	} {
		t.Run(title, func(t *testing.T) {
			in, err := Recognize([]byte(test.text))
			if test.says != "" {
				require.ErrorContains(t, err, test.says)
				assert.NotContains(t, err.Error(), secretText)
				report := look(t, []byte(test.text), Options{})
				assert.Equal(t, map[string]Result{CheckInput: Failed}, results(report))
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.kind, in.Kind)
			assert.Equal(t, strings.Contains(test.text, "Secret"), in.FromSecret)
		})
	}
}

func TestWhatTheHubRefusesInAKubeconfigIsRefusedHere(t *testing.T) {
	for title, change := range map[string]func(*cluster, *user){
		"a program":           func(_ *cluster, u *user) { u.Exec = execPlugin() },
		"a file":              func(_ *cluster, u *user) { u.TokenFile = "/etc/" + secretText },
		"insecure":            func(c *cluster, _ *user) { c.InsecureSkipTLSVerify = true },
		"plain HTTP":          func(c *cluster, _ *user) { c.Server = "http://h" },
		"a CA in a file":      func(c *cluster, _ *user) { c.CertificateAuthority = "/ca" },
		"a token that is cut": func(_ *cluster, u *user) { u.Token = secretText + "\n" },
	} {
		t.Run(title, func(t *testing.T) {
			report := look(t, kubeconfig(t, "https://h.invalid", nil, change), Options{})
			assert.Equal(t, map[string]Result{CheckInput: Failed}, results(report))
			for _, c := range report.Checks[1:] {
				assert.Equal(t, Skipped, c.Result, c.Name)
			}
		})
	}
}

// Whatever is given, the reading ends without a panic, and with a report that can be shown.
func FuzzInput(f *testing.F) {
	config, document := kubeconfig(f, "https://h/path", []byte("ca")), values(f, "https://h", nil, importToken(young), map[string]any{
		"proxy": "http://u:p@h:1", "noProxy": "a,10.0.0.0/8", "extraEnv": []any{map[string]any{"name": "HTTPS_PROXY", "value": "x"}},
	})
	for _, seed := range [][]byte{
		config, document, secretOf(f, map[string]string{"value": string(config)}), secretOf(f, map[string]string{"values": string(document)}),
		[]byte("kind: Config"), []byte("token: [1]"), []byte("extraEnv: {}\ntoken: a"), []byte("kind: Secret\nstringData: {token: 1, value: 2}"),
		[]byte("a: &a [*a]"), {0xff}, nil,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		in, err := Recognize(document)
		if err != nil {
			assert.Empty(t, in.Document)
			return
		}
		o := Options{}.complete()
		l := newLedger(in.Kind)
		w := &way{words: valuesWords, mode: defaultTLSMode}
		if in.Kind == KindKubeconfig {
			w.readKubeconfig(l, in, o)
		} else {
			w.readValues(l, in, o)
		}
		if l.passed(CheckInput, CheckCA, CheckClientCertificate) {
			assert.NotNil(t, w.cfg)
		}
		decideHubAddress(in, hubSettings{})
		for _, c := range l.report.Checks {
			assert.True(t, utf8.ValidString(c.Found+c.Remedy))
			assert.Equal(t, printable(c.Found, maxSentence+3), c.Found)
		}
	})
}
