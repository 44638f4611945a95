package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/cli/fluxsim"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/server/session"
)

type demoCommand struct {
	app    *app
	dir    string
	listen string
	// isListenGiven means that no other address will do.
	isListenGiven bool

	pace  time.Duration
	once  bool
	stack bool
}

func newDemo(a *app) *cobra.Command {
	d := &demoCommand{app: a}
	c := &cobra.Command{
		Use:     "demo",
		GroupID: groupDaemon,
		Short:   "Show a change going from dev to stage to prod, on this machine",
		Long: `Demo creates a control plane with three environments and a GitOps repository, both plain
Git repositories in a temporary folder, and runs the daemon over them. Six simulated
clusters pull the output and report to the daemon as Flux does, signed.

First a change goes from dev to stage to prod by itself. Then demo prints steps to type in
a second terminal: change a value, break one team and promote another, hold. What happens is shown
here and on the daemon's page, which opens in the browser if demo writes to a terminal. Who reads it
on this machine is signed in, and may hold, roll back, freeze and approve there, too.

With --stack it shows a stack: a network, a cluster and a database, which Terraform makes, and
a Helm chart on top. A simulated cluster runs them as tofu-controller and Flux do. You
approve plans, change a component, correct its drift, move a change of a blueprint from dev
to prod, and tear the stack down.

Nothing leaves this machine, and no account is needed. Ctrl-C ends the demo and removes
the folder. It needs Git.`,
		Example: `  fairlead demo
  fairlead demo --stack
  fairlead demo --pace 15s        slow enough to talk about it
  fairlead demo --once            only the first part, for a script`,
		Args: checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			d.isListenGiven = c.Flags().Changed("listen")
			return d.runDemo(c.Context())
		},
	}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&d.dir, "dir", "", "`folder` to create it in, and to keep (default: a temporary one)")
	c.Flags().StringVar(&d.listen, "listen", "127.0.0.1:8080", "`host:port` of the daemon's page; if the default is taken, another port")
	addDurationFlag(c.Flags(), &d.pace, "pace", 2*time.Second, "`time` that a cluster takes to roll out a change")
	c.Flags().BoolVar(&d.once, "once", false, "end after the first part")
	c.Flags().BoolVar(&d.stack, "stack", false, "show a stack of Terraform modules and a Helm chart instead")
	_ = c.MarkFlagDirname("dir")
	return c
}

func (d *demoCommand) runDemo(ctx context.Context) error {
	if d.pace < 0 {
		return usageErrorf("as in --pace 10s", "--pace %s is less than no time", d.pace)
	}
	if err := checkGitProgram(ctx, "the demo"); err != nil && ctx.Err() == nil {
		return err
	}
	address, err := d.findAddress()
	if err != nil {
		return err
	}
	dir, remove, err := d.makeFolder()
	if err != nil {
		return err
	}
	defer remove()
	f := demoFolder(dir)
	err = f.create(ctx, address, d.stack, demoEnvironments...)
	if err == nil && d.stack {
		err = f.pushBlueprint(ctx)
	}
	if err == nil {
		err = d.runDaemon(ctx, f)
	}
	if ctx.Err() != nil { // the normal end
		return nil
	}
	return err
}

// demoPull is the pull interval of simulated clusters.
const demoPull = 500 * time.Millisecond

// demoPlay is a demo's content. Its methods may be called concurrently.
type demoPlay interface {
	begin(address string)
	// observeCycle prints the changes of a daemon's cycle.
	observeCycle(ctx context.Context, snapshot status.Snapshot)
	// simulate runs clusters that report to server until ctx ends.
	simulate(ctx context.Context, server string, logger *slog.Logger)
	// failure returns the reason to end the demo, or nil.
	failure() error
}

func (d *demoCommand) newPlay(f demoFolder, settings *config.Settings, end func()) (demoPlay, error) {
	names := list.Convert(demoClusters, func(c fluxsim.Cluster) string { return c.Name })
	if d.stack {
		names = list.Convert(demoEnvironments, func(e string) string { return addEnvironment(stackCluster, e) })
	}
	keys, err := deriveDemoKeys(settings, names)
	if err != nil {
		return nil, err
	}
	lines := demoLines{d.app.stdout, time.Now()}
	if d.stack {
		return &stackDemo{demoLines: lines, folder: f, once: d.once, end: end, pace: d.pace, keys: keys, outputs: map[string]string{}, shown: map[string]bool{}}, nil
	}
	s := newDemoStory(lines, f, end)
	s.once, s.pace, s.keys = d.once, d.pace, keys
	return s, nil
}

// runDaemon runs until ctx ends, something fails or, with --once, the first part is
// over.
func (d *demoCommand) runDaemon(ctx context.Context, f demoFolder) error {
	settings, err := d.app.loadSettings(f.path(defaultSettingsFile), config.Load)
	if err != nil {
		return err
	}
	log, err := os.Create(f.path(demoLogFile))
	if err != nil {
		return err
	}
	defer log.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	play, err := d.newPlay(f, settings, stop)
	if err != nil {
		return err
	}
	options := daemon.Options{Settings: settings, Version: d.app.version, Log: log, Local: &demoPerson, After: func(s status.Snapshot) { play.observeCycle(ctx, s) }}
	address := make(chan string, 1)
	options.Ready = func(a string) { address <- a }
	var failed error
	serve := func() {
		defer stop()
		failed = daemon.Serve(ctx, options)
	}
	simulate := func() {
		select {
		case <-ctx.Done():
		case a := <-address:
			err = f.recordAddress(settings.Listen, a)
			if err != nil {
				stop()
				return
			}
			play.begin(a)
			show := func() { d.showPage(ctx, "http://"+a+"/") } // some openers last as long as the browser
			run := func() { play.simulate(ctx, "http://"+a, slog.New(slog.NewTextHandler(log, nil))) }
			parallel.Each(2, []func(){show, run}, func(_ int, one func()) { one() })
		}
	}
	parallel.Each(2, []func(){serve, simulate}, func(_ int, run func()) { run() })
	return errors.Join(failed, err, play.failure())
}

// demoPerson is who acts at the page, and is the author of the commits in the demo's clone.
var demoPerson = session.Person{Issuer: "demo", Subject: "demo", Name: "Demo", Email: "demo@localhost"}

func (d *demoCommand) showPage(ctx context.Context, page string) {
	if d.once || !d.app.stdout.Terminal {
		return
	}
	err := openBrowser(ctx, page)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(d.app.stderr, "fairlead: note: %s: open the page yourself\n", display.SanitizeLine(err.Error()))
	}
}

func deriveDemoKeys(settings *config.Settings, clusters []string) (map[string]string, error) {
	secrets, err := settings.LedgerSecrets()
	if err != nil {
		return nil, err
	}
	keys := map[string]string{}
	for _, name := range clusters {
		keys[name], err = ledger.DeriveKey(secrets[0], name, 0)
		if err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// makeFolder returns a function that removes a temporary folder and its cached mirrors.
func (d *demoCommand) makeFolder() (string, func(), error) {
	if d.dir == "" {
		dir, err := os.MkdirTemp("", "fairlead-demo-")
		return dir, func() { removeDemo(dir) }, err
	}
	dir, err := filepath.Abs(d.dir)
	if err != nil {
		return "", nil, err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return "", nil, usageErrorf("name one that does not exist yet", "%s is not empty", dir)
	}
	return dir, func() {}, nil
}

func removeDemo(dir string) {
	_ = os.RemoveAll(dir)
	for _, name := range []string{"control-plane.git", "gitops.git"} {
		for _, cache := range []string{"look", "git"} {
			mirror := cacheFolder(cache, giturl.FolderName(filepath.Join(dir, name)))
			_ = os.RemoveAll(mirror)
			_ = os.Remove(mirror + ".lock")
		}
	}
}

// findAddress falls back from the default address to a free port.
func (d *demoCommand) findAddress() (string, error) {
	host, _, err := net.SplitHostPort(d.listen)
	if err != nil {
		return "", usageErrorf("it should be as 127.0.0.1:8080", "--listen %s is not a host and a port", d.listen)
	}
	listener, err := net.Listen("tcp", d.listen)
	switch {
	case err == nil:
		return d.listen, listener.Close()
	case d.isListenGiven:
		return "", problem.WithHint(fmt.Errorf("--listen %s: %w", d.listen, err), "name another address, or leave the flag out: then any port will do")
	}
	return net.JoinHostPort(host, "0"), nil
}

var demoEnvironments = []string{"dev", "stage", "prod"}

// demoClusters has a cluster of each type in each environment.
var demoClusters = newDemoClusters(demoEnvironments, []string{"cloud", "edge"})

func newDemoClusters(environments, types []string) []fluxsim.Cluster {
	var all []fluxsim.Cluster
	for _, env := range environments {
		for _, t := range types {
			all = append(all, fluxsim.Cluster{Name: fmt.Sprintf("%s-%s", env, t), Environment: env, Folder: t})
		}
	}
	return all
}

var demoSources = map[string]fluxsim.Source{"https://github.com/stefanprodan/podinfo": {
	Branches: []string{"master"}, Tags: []string{"6.7.0", "6.7.1", "6.8.0", "6.9.0", "6.9.1", "6.9.2"},
}}
