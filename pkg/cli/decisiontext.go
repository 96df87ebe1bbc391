package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/explain"
	"github.com/rancher/fleet/pkg/registration"
)

// printDecided shows what a decision is about.
func printDecided(out io.Writer, r explain.Request, cluster *fleet.Cluster) error {
	return columns(out, func(table io.Writer) {
		row := func(what, value string) { fmt.Fprintf(table, "%s\t%s\n", what, orDash(value)) }
		row("request", r.Workspace+"/"+r.Name)
		row("client ID", r.ClientID)
		row("key", orNoKey(r.KeyFingerprint))
		row("cluster UID", r.ClusterUID)
		row("sent by", r.Requester)
		row("token", r.Token)
		for i, line := range wrap(reasoned(r.Reason, r.Message), widthLine) {
			row([]string{"the hub says", ""}[min(i, 1)], line)
		}
		if r.NewCluster != "" {
			row("new cluster", r.NewCluster)
			row("  labels asked for", labelsText(r.Labels))
			row("  not given", strings.Join(r.DroppedLabels, ", "))
			return
		}
		row("cluster", r.Cluster)
		if cluster == nil {
			return
		}
		state, _ := registration.StateOf(cluster)
		row("  is", strings.TrimSpace(state+" "+cluster.Status.Agent.Version))
		if pin, err := registration.PinOf(cluster.Annotations); err == nil && pin != nil {
			row("  is bound to", "key "+pin.Fingerprint+" of cluster UID "+orDash(pin.ClusterUID))
		}
	})
}

// labelsText is what an agent asks for; much of it is cut.
func labelsText(labels map[string]string) string {
	var said []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		said = append(said, key+"="+labels[key])
	}
	return cut(strings.Join(said, ", "), maxSentence)
}

func orNoKey(fingerprint string) string {
	if fingerprint == "" {
		return "none: the credential is not sealed, and the cluster is not bound to a key"
	}
	return fingerprint
}

// decidedText says what a decision brings about; granted is what the request was before.
func decidedText(a *fleet.RegistrationApproval, granted bool) string {
	said := map[string]string{
		explain.Approve: "Approved by %s. The hub grants the request, and its agent registers within seconds.",
		explain.Replace: "Approved with --replace by %s. The Cluster is bound to the key of this request; the old agent loses its access at the first heartbeat of the new one.",
		explain.Deny:    "Denied by %s. The request gets nothing, and an agent that its Cluster has is not touched.",
	}[a.Decision]
	if granted && a.Decision == explain.Deny {
		said = "Denied by %s. The hub takes back what the request was granted; its agent loses its access."
	}
	return fmt.Sprintf(said, a.By)
}
