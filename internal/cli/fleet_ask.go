package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/server/web"
)

// fleetAsker queries the clusters of all environments.
type fleetAsker interface {
	// askFleet decodes the answer of a query: see [fleetview.View.Answer].
	askFleet(ctx context.Context, question string, values url.Values, into any) error
	// Close frees what askFleet used.
	Close()
}

func (cc *commandContext) addFleetFlags(c *cobra.Command) {
	c.Flags().StringVar(&cc.daemonURL, "url", "", "ask the daemon whose page is at this `URL` (default: listen of the settings)")
	addConfigFlag(c, &cc.settingsFile, "", " (default: "+defaultSettingsFile+")")
	cc.app.addTableFlag(c)
}

// openFleet returns the daemon of --url or the settings, or else, with a note, the
// settings' store.
func (cc *commandContext) openFleet(ctx context.Context) (fleetAsker, error) {
	daemon, absence, err := cc.findFleetDaemon(ctx)
	if err != nil {
		return nil, err
	}
	if absence != "" {
		return cc.openLedger(ctx, absence)
	}
	return daemon, nil
}

// findFleetDaemon returns the daemon of --url or the settings. absence explains why
// none answers although the settings have a ledger.
func (cc *commandContext) findFleetDaemon(ctx context.Context) (daemon daemonClient, absence string, err error) {
	if cc.daemonURL != "" {
		return daemonClient{cc.daemonURL}, "", nil
	}
	err = cc.readSettings()
	if err != nil {
		return daemonClient{}, "", err
	}
	switch {
	case cc.settings == nil:
		return daemonClient{}, "", errNoDaemonKnown
	case !cc.settings.HasLedger():
		return daemonClient{}, "", usageErrorf("write where its secret is into the settings, as ledger: {secret: {file: ledger-secret}}; clusters report to the ledger then",
			"the settings have no ledger")
	}
	page := pageOf(cc.settings.Listen)
	if page == "" {
		return daemonClient{}, "the settings name no address of a daemon", nil
	}
	daemon = daemonClient{page}
	_, err = daemon.fetch(ctx, daemon.pageURL()+"healthz", func(int) any { return nil })
	var refused *net.OpError
	if errors.As(err, &refused) {
		return daemonClient{}, "no daemon answers at " + page, nil
	}
	return daemon, "", err
}

// requireFleetDaemon requires a daemon: old reports must not decide anything.
func (cc *commandContext) requireFleetDaemon(ctx context.Context) (fleetAsker, error) {
	daemon, absence, err := cc.findFleetDaemon(ctx)
	if err != nil {
		return nil, err
	}
	if absence != "" {
		return nil, problem.WithHint(unreachable{fmt.Errorf("%s, and stored reports may be out of date", absence)}, "start fairlead serve, or name the daemon with --url; fairlead fleet shows what is stored")
	}
	return daemon, nil
}

func (d daemonClient) askFleet(ctx context.Context, question string, values url.Values, into any) error {
	address := d.pageURL() + "api/v1/fleet/" + question
	if len(values) > 0 {
		address += "?" + values.Encode()
	}
	var refused struct{ Error, Hint string }
	code, err := d.fetch(ctx, address, func(code int) any {
		if code == http.StatusOK {
			return into
		}
		return &refused
	})
	switch {
	case code == http.StatusOK || err != nil && code == 0:
		return err
	case err != nil || refused.Error == "" || refused.Error == web.NothingHere:
		return d.newAnswerError(address, code)
	case code == http.StatusNotFound, code == http.StatusBadRequest:
		return usageErrorf(refused.Hint, "%s", refused.Error)
	}
	return problem.WithHint(errors.New(refused.Error), refused.Hint)
}

type storedFleet struct {
	store *ledgerdb.Store
	view  fleetview.View
}

func (cc *commandContext) openLedger(ctx context.Context, why string) (fleetAsker, error) {
	s, place := &storedFleet{}, cc.settings.LedgerFile()
	var known *recorder.Recorder
	var err error
	if cc.settings.Ledger.Postgres != nil {
		place = "the database of the settings"
		var address string
		address, err = cc.settings.LedgerAddress()
		if err == nil {
			s.store, err = ledgerdb.ReadPostgres(ctx, address)
		}
		if err == nil {
			known, err = recorder.ReadShared(ctx, cc.settings.LedgerAddress, cc.now)
		}
	} else {
		s.store, err = ledgerdb.ReadSQLite(ctx, place)
		if err == nil {
			known, err = recorder.Read(ctx, place, cc.now)
		}
	}
	if err != nil {
		s.Close()
		return nil, problem.WithHint(fmt.Errorf("%s, and the ledger cannot be read: %w", why, err), "start fairlead serve, or name the daemon with --url")
	}
	if !cc.ledgerNoted {
		fmt.Fprintf(cc.app.stderr, "fairlead: note: %s: these are the last reports in %s\n", why, place)
		cc.ledgerNoted = true
	}
	known.ReadMark(cc.settings.LedgerMark())
	s.view = fleetview.View{
		Ledger: known, Now: cc.now,
		Ask: func(_ context.Context, question func(*ledgerdb.Store) error) error { return question(s.store) },
	}
	return s, nil
}

func (s *storedFleet) askFleet(ctx context.Context, question string, values url.Values, into any) error {
	answer, err := s.view.Answer(ctx, question, values)
	var unknown *fleetview.UnknownError
	var unclear *fleetview.QueryError
	switch {
	case errors.As(err, &unknown):
		return usageErrorf(unknown.Hint(), "%v", unknown)
	case errors.As(err, &unclear):
		return usageErrorf(unclear.Hint(), "%v", unclear)
	case err != nil:
		return err
	}
	body, err := json.Marshal(answer)
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	return err
}

func (s *storedFleet) Close() {
	if s.store != nil {
		_ = s.store.Close() // read only
	}
}

// askAll returns all pages of a list.
func askAll[T any](ctx context.Context, of fleetAsker, question string, values url.Values) ([]T, error) {
	all := []T{}
	for {
		var page fleetview.Page[T]
		err := of.askFleet(ctx, question, values, &page)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.Next == "" {
			return all, nil
		}
		values.Set("after", page.Next)
	}
}

func newValues(pairs ...string) url.Values {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return values
}
