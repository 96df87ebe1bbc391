package agentbundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Digest stands for a spec. It is the same for what was sent to the API server and for what that made of it.
func Digest(spec fleet.BundleSpec) string {
	if spec.TargetCustomizationMode == "" {
		spec.TargetCustomizationMode = fleet.TargetCustomizationModeFirstMatch // the default of the definition
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return "" // API structs always encode; the empty digest is nobody's
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Verdict is what is known of a spec.
type Verdict int

const (
	// Unknown says that the hub wrote nothing since it started, or wrote this one, and another after it. What was made of it
	// stays, and nothing new is made of it.
	Unknown Verdict = iota
	// Written says that the hub wrote it.
	Written
	// Foreign says that somebody else did.
	Foreign
)

// Ledger is what the hub wrote, the last for each Cluster. One that is nil knows nothing.
type Ledger struct {
	mu      sync.Mutex
	entries map[types.NamespacedName]entry
	wake    func(cluster types.NamespacedName)
}

type entry struct {
	cluster types.UID
	// now is the digest of what was written last, before are those of what was found, and of what was written before that: a
	// write may fail, and a cache be behind.
	now    string
	before []string
	// asked is the digest of what somebody would have made something of and may not.
	asked string
}

// maxBefore bounds how many earlier specs are known.
const maxBefore = 8

// NewLedger has nothing in it.
func NewLedger() *Ledger { return &Ledger{entries: map[types.NamespacedName]entry{}} }

// OnWritten is called for a Cluster once that was written for which Ask said that it was not. Set it before anything is written.
func (l *Ledger) OnWritten(wake func(cluster types.NamespacedName)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake = wake
}

// Write notes what is written for a Cluster. It is called before that is sent: an event may tell of it at once.
func (l *Ledger) Write(cluster metav1.Object, digest string) {
	if l == nil {
		return
	}
	key := keyOf(cluster)
	l.mu.Lock()
	e := l.of(cluster)
	wakes := l.wake != nil && e.asked == digest
	if wakes {
		e.asked = ""
	}
	if e.now != digest {
		older := slices.DeleteFunc(append([]string{e.now}, e.before...), func(d string) bool { return d == "" || d == digest })
		e.now, e.before = digest, older[:min(len(older), maxBefore)]
	}
	l.entries[key] = e
	wake := l.wake
	l.mu.Unlock()
	if wakes {
		wake(key)
	}
}

// Found notes what there is before the hub writes a Cluster's bundle for the first time since it started: that is nobody's
// doing now.
func (l *Ledger) Found(cluster metav1.Object, digest string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.of(cluster); e.now == "" {
		e.before = []string{digest}
		l.entries[keyOf(cluster)] = e
	}
}

// Judge says what is known of a spec of a Cluster's agent bundle.
func (l *Ledger) Judge(cluster metav1.Object, digest string) Verdict {
	if l == nil {
		return Unknown
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of(cluster).judge(digest)
}

// Ask is Judge for who is to be woken once the answer is Written.
func (l *Ledger) Ask(cluster metav1.Object, digest string) Verdict {
	if l == nil {
		return Unknown
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.of(cluster)
	verdict := e.judge(digest)
	if verdict != Written {
		e.asked = digest
		l.entries[keyOf(cluster)] = e
	}
	return verdict
}

// Forget is for a Cluster that is gone.
func (l *Ledger) Forget(namespace, name string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.entries, types.NamespacedName{Namespace: namespace, Name: name})
}

// of is the entry of this very Cluster, and none of an earlier one of its name.
func (l *Ledger) of(cluster metav1.Object) entry {
	if e, ok := l.entries[keyOf(cluster)]; ok && e.cluster == cluster.GetUID() {
		return e
	}
	return entry{cluster: cluster.GetUID()}
}

func (e entry) judge(digest string) Verdict {
	switch {
	case digest == "" || e.now == "" || digest != e.now && slices.Contains(e.before, digest):
		return Unknown
	case digest == e.now:
		return Written
	}
	return Foreign
}

func keyOf(cluster metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: cluster.GetNamespace(), Name: cluster.GetName()}
}
