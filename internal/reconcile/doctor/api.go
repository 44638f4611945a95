package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/forge"
)

type forgeKind struct {
	name            string
	server          string // the server in findings
	nameWord        string // the forge's word for a repository's name
	accessHint      string // how to give a credential access
	checkCredential func(context.Context, *examination, *forgeAPI) bool
	// checkAccess checks read and write access to a repository; checkRepository also checks
	// everything else.
	checkAccess, checkRepository func(context.Context, *examination, *repository)
}

var forgeKinds = map[string]forgeKind{
	"github": {
		"GitHub", "GitHub", "name", "let the token, or the App, reach this repository, with Metadata: read",
		checkGitHubCredential, checkHubAccess, checkGitHubRepository,
	},
	"gitlab": {
		"GitLab", "GitLab", "path", "make the account of the token a developer of the project",
		checkGitLabCredential, checkGitLabAccess, checkGitLabRepository,
	},
	"gitea": {
		"Gitea", "the server", "name",
		"let the account of the token write to the repository, and give the token the scopes write:repository, write:issue and read:user",
		checkGiteaCredential, checkHubAccess, checkGiteaRepository,
	},
}

type forgeAPI struct {
	kind   forgeKind
	remote config.Remote
	client *http.Client
	limits *forge.Limiter
	url    *url.URL // ends with a slash
	works  bool
	// hidesPermissions is set if the server does not show write permissions.
	hidesPermissions bool
}

func (a *forgeAPI) credentialName() string { return a.remote.URL }

func (d *examination) checkForge(r *repository) {
	if !r.controlPlane && r.outputs == nil { // its forge is not used
		return
	}
	what, level := r.redactedURL()+": forge", d.severity(r)
	at, err := access.LocateForge(d.config, r.url)
	if err != nil {
		d.addError(level, what, err)
		return
	}
	known, ok := forgeKinds[at.Kind]
	if !ok {
		r.plain = true
		d.addOK(what, "Git alone: pull requests are branches, and statuses are pushed")
		return
	}
	r.path = at.Repo
	token, err := d.keys.APIToken(r.url)
	switch {
	case errors.Is(err, access.ErrNoToken):
		d.addFinding(level, what, "it is "+known.name+", and there is no token for its API",
			"write a token for it into remotes in the settings: without one there are no pull requests and no statuses")
		return
	case err != nil:
		d.addError(level, what, err)
		return
	}
	d.addOK(what, "%s, at %s", known.name, at.API)
	remote, _ := d.config.Remote(r.url)
	if d.forges[remote.URL] == nil {
		client, err := forge.NewClient(known.name, forge.Options{
			API: at.API, Client: &http.Client{Transport: &headerKeeper{http.DefaultTransport}, Timeout: min(d.config.Timeout, callTimeout)},
			Token: token, Limiter: d.keys.Limiter(r.url), Now: d.now,
		})
		if err != nil {
			d.addError(Fail, what, err)
			return
		}
		d.forges[remote.URL] = &forgeAPI{kind: known, remote: remote, client: client.HTTP, limits: d.keys.Limiter(r.url), url: client.URL}
	}
	r.api = d.forges[remote.URL]
}

const callTimeout = 30 * time.Second

// headerKeeper copies rate limit headers, which the client around it removes.
type headerKeeper struct{ next http.RoundTripper }

const (
	keptLimit     = "Fairlead-Limit"
	keptRemaining = "Fairlead-Remaining"
)

// RoundTrip sends a request.
func (k *headerKeeper) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := k.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	h := answer.Header
	h.Set(keptLimit, cmp.Or(h.Get("X-RateLimit-Limit"), h.Get("RateLimit-Limit")))
	h.Set(keptRemaining, cmp.Or(h.Get("X-RateLimit-Remaining"), h.Get("RateLimit-Remaining")))
	return answer, nil
}

type response struct {
	status  int
	header  http.Header
	message string // of an error
}

func (a response) isGood() bool { return a.status < http.StatusMultipleChoices }

// getJSON decodes the response of a GET request into into, if not nil. It escapes path parts. An
// error means no response, or an invalid one.
func (a *forgeAPI) getJSON(ctx context.Context, into any, query string, parts ...string) (response, error) {
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	at := a.url.JoinPath(parts...)
	at.RawQuery = query
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return response{}, err
	}
	req.Header.Set("User-Agent", "fairlead")
	req.Header.Set("Accept", "application/json")
	got, err := a.client.Do(req)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err
		}
		return response{}, err
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	said := response{status: got.StatusCode, header: got.Header}
	switch {
	case err != nil:
	case said.status >= http.StatusInternalServerError:
		err = &badResponse{errorMessage(got.Status, body)}
	case !said.isGood():
		said.message = errorMessage(got.Status, body)
	case into != nil && json.Unmarshal(body, into) != nil:
		err = &badResponse{"what is not JSON as it should be"}
	}
	return said, err
}

// badResponse is a response that only a failing or wrong server sends.
type badResponse struct{ said string }

// Error describes the response.
func (b *badResponse) Error() string { return "it answers " + b.said }

// Hint returns how to fix it.
func (b *badResponse) Hint() string {
	return "look again later, or check api in forges of the settings"
}

func errorMessage(status string, body []byte) string {
	var said struct {
		Message json.RawMessage `json:"message"`
		Error   string          `json:"error"`
		Detail  string          `json:"error_description"`
	}
	if json.Unmarshal(body, &said) != nil {
		return status
	}
	text := strings.Trim(string(said.Message), `"`)
	text = cmp.Or(said.Detail, text, said.Error)
	if text == "" {
		return status
	}
	return status + ": " + forge.OneLine(text, 200)
}

// checkFirstResponse checks a credential's first response, with rate limit and clock, and reports
// whether to continue.
func (d *examination) checkFirstResponse(a *forgeAPI, said response, err error) bool {
	if err != nil {
		d.addError(Fail, a.credentialName()+": API", err)
		return false
	}
	d.checkClock(a, said.header)
	if said.status == http.StatusUnauthorized {
		d.addFailure(a.credentialName()+": token", "make a new one, and write it where remotes of the settings say that it is", "%s does not take it (%s)", a.kind.name, said.message)
		return false
	}
	d.checkRateLimit(a, said.header)
	return true
}

const maxSkew = time.Minute

func (d *examination) checkClock(a *forgeAPI, h http.Header) {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return
	}
	what, skew := a.credentialName()+": clock", d.now().Sub(date).Round(time.Second)
	if skew.Abs() <= maxSkew {
		d.addOK(what, "this machine and the server agree about the time")
		return
	}
	direction := "ahead of"
	if skew < 0 {
		direction = "behind"
	}
	d.addWarning(what, "let this machine keep its time with NTP: tokens of Apps are refused, and limits misread", "the clock of this machine is %s %s the server's", skew.Abs(), direction)
}

// fewLeft is the divisor of a rate limit for the warning: a tenth is left.
const fewLeft = 10

func (d *examination) checkRateLimit(a *forgeAPI, h http.Header) {
	most, err := strconv.Atoi(h.Get(keptLimit))
	left, err2 := strconv.Atoi(h.Get(keptRemaining))
	what := a.credentialName() + ": rate limit"
	switch {
	case err != nil || err2 != nil || d.runs:
	case left < most/fewLeft:
		d.addWarning(what, "give Fairlead a credential of its own, or poll less often", "%d of %d requests are left", left, most)
	default:
		d.addOK(what, "%d of %d requests are left", left, most)
	}
}

const expiryWarning = 14 * 24 * time.Hour

func (d *examination) checkExpiry(a *forgeAPI, until time.Time) {
	a.limits.RecordExpiry(until)
	if d.runs {
		return
	}
	what, left := a.credentialName()+": token expiry", until.Sub(d.now())
	day := until.UTC().Format("2006-01-02 15:04 UTC")
	if left < expiryWarning {
		d.addWarning(what, "make a new one before that; Fairlead reads it from the same place without a restart", "the token expires on %s", day)
		return
	}
	d.addOK(what, "the token expires on %s", day)
}
