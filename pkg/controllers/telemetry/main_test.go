package telemetry

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const (
	workspace = "fleet-default"
	// soon is several times what any wait in these tests takes.
	soon = 30 * time.Second
	tick = 5 * time.Millisecond
)

// began is when the hub of a test starts.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) {
	logrus.SetOutput(io.Discard)
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit))
}

func condition(kind string, status corev1.ConditionStatus, reason string) genericcondition.GenericCondition {
	return genericcondition.GenericCondition{Type: kind, Status: status, Reason: reason, Message: "because of " + reason}
}

func isTrue(kind, reason string) genericcondition.GenericCondition {
	return condition(kind, corev1.ConditionTrue, reason)
}

func isFalse(kind, reason string) genericcondition.GenericCondition {
	return condition(kind, corev1.ConditionFalse, reason)
}

func cluster(name string, list ...genericcondition.GenericCondition) *fleet.Cluster {
	return &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: name, UID: types.UID("uid-of-" + name)},
		Status:     fleet.ClusterStatus{Conditions: list},
	}
}

func request(name string, list ...genericcondition.GenericCondition) *fleet.ClusterRegistration {
	r := &fleet.ClusterRegistration{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: name, UID: types.UID("uid-of-" + name)},
		Status:     fleet.ClusterRegistrationStatus{Conditions: list, ClusterName: "edge"},
	}
	granted := grantOf(r)
	r.Status.Granted = granted != nil && granted.Status == corev1.ConditionTrue
	return r
}

func token(name string, list ...genericcondition.GenericCondition) *fleet.ClusterRegistrationToken {
	return &fleet.ClusterRegistrationToken{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: name, UID: types.UID("uid-of-" + name)},
		Status:     fleet.ClusterRegistrationTokenStatus{Conditions: list},
	}
}

func approval(decision, by, reason string, at time.Time) *fleet.RegistrationApproval {
	return &fleet.RegistrationApproval{Decision: decision, By: by, Reason: reason, Time: &metav1.Time{Time: at}}
}

// lines are announcements in words: the Events as "type reason kind/name", the counts as "counter label".
func lines(all []announcement) (out []string) {
	for _, a := range all {
		if a.event.reason != "" {
			out = append(out, a.event.eventType+" "+a.event.reason+" "+a.event.about.kind+"/"+a.event.about.name)
		}
		if a.count.of != "" {
			out = append(out, string(a.count.of)+" "+a.count.label)
		}
	}
	return out
}
