package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// facts is who knows how the environments fare: a daemon that runs, or a loop of our own.
type facts interface {
	// Chain gives how far commits have got now.
	Chain(ctx context.Context) (status.Chain, error)
	// Close ends the asking.
	Close()
}

// facts gives who knows: the daemon of --url, or a loop that looks and writes nothing.
// The error is errUnknown if there is neither.
func (s *station) facts(ctx context.Context) (facts, error) {
	if s.url != "" {
		return daemon{strings.TrimSuffix(s.url, "/") + "/api/v1/status"}, nil
	}
	return s.look(ctx)
}

// errUnknown says that nobody knows how the environments fare.
var errUnknown = command.Usagef("--config FILE says where the settings are, and --url URL asks a daemon", "it takes the settings, or a daemon, to know how the environments fare")

// daemon answers for itself.
type daemon struct{ url string }

const (
	// askTimeout bounds a question to a daemon, maxAnswer its answer in bytes.
	askTimeout = 30 * time.Second
	maxAnswer  = 64 << 20
)

// Chain asks the daemon.
func (d daemon) Chain(ctx context.Context) (status.Chain, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		return status.Chain{}, command.Usagef("as in --url http://daemon:8080", "--url cannot be read: %v", err)
	}
	hint := "--url is that of the daemon's page, as in http://daemon:8080"
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return status.Chain{}, command.Hint(err, hint)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return status.Chain{}, command.Hint(fmt.Errorf("%s answers %s", d.url, answer.Status), hint)
	}
	var snapshot struct {
		Chain             *status.Chain
		ControlPlaneError string
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(&snapshot); err != nil {
		return status.Chain{}, command.Hint(fmt.Errorf("%s answers what cannot be read: %w", d.url, err), hint)
	}
	switch {
	case snapshot.Chain == nil:
		return status.Chain{}, command.Hint(fmt.Errorf("%s does not say how far commits have got", d.url), hint)
	case snapshot.ControlPlaneError != "":
		return status.Chain{}, fmt.Errorf("the daemon cannot read the control plane: %s", snapshot.ControlPlaneError)
	}
	return *snapshot.Chain, nil
}

// Close does nothing: a daemon goes on.
func (daemon) Close() {}

// observer is a loop that looks and writes nothing.
type observer struct{ *loop.Loop }

// look makes a loop with mirrors of its own, so that it is in no daemon's way. The error
// is errUnknown if there are no settings.
func (s *station) look(ctx context.Context) (observer, error) {
	if err := s.readSettings(); err != nil {
		return observer{}, err
	}
	if s.settings == nil {
		return observer{}, errUnknown
	}
	settings := *s.settings
	settings.Write, settings.DataDir, settings.Signing = false, mirrors(s.place), nil
	// What clusters have told the daemon on this machine, if there is one. It is not
	// written to.
	inbox, err := observe.NewInbox(filepath.Join(s.settings.DataDir, "reports"))
	if err != nil {
		fmt.Fprintf(s.Err, "fairlead: warning: %v\n", err)
	}
	loop, err := loop.New(ctx, loop.Options{Settings: &settings, Store: &status.Store{}, Now: s.now, Inbox: inbox})
	return observer{loop}, err
}

// Chain does one cycle.
func (o observer) Chain(ctx context.Context) (status.Chain, error) {
	if err := o.Cycle(ctx); err != nil {
		return status.Chain{}, command.Elsewhere(err, "controlPlane.repo in the settings says where it is, and remotes how to get in")
	}
	if o.Settings.Promotion != "managed" {
		return status.Chain{External: true, Stages: []status.Stage{}}, nil
	}
	chain := o.Store.Snapshot().Chain
	if chain.Checked.IsZero() {
		return chain, errors.New("it could not be found out how far commits have got; fairlead serve --once says why")
	}
	return chain, nil
}
