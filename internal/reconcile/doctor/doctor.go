// Package doctor checks whether the daemon can do its work with its settings: whether every
// repository that the control plane names can be read, and pushed to where the daemon must;
// and what the forges permit the credentials.
//
// What the package keeps true: it changes nothing, in no repository and on no forge (it
// fetches into a temporary folder, and runs the daemon's own cycle there, without writing), but
// for the branch that it makes and removes again if it is told to push; it does not guess what a server does not report; each finding that is not
// OK has a hint; the findings are in the same order in every run; and none has a
// credential in it.
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

// Finding is the result of a check. The page of a daemon shows findings too.
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
	// Push has a branch pushed to each repository that the daemon pushes to, and removed at once.
	Push bool
	// CheckListen returns why an address cannot be listened on; nil checks no address.
	CheckListen func(address string) error
	// HeldUp are the clusters whose controllers were seen to finish the health check of an older revision first, by name.
	HeldUp []HeldUp
	// Keyring is the one of a daemon that runs; nil for another one.
	Keyring *access.Keyring
}

// HeldUp is a cluster on which a controller finished the health check of an older revision first.
type HeldUp struct {
	Cluster, Object string
	Seen            time.Time // when it was last seen to
}

// Examine runs all checks and returns their findings, sorted by subject. It returns an
// error if it cannot create temporary files, or if ctx ends.
func Examine(ctx context.Context, o Options) ([]Finding, error) {
	dir, err := os.MkdirTemp("", "fairlead-doctor-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	d := newExamination(o)
	d.mirrors = &repos.Mirrors{Dir: dir, Options: func(place string) (git.RemoteOptions, error) { // as the daemon reaches it
		guard, err := access.GuardLocation(o.Settings, place)
		return git.RemoteOptions{Guard: guard, IsTrusted: o.Settings.NamesRepository, Timeout: o.Settings.Timeout, Credentials: d.keys.GitCredentials(place)}, err
	}}
	d.checkMachine(ctx)
	d.checkSettings()
	d.checkDaemon(ctx)
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

// newExamination returns an examination that knows no repository yet.
func newExamination(o Options) *examination {
	d := &examination{config: o.Settings, now: o.Now, pushes: o.Push, checkListen: o.CheckListen, keys: o.Keyring, repositories: map[string]*repository{}, forges: map[string]*forgeAPI{}}
	if d.keys == nil {
		d.keys = access.New(o.Settings, o.Now)
	}
	return d
}

// checkForges checks all credentials at once, and then each repository whose credential works.
func (d *examination) checkForges(ctx context.Context, all []*repository, check func(*repository)) {
	var asked []*forgeAPI
	for _, a := range d.forges {
		asked = append(asked, a)
	}
	parallel.Each(len(asked), asked, func(_ int, a *forgeAPI) { a.works = a.kind.checkCredential(ctx, d, a) })
	working := slices.DeleteFunc(slices.Clone(all), func(r *repository) bool { return r.api == nil || !r.api.works }) // there is a finding already
	parallel.Each(len(working), working, func(_ int, r *repository) { check(r) })
}

// examination is one examination.
type examination struct {
	config       *config.Settings
	now          func() time.Time
	pushes       bool
	runs         bool // the daemon does: it shows limits and expiry of credentials itself
	checkListen  func(address string) error
	keys         *access.Keyring
	mirrors      *repos.Mirrors         // temporary
	repositories map[string]*repository // by normalized URL
	forges       map[string]*forgeAPI   // by the URL of the remote whose credential is used
	merge        map[string]string      // who merges the output, by environment
	dispatches   bool                   // a gate runs workflows
	order        []string               // of the environments: that of promotion

	mu    sync.Mutex
	found []Finding
}

// repository is one that the daemon reads or writes.
type repository struct {
	url          string
	controlPlane bool      // statuses are set there
	outputs      []output  // of the environments, whose pull requests are there
	records      []output  // the environments' own branches, which records are pushed to
	plain        bool      // its forge is Git alone
	api          *forgeAPI // of its forge; nil if there is none, or no token for it
	path         string    // on the forge: "owner/name"
}

// output is a branch of an environment.
type output struct{ environment, branch string }

func (r *repository) redactedURL() string { return giturl.Redact(r.url) }

// repositoryAt returns the repository with a URL, and adds it if it is new.
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

// addError adds a finding for an error, with its own hint if it has one.
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

// sortedFindings returns the findings: sorted, on one line each, and with credentials redacted,
// also those in messages of servers.
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

// sortKey returns a text by which subjects are sorted: by their words, and environments among them in the
// order of promotion.
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

// newRedactor returns a function that redacts all known secrets in a text.
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

// maxText bounds a sentence, in characters.
const maxText = 500
