package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/deploy"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/cli/atomicfile"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/ledger/connect"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// installCommand is `fairlead install daemon` and `fairlead install agent`.
type installCommand struct {
	app      *app
	image    string
	chartDir string // the folder that the chart is written to; "" to print objects
}

func newInstall(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "install",
		GroupID: groupDaemon,
		Short:   "Print what installs the daemon, or the agent of a cluster, in Kubernetes",
		Long: `Install prints the objects of the daemon, or of the agent of a cluster, for kubectl apply or
for a GitOps repository; or it writes the Helm chart with the same objects. Both are part of
this program: nothing is downloaded, and no cluster is contacted.`,
		Args: checkSubcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newInstallDaemon(a), newInstallAgent(a))
	return c
}

func (i *installCommand) addInstallFlags(c *cobra.Command) {
	c.Flags().SortFlags = false
	c.Flags().StringVar(&i.image, "image", "", "the `image`, with its tag or digest")
	c.Flags().StringVar(&i.chartDir, "chart", "", "write the Helm chart to this new `folder` instead")
	_ = c.MarkFlagDirname("chart")
}

func newInstallDaemon(a *app) *cobra.Command {
	i := &installCommand{app: a}
	o, settings := deploy.Options{}, ""
	c := &cobra.Command{
		Use:   "daemon --image IMAGE",
		Short: "Print what installs the daemon",
		Long: `Prints a namespace, an account without rights, the settings, one pod, a service and a network
policy. The settings are those of --settings, which are checked first; without it, an example that
writes nothing. Their secrets are files of a Secret "fairlead", which you create:

  kubectl -n fairlead create secret generic fairlead --from-file=token=TOKEN-FILE`,
		Example: `  fairlead install daemon --image registry.example.com/fairlead:v1 --settings fairlead.yaml | kubectl apply -f -
  fairlead install daemon --chart charts/fairlead`,
		Args: checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if i.chartDir != "" {
				return i.writeChart(c.Context(), "fairlead")
			}
			o.Image = i.image
			var err error
			o.Settings, err = a.readInstalledSettings(settings)
			if err != nil {
				return err
			}
			text, err := deploy.RenderDaemon(o)
			return i.print(text, err)
		},
	}
	i.addInstallFlags(c)
	c.Flags().StringVar(&settings, "settings", "", "a `file` with the settings of the daemon")
	c.Flags().StringVar(&o.Namespace, "namespace", "fairlead", "the `namespace`")
	return c
}

// readInstalledSettings reads the settings of a daemon that runs elsewhere: their secrets are files there.
func (a *app) readInstalledSettings(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if problems := config.CheckFields(name, data); problems.Stops() {
		return nil, &problemsError{summary: "the settings have " + display.CountProblems(problems.Count()), list: problems, ofSettings: true}
	}
	return data, nil
}

func newInstallAgent(a *app) *cobra.Command {
	i := &installCommand{app: a}
	server := ""
	c := &cobra.Command{
		Use:   "agent NAME --server URL --image IMAGE",
		Short: "Print what installs the agent on the cluster NAME",
		Long: `Prints what fairlead cluster connect NAME --agent prints: a namespace, an account that may list
the objects of Flux, Argo CD and Fleet, one pod and a network policy; and in comments the command
that stores the key of the cluster.`,
		Example: `  fairlead install agent east-1 --server https://fairlead.example.com --image registry.example.com/fairlead-agent:v1 |
    kubectl apply -f -
  fairlead install agent --chart charts/fairlead-agent`,
		Args: checkArguments(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case i.chartDir != "":
				return i.writeChart(c.Context(), "fairlead-agent")
			case len(args) == 0:
				return usageErrorf("as in fairlead install agent east-1", "it is not said for which cluster the agent is")
			}
			made, err := connect.Render(connect.Agent, connect.Options{Cluster: args[0], Server: server, Image: i.image, TokenCommand: "fairlead fleet token " + args[0]})
			if err == nil {
				made.Manifests = append([]byte(describeCommands("for the Secret that this needs, type on the cluster", []connect.Connection{made}, "# ")), made.Manifests...)
			}
			return i.print(made.Manifests, err)
		},
	}
	i.addInstallFlags(c)
	c.Flags().StringVar(&server, "server", "", "`URL` of Fairlead, as the cluster reaches it")
	return c
}

func (i *installCommand) print(objects []byte, err error) error {
	switch {
	case i.image == "":
		return usageErrorf("add --image; docker build makes one, and a release names one", "it is not said which image is installed")
	case err != nil:
		return usageErrorf("", "%s", text.OneLine(err.Error()))
	}
	_, err = i.app.stdout.Write(objects)
	return err
}

func (i *installCommand) writeChart(ctx context.Context, name string) error {
	files, err := deploy.Chart(name)
	if err != nil {
		return err
	}
	ignored := atomicfile.Mark{Path: ".helmignore", Text: []byte(".helmignore\n")}
	n, err := atomicfile.WriteFolder(ctx, i.chartDir, files, ignored, false)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(i.app.stderr, "fairlead: wrote %s to %s\n", text.Count(n, "file"), display.SanitizeLine(i.chartDir))
	return err
}
