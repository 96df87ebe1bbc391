package cluster

import (
	"fmt"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

const (
	// restless is how old what is known must be before an unknown kind makes it be read again.
	restless = 2 * time.Second
	// current is how old it may be for a chart that renders differently by what is served.
	current = 5 * time.Second
)

// served is what the API server serves. It is read once and kept, until a kind is missing, a bundle defines one, or a chart
// asks for it.
type served struct {
	cache  discovery.CachedDiscoveryInterface
	mapper *restmapper.DeferredDiscoveryRESTMapper
	now    func() time.Time

	mu       sync.Mutex
	read     time.Time
	versions chartutil.VersionSet
}

func newServed(client discovery.DiscoveryInterface, now func() time.Time) *served {
	cache := memory.NewMemCacheClient(client)
	return &served{cache: cache, mapper: restmapper.NewDeferredDiscoveryRESTMapper(cache), now: now}
}

// mapping is how a kind is served.
func (s *served) mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	s.begin()
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) && s.refresh(restless) {
		mapping, err = s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return nil, fmt.Errorf("kind %s is not served by the cluster: %w", kind, err)
	}
	return mapping, nil
}

// knows says whether a kind is served, as far as is known.
func (s *served) knows(kind schema.GroupVersionKind) bool {
	s.begin()
	_, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	return err == nil
}

// begin remembers when the first reading was.
func (s *served) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read.IsZero() {
		s.read = s.now()
	}
}

// refresh forgets what is older than an age, and says whether it was.
func (s *served) refresh(age time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.read.IsZero() && s.now().Sub(s.read) < age {
		return false
	}
	s.mapper.Reset()
	s.read, s.versions = s.now(), nil
	return true
}

// capabilities are what a chart can ask for. Fresh ones are a few seconds old at most.
func (s *served) capabilities(fresh bool) (*chartutil.Capabilities, error) {
	s.begin()
	if fresh {
		s.refresh(current)
	}
	version, err := s.cache.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("reading the version of the cluster: %w", err)
	}
	versions, err := s.versionSet()
	if err != nil {
		return nil, err
	}
	return &chartutil.Capabilities{
		APIVersions: versions,
		KubeVersion: chartutil.KubeVersion{Version: version.GitVersion, Major: version.Major, Minor: version.Minor},
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}, nil
}

func (s *served) versionSet() (chartutil.VersionSet, error) {
	s.mu.Lock()
	known := s.versions
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	// An aggregated API that does not answer must not stop what does not need it.
	versions, err := action.GetVersionSet(s.cache)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("reading what the cluster serves: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions = versions
	return versions, nil
}

// absent says whether a kind is surely not served: the API server answers for its group, and does not list it. In doubt,
// as when an aggregated API does not answer, it is not.
func (s *served) absent(kind schema.GroupVersionKind) bool {
	groups, err := s.cache.ServerGroups()
	if err != nil {
		return false
	}
	version := kind.GroupVersion().String()
	for _, group := range groups.Groups {
		for _, known := range group.Versions {
			if known.GroupVersion == version {
				return s.kindAbsent(version, kind.Kind)
			}
		}
	}
	return true
}

func (s *served) kindAbsent(version, kind string) bool {
	resources, err := s.cache.ServerResourcesForGroupVersion(version)
	if apierrors.IsNotFound(err) {
		return true
	}
	if err != nil {
		return false
	}
	for _, resource := range resources.APIResources {
		if resource.Kind == kind {
			return false
		}
	}
	return true
}

func isNamespaced(mapping *meta.RESTMapping) bool {
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace
}
