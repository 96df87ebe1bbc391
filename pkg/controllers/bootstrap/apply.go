package bootstrap

import (
	"fmt"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/fleet/pkg/names"
)

// apply writes the Secret before the Cluster that names it, so that the import finds it.
func (h *handler) apply(d decision) error {
	if d.namespace != nil {
		if _, err := h.Namespaces.Create(d.namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating namespace %s: %w", d.namespace.Name, err)
		}
	}
	if d.secret != nil {
		if err := h.write(d.secret); err != nil {
			return err
		}
	}
	h.say(d.waiting)
	return h.set.Apply(h.ctx, nil, d.objects...)
}

func (h *handler) write(secret *corev1.Secret) error {
	verb, call := "updating", h.Secrets.Update
	if secret.ResourceVersion == "" {
		verb, call = "creating", h.Secrets.Create
	}
	if _, err := call(secret); err != nil {
		return fmt.Errorf("%s Secret %s/%s: %w", verb, secret.Namespace, secret.Name, err)
	}
	return nil
}

// say tells once what is missing. The Secret's own event ends the wait.
func (h *handler) say(waiting string) {
	if waiting == h.said {
		return
	}
	h.said = waiting
	if waiting == "" {
		logrus.Info("Bootstrap of the local cluster: nothing is missing any more")
		return
	}
	logrus.Warnf("Bootstrap of the local cluster waits: %s", waiting)
	about := &corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: h.Names.System, Name: names.BootstrapTokenSecret}
	h.Events.Event(about, corev1.EventTypeWarning, "WaitingForBootstrapToken", waiting)
}
