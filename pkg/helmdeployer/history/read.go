package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
)

// ID names a revision of a release.
type ID struct {
	Namespace, Name string
	Revision        int
}

func (id ID) String() string { return fmt.Sprintf("%s/%s:%d", id.Namespace, id.Name, id.Revision) }

// Key is the name of the Secret with the record.
func (id ID) Key() string { return Key(id.Name, id.Revision) }

// Key is the name of the Secret with the record of a revision.
func Key(name string, revision int) string {
	return fmt.Sprintf("%s.%s.v%d", storage.HelmStorageType, name, revision)
}

// ParseID reads what String writes. It may come out of a status that others can write.
func ParseID(s string) (ID, error) {
	bad := fmt.Errorf("%.120q is no release ID: it reads <namespace>/<name>:<revision>", s)
	namespace, rest, ok := strings.Cut(s, "/")
	if !ok {
		return ID{}, bad
	}
	name, number, ok := strings.Cut(rest, ":")
	revision, err := strconv.Atoi(number)
	if !ok || err != nil || revision <= 0 || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return ID{}, bad
	}
	return ID{Namespace: namespace, Name: name, Revision: revision}, nil
}

// ErrNotFound says that a revision is not recorded.
var ErrNotFound = errors.New("the release is not recorded on the cluster")

// ErrUnreadable says that a record is not one that Helm could have written, or too large.
var ErrUnreadable = errors.New("its record cannot be read")

// Read reads one revision.
func Read(ctx context.Context, client typedcore.SecretsGetter, id ID) (*release.Release, error) {
	secret, err := client.Secrets(id.Namespace).Get(ctx, id.Key(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("release %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("release %s: %w", id, err)
	}
	if secret.Type != SecretType {
		return nil, fmt.Errorf("release %s: secret %s is of another type than Helm's", id, secret.Name)
	}
	found, _, err := decodeRelease(secret.Data[dataKey])
	if err != nil {
		return nil, fmt.Errorf("release %s: %w: %w", id, ErrUnreadable, err)
	}
	found.Labels = foreign(secret.Labels)
	return found, nil
}

// Exists says whether a revision is recorded, without reading it.
func Exists(ctx context.Context, client metadata.Interface, id ID) (bool, error) {
	_, err := client.Resource(secrets).Namespace(id.Namespace).Get(ctx, id.Key(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("release %s: %w", id, err)
	}
	return true, nil
}

// Entry is a release, as the labels of its newest record have it.
type Entry struct {
	ID
	// UID is that of the record.
	UID string
}

// page is how many records are listed at a time.
const page = 500

// Newest lists all releases of the cluster by their newest record. The records themselves are not read.
func Newest(ctx context.Context, client metadata.Interface) ([]Entry, error) {
	newest := map[[2]string]Entry{}
	options := metav1.ListOptions{LabelSelector: labels.Set{OwnerLabel: Owner}.AsSelector().String(), Limit: page}
	for {
		list, err := client.Resource(secrets).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("listing the releases of the cluster: %w", err)
		}
		for i := range list.Items {
			found := &list.Items[i]
			name := found.Labels[NameLabel]
			revision, err := strconv.Atoi(found.Labels[VersionLabel])
			// What is no record of a release only has its labels.
			if err != nil || found.Name != Key(name, revision) {
				continue
			}
			key := [2]string{found.Namespace, name}
			if revision > newest[key].Revision {
				newest[key] = Entry{ID: ID{Namespace: found.Namespace, Name: name, Revision: revision}, UID: string(found.UID)}
			}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return slices.Collect(maps.Values(newest)), nil
		}
	}
}

// ChartAnnotations are those of the chart of a release. A record that is gone or cannot be read has none.
func ChartAnnotations(ctx context.Context, client typedcore.SecretsGetter, id ID) (map[string]string, error) {
	excerpt, err := ReadExcerpt(ctx, client, id)
	return excerpt.Annotations, err
}

// Excerpt is what of a record tells whose release it is.
type Excerpt struct {
	// Annotations are those of its chart, Manifest is its objects, without its hooks.
	Annotations map[string]string
	Manifest    string
}

// ReadExcerpt reads a record as far as that goes. Of one that is gone or cannot be read it is empty.
func ReadExcerpt(ctx context.Context, client typedcore.SecretsGetter, id ID) (Excerpt, error) {
	secret, err := client.Secrets(id.Namespace).Get(ctx, id.Key(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Excerpt{}, nil
	}
	if err != nil {
		return Excerpt{}, fmt.Errorf("release %s: %w", id, err)
	}
	var record struct {
		Manifest string `json:"manifest"`
		Chart    struct {
			Metadata struct {
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
		} `json:"chart"`
	}
	if secret.Type != SecretType || Decode(secret.Data[dataKey], &record) != nil {
		return Excerpt{}, nil
	}
	return Excerpt{Annotations: record.Chart.Metadata.Annotations, Manifest: record.Manifest}, nil
}

// Forget removes all records of a release.
func Forget(ctx context.Context, client metadata.Interface, namespace, name string) error {
	selector := labels.Set{OwnerLabel: Owner, NameLabel: name}.AsSelector().String()
	list, err := client.Resource(secrets).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return fmt.Errorf("the records of release %s/%s: %w", namespace, name, err)
	}
	var errs []error
	for i := range list.Items {
		found := &list.Items[i]
		if !strings.HasPrefix(found.Name, storage.HelmStorageType+".") {
			continue
		}
		err := client.Resource(secrets).Namespace(namespace).Delete(ctx, found.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &found.UID}})
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("the records of release %s/%s: %w", namespace, name, err))
		}
	}
	return errors.Join(errs...)
}

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
