package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/ephemeral"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// chainReader reads the state of the stages: from a daemon, or with a loop of its own.
type chainReader interface {
	// Chain returns the state of the stages now.
	Chain(ctx context.Context) (status.Chain, error)
	// Close frees what Chain used.
	Close()
}

// newChainReader returns the daemon of --url, or a loop that writes nothing. The error is
// errNoChainReader if there is neither.
func (cc *commandContext) newChainReader(ctx context.Context) (chainReader, error) {
	if cc.daemonURL != "" {
		return daemonClient{cc.daemonURL}, nil
	}
	return cc.newObserver(ctx)
}

// errNoChainReader means that there is nothing to read the state of the stages from.
var errNoChainReader = usageErrorf("--config FILE reads with the settings, --url URL asks a running daemon; fairlead status also works in a clone of the control plane",
	"there is no "+defaultSettingsFile+" here, and no --config and no --url")

// daemonClient is the client of a running daemon.
type daemonClient struct{ url string } // of its page

const (
	// daemonTimeout bounds a request to a daemon, maxAnswer its answer in bytes.
	daemonTimeout   = 30 * time.Second
	maxDaemonAnswer = 64 << 20

	daemonHint = "--url is that of the daemon's page, as in http://daemon:8080"
)

func (d daemonClient) statusURL() string { return d.pageURL() + "api/v1/status" }

// readStatus decodes the status of the daemon into snapshot.
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

// fetch decodes what an address of the daemon answers into what target returns for its code; nothing if
// that is nil.
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

// newAnswerError returns the error of an address that does not answer as a daemon does.
func (d daemonClient) newAnswerError(address string, code int) error {
	hint := daemonHint
	page, err := url.Parse(d.pageURL())
	if err == nil && page.Path != "/" && code == http.StatusNotFound {
		hint = fmt.Sprintf("no daemon answers below %s: its page is at the root of its host, unless a proxy maps that path to it; try --url %s://%s", page.Path, page.Scheme, page.Host)
	}
	err = fmt.Errorf("%s answers %d %s", address, code, http.StatusText(code))
	if code >= http.StatusInternalServerError { // as a proxy does while the daemon starts
		err = unreachable{err}
	}
	return problem.WithHint(err, hint)
}

// unreachable is the error of a daemon that may answer when it is asked again.
type unreachable struct{ error }

// Unwrap returns the error.
func (u unreachable) Unwrap() error { return u.error }

// Chain asks the daemon.
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

// addStates sets the states of ephemeral environments that the daemon reports.
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

// Close does nothing: the daemon keeps running.
func (daemonClient) Close() {}

// observer is a loop that writes nothing.
type observer struct {
	loop     *loop.Loop
	settings *config.Settings
	store    *status.Store
	stderr   *display.Stream
	// isWriting is whether the daemon of these settings promotes.
	isWriting bool
	progress  *atomic.Pointer[display.Progress] // of the cycle that runs; nil if none does
}

// showStep shows what the loop does, and for how many environments that is done.
func (o observer) showStep(what string, done, total int) {
	if p := o.progress.Load(); p != nil {
		p.Show(display.Step{What: what, Done: done, Total: total, Unit: "environment"})
	}
}

// Close closes the loop.
func (o observer) Close() { o.loop.Close() }

// newObserver returns a loop with mirrors of its own, so that it does not lock those of a daemon.
// The error is errNoChainReader if there are no settings.
func (cc *commandContext) newObserver(ctx context.Context) (observer, error) {
	if err := cc.readSettings(); err != nil {
		return observer{}, err
	}
	if cc.settings == nil {
		return observer{}, errNoChainReader
	}
	settings := *cc.settings
	settings.Write, settings.DataDir, settings.Signing = false, cacheFolder("look", giturl.FolderName(cc.controlPlane)), nil
	keys, err := loop.NewTrustedKeys(cc.settings)
	if err != nil { // the private key is where the daemon is
		keys, err = loop.NewTrustedKeys(&settings)
	}
	if err != nil {
		return observer{}, err
	}
	o := observer{settings: &settings, store: &status.Store{}, stderr: cc.app.stderr, isWriting: cc.settings.Write, progress: &atomic.Pointer[display.Progress]{}}
	options := loop.Options{Settings: &settings, Store: o.store, Now: cc.now, Progress: o.showStep, TrustedKeys: &keys}
	err = cc.readReports(ctx, &options)
	if err != nil {
		fmt.Fprintf(cc.app.stderr, "fairlead: warning: %v\n", err)
	}
	o.loop, err = loop.New(ctx, options)
	return o, err
}

// readReports reads what clusters have reported to the daemon, where its ledger or its data folder can be
// reached, and writes nothing. The error is a warning.
func (cc *commandContext) readReports(ctx context.Context, into *loop.Options) error {
	if !cc.settings.HasLedger() {
		inbox, err := observe.NewInbox(filepath.Join(cc.settings.DataDir, "reports"))
		into.Inbox = inbox
		return err
	}
	read := func() (*recorder.Recorder, error) { return recorder.Read(ctx, cc.settings.LedgerFile(), cc.now) }
	if cc.settings.Ledger.Postgres != nil {
		read = func() (*recorder.Recorder, error) {
			return recorder.ReadShared(ctx, cc.settings.LedgerAddress, cc.now)
		}
	}
	r, err := read()
	into.Inbox, into.Ledger = r, r
	return err
}

// Chain runs one cycle.
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
