package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/ledger/connect"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

type bootstrapCommand struct {
	clusterCommand
	bootstrap connect.Bootstrap
}

func newClusterBootstrap(cc *commandContext) *cobra.Command {
	p := &bootstrapCommand{clusterCommand: clusterCommand{commandContext: cc}}
	c := &cobra.Command{
		Use:   "bootstrap NAME",
		Short: "Print or propose what a new cluster needs to run its output",
		Long: `Bootstrap prints all that a cluster with Flux needs to apply the folder of its cluster type,
and to report what it runs: a GitRepository on the branch of its environment, a Kustomization,
a Provider and an Alert. In comments are the commands that store what must be in its Secrets.
Nothing of them is in the objects, so that these can lie in Git.

With --server, the cluster sends its events to Fairlead, with a key of its own; without, it sets
commit statuses at the forge of the GitOps repository, with a token that you store.

A cluster may apply several folders of the output: --also environments adds a Kustomization for
the stacks. It has a commit when all of them have it.

By default Flux ends the health check of an old commit before it applies a new one, so a fix
waits for up to --timeout. With the feature gate CancelHealthCheckOnNewRevision of
kustomize-controller (Flux 2.7 or newer) it does not; a command in comments sets it.

For a cluster that a ClusterBinding attaches, bootstrap prints the Provider and the Alert that
the management cluster needs to report for it: the management cluster applies the folder.

--pr proposes the objects instead, as a pull request for the output branch of the environment,
in the folder .fairlead/connect/NAME. Fairlead changes nothing there, and flux bootstrap --path
can name it.`,
		Example: `  fairlead cluster bootstrap east-1 -e prod --type large --server https://fairlead.example.com |
    kubectl apply -f -
  fairlead cluster bootstrap east-1 -e prod --type large
  fairlead cluster bootstrap east-1 -e prod --type large --also environments
  fairlead cluster bootstrap east-1 -e prod --type large --server https://fairlead.example.com --pr
  fairlead cluster bootstrap east-1 -e prod --type large --server https://fairlead.example.com \
    --oci oci://registry.example.com/fleet/large`,
		Args: checkArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error { return p.run(c.Context(), args[0]) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVarP(&p.options.Environment, "environment", "e", "", "`name` of the environment")
	f.StringVar(&p.options.ClusterType, "type", "", "`name` of the cluster type")
	f.StringSliceVar(&p.options.Also, "also", nil, "further `folder` of the output that the cluster applies, as environments for stacks (repeatable)")
	f.StringVar(&p.options.Server, "server", "", "`URL` of Fairlead, as the cluster reaches it: it reports there, and sets no commit statuses")
	f.StringVar(&p.bootstrap.Repo, "repo", "", "`PATH-or-URL` of the GitOps repository, as the cluster reaches it (default: as the control plane names it)")
	f.StringVar(&p.bootstrap.Artifact, "oci", "", "`artifact` of OCI, as oci://…, with the folder of the cluster type, tagged with the environment, which is read instead")
	f.StringVar(&p.bootstrap.Secret, "secret", "gitops", "`name` of the Secret that the repository or the artifact is read with; \"\" for none")
	f.StringVar(&p.options.Object, "object", "fleet", "`name` of the Kustomization that applies the output")
	f.DurationVar(&p.bootstrap.Timeout, "timeout", connect.DefaultTimeout, "how long everything in a folder may take to become ready, 30s or more")
	p.addProposalFlags(c)
	return c
}

func (p *bootstrapCommand) run(ctx context.Context, cluster string) error {
	err := p.setCluster(cluster)
	if err == nil {
		err = p.checkFlags()
	}
	if err != nil {
		return err
	}
	// Only the control plane has the output's location.
	d, err := p.openSession(ctx, git.Signature{})
	if err != nil {
		return err
	}
	if err := p.checkPlace(ctx); err != nil {
		return err
	}
	if err := p.locateOutput(ctx, d); err != nil {
		return err
	}
	if err := p.findAttachment(ctx, d); err != nil {
		return err
	}
	p.bootstrap.Options = p.options
	c, err := connect.RenderBootstrap(p.bootstrap)
	if err != nil {
		return usageErrorf("fairlead cluster bootstrap --help has examples", "%s", text.OneLine(err.Error()))
	}
	return p.printOrPropose(ctx, []connect.Connection{c})
}

func (p *bootstrapCommand) checkFlags() error {
	switch o := p.options; {
	case o.Environment == "":
		return usageErrorf("add -e NAME", "it is not said to which environment %s belongs", o.Cluster)
	case o.ClusterType == "":
		return usageErrorf("add --type NAME", "it is not said of which cluster type %s is", o.Cluster)
	case p.bootstrap.Artifact != "" && o.Server == "":
		return usageErrorf("add --server URL", "a cluster that reads an artifact sets no commit statuses, and it is not said where Fairlead is")
	}
	return nil
}

// findAttachment finds whether the management cluster applies the cluster type. The
// cluster then needs nothing: a second Flux would compete with the first.
func (p *bootstrapCommand) findAttachment(ctx context.Context, d *actions.Session) error {
	o := &p.options
	attached, err := d.FindAttachment(ctx, o.Environment, o.Cluster)
	if err != nil || attached.Object == "" {
		return err
	}
	if attached.ClusterType != o.ClusterType {
		return problem.Refusef("add --type "+attached.ClusterType, "a ClusterBinding of %s says that %s is of type %s", o.Environment, o.Cluster, attached.ClusterType)
	}
	if p.bootstrap.Artifact != "" {
		return problem.Refusef("leave --oci away: this prints what the management cluster needs to report for it", "the management cluster applies %s to %s, and reads the GitOps repository", o.ClusterType, o.Cluster)
	}
	parts := strings.Split(attached.Object, "/")
	o.Namespace, o.Object = parts[1], parts[2]
	p.applier = "the management cluster, which applies " + o.ClusterType + " to " + o.Cluster
	return nil
}

func (p *bootstrapCommand) locateOutput(ctx context.Context, d *actions.Session) error {
	to, err := d.OutputOf(ctx, p.options.Environment)
	if err != nil {
		return err
	}
	b := &p.bootstrap
	b.Branch, b.Folder = to.Branch, publish.CleanFolder(to.Path)
	if b.Repo == "" {
		b.Repo = to.Repo
	}
	if b.Artifact != "" {
		return nil
	}
	if !giturl.IsRemote(b.Repo) {
		return problem.Refusef("--repo says at which URL a cluster reads it", "the GitOps repository of %s is a folder: %s", p.options.Environment, giturl.Redact(b.Repo))
	}
	if p.options.Server != "" {
		return nil
	}
	settings := p.settings
	if settings == nil {
		settings = readJob().newSettings(b.Repo)
	}
	at, err := access.LocateForge(settings, b.Repo)
	if err != nil || !slices.Contains(connect.StatusForges, at.Kind) {
		return usageErrorf("add --server URL, so that the cluster reports to Fairlead, or name the forge in the settings, as forges: [{host: git.example.com, kind: gitea}]",
			"it is not known how a cluster reports to %s", giturl.Redact(b.Repo))
	}
	b.Forge = at.Kind
	return nil
}
