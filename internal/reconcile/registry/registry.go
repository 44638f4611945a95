// Package registry lists versions in registries of OCI and in repositories of Helm charts.
//
// What the package keeps true: only allowed hosts are asked, a few times a second each, and not before the time that they ask to
// wait for. What was answered is used again for a while. Answers are bounded. A slow host delays no round, and no other host.
package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
)

// Options are what may be asked, and how often.
type Options struct {
	// Allow are hosts, each with the beginning of a path if not all of the host is allowed.
	Allow []string
	// Credentials returns a user and a password, or "" for both.
	Credentials func(ctx context.Context, url string) (user, password string, err error)
	// Every is the time for which an answer is used; digests of tags are used for ten times as long.
	Every     time.Duration
	Now       func() time.Time
	Transport http.RoundTripper // nil for the default
}

// Client asks registries. It is safe for concurrent use.
type Client struct {
	options Options
	hosts   *hosts
	puller  *remote.Puller
	end     context.CancelFunc
	begin   func() (context.Context, context.CancelFunc)
	asking  sync.WaitGroup

	mu    sync.Mutex
	known map[string]*answer
	rooms map[string]chan struct{}
	left  time.Duration
	background
}

type background struct {
	patience time.Duration
	barrier  panics.Barrier
	wake     func()
}

// answer is what was answered to one question.
type answer struct {
	question
	ask     func(ctx context.Context, before any) (any, error)
	value   any
	err     error
	at      time.Time
	used    bool
	isNews  bool // it differs from what was read last
	waiting int
	isLate  bool
	done    chan struct{} // nil if it is not asked
}

type question struct {
	what, host string
	fresh      time.Duration
}

// New makes a client.
func New(o Options) *Client {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.ResponseHeaderTimeout = headerTimeout
		o.Transport = t
	}
	c := &Client{options: o, known: map[string]*answer{}, rooms: map[string]chan struct{}{}}
	var ended context.Context
	ended, c.end = context.WithCancel(context.Background())
	c.begin = func() (context.Context, context.CancelFunc) { return context.WithTimeout(ended, askTimeout) }
	c.hosts = &hosts{client: c, all: map[string]*host{}}
	// NewPuller fails for contradicting options only.
	c.puller, _ = remote.NewPuller(remote.WithTransport(c.hosts), remote.WithAuthFromKeychain(keychain{c}),
		remote.WithRetryStatusCodes(), remote.WithRetryPredicate(func(error) bool { return false }))
	return c
}

// FromSettings makes a client that asks what the settings allow, with their credentials.
func FromSettings(s *config.Settings, keys *access.Keyring, now func() time.Time) *Client {
	return New(Options{Allow: s.Feeds.Allow, Every: s.Feeds.Every, Now: now, Credentials: func(ctx context.Context, url string) (user, password string, err error) {
		read := keys.GitCredentials(url)
		if read == nil {
			return "", "", nil
		}
		c, err := read(ctx)
		return c.Username, c.Secret, err
	}})
}

// keychain has the credentials of the settings, and never those of the machine.
type keychain struct{ client *Client }

func (k keychain) Resolve(r authn.Resource) (authn.Authenticator, error) {
	return k.ResolveContext(context.Background(), r)
}

func (k keychain) ResolveContext(ctx context.Context, r authn.Resource) (authn.Authenticator, error) {
	if k.client.options.Credentials == nil {
		return authn.Anonymous, nil
	}
	user, password, err := k.client.options.Credentials(ctx, "https://"+r.String())
	if err != nil || password == "" {
		return authn.Anonymous, err
	}
	return authn.FromConfig(authn.AuthConfig{Username: user, Password: password}), nil
}

// UnreadableError says that one name cannot be read, and others may be.
type UnreadableError struct{ Repo, Tag string }

// Error says that the tag does not exist.
func (e *UnreadableError) Error() string { return fmt.Sprintf("%s has no tag %s", e.Repo, e.Tag) }

// Tags returns the tags of a repository.
func (c *Client) Tags(ctx context.Context, repo string) ([]string, error) {
	r, err := name.NewRepository(repo)
	if err == nil {
		err = c.checkAllowed(r.RegistryStr(), r.RepositoryStr())
	}
	if err != nil {
		return nil, err
	}
	return findAnswer(ctx, c, question{"the tags of " + r.Name(), r.RegistryStr(), c.options.Every}, func(ctx context.Context, _ []string) ([]string, error) { return c.listTags(ctx, r) })
}

// The bounds of a list of tags.
const (
	maxPages = 100
	maxPage  = 8 << 20
)

func (c *Client) listTags(ctx context.Context, r name.Repository) (all []string, err error) {
	pages, err := c.puller.Lister(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("list the tags of %s: %w", r.Name(), err)
	}
	last := ""
	for range maxPages {
		page, err := pages.Next(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the tags of %s: %w", r.Name(), err)
		}
		all = append(all, page.Tags...)
		if !pages.HasNext() {
			return all, nil
		}
		text := strings.Join(page.Tags, "\n")
		if text == last {
			return nil, fmt.Errorf("list the tags of %s: the registry answers with the same page again", r.Name())
		}
		last = text
	}
	return nil, fmt.Errorf("list the tags of %s: more than %d pages", r.Name(), maxPages)
}

// Digest returns the digest of a tag. The error is an [UnreadableError] if only this tag cannot be read.
func (c *Client) Digest(ctx context.Context, repo, tag string, mayMove bool) (string, error) {
	ref, err := name.NewTag(repo + ":" + tag)
	if err == nil {
		err = c.checkAllowed(ref.RegistryStr(), ref.RepositoryStr())
	}
	if err != nil {
		return "", err
	}
	fresh := 10 * c.options.Every
	if mayMove {
		fresh = c.options.Every
	}
	return findAnswer(ctx, c, question{"the digest of " + ref.Name(), ref.RegistryStr(), fresh}, func(ctx context.Context, _ string) (string, error) {
		found, err := c.puller.Head(ctx, ref)
		var refused *transport.Error
		switch {
		case errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound:
			return "", &UnreadableError{repo, tag}
		case err != nil:
			return "", fmt.Errorf("read the digest of %s: %w", ref.Name(), err)
		}
		return found.Digest.String(), nil
	})
}

// UnansweredError says that a host has not answered yet.
type UnansweredError struct{ What string }

// Error says what was asked for.
func (e *UnansweredError) Error() string {
	return e.What + " was asked for, and there is no answer yet"
}

// WaitNoLonger bounds how long rounds wait. wake is called for news that no round waits for.
func WaitNoLonger(c *Client, patience time.Duration, barrier panics.Barrier, wake func()) {
	c.background = background{patience, barrier, wake}
}

// Close ends the asking.
func (c *Client) Close() {
	c.end()
	c.asking.Wait()
}

// findAnswer returns the newest answer that there is in time.
func findAnswer[T any](ctx context.Context, c *Client, q question, ask func(ctx context.Context, before T) (T, error)) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.known[q.what]
	if a == nil {
		a = &answer{ask: func(ctx context.Context, before any) (any, error) {
			known, _ := before.(T)
			return ask(ctx, known)
		}}
		c.known[q.what] = a
	}
	a.used, a.question = true, q
	c.refresh(a)
	c.wait(ctx, a)
	a.isNews = false
	found, _ := a.value.(T)
	if a.at.IsZero() {
		return found, cmp.Or[error](ctx.Err(), &UnansweredError{q.what})
	}
	return found, a.err
}

// wait requires c.mu.
func (c *Client) wait(ctx context.Context, a *answer) {
	if a.done == nil || a.isLate {
		return
	}
	done, late, began := a.done, (<-chan time.Time)(nil), time.Now()
	if c.patience > 0 {
		timer := time.NewTimer(c.left)
		defer timer.Stop()
		late = timer.C
	}
	a.waiting++
	c.mu.Unlock()
	isLate := false
	select {
	case <-done:
	case <-late:
		isLate = true
	case <-ctx.Done():
	}
	c.mu.Lock()
	a.waiting--
	a.isLate = isLate && a.done != nil
	c.left = max(c.left-time.Since(began), 0)
}

// refresh requires c.mu.
func (c *Client) refresh(a *answer) {
	isFresh := !a.at.IsZero() && c.options.Now().Sub(a.at) < a.fresh
	if isFresh || a.done != nil {
		return
	}
	room := c.rooms[a.host]
	if room == nil {
		room = make(chan struct{}, maxParallel)
		c.rooms[a.host] = room
	}
	done, before, host := make(chan struct{}), a.value, a.host
	a.done = done
	c.asking.Go(func() {
		defer close(done)
		room <- struct{}{}
		defer func() { <-room }()
		ctx, cancel := c.begin()
		defer cancel()
		var value any
		err := c.barrier.Run("ask a registry", host, func() (err error) {
			value, err = a.ask(ctx, before)
			return err
		})
		if !errors.Is(ctx.Err(), context.Canceled) {
			c.note(a, value, err)
		}
	})
}

func (c *Client) note(a *answer, value any, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.done, a.isLate = nil, false
	a.isNews = a.isNews || a.at.IsZero() || (err != nil) != (a.err != nil) || err == nil && fmt.Sprint(value) != fmt.Sprint(a.value)
	a.value, a.err, a.at = value, err, c.options.Now()
	if a.isNews && a.waiting == 0 && c.wake != nil {
		c.wake()
	}
}

const (
	maxParallel   = 8
	askTimeout    = 5 * time.Minute
	headerTimeout = 30 * time.Second
)

// Poll asks again what is not fresh, and reports whether there is news.
func (c *Client) Poll(ctx context.Context) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = c.patience
	keys := slices.Sorted(maps.Keys(c.known))
	for _, key := range keys {
		c.refresh(c.known[key])
	}
	for _, key := range keys {
		if a := c.known[key]; a != nil {
			c.wait(ctx, a)
			changed = changed || a.isNews
		}
	}
	return changed && ctx.Err() == nil
}

// EndReading forgets what was not asked since the last call.
func (c *Client) EndReading() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, a := range c.known {
		if !a.used {
			delete(c.known, key)
		}
		a.used = false
	}
}

// NotAllowedError says that the settings do not allow a place.
type NotAllowedError struct{ Place string }

// Error names the setting.
func (e *NotAllowedError) Error() string {
	return fmt.Sprintf("the settings do not allow %s; add it to feeds.allow", e.Place)
}

func (c *Client) checkAllowed(host, path string) error {
	for _, allowed := range c.options.Allow {
		allowedHost, prefix, _ := strings.Cut(strings.TrimSuffix(allowed, "/"), "/")
		if allowedHost == host && (prefix == "" || path == prefix || strings.HasPrefix(path, prefix+"/")) {
			return nil
		}
	}
	return &NotAllowedError{strings.TrimSuffix(host+"/"+path, "/")}
}
