package kube

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func TestAChangeIsToldWithWhatWasBefore(t *testing.T) {
	var told []string
	version := func(s *corev1.Secret) string {
		if s == nil {
			return "-"
		}
		return s.ResourceVersion
	}
	c := changes[*corev1.Secret]{func(before, now *corev1.Secret) { told = append(told, version(before)+">"+version(now)) }}
	c.OnAdd(secretFor("a", "1"), true)
	c.OnUpdate(secretFor("a", "1"), secretFor("a", "2"))
	c.OnUpdate(secretFor("a", "2"), secretFor("a", "2")) // a resync
	c.OnDelete(secretFor("a", "3"))
	c.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/s", Obj: secretFor("a", "4")})
	c.OnAdd(&corev1.ConfigMap{}, false) // which is no Secret
	assert.Equal(t, []string{"->1", "1>2", "3>-", "4>-"}, told)
}
