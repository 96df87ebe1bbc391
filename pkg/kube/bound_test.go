package kube

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/kube/kubetest"
)

// strange is a client of a server that answers as it likes.
func strange(t *testing.T, answer http.HandlerFunc) *Downstream {
	t.Helper()
	ca, err := newAuthority("private")
	require.NoError(t, err)
	data, err := BuildKubeconfig(ca.serveTLS(t, answer).URL, ca.pem, "token", "")
	require.NoError(t, err)
	cfg, err := DownstreamConfig(data, TLSStrict, deadlineFor)
	require.NoError(t, err)
	d, err := NewDownstream(cfg)
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return d
}

// floods writes spaces, with which a JSON object may begin, until the reader goes away.
func floods(status int) http.HandlerFunc {
	spaces := bytes.Repeat([]byte(" "), 1<<16)
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		for sent := 0; sent < 8*MaxAnswer; sent += len(spaces) {
			if _, err := w.Write(spaces); err != nil {
				return
			}
		}
	}
}

func TestAnEndlessAnswerOfAForeignClusterIsRefused(t *testing.T) {
	for name, ask := range map[string]func(d *Downstream) error{
		"a typed client": func(d *Downstream) error {
			_, err := d.Clients.CoreV1().Namespaces().Get(testContext(t), "kube-system", metav1.GetOptions{})
			return err
		},
		"a dynamic client": func(d *Downstream) error {
			_, err := d.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace("ns").List(testContext(t), metav1.ListOptions{})
			return err
		},
		"discovery": func(d *Downstream) error {
			_, err := d.discovery.ServerResourcesForGroupVersion("v1")
			return err
		},
		"an apply set": func(d *Downstream) error {
			return d.ApplySet(testContext(t), agentSet, agentKinds, configMap("agent", "config", "1"))
		},
	} {
		for _, status := range []int{http.StatusOK, http.StatusForbidden} {
			t.Run(fmt.Sprint(name, " ", status), func(t *testing.T) {
				d := strange(t, floods(status))

				err := ask(d)

				assert.ErrorContains(t, err, fmt.Sprintf("larger than %d bytes", MaxAnswer))
				assert.NotContains(t, err.Error(), "token")
			})
		}
	}
}

func TestAForeignClusterIsNotAskedToCompress(t *testing.T) {
	var asked string
	d := strange(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("Accept-Encoding")
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		_, _ = packed.Write([]byte(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system"}}`))
		_ = packed.Close()
	})

	_, err := d.Clients.CoreV1().Namespaces().Get(testContext(t), "kube-system", metav1.GetOptions{})

	assert.Error(t, err, "what comes packed all the same is not unpacked")
	assert.NotContains(t, asked, "gzip")
}

func TestAnAnswerOfTheLargestSizeIsReadWhole(t *testing.T) {
	const max = 100
	for name, reader := range map[string]func(io.Reader) io.Reader{
		"at once":      func(r io.Reader) io.Reader { return r },
		"by the byte":  iotest.OneByteReader,
		"EOF with it":  iotest.DataErrReader,
		"half of each": iotest.HalfReader,
	} {
		t.Run(name, func(t *testing.T) {
			for size, whole := range map[int]bool{0: true, 1: true, max - 1: true, max: true, max + 1: false, 3 * max: false} {
				refusal := &tooLarge{max: max}
				body := &boundedBody{ReadCloser: io.NopCloser(reader(strings.NewReader(strings.Repeat("x", size)))), left: max, refusal: refusal}

				read, err := io.ReadAll(body)

				if whole {
					assert.NoError(t, err, size)
					assert.Len(t, read, size)
					continue
				}
				assert.ErrorIs(t, err, refusal, size)
				assert.Len(t, read, max, size)
				_, err = body.Read(make([]byte, 1))
				assert.ErrorIs(t, err, refusal, "it stays refused")
			}
		})
	}
}

func TestAWatchMayBringMoreThanAnAnswer(t *testing.T) {
	server := kubetest.New(t)
	cfg := server.Config()
	withBoundedAnswers(cfg, 2000)
	d, err := NewDownstream(cfg)
	require.NoError(t, err)
	defer d.Close()
	watch, err := d.Clients.CoreV1().ConfigMaps("ns").Watch(testContext(t), metav1.ListOptions{})
	require.NoError(t, err)
	defer watch.Stop()

	for i := range 10 {
		object := configMap("ns", fmt.Sprint("c-", i), strings.Repeat("x", 1000))
		object.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
		server.Put(object)
	}
	for i := range 10 {
		event := receive(t, watch.ResultChan(), "an event")
		assert.Equal(t, fmt.Sprint("c-", i), event.Object.(*corev1.ConfigMap).Name)
	}
	_, err = d.Clients.CoreV1().ConfigMaps("ns").List(testContext(t), metav1.ListOptions{})
	assert.ErrorContains(t, err, "larger than 2000 bytes", "the bound was in force")
}

// The agent does what its hub says, however much that is.
func TestAnAgentReadsAllThatItsHubSays(t *testing.T) {
	ca, err := newAuthority("private")
	require.NoError(t, err)
	server := ca.serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte(" "), MaxAnswer+1))
		answerVersion(w, r)
	})
	data, err := BuildKubeconfig(server.URL, ca.pem, "token", "")
	require.NoError(t, err)
	cfg, err := UpstreamConfig(data, TLSStrict, time.Minute)
	require.NoError(t, err)

	assert.NoError(t, call(t, cfg))
}
