package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type clusterListCommand struct {
	*commandContext
	input     input
	plansFile string // "" for none, "-" for standard input
	stdin     io.Reader
}

const aboutRollouts = `ROLLOUT is what the branch of the output has of the manifest: the phase that it is
in, what it lacks, or all of it, which is settled once clusters report it as ready. OBSERVED is what
clusters report of what carries it out, to the daemon or the ledger that fairlead.yaml here or --url
names. What cannot be read is not known.`

func newClusterLists(a *app) []*cobra.Command {
	var all []*cobra.Command
	for _, sub := range []struct {
		command *cobra.Command
		run     func(ctx context.Context, c *clusterListCommand, args []string) error
	}{
		{&cobra.Command{
			Use: "list", Short: "List the clusters that environments provision, and how far they have got", Args: checkArguments(0, 0),
			Long: `List shows the clusters that are written in the control plane, and those that the output has still:
they are to be destroyed, or are being destroyed.

` + aboutRollouts,
		}, listProvisioned},
		{&cobra.Command{
			Use: "show [MANIFEST/]NAME", Short: "Show the pools of a provisioned cluster, its rollout, and whose approval it waits for", Args: checkArguments(1, 1),
			Long: `Show lists the pools and load balancers of a cluster, where its manifest stands, and the step that
comes next. Of a manifest that tofu-controller carries out it lists the parts: fairlead
approve-plan takes their names and their INPUTS. --plans shows the plans of the parts, with the
digests to approve them by. Where two manifests have a cluster of one name, name one with its
manifest, as fleet/shop/edge.

` + aboutRollouts,
			Example: `  fairlead cluster show edge -e dev
  fairlead cluster show fleet/shop/edge -e dev
  kubectl get configmap,secret -A -l infra.contrib.fluxcd.io/plan-name -o yaml |
    fairlead cluster show edge -e dev --plans -`,
		}, showProvisioned},
	} {
		c := &clusterListCommand{commandContext: newCommandContext(a)}
		sub.command.RunE = func(command *cobra.Command, args []string) error {
			c.stdin = command.InOrStdin()
			return sub.run(command.Context(), c, args)
		}
		c.input.addEnvironmentFlag(sub.command, "all")
		if sub.command.Name() == "show" {
			addPlansFlag(sub.command, &c.plansFile)
		}
		c.addReportFlags(sub.command)
		a.addOutputFlag(sub.command)
		c.input.addInputFlags(sub.command)
		all = append(all, sub.command)
	}
	return all
}

type provisionedCluster struct {
	environment, manifest, executor string
	*clusters.Unit
	spec    *claudie.Spec
	rollout *manifestRollout
}

func (p provisionedCluster) path() string { return p.manifest + "/" + p.Name }

func (p provisionedCluster) argument(all []provisionedCluster) string {
	if slices.ContainsFunc(all, func(o provisionedCluster) bool { return o.Name == p.Name && o.manifest != p.manifest }) {
		return p.path()
	}
	return p.Name
}

func (c *clusterListCommand) readClusters(ctx context.Context) ([]provisionedCluster, error) {
	if err := c.input.openSource(ctx); err != nil {
		return nil, err
	}
	names, err := c.input.selectEnvironments(ctx)
	if err != nil {
		return nil, err
	}
	var all []provisionedCluster
	for _, name := range names {
		r, err := c.input.renderEnvironment(ctx, name, source.Revisions{}, nil)
		if err != nil {
			return nil, err
		}
		if r.Problems.Stops() {
			return nil, newProblemsError(r.Problems)
		}
		manifests, _ := clusters.Resolve(r.Model)
		rendered := c.readRollouts(ctx, r.Model)
		var found []provisionedCluster
		for _, m := range manifests {
			rollout := newManifestRollout(r.Model, provision.NewState(m.InputManifest, &r.Model.Clusters), rendered)
			for _, u := range m.Units {
				found = append(found, provisionedCluster{name, m.Path(), m.Executor, u, &m.Spec, rollout})
			}
		}
		found = append(found, findLeaving(r.Model, manifests, rendered)...)
		if err := c.addStops(ctx, r, found); err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, c.addRollouts(ctx, all)
}

func (p provisionedCluster) clusterType() string {
	if p.Binding == nil {
		return ""
	}
	return p.Binding.ClusterType
}

func (p provisionedCluster) countNodes(pools ...string) string {
	fewest, most := 0, 0
	for _, pool := range pools {
		a, b := p.spec.CountNodes(pool)
		fewest, most = fewest+a, most+b
	}
	if fewest == most {
		return fmt.Sprint(fewest)
	}
	return fmt.Sprintf("%d to %d", fewest, most)
}

func listProvisioned(ctx context.Context, c *clusterListCommand, _ []string) error {
	all, err := c.readClusters(ctx)
	if err != nil {
		return err
	}
	l := listing{
		columns: []column{
			{key: "environment"}, {key: "cluster"}, {key: "version"}, {key: "control"}, {key: "compute"}, {key: "clusterType"},
			{key: "manifest"}, {key: "rollout"}, {key: "observed"}, {key: "executor", wide: true}, {key: "network", wide: true}, {key: "loadBalancers", wide: true},
			{key: "next", wide: true}, {key: "waits", wide: true, fit: display.Wrap},
		},
		names: list.Convert(all, func(p provisionedCluster) string { return p.argument(all) }),
		empty: "no clusters are provisioned\n",
	}
	for _, p := range all {
		balancers := list.Convert(p.LoadBalancers, func(lb *claudie.LoadBalancer) string { return lb.Name })
		l.rows = append(l.rows, []any{
			p.environment, p.Name, p.Version, p.countNodes(p.Pools.Control...), p.countNodes(p.Pools.Compute...), p.clusterType(),
			p.manifest, p.rollout.State, p.rollout.Observed, p.executor, p.Network, balancers, p.rollout.Next, p.rollout.Waits,
		})
	}
	return c.app.printListing(l)
}

func showProvisioned(ctx context.Context, c *clusterListCommand, args []string) error {
	all, err := c.readClusters(ctx)
	if err != nil {
		return err
	}
	var found []provisionedCluster
	for _, p := range all {
		if strings.HasSuffix("/"+p.path(), "/"+args[0]) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return newUnknownError("cluster", args[0], list.Convert(all, func(p provisionedCluster) string { return p.argument(all) }))
	case 1:
	default:
		if other := found[1]; other.manifest != found[0].manifest {
			return usageErrorf("name one as "+found[0].path(), "the cluster %s is in the manifests %s and %s", args[0], found[0].manifest, other.manifest)
		}
		return usageErrorf("name one with -e", "the cluster %s is in the environments %s", args[0], strings.Join(list.Convert(found, func(p provisionedCluster) string { return p.environment }), ", "))
	}
	return c.printCluster(found[0])
}

type shownCluster struct {
	Environment string           `json:"environment"`
	Cluster     string           `json:"cluster"`
	Manifest    string           `json:"manifest"`
	Executor    string           `json:"executor"`
	ClusterType string           `json:"clusterType,omitempty"`
	Pools       any              `json:"pools"`
	Rollout     *manifestRollout `json:"rollout"`
}

func (c *clusterListCommand) printCluster(p provisionedCluster) error {
	plans, err := readPlans(c.plansFile, c.stdin)
	if err != nil {
		return err
	}
	l := p.newPoolListing()
	l.value = shownCluster{p.environment, p.Name, p.manifest, p.executor, p.clusterType(), l.objects(), p.rollout}
	l.below = p.rollout.text(c.app.stdout, c.app.format == "wide")
	for _, part := range p.rollout.Parts {
		one := impact.ComponentPlan{ComponentChange: impact.ComponentChange{Name: part.Name}, Plan: part.Plan}
		made := newPlannedComponent(one, plans, stackfiles.ObjectName{Namespace: p.rollout.known.parts.Namespace, Name: part.Object})
		if part.Status == stackview.Waits && part.Approval == "" && made.isCurrent() {
			made.approve = approvalCommand(p.environment, p.rollout.stack+"/"+part.Name, part.Inputs, made.Digest)
		}
		l.below += made.planText()
	}
	return c.app.printListing(l)
}

func (p provisionedCluster) newPoolListing() listing {
	l := listing{columns: []column{
		{key: "pool"}, {key: "of"}, {key: "nodes"}, {key: "provider"}, {key: "region"}, {key: "serverType"}, {key: "zone", wide: true}, {key: "image", wide: true}, {key: "roles", wide: true},
	}}
	add := func(pool, of string, roles []string) {
		row := []any{pool, of, p.countNodes(pool), "static", "", "", "", "", roles}
		if d := p.spec.FindDynamicPool(pool); d != nil {
			row = []any{pool, of, p.countNodes(pool), d.ProviderSpec.Name, d.ProviderSpec.Region, d.ServerType, d.ProviderSpec.Zone, d.Image, roles}
		}
		l.rows = append(l.rows, row)
	}
	for _, pool := range p.Pools.Control {
		add(pool, "control", nil)
	}
	for _, pool := range p.Pools.Compute {
		add(pool, "compute", nil)
	}
	for _, lb := range p.LoadBalancers {
		for _, pool := range lb.Pools {
			add(pool, "load balancer "+lb.Name, lb.Roles)
		}
	}
	return l
}
