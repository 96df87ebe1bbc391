package registration

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// Bounds of a request, in bytes and numbers.
const (
	maxClientID      = 253
	maxClientRandom  = 128
	maxRequester     = 2 * maxClientID
	maxLabels        = 64
	maxAgentVersion  = 128
	maxAgentOptions  = 16 << 10
	maxMetadataBytes = 16 << 10
)

// ValidateRequest bounds what an agent asks. It is the same check that the hub's admission policy makes. What the object's
// metadata may have is asked before the grant only: later it was put there by someone who may update requests.
func ValidateRequest(req *fleet.ClusterRegistration) error {
	var errs []error
	if !strings.HasPrefix(req.Name, RequestPrefix) {
		errs = append(errs, fmt.Errorf("metadata.name must begin with %q", RequestPrefix))
	}
	if !req.Status.Granted {
		errs = append(errs, validateMetadata(req.ObjectMeta))
	}
	errs = append(errs, ValidateClientID(req.Spec.ClientID))
	if req.Spec.ClientRandom == "" {
		errs = append(errs, errors.New("spec.clientRandom is empty"))
	} else {
		errs = append(errs, validateText("spec.clientRandom", req.Spec.ClientRandom, maxClientRandom))
	}
	errs = append(errs, validateLabels(req.Spec.ClusterLabels), validateIdentity(req.Spec.Identity), validateAgent(req.Spec.Agent))
	return errors.Join(errs...)
}

// ValidateClientID checks what tells clusters apart, spec.clientID of a Cluster and of a request.
func ValidateClientID(id string) error {
	if strings.TrimSpace(id) == "" {
		return errors.New("spec.clientID is empty: it is the UID of the cluster's kube-system namespace, or what the agent's chart value clientID says")
	}
	return validateText("spec.clientID", id, maxClientID)
}

// validateMetadata refuses what would block the deletion of a request, tie its life to another object's, or make it look
// like an object of the hub's or of the apply engine.
func validateMetadata(meta metav1.ObjectMeta) error {
	if len(meta.Finalizers) > 0 {
		return errors.New("metadata.finalizers must be empty")
	}
	for _, ref := range meta.OwnerReferences {
		if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != fleet.SchemeGroupVersion.Group || ref.Kind != "Cluster" {
			return fmt.Errorf("metadata.ownerReferences: a request belongs to its Cluster alone, not to a %.80q", ref.Kind)
		}
	}
	size := 0
	for _, entries := range []map[string]string{meta.Labels, meta.Annotations} {
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			size += len(key) + len(entries[key])
			if IsReservedLabel(key) && key != names.RegistrationTokenLabel && key != names.ClusterManagementLabel {
				return fmt.Errorf("metadata has the reserved key %.80q", key)
			}
		}
	}
	if size > maxMetadataBytes {
		return fmt.Errorf("metadata has labels and annotations of %d bytes, may have %d", size, maxMetadataBytes)
	}
	return nil
}

// validateText bounds an identifier of the agent's choice; it goes into conditions, logs and the keys of indexes.
func validateText(field, value string, limit int) error {
	if len(value) > limit {
		return fmt.Errorf("%s has at least %d bytes, may have %d", field, len(value), limit)
	}
	if !isPlain(value) || strings.ContainsAny(value, `/\`) {
		return fmt.Errorf("%s is %.80q: use ASCII letters, digits and punctuation without spaces and slashes", field, value)
	}
	return nil
}

// validateLabels names the first bad label in the order of the keys, so that the same request has the same error.
func validateLabels(labels map[string]string) error {
	if n := countLabels(labels); n > maxLabels {
		return fmt.Errorf("spec.clusterLabels has at least %d entries, may have %d", n, maxLabels)
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if problems := labelKeyProblems(key); len(problems) > 0 {
			return fmt.Errorf("spec.clusterLabels: %.80q is no label key", key)
		}
		if value := labels[key]; len(value) > validation.LabelValueMaxLength || len(validation.IsValidLabelValue(value)) > 0 {
			return fmt.Errorf("spec.clusterLabels[%.80s]: %.80q is no label value", key, labels[key])
		}
	}
	return nil
}

// maxLabelKey is the longest key of a label: a domain, a slash, a name.
const maxLabelKey = validation.DNS1123SubdomainMaxLength + 1 + validation.LabelValueMaxLength

// labelKeyProblems looks at the length first: the pattern of a key takes a quarter of a second on a megabyte.
func labelKeyProblems(key string) []string {
	if len(key) > maxLabelKey {
		return []string{"it is too long"}
	}
	return validation.IsQualifiedName(key)
}

// countLabels leaves out the label that an agent adds to those which it was given.
func countLabels(labels map[string]string) int {
	n := len(labels)
	if _, added := labels[names.CreatedByAgentPodLabel]; added {
		n--
	}
	return n
}

// SendableLabels are the labels of a Cluster if an agent could send them with a request, else none. A Cluster that exists
// keeps its own whatever the request brings, so that nothing is lost; but a request with more would be refused.
func SendableLabels(labels map[string]string) map[string]string {
	if countLabels(labels) > maxLabels {
		return map[string]string{}
	}
	return labels
}

func validateIdentity(id *fleet.RegistrationIdentity) error {
	if id == nil {
		return nil
	}
	var errs []error
	if id.PublicKey != "" {
		if _, err := decodePublicKey(id.PublicKey); err != nil {
			errs = append(errs, fmt.Errorf("spec.%w", err))
		}
	}
	errs = append(errs, validateText("spec.identity.clusterUID", id.ClusterUID, maxClientID))
	errs = append(errs, validateText("spec.identity.requester", id.Requester, maxRequester))
	return errors.Join(errs...)
}

// validateAgent bounds what a new Cluster takes over.
func validateAgent(agent *fleet.RegistrationAgent) error {
	if agent == nil {
		return nil
	}
	errs := []error{validateText("spec.agent.version", agent.Version, maxAgentVersion)}
	if agent.Options != nil {
		raw, err := json.Marshal(agent.Options)
		if err != nil {
			errs = append(errs, fmt.Errorf("spec.agent.options cannot be read: %w", err))
		}
		if len(raw) > maxAgentOptions {
			errs = append(errs, fmt.Errorf("spec.agent.options has %d bytes, may have %d", len(raw), maxAgentOptions))
		}
	}
	return errors.Join(errs...)
}
