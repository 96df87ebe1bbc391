package preflight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// hubSettings is what a hub's configuration says of how agents reach it.
type hubSettings struct {
	// asked says that a hub was given to be asked; err why it did not tell.
	asked bool
	err   error
	url   string
	ca    []byte
	mode  string
	// uid is that of its namespace kube-system, empty where that may not be read.
	uid string
}

// settingsOfHub reads a hub's configuration.
func settingsOfHub(ctx context.Context, o Options) hubSettings {
	if o.Other == nil {
		return hubSettings{}
	}
	s := hubSettings{asked: true}
	c, err := newCaller(o.Other, o.StepLimit)
	if err != nil {
		s.err = err
		return s
	}
	defer c.close()
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	cm, err := c.clients.CoreV1().ConfigMaps(o.SystemNamespace).Get(ctx, names.ControllerConfigMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		s.err = fmt.Errorf("there is no ConfigMap %s/%s: it is no hub, or the hub is in another namespace", o.SystemNamespace, names.ControllerConfigMap)
		return s
	}
	if err != nil {
		s.err = timedOut(err)
		return s
	}
	parsed, _, err := config.Parse(cm.Data[names.ConfigKey], config.Config{})
	if err != nil {
		s.err = errors.New("the configuration of the hub cannot be read")
		return s
	}
	if system, err := c.clients.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{}); err == nil {
		s.uid = string(system.UID)
	}
	s.url, s.ca, s.mode = parsed.APIServerURL, parsed.APIServerCA, parsed.AgentTLSMode
	return s
}

// goneClusters asks a hub which of the Clusters that agents belong to it has no more. What it does not tell counts as there.
func goneClusters(ctx context.Context, o Options, uid string, found []resident) map[string]bool {
	gone := map[string]bool{}
	if o.Other == nil || uid == "" {
		return gone
	}
	c, err := newCaller(o.Other, o.StepLimit)
	if err != nil {
		return gone
	}
	defer c.close()
	for _, r := range found {
		if r.marked && r.mark.Hub == uid && r.mark.Name != "" {
			gone[r.cluster()] = c.lacksCluster(ctx, r.mark)
		}
	}
	return gone
}

// lacksCluster says whether a hub answers that it does not have a Cluster, by its UID.
func (c *caller) lacksCluster(ctx context.Context, mark registration.AgentOwner) bool {
	raw, err := ask(ctx, c, func(ctx context.Context) ([]byte, error) {
		return c.clients.Discovery().RESTClient().Get().
			AbsPath("/apis", fleet.SchemeGroupVersion.Group, fleet.SchemeGroupVersion.Version, "namespaces", mark.Namespace, "clusters", mark.Name).
			Do(ctx).Raw()
	})
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	var object metav1.PartialObjectMetadata
	return json.Unmarshal(raw, &object) == nil && object.UID != "" && string(object.UID) != mark.Cluster
}

// decideHubAddress says whether agents of an imported cluster will be told where the hub is: by keys of the kubeconfig's
// Secret, or else by the hub's configuration, each for itself.
func decideHubAddress(in Input, hub hubSettings) finding {
	const keys = "Set apiServerURL (and apiServerCA) of the hub's chart fleet, or the keys apiServerURL and apiServerCA in the kubeconfig Secret."
	const giveHub = "give --kubeconfig of the hub to have that looked at (KUBECONFIG is not taken for it), and its agentTLSMode with it"
	own := strings.TrimSpace(in.ServerURL)
	switch {
	case hub.err != nil:
		return failure("the hub's configuration could not be read: "+word(hub.err.Error()), "Give the kubeconfig and the namespace of the hub's controller, or leave the hub out.")
	case hub.asked && hub.mode != config.TLSStrict && hub.mode != config.TLSSystemStore:
		return failure(fmt.Sprintf("agentTLSMode %q of the hub's configuration is none of %q and %q", word(hub.mode), config.TLSStrict, config.TLSSystemStore), "Correct agentTLSMode of the hub's chart fleet.")
	case own == "" && !hub.asked && in.FromSecret:
		return skip("the Secret has no key apiServerURL, which is needed only if the hub's configuration has no apiServerURL; " + giveHub)
	case own == "" && !hub.asked:
		return skip("agents need it from the hub's configuration (apiServerURL), or from key apiServerURL of the kubeconfig Secret; " + giveHub)
	case own == "" && hub.url == "":
		return failure("no address of the hub is known for agents: its configuration has no apiServerURL, so key apiServerURL of the kubeconfig Secret is required", keys)
	}
	address, from, ca := hub.url, "the hub's configuration", hub.ca
	if own != "" {
		address, from = own, "the kubeconfig Secret"
	}
	if len(in.ServerCA) > 0 {
		ca = in.ServerCA
	}
	if err := registration.ValidateServerURL(address); err != nil {
		return failure("the address of the hub for agents, from "+from+": "+err.Error(), keys)
	}
	known := hub.asked || len(ca) > 0
	switch {
	case len(ca) > 0 && len(parsePEM(ca)) == 0:
		return failure("apiServerCA holds no certificate", "Put the hub's CA as PEM into apiServerCA.")
	case known && len(ca) == 0 && hub.mode == kube.TLSStrict:
		return failure("agents are to trust the given CA alone (agentTLSMode strict), and no apiServerCA is given", "Set apiServerCA, or agentTLSMode system-store.")
	}
	text := fmt.Sprintf("agents reach the hub at %s, from %s", shownAddress(address), from)
	if own == "" {
		text += "; the kubeconfig Secret needs no key apiServerURL"
	}
	return fine(text)
}

// shownAddress is an address that somebody wrote, without what may be secret in it.
func shownAddress(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return word(raw)
	}
	return addressText(u)
}

// sameAddress compares two addresses of an API server.
func sameAddress(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && strings.EqualFold(hostPort(x), hostPort(y)) &&
		strings.TrimSuffix(x.Path, "/") == strings.TrimSuffix(y.Path, "/")
}
