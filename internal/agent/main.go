package agent

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime/debug"
	"time"

	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config/kubeclient"
	"github.com/fairlead-io/fairlead/internal/ledger"
)

// stampedVersion is set by the linker (-X); "" uses Go's build information.
var stampedVersion string

const (
	exitFailed = 1
	exitUsage  = 2
)

const helpIntro = `Fairlead-agent reports what a cluster runs: how far the objects of Flux, Argo CD and Rancher
Fleet have got, and with which revision. It reads, and changes nothing; it needs a pod with the
right to list these objects, and the key of the cluster, which "fairlead fleet token NAME" prints:
https://github.com/fairlead-io/fairlead/blob/main/docs/how-to/connect-a-cluster.md

Usage:
  fairlead-agent --server URL --name NAME --key-file FILE [flags]

Examples:
  fairlead-agent --server https://fairlead.example.com --name east-1 --key-file /etc/fairlead-agent/key
  fairlead-agent --server https://fairlead.example.com --name east-1 --key-file key --kubeconfig ~/.kube/config

Flags:
`

type settings struct {
	server, name, keyFile, caFile string
	every                         time.Duration
	kubeconfig, context           string
	listen, logFormat             string
	once, verbose, version, help  bool
}

func newFlags(s *settings) *pflag.FlagSet {
	f := pflag.NewFlagSet("fairlead-agent", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVar(&s.server, "server", "", "`URL` of Fairlead; required")
	f.StringVar(&s.name, "name", "", "`name` of the cluster, which its key is for; required")
	f.StringVar(&s.keyFile, "key-file", "", "`file` with the key of the cluster, as fairlead fleet token prints it, read again for each report; required")
	f.DurationVar(&s.every, "every", time.Minute, "how often to report; changes are reported as soon as they are seen")
	f.StringVar(&s.kubeconfig, "kubeconfig", "", "`file` that says how to reach the cluster; without it, as a pod of the cluster")
	f.StringVar(&s.context, "context", "", "context of the kubeconfig `NAME`; without it, the current one")
	f.StringVar(&s.caFile, "ca-file", "", "`file` with the certificates to trust, in the place of the system's")
	f.StringVar(&s.listen, "listen", "127.0.0.1:8081", "`address` for /healthz, /readyz and /metrics; empty for none")
	f.StringVar(&s.logFormat, "log-format", "text", "`format` of the log: text or json")
	f.BoolVar(&s.once, "once", false, "report once, and exit with 1 if the report is not accepted")
	f.BoolVar(&s.verbose, "verbose", false, "log each report")
	f.BoolVar(&s.version, "version", false, "print the version")
	f.BoolVarP(&s.help, "help", "h", false, "print this text")
	return f
}

// Main runs the program until ctx ends and returns its exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var s settings
	flags := newFlags(&s)
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	switch {
	case err == nil && s.help:
		fmt.Fprint(stdout, helpIntro, flags.FlagUsagesWrapped(100))
		return 0
	case err == nil && s.version:
		fmt.Fprintln(stdout, readVersion())
		return 0
	case err == nil:
		err = s.check(flags)
	}
	if err != nil {
		return showError(stderr, exitUsage, problem.WithHint(err, "run fairlead-agent --help"))
	}
	if err := s.run(ctx, stderr); err != nil {
		return showError(stderr, exitFailed, err)
	}
	return 0
}

func showError(stderr io.Writer, code int, err error) int {
	fmt.Fprintf(stderr, "fairlead-agent: error: %s\n", err)
	var refused *problem.Refusal
	if errors.As(err, &refused) && refused.Hint() != "" {
		fmt.Fprintf(stderr, "fairlead-agent: hint: %s\n", refused.Hint())
	}
	return code
}

func (s *settings) check(flags *pflag.FlagSet) error {
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	for _, required := range []struct{ name, value string }{{"server", s.server}, {"name", s.name}, {"key-file", s.keyFile}} {
		if required.value == "" {
			return fmt.Errorf("--%s is missing", required.name)
		}
	}
	if s.logFormat != "text" && s.logFormat != "json" {
		return fmt.Errorf("--log-format is %q, and should be text or json", s.logFormat)
	}
	return errors.Join(ledger.CheckClusterName(s.name), checkEvery(s.every))
}

func (s *settings) run(ctx context.Context, log io.Writer) error {
	target, err := NewLedger(s.server, s.keyFile, s.caFile)
	if err != nil {
		return err
	}
	config, err := kubeclient.LoadConfig(s.kubeconfig, s.context)
	if err != nil {
		return err
	}
	cluster, err := NewCluster(config, readVersion())
	if err != nil {
		return err
	}
	var seed [32]byte
	if _, err := crand.Read(seed[:]); err != nil {
		return fmt.Errorf("draw a random number: %w", err)
	}
	logger := newLogger(s, log)
	a := New(Options{
		Name: s.name, Every: s.every, Version: readVersion(), Cluster: cluster, Ledger: target, Logger: logger,
		Random: rand.New(rand.NewChaCha8(seed)), Now: time.Now, Wait: Wait,
	})
	if s.once {
		a.runRound(ctx)
		return a.findTrouble()
	}
	if s.listen == "" {
		a.Run(ctx)
		return nil
	}
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.listen, err)
	}
	logger.Info("reporting", "cluster", s.name, "server", s.server, "every", s.every.String(), "listen", listener.Addr().String())
	return a.runWithWindow(ctx, listener)
}

func newLogger(s *settings, w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{}
	if s.verbose {
		o.Level = slog.LevelDebug
	}
	if s.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

func readVersion() string {
	if stampedVersion != "" {
		return stampedVersion
	}
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" {
		return build.Main.Version
	}
	return "unknown"
}
