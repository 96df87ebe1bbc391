package config

import (
	"context"
	"fmt"
	"reflect"

	core "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"

	hubconfig "github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
)

const handlerName = "fleet-config"

// Deps is what this controller works with.
type Deps struct {
	ConfigMaps core.ConfigMapController
	Source     *hubconfig.Source
	Names      names.Namespaces
}

// handler runs for one key only, and so never twice at once.
type handler struct {
	Deps
	ctx context.Context
	// logged is the state of the ConfigMap of which everything has been said in the log.
	logged string
	// told is the configuration that all subscribers have taken; due says that some have not.
	told hubconfig.Config
	due  bool
}

// Register reads the configuration, so that it is in force when Register returns, and watches it from then on. Every
// subscriber is called once after the start, and then at each change. Where there is none that can be read, Register waits
// for one: a hub that took its own defaults for what somebody wants would give every agent another image.
func Register(ctx context.Context, deps Deps) error {
	h := &handler{Deps: deps, ctx: ctx, due: true}
	if err := h.await(); err != nil {
		return err
	}
	deps.ConfigMaps.OnChange(ctx, handlerName, h.onChange)
	// The cache may show the ConfigMap without an event that is new to it.
	deps.ConfigMaps.EnqueueAfter(deps.Names.System, names.ControllerConfigMap, 0)
	return nil
}

func (h *handler) onChange(key string, cm *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	if key != h.Names.System+"/"+names.ControllerConfigMap {
		return cm, nil
	}
	h.load(cm)
	return cm, h.notify()
}

// load takes the document into the source, and says in the log what was not taken: once, not at each retry. It returns
// whether the document was taken.
func (h *handler) load(cm *corev1.ConfigMap) bool {
	loaded, err := h.Source.Load(cm)
	taken := err == nil && loaded.Ignored == ""
	state := stateOf(cm)
	if state == h.logged {
		return taken
	}
	h.logged = state
	log := logrus.WithField("configmap", h.Names.System+"/"+names.ControllerConfigMap)
	for _, warning := range loaded.Warnings {
		log.Warnf("Configuration: %s", warning)
	}
	switch {
	case err != nil:
		log.Errorf("Configuration is not taken, what was in force stays: %v", err)
	case loaded.Ignored != "":
		log.Infof("Configuration is not taken: %s", loaded.Ignored)
	default:
		log.Info("Configuration loaded")
	}
	return taken
}

// notify tells the subscribers where they have not all taken the configuration in force. A failure of one brings the key
// back, and then all are called again: what they do has to be idempotent.
func (h *handler) notify() error {
	current := h.Source.Get()
	if !h.due && reflect.DeepEqual(current, h.told) {
		return nil
	}
	h.due = true
	if err := h.Source.Notify(h.ctx); err != nil {
		return fmt.Errorf("acting on the configuration: %w", err)
	}
	h.told, h.due = current, false
	return nil
}

// stateOf tells one version of a ConfigMap from another; a missing one has a state too.
func stateOf(cm *corev1.ConfigMap) string {
	if cm == nil {
		return "missing"
	}
	return string(cm.UID) + "/" + cm.ResourceVersion
}
