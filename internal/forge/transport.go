package forge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	callTimeout = 30 * time.Second
	maxAnswer   = 10 << 20 // bytes
)

// ErrEmptyAnswer means that a forge reported success with an empty answer.
var ErrEmptyAnswer = fmt.Errorf("the answer is empty: %w", io.ErrUnexpectedEOF)

// Options identify a repository of a forge with an API.
type Options struct {
	Repo    string // path on the server: "owner/name"
	API     string // URL of the API, of a Gitea server itself; "" for github.com or gitlab.com
	Token   func(context.Context) (string, error)
	App     bool         // the token is a GitHub App's, which has more features
	Client  *http.Client // nil for the default; its Timeout defaults to 30 s
	Limiter *Limiter     // shared by all users of the credential; nil for a new one
	// BeforeWrite, if not nil, is called right before each request that writes, and refuses it by an error.
	BeforeWrite func(context.Context) error
	// Observe, if not nil, is called after each request.
	Observe func(op string, took time.Duration, err error)
	Now     func() time.Time
}

// Client makes requests to the API of a forge.
type Client struct {
	Forge string
	Repo  string
	HTTP  *http.Client // sends the token only to the API's host, within the rate limit
	URL   *url.URL

	observe func(op string, took time.Duration, err error)
	now     func() time.Time
}

// NewClient makes a client of the named forge. It bounds each answer and revalidates cached ones.
func NewClient(forge string, o Options) (*Client, error) {
	if o.Token == nil || o.Now == nil {
		return nil, fmt.Errorf("%s needs a token and a clock", forge)
	}
	at, err := url.Parse(strings.TrimSuffix(o.API, "/") + "/")
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" || at.RawQuery != "" || at.Fragment != "" {
		return nil, fmt.Errorf("the address of %s's API is not an https URL", forge)
	}
	if at.User != nil {
		return nil, fmt.Errorf("the address of %s's API has a password in it, which belongs into the settings' token", forge)
	}
	client := http.Client{}
	if o.Client != nil {
		client = *o.Client
	}
	client.Timeout = cmp.Or(client.Timeout, callTimeout)
	client.Transport = &apiTransport{
		next: cmp.Or(client.Transport, http.DefaultTransport), api: at, token: o.Token, limiter: cmp.Or(o.Limiter, &Limiter{}), now: o.Now,
		beforeWrite: o.BeforeWrite,
	}
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		switch {
		case req.Method != via[0].Method: // a write would become a read
			return errors.New("it was redirected in a way that changes nothing")
		case len(via) > 3:
			return errors.New("it was redirected too often")
		}
		return nil
	}
	return &Client{Forge: forge, Repo: o.Repo, HTTP: &client, URL: at, observe: o.Observe, now: o.Now}, nil
}

// Do makes one request of an operation and calls the observer. what is for the request's error.
func (c *Client) Do(op string, request func(what string) error) {
	start := c.now()
	err := request(op + " of " + c.Repo)
	if c.observe != nil {
		c.observe(op, c.now().Sub(start), err)
	}
}

// SplitRepo splits "owner/name".
func SplitRepo(forge, repo string) (owner, name string, err error) {
	owner, name, _ = strings.Cut(repo, "/")
	if owner == "" || name == "" || url.PathEscape(owner) != owner || url.PathEscape(name) != name {
		err = fmt.Errorf("%q is not the name of a repository on %s, owner/name", repo, forge)
	}
	return owner, name, err
}

// apiTransport sends the credential only to the API's host, within the rate limit. It reads whole
// answers, so that the timeout covers them.
type apiTransport struct {
	next    http.RoundTripper
	api     *url.URL
	token   func(context.Context) (string, error)
	limiter *Limiter
	answers answerCache
	now     func() time.Time

	beforeWrite func(context.Context) error
}

type readingKey struct{}

// ReadOnly marks requests that write nothing, though they are posted.
func ReadOnly(ctx context.Context) context.Context { return context.WithValue(ctx, readingKey{}, true) }

func (t *apiTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	if req.URL.Host != t.api.Host || req.URL.Scheme != t.api.Scheme {
		return nil, fmt.Errorf("it was redirected to %s://%s, which is not given the token", req.URL.Scheme, req.URL.Host)
	}
	if err := t.limiter.checkLimit(t.now()); err != nil {
		return nil, err
	}
	token, err := t.token(req.Context())
	if err != nil {
		return nil, err
	}
	// A redirected request has the previous headers.
	sent := req.Clone(req.Context())
	sent.Header.Set("Authorization", "Bearer "+token)
	sent.Header.Del("If-None-Match")
	stored, ok := t.answers.get(req)
	if ok {
		sent.Header.Set("If-None-Match", stored.header.Get("ETag"))
	}
	if t.beforeWrite != nil && req.Method != http.MethodGet && req.Method != http.MethodHead && req.Context().Value(readingKey{}) == nil {
		if err := t.beforeWrite(req.Context()); err != nil {
			return nil, err
		}
	}
	answer, err := t.next.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	body, err := readAnswer(answer)
	if err != nil {
		return nil, err
	}
	if err := t.limiter.recordAnswer(answer, body, token, t.now()); err != nil {
		return nil, err
	}
	return t.finishAnswer(req, answer, body, stored, token)
}

func (t *apiTransport) finishAnswer(req *http.Request, answer *http.Response, body []byte, stored storedAnswer, token string) (*http.Response, error) {
	switch {
	case answer.StatusCode == http.StatusNotModified && stored.header != nil:
		answer.StatusCode, answer.Status, answer.Header, body = http.StatusOK, "200 OK", stored.header.Clone(), stored.body
	case answer.StatusCode >= 300:
		// A server can echo the token, and its text is shown.
		body = redactToken(body, token)
	case answer.StatusCode != http.StatusNoContent && len(bytes.TrimSpace(body)) == 0:
		return nil, ErrEmptyAnswer
	case strings.HasSuffix(req.URL.Path, "/graphql"):
		body = redactToken(body, token) // GraphQL errors have status 200
	default:
		t.answers.put(req, answer, body)
	}
	for _, name := range limitHeaders {
		answer.Header.Del(name) // libraries would wait by their own clocks
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return answer, nil
}

func redactToken(body []byte, token string) []byte {
	return bytes.ReplaceAll(body, []byte(token), []byte("[redacted]"))
}

func readAnswer(answer *http.Response) ([]byte, error) {
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("the answer was cut off: %w", err)
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("the answer has more than %d MiB", maxAnswer>>20)
	}
	return body, nil
}
