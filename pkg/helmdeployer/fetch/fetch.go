package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/registry"
	"helm.sh/helm/v3/pkg/repo"
	"sigs.k8s.io/yaml"
)

// Access is how the repository of a chart is reached.
type Access struct {
	Username, Password string
	// CABundle holds certificates, in PEM, by which the repository is trusted besides the system's.
	CABundle []byte
	// InsecureSkipTLSVerify accepts any certificate, PlainHTTP speaks to an OCI registry without TLS.
	InsecureSkipTLSVerify, PlainHTTP bool
}

// Source is which chart is wanted.
type Source struct {
	// Repo is the repository; empty if Chart is an address itself.
	Repo, Chart string
	// Version is a version or a range of versions; empty means the newest.
	Version string
}

// Chart gets a chart.
func Chart(ctx context.Context, source Source, access Access) (*chart.Chart, error) {
	f, err := newFetcher(ctx, source, access)
	if err != nil {
		return nil, err
	}
	defer f.close()
	archive, err := f.archive(f.ctx, source)
	if err == nil {
		err = f.fits(archive)
	}
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", source, err)
	}
	loaded, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", source, err)
	}
	return loaded, nil
}

// String names a chart without what may be secret in its address.
func (s Source) String() string {
	name := redacted(s.Chart)
	if s.Repo != "" {
		name += " of " + redacted(s.Repo)
	}
	if s.Version != "" {
		name += fmt.Sprintf(" in version %.40q", s.Version)
	}
	return name
}

func redacted(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return "(an address that cannot be read)"
	}
	parsed.RawQuery = ""
	return fmt.Sprintf("%.200q", parsed.Redacted())
}

func (f *fetcher) archive(ctx context.Context, source Source) ([]byte, error) {
	switch {
	case registry.IsOCI(source.Repo):
		// The repository is the chart's whole path, unless the chart is named besides.
		address := source.Repo
		if source.Chart != "" {
			address = strings.TrimSuffix(address, "/") + "/" + source.Chart
		}
		return f.fromRegistry(ctx, address, source.Version)
	case source.Repo != "":
		return f.fromRepository(ctx, source)
	case registry.IsOCI(source.Chart):
		return f.fromRegistry(ctx, source.Chart, source.Version)
	}
	return f.get(ctx, source.Chart, true, maxChart)
}

// fromRepository looks the chart up in the index of a repository.
func (f *fetcher) fromRepository(ctx context.Context, source Source) ([]byte, error) {
	base, err := url.Parse(source.Repo)
	if err != nil {
		return nil, errors.New("the address of the repository cannot be read")
	}
	at := *base
	at.Path = path.Join("/", base.Path, "index.yaml")
	data, err := f.get(ctx, at.String(), true, maxIndex)
	if err != nil {
		return nil, fmt.Errorf("the index of the repository: %w", err)
	}
	found, err := lookUp(ctx, data, source)
	if err != nil {
		return nil, err
	}
	if len(found.URLs) == 0 {
		return nil, fmt.Errorf("the index of the repository names no address for version %.40q", found.Version)
	}
	address, err := repo.ResolveReferenceURL(source.Repo, found.URLs[0])
	if err != nil {
		return nil, errors.New("the index of the repository has an address for the chart that cannot be read")
	}
	if registry.IsOCI(address) {
		return f.fromRegistry(ctx, address, found.Version)
	}
	target, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the index of the repository has an address for the chart that cannot be read")
	}
	if base.Scheme == "https" && target.Scheme == "http" {
		return nil, errors.New("the index of the repository names an address without TLS for the chart, though it came with TLS itself")
	}
	return f.get(ctx, address, f.origin.isFrom(target), maxChart)
}

// lookUp finds a chart in the index of a repository.
func lookUp(ctx context.Context, data []byte, source Source) (*repo.ChartVersion, error) {
	if err := parsing.Acquire(ctx, int64(len(data))); err != nil {
		return nil, err
	}
	defer parsing.Release(int64(len(data)))
	index := &repo.IndexFile{}
	if err := yaml.Unmarshal(data, index); err != nil {
		// What the server sent is not repeated: it may be another's secret.
		return nil, errors.New("the index of the repository cannot be read: is this the address of a Helm repository?")
	}
	for _, versions := range index.Entries {
		for _, version := range versions {
			if version == nil || version.Metadata == nil {
				return nil, errors.New("the index of the repository has an entry without metadata")
			}
		}
	}
	index.SortEntries()
	found, err := index.Get(source.Chart, source.Version)
	if err != nil {
		return nil, fmt.Errorf("the index of the repository: %w", err)
	}
	return found, nil
}

// get reads a file, with the credentials if they are for its host.
func (f *fetcher) get(ctx context.Context, address string, credentials bool, limit int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("the address cannot be read")
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return nil, fmt.Errorf("addresses with scheme %.20q are not fetched", req.URL.Scheme)
	}
	if credentials && f.access.Username != "" {
		req.SetBasicAuth(f.access.Username, f.access.Password)
	}
	resp, err := f.http.Do(req)
	if err != nil {
		return nil, plain(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, plain(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("it is larger than %d bytes", limit)
	}
	return data, nil
}

// plain leaves the address out of an error: it may have a password, or a signature.
func plain(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
