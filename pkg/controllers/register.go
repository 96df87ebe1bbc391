package controllers

import (
	"context"
	"fmt"

	"github.com/rancher/wrangler/v3/pkg/schemes"
	corev1 "k8s.io/api/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

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
	"github.com/rancher/fleet/pkg/controllers/heartbeat"
	"github.com/rancher/fleet/pkg/controllers/manageagent"
	"github.com/rancher/fleet/pkg/kube"
)

// component names the hub in events.
const component = "fleet-controller"

// parts is what the controllers are given.
type parts struct {
	hub      *kube.Hub
	options  Options
	source   *hubconfig.Source
	settings func(hubconfig.Config) agentmanifest.Settings
	events   record.EventRecorder
	hubUID   string
}

// register sets all controllers up, in the order in which they see a changed object. It returns what is to run beside
// them.
func register(ctx context.Context, hub *kube.Hub, o Options, hubUID string) ([]func(context.Context), error) {
	p := parts{hub: hub, options: o, source: hubconfig.NewSource(o.Version), hubUID: hubUID}
	base := o.Settings
	base.DefaultImage = hubconfig.Default(o.Version).AgentImage
	p.settings = func(c hubconfig.Config) agentmanifest.Settings { return base.WithConfig(c) }
	p.events = recorder(ctx, hub)

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
	background := registerClusters(ctx, p)
	cleanup.Register(ctx, cleanup.Deps{
		Clusters: hub.Fleet.Cluster(), Registrations: hub.Fleet.ClusterRegistration(), Tokens: hub.Fleet.ClusterRegistrationToken(),
		Namespaces: hub.Core.Namespace(), Accounts: hub.Core.ServiceAccount(), Secrets: hub.Core.Secret(),
		Roles: hub.RBAC.Role(), RoleBindings: hub.RBAC.RoleBinding(),
		ClusterRoles: hub.RBAC.ClusterRole(), ClusterRoleBindings: hub.RBAC.ClusterRoleBinding(), Clock: o.Clock, Names: o.Names,
	})
	return background, nil
}

// recorder writes events in the background until ctx ends.
func recorder(ctx context.Context, hub *kube.Hub) record.EventRecorder {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: hub.Clients.CoreV1().Events("")})
	return broadcaster.NewRecorder(schemes.All, corev1.EventSource{Component: component})
}

// registerClusters sets up what the life of a Cluster goes through.
func registerClusters(ctx context.Context, p parts) []func(context.Context) {
	hub, clock := p.hub, p.options.Clock
	clusters, requests, tokens, bundles := hub.Fleet.Cluster(), hub.Fleet.ClusterRegistration(), hub.Fleet.ClusterRegistrationToken(), hub.Fleet.Bundle()
	accounts, secrets := hub.Core.ServiceAccount(), hub.Core.Secret()

	cluster.Register(ctx, cluster.Deps{
		Clusters: clusters, Registrations: requests, Tokens: tokens, Bundles: bundles, Namespaces: hub.Core.Namespace(),
		Accounts: accounts, Leases: hub.Coordination.Lease(), Names: p.options.Names, Clock: clock,
	})
	imports := clusterimport.Register(ctx, clusterimport.Deps{
		Clusters: clusters, Tokens: tokens, Bundles: bundles, Secrets: secrets, Accounts: accounts, Clients: hub.Clients,
		Config: p.source, Settings: p.settings, Names: p.options.Names, Clock: clock, HubUID: p.hubUID,
		UserAgent: hub.Config.UserAgent,
	})
	clusterregistration.Register(ctx, clusterregistration.Deps{
		Registrations: requests, Clusters: clusters, Tokens: tokens, Accounts: accounts, Secrets: secrets, Namespaces: hub.Core.Namespace(),
		Roles: hub.RBAC.Role(), RoleBindings: hub.RBAC.RoleBinding(), Clients: hub.Clients, Apply: hub.Apply,
		Config: p.source, Names: p.options.Names, Clock: clock, HubUID: p.hubUID,
	})
	clusterregistrationtoken.Register(ctx, clusterregistrationtoken.Deps{
		Tokens: tokens, Accounts: accounts, Secrets: secrets, Roles: hub.RBAC.Role(), RoleBindings: hub.RBAC.RoleBinding(),
		Apply: hub.Apply, Clients: hub.Clients, Config: p.source, Clock: clock, Events: p.events,
		Names: p.options.Names, TTLRequired: p.options.TTLRequired,
	})
	heartbeat.Register(ctx, heartbeat.Deps{
		Leases: hub.Coordination.Lease(), Clusters: clusters, Registrations: requests, Accounts: accounts, Secrets: secrets,
		Clients: hub.Clients, Config: p.source, Names: p.options.Names, Clock: clock,
	})
	manageagent.Register(ctx, manageagent.Deps{
		Clusters: clusters, Bundles: bundles, Apply: hub.Apply, Config: p.source, Settings: p.settings, Clock: clock,
	})
	return []func(context.Context){imports}
}
