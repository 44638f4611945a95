package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/cli/atomicfile"
	"github.com/fairlead-io/fairlead/internal/config/kubeclient"
	"github.com/fairlead-io/fairlead/internal/controlplane/inventory"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
	"github.com/fairlead-io/fairlead/internal/reconcile/importer"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type clusterImport struct {
	app                            *app
	from, kinds                    []string
	kubeconfig, context, namespace string
	remove, write                  bool
}

func newClusterImport(a *app) *cobra.Command {
	i := &clusterImport{app: a}
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Bring a ClusterList up to date with the inventory of another system",
		Long: `Import compares the ClusterList in FILE with an inventory: ClusterProfiles of SIG-Multicluster,
ManagedClusters of Open Cluster Management, and the cluster Secrets of Argo CD, of which it reads
names and labels only. It reads files, or with --kubeconfig, --context or --kind an API server,
of which it only lists objects. The annotation fairlead.io/import of the list says by labels of which
type a cluster is. A cluster that no rule selects is named and not listed. A listed cluster that
the inventory does not have is named, and removed only with --remove.

It prints the changes, and with --write makes them in FILE, for a commit or a pull request. The
exit code is 4 if there are changes that are not written.`,
		Example: `  fairlead cluster import clusters.yaml --context hub --kind ClusterProfile --write
  kubectl get clusterprofiles -A -o yaml | fairlead cluster import clusters.yaml --from - --write
  fairlead cluster import clusters.yaml --from managedclusters.yaml --from argocd.yaml --remove`,
		Args: checkArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error { return i.run(c.Context(), args[0], c.InOrStdin()) },
	}
	c.Flags().StringArrayVar(&i.from, "from", nil, "a `file` with objects of the inventory, or - for standard input; may be repeated")
	c.Flags().StringArrayVar(&i.kinds, "kind", nil, "a `kind` of objects to read from the API server: "+text.Join(inventory.SourceKinds(), " or ")+" (default ClusterProfile); may be repeated")
	c.Flags().StringVar(&i.kubeconfig, "kubeconfig", "", "`file` that says how to reach the API server (default: that of kubectl)")
	c.Flags().StringVar(&i.context, "context", "", "context of the kubeconfig `NAME` (default: the current one)")
	c.Flags().StringVar(&i.namespace, "namespace", "", "the `namespace` of the objects (default: all)")
	c.Flags().BoolVar(&i.remove, "remove", false, "remove listed clusters that the inventory does not have")
	c.Flags().BoolVar(&i.write, "write", false, "write the changes to FILE")
	a.addOutputFlag(c)
	return c
}

// maxInventory bounds, in bytes, a file of an inventory.
const maxInventory = 64 << 20

func (i *clusterImport) run(ctx context.Context, file string, stdin io.Reader) error {
	asksServer := i.kubeconfig != "" || i.context != "" || len(i.kinds) > 0
	switch {
	case len(i.from) == 0 && !asksServer:
		return usageErrorf("--context names an API server, and --from a file that kubectl get clusterprofiles -A -o yaml prints", "import needs --context or --from")
	case i.namespace != "" && !asksServer:
		return usageErrorf("", "--namespace is for an API server, and none is read")
	}
	text, err := readFileOrInput(file, nil, maxInventory)
	if err != nil {
		return fmt.Errorf("read the ClusterList: %w", err)
	}
	documents, list, rules, err := parseClusterList(file, text)
	if err != nil {
		return err
	}
	var clusters []inventory.Cluster
	for _, name := range i.from {
		data, err := readFileOrInput(name, stdin, maxInventory)
		if err != nil {
			return fmt.Errorf("read the inventory: %w", err)
		}
		found, problems := inventory.Read(name, data)
		if problems.Stops() {
			return newProblemsError(problems)
		}
		fmt.Fprint(i.app.stderr, display.FormatProblems(problems, i.app.stderr))
		clusters = append(clusters, found...)
	}
	if asksServer {
		found, err := i.readServer(ctx)
		if err != nil {
			return err
		}
		clusters = append(clusters, found...)
	}
	if len(clusters) == 0 && i.remove { // a failed query must not empty the list
		return usageErrorf("check what is read, or empty the list by hand", "the inventory has no clusters, so --remove would remove all")
	}
	changes := inventory.Merge(list, rules, clusters, i.remove)
	if i.write && !changes.IsEmpty(i.remove) {
		out, err := yamldoc.Encode(documents...)
		if err != nil {
			return err
		}
		if err := atomicfile.WriteFile(file, out); err != nil {
			return err
		}
	}
	names := []string{}
	for _, c := range changes.Added {
		names = append(names, c.Cluster)
	}
	if err := i.app.printValue(newImportValue(changes), names, func() string { return formatImport(changes, i.remove) }); err != nil {
		return err
	}
	if !i.write && !changes.IsEmpty(i.remove) {
		return errDiffers
	}
	return nil
}

func (i *clusterImport) readServer(ctx context.Context) ([]inventory.Cluster, error) {
	config, err := kubeclient.LoadUserConfig(i.kubeconfig, i.context)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	client, err := kubeclient.New(config, "fairlead")
	if err != nil {
		return nil, err
	}
	kinds := i.kinds
	if len(kinds) == 0 {
		kinds = []string{inventory.Sources[0].Kind}
	}
	var clusters []inventory.Cluster
	for _, kind := range kinds {
		s, ok := inventory.FindSource(kind)
		if !ok {
			return nil, newUnknownError("kind of inventory", kind, inventory.SourceKinds())
		}
		found, problems, err := importer.ReadClusters(ctx, client, config.Host, s, i.namespace)
		if err != nil {
			return nil, err
		}
		fmt.Fprint(i.app.stderr, display.FormatProblems(problems, i.app.stderr))
		clusters = append(clusters, found...)
	}
	return clusters, nil
}

func parseClusterList(file string, text []byte) ([]*yaml.Node, *yaml.Node, model.ImportRules, error) {
	documents, err := yamldoc.Parse(text)
	if err != nil {
		return nil, nil, model.ImportRules{}, fmt.Errorf("read %s: %w", file, err)
	}
	for _, d := range documents {
		root := yamldoc.RootOf(d)
		rules := yamldoc.FindValue(root, "metadata", "annotations", model.ImportAnnotation)
		if yamldoc.FindText(root, "kind") != "ClusterList" || rules == nil {
			continue
		}
		subject := "ClusterList/" + yamldoc.FindText(root, "metadata", "name")
		read, problems := model.ReadImportRules(rules.Value, problem.Pos{File: file, Line: rules.Line}, subject)
		if problems.Stops() {
			return nil, nil, read, newProblemsError(problems)
		}
		return documents, root, read, nil
	}
	return nil, nil, model.ImportRules{}, usageErrorf("write the annotation "+model.ImportAnnotation+" on a ClusterList", "%s has no ClusterList with rules for imports", file)
}

type importValue struct {
	Added    []importedCluster `json:"added" yaml:"added"`
	Moved    []importedCluster `json:"moved" yaml:"moved"`
	Vanished []importedCluster `json:"vanished" yaml:"vanished"`
	Unknown  []importedCluster `json:"unknown" yaml:"unknown"`
}

type importedCluster struct {
	Name string `json:"name" yaml:"name"`
	Type string `json:"type,omitempty" yaml:"type,omitempty"` // afterwards, or that of a vanished one
	From string `json:"from,omitempty" yaml:"from,omitempty"` // its type before
}

func newImportValue(c inventory.Changes) importValue {
	convert := func(all []inventory.Change) []importedCluster {
		out := []importedCluster{}
		for _, c := range all {
			one := importedCluster{Name: c.Cluster, Type: c.To, From: c.From}
			if c.To == "" {
				one.Type, one.From = c.From, ""
			}
			out = append(out, one)
		}
		return out
	}
	return importValue{convert(c.Added), convert(c.Moved), convert(c.Vanished), convert(c.Unknown)}
}

func formatImport(c inventory.Changes, remove bool) string {
	var b strings.Builder
	for _, a := range c.Added {
		fmt.Fprintf(&b, "+ %s, of the type %s\n", a.Cluster, a.To)
	}
	for _, m := range c.Moved {
		fmt.Fprintf(&b, "~ %s, of the type %s, was %s\n", m.Cluster, m.To, m.From)
	}
	for _, v := range c.Vanished {
		if remove {
			fmt.Fprintf(&b, "- %s, of the type %s\n", v.Cluster, v.From)
		} else {
			fmt.Fprintf(&b, "? %s, of the type %s, is not in the inventory; --remove removes it\n", v.Cluster, v.From)
		}
	}
	for _, u := range c.Unknown {
		fmt.Fprintf(&b, "? %s has a type by no rule, and is not listed\n", u.Cluster)
	}
	if b.Len() == 0 {
		return "the list is up to date\n"
	}
	return b.String()
}

func readFileOrInput(name string, stdin io.Reader, limit int64) ([]byte, error) {
	if name != "-" || stdin == nil {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }() // it was only read
		stdin = file
	}
	data, err := io.ReadAll(io.LimitReader(stdin, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it is larger than %d MB", limit>>20)
	}
	return data, err
}
