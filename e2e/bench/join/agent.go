package join

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/agent/pace"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// The pauses of the real agent.
const (
	pollFirst  = 20 * time.Millisecond
	pollMax    = 2 * time.Second
	lookEvery  = 3 * time.Second
	retryFirst = 500 * time.Millisecond
	retryMax   = time.Minute
	beatRetry  = time.Second
)

// userAgent tells the agents' requests from all others in the audit log.
const userAgent = "bench"

// order is what all agents were given: the values of one registration token.
type order struct {
	registration.Bootstrap
	claims     registration.Claims
	kubeconfig []byte
}

func newOrder(b registration.Bootstrap) (order, error) {
	kubeconfig, err := kube.BuildKubeconfig(b.APIServerURL, b.APIServerCA, b.Token, b.ClusterNamespace)
	if err != nil {
		return order{}, err
	}
	claims, err := registration.ParseClaims(b.Token)
	return order{Bootstrap: b, claims: claims, kubeconfig: kubeconfig}, err
}

// Outcome is one agent's join.
type Outcome struct {
	Request string
	// Secret carries the credential; Cluster and Namespace are what the request was granted.
	Secret, Cluster, Namespace string
	// Started is when the request was sent first, Joined when the credential had listed what it is for.
	Started, Joined time.Time
	// Tries is how often the request was sent, Looks how often the credential was asked for.
	Tries, Looks int
}

// Duration of the join.
func (o Outcome) Duration() time.Duration { return o.Joined.Sub(o.Started) }

// agent plays one cluster's agent.
type agent struct {
	order    order
	clientID string
	// clusterUID is what the UID of the cluster's kube-system namespace would be.
	clusterUID string
	random     string
	id         registration.Identity
	outcome    Outcome
}

// newAgent makes what a real agent has written down before it sends anything: its key, its request's name, its random.
func newAgent(o order, clientID string) (*agent, error) {
	id, err := registration.NewIdentity()
	if err != nil {
		return nil, err
	}
	request, err := registration.RequestName(rand.Reader)
	if err != nil {
		return nil, err
	}
	random, err := registration.Random(rand.Reader)
	return &agent{
		order: o, clientID: clientID, clusterUID: string(uuid.NewUUID()), random: random, id: id,
		outcome: Outcome{Request: request, Secret: names.CredentialSecret(clientID, random)},
	}, err
}

// join goes through the handshake. The session is the credential in use.
func (a *agent) join(ctx context.Context) (session hub.Session, err error) {
	client, err := hub.Dial(a.order.kubeconfig, kube.TLSStrict, userAgent)
	if err != nil {
		return hub.Session{}, err
	}
	defer client.Close()
	a.outcome.Started = time.Now()
	if err := a.send(ctx, client); err != nil {
		return hub.Session{}, err
	}
	granted, err := a.await(ctx, client)
	if err != nil {
		return hub.Session{}, err
	}
	session, err = a.open(granted)
	if err != nil {
		return hub.Session{}, err
	}
	if err := a.prove(ctx, session); err != nil {
		session.Close()
		return hub.Session{}, err
	}
	a.outcome.Joined = time.Now()
	return session, nil
}

func (a *agent) request() *fleet.ClusterRegistration {
	return &fleet.ClusterRegistration{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: a.order.ClusterNamespace, Name: a.outcome.Request,
			Labels: map[string]string{names.RegistrationTokenLabel: a.order.TokenName},
		},
		Spec: fleet.ClusterRegistrationSpec{
			ClientID:      a.clientID,
			ClientRandom:  a.random,
			ClusterLabels: map[string]string{names.CreatedByAgentPodLabel: a.clientID},
			Identity: &fleet.RegistrationIdentity{
				PublicKey: a.id.PublicKey(), ClusterUID: a.clusterUID, Requester: a.order.claims.Subject,
			},
			Agent: &fleet.RegistrationAgent{Version: userAgent},
		},
	}
}

func (a *agent) send(ctx context.Context, client *hub.Client) error {
	backoff := pace.Backoff{First: retryFirst, Max: retryMax, Random: mathrand.Float64}
	for {
		a.outcome.Tries++
		err := client.CreateRequest(ctx, a.request())
		switch hub.AnswerOf(err) {
		case hub.OK, hub.Exists:
			return nil
		case hub.Rejected:
			return err // the same request would be refused again
		}
		if waitErr := pace.Sleep(ctx, clock.RealClock{}, backoff.Next()); waitErr != nil {
			return fmt.Errorf("request %s: %w; last: %w", a.outcome.Request, waitErr, err)
		}
	}
}

// await asks for the credential until it is there, and reads the request now and then.
func (a *agent) await(ctx context.Context, client *hub.Client) (registration.Credential, error) {
	poll := pace.Poll{First: pollFirst, Max: pollMax, Random: mathrand.Float64}
	lookAt := time.Now().Add(lookEvery)
	if err := pace.Sleep(ctx, clock.RealClock{}, poll.Next()); err != nil {
		return registration.Credential{}, fmt.Errorf("credential for request %s: %w", a.outcome.Request, err)
	}
	for {
		a.outcome.Looks++
		secret, err := client.Secret(ctx, a.order.SystemRegistrationNamespace, a.outcome.Secret)
		if err == nil {
			return registration.ParseCredential(secret.Data)
		}
		if now := time.Now(); !now.Before(lookAt) {
			lookAt = now.Add(lookEvery)
			if _, err := client.Request(ctx, a.order.ClusterNamespace, a.outcome.Request); hub.AnswerOf(err) == hub.Missing {
				return registration.Credential{}, fmt.Errorf("request %s is gone from the hub", a.outcome.Request)
			}
		}
		if waitErr := pace.Sleep(ctx, clock.RealClock{}, poll.Next()); waitErr != nil {
			return registration.Credential{}, fmt.Errorf("credential for request %s: %w; last: %w", a.outcome.Request, waitErr, err)
		}
	}
}

func (a *agent) open(granted registration.Credential) (hub.Session, error) {
	if granted.SealedToken == "" {
		return hub.Session{}, errors.New("the hub did not seal the credential, though the request has a key")
	}
	token, err := a.id.Open(registration.Binding{
		HubUID: granted.HubUID, Workspace: a.order.ClusterNamespace, Request: a.outcome.Request, ClientID: a.clientID,
		ClientRandom: a.random, ClusterUID: a.clusterUID, PublicKey: a.id.PublicKey(), ImportAccountUID: a.order.claims.AccountUID,
	}, granted.SealedToken)
	if err != nil {
		return hub.Session{}, fmt.Errorf("credential for request %s: %w", a.outcome.Request, err)
	}
	kubeconfig, err := kube.BuildKubeconfig(a.order.APIServerURL, a.order.APIServerCA, token, granted.DeploymentNamespace)
	if err != nil {
		return hub.Session{}, err
	}
	client, err := hub.Dial(kubeconfig, kube.TLSStrict, userAgent)
	if err != nil {
		return hub.Session{}, err
	}
	a.outcome.Cluster, a.outcome.Namespace = granted.ClusterName, granted.DeploymentNamespace
	return hub.Session{
		Client: client, Workspace: granted.ClusterNamespace, Cluster: granted.ClusterName,
		DeploymentNamespace: granted.DeploymentNamespace, Digest: registration.Digest(token), Fingerprint: a.id.Fingerprint(),
	}, nil
}

// prove lists what the credential is for; its rights may take a moment to be in force.
func (a *agent) prove(ctx context.Context, session hub.Session) error {
	poll := pace.Backoff{First: pollFirst, Max: pollMax, Random: mathrand.Float64}
	for {
		err := session.Test(ctx, session.DeploymentNamespace)
		if err == nil {
			return nil
		}
		if waitErr := pace.Sleep(ctx, clock.RealClock{}, poll.Next()); waitErr != nil {
			return fmt.Errorf("list of bundledeployments in %s: %w; last: %w", session.DeploymentNamespace, waitErr, err)
		}
	}
}
