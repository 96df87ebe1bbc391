package clusterregistrationtoken

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// Reasons of condition Ready. Where it is True there is none.
const (
	reasonAccount         = registration.TokenWaitsForAccount
	reasonAccountConflict = registration.TokenAccountConflict
	reasonToken           = registration.TokenWaitsForToken
	reasonRequest         = registration.TokenRequestFailed
	reasonConflict        = registration.TokenSecretConflict
	reasonWrite           = registration.TokenWriteFailed
	reasonLeaving         = registration.TokenBeingDeleted
	reasonNoServerCA      = registration.TokenWithoutServerCA
)

// input is what is known about a token.
type input struct {
	token *fleet.ClusterRegistrationToken
	now   time.Time
	names names.Namespaces
	// ttlRequired refuses tokens without an end.
	ttlRequired bool
	// serverURL and serverCA are what the hub's configuration says of its address.
	serverURL string
	serverCA  []byte
	// config is the rest of the configuration: whom agents trust, and how many requests a token may grant.
	config config.Config
	// provenance is whether the origin of requests is known to be checked.
	provenance registration.Provenance
	// account, values and endless are nil where they do not exist: the import account, the Secret of the token's name,
	// and the service-account-token Secret that a token without an end needs.
	account         *corev1.ServiceAccount
	values, endless *corev1.Secret
	// minted is a token that was just requested, empty where none was.
	minted string
}

// ending says why a token's life is over.
type ending string

const (
	alive      ending = ""
	expired    ending = "its spec.ttl is over"
	withoutTTL ending = "it has no spec.ttl, and this hub requires one (chart value controller.registrationTokenTTL.required)"
	beingLeft  ending = "it is being deleted"
)

// decision is what should be.
type decision struct {
	// ending, if not alive, says that everything goes. All else but ready is then empty.
	ending ending
	// objects are the account and its permissions, nil where they must not be touched.
	objects []runtime.Object
	// needsAccount says that nothing can go on before the account is seen.
	needsAccount bool
	// mint is how long a new token has to live, 0 where none is needed. The decision is then incomplete: it is to be
	// taken again with the new token.
	mint time.Duration
	// createEndless, dropEndless, dropValues and values are to be created, deleted and written, nil where all is well.
	createEndless, dropEndless, dropValues, values *corev1.Secret
	// recheck is when to look again though nothing changed, 0 for never.
	recheck time.Duration
	// expires, secretName and ready are the status.
	expires    *metav1.Time
	secretName string
	ready      ready
}

// ready is the condition.
type ready struct {
	yes             bool
	reason, message string
}

func decide(in input) decision {
	if why := endingOf(in); why != alive {
		return decision{ending: why, ready: ready{reason: reasonLeaving, message: leavingMessage(in.token)}}
	}
	d := decision{objects: objects(in), expires: statusTime(in.token)}
	if message := accountConflict(in); message != "" {
		// The set would take the account over, and this token's users would act as the other's.
		d.objects, d.ready, d.recheck = nil, ready{reason: reasonAccountConflict, message: message}, untilEnd(in)
		return d
	}
	if isLeftover(in.values, in.token) {
		d.dropValues, in.values = in.values, nil
	}
	if message := conflict(in); message != "" {
		d.ready = ready{reason: reasonConflict, message: message}
		d.recheck = untilEnd(in)
		return d
	}
	if _, ends := endOf(in.token); ends {
		return decideEnding(in, d)
	}
	return decideEndless(in, d)
}

// endOf is the end of a token's life. It is counted from the token's creation, not from any moment at which somebody
// looked. No TTL, or one that is not positive, means no end.
func endOf(token *fleet.ClusterRegistrationToken) (end time.Time, ends bool) {
	if token.Spec.TTL == nil || token.Spec.TTL.Duration <= 0 {
		return time.Time{}, false
	}
	return token.CreationTimestamp.Add(token.Spec.TTL.Duration), true
}

// statusTime is the end as the API keeps it, in whole seconds: with more it would differ at each look.
func statusTime(token *fleet.ClusterRegistrationToken) *metav1.Time {
	end, ends := endOf(token)
	if !ends {
		return nil
	}
	return &metav1.Time{Time: end.Truncate(time.Second)}
}

func untilEnd(in input) time.Duration {
	end, ends := endOf(in.token)
	if !ends {
		return 0
	}
	return end.Sub(in.now)
}

func endingOf(in input) ending {
	end, ends := endOf(in.token)
	switch {
	case in.token.DeletionTimestamp != nil:
		return beingLeft
	case !ends && in.ttlRequired:
		return withoutTTL
	case ends && !in.now.Before(end):
		return expired
	}
	return alive
}

func leavingMessage(token *fleet.ClusterRegistrationToken) string {
	if len(token.Finalizers) == 0 {
		return "The account and its permissions are removed"
	}
	return fmt.Sprintf("The account and its permissions are removed; the object stays until its finalizers are: %s", strings.Join(token.Finalizers, ", "))
}

// decideEnding is for a token with an end: its JWT comes from a token request, and ends with it.
func decideEnding(in input, d decision) decision {
	d.dropEndless = in.endless
	jwt, due := in.minted, renewal(in, in.minted)
	if jwt == "" {
		jwt, due = stored(in)
		if jwt == "" || !due.IsZero() && !in.now.Before(due) {
			d.mint = untilEnd(in)
			if jwt != "" {
				d.secretName = in.token.Name // still good while it is renewed
			}
			return d
		}
	}
	d.recheck = untilEnd(in)
	if !due.IsZero() {
		d.recheck = min(d.recheck, due.Sub(in.now))
	}
	return withValues(in, d, jwt, !due.IsZero())
}

// decideEndless is for a token without an end. A token request always has one, so the JWT comes from a Secret that the
// API server's controller fills in; until then there is nothing to do but wait for that.
func decideEndless(in input, d decision) decision {
	name := names.AccountToken(accountName(in.token))
	switch {
	case in.account == nil:
		d.needsAccount = true
		d.ready = ready{reason: reasonAccount, message: fmt.Sprintf("ServiceAccount %s/%s is being created", in.names.Registration, accountName(in.token))}
	case in.endless == nil:
		d.createEndless = endlessSecret(in)
		d.ready = waitingForController(in, name)
	case !filledFor(in.endless, in.account):
		d.dropEndless = in.endless
		d.ready = ready{reason: reasonToken, message: fmt.Sprintf("Secret %s/%s is of an earlier account and is made anew", in.names.Registration, name)}
	case len(in.endless.Data[corev1.ServiceAccountTokenKey]) == 0:
		d.ready = waitingForController(in, name)
	default:
		return withValues(in, d, string(in.endless.Data[corev1.ServiceAccountTokenKey]), false)
	}
	return d
}

func waitingForController(in input, name string) ready {
	return ready{reason: reasonToken, message: fmt.Sprintf(
		"kube-controller-manager has not put a token into Secret %s/%s yet; a token with spec.ttl does not need it", in.names.Registration, name)}
}

// withValues completes the decision: the token's Secret says what it should, or is to be written so.
func withValues(in input, d decision, jwt string, short bool) decision {
	secret, err := valuesSecret(in, jwt)
	if err != nil {
		d.ready = ready{reason: reasonToken, message: fmt.Sprintf("Secret %s/%s cannot be written: %v; the address and the CA in it come from the hub's configuration (apiServerURL, apiServerCA)", in.token.Namespace, in.token.Name, err)}
		return d
	}
	d.values, d.secretName = secret, in.token.Name
	d.ready = ready{yes: true, message: notes(in, jwt, short)}
	if message := withoutCA(in); message != "" {
		d.ready = ready{reason: reasonNoServerCA, message: message}
	}
	return d
}

// withoutCA says what agents lack that are to trust the given CA alone, empty where they lack nothing. The Secret is
// written all the same: other tools may complete what is in it. What the hub imports takes its CA from elsewhere, too, and
// the import says what is missing there.
func withoutCA(in input) string {
	if made, _ := registration.MadeForCluster(in.token); made != "" || in.config.AgentTLSMode != config.TLSStrict || len(in.serverCA) > 0 {
		return ""
	}
	return fmt.Sprintf("agents are to trust the given CA alone (agentTLSMode %q), and none is given: set apiServerCA in the hub's configuration, "+
		"or agentTLSMode %q where the system's authorities vouch for this hub", config.TLSStrict, config.TLSSystemStore)
}

// notes is what a user has to know of a token that can be used.
func notes(in input, jwt string, short bool) string {
	var notes []string
	if in.serverURL == "" {
		notes = append(notes, "apiServerURL is empty, as it is in the hub's configuration: give it to the agent's chart")
	}
	if registration.IsUsedUp(in.token, in.config) {
		notes = append(notes, fmt.Sprintf("It has granted as many requests as it may (%s): raise spec.maxUses, or make another token", registration.UseLimitText(in.token, in.config)))
	}
	if short {
		notes = append(notes, fmt.Sprintf("The API server limits tokens to %s: the secret is renewed until spec.ttl is over, read it shortly before it is used", lifetime(jwt)))
	}
	return strings.Join(notes, ". ")
}
