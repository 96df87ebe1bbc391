package rancher

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Role is one that Rancher gives to a person in a workspace.
type Role string

// The roles that there are.
const (
	Admin    Role = "fleetworkspace-admin"
	Member   Role = "fleetworkspace-member"
	ReadOnly Role = "fleetworkspace-readonly"
)

// Person gives somebody a role in a workspace, and is his client.
func (c *Client) Person(ctx context.Context, workspace string, role Role) (dynamic.Interface, error) {
	who := string(role) + "-of-" + workspace
	roles, err := read("roles.yaml", nil)
	if err != nil {
		return nil, err
	}
	list, err := roles.ToList()
	if err != nil {
		return nil, fmt.Errorf("roles: %w", err)
	}
	var objects []runtime.Object
	for i := range list.Items {
		objects = append(objects, &list.Items[i])
	}
	objects = append(objects, &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: string(role)},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: string(role)},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: who}},
	})
	if err := c.apply.WithContext(ctx).WithSetID("roles-" + who).WithNoDelete().ApplyObjects(objects...); err != nil {
		return nil, fmt.Errorf("role %s in %s: %w", role, workspace, err)
	}
	cfg := rest.CopyConfig(c.hub.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: who, Groups: []string{"system:authenticated"}}
	return dynamic.NewForConfig(cfg)
}
