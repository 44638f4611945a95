package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/ephemeral"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// chainReader reads the state of the stages from a daemon or an own loop.
type chainReader interface {
	Chain(ctx context.Context) (status.Chain, error)
	// Close frees what Chain used.
	Close()
}

// newChainReader returns the daemon of --url, or a loop that writes nothing, or
// errNoChainReader.
func (cc *commandContext) newChainReader(ctx context.Context) (chainReader, error) {
	if cc.daemonURL != "" {
		return daemonClient{cc.daemonURL}, nil
	}
	return cc.newObserver(ctx)
}

var errNoChainReader = usageErrorf("--config FILE reads with the settings, --url URL asks a running daemon; fairlead status also works in a clone of the control plane",
	"there is no "+defaultSettingsFile+" here, and no --config and no --url")

type daemonClient struct{ url string }

const (
	// daemonTimeout bounds a request, and maxDaemonAnswer its answer in bytes.
	daemonTimeout   = 30 * time.Second
	maxDaemonAnswer = 64 << 20

	daemonHint = "--url is that of the daemon's page, as in http://daemon:8080"
)

func (d daemonClient) statusURL() string { return d.pageURL() + "api/v1/status" }

func (d daemonClient) readStatus(ctx context.Context, snapshot any) error {
	code, err := d.fetch(ctx, d.statusURL(), func(code int) any {
		if code != http.StatusOK {
			return nil
		}
		return snapshot
	})
	if err == nil && code != http.StatusOK {
		err = d.newAnswerError(d.statusURL(), code)
	}
	return err
}

// fetch decodes the answer of an address into the result of target for its code, which
// may be nil.
func (d daemonClient) fetch(ctx context.Context, address string, target func(code int) any) (code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, daemonTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, usageErrorf("as in --url http://daemon:8080", "--url is not a URL: %v", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, problem.WithHint(unreachable{err}, daemonHint)
	}
	defer answer.Body.Close()
	into := target(answer.StatusCode)
	if into == nil {
		return answer.StatusCode, nil
	}
	err = json.NewDecoder(io.LimitReader(answer.Body, maxDaemonAnswer)).Decode(into)
	if err != nil {
		err = problem.WithHint(fmt.Errorf("%s answers what cannot be read: %w", address, err), daemonHint)
	}
	return answer.StatusCode, err
}

func (d daemonClient) newAnswerError(address string, code int) error {
	hint := daemonHint
	page, err := url.Parse(d.pageURL())
	if err == nil && page.Path != "/" && code == http.StatusNotFound {
		hint = fmt.Sprintf("no daemon answers below %s: its page is at the root of its host, unless a proxy maps that path to it; try --url %s://%s", page.Path, page.Scheme, page.Host)
	}
	err = fmt.Errorf("%s answers %d %s", address, code, http.StatusText(code))
	if code >= http.StatusInternalServerError { // such as a proxy while the daemon starts
		err = unreachable{err}
	}
	return problem.WithHint(err, hint)
}

// unreachable is the error of a daemon that may answer later.
type unreachable struct{ error }

func (u unreachable) Unwrap() error { return u.error }

func (d daemonClient) Chain(ctx context.Context) (status.Chain, error) {
	var snapshot struct {
		Chain             *status.Chain
		ControlPlaneError string
	}
	err := d.readStatus(ctx, &snapshot)
	switch {
	case err != nil:
		return status.Chain{}, err
	case snapshot.Chain == nil:
		return status.Chain{}, problem.WithHint(fmt.Errorf("%s does not say how far commits have got", d.statusURL()), daemonHint)
	case snapshot.ControlPlaneError != "":
		return status.Chain{}, fmt.Errorf("the daemon cannot read the control plane: %s", snapshot.ControlPlaneError)
	}
	return *snapshot.Chain, nil
}

func (d daemonClient) addStates(ctx context.Context, items []ephemeral.Item) error {
	var snapshot struct {
		Environments []struct{ Name, State string }
	}
	if err := d.readStatus(ctx, &snapshot); err != nil {
		return err
	}
	states := map[string]string{}
	for _, e := range snapshot.Environments {
		states[e.Name] = e.State
	}
	for i := range items {
		items[i].State = states[items[i].Name]
	}
	return nil
}

func (daemonClient) Close() {}

type observer struct {
	loop     *loop.Loop
	settings *config.Settings
	store    *status.Store
	stderr   *display.Stream
	// isWriting is true if the daemon of these settings promotes.
	isWriting bool
	progress  *atomic.Pointer[display.Progress] // of the current cycle, or nil
}

func (o observer) showStep(what string, done, total int) {
	if p := o.progress.Load(); p != nil {
		p.Show(display.Step{What: what, Done: done, Total: total, Unit: "environment"})
	}
}

func (o observer) Close() { o.loop.Close() }

// newObserver returns a loop with its own mirrors, so that it does not lock a daemon's.
// Without settings the error is errNoChainReader.
func (cc *commandContext) newObserver(ctx context.Context) (observer, error) {
	if err := readObserverSettings(cc); err != nil {
		return observer{}, err
	}
	if cc.settings == nil {
		return observer{}, errNoChainReader
	}
	settings := *cc.settings
	settings.Write, settings.DataDir, settings.Signing = false, cacheFolder("look", giturl.FolderName(cc.controlPlane)), nil
	keys, err := loop.NewTrustedKeys(cc.settings)
	if err != nil { // the private key is only on the daemon's machine
		keys, err = loop.NewTrustedKeys(&settings)
	}
	if err != nil {
		return observer{}, err
	}
	o := observer{settings: &settings, store: &status.Store{}, stderr: cc.app.stderr, isWriting: cc.settings.Write, progress: &atomic.Pointer[display.Progress]{}}
	options := loop.Options{Settings: &settings, Store: o.store, Now: cc.now, Progress: o.showStep, TrustedKeys: &keys, Contents: newContents(ctx, cc)}
	err = cc.readReports(ctx, &options)
	if err != nil {
		fmt.Fprintf(cc.app.stderr, "fairlead: warning: %v\n", err)
	}
	o.loop, err = loop.New(ctx, options)
	return o, err
}

// refuseBothPlaces refuses two places to ask for what only one of them answers.
func refuseBothPlaces(cc *commandContext) error {
	if cc.daemonURL != "" && cc.controlPlaneFlag != "" {
		return usageErrorf("leave one of them out", "--url and --control-plane exclude each other")
	}
	return nil
}

// readObserverSettings reads the settings, or has them name the control plane of the flag, and nothing else.
func readObserverSettings(cc *commandContext) error {
	if cc.controlPlaneFlag == "" || cc.settings != nil {
		return cc.readSettings()
	}
	if err := cc.locateControlPlane(); err != nil {
		return err
	}
	written, err := yamldoc.Encode(map[string]map[string]string{"controlPlane": {"repo": cc.controlPlane}})
	if err != nil {
		return err
	}
	settings, problems := config.Parse("--control-plane", written, ".", os.Getenv)
	if problems.Stops() {
		return newProblemsError(problems)
	}
	cc.settings = settings
	return nil
}

// readReports reads clusters' reports from the ledger, if reachable. The error is a warning.
func (cc *commandContext) readReports(ctx context.Context, into *loop.Options) error {
	read := func() (*recorder.Recorder, error) { return recorder.Read(ctx, cc.settings.LedgerFile(), cc.now) }
	if cc.settings.Ledger.Postgres != nil {
		read = func() (*recorder.Recorder, error) {
			return recorder.ReadShared(ctx, cc.settings.LedgerAddress, cc.now)
		}
	}
	r, err := read()
	into.Inbox = r
	if cc.settings.HasLedger() {
		into.Ledger = r
	}
	return err
}

func (o observer) Chain(ctx context.Context) (status.Chain, error) {
	progress := o.stderr.StartProgress(display.Step{What: "read the repositories and their forges"})
	o.progress.Store(progress)
	err := o.loop.Cycle(ctx)
	o.progress.Store(nil)
	progress.Stop()
	if err != nil {
		return status.Chain{}, withSettingsHint(err)
	}
	if o.settings.Promotion != "managed" {
		return status.Chain{External: true, Stages: []status.Stage{}}, nil
	}
	chain := o.store.Snapshot().Chain
	if chain.Checked.IsZero() {
		return chain, errors.New("it could not be found out how far commits have got; fairlead serve --once says why")
	}
	if !o.isWriting {
		for i, s := range chain.Stages {
			if s.Next.State == promote.Promotes {
				chain.Stages[i].Action = "gets " + text.ShortCommit(s.Next.Candidate) + " from a daemon with write: true"
			}
		}
	}
	return chain, nil
}
