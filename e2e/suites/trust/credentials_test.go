package trust_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
)

// T10: what proves who a process is lies in files that are replaced while it runs: a token, as in every pod, or a client
// certificate. The next connection uses the new ones; nothing is restarted. The hub is tried as a standby, whose calls are
// those of the election. (Nothing of ours serves TLS, so there is no serving certificate to replace.)
func TestCredentialsInFilesAreTakenUpWithoutARestart(t *testing.T) {
	b := ofTheBed(t)
	t.Parallel()
	var taken []func()
	for role, plane := range map[string]*stage.Cluster{"agent": b.edge, "controller": b.Hub} {
		taken = append(taken, b.certificateIsReplaced(t, plane, role), b.tokenIsReplaced(t, plane, role))
	}
	for _, await := range taken {
		await()
	}
}

// tokenIsReplaced starts a process with a token in a file and replaces that; the result waits for requests with the new one.
func (b *bed) tokenIsReplaced(t *testing.T, plane *stage.Cluster, role string) func() {
	t.Helper()
	namespace := b.namespaceFor(t, plane, role)
	one, two := b.account(t, plane, namespace, "one"), b.account(t, plane, namespace, "two")
	file := filepath.Join(t.TempDir(), "token")
	replace(t, file, one.token)
	process := b.runWith(t, plane, role, namespace, plane.URL, clientcmdapi.AuthInfo{TokenFile: file})
	b.comesAs(t, plane, one.user, func() {})
	replace(t, file, two.token)
	return func() {
		b.comesAs(t, plane, two.user, func() {}) // client-go reads the file again each minute
		require.True(t, process.Running())
	}
}

// certificateIsReplaced is the same with a client certificate.
func (b *bed) certificateIsReplaced(t *testing.T, plane *stage.Cluster, role string) func() {
	t.Helper()
	namespace := b.namespaceFor(t, plane, role)
	way := shim.RunTCP(t, plane.URL)
	folder := t.TempDir()
	info := clientcmdapi.AuthInfo{ClientCertificate: filepath.Join(folder, "tls.crt"), ClientKey: filepath.Join(folder, "tls.key")}
	certify := func(user string) string {
		kubeconfig, err := plane.ClientCertKubeconfig(user, time.Hour, "system:masters")
		require.NoError(t, err)
		replace(t, info.ClientCertificate, string(kubeconfig.ClientCert))
		replace(t, info.ClientKey, string(kubeconfig.ClientKey))
		return user
	}
	one := certify(role + "-one")
	process := b.runWith(t, plane, role, namespace, way.URL(), info)
	b.comesAs(t, plane, one, func() {})
	two := certify(role + "-two")
	return func() {
		b.comesAs(t, plane, two, way.Cut) // a connection that was opened before the files were read again stays what it is
		require.True(t, process.Running())
	}
}

// namespaceFor is where a process of a role works: the hub's own for a standby, a new one for an agent.
func (b *bed) namespaceFor(t *testing.T, plane *stage.Cluster, role string) string {
	t.Helper()
	if role == "controller" {
		return stage.SystemNamespace
	}
	namespace := newPlace().agents
	_, err := plane.Kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return namespace
}

// account is a service account and a token of it.
type account struct{ user, token string }

func (b *bed) account(t *testing.T, plane *stage.Cluster, namespace, name string) account {
	t.Helper()
	name = "t10-" + name
	_, err := plane.Kube.CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = plane.Kube.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	kubeconfig, err := plane.ServiceAccountKubeconfig(t.Context(), namespace, name, time.Hour)
	require.NoError(t, err)
	return account{user: "system:serviceaccount:" + namespace + ":" + name, token: kubeconfig.Token}
}

// replace writes a file as a kubelet would: in one step.
func replace(t *testing.T, file, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file+".new", []byte(content), 0o600))
	require.NoError(t, os.Rename(file+".new", file))
}

// runWith runs a process whose kubeconfig names files.
func (b *bed) runWith(t *testing.T, plane *stage.Cluster, role, namespace, server string, user clientcmdapi.AuthInfo) *proc.Process {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: plane.CA()}
	config.AuthInfos["u"] = &user
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	folder := t.TempDir()
	file := filepath.Join(folder, "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, file))
	return proc.Run(t, proc.Spec{
		Name: t.Name(), Path: b.Binary(), Args: []string{role, "--kubeconfig", file, "--namespace", namespace},
		Env: append([]string{"POD_NAME=" + filepath.Base(folder)}, election...), Log: filepath.Join(folder, "log"),
	})
}

// comesAs waits for requests of a user, with something to be done before each look.
func (b *bed) comesAs(t *testing.T, plane *stage.Cluster, user string, before func()) {
	t.Helper()
	require.NoError(t, stage.AwaitEvery(until(t), time.Second, "requests by "+user, func(context.Context) (bool, string, error) {
		before()
		n := b.requestsBy(t, plane, user)
		return n > 0, fmt.Sprint(n), nil
	}))
}

func (b *bed) requestsBy(t *testing.T, plane *stage.Cluster, user string) int {
	t.Helper()
	counts, err := plane.Requests()
	require.NoError(t, err)
	return counts.Where(count.ByUser(user)).Total()
}
