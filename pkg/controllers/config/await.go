package config

import (
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/rancher/fleet/pkg/names"
)

// lookAgain bounds how long a change of the ConfigMap may go unnoticed where its watch ends or fails.
const lookAgain = 30 * time.Second

// await returns once a configuration was taken.
func (h *handler) await() error {
	place := h.Names.System + "/" + names.ControllerConfigMap
	for told := false; ; told = true {
		cm, err := h.ConfigMaps.Get(h.Names.System, names.ControllerConfigMap, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			cm, err = nil, nil
		}
		if err != nil {
			return fmt.Errorf("reading ConfigMap %s: %w", place, err)
		}
		if h.load(cm) {
			return nil
		}
		if !told {
			logrus.WithField("configmap", place).Warnf("This hub does nothing before it has a configuration: "+
				"it waits for key %q of the ConfigMap, which the chart fleet makes", names.ConfigKey)
		}
		if err := h.awaitChange(cm); err != nil {
			return err
		}
	}
}

// awaitChange returns when the ConfigMap has changed, or may have.
func (h *handler) awaitChange(cm *corev1.ConfigMap) error {
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, names.ControllerConfigMap).String()}
	if cm != nil {
		options.ResourceVersion = cm.ResourceVersion
	}
	timer := time.NewTimer(lookAgain)
	defer timer.Stop()
	var events <-chan watch.Event // nil where there is no watch: the next look says what is wrong
	if changes, err := h.ConfigMaps.Watch(h.Names.System, options); err == nil {
		defer changes.Stop()
		events = changes.ResultChan()
	}
	for {
		select {
		case <-h.ctx.Done():
			return h.ctx.Err()
		case <-timer.C:
			return nil
		case event, open := <-events:
			if open && event.Type != watch.Error {
				return nil
			}
			events = nil
		}
	}
}
