package delivery

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Explanation is how far a bundle is.
type Explanation struct {
	Workspace string `json:"workspace"`
	Name      string `json:"name"`
	// State is the worst of its clusters' states, Ready, or the reason why nothing is done for the bundle.
	State         string      `json:"state"`
	ReadyClusters string      `json:"readyClusters"`
	Paused        bool        `json:"paused,omitempty"`
	Leaving       bool        `json:"leaving,omitempty"`
	Created       metav1.Time `json:"created"`
	// Problem is what keeps the bundle from all of its clusters.
	Problem string `json:"problem,omitempty"`
	// Behind says that the hub has not looked at the bundle as it is stored now.
	Behind  bool    `json:"behind,omitempty"`
	Content Content `json:"content"`
	Rollout Rollout `json:"rollout"`
	// Clusters are those that get the bundle, or have it.
	Clusters []Cluster `json:"clusters"`
	Unknown  []string  `json:"unknown,omitempty"`
}

// Rollout is where a bundle's rollout is.
type Rollout struct {
	Unavailable              int         `json:"unavailable"`
	MaxUnavailable           int         `json:"maxUnavailable"`
	UnavailablePartitions    int         `json:"unavailablePartitions"`
	MaxUnavailablePartitions int         `json:"maxUnavailablePartitions"`
	WaitsFor                 string      `json:"waitsFor,omitempty"`
	Partitions               []Partition `json:"partitions,omitempty"`
}

// Partition is one of a rollout.
type Partition struct {
	Name     string `json:"name"`
	Clusters int    `json:"clusters"`
	// Unavailable are the clusters that do not run the version, or not well.
	Unavailable    int `json:"unavailable"`
	MaxUnavailable int `json:"maxUnavailable"`
}

// Steps of a rollout, at one cluster.
const (
	StepNone     = "none"     // there is no deployment yet
	StepEarlier  = "earlier"  // the cluster has its earlier version: the turn of its partition has not come
	StepStaged   = "staged"   // the version waits in the deployment
	StepReleased = "released" // the agent is told of it
	StepApplied  = "applied"  // the agent has applied it
	StepLeft     = "left"     // the bundle no longer targets the cluster, or nothing is done for it
)

// Cluster is how far a bundle is on one cluster.
type Cluster struct {
	Workspace string            `json:"workspace,omitempty"`
	Name      string            `json:"name,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	State     fleet.BundleState `json:"state"`
	Step      string            `json:"step"`
	Partition string            `json:"partition,omitempty"`
	// Target says by which entry of spec.targets the cluster is chosen.
	Target string `json:"target,omitempty"`
	// WaitsFor says what has to happen, and who does it. Empty where all is well.
	WaitsFor string `json:"waitsFor,omitempty"`
	// LastError is what the agent said last.
	LastError string `json:"lastError,omitempty"`
	// NonReady and Modified are resources on the cluster, at most ten of each.
	NonReady []string `json:"nonReady,omitempty"`
	Modified []string `json:"modified,omitempty"`
	// Content is what the cluster runs, Version what it is to run, whole: content and options.
	Content   string `json:"content,omitempty"`
	Version   string `json:"version,omitempty"`
	Release   string `json:"release,omitempty"`
	Resources int    `json:"resources,omitempty"`
	Silent    bool   `json:"silent,omitempty"`
}
