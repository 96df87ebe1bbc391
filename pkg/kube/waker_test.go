package kube

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestBeforeAControllerRunsAKeyIsPassedOnOnce(t *testing.T) {
	var woken []string
	w := NewWaker(func(namespace, name string, _ time.Duration) { woken = append(woken, namespace+"/"+name) })
	for range 3 {
		w.Wake("ns", "a", 0)
		w.Wake("ns", "b", time.Second)
	}
	assert.Equal(t, []string{"ns/a", "ns/b"}, woken)

	w.Started()
	w.Wake("ns", "a", 0)
	w.Wake("ns", "a", 0)
	assert.Len(t, woken, 4)
}
