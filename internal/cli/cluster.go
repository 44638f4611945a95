package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/connect"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

func newCluster(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "cluster",
		GroupID: groupDaemon,
		Short:   "Provision, bootstrap and connect clusters",
		Long: `A new cluster needs to know which output it applies; bootstrap prints that. A cluster reports
what it runs by Flux's events, by Argo CD's notifications, or by an agent, and proves its name
with a key of its own; connect prints what it needs for that.

List, show and plan are about the clusters that InputManifests of the control plane describe.
Import brings a ClusterList up to date with the inventory of another system.`,
		Example: `  fairlead cluster list
  fairlead cluster plan dev dev@my-change
  fairlead cluster bootstrap east-1 -e prod --type large --server https://fairlead.example.com
  fairlead cluster connect east-1 --agent --server https://fairlead.example.com --image registry.example.com/fairlead-agent:v1
  fairlead cluster connect east-1 --flux -e prod --type large --server https://fairlead.example.com`,
		Args: checkSubcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newClusterBootstrap(newCommandContext(a)), newClusterConnect(newCommandContext(a)), newClusterPlan(a), newClusterImport(a))
	c.AddCommand(newClusterLists(a)...)
	return c
}

type clusterCommand struct {
	*commandContext
	options connect.Options
	applier string // applies the objects; "" for the cluster itself
}

type connectCommand struct {
	clusterCommand
	ways map[connect.Way]*bool
}

var connectWays = []struct {
	way  connect.Way
	help string
}{
	{connect.Agent, "by an agent, which reports all objects of Flux, Argo CD and Rancher Fleet"},
	{connect.Flux, "by the events of Flux: a Provider and an Alert"},
	{connect.ArgoCD, "by the notifications of Argo CD: a ConfigMap"},
}

func newClusterConnect(cc *commandContext) *cobra.Command {
	p := &connectCommand{clusterCommand{commandContext: cc}, map[connect.Way]*bool{}}
	c := &cobra.Command{
		Use:   "connect NAME",
		Short: "Print or propose what a cluster needs to report",
		Long: `Connect prints the objects that make a cluster report what it runs, and in comments the
commands that store its key on the cluster. The key is in none of the objects, so that they
can lie in Git.

--pr proposes them instead, as a pull request for the output branch of the environment, in
the folder .fairlead/connect/NAME. Fairlead changes nothing there. Let the cluster apply that
folder beside the folder of its cluster type.`,
		Example: `  fairlead cluster connect east-1 --agent --server https://fairlead.example.com --image registry.example.com/fairlead-agent:v1 |
    kubectl apply -f -
  fairlead cluster connect east-1 --flux -e prod --type large --server https://fairlead.example.com
  fairlead cluster connect east-1 --argocd -e prod --type large --server https://fairlead.example.com --pr`,
		Args: checkArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error { return p.run(c.Context(), args[0]) },
	}
	f := c.Flags()
	f.SortFlags = false
	for _, w := range connectWays {
		p.ways[w.way] = f.Bool(string(w.way), false, w.help)
	}
	f.StringVar(&p.options.Server, "server", "", "`URL` of Fairlead, as the cluster reaches it")
	f.StringVarP(&p.options.Environment, "environment", "e", "", "`name` of the environment; --agent needs it for --pr only")
	f.StringVar(&p.options.ClusterType, "type", "", "`name` of the cluster type; --agent finds it by itself")
	f.StringVar(&p.options.Object, "object", "fleet", "`name` of the Kustomization or Application on the cluster that applies the output")
	f.StringVar(&p.options.Image, "image", "", "`image` of the agent, with its tag or digest")
	p.addProposalFlags(c)
	return c
}

func (p *clusterCommand) addProposalFlags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&p.propose, "pr", false, "open a pull request for the GitOps repository instead of printing")
	f.StringVar(&p.author, "author", "", "whose commit it is: `\"Name <address>\"` (default: as Git is configured here)")
	p.app.addDryRunFlag(c)
	p.addControlPlaneFlags(c)
	p.app.addOutputFlag(c)
	_ = c.RegisterFlagCompletionFunc("environment", p.completeNames)
}

func (p *connectCommand) run(ctx context.Context, cluster string) error {
	connections, err := p.render(cluster) // before anything is read
	if err == nil {
		err = p.checkPlace(ctx)
	}
	if err == nil {
		connections, err = p.render(cluster)
	}
	if err != nil {
		return err
	}
	return p.printOrPropose(ctx, connections)
}

func (p *clusterCommand) printOrPropose(ctx context.Context, connections []connect.Connection) error {
	if !p.propose {
		return p.print(connections)
	}
	files := map[string][]byte{}
	for _, c := range connections {
		files[c.File()] = append([]byte(describeCommands("for the Secrets that this needs, type on the cluster", []connect.Connection{c}, "# ")), c.Manifests...)
	}
	d, err := p.openForEnvironments(ctx, p.options.Environment)
	if err != nil {
		return err
	}
	result, err := d.ProposeConnection(ctx, p.options.Environment, p.options.Cluster, files)
	if err == nil && p.app.isText() && !p.app.dryRun {
		defer fmt.Fprint(p.app.stderr, describeCommands("once it is merged, let "+cmp.Or(p.applier, "the cluster")+" apply that folder, and type on it", connections, ""))
	}
	return p.printResult(result, err)
}

func (p *connectCommand) render(cluster string) ([]connect.Connection, error) {
	if err := p.setCluster(cluster); err != nil {
		return nil, err
	}
	if err := p.checkFlags(); err != nil {
		return nil, err
	}
	var all []connect.Connection
	for _, w := range connectWays {
		if !*p.ways[w.way] {
			continue
		}
		c, err := connect.Render(w.way, p.options)
		if err != nil {
			return nil, usageErrorf("fairlead cluster connect --help has examples", "%s", text.OneLine(err.Error()))
		}
		all = append(all, c)
	}
	return all, nil
}

func (p *clusterCommand) setCluster(cluster string) error {
	if err := ledger.CheckClusterName(cluster); err != nil {
		return usageErrorf("as in east-1", "%v", err)
	}
	p.options.Cluster, p.options.TokenCommand = cluster, "fairlead fleet token "+cluster
	if p.settingsFile != "" {
		p.options.TokenCommand += " --config " + text.QuoteShell(p.settingsFile)
	}
	return nil
}

func (p *connectCommand) checkFlags() error {
	events := *p.ways[connect.Flux] || *p.ways[connect.ArgoCD]
	switch o := p.options; {
	case !events && !*p.ways[connect.Agent]:
		return usageErrorf("add --agent, --flux or --argocd", "it is not said how %s reports", o.Cluster)
	case o.Server == "":
		return usageErrorf("add --server URL: that of the daemon's page, as the cluster reaches it", "it is not said where Fairlead is")
	case *p.ways[connect.Agent] && o.Image == "":
		return usageErrorf("add --image; docker build -f Dockerfile.agent makes one", "it is not said which image the agent has")
	case o.Environment == "" && (events || p.propose):
		return usageErrorf("add -e NAME", "it is not said to which environment %s belongs", o.Cluster)
	case o.ClusterType == "" && events:
		return usageErrorf("add --type NAME", "it is not said of which cluster type %s is", o.Cluster)
	}
	return nil
}

// checkPlace returns the usage error of an unknown environment or cluster type, and finds the folder of the cluster. An
// unreadable control plane is only a note: objects can be printed anywhere.
func (p *clusterCommand) checkPlace(ctx context.Context) error {
	environment := p.options.Environment
	if environment == "" {
		return nil
	}
	environments, types, own, err := p.listPlaces(ctx)
	clusterType := p.options.ClusterType
	switch {
	case len(environments) > 0 && !slices.Contains(environments, environment):
		return newUnknownError("environment", environment, environments)
	case err != nil:
		fmt.Fprintf(p.app.stderr, "fairlead: note: it was not checked whether -e and --type are right: %s\n", display.SanitizeLine(err.Error()))
		return nil
	case clusterType != "" && own == "":
		return usageErrorf("name it in a ClusterList of "+environment, "each cluster of type %s has its own folder, and %s is not listed", clusterType, p.options.Cluster)
	case clusterType != "" && !slices.Contains(types, own):
		return newUnknownError("cluster type", clusterType, types)
	}
	p.options.ClusterType = own
	for _, folder := range p.options.Also {
		if !slices.Contains(types, folder) {
			return newUnknownError("folder", folder, types)
		}
	}
	return nil
}

// listPlaces returns the environments of the control plane, and if a cluster type is named, the output folders of
// the named environment.
func (p *clusterCommand) listPlaces(ctx context.Context) (environments, types []string, own string, err error) {
	d, err := p.openSession(ctx, git.Signature{})
	if err == nil {
		environments, err = d.Environments(ctx)
	}
	if err == nil && p.options.ClusterType != "" && slices.Contains(environments, p.options.Environment) {
		types, own, err = d.OutputFolders(ctx, p.options.Environment, p.options.Cluster, p.options.ClusterType)
	}
	return environments, types, own, err
}

func (p *clusterCommand) print(connections []connect.Connection) error {
	var documents, all []byte
	for i, c := range connections {
		if i > 0 {
			documents, all = append(documents, "---\n"...), append(all, "---\n"...)
		}
		documents = append(documents, c.Manifests...)
		all = append(all, describeCommands("apply this, and then type on "+cmp.Or(p.applier, "the cluster"), connections[i:i+1], "# ")...)
		all = append(all, c.Manifests...)
	}
	objects, names, err := decodeObjects(documents)
	if err != nil {
		return err
	}
	if p.app.format == "yaml" && !p.app.dryRun {
		_, err = p.app.stdout.Write(documents)
		return err
	}
	value := map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}
	return p.app.printValue(value, names, func() string { return string(all) })
}

func describeCommands(heading string, connections []connect.Connection, prefix string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s:\n", prefix, heading)
	add := func(command string) {
		for line := range strings.Lines(command) {
			fmt.Fprintf(&b, "%s  %s\n", prefix, strings.TrimRight(line, "\n"))
		}
	}
	for _, c := range connections {
		for _, command := range c.Commands {
			add(command)
		}
		if c.Gate != "" {
			fmt.Fprintf(&b, "%swith Flux 2.7 or newer also this, or a fix waits for the health check of the commit that it fixes:\n", prefix)
			add(c.Gate)
		}
	}
	return b.String()
}

func decodeObjects(documents []byte) (objects []any, names []string, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(documents))
	for {
		var object map[string]any
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return objects, names, nil
		}
		if err != nil {
			return nil, nil, err
		}
		objects = append(objects, object)
		metadata, _ := object["metadata"].(map[string]any)
		names = append(names, fmt.Sprintf("%s/%s", strings.ToLower(fmt.Sprint(object["kind"])), metadata["name"]))
	}
}
