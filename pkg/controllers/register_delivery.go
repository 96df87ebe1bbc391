package controllers

import (
	"context"

	"github.com/rancher/fleet/pkg/controllers/bundle"
	"github.com/rancher/fleet/pkg/controllers/bundledeployment"
	"github.com/rancher/fleet/pkg/controllers/clustergroup"
	"github.com/rancher/fleet/pkg/controllers/clusterstatus"
	"github.com/rancher/fleet/pkg/controllers/content"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

// registerDelivery sets up what brings bundles to clusters.
func registerDelivery(ctx context.Context, p parts) {
	hub, clock := p.hub, p.options.Clock
	bundles, deployments, contents := hub.Fleet.Bundle(), hub.Fleet.BundleDeployment(), hub.Fleet.Content()
	secrets, configMaps := hub.Core.Secret(), hub.Core.ConfigMap()

	bundle.Register(ctx, bundle.Deps{
		Bundles: bundles, Deployments: deployments, Contents: contents,
		Clusters: hub.Fleet.Cluster(), Groups: hub.Fleet.ClusterGroup(), Mappings: hub.Fleet.BundleNamespaceMapping(),
		Restrictions: hub.Fleet.GitRepoRestriction(), Namespaces: hub.Core.Namespace(), Secrets: secrets,
		ConfigMaps: configMaps, Sources: kube.NewConfigMaps(ctx, hub.Clients),
		Definition: kube.DefinitionOf(hub.Dynamic, names.BundleDefinition), Clock: clock, Agents: p.agents,
	})
	bundledeployment.Register(ctx, bundledeployment.Deps{
		Deployments: deployments, Secrets: secrets, ConfigMaps: configMaps, Clock: clock,
	})
	content.Register(ctx, content.Deps{Contents: contents, Deployments: deployments, Clock: clock})
	clusterstatus.Register(ctx, clusterstatus.Deps{
		Clusters: hub.Fleet.Cluster(), Deployments: deployments, Namespaces: hub.Core.Namespace(), Clock: clock,
	})
	clustergroup.Register(ctx, clustergroup.Deps{Groups: hub.Fleet.ClusterGroup(), Clusters: hub.Fleet.Cluster(), Clock: clock})
}
