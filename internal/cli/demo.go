package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
)

// demoCommand is `fairlead demo`.
type demoCommand struct {
	app    *app
	dir    string
	listen string
	once   bool
}

func newDemo(a *app) *cobra.Command {
	d := &demoCommand{app: a}
	c := &cobra.Command{
		Use:     "demo",
		GroupID: groupDaemon,
		Short:   "Watch the daemon work on a sample fleet, on this machine",
		Long: `Demo makes a control plane with a small fleet and a GitOps repository in a temporary
folder, runs the daemon over them, and says what to try. Nothing leaves this machine.
It ends with Ctrl-C, and removes the folder. It needs Git.`,
		Args: checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return d.runDemo(c.Context()) },
	}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&d.dir, "dir", "", "`folder` to make it in, and to keep")
	c.Flags().StringVar(&d.listen, "listen", "127.0.0.1:8080", "`host:port` of the status page; another port if it is taken")
	c.Flags().BoolVar(&d.once, "once", false, "run one cycle, and end")
	_ = c.MarkFlagDirname("dir")
	return c
}

// demoInterval is short, so that changes show at once.
const demoInterval = 2 * time.Second

func (d *demoCommand) runDemo(ctx context.Context) error {
	address, err := freeAddress(d.listen)
	if err != nil {
		return err
	}
	dir, remove, err := d.makeFolder()
	if err != nil {
		return err
	}
	defer remove()
	err = d.runDaemon(ctx, dir, address)
	if ctx.Err() != nil && !d.once { // that is how it ends
		return nil
	}
	return err
}

// runDaemon creates the repositories in a folder and runs the daemon over them.
func (d *demoCommand) runDaemon(ctx context.Context, dir, listen string) error {
	o := scaffold.Options{
		ControlPlane: filepath.Join(dir, "control-plane.git"), GitOps: filepath.Join(dir, "gitops.git"), Sample: true,
	}
	daemonSettings := scaffold.Daemon{DataDir: filepath.Join(dir, "data"), Listen: listen, Interval: demoInterval, Write: true}
	if err := createRepositories(ctx, o, dir, daemonSettings); err != nil {
		return err
	}
	for _, name := range []string{"control-plane", "gitops"} {
		clone := exec.CommandContext(ctx, "git", "clone", "--quiet", "--config", "user.name=Demo", "--config", "user.email=demo@localhost",
			filepath.Join(dir, name+".git"), filepath.Join(dir, name))
		if out, err := clone.CombinedOutput(); err != nil {
			return fmt.Errorf("git clone: %w: %s", err, out)
		}
	}
	settings, err := d.app.loadSettings(filepath.Join(dir, defaultSettingsFile), config.Load)
	if err != nil {
		return err
	}
	options := daemon.Options{Settings: settings, Version: d.app.version, Log: d.app.stderr}
	if d.once {
		snapshot, err := daemon.RunOnce(ctx, options)
		if err != nil {
			return err
		}
		fmt.Fprint(d.app.stdout, statusText(snapshot))
		return newCycleError(d.app, snapshot)
	}
	address := ""
	options.Ready = func(a string) { address = a }
	var once sync.Once
	options.After = func(s status.Snapshot) { once.Do(func() { fmt.Fprint(d.app.stdout, demoText(dir, address, s)) }) }
	return daemon.Serve(ctx, options)
}

// makeFolder creates the folder to work in, and returns a function that removes it if it is a
// temporary one.
func (d *demoCommand) makeFolder() (string, func(), error) {
	if d.dir == "" {
		dir, err := os.MkdirTemp("", "fairlead-demo-")
		return dir, func() { _ = os.RemoveAll(dir) }, err
	}
	dir, err := filepath.Abs(d.dir)
	if err != nil {
		return "", nil, err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return "", nil, usageErrorf("name one that is not there yet", "%s is not empty", dir)
	}
	return dir, func() {}, nil
}

// freeAddress returns the address, or one with any free port if the address is in use.
func freeAddress(address string) (string, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "", usageErrorf("it should be as 127.0.0.1:8080", "--listen %s is not a host and a port", address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return net.JoinHostPort(host, "0"), nil
	}
	return address, listener.Close()
}

// demoText returns what the demo has created and what to try.
func demoText(dir, address string, s status.Snapshot) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\nThe daemon runs, and looks every %s. Its page is http://%s/\n\nTry this in another terminal:\n\n", statusText(s), demoInterval, address)
	if path, err := os.Executable(); err == nil {
		if found, err := exec.LookPath("fairlead"); err != nil || found != path {
			fmt.Fprintf(&b, "  alias fairlead=%s\n", text.QuoteShell(text.QuoteShell(path))) // a shell reads it twice
		}
	}
	first, next := 1, 1
	for _, e := range s.Environments {
		if e.Pull == nil {
			continue
		}
		next = max(next, e.Pull.Number+1)
		if e.Name == "dev" {
			first = e.Pull.Number
		}
	}
	fmt.Fprintf(&b, `  cd %[1]s
  fairlead pr list        # one for each environment
  fairlead pr show %-6[2]d # that of dev: what it means, and its lines
  fairlead pr merge %[2]d

  cd ../control-plane && git switch dev
  sed -i.bak 's/debug/info/' configs/*.yaml && git commit -am 'Less noise' && git push

  cd ../gitops            # and, in two seconds, the next one
  fairlead pr show %[3]d

Ctrl-C ends it.
`, text.QuoteShell(filepath.Join(dir, "gitops")), first, next)
	return b.String()
}
