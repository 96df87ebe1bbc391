package drift

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
)

// A bundle that goes on changing is told at long pauses, but what may be drift does not wait for them.
func TestOnlyStatusesWaitForLong(t *testing.T) {
	kind := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	key := Key{Group: "apps", Kind: "Deployment", Namespace: "default", Name: "a"}
	object := func(version string, change func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
		obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", ResourceVersion: version,
			Generation: 1, Labels: map[string]string{HashLabel: ourHash, "a": "1", "b": "2"}, Annotations: map[string]string{"a": "1"}}}
		if change != nil {
			change(obj)
		}
		return obj
	}
	for name, test := range map[string]struct {
		change func(*metav1.PartialObjectMetadata)
		pause  time.Duration
	}{
		"a status":                          {nil, maxStatus},
		"a spec":                            {func(o *metav1.PartialObjectMetadata) { o.Generation = 2 }, maxSpec},
		"a label":                           {func(o *metav1.PartialObjectMetadata) { delete(o.Labels, "a") }, maxSpec},
		"two labels":                        {func(o *metav1.PartialObjectMetadata) { o.Labels["a"], o.Labels["b"] = "2", "1" }, maxSpec},
		"an annotation":                     {func(o *metav1.PartialObjectMetadata) { o.Annotations["a"] = "2" }, maxSpec},
		"a label is annotation":             {func(o *metav1.PartialObjectMetadata) { delete(o.Labels, "b"); o.Annotations["b"] = "2" }, maxSpec},
		"another's label":                   {func(o *metav1.PartialObjectMetadata) { o.Labels[HashLabel] = "other" }, maxSpec},
		"a kind that counts no generations": {func(o *metav1.PartialObjectMetadata) { o.Generation = 0 }, maxSpec},
	} {
		t.Run(name, func(t *testing.T) {
			clk := clocktesting.NewFakeClock(time.Now())
			w := &Watches{news: newNews(clk), bundles: map[string]*bundle{"b": {name: "b", hash: ourHash,
				keys: map[Key]finding{key: {known: true, version: "1"}}, kinds: map[schema.GroupKind]bool{kind: true}}}}
			watch := &kindWatch{all: w, kind: kind, objects: map[place]seen{}}
			w.kinds = map[schema.GroupKind]*kindWatch{kind: watch}
			require.NoError(t, watch.Replace([]any{object("1", nil)}, "1"))
			require.Empty(t, w.news.bundles, "what was read is not told")
			w.news.bundles["b"] = &notice{last: clk.Now(), steps: 20}

			require.NoError(t, watch.Update(object("2", test.change)))
			assert.Equal(t, test.pause, w.news.bundles["b"].due.Sub(clk.Now()))
			assert.False(t, w.bundles["b"].keys[key].known)
		})
	}
}

func TestStoreRefusesWhatIsNoMetadata(t *testing.T) {
	watch := &kindWatch{}
	for _, take := range []func(any) error{watch.Add, watch.Update, watch.Delete} {
		require.ErrorContains(t, take(&metav1.Status{}), "*v1.Status")
	}
}
