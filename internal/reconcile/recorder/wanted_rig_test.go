package recorder_test

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/reconcile/wanted"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// outputs is an output branch on a server, with the folder prod, and a mirror of it.
type outputs struct {
	*testing.T
	work   *gittest.Work
	server *gittest.Server
	remote *git.Remote
}

func newOutputs(t *testing.T, partial bool) *outputs {
	t.Helper()
	server := gittest.Serve(t)
	server.Create("out")
	o := &outputs{T: t, work: server.Work(t, "out"), server: server}
	o.work.Switch("main")
	o.remote = o.newRemote(partial)
	return o
}

func (o *outputs) newRemote(partial bool) *git.Remote {
	o.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: o.server.URL("out"), Dir: filepath.Join(o.TempDir(), "mirror"), Partial: partial, NarrowPoll: partial})
	if err != nil {
		o.Fatal(err)
	}
	return remote
}

// reconciler returns the reconciler.yaml of a deployment target that follows a branch, or stays at a
// version.
func reconciler(target, branch, tag string) string {
	return fmt.Sprintf(`apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: %[1]s, namespace: flux-system}
spec: {url: "https://user:hidden@example.com/%[1]s", ref: {branch: %[2]q, tag: %[3]q}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %[1]s, namespace: flux-system}
spec: {path: ./deploy, sourceRef: {kind: GitRepository, name: %[1]s}}
`, target, branch, tag)
}

// commit writes files into the folder prod, removes those without text, commits them at a time of the day
// of noon, pushes them, and fetches.
func (o *outputs) commit(at string, files map[string]string) string {
	o.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name] == "" {
			o.work.Remove("prod/" + name)
		} else {
			o.work.Write("prod/"+name, files[name])
		}
	}
	gittest.Git(o, o.work.Dir, "add", "-A")
	return o.commitIndex(at)
}

// commitTree commits the files of another commit.
func (o *outputs) commitTree(at, like string) string {
	o.Helper()
	gittest.Git(o, o.work.Dir, "rm", "-rfq", ".")
	gittest.Git(o, o.work.Dir, "checkout", "-q", like, "--", ".")
	return o.commitIndex(at)
}

func (o *outputs) commitIndex(at string) string {
	o.Helper()
	o.Setenv("GIT_COMMITTER_DATE", "2026-11-23T"+at+":00Z")
	gittest.Git(o, o.work.Dir, "commit", "-q", "--allow-empty", "-m", "output of "+at)
	o.push()
	return gittest.Git(o, o.work.Dir, "rev-parse", "HEAD")
}

// reset sets the branch to another commit.
func (o *outputs) reset(to string) {
	o.Helper()
	gittest.Git(o, o.work.Dir, "reset", "-q", "--hard", to)
	o.push()
}

func (o *outputs) push() {
	o.Helper()
	o.work.Push("+main")
	o.sync(o.remote)
}

func (o *outputs) sync(remote *git.Remote) {
	o.Helper()
	if _, err := remote.Sync(o.Context()); err != nil {
		o.Fatal(err)
	}
}

func (o *outputs) branch() wanted.Branch {
	return wanted.Branch{Environment: "prod", Repo: o.server.URL("out"), Branch: "main", Folder: "prod", Expected: map[string]int{"large": 3}, Remote: o.remote}
}

// record has a Recorder record what is new.
func (o *outputs) record(r *recorder.Recorder) {
	r.TellOutputs([]wanted.Branch{o.branch()})
	r.RecordToldOutputs(o.Context())
}

// ask returns the rows of an answer of a store, as another program sees them.
func ask(store testStore, question string) []string {
	if p, ok := store.(*postgresStore); ok {
		return p.db.QueryAll(question)
	}
	s := store.(*sqliteStore)
	s.Helper()
	var all []string
	db, err := sql.Open("sqlite", s.path)
	if err != nil {
		s.Fatal(err)
	}
	rows, err := db.Query(question)
	for err == nil && rows.Next() {
		var text string
		err = rows.Scan(&text)
		all = append(all, text)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		s.Fatal(question, err)
	}
	return all
}

// questions ask for all that is stored of what clusters should run, without ids.
var questions = []string{
	`select 'environment ' || name || ' ' || branch || ' ' || folder from environment`,
	`select 'type ' || environment.name || '/' || cluster_type.name || ' ' || coalesce(expected, -1)
		from cluster_type join environment on environment.id = cluster_type.environment`,
	`select 'output ' || environment.name || ' ' || seq || ' line ' || line || ' ' || sha || ' of ' || base || ' ' || plane || ' ' || coalesce(authored, 0) || ' ' || merged
		from output join environment on environment.id = output.environment`,
	`select 'folder ' || cluster_type.name || ' ' || from_seq || '-' || coalesce(to_seq, 0) || ' ' || folder
		from desired_type join cluster_type on cluster_type.id = desired_type.cluster_type`,
	`select 'file ' || cluster_type.name || '/' || target || ' ' || from_seq || '-' || coalesce(to_seq, 0) || ' ' || digest
		from desired join assignment on assignment.id = desired.assignment join cluster_type on cluster_type.id = assignment.cluster_type
		join reconciler_file on reconciler_file.id = desired.file`,
	`select 'part ' || digest || ' ' || object || ' of ' || repo || ' ' || ref || ' ' || path || ' ' || coalesce(pinned, '-')
		from part join reconciler_file on reconciler_file.id = part.file`,
	arrivalsQuestion,
}

const arrivalsQuestion = `select 'arrival ' || sha || ' ' || cluster.first_name || ' ' || coalesce(ready, 0) || ' ' || coalesce(failed, 0)
	from arrival join output on output.id = arrival.output join cluster on cluster.id = arrival.cluster where coalesce(ready, failed) is not null`

// dumpWanted returns all that is stored of what clusters should run. Commits have the given names.
func dumpWanted(store testStore, names map[string]string) string {
	var all []string
	for _, q := range questions {
		lines := ask(store, q)
		slices.Sort(lines)
		all = append(all, lines...)
	}
	text := strings.Join(all, "\n")
	for sha, name := range names {
		text = strings.ReplaceAll(text, sha, name)
	}
	return text
}

// arrivals returns when outputs came to clusters, as "B e1 ready 12:02".
func arrivals(store testStore, names map[string]string) string {
	var all []string
	for _, line := range ask(store, arrivalsQuestion) {
		var sha, cluster string
		var ready, failed int64
		_, _ = fmt.Sscanf(line, "arrival %s %s %d %d", &sha, &cluster, &ready, &failed)
		text := names[sha] + " " + cluster
		if failed > 0 {
			text += " failed " + time.Unix(failed, 0).UTC().Format("15:04:05")
		}
		if ready > 0 {
			text += " ready " + time.Unix(ready, 0).UTC().Format("15:04:05")
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// away lets nothing be recorded in a store until back.
func away(store testStore) {
	if s, ok := store.(*sqliteStore); ok {
		s.change("create trigger gone before insert on output begin select raise(fail, 'gone'); end")
		return
	}
	store.goAway()
}

func back(store testStore) {
	if s, ok := store.(*sqliteStore); ok {
		s.change("drop trigger gone")
		return
	}
	store.comeBack()
}
