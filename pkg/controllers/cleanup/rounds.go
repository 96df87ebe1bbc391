package cleanup

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/labels"
)

// interval is between two looks at everything.
const interval = 10 * time.Minute

// rounds finds what no event tells of: an owner that was deleted while the hub was down, after the last event of what it
// left. It does not go through the work queues, where each key would also run every other handler of its kind.
func (h *handler) rounds(ctx context.Context) {
	ticker := h.Clock.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			h.round(ctx)
		}
	}
}

// round goes by permissions first: bindings, roles, then what they were for.
func (h *handler) round(ctx context.Context) {
	each(ctx, "ClusterRoleBindings", h.ClusterRoleBindings.Cache().List, h.clusterRoleBinding)
	eachIn(ctx, "RoleBindings", h.RoleBindings.Cache().List, h.roleBinding)
	eachIn(ctx, "Roles", h.Roles.Cache().List, h.role)
	each(ctx, "ClusterRoles", h.ClusterRoles.Cache().List, h.clusterRole)
	eachIn(ctx, "Secrets", h.Secrets.Cache().List, withoutVerdict(h.secret))
	eachIn(ctx, "ServiceAccounts", h.Accounts.Cache().List, h.account)
	each(ctx, "Namespaces", h.Namespaces.Cache().List, withoutVerdict(h.namespace))
}

// withoutVerdict leaves the timers to the handlers of events: the next round comes anyway.
func withoutVerdict[T any](judge func(T) (verdict, error)) func(T) error {
	return func(obj T) error {
		_, err := judge(obj)
		return err
	}
}

func eachIn[T any](ctx context.Context, what string, list func(string, labels.Selector) ([]T, error), judge func(T) error) {
	each(ctx, what, func(all labels.Selector) ([]T, error) { return list("", all) }, judge)
}

// each judges all that the cache has. What fails is tried again in the next round.
func each[T any](ctx context.Context, what string, list func(labels.Selector) ([]T, error), judge func(T) error) {
	objs, err := list(labels.Everything())
	if err != nil {
		logrus.Errorf("Cleanup: listing %s: %v", what, err)
		return
	}
	for _, obj := range objs {
		if ctx.Err() != nil {
			return
		}
		if err := judge(obj); err != nil {
			logrus.Warnf("Cleanup: %v", err)
		}
	}
}
