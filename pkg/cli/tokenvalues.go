package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/wait"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// lookAgain is the pause between two looks at a token that is waited for.
const lookAgain = 250 * time.Millisecond

func tokenValuesCommand() *cli.Command {
	return &cli.Command{
		Name:      "values",
		Usage:     "print the values of a token, with which the agent's chart is installed",
		ArgsUsage: "NAME",
		Description: "Prints the values file for Helm, and nothing else, to the standard output. It contains a credential: whoever\n" +
			"reads it can ask for the registration of clusters, as far as the token goes.\n\n" +
			"   (umask 077; fleet token values edge > values.yaml)\n" +
			"   helm install fleet-agent charts/fleet-agent -n cattle-fleet-system --create-namespace -f values.yaml",
		Flags:  append(workspaceFlags(), waitFlags()...),
		Action: printValues,
	}
}

func printValues(c *cli.Context) error {
	typed, err := typedNames(c, 1, 1, "the NAME of one token")
	if err != nil {
		return err
	}
	if err := checkTimeout(c); err != nil {
		return err
	}
	h, err := connect(c)
	if err != nil {
		return err
	}
	o := h.in(c, typed[0])
	token, err := find[fleet.ClusterRegistrationToken](c.Context, h, kindToken, o)
	if err != nil {
		return err
	}
	if c.Bool(flagWait) {
		if token, err = awaitToken(c, h, o, token.UID); err != nil {
			return err
		}
	}
	values, err := valuesOf(c.Context, h, token, time.Now())
	if err != nil {
		return err
	}
	if ready := conditions.GetCondition(token.Status.Conditions, fleet.TokenConditionReady); ready != nil && ready.Message != "" {
		note(c, "The hub says of token %s: %s", o, ready.Message)
	}
	_, err = c.App.Writer.Write(values)
	return err
}

// unready says why a token cannot be used, nil where it can.
func unready(token *fleet.ClusterRegistrationToken, now time.Time) error {
	row := newTokenRow(token, now)
	name := kindToken.name + " " + row.Workspace + "/" + row.Name
	switch {
	case row.State == tokenEnded:
		return fmt.Errorf("%s has ended at %s: make a new one with `fleet token create`", name, clock(row.Expires))
	case row.State == tokenLeaving:
		return fmt.Errorf("%s is being deleted: make a new one with `fleet token create`", name)
	case row.State == tokenNew:
		return fmt.Errorf("%s is not ready: the hub has not looked at it yet; add --wait, and if that does not help see whether the hub's controller runs", name)
	case row.State == registration.TokenWithoutServerCA:
		return fmt.Errorf("%s is not ready: %s", name, reasoned(row.State, row.Message))
	case row.State != tokenReady:
		return fmt.Errorf("%s is not ready: %s; add --wait to wait for it", name, reasoned(row.State, row.Message))
	case row.Secret == "":
		return fmt.Errorf("%s names no Secret in status.secretName yet; add --wait to wait for it", name)
	}
	return nil
}

// valuesOf reads the values of a token that can be used. A Secret of that name which is not this token's is not printed.
func valuesOf(ctx context.Context, h *hub, token *fleet.ClusterRegistrationToken, now time.Time) ([]byte, error) {
	if err := unready(token, now); err != nil {
		return nil, err
	}
	name := token.Status.SecretName
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return nil, fmt.Errorf("status.secretName of token %s/%s is no name of a Secret", token.Namespace, token.Name)
	}
	secret, err := h.clients.CoreV1().Secrets(token.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s/%s, which has the values of token %s: %w", token.Namespace, name, token.Name, err)
	}
	if !isValuesOf(secret, token) {
		return nil, fmt.Errorf("Secret %s/%s is not of token %s (type or owner differ): delete it, and the hub writes its own", token.Namespace, name, token.Name)
	}
	values := secret.Data[registration.KeyValues]
	if len(values) == 0 {
		return nil, fmt.Errorf("Secret %s/%s has no key %s: delete it, and the hub writes it anew", token.Namespace, name, registration.KeyValues)
	}
	return values, nil
}

// isValuesOf says whether a Secret is the one of a token. An older hub names no owner.
func isValuesOf(secret *corev1.Secret, token *fleet.ClusterRegistrationToken) bool {
	if secret.Type != names.ValuesSecretType {
		return false
	}
	for _, owner := range secret.OwnerReferences {
		if owner.Kind == kindToken.name && owner.UID == token.UID {
			return true
		}
	}
	return len(secret.OwnerReferences) == 0
}

// awaitToken waits until the token of this UID can be used. It gives up at once on what does not end by itself.
func awaitToken(c *cli.Context, h *hub, o object, uid types.UID) (*fleet.ClusterRegistrationToken, error) {
	var token *fleet.ClusterRegistrationToken
	var last error
	timeout := c.Duration(flagTimeout)
	err := wait.PollUntilContextTimeout(c.Context, lookAgain, timeout, true, func(ctx context.Context) (bool, error) {
		found, err := readOne[fleet.ClusterRegistrationToken](ctx, h, kindToken, o)
		switch {
		case apierrors.IsNotFound(err) || err == nil && found.UID != uid:
			return false, fmt.Errorf("%s %s was deleted while it was waited for; a hub that requires an end deletes tokens without --%s", kindToken, o, flagTTL)
		case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
			return false, fmt.Errorf("waiting for %s %s: %w", kindToken, o, err)
		case err != nil && ctx.Err() != nil && last != nil:
			return false, nil // the end of the wait cut the look short, and it says nothing
		case err != nil:
			last = err // a hub that is busy may answer the next time
			return false, nil
		}
		token, last = found, unready(found, time.Now())
		return last == nil, givesUp(found, last)
	})
	if errors.Is(err, context.DeadlineExceeded) && c.Context.Err() == nil {
		return token, fmt.Errorf("waited %s in vain: %w", timeout, last)
	}
	return token, err
}

// waitsForPeople are reasons that no wait ends.
var waitsForPeople = []string{registration.TokenAccountConflict, registration.TokenSecretConflict, registration.TokenWithoutServerCA}

// givesUp is the error of a token for which there is nothing to wait.
func givesUp(token *fleet.ClusterRegistrationToken, problem error) error {
	ready := conditions.GetCondition(token.Status.Conditions, fleet.TokenConditionReady)
	state := newTokenRow(token, time.Now()).State
	if state == tokenEnded || state == tokenLeaving {
		return problem
	}
	if ready != nil && slices.Contains(waitsForPeople, ready.Reason) {
		return problem
	}
	return nil
}
