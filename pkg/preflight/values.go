package preflight

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/registration"
)

// checkValues looks at the values of a registration token as an agent will that is installed with them.
func checkValues(ctx context.Context, in Input, o Options) Report {
	l := newLedger(KindValues)
	w := &way{words: valuesWords, kind: byToken}
	bootstrap, more := w.readValues(l, in, o)

	c, t := w.visit(ctx, l, o)
	if c != nil {
		defer c.close()
	}
	asked := []string{CheckAuthentication}
	l.after(CheckHub, asked, func() finding { return decideHub(c.kinds(ctx)) })
	l.after(CheckPermissions, []string{CheckAuthentication, CheckHub}, func() finding {
		lacks, err := c.refused(ctx, registrationNeeds(bootstrap.ClusterNamespace, bootstrap.TokenName))
		return decideRegistrar(allowed{refused: lacks, err: err}, bootstrap.ClusterNamespace)
	})
	l.after(CheckVersion, []string{CheckAnswer}, func() finding { return decideVersion(t.body) })
	checkCluster(ctx, l, bootstrap, more, o)
	return l.report
}

// readValues records what the values themselves are worth.
func (w *way) readValues(l *ledger, in Input, o Options) (registration.Bootstrap, agentValues) {
	more, moreErr := parseAgentValues(in.Document)
	bootstrap, err := registration.ParseValues(in.Document)
	l.hide(bootstrap.Token)
	l.hide(more.secrets()...)
	w.mode = cmp.Or(o.TLSMode, more.AgentTLSMode, defaultTLSMode)
	w.token, w.ca = bootstrap.Token, bootstrap.APIServerCA
	hub, urlErr := url.Parse(bootstrap.APIServerURL)
	if urlErr == nil && registration.ValidateServerURL(bootstrap.APIServerURL) == nil {
		l.report.Address = addressText(hub)
	}
	f := decideValues(bootstrap, err, moreErr, more)
	if f.result == Failed {
		l.record(CheckInput, f)
		l.after(CheckCA, []string{CheckInput}, nil)
		return bootstrap, more
	}
	ca := w.decideCA(o)
	around, choice := more.surroundings(hub)
	w.choice = choice
	w.cfg, err = kube.ElsewhereConfig(bootstrap.APIServerURL, bootstrap.APIServerCA, bootstrap.Token, w.mode, around, stepsOfACall*o.StepLimit)
	if err != nil && ca.result != Failed {
		f = failure(err.Error(), "Correct the values: the agent uses them in the same way.")
	}
	l.record(CheckInput, f)
	l.record(CheckCA, ca)
	return bootstrap, more
}

func decideValues(b registration.Bootstrap, err, moreErr error, more agentValues) finding {
	const again = "Take the values anew on the hub: fleet token values NAME > values.yaml (fleet token list has the names); what is empty there is missing in the hub's chart fleet (apiServerURL)."
	modes := []string{"", kube.TLSStrict, kube.TLSSystemStore}
	switch {
	case err != nil && more.ExistingSecret != "" && b.Token == "":
		return failure("the token is in Secret "+word(more.ExistingSecret)+" on the cluster (value existingSecret), not in these values",
			"Give the document that this Secret was made from, or the Secret itself.")
	case err != nil:
		return failure(err.Error(), again)
	case moreErr != nil:
		return failure(moreErr.Error(), "Correct the value, as values.yaml of the chart fleet-agent describes it.")
	case !slices.Contains(modes, more.AgentTLSMode):
		return failure(fmt.Sprintf("value agentTLSMode is %q, none of %q and %q", word(more.AgentTLSMode), kube.TLSStrict, kube.TLSSystemStore), "Set it to one of these.")
	}
	return fine(fmt.Sprintf("values of token %s for workspace %s", word(b.TokenName), word(b.ClusterNamespace)))
}

// kinds asks whether the server has the kinds that a hub has.
func (c *caller) kinds(ctx context.Context) ([]string, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	raw, err := c.clients.Discovery().RESTClient().Get().AbsPath("/apis/" + fleet.SchemeGroupVersion.String()).Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("the list of kinds cannot be read")
	}
	var names []string
	for _, r := range list.APIResources {
		names = append(names, r.Name)
	}
	return names, nil
}

// decideHub says whether the server is a hub.
func decideHub(kinds []string, err error) finding {
	remedy := "Give the address of a hub, or install the charts fleet-crd and fleet there."
	switch {
	case apierrors.IsForbidden(err):
		return skip("the account may not ask which kinds the server has")
	case err == nil && slices.Contains(kinds, "clusterregistrations"):
		return fine("the server has the kinds of " + fleet.SchemeGroupVersion.String())
	case err == nil || apierrors.IsNotFound(err):
		return failure("the server is no hub: it does not have the kind ClusterRegistration of "+fleet.SchemeGroupVersion.String(), remedy)
	}
	return failure("the server did not say which kinds it has: "+word(timedOut(err).Error()), "Look at the health of the API server, and at what stands between.")
}
