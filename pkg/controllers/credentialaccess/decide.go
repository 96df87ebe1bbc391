package credentialaccess

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/names"
)

// maxNames is how many Secrets one Role lists. Each change sends the whole list; more than this wait at once only where
// many agents never come for theirs, and those must not keep others from being listed.
const maxNames = 100

// input is what is known about an import account.
type input struct {
	account *corev1.ServiceAccount
	// stays says that more credentials will come: the token is a person's. One that the hub made is good for one grant.
	stays bool
	// unknown says that the account does not tell whose it is, so that nothing can be said.
	unknown bool
	// waiting are the names of the Secrets that the account may read.
	waiting []string
	// roles and bindings are what there is, by name.
	roles    map[string]*rbacv1.Role
	bindings map[string]*rbacv1.RoleBinding
}

// decision is what there should be; what is in neither list goes.
type decision struct {
	roles    []*rbacv1.Role
	bindings []*rbacv1.RoleBinding
}

func decide(in input) decision {
	var d decision
	if in.account == nil || in.account.DeletionTimestamp != nil {
		return d
	}
	lists := distribute(in)
	// An empty one between others stays, so that their numbers have no gap.
	for len(lists) > 0 && len(lists[len(lists)-1]) == 0 && (len(lists) > 1 || !in.stays) {
		lists = lists[:len(lists)-1]
	}
	for i, listed := range lists {
		name := roleName(in.account.Name, i)
		d.roles = append(d.roles, role(in.account, name, listed))
		d.bindings = append(d.bindings, binding(in.account, name))
	}
	return d
}

// distribute puts each waiting name into one Role. One that is listed stays where it is, so that a change touches one
// Role; a new one goes to the first that has room.
func distribute(in input) [][]string {
	left := map[string]bool{}
	for _, name := range in.waiting {
		left[name] = true
	}
	lists := make([][]string, max(1, len(in.roles)))
	for i := range lists {
		have := in.roles[roleName(in.account.Name, i)]
		if have == nil {
			continue
		}
		for _, rule := range have.Rules {
			for _, name := range rule.ResourceNames {
				if left[name] && len(lists[i]) < maxNames {
					lists[i] = append(lists[i], name)
					delete(left, name)
				}
			}
		}
	}
	for i := 0; len(left) > 0; i++ {
		if i == len(lists) {
			lists = append(lists, nil)
		}
		for _, name := range in.waiting {
			if left[name] && len(lists[i]) < maxNames {
				lists[i] = append(lists[i], name)
				delete(left, name)
			}
		}
	}
	for i := range lists {
		slices.Sort(lists[i])
	}
	return lists
}

// roleName is the name of an account's Roles: the first, and those for what does not fit.
func roleName(account string, i int) string {
	if i == 0 {
		return names.CredentialAccess(account)
	}
	return names.CredentialAccess(account) + "-" + strconv.Itoa(i)
}

func meta(account *corev1.ServiceAccount, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: account.Namespace,
		Name:      name,
		Labels:    map[string]string{names.ManagedLabel: "true"},
		Annotations: map[string]string{
			names.OwnerAnnotation:         account.Annotations[names.OwnerAnnotation],
			names.ImportAccountAnnotation: account.Name,
		},
	}
}

// role lists what an account may read. Without a name there is no rule at all: to RBAC, a rule that names nothing is one
// for everything.
func role(account *corev1.ServiceAccount, name string, listed []string) *rbacv1.Role {
	r := &rbacv1.Role{ObjectMeta: meta(account, name)}
	if len(listed) > 0 {
		r.Rules = []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: listed, Verbs: []string{"get"},
		}}
	}
	return r
}

func binding(account *corev1.ServiceAccount, name string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: meta(account, name),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
}

// sameRole and sameBinding compare what we set, and let others add labels and annotations.
func sameRole(have, want *rbacv1.Role) bool {
	return sameMeta(have, want) && equality.Semantic.DeepEqual(have.Rules, want.Rules)
}

func sameBinding(have, want *rbacv1.RoleBinding) bool {
	return sameMeta(have, want) && equality.Semantic.DeepEqual(have.Subjects, want.Subjects)
}

func sameMeta(have, want metav1.Object) bool {
	return contains(have.GetLabels(), want.GetLabels()) && contains(have.GetAnnotations(), want.GetAnnotations())
}

func contains(have, want map[string]string) bool {
	for key, value := range want {
		if have[key] != value {
			return false
		}
	}
	return true
}
