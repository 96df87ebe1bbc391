package charts

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The notes are all that somebody sees who installs: their commands have to fit the values.
func TestNotesSayWhatToRunByHandWhereNoPodRuns(t *testing.T) {
	const (
		rollout    = "rollout status deployment/fleet-controller"
		controller = "fleet controller --kubeconfig <kubeconfig> --namespace cattle-fleet-system\n"
		agent      = "fleet agent --kubeconfig"
	)
	tests := map[string]struct {
		values      string
		has, hasNot []string
	}{
		"pods run":          {"", []string{rollout}, []string{controller, agent}},
		"null is one":       {"controller: {replicas: null}", []string{rollout}, []string{controller, agent}},
		"no pods":           {"controller: {replicas: 0}", []string{controller, agent + " <kubeconfig> --namespace cattle-fleet-system\n"}, []string{rollout}},
		"agent's namespace": {"{controller: {replicas: 0}, bootstrap: {agentNamespace: local}}", []string{controller, agent + " <kubeconfig> --namespace local\n"}, nil},
		"no local cluster":  {"{controller: {replicas: 0}, bootstrap: {enabled: false}}", []string{controller}, []string{agent}},
		"no workspace":      {"{controller: {replicas: 0}, bootstrap: {namespace: \"-\"}}", []string{controller}, []string{agent}},
		"no local agent":    {"{controller: {replicas: 0}, bootstrap: {localAgentDisabled: true}}", []string{controller}, []string{agent}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			notes := hub(test.values).mustRender(t).notes
			for _, text := range test.has {
				assert.Contains(t, notes, text)
			}
			for _, text := range test.hasNot {
				assert.NotContains(t, notes, text)
			}
		})
	}
}

func TestNotesWaitForATokenBeforeTheyReadItsSecret(t *testing.T) {
	notes := hub("").mustRender(t).notes
	assert.Regexp(t, `(?s)wait --for=condition=Ready clusterregistrationtokens\.fleet\.cattle\.io/edge\n.*get secret edge `, notes)
}
