package register

import (
	"bytes"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rancher/fleet/pkg/names"
)

// localTimeout ends a call to the agent's own cluster that gets no answer.
const localTimeout = 15 * time.Second

// store is the agent's namespace on its own cluster.
type store struct {
	client    kubernetes.Interface
	namespace string
}

// snapshot is what lies there; nil where there is nothing.
type snapshot struct {
	bootstrap, credential *corev1.Secret
	config                *corev1.ConfigMap
}

// look reads live: what follows from it is written, and a cache may be a moment behind.
func (s *store) look(ctx context.Context) (snapshot, error) {
	var snap snapshot
	var err error
	if snap.bootstrap, err = s.secret(ctx, names.AgentBootstrapSecret); err != nil {
		return snapshot{}, err
	}
	if snap.credential, err = s.secret(ctx, names.AgentCredentialStore); err != nil {
		return snapshot{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, localTimeout)
	defer cancel()
	snap.config, err = s.client.CoreV1().ConfigMaps(s.namespace).Get(ctx, names.AgentConfigMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		snap.config = nil
	} else if err != nil {
		return snapshot{}, fmt.Errorf("ConfigMap %s/%s: %w", s.namespace, names.AgentConfigMap, err)
	}
	return snap, nil
}

// secret is nil where there is none.
func (s *store) secret(ctx context.Context, name string) (*corev1.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, localTimeout)
	defer cancel()
	secret, err := s.client.CoreV1().Secrets(s.namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("Secret %s/%s: %w", s.namespace, name, err)
	}
	return secret, nil
}

// clusterUID is the UID of the cluster's kube-system namespace.
func (s *store) clusterUID(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, localTimeout)
	defer cancel()
	ns, err := s.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("Namespace %s, whose UID names this cluster: %w", metav1.NamespaceSystem, err)
	}
	return string(ns.UID), nil
}

// saveCredential replaces what the Secret holds in one write, so that at every moment there is one whole credential.
func (s *store) saveCredential(ctx context.Context, data map[string][]byte) error {
	return s.write(ctx, names.AgentCredentialStore, func(secret *corev1.Secret) bool {
		if equalData(secret.Data, data) {
			return false
		}
		secret.Data = data
		return true
	})
}

// dropBootstrap deletes the bootstrap secret as it was seen. One that has changed since is a new order and stays.
func (s *store) dropBootstrap(ctx context.Context, seen *corev1.Secret) error {
	ctx, cancel := context.WithTimeout(ctx, localTimeout)
	defer cancel()
	err := s.client.CoreV1().Secrets(s.namespace).Delete(ctx, seen.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &seen.UID, ResourceVersion: &seen.ResourceVersion},
	})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("deleting Secret %s/%s, which has done its work: %w", s.namespace, seen.Name, err)
}

// writeTries is how often a write is tried that another writer interferes with.
const writeTries = 5

// write makes the named Secret, or changes it, and writes nothing where change reports that nothing changed.
func (s *store) write(ctx context.Context, name string, change func(*corev1.Secret) bool) error {
	var err error
	for range writeTries {
		if err = s.writeOnce(ctx, name, change); !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("writing Secret %s/%s: %w", s.namespace, name, err)
	}
	return nil
}

func (s *store) writeOnce(ctx context.Context, name string, change func(*corev1.Secret) bool) error {
	secret, err := s.secret(ctx, name)
	if err != nil {
		return err
	}
	missing := secret == nil
	if missing {
		secret = &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
			Type:       corev1.SecretTypeOpaque,
		}
	}
	if !change(secret) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, localTimeout)
	defer cancel()
	if missing {
		_, err = s.client.CoreV1().Secrets(s.namespace).Create(ctx, secret, metav1.CreateOptions{})
	} else {
		_, err = s.client.CoreV1().Secrets(s.namespace).Update(ctx, secret, metav1.UpdateOptions{})
	}
	return err
}

func equalData(a, b map[string][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for key, value := range a {
		if other, ok := b[key]; !ok || !bytes.Equal(value, other) {
			return false
		}
	}
	return true
}
