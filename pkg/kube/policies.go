package kube

import (
	"context"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// WatchPolicy has changed called when the ValidatingAdmissionPolicy of that name, or the binding of the same name, is made,
// changed or deleted after this call, until ctx ends. It returns once it is known what there is, and false where that takes
// longer than wait lasts: what may not be watched is not heard of.
func WatchPolicy(ctx, wait context.Context, clients kubernetes.Interface, name string, changed func()) bool {
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithTransform(slimmed),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}))
	kinds := factory.Admissionregistration().V1()
	var heard []cache.InformerSynced
	for _, informer := range []cache.SharedIndexInformer{
		kinds.ValidatingAdmissionPolicies().Informer(), kinds.ValidatingAdmissionPolicyBindings().Informer(),
	} {
		registration, err := informer.AddEventHandler(anyChange{changed})
		if err != nil {
			logrus.Errorf("Changes of admission policy %s cannot be heard of: %v", name, err)
			continue
		}
		heard = append(heard, registration.HasSynced)
	}
	factory.Start(ctx.Done())
	return cache.WaitForCacheSync(wait.Done(), heard...)
}

// anyChange hears that something has changed. The first list is no change.
type anyChange struct{ changed func() }

// OnAdd leaves out what was there before.
func (a anyChange) OnAdd(_ any, first bool) {
	if !first {
		a.changed()
	}
}

// OnUpdate leaves out what did not change.
func (a anyChange) OnUpdate(before, now any) {
	if !sameVersion(before, now) {
		a.changed()
	}
}

// OnDelete hears of an end.
func (a anyChange) OnDelete(any) { a.changed() }
