package register

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/pkg/agent/internal/apitest"
	"github.com/rancher/fleet/pkg/agent/internal/hubtest"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

func TestANewAgentRegisters(t *testing.T) {
	h := newHub(t, hubtest.Options{Denials: 3, Unbound: 2})
	w := newWorld(t)
	w.putConfig(map[string]string{
		names.ConfigKey: `{"labels":{"env":"test"},"agentTLSMode":"strict"}`,
		optionsKey:      `{"tolerations":[{"key":"edge","operator":"Exists"}]}`,
	})
	b := h.Bootstrap()
	w.putBootstrap(b)
	a := w.start(brisk)
	c := w.registered(a)

	assert.Equal(t, hubtest.Namespace, c.deploymentNamespace)
	assert.Equal(t, hubtest.Workspace, c.workspace)
	assert.Equal(t, hubtest.Cluster, c.cluster)
	assert.Equal(t, h.URL(), c.server)
	assert.Equal(t, h.CA(), c.ca, "the CA of the bootstrap secret is kept")

	requests := h.Requests()
	require.Len(t, requests, 1)
	req := requests[0]
	assert.Regexp(t, "^request-[a-z0-9]{54}$", req.Name)
	assert.Equal(t, clusterUID, req.Spec.ClientID)
	assert.Equal(t, map[string]string{"env": "test", names.CreatedByAgentPodLabel: "Agent-0.example"}, req.Spec.ClusterLabels)
	assert.Equal(t, map[string]string{names.RegistrationTokenLabel: hubtest.TokenName}, req.Labels)
	assert.Equal(t, clusterUID, req.Spec.Identity.ClusterUID)
	claims, err := registration.ParseClaims(b.Token)
	require.NoError(t, err)
	assert.Equal(t, claims.Subject, req.Spec.Identity.Requester)
	assert.Equal(t, "v1.2.3", req.Spec.Agent.Version)
	assert.Equal(t, "edge", req.Spec.Agent.Options.Tolerations[0].Key)

	identity := w.secret(names.AgentIdentitySecret)
	require.NotNil(t, identity)
	w.eventually("the request is forgotten", func() bool { return attemptOf(w.secret(names.AgentIdentitySecret).Data) == attempt{} })
	assert.NotEmpty(t, identity.Data[registration.KeyPrivateKey])
	assert.Equal(t, 1, w.events.count(EventRegistered))
}

func TestAHubThatKnowsNoKeysIsRegisteredWith(t *testing.T) {
	h := newHub(t, hubtest.Options{Plain: true, Denials: 2})
	w := newWorld(t)
	w.putBootstrap(h.Bootstrap())
	w.registered(w.start(brisk))
	assert.Len(t, h.Requests(), 1)
}

// R16: every field of the configuration may be empty or missing.
func TestConfigurationMayBeEmptyInEveryField(t *testing.T) {
	for name, data := range map[string]map[string]string{
		"no ConfigMap":      nil,
		"no key":            {},
		"empty":             {names.ConfigKey: ""},
		"empty mapping":     {names.ConfigKey: "{}"},
		"null":              {names.ConfigKey: "null"},
		"null labels":       {names.ConfigKey: `{"labels":null,"clientID":""}`},
		"empty labels":      {names.ConfigKey: `{"labels":{},"agentTLSMode":""}`},
		"malformed options": {names.ConfigKey: "{}", optionsKey: "{["},
		"null options":      {names.ConfigKey: "{}", optionsKey: "null"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, hubtest.Options{})
			w := newWorld(t)
			if data != nil {
				w.putConfig(data)
			}
			b := h.Bootstrap()
			b.TokenName = ""
			w.putBootstrap(b)
			w.registered(w.start(brisk))
			require.Len(t, h.Requests(), 1)
			assert.Empty(t, h.Requests()[0].Labels, "a label that names no token")
			assert.Equal(t, clusterUID, h.Requests()[0].Spec.ClientID)
		})
	}
}

// R11: whoever leads next uses what is stored.
func TestARestartUsesTheStoredCredential(t *testing.T) {
	h := newHub(t, hubtest.Options{})
	w := newWorld(t)
	w.putBootstrap(h.Bootstrap())
	first := w.start(brisk)
	c := w.registered(first)
	first.stop()

	second := w.start(brisk)
	w.eventually("the credential is used", func() bool { return second.using() == registration.Digest(c.token) })
	assert.Len(t, h.Requests(), 1)
	assert.Equal(t, c.kubeconfig, w.stored().kubeconfig)
}

func TestNothingIsWrittenWhenNothingChanges(t *testing.T) {
	h := newHub(t, hubtest.Options{})
	w := newWorld(t)
	w.putBootstrap(h.Bootstrap())
	first := w.start(brisk)
	w.registered(first)
	first.stop()
	writes := len(w.Calls(apitest.Call.Writes))

	second := w.start(brisk)
	w.eventually("the credential is used", func() bool { return second.using() != "" })
	w.putConfig(map[string]string{names.ConfigKey: `{"labels":{"a":"b"}}`})
	looks := len(w.Calls(func(c apitest.Call) bool { return c.On("get", configs) }))
	w.eventually("the change is looked at", func() bool {
		return len(w.Calls(func(c apitest.Call) bool { return c.On("get", configs) })) > looks
	})
	second.stop()
	assert.Len(t, w.Calls(apitest.Call.Writes), writes)
}

func TestTheAgentWatchesItsOwnObjectsByName(t *testing.T) {
	h := newHub(t, hubtest.Options{})
	w := newWorld(t)
	w.putBootstrap(h.Bootstrap())
	w.registered(w.start(brisk))
	seen := map[string]bool{}
	for _, c := range w.Calls(func(c apitest.Call) bool { return c.Verb == "watch" || c.Verb == "list" }) {
		assert.Equal(t, agentNamespace, c.Namespace)
		assert.NotEmpty(t, c.FieldSelector)
		seen[c.Resource+" "+c.FieldSelector] = true
	}
	assert.Equal(t, map[string]bool{
		"/secrets metadata.name=fleet-agent": true, "/secrets metadata.name=fleet-agent-bootstrap": true,
		"/configmaps metadata.name=fleet-agent": true,
	}, seen)
}

// R09: at no moment is there no credential.
func TestAStoredCredentialIsReplacedInOneWrite(t *testing.T) {
	h := newHub(t, hubtest.Options{})
	w := newWorld(t)
	w.putBootstrap(h.Bootstrap())
	a := w.start(brisk)
	c := w.registered(a)
	w.putBootstrap(h.Bootstrap())
	w.eventually("another credential is stored", func() bool { return w.stored().token != c.token })
	w.registered(a)
	assert.Empty(t, w.Calls(func(c apitest.Call) bool { return c.On("delete", secrets) && c.Name == names.AgentCredentialStore }))
}

func TestAStoreThatFailsLosesNoCredential(t *testing.T) {
	h := newHub(t, hubtest.Options{})
	w := newWorld(t)
	var failures atomic.Int64
	w.Guard("store", func(c apitest.Call) int {
		if c.On("create", secrets) && contains(c.Body, registration.KeyKubeconfig) && failures.Add(1) <= 3 {
			return http.StatusInternalServerError
		}
		return 0
	})
	w.putBootstrap(h.Bootstrap())
	w.registered(w.start(brisk))
	assert.Len(t, h.Requests(), 1)
}

func TestASecretThatChangesWhileItIsDroppedIsANewOrder(t *testing.T) {
	h := newHub(t, hubtest.Options{})
	w := newWorld(t)
	second := h.Bootstrap()
	var changed atomic.Bool
	w.Guard("race", func(c apitest.Call) int {
		if c.On("delete", secrets) && c.Name == names.AgentBootstrapSecret && changed.CompareAndSwap(false, true) {
			w.putBootstrap(second)
		}
		return 0
	})
	w.putBootstrap(h.Bootstrap())
	a := w.start(brisk)
	w.eventually("both orders are carried out", func() bool {
		return len(h.Requests()) == 2 && w.secret(names.AgentBootstrapSecret) == nil
	})
	w.registered(a)
	claims, err := registration.ParseClaims(second.Token)
	require.NoError(t, err)
	subjects := []string{h.Requests()[0].Spec.Identity.Requester, h.Requests()[1].Spec.Identity.Requester}
	assert.Contains(t, subjects, claims.Subject)
}

// An agent in a wrong namespace leaves nothing there, and says where it looks.
func TestWithoutABootstrapSecretNoKeyIsMade(t *testing.T) {
	h := newHub(t, hubtest.Options{})
	w := newWorld(t)
	a := w.start(brisk)
	w.eventually("the agent waits", func() bool { return w.events.count(EventWaitingForBootstrap) == 1 })
	said := w.events.all()[0]
	assert.Contains(t, said, "there is no Secret fleet-agent-bootstrap, waiting for one in namespace "+agentNamespace)
	assert.Contains(t, said, "--namespace")
	assert.Nil(t, w.secret(names.AgentIdentitySecret))

	w.putBootstrap(h.Bootstrap())
	w.registered(a)
	require.NotNil(t, w.secret(names.AgentIdentitySecret))
	fingerprint, err := registration.Fingerprint(h.Requests()[0].Spec.Identity.PublicKey)
	require.NoError(t, err)
	a.mu.Lock()
	defer a.mu.Unlock()
	assert.Equal(t, fingerprint, a.sessions[len(a.sessions)-1].Fingerprint, "the heartbeat shows the key")
}
