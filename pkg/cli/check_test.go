package cli

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/preflight"
)

// cautiousFile is a kubeconfig for a server that knows nobody, with the CA of that server, or none.
func cautiousFile(t *testing.T, trusted bool) string {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}`))
	}))
	t.Cleanup(server.Close)
	var ca []byte
	if trusted {
		ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	}
	document, err := kube.BuildKubeconfig(server.URL, ca, "s3cret-of-nobody", "")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, document, 0o600))
	return file
}

func TestAFailedCheckIsShownWithItsRemedyAndEndsWithOne(t *testing.T) {
	code, out, errOut := typed("cluster", "check", cautiousFile(t, true))

	assert.Equal(t, 1, code)
	assert.Regexp(t, `^kubeconfig for https://127\.0\.0\.1:\d+\n\nCHECK +RESULT +FOUND\ninput +ok `, out)
	assert.Regexp(t, `\nauthentication +failed +the server refuses the token \(401\).*\n( +[^=].*\n)? +=> Put a credential`, out)
	assert.Regexp(t, `\npermissions +skipped +not looked at, because check authentication failed\n`, out)
	assert.Regexp(t, `^fleet: \d of \d+ checks failed\n$`, errOut)
	assert.NotContains(t, out+errOut, "s3cret")
}

func TestProgramsReadTheChecksAsJSONAndYAML(t *testing.T) {
	file := cautiousFile(t, false)
	for form, read := range map[string]func([]byte, any) error{
		"json": json.Unmarshal,
		"yaml": func(text []byte, into any) error { return yaml.Unmarshal(text, into) },
	} {
		code, out, _ := typed("cluster", "check", file, "-o", form)
		assert.Equal(t, 1, code)
		var report preflight.Report
		require.NoError(t, read([]byte(out), &report), out)
		assert.Equal(t, preflight.KindKubeconfig, report.Input)
		assert.Equal(t, 1, report.Failures())
		assert.Equal(t, preflight.CheckTLS, failed(report))
	}
}

func failed(report preflight.Report) string {
	for _, c := range report.Checks {
		if c.Result == preflight.Failed {
			return c.Name
		}
	}
	return ""
}

func TestAReportWithoutFailuresIsASuccess(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, printReport(&out, preflight.Report{Checks: []preflight.Check{
		{Name: "tls", Result: preflight.Warning, Found: "it ends\x1b[2J", Remedy: "Renew it."},
	}}))
	assert.Equal(t, "CHECK   RESULT    FOUND\ntls     warning   it ends?[2J\n                  => Renew it.\n", out.String())
}

// What was found may be long: nobody reads a line that a terminal breaks anywhere.
func TestALongFindingIsBrokenIntoLines(t *testing.T) {
	var out bytes.Buffer
	sum := strings.Repeat("0123456789abcdef", 4)
	found := "the certificate is not trusted: nothing in the given CA issued it; served: subject \"CN=lb\", issuer \"CN=corporate CA\", SHA-256 " +
		sum + ", for edge-1.example.com, until 2027-01-31 00:00 UTC"
	require.NoError(t, printReport(&out, preflight.Report{Checks: []preflight.Check{
		{Name: preflight.CheckClusterAuthentication, Result: preflight.Skipped, Found: "not looked at"},
		{Name: preflight.CheckTLS, Result: preflight.Failed, Found: found, Remedy: strings.Repeat("Put it in. ", 20)},
	}}))
	for line := range strings.Lines(out.String()) {
		assert.LessOrEqual(t, len(line), 121, line)
	}
	assert.Contains(t, out.String(), sum+",", "what is compared is in one piece")
	assert.Equal(t, strings.Fields(strings.ReplaceAll(found, ";", "")), strings.Fields(strings.Split(out.String(), "failed")[1])[:len(strings.Fields(found))])
	assert.Equal(t, []string{""}, wrap("", 10))
}

func TestOneCheckAloneIsNotCounted(t *testing.T) {
	assert.Equal(t, "the check failed", failedText(1, 1))
	assert.Equal(t, "1 of 14 checks failed", failedText(1, 14))
}

func TestWhatIsTypedWrongForACheck(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for name, test := range map[string]struct {
		words []string
		code  int
		says  string
	}{
		"no file":                   {nil, usageError, "needs a file"},
		"two files":                 {[]string{"a", "b"}, usageError, "one too many"},
		"an unknown form":           {[]string{"-o", "xml", "a"}, usageError, "--output"},
		"an unknown mode":           {[]string{"--tls-mode", "lenient", "a"}, usageError, "strict or system-store"},
		"a file that is none":       {[]string{missing}, 1, "no such file"},
		"a folder":                  {[]string{filepath.Dir(missing)}, 1, "is a directory"},
		"another side that is none": {[]string{"--kubeconfig", missing, cautiousFile(t, true)}, 1, "missing"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := typed(append([]string{"cluster", "check"}, test.words...)...)
			assert.Equal(t, test.code, code)
			assert.Empty(t, out)
			assert.Contains(t, errOut, test.says)
		})
	}
}

func TestADocumentIsReadFromStandardInputAndNotWithoutEnd(t *testing.T) {
	document, err := readDocument("-", strings.NewReader("token: x"))
	require.NoError(t, err)
	assert.Equal(t, "token: x", string(document))

	document, err = readDocument("-", endless{})
	require.NoError(t, err)
	assert.Len(t, document, preflight.MaxInput+1, "one byte more than is allowed tells that it is too large")

	_, err = readDocument("-", iotest.ErrReader(os.ErrClosed))
	assert.ErrorIs(t, err, os.ErrClosed)
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }
