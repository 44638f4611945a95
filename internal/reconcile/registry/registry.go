// Package registry lists versions in registries of OCI and in repositories of Helm charts.
//
// What the package keeps true: only allowed hosts are asked, a few times a second each, and not before the time that they ask to
// wait for. What was answered is used again for a while, so that nothing new costs one request. Answers are bounded.
package registry

import (
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

	"github.com/fairlead-io/fairlead/internal/base/parallel"
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

	mu    sync.Mutex
	known map[string]*answer
}

// answer is what was answered to one question.
type answer struct {
	ask   func(ctx context.Context, before any) (any, error)
	value any
	err   error
	at    time.Time
	used  bool
	fresh time.Duration // how long it counts
}

// New makes a client.
func New(o Options) *Client {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	c := &Client{options: o, known: map[string]*answer{}}
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
	return findAnswer(ctx, c, "tags "+r.Name(), c.options.Every, func(ctx context.Context, _ []string) ([]string, error) { return c.listTags(ctx, r) })
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
	return findAnswer(ctx, c, "digest "+ref.Name(), fresh, func(ctx context.Context, _ string) (string, error) {
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

// findAnswer returns a known answer while it is fresh, or asks again.
func findAnswer[T any](ctx context.Context, c *Client, key string, fresh time.Duration, ask func(ctx context.Context, before T) (T, error)) (T, error) {
	c.mu.Lock()
	a := c.known[key]
	if a == nil {
		a = &answer{ask: func(ctx context.Context, before any) (any, error) {
			known, _ := before.(T)
			return ask(ctx, known)
		}}
		c.known[key] = a
	}
	a.used, a.fresh = true, fresh
	isFresh := !a.at.IsZero() && c.options.Now().Sub(a.at) < fresh
	value, err := a.value, a.err
	c.mu.Unlock()
	if !isFresh {
		value, err = c.refresh(ctx, a)
	}
	found, _ := value.(T)
	return found, err
}

func (c *Client) refresh(ctx context.Context, a *answer) (any, error) {
	c.mu.Lock()
	before := a.value
	c.mu.Unlock()
	value, err := a.ask(ctx, before)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a.value, a.err, a.at = value, err, c.options.Now()
	return value, err
}

const maxParallel = 8

// Poll asks again what is not fresh any more, and reports whether an answer differs.
func (c *Client) Poll(ctx context.Context) (changed bool) {
	c.mu.Lock()
	var due []*answer
	for _, key := range slices.Sorted(maps.Keys(c.known)) {
		if a := c.known[key]; c.options.Now().Sub(a.at) >= a.fresh {
			due = append(due, a)
		}
	}
	c.mu.Unlock()
	news := make([]bool, len(due))
	parallel.Each(maxParallel, due, func(i int, a *answer) {
		c.mu.Lock()
		before, failed := fmt.Sprint(a.value), a.err != nil
		c.mu.Unlock()
		value, err := c.refresh(ctx, a)
		news[i] = (err != nil) != failed || err == nil && fmt.Sprint(value) != before
	})
	return slices.Contains(news, true) && ctx.Err() == nil
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
