package helmdeployer

import "sync"

// trusted are the releases that this agent deployed itself since its start, or that a status on the hub named: those of
// which more than a record on the cluster says that they are the agent's. Whoever may write Secrets in any namespace can
// write such a record.
type trusted struct {
	mu    sync.Mutex
	names map[[2]string]bool
}

func (t *trusted) add(namespace, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names == nil {
		t.names = map[[2]string]bool{}
	}
	t.names[[2]string{namespace, name}] = true
}

func (t *trusted) has(namespace, name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.names[[2]string{namespace, name}]
}

func (t *trusted) drop(namespace, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.names, [2]string{namespace, name})
}
