// Package ledgerworld provides tests with a ledger of a few clusters, each of which stands in another way
// to what is wanted of it.
//
// What the package keeps true: what is wanted and what was reported are the same in each engine; the
// clock stands still at [Now].
package ledgerworld

import (
	"context"
	"database/sql"
	_ "embed" // what is wanted
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/testkit/pgtest"
)

//go:embed wanted.sql
var wanted string

//go:embed arrivals.sql
var arrivals string

//go:embed lab.sql
var lab string

// Now is when questions are asked: 35 minutes after the newest output was merged.
var Now = time.Date(2026, time.November, 23, 13, 5, 0, 0, time.UTC)

// World is a fleet of a few clusters.
type World struct {
	Recorder *recorder.Recorder
	View     *fleetview.View

	t        testing.TB
	execute  func(statements string)
	now      time.Time
	sequence uint64
}

// NewSQLite returns a fleet with a ledger in a file.
func NewSQLite(t testing.TB, path string) *World {
	return newWorld(t, recorder.Options{Path: path}, func(statements string) {
		db, err := sql.Open("sqlite", path)
		if err == nil {
			_, err = db.ExecContext(t.Context(), statements)
			err = errors.Join(err, db.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

// NewPostgres returns a fleet with a ledger in a database of PostgreSQL.
func NewPostgres(t testing.TB, db *pgtest.Database) *World {
	return newWorld(t, recorder.Options{Postgres: func() (string, error) { return db.Address, nil }}, db.Exec)
}

func newWorld(t testing.TB, o recorder.Options, execute func(statements string)) *World {
	t.Helper()
	w := &World{t: t, execute: execute, now: Now}
	o.Now, o.Logger = func() time.Time { return w.now }, slog.New(slog.DiscardHandler)
	w.Recorder = recorder.Open(t.Context(), o)
	w.check(w.Recorder.Check())
	w.View = &fleetview.View{Ledger: w.Recorder, Ask: w.Recorder.Ask, Now: o.Now}
	t.Cleanup(func() { w.check(w.Recorder.Close()) })
	execute(wanted)
	w.fill()
	w.check(w.Recorder.Flush(context.WithoutCancel(t.Context())))
	execute(arrivals)
	return w
}

func (w *World) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

const (
	platform = "Kustomization/flux-system/platform"
	checkout = "Kustomization/flux-system/checkout-api"
	payments = "HelmRelease/shop/payments"
)

// apps are the versions of the applications in charts.
var apps = map[string]string{"2.2.0": "6.7.0"}

func commit(digit byte) string {
	text := make([]byte, 40)
	for i := range text {
		text[i] = digit
	}
	return "main@sha1:" + string(text)
}

// report is what a cluster says of an object.
type report struct {
	object  string
	phase   ledger.Phase
	target  string
	message string // the id of the plan, if it waits
}

// Destroyed is the message of a Terraform object that is ready because everything is destroyed.
const Destroyed = "destroyed"

func (w *World) say(at time.Time, environment, clusterType, cluster string, change func(*ledger.Contact), all ...report) {
	w.t.Helper()
	w.now, w.sequence = at, w.sequence+1
	c := ledger.Contact{
		Name: cluster, UID: "uid-" + cluster, Group: ledger.Group{Environment: environment, ClusterType: clusterType}, Platform: platform,
		Every: time.Minute, Boot: "1", Sequence: w.sequence, Sent: at, Received: at,
	}
	if change != nil {
		change(&c)
	}
	var reports []ledger.Report
	for _, r := range all {
		one := ledger.Report{Object: ledger.Object{Name: r.object}, Phase: r.phase, Target: r.target, App: apps[r.target], Message: r.message, Level: true, Said: at}
		switch {
		case r.phase == ledger.Waiting:
			one.Message, one.Plan.ID = "", r.message
		case r.phase == ledger.Ready && r.message == Destroyed:
			one.Message, one.Plan.Destroys = "", true
		}
		reports = append(reports, one)
	}
	w.Recorder.Receive(c, reports)
}

func (w *World) at(text string) time.Time {
	parsed, err := time.Parse(time.DateTime, "2026-11-23 "+text+":00")
	w.check(err)
	return parsed
}

// AddSilent adds a cluster that was last in touch long ago.
func (w *World) AddSilent(environment, cluster string) {
	w.t.Helper()
	w.say(w.at("11:09"), environment, "large", cluster, nil)
	w.now = Now
}

// AddObjects has a cluster report more objects.
func (w *World) AddObjects(environment, clusterType, cluster string, n int) {
	w.t.Helper()
	var all []report
	for i := range n {
		all = append(all, report{fmt.Sprintf("Kustomization/flux-system/more-%03d", i), ledger.Ready, commit('a'), ""})
	}
	w.say(Now, environment, clusterType, cluster, nil, all...)
	w.check(w.Recorder.Flush(w.t.Context()))
}

// AddPlatform adds a cluster that has reported of what applies its output, and of nothing else.
func (w *World) AddPlatform(environment, clusterType, cluster string) {
	w.t.Helper()
	w.say(w.at("11:05"), environment, clusterType, cluster, nil, report{platform, ledger.Ready, commit('a'), ""})
	w.now = Now
	w.check(w.Recorder.Flush(w.t.Context()))
}

// FailPlatform has a cluster of prod fail at the newest output.
func (w *World) FailPlatform(clusterType, cluster, message string) {
	w.t.Helper()
	w.say(Now, "prod", clusterType, cluster, nil, report{platform, ledger.Failed, commit('c'), message})
	w.check(w.Recorder.Flush(w.t.Context()))
}

// MoveCluster has a cluster belong to another part of the fleet from now on.
func (w *World) MoveCluster(environment, clusterType, cluster string) {
	w.t.Helper()
	w.say(Now, environment, clusterType, cluster, nil)
	w.check(w.Recorder.Flush(w.t.Context()))
}

// HoldUp has a controller of a cluster finish the health check of an older revision of an object first.
func (w *World) HoldUp(environment, clusterType, cluster, object string) {
	w.t.Helper()
	w.say(Now, environment, clusterType, cluster, func(c *ledger.Contact) { c.HeldUp = object })
	w.check(w.Recorder.Flush(w.t.Context()))
}

// AddLab adds an environment lab, with outputs in several months.
func (w *World) AddLab() { w.execute(lab) }

// ReportLate has an agent of east-6, which was last in touch 29 minutes ago, tell that it has had another
// version of payments for 20 minutes.
func (w *World) ReportLate() {
	w.t.Helper()
	var reports []ledger.Report
	for _, at := range []time.Time{Now.Add(-20 * time.Minute), Now} {
		reports = append(reports, ledger.Report{Object: ledger.Object{Name: payments}, Phase: ledger.Ready, Target: "2.2.0", Level: true, Said: at})
	}
	w.sequence++
	w.Recorder.Receive(ledger.Contact{
		Name: "east-6", UID: "uid-east-6", Group: ledger.Group{Environment: "prod", ClusterType: "large"}, Every: time.Minute,
		Boot: "1", Sequence: w.sequence, Sent: Now, Received: Now,
	}, reports)
	w.check(w.Recorder.Flush(w.t.Context()))
}

// fill has clusters report.
func (w *World) fill() {
	a, b, c := commit('a'), commit('b'), commit('c')
	ready := func(object, target string) report { return report{object, ledger.Ready, target, ""} }
	for _, name := range []string{"east-1", "east-2", "east-3", "east-4", "east-5", "east-6"} {
		w.say(w.at("11:05"), "prod", "large", name, nil, ready(platform, a), ready(checkout, commit('1')), ready(payments, "2.1.0"))
	}
	for _, name := range []string{"west-1", "west-2"} {
		w.say(w.at("11:06"), "prod", "small", name, nil, ready(platform, a), ready(checkout, commit('1')))
	}
	w.say(w.at("11:07"), "stage", "large", "stage-1", nil, ready(platform, a), ready(checkout, commit('2')), ready(payments, "2.2.0"))
	w.say(w.at("11:08"), "prod", "large", "east-7", func(c *ledger.Contact) { c.Unproven, c.Boot, c.UID = true, "", "" }, ready(platform, a))
	w.say(w.at("12:32"), "prod", "large", "east-1", nil, ready(platform, c), ready(checkout, commit('2')))
	w.say(w.at("12:33"), "prod", "large", "east-2", nil, report{platform, ledger.Failed, c, "timeout waiting for Deployment/x"})
	w.say(w.at("12:34"), "prod", "large", "east-3", nil, report{platform, ledger.Suspended, b, ""})
	w.say(w.at("12:35"), "prod", "small", "west-1", nil, ready(platform, b), report{checkout, ledger.Failed, commit('2'), "image not found"})
	w.say(w.at("12:36"), "prod", "small", "west-2", nil, report{"GitRepository/flux-system/gitops", ledger.Failed, "", "authentication required"})
	w.say(w.at("12:36"), "prod", "large", "east-6", nil, report{"BundleDeployment/fleet/web", ledger.Failed, "", "Modified(1): deployment.apps shop/web modified"})
	w.say(w.at("12:37"), "prod", "large", "east-4", nil, report{"Kustomization/flux-system/infra", ledger.Failed, b, "no matches for kind"}, report{platform, ledger.Progressing, c, ""})
	w.say(w.at("13:03"), "prod", "large", "east-5", func(c *ledger.Contact) { c.UID = "uid-other" })
	for _, name := range []string{"east-1", "east-2", "east-3", "east-4", "east-5", "west-1", "west-2", "stage-1", "east-7"} {
		environment, clusterType := "prod", "large"
		if name[0] == 'w' {
			clusterType = "small"
		}
		if name[0] == 's' {
			environment = "stage"
		}
		w.say(w.at("13:04"), environment, clusterType, name, func(c *ledger.Contact) {
			if name == "east-7" {
				c.Unproven, c.Boot, c.UID = true, "", ""
			}
		})
	}
	for _, refused := range []struct {
		at   time.Time
		name string
	}{{w.at("12:00").AddDate(0, 0, -1), "east-1"}, {w.at("12:50"), "east-1"}, {w.at("12:51"), "east-1"}, {w.at("12:52"), "made-up"}} {
		w.now = refused.at
		w.Recorder.RefuseKey(refused.name)
	}
	w.now = Now
}
