package cleanup

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/controllers/controllertest"
	"github.com/rancher/fleet/pkg/names"
)

const workspace = "fleet-default"

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	hub   = names.NamespacesOf(names.DefaultSystemNamespace)
)

// world is a hub in memory with this controller.
type world struct {
	*handler
	clock               *clocktesting.FakeClock
	clusters            *controllertest.Controller[*fleet.Cluster, *fleet.ClusterList]
	registrations       *controllertest.Controller[*fleet.ClusterRegistration, *fleet.ClusterRegistrationList]
	tokens              *controllertest.Controller[*fleet.ClusterRegistrationToken, *fleet.ClusterRegistrationTokenList]
	namespaces          *controllertest.ClusterController[*corev1.Namespace, *corev1.NamespaceList]
	accounts            *controllertest.Controller[*corev1.ServiceAccount, *corev1.ServiceAccountList]
	secrets             *controllertest.Controller[*corev1.Secret, *corev1.SecretList]
	roles               *controllertest.Controller[*rbacv1.Role, *rbacv1.RoleList]
	roleBindings        *controllertest.Controller[*rbacv1.RoleBinding, *rbacv1.RoleBindingList]
	clusterRoles        *controllertest.ClusterController[*rbacv1.ClusterRole, *rbacv1.ClusterRoleList]
	clusterRoleBindings *controllertest.ClusterController[*rbacv1.ClusterRoleBinding, *rbacv1.ClusterRoleBindingList]
}

func newWorld(t *testing.T) *world {
	t.Helper()
	group := fleet.SchemeGroupVersion.Group
	w := &world{
		clock:               clocktesting.NewFakeClock(start.Add(time.Hour)),
		clusters:            controllertest.New[*fleet.Cluster, *fleet.ClusterList](group, "clusters"),
		registrations:       controllertest.New[*fleet.ClusterRegistration, *fleet.ClusterRegistrationList](group, "clusterregistrations"),
		tokens:              controllertest.New[*fleet.ClusterRegistrationToken, *fleet.ClusterRegistrationTokenList](group, "clusterregistrationtokens"),
		namespaces:          controllertest.NewCluster[*corev1.Namespace, *corev1.NamespaceList]("", "namespaces"),
		accounts:            controllertest.New[*corev1.ServiceAccount, *corev1.ServiceAccountList]("", "serviceaccounts"),
		secrets:             controllertest.New[*corev1.Secret, *corev1.SecretList]("", "secrets"),
		roles:               controllertest.New[*rbacv1.Role, *rbacv1.RoleList](rbacv1.GroupName, "roles"),
		roleBindings:        controllertest.New[*rbacv1.RoleBinding, *rbacv1.RoleBindingList](rbacv1.GroupName, "rolebindings"),
		clusterRoles:        controllertest.NewCluster[*rbacv1.ClusterRole, *rbacv1.ClusterRoleList](rbacv1.GroupName, "clusterroles"),
		clusterRoleBindings: controllertest.NewCluster[*rbacv1.ClusterRoleBinding, *rbacv1.ClusterRoleBindingList](rbacv1.GroupName, "clusterrolebindings"),
	}
	w.handler = &handler{Deps{
		Clusters: w.clusters, Registrations: w.registrations, Tokens: w.tokens, Namespaces: w.namespaces, Accounts: w.accounts,
		Secrets: w.secrets, Roles: w.roles, RoleBindings: w.roleBindings, ClusterRoles: w.clusterRoles,
		ClusterRoleBindings: w.clusterRoleBindings, Clock: w.clock, Names: hub,
	}}
	w.roleBindings.Cache().AddIndexer(bindingsBySubject, subjects)
	return w
}

func (w *world) writes() []string {
	var all []string
	for _, calls := range [][]string{
		w.clusterRoleBindings.Writes(), w.roleBindings.Writes(), w.roles.Writes(), w.clusterRoles.Writes(),
		w.secrets.Writes(), w.accounts.Writes(), w.namespaces.Writes(),
		w.clusters.Writes(), w.registrations.Writes(), w.tokens.Writes(),
	} {
		all = append(all, calls...)
	}
	return all
}

func owner(kind, name, uid string) string {
	return names.OwnerRef{Kind: kind, Namespace: workspace, Name: name, UID: uid}.String()
}

// meta is that of an object that the hub made at start.
func meta(namespace, name, owner string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{
		Name: name, Namespace: namespace,
		Labels:            map[string]string{names.ManagedLabel: "true"},
		CreationTimestamp: metav1.NewTime(start),
	}
	if owner != "" {
		m.Annotations = map[string]string{names.OwnerAnnotation: owner}
	}
	return m
}

func cluster(name, uid string) *fleet.Cluster {
	return &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: workspace, UID: types.UID(uid)}}
}

func registrationOf(name, uid string) *fleet.ClusterRegistration {
	return &fleet.ClusterRegistration{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: workspace, UID: types.UID(uid)}}
}

// clusterNamespace is the namespace of a Cluster; without a UID it is as earlier versions made it.
func clusterNamespace(name, uid string) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: meta("", names.ClusterNamespace(workspace, name), "")}
	ns.Annotations = map[string]string{names.ClusterNamespaceAnnotation: workspace, names.ClusterAnnotation: name}
	if uid != "" {
		ns.Annotations[names.OwnerAnnotation] = owner(kindCluster, name, uid)
	}
	return ns
}
