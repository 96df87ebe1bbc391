package lab

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rancher/fleet/e2e/certs"
)

// The files of a control plane, below its folder.
const (
	fileKubeconfig        = "kubeconfig"
	fileInternal          = "controller-manager.kubeconfig"
	fileTokens            = "certs/tokens.csv"
	fileServingCA         = "certs/ca"
	fileServing           = "certs/serving"
	fileClientCA          = "certs/client-ca"
	fileKubeletClient     = "certs/kubelet-client"
	fileServiceAccountKey = "certs/service-account"
	fileAuditLog          = "audit.jsonl"
	fileAuditPolicy       = "audit-policy.yaml"
	folderCerts           = "certs"
	folderLogs            = "logs"
	folderOldLogs         = "logs.previous"
	folderEtcd            = "etcd"
)

const (
	adminUser     = "lab-admin"
	managerUser   = "system:kube-controller-manager"
	certLife      = 365 * 24 * time.Hour
	auditPolicy   = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n- level: Metadata\n"
	pairCert      = ".crt"
	pairKey       = ".key"
	pairPublicKey = ".pub"
)

func (c *ControlPlane) path(name string) string { return filepath.Join(c.Dir, name) }

// writeSecrets makes what is missing (keys and certificates of a folder that was used before are kept) and points the
// kubeconfigs at the result.
func (c *ControlPlane) writeSecrets() error {
	for _, folder := range []string{folderCerts, folderLogs} {
		if err := os.MkdirAll(c.path(folder), 0o700); err != nil {
			return fmt.Errorf("folder of %s: %w", c.Name, err)
		}
	}
	// Two authorities: a new one for serving leaves client certificates valid.
	clients, err := c.ensureAuthority(fileClientCA, "client-ca")
	if err != nil {
		return err
	}
	serving, err := c.ensureAuthority(fileServingCA, "ca")
	if err != nil {
		return err
	}
	err = c.ensurePair(fileServing, pairCert, func() (certs.Pair, error) {
		return serving.Server("kube-apiserver", certLife, c.servingNames()...)
	})
	if err != nil {
		return err
	}
	err = c.ensurePair(fileKubeletClient, pairCert, func() (certs.Pair, error) {
		return clients.Client("kube-apiserver-kubelet-client", certLife, "system:masters")
	})
	if err != nil {
		return err
	}
	if err := c.ensurePair(fileServiceAccountKey, pairPublicKey, certs.SigningKey); err != nil {
		return err
	}
	if err := c.ensureTokens(); err != nil {
		return err
	}
	c.ca = serving.Cert
	if c.state.Audit {
		if err := writeFile(c.path(fileAuditPolicy), []byte(auditPolicy)); err != nil {
			return err
		}
	}
	return c.writeKubeconfigs()
}

// servingNames are what the API server, and the components on the loopback address, are called.
func (c *ControlPlane) servingNames() []string {
	names := []string{"127.0.0.1", "localhost", "kubernetes.default.svc"}
	if c.state.Nodes > 0 {
		names = append(names, c.slot.serviceAddress())
	}
	return names
}

func (c *ControlPlane) ensureAuthority(file, role string) (*certs.Authority, error) {
	err := c.ensurePair(file, pairCert, func() (certs.Pair, error) {
		authority, err := certs.NewAuthority("lab-" + c.Name + "-" + role)
		if err != nil {
			return certs.Pair{}, err
		}
		return authority.Pair, nil
	})
	if err != nil {
		return nil, err
	}
	pair, err := c.readPair(file)
	if err != nil {
		return nil, err
	}
	return certs.ParseAuthority(pair)
}

func (c *ControlPlane) ensurePair(file, suffix string, make func() (certs.Pair, error)) error {
	for _, name := range []string{file + suffix, file + pairKey} {
		found, err := exists(c.path(name))
		if err != nil {
			return err
		}
		if found {
			continue
		}
		pair, err := make()
		if err != nil {
			return err
		}
		if err := writeFile(c.path(file+suffix), pair.Cert); err != nil {
			return err
		}
		return writeFile(c.path(file+pairKey), pair.Key)
	}
	return nil
}

func (c *ControlPlane) readPair(file string) (certs.Pair, error) {
	cert, err := os.ReadFile(c.path(file + pairCert))
	if err != nil {
		return certs.Pair{}, fmt.Errorf("certificate of %s: %w", c.Name, err)
	}
	key, err := os.ReadFile(c.path(file + pairKey))
	if err != nil {
		return certs.Pair{}, fmt.Errorf("key of %s: %w", c.Name, err)
	}
	return certs.Pair{Cert: cert, Key: key}, nil
}

// ensureTokens writes the API server's token file: one token for people and tests, one for the controller manager.
// Bearer tokens, since they pass a proxy that terminates TLS and client certificates do not.
func (c *ControlPlane) ensureTokens() error {
	found, err := exists(c.path(fileTokens))
	if found || err != nil {
		return err
	}
	var lines strings.Builder
	for _, user := range []string{adminUser, managerUser} {
		token := make([]byte, 32)
		if _, err := rand.Read(token); err != nil {
			return fmt.Errorf("token of %s: %w", user, err)
		}
		fmt.Fprintf(&lines, "%s,%s,%s,system:masters\n", hex.EncodeToString(token), user, user)
	}
	return writeFile(c.path(fileTokens), []byte(lines.String()))
}

func (c *ControlPlane) token(user string) (string, error) {
	content, err := os.ReadFile(c.path(fileTokens))
	if err != nil {
		return "", fmt.Errorf("tokens of %s: %w", c.Name, err)
	}
	for line := range strings.Lines(string(content)) {
		fields := strings.Split(line, ",")
		if len(fields) > 1 && fields[1] == user {
			return fields[0], nil
		}
	}
	return "", fmt.Errorf("%s has no token of %s", c.path(fileTokens), user)
}

// writeKubeconfigs points people and the controller manager at the current address and authority.
func (c *ControlPlane) writeKubeconfigs() error {
	for user, file := range map[string]string{adminUser: fileKubeconfig, managerUser: fileInternal} {
		token, err := c.token(user)
		if err != nil {
			return err
		}
		err = Kubeconfig{Name: c.Name, Server: c.URL, CA: c.ca, Token: token}.Write(c.path(file))
		if err != nil {
			return err
		}
	}
	return nil
}
