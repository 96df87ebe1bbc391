package registration

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

const testToken = "eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl"

func testBootstrap() Bootstrap {
	return Bootstrap{
		APIServerURL:                "https://hub.example.com:6443/k8s",
		APIServerCA:                 []byte("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"),
		ClusterNamespace:            "fleet-default",
		Token:                       testToken,
		TokenName:                   "import-token-edge.eu",
		SystemRegistrationNamespace: "cattle-fleet-clusters-system",
	}
}

func TestBootstrapMakesTheRoundTrip(t *testing.T) {
	changed := map[string]func(*Bootstrap){
		"as it is":                   func(*Bootstrap) {},
		"without a CA":               func(b *Bootstrap) { b.APIServerCA = nil },
		"without a token's name":     func(b *Bootstrap) { b.TokenName = "" },
		"another system namespace":   func(b *Bootstrap) { b.SystemNamespace = "fleet-system" },
		"texts that YAML would bend": func(b *Bootstrap) { b.ClusterNamespace, b.Token = "null", "123" },
	}
	for what, change := range changed {
		t.Run(what, func(t *testing.T) {
			want := testBootstrap()
			change(&want)
			document, err := want.Values()
			require.NoError(t, err)
			got, err := ParseValues(document)
			require.NoError(t, err)
			assert.Equal(t, want, got)
			got, err = ParseBootstrap(map[string][]byte{KeyValues: document})
			require.NoError(t, err)
			assert.Equal(t, want, got)

			got, err = ParseBootstrap(want.SecretData())
			require.NoError(t, err)
			want.SystemNamespace = "" // it is no key of the secret
			assert.Equal(t, want, got)
		})
	}
}

// The document is a values file of the agent's chart: a mapping of texts, and nothing that the chart does not know.
func TestValuesAreAValuesFile(t *testing.T) {
	b := testBootstrap()
	b.SystemNamespace = "cattle-fleet-system"
	document, err := b.Values()
	require.NoError(t, err)
	var values map[string]any
	require.NoError(t, yaml.UnmarshalStrict(document, &values))
	assert.Equal(t, map[string]any{
		"apiServerURL": b.APIServerURL, "apiServerCA": string(b.APIServerCA), "clusterNamespace": "fleet-default",
		"token": testToken, "tokenName": "import-token-edge.eu", "systemRegistrationNamespace": "cattle-fleet-clusters-system",
	}, values, "the usual system namespace is left out")

	b.SystemNamespace, b.APIServerCA = "fleet-system", nil
	document, err = b.Values()
	require.NoError(t, err)
	values = nil
	require.NoError(t, yaml.UnmarshalStrict(document, &values))
	assert.Equal(t, map[string]any{"systemNamespace": "fleet-system"}, values["internal"])
	assert.Equal(t, "", values["apiServerCA"], "no CA is an empty text")
}

// R24: a first bootstrap that is wrong says which key is.
func TestBootstrapErrorsNameTheKey(t *testing.T) {
	for _, test := range []struct{ key, value, problem string }{
		{KeyAPIServerURL, "", "is empty"},
		{KeyAPIServerURL, "hub.example.com", "must be an https URL"},
		{KeyAPIServerURL, "http://hub.example.com", "must be an https URL"},
		{KeyAPIServerURL, "file:///etc/passwd", "must be an https URL"},
		{KeyAPIServerURL, "https://", "must be an https URL"},
		{KeyAPIServerURL, "https://:6443", "must be an https URL"},
		{KeyAPIServerURL, "https://user:hunter2@hub.example.com", "must be an https URL"},
		{KeyAPIServerURL, "https://hub.example.com?a=b", "must be an https URL"},
		{KeyAPIServerURL, "https://hub.example.com#a", "must be an https URL"},
		{KeyAPIServerURL, "https://hub.example.com:port", "cannot be read as a URL"},
		{KeyAPIServerURL, "https://hub\x00.example.com", "cannot be read as a URL"},
		{KeyAPIServerURL, "https://hub.example.com/\xff", "cannot be read as a URL"},
		{KeyAPIServerURL, "https://hüb.example.com", "cannot be read as a URL"},
		{KeyClusterNamespace, "", "is no namespace"},
		{KeyClusterNamespace, "../kube-system", "is no namespace"},
		{KeyClusterNamespace, "a.b", "is no namespace"},
		{KeySystemRegistrationNamespace, "", "is no namespace"},
		{KeySystemRegistrationNamespace, strings.Repeat("a", 5000), "is no namespace"},
		{KeyToken, "", "is empty"},
		{KeyToken, " \n", "is empty"},
		{KeyToken, "hunter2 token", "no token has"},
		{KeyToken, "hunter2\ntoken", "no token has"},
		{KeyToken, "hunter2\xff", "no token has"},
		{KeyToken, strings.Repeat("a", maxToken+1), "more than a token can have"},
		{KeyAPIServerCA, "\x30\x82\x01\x0a\x02", "as PEM, not as DER"},
		{KeyAPIServerCA, "-----BEGIN CERTIFICATE-----\n\xff", "as PEM, not as DER"},
		{KeyTokenName, "a/b", "is no name of a ClusterRegistrationToken"},
	} {
		data := testBootstrap().SecretData()
		data[test.key] = []byte(test.value)
		_, err := ParseBootstrap(data)
		require.ErrorContains(t, err, test.problem, "%s: %.40q", test.key, test.value)
		assert.ErrorContains(t, err, test.key)
		assert.NotContains(t, err.Error(), "hunter2", "an error tells no secret")
		assert.Less(t, len(err.Error()), 500, "an error is bounded")
	}
}

func TestBootstrapNamesEveryBadKeyAtOnce(t *testing.T) {
	_, err := ParseBootstrap(nil)
	for _, key := range []string{KeyAPIServerURL, KeyClusterNamespace, KeySystemRegistrationNamespace, KeyToken} {
		assert.ErrorContains(t, err, `"`+key+`"`)
	}
}

// A CA that no document can hold is an error, and never another CA.
func TestValuesHoldNoCAThatIsNoText(t *testing.T) {
	b := testBootstrap()
	for _, ca := range []string{"\x30\x82", "\x7f", "\u0085", "\xff", "a\x00"} {
		b.APIServerCA = []byte(ca)
		document, err := b.Values()
		require.ErrorContains(t, err, KeyAPIServerCA, "%q", ca)
		assert.Empty(t, document)
	}
}

func TestBootstrapIsTrimmed(t *testing.T) {
	data := testBootstrap().SecretData()
	for key, value := range data {
		if key != KeyAPIServerCA {
			data[key] = []byte(" " + string(value) + "\n")
		}
	}
	got, err := ParseBootstrap(data)
	require.NoError(t, err)
	assert.Equal(t, testBootstrap(), got)

	data[KeyAPIServerCA] = []byte(" \n")
	got, err = ParseBootstrap(data)
	require.NoError(t, err)
	assert.Nil(t, got.APIServerCA, "blank is no CA")
}

func TestUnreadableValues(t *testing.T) {
	for _, test := range []struct{ document, problem string }{
		{"", `"apiServerURL" is empty`},
		{"- a", "is not a YAML mapping"},
		{"token: *hunter2", "is not a YAML mapping"},
		{"hunter2", "is not a YAML mapping"},
		{"token: [hunter2]", `"token" is empty`},
		{"token: 5", `"token" is empty`},
		{"internal: {systemNamespace: a/b}", `"internal.systemNamespace"`},
		{"internal: text", `"token" is empty`},
		{strings.Repeat("#", maxValues+1), "more than the"},
	} {
		_, err := ParseValues([]byte(test.document))
		require.ErrorContains(t, err, test.problem, "%.40q", test.document)
		assert.NotContains(t, err.Error(), "hunter2", "an error tells no secret")
	}
}

// The key "values" counts alone where it is there: a half-written secret is not mixed from two sources.
func TestValuesGoBeforeSingleKeys(t *testing.T) {
	data := testBootstrap().SecretData()
	data[KeyValues] = []byte("clusterNamespace: other")
	_, err := ParseBootstrap(data)
	assert.ErrorContains(t, err, KeyToken)
}

func FuzzParseBootstrap(f *testing.F) {
	document, err := testBootstrap().Values()
	require.NoError(f, err)
	f.Add(document, "https://hub.example.com", "ns", "token")
	f.Add([]byte("internal: {systemNamespace: fleet-system}"), "", "", "")
	f.Add([]byte("a: &a [*a]"), "https://[::1", "..", "\xff")
	f.Add([]byte("token: !!binary aGk=\ntokenName: 1e3"), "https://user:secret@hub", strings.Repeat("a", 300), "ey.J0.\r\nInjected: 1")
	f.Add([]byte("{token: a, token: b, clusterNamespace: ~}"), "HTTPS://HUB.example.com:99999/?a#b", "a.b", " \t\n")
	f.Add([]byte("a: &x [1,1,1,1]\nb: &y [*x,*x,*x,*x]\nc: &z [*y,*y,*y,*y]\nd: [*z,*z,*z,*z]"), "https://h\u202e.example", "-", strings.Repeat("x", maxToken+1))
	for _, ca := range []string{"\ufeff-----BEGIN CERTIFICATE-----", "\ufffe", "a\u2028b\u2029", "\uffff", "\U0010ffff", "# Ünï\r\n\t-----BEGIN", "\x30\x82", "\xed\xa0\x80", "~", "!!binary aGk="} {
		f.Add([]byte(ca), "https://hub.example.com", "ns", "token")
	}
	f.Add([]byte(strings.Repeat("[", 5000)), "https://%zz", "xn--a", "\x00")
	f.Fuzz(func(t *testing.T, document []byte, url, namespace, token string) {
		b, err := ParseValues(document)
		if err == nil {
			checkBootstrap(t, b)
		} else {
			checkError(t, err, `key "`, b.Token)
		}
		b, err = ParseBootstrap(map[string][]byte{
			KeyAPIServerURL: []byte(url), KeyClusterNamespace: []byte(namespace), KeyToken: []byte(token),
			KeySystemRegistrationNamespace: []byte("cattle-fleet-clusters-system"), KeyTokenName: []byte(namespace), KeyAPIServerCA: document,
		})
		if err == nil {
			checkBootstrap(t, b)
		} else {
			checkError(t, err, `key "`, b.Token)
		}
	})
}

// checkError holds for every error about what somebody else wrote: it names the field in each line, is bounded and
// printable, and does not tell the secret.
func checkError(t *testing.T, err error, field, secret string) {
	t.Helper()
	require.Less(t, len(err.Error()), 4000)
	for line := range strings.SplitSeq(err.Error(), "\n") {
		require.Contains(t, line, field)
		require.Equal(t, strings.TrimSpace(line), Printable(line, len(line)), "it can be shown")
	}
	// A short one can be a part of any sentence.
	if len(secret) >= 20 {
		require.NotContains(t, err.Error(), secret)
	}
}

// checkBootstrap holds for whatever was accepted: it is valid, and says the same again.
func checkBootstrap(t *testing.T, b Bootstrap) {
	t.Helper()
	require.NoError(t, b.Validate())
	require.NoError(t, ValidateServerURL(b.APIServerURL))
	document, err := b.Values()
	require.NoError(t, err)
	again, err := ParseValues(document)
	require.NoError(t, err)
	if b.SystemNamespace == "cattle-fleet-system" {
		b.SystemNamespace = ""
	}
	require.Equal(t, b, again)
}
