package helmdeployer

import (
	"bytes"
	"compress/gzip"
	"container/list"
	"encoding/json"
	"io"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// maxLoaded is how many bytes of packed releases are kept.
const maxLoaded = 4 << 20

// loaded keeps the objects of releases that were read, packed, those that were asked for last. A revision of a release
// never changes, so nothing makes an entry wrong but a release of the same name that begins anew: what was read last holds.
type loaded struct {
	mu    sync.Mutex
	limit int
	size  int
	order *list.List
	byID  map[string]*list.Element
}

type entry struct {
	id     string
	packed []byte
}

func newLoaded(limit int) *loaded {
	return &loaded{limit: limit, order: list.New(), byID: map[string]*list.Element{}}
}

func (l *loaded) get(id string) ([]*unstructured.Unstructured, bool) {
	l.mu.Lock()
	element := l.byID[id]
	if element == nil {
		l.mu.Unlock()
		return nil, false
	}
	l.order.MoveToFront(element)
	packed := element.Value.(*entry).packed
	l.mu.Unlock()
	objects, err := unpackObjects(packed)
	return objects, err == nil
}

func (l *loaded) put(id string, objects []*unstructured.Unstructured) {
	packed, err := packObjects(objects)
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.byID[id]; known != nil {
		l.remove(known)
	}
	if err != nil || len(packed) > l.limit {
		return
	}
	l.byID[id] = l.order.PushFront(&entry{id: id, packed: packed})
	l.size += len(packed)
	for l.size > l.limit {
		l.remove(l.order.Back())
	}
}

// remove takes an entry out. The lock is held.
func (l *loaded) remove(element *list.Element) {
	dropped := l.order.Remove(element).(*entry)
	delete(l.byID, dropped.id)
	l.size -= len(dropped.packed)
}

// drop forgets a release whose record was removed: its number can come again.
func (l *loaded) drop(match func(id string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, element := range l.byID {
		if match(id) {
			l.remove(element)
		}
	}
}

func packObjects(objects []*unstructured.Unstructured) ([]byte, error) {
	plain := make([]map[string]any, len(objects))
	for i, object := range objects {
		plain[i] = object.Object
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if err := json.NewEncoder(writer).Encode(plain); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return bytes.Clone(packed.Bytes()), nil
}

func unpackObjects(packed []byte) ([]*unstructured.Unstructured, error) {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	var plain []any
	if err := utiljson.Unmarshal(data, &plain); err != nil {
		return nil, err
	}
	objects := make([]*unstructured.Unstructured, 0, len(plain))
	for _, fields := range plain {
		if object, ok := fields.(map[string]any); ok {
			objects = append(objects, &unstructured.Unstructured{Object: object})
		}
	}
	return objects, nil
}
