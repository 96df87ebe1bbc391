package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/rancher/fleet/pkg/names"
)

// SecretType is that of the Secrets with the records.
const SecretType corev1.SecretType = "helm.sh/release.v1"

// Labels of the Secrets.
const (
	OwnerLabel   = "owner"
	Owner        = "helm"
	NameLabel    = "name"
	StatusLabel  = "status"
	VersionLabel = "version"
	// SealLabel is the agent's: by it an agent knows the records that it wrote.
	SealLabel     = names.Prefix + "seal"
	createdLabel  = "createdAt"
	modifiedLabel = "modifiedAt"
	dataKey       = "release"
)

// ErrTaken says that somebody else has changed a record since it was read: another agent, or a person with Helm.
var ErrTaken = errors.New("the release was changed by somebody else in the meantime")

// recordsPage is how many records are read at a time. A release has two or three.
const recordsPage = 10

// Records are those of one release during one operation. They are read once; what is written is written to them too. A
// record is changed only if nobody else has changed it since: so the state of a release is a lock between agents. They are
// a driver of Helm's storage.
type Records struct {
	ctx     context.Context
	secrets typedcore.SecretInterface
	name    string
	now     func() time.Time
	byKey   map[string]*record
	// size is that of all records, unpacked, when they were read.
	size int
	// BeforeCreate is called before a record is created: the last moment at which nothing has been changed.
	BeforeCreate func() error
	// Created is told of each record that was created.
	Created func(*release.Release)
	// Seal makes the seal of a record that is created; empty, or no function, is none.
	Seal func(*release.Release) string
	lost error
}

type record struct {
	release *release.Release
	labels  map[string]string
	version string
}

// Open reads the records of a release. The context is for this operation.
func Open(ctx context.Context, secrets typedcore.SecretInterface, name string, now func() time.Time) (*Records, error) {
	r := &Records{ctx: ctx, secrets: secrets, name: name, now: now, byKey: map[string]*record{}}
	selector := labels.Set{OwnerLabel: Owner, NameLabel: name}.AsSelector().String()
	options := metav1.ListOptions{LabelSelector: selector, Limit: recordsPage}
	for {
		list, err := secrets.List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("reading the history of release %s: %w", name, err)
		}
		for i := range list.Items {
			if err := r.add(&list.Items[i]); err != nil {
				return nil, err
			}
			list.Items[i].Data = nil
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return r, nil
		}
	}
}

func (r *Records) add(secret *corev1.Secret) error {
	decoded, size, err := decodeRelease(secret.Data[dataKey])
	if err != nil {
		return fmt.Errorf("secret %s cannot be read, and has to be removed by hand: %w", secret.Name, err)
	}
	if r.size += size; r.size > maxHistory {
		return fmt.Errorf("the records of release %s are larger than %d bytes together: remove those that are not Helm's, or lower helm.maxHistory", r.name, maxHistory)
	}
	decoded.Labels = foreign(secret.Labels)
	r.byKey[secret.Name] = &record{release: decoded, labels: secret.Labels, version: secret.ResourceVersion}
	return nil
}

// Lost is the error of a write that came too late, after which nothing of the operation may be believed.
func (r *Records) Lost() error { return r.lost }

// Stored is the state that a record has on the cluster; empty if there is none. What Helm could not write it does not say.
func (r *Records) Stored(key string) release.Status {
	known, ok := r.byKey[key]
	if !ok {
		return ""
	}
	return release.Status(known.labels[StatusLabel])
}

// Name is that of the driver, as Helm knows it.
func (r *Records) Name() string { return driver.SecretsDriverName }

// Get returns a record.
func (r *Records) Get(key string) (*release.Release, error) {
	found, ok := r.byKey[key]
	if !ok {
		return nil, driver.ErrReleaseNotFound
	}
	return found.release, nil
}

// Newest is the record of the last revision, nil if there is none.
func (r *Records) Newest() *release.Release {
	var newest *release.Release
	for _, record := range r.byKey {
		if newest == nil || record.release.Version > newest.Version {
			newest = record.release
		}
	}
	return newest
}

// List returns those that the filter takes.
func (r *Records) List(filter func(*release.Release) bool) ([]*release.Release, error) {
	var found []*release.Release
	for _, record := range r.byKey {
		if filter(record.release) {
			found = append(found, record.release)
		}
	}
	return found, nil
}

// Query returns those that have all of the labels.
func (r *Records) Query(wanted map[string]string) ([]*release.Release, error) {
	selector := labels.SelectorFromSet(wanted)
	var found []*release.Release
	for _, record := range r.byKey {
		if selector.Matches(labels.Set(record.labels)) {
			found = append(found, record.release)
		}
	}
	if len(found) == 0 {
		return nil, driver.ErrReleaseNotFound
	}
	return found, nil
}

// Create writes a new record.
func (r *Records) Create(key string, rel *release.Release) error {
	if r.lost != nil {
		return r.lost
	}
	r.seal(rel)
	secret, err := r.secret(key, rel, createdLabel)
	if err != nil {
		return err
	}
	if r.BeforeCreate != nil {
		if err := r.BeforeCreate(); err != nil {
			return err
		}
	}
	created, err := r.secrets.Create(r.ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return r.lose(fmt.Errorf("creating %s: %w", key, ErrTaken))
	}
	if err != nil {
		return fmt.Errorf("creating %s: %w", key, err)
	}
	r.byKey[key] = &record{release: rel, labels: secret.Labels, version: created.ResourceVersion}
	if r.Created != nil {
		r.Created(rel)
	}
	return nil
}

// seal gives a new record its own seal. Helm has labels of the revision before passed on, and shares them.
func (r *Records) seal(rel *release.Release) {
	marks := map[string]string{}
	maps.Copy(marks, rel.Labels)
	delete(marks, SealLabel)
	if r.Seal != nil {
		if seal := r.Seal(rel); seal != "" {
			marks[SealLabel] = seal
		}
	}
	rel.Labels = marks
}

// Update changes a record that was read or created before.
func (r *Records) Update(key string, rel *release.Release) error {
	if r.lost != nil {
		return r.lost
	}
	known, ok := r.byKey[key]
	if !ok {
		return driver.ErrReleaseNotFound
	}
	secret, err := r.secret(key, rel, modifiedLabel)
	if err != nil {
		return err
	}
	secret.ResourceVersion = known.version
	updated, err := r.secrets.Update(r.ctx, secret, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return r.lose(fmt.Errorf("changing %s: %w", key, ErrTaken))
	}
	if err != nil {
		return fmt.Errorf("changing %s: %w", key, err)
	}
	r.byKey[key] = &record{release: rel, labels: secret.Labels, version: updated.ResourceVersion}
	return nil
}

// Delete removes a record. One that is gone is no error.
func (r *Records) Delete(key string) (*release.Release, error) {
	known, ok := r.byKey[key]
	if !ok {
		return nil, driver.ErrReleaseNotFound
	}
	if err := r.secrets.Delete(r.ctx, key, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("removing %s: %w", key, err)
	}
	delete(r.byKey, key)
	return known.release, nil
}

func (r *Records) lose(err error) error {
	r.lost = err
	return err
}

func (r *Records) secret(key string, rel *release.Release, stamp string) (*corev1.Secret, error) {
	data, err := encode(rel)
	if err != nil {
		return nil, err
	}
	marks := map[string]string{}
	maps.Copy(marks, rel.Labels)
	marks[stamp] = strconv.FormatInt(r.now().Unix(), 10)
	marks[NameLabel], marks[OwnerLabel] = rel.Name, Owner
	marks[StatusLabel], marks[VersionLabel] = rel.Info.Status.String(), strconv.Itoa(rel.Version)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: key, Labels: marks},
		Type:       SecretType,
		Data:       map[string][]byte{dataKey: data},
	}, nil
}

// foreign are the labels that neither Helm nor we put there.
func foreign(all map[string]string) map[string]string {
	kept := maps.Clone(all)
	for _, own := range driver.GetSystemLabels() {
		delete(kept, own)
	}
	return kept
}
