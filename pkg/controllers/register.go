package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/record"

	"github.com/rancher/fleet/pkg/agentbundle"
	"github.com/rancher/fleet/pkg/agentmanifest"
	hubconfig "github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/controllers/bootstrap"
	"github.com/rancher/fleet/pkg/controllers/bootstrapdata"
	"github.com/rancher/fleet/pkg/controllers/cleanup"
	"github.com/rancher/fleet/pkg/controllers/cluster"
	"github.com/rancher/fleet/pkg/controllers/clusterimport"
	"github.com/rancher/fleet/pkg/controllers/clusterregistration"
	"github.com/rancher/fleet/pkg/controllers/clusterregistrationtoken"
	"github.com/rancher/fleet/pkg/controllers/config"
	"github.com/rancher/fleet/pkg/controllers/credentialaccess"
	"github.com/rancher/fleet/pkg/controllers/heartbeat"
	"github.com/rancher/fleet/pkg/controllers/manageagent"
	"github.com/rancher/fleet/pkg/controllers/provenance"
	"github.com/rancher/fleet/pkg/controllers/telemetry"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

// component names the hub in events.
const component = "fleet-controller"

// eventRate and eventBurst bound the events of each type: a storm of joins is not to become a storm of events.
const (
	eventRate  = 10
	eventBurst = 50
)

// parts is what the controllers are given.
type parts struct {
	hub      *kube.Hub
	options  Options
	source   *hubconfig.Source
	settings func(hubconfig.Config) agentmanifest.Settings
	events   record.EventRecorder
	metrics  *telemetry.Metrics
	hubUID   string
	proof    *provenance.Proof
	agents   *agentbundle.Ledger
}

// register sets all controllers up, in the order in which they see a changed object. It returns what is to run beside
// them.
func register(ctx context.Context, hub *kube.Hub, o Options, hubUID string) ([]func(context.Context), error) {
	p := parts{hub: hub, options: o, source: hubconfig.NewSource(o.Version), hubUID: hubUID, agents: agentbundle.NewLedger()}
	base := o.Settings
	base.DefaultImage = hubconfig.Default(o.Version).AgentImage
	p.settings = func(c hubconfig.Config) agentmanifest.Settings { return base.WithConfig(c) }
	metrics, err := telemetry.NewMetrics(o.Registry)
	if err != nil {
		return nil, err
	}
	p.metrics = metrics
	p.events = kube.NewRecorder(ctx, hub.Clients, kube.EventOptions{
		Component: component, PerSecond: eventRate, Burst: eventBurst, Dropped: metrics.EventDropped,
	})

	if err := config.Register(ctx, config.Deps{ConfigMaps: hub.Core.ConfigMap(), Source: p.source, Names: o.Names}); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if err := bootstrapdata.Register(ctx, bootstrapdata.Deps{
		ClusterRoles: hub.RBAC.ClusterRole(), ClusterRoleBindings: hub.RBAC.ClusterRoleBinding(),
		Namespaces: hub.Core.Namespace(), Apply: hub.Apply, Names: o.Names,
	}); err != nil {
		return nil, fmt.Errorf("bootstrap data: %w", err)
	}
	bootstrap.Register(ctx, bootstrap.Deps{
		Clusters: hub.Fleet.Cluster(), Groups: hub.Fleet.ClusterGroup(), GitRepos: hub.Fleet.GitRepo(),
		Namespaces: hub.Core.Namespace(), Secrets: hub.Core.Secret(), Apply: hub.Apply, Clients: hub.Clients,
		Hub: hub.Config, Config: p.source, Events: p.events, Names: o.Names, Disabled: o.DisableBootstrap,
	})
	p.proof, err = provenance.Register(provenance.Deps{
		Clients: hub.Clients, Config: hub.Config, Clock: o.Clock, Names: o.Names, Told: metrics.ProvenanceEnforced,
		Events: p.events,
	})
	if err != nil {
		return nil, err
	}
	background := append(registerClusters(ctx, p), p.proof.Run)
	registerDelivery(ctx, p)
	cleanup.Register(ctx, cleanup.Deps{
		Clusters: hub.Fleet.Cluster(), Registrations: hub.Fleet.ClusterRegistration(), Tokens: hub.Fleet.ClusterRegistrationToken(),
		Namespaces: hub.Core.Namespace(), Accounts: hub.Core.ServiceAccount(), Secrets: hub.Core.Secret(),
		Roles: hub.RBAC.Role(), RoleBindings: hub.RBAC.RoleBinding(),
		ClusterRoles: hub.RBAC.ClusterRole(), ClusterRoleBindings: hub.RBAC.ClusterRoleBinding(), Clock: o.Clock, Names: o.Names,
	})
	announcing, err := telemetry.Register(ctx, telemetry.Deps{
		Clusters: hub.Fleet.Cluster(), Registrations: hub.Fleet.ClusterRegistration(), Tokens: hub.Fleet.ClusterRegistrationToken(),
		Leases: hub.Coordination.Lease(), Bundles: hub.Fleet.Bundle(), Deployments: hub.Fleet.BundleDeployment(), Clients: hub.Clients, Events: p.events, Component: component, Metrics: metrics, Clock: o.Clock,
	})
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	return append(background, announcing), nil
}

// registerClusters sets up what the life of a Cluster goes through.
func registerClusters(ctx context.Context, p parts) []func(context.Context) {
	hub, clock := p.hub, p.options.Clock
	clusters, requests, tokens, bundles := hub.Fleet.Cluster(), hub.Fleet.ClusterRegistration(), hub.Fleet.ClusterRegistrationToken(), hub.Fleet.Bundle()
	accounts, secrets := hub.Core.ServiceAccount(), hub.Core.Secret()
	presence := kube.NewPresence(clock, func() time.Duration { return heartbeat.Pace(p.source.Get()) },
		kube.ProbeLease(hub.Clients, p.options.Election.Namespace, p.options.Election.Name))

	cluster.Register(ctx, cluster.Deps{
		Clusters: clusters, Registrations: requests, Tokens: tokens, Bundles: bundles, Namespaces: hub.Core.Namespace(),
		Deployments: hub.Fleet.BundleDeployment(), Definition: kube.DefinitionOf(hub.Dynamic, names.BundleDefinition), Config: p.source,
		Accounts: accounts, Leases: hub.Coordination.Lease(), Names: p.options.Names, Clock: clock,
	})
	imports := clusterimport.Register(ctx, clusterimport.Deps{
		Clusters: clusters, Tokens: tokens, Bundles: bundles, Secrets: secrets, Accounts: accounts, Clients: hub.Clients,
		Config: p.source, Settings: p.settings, Names: p.options.Names, Clock: clock, HubUID: p.hubUID,
		Ended: p.metrics.ImportEnded, UserAgent: hub.Config.UserAgent, Presence: presence,
	})
	waiting := clusterregistration.Register(ctx, clusterregistration.Deps{
		Registrations: requests, Clusters: clusters, Tokens: tokens, Accounts: accounts, Secrets: secrets, Namespaces: hub.Core.Namespace(),
		Roles: hub.RBAC.Role(), RoleBindings: hub.RBAC.RoleBinding(), Clients: hub.Clients, Apply: hub.Apply,
		Config: p.source, Names: p.options.Names, Clock: clock, HubUID: p.hubUID, Provenance: p.proof,
	})
	clusterregistrationtoken.Register(ctx, clusterregistrationtoken.Deps{
		Tokens: tokens, Accounts: accounts, Secrets: secrets, Roles: hub.RBAC.Role(), RoleBindings: hub.RBAC.RoleBinding(),
		Apply: hub.Apply, Clients: hub.Clients, Config: p.source, Clock: clock, Events: p.events,
		Names: p.options.Names, TTLRequired: p.options.TTLRequired, Provenance: p.proof,
	})
	credentialaccess.Register(ctx, credentialaccess.Deps{
		Accounts: accounts, Secrets: secrets, Roles: hub.RBAC.Role(), RoleBindings: hub.RBAC.RoleBinding(), Tokens: tokens,
		Names: p.options.Names,
	})
	heartbeat.Register(ctx, heartbeat.Deps{
		Leases: hub.Coordination.Lease(), Clusters: clusters, Registrations: requests, Accounts: accounts, Secrets: secrets,
		Clients: hub.Clients, Config: p.source, Names: p.options.Names, Clock: clock, Presence: presence,
	})
	manageagent.Register(ctx, manageagent.Deps{
		Clusters: clusters, Bundles: bundles, Apply: hub.Apply, Config: p.source, Settings: p.settings, Clock: clock,
		Waiting: waiting, Agents: p.agents,
	})
	return []func(context.Context){imports, presence.Run}
}
