package config

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/names"
)

// Subscriber acts on a changed configuration.
type Subscriber func(ctx context.Context, c Config) error

// Source holds the configuration in force and tells subscribers, in the order in which they subscribed, when it changes.
type Source struct {
	version string

	mu          sync.RWMutex
	current     Config
	loaded      bool
	subscribers []subscription
}

type subscription struct {
	name string
	call Subscriber
}

// NewSource starts with the defaults of the given version of the hub.
func NewSource(version string) *Source {
	return &Source{version: version, current: Default(version)}
}

// Get is the configuration in force. What its pointers, maps and slices refer to is shared: read it only.
func (s *Source) Get() Config {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current
}

// Subscribe adds a subscriber; its name stands in errors. Call it before the first Load.
func (s *Source) Subscribe(name string, call Subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = append(s.subscribers, subscription{name: name, call: call})
}

// Loaded is what became of a ConfigMap.
type Loaded struct {
	// Ignored says why the document was not taken, or is empty.
	Ignored string
	// Warnings name values that were left out.
	Warnings []string
}

// Load takes the document of a ConfigMap. Once a configuration is loaded, a document of another version of the hub is
// ignored: while an upgrade rolls, the old hub must not act on the new one's configuration. A missing ConfigMap, an empty
// document and one that cannot be read keep what is in force.
func (s *Source) Load(cm *corev1.ConfigMap) (Loaded, error) {
	if cm == nil {
		return Loaded{Ignored: "the ConfigMap is missing, the configuration in force is kept"}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := cm.Annotations[names.VersionAnnotation]; s.loaded && got != s.version {
		return Loaded{Ignored: fmt.Sprintf("annotation %s is %.40q, this hub is %q", names.VersionAnnotation, got, s.version)}, nil
	}
	document := cm.Data[names.ConfigKey]
	if strings.TrimSpace(document) == "" {
		return Loaded{Ignored: fmt.Sprintf("key %q is empty, the configuration in force is kept", names.ConfigKey)}, nil
	}
	parsed, warnings, err := Parse(document, Default(s.version))
	if err != nil {
		return Loaded{Warnings: warnings}, fmt.Errorf("ConfigMap %s/%s, key %q: %w", cm.Namespace, cm.Name, names.ConfigKey, err)
	}
	s.current, s.loaded = parsed, true
	return Loaded{Warnings: warnings}, nil
}

// Notify calls every subscriber with the configuration in force; one that fails stops no other.
func (s *Source) Notify(ctx context.Context) error {
	s.mu.RLock()
	current, subscribers := s.current, s.subscribers
	s.mu.RUnlock()
	var errs []error
	for _, sub := range subscribers {
		if err := sub.call(ctx, current); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", sub.name, err))
		}
	}
	return errors.Join(errs...)
}
