// Package doctor checks whether the daemon can work with its settings: whether it can read, and
// where necessary push to, every repository of the control plane, and what the forges permit.
//
// It changes nothing, except for a branch that it pushes and removes on request: it runs the
// daemon's cycle in a temporary folder, without writing. It does not guess what a server does not
// report. Findings have a stable order, no credentials, and a hint unless they are OK.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Finding is the result of a check. A daemon's page shows findings too.
type Finding = status.Finding

// The levels of findings.
const (
	OK   = status.LevelOK
	Warn = status.LevelWarn
	Fail = status.LevelFail
)

// Options configures an examination.
type Options struct {
	Settings *config.Settings
	Now      func() time.Time
	// Push pushes a branch to each repository that the daemon pushes to, and removes it at once.
	Push bool
	// CheckListen returns why an address is unusable; nil skips the check.
	CheckListen func(address string) error
	// HeldUp has clusters that finished an older health check first, by name.
	HeldUp []HeldUp
	// Keyring is that of the running daemon; nil for a new one.
	Keyring *access.Keyring
}

// HeldUp is a cluster whose controller finished an older health check first.
type HeldUp struct {
	Cluster, Object string
	Seen            time.Time // last time
}

// Examine runs all checks and returns the findings by subject. The error is of temporary files or
// ctx.
func Examine(ctx context.Context, o Options) ([]Finding, error) {
	dir, err := os.MkdirTemp("", "fairlead-doctor-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	d := newExamination(o)
	d.mirrors = &repos.Mirrors{Dir: dir, Options: func(place string) (git.RemoteOptions, error) { // as the daemon does
		guard, err := access.GuardLocation(o.Settings, place)
		return git.RemoteOptions{Guard: guard, IsTrusted: o.Settings.NamesRepository, Timeout: o.Settings.Timeout, Credentials: d.keys.GitCredentials(place)}, err
	}}
	d.checkMachine(ctx)
	d.checkSettings()
	checkSchedulers(d)
	d.checkDaemon(ctx)
	d.checkLedger(ctx)
	d.checkHealthChecks(o.HeldUp)
	if d.checkControlPlane(ctx) {
		d.rehearseCycle(ctx, dir)
	}
	all := d.sortedRepositories()
	tasks, runTask := make([]func(), 0, 2*len(all)), func(_ int, task func()) { task() }
	for _, r := range all {
		tasks = append(tasks, func() { d.checkRepository(ctx, r) })
		d.checkForge(r)
	}
	parallel.Each(len(tasks), tasks, runTask)
	d.checkForges(ctx, all, func(r *repository) { r.api.kind.checkRepository(ctx, d, r) })
	return d.sortedFindings(), ctx.Err()
}

func newExamination(o Options) *examination {
	d := &examination{config: o.Settings, now: o.Now, pushes: o.Push, checkListen: o.CheckListen, keys: o.Keyring, repositories: map[string]*repository{}, forges: map[string]*forgeAPI{}}
	if d.keys == nil {
		d.keys = access.New(o.Settings, o.Now)
	}
	return d
}

func (d *examination) checkForges(ctx context.Context, all []*repository, check func(*repository)) {
	var asked []*forgeAPI
	for _, a := range d.forges {
		asked = append(asked, a)
	}
	parallel.Each(len(asked), asked, func(_ int, a *forgeAPI) { a.works = a.kind.checkCredential(ctx, d, a) })
	working := slices.DeleteFunc(slices.Clone(all), func(r *repository) bool { return r.api == nil || !r.api.works }) // already reported
	parallel.Each(len(working), working, func(_ int, r *repository) { check(r) })
}

type examination struct {
	config       *config.Settings
	now          func() time.Time
	pushes       bool
	runs         bool // a daemon runs and shows limits and expiry itself
	checkListen  func(address string) error
	keys         *access.Keyring
	mirrors      *repos.Mirrors         // temporary
	repositories map[string]*repository // by normalized URL
	forges       map[string]*forgeAPI   // by URL of the credential
	merge        map[string]string      // merge settings by environment
	dispatches   bool                   // a gate runs workflows
	order        []string

	mu    sync.Mutex
	found []Finding
}

type repository struct {
	url          string
	controlPlane bool      // statuses are set there
	outputs      []output  // of environments
	records      []output  // environment branches for records
	plain        bool      // without a forge API
	api          *forgeAPI // nil without an API or token
	path         string    // on the forge: "owner/name"
}

type output struct{ environment, branch string }

func (r *repository) redactedURL() string { return giturl.Redact(r.url) }

func (d *examination) repositoryAt(place string) *repository {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := giturl.Normalize(place)
	if d.repositories[key] == nil {
		d.repositories[key] = &repository{url: place}
	}
	return d.repositories[key]
}

func (d *examination) sortedRepositories() []*repository {
	for _, r := range d.repositories {
		for _, all := range [][]output{r.outputs, r.records} {
			slices.SortFunc(all, func(a, b output) int {
				return strings.Compare(a.branch+"\n"+a.environment, b.branch+"\n"+b.environment)
			})
		}
	}
	return slices.SortedFunc(maps.Values(d.repositories), func(a, b *repository) int { return strings.Compare(a.url, b.url) })
}

func (d *examination) addOK(what, format string, args ...any) {
	d.addFinding(OK, what, fmt.Sprintf(format, args...), "")
}

func (d *examination) addWarning(what, hint, format string, args ...any) {
	d.addFinding(Warn, what, fmt.Sprintf(format, args...), hint)
}

func (d *examination) addFailure(what, hint, format string, args ...any) {
	d.addFinding(Fail, what, fmt.Sprintf(format, args...), hint)
}

func (d *examination) addFinding(level status.Level, what, message, hint string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.found = append(d.found, Finding{Level: level, Subject: what, Message: message, Hint: hint})
}

func (d *examination) addError(level status.Level, what string, err error) {
	d.addFinding(level, what, err.Error(), findHint(err))
}

func findHint(err error) string {
	var hinted interface{ Hint() string }
	var limit *forge.RateLimit
	switch {
	case errors.As(err, &hinted) && hinted.Hint() != "":
		return hinted.Hint()
	case errors.As(err, &limit):
		return "look again after that time"
	case errors.Is(err, git.ErrAccess), errors.Is(err, git.ErrNotFound):
		return "check the URL, and the credential for it in remotes of the settings; servers hide from people what they may not read"
	case errors.Is(err, git.ErrNoRevision):
		return "controlPlane.branch in the settings names the branch; is it spelt so?"
	}
	return "check the URL, and that this machine can reach the host"
}

// sortedFindings returns sorted findings of one line each, without credentials, even in messages of
// servers.
func (d *examination) sortedFindings() []Finding {
	clean := d.newRedactor()
	for i := range d.found {
		f := &d.found[i]
		f.Message, f.Hint = clean(f.Message), clean(f.Hint)
	}
	slices.SortStableFunc(d.found, func(a, b Finding) int {
		return strings.Compare(d.sortKey(a.Subject)+"\n"+a.Message, d.sortKey(b.Subject)+"\n"+b.Message)
	})
	return slices.Compact(d.found)
}

// sortKey orders subjects by words, and environments by promotion order.
func (d *examination) sortKey(subject string) string {
	words := strings.Fields(subject)
	for i, word := range words {
		name := strings.TrimSuffix(word, ":")
		if at := slices.Index(d.order, name); at >= 0 {
			words[i] = fmt.Sprintf("%06d%s", at, word[len(name):])
		}
	}
	return strings.Join(words, " ")
}

func (d *examination) newRedactor() func(string) string {
	var pairs []string
	hide := func(ref *config.SecretRef) {
		if ref == nil {
			return
		}
		if secret, err := ref.Read(); err == nil {
			pairs = append(pairs, secret.Reveal(), "[redacted]")
		}
	}
	for _, r := range d.config.Remotes {
		hide(r.Token)
		if r.SSH != nil {
			hide(r.SSH.Passphrase)
		}
	}
	for _, r := range d.repositories { // a URL may contain a secret
		if u, err := url.Parse(r.url); err == nil && u.User != nil && u.Scheme != "ssh" {
			if password, ok := u.User.Password(); ok {
				pairs = append(pairs, password, "[redacted]")
			} else {
				pairs = append(pairs, u.User.Username(), "[redacted]")
			}
		}
	}
	secrets := strings.NewReplacer(pairs...)
	return func(text string) string { return forge.OneLine(secrets.Replace(text), maxText) }
}

// maxText limits a sentence, in characters.
const maxText = 500
