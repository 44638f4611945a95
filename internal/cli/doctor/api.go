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

// kind has the checks for one kind of forge.
type kind struct {
	name string
	// credential checks a credential and reports whether it works.
	credential func(context.Context, *doctor, *api) bool
	// repository checks what the credential may do in a repository.
	repository func(context.Context, *doctor, *repository)
}

// kinds has the kinds of forges with an API, by their names in the settings.
var kinds = map[string]kind{
	"github": {"GitHub", githubCredential, githubRepository},
	"gitlab": {"GitLab", gitlabCredential, gitlabRepository},
	"gitea":  {"Gitea", giteaCredential, giteaRepository},
}

// api is the API of a forge, with one of the credentials of the settings.
type api struct {
	kind   kind
	remote config.Remote
	client *http.Client
	url    *url.URL // with a slash at its end
	works  bool
}

// shown returns the URL that the credential is for.
func (a *api) shown() string { return a.remote.URL }

// forge determines the forge of a repository and the client of its API.
func (d *doctor) forge(r *repository) {
	if !r.controlPlane && r.outputs == nil { // its forge is not used
		return
	}
	what, level := r.shown()+": forge", d.needed(r)
	at, err := access.LocateForge(d.config, r.place)
	if err != nil {
		d.failed(level, what, err)
		return
	}
	known, ok := kinds[at.Kind]
	if !ok {
		r.plain = true
		d.ok(what, "Git alone: pull requests are branches, and statuses are pushed")
		return
	}
	r.path = at.Repo
	token, err := d.keys.APIToken(r.place)
	switch {
	case errors.Is(err, access.ErrNoToken):
		d.add(Finding{level, what, "it is " + known.name + ", and there is no token for its API",
			"write a token for it into remotes in the settings: without one there are no pull requests and no statuses"})
		return
	case err != nil:
		d.failed(level, what, err)
		return
	}
	d.ok(what, "%s, at %s", known.name, at.API)
	remote, _ := d.config.Remote(r.place)
	if d.forges[remote.URL] == nil {
		client, u, err := forge.NewClient(forge.ClientOptions{
			API: at.API, Forge: known.name, Base: &http.Client{Transport: &keeper{http.DefaultTransport}, Timeout: min(d.config.Timeout, callTimeout)},
			Token: token, Limiter: d.keys.Limiter(r.place), Now: d.now,
		})
		if err != nil {
			d.failed(Fail, what, err)
			return
		}
		d.forges[remote.URL] = &api{kind: known, remote: remote, client: client, url: u}
	}
	r.api = d.forges[remote.URL]
}

const callTimeout = 30 * time.Second

// keeper copies the headers about the rate limit to other names: the client around it
// removes them.
type keeper struct{ next http.RoundTripper }

const (
	keptLimit     = "Fairlead-Limit"
	keptRemaining = "Fairlead-Remaining"
)

// RoundTrip sends a request.
func (k *keeper) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := k.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	h := answer.Header
	h.Set(keptLimit, cmp.Or(h.Get("X-RateLimit-Limit"), h.Get("RateLimit-Limit")))
	h.Set(keptRemaining, cmp.Or(h.Get("X-RateLimit-Remaining"), h.Get("RateLimit-Remaining")))
	return answer, nil
}

// answer is the response of a forge.
type answer struct {
	status int
	header http.Header
	says   string // the message, if the status is an error
}

func (a answer) good() bool { return a.status < http.StatusMultipleChoices }

// get sends a GET request and decodes the JSON of the response into into, unless that is
// nil. It escapes the parts of the path. It returns an error if there is no response, or
// none that can be decoded.
func (a *api) get(ctx context.Context, into any, query string, parts ...string) (answer, error) {
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	at := a.url.JoinPath(parts...)
	at.RawQuery = query
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("User-Agent", "fairlead")
	req.Header.Set("Accept", "application/json")
	got, err := a.client.Do(req)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err
		}
		return answer{}, err
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	said := answer{status: got.StatusCode, header: got.Header}
	switch {
	case err != nil:
	case said.status >= http.StatusInternalServerError:
		err = &broken{message(got.Status, body)}
	case !said.good():
		said.says = message(got.Status, body)
	case into != nil && json.Unmarshal(body, into) != nil:
		err = &broken{"what is not JSON as it should be"}
	}
	return said, err
}

// broken is the error of a response that only a failing server, or another server, sends.
type broken struct{ said string }

// Error returns the response.
func (b *broken) Error() string { return "it answers " + b.said }

// Hint returns what to do about it.
func (b *broken) Hint() string { return "look again later, or check api in forges of the settings" }

// message returns the message of an error response.
func message(status string, body []byte) string {
	var said struct {
		Message json.RawMessage `json:"message"`
		Error   string          `json:"error"`
		Detail  string          `json:"error_description"`
	}
	if json.Unmarshal(body, &said) != nil {
		return status
	}
	text := strings.Trim(string(said.Message), `"`)
	if text = cmp.Or(said.Detail, text, said.Error); text == "" {
		return status
	}
	return status + ": " + forge.OneLine(text, 200)
}

// begun checks the first response to a credential: that there is one, that the credential
// was accepted, the rate limit, and the clocks. It reports whether more can be asked.
func (d *doctor) begun(a *api, said answer, err error) bool {
	if err != nil {
		d.failed(Fail, a.shown()+": API", err)
		return false
	}
	d.clock(a, said.header)
	if said.status == http.StatusUnauthorized {
		d.fail(a.shown()+": token", "make a new one, and write it where remotes of the settings say that it is", "%s does not take it (%s)", a.kind.name, said.says)
		return false
	}
	d.limit(a, said.header)
	return true
}

const maxSkew = time.Minute

func (d *doctor) clock(a *api, h http.Header) {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return
	}
	what, skew := a.shown()+": clock", d.now().Sub(date).Round(time.Second)
	if skew.Abs() <= maxSkew {
		d.ok(what, "this machine and the server agree about the time")
		return
	}
	direction := "ahead of"
	if skew < 0 {
		direction = "behind"
	}
	d.warn(what, "let this machine keep its time with NTP: tokens of Apps are refused, and limits misread", "the clock of this machine is %s %s the server's", skew.Abs(), direction)
}

// fewLeft is the divisor of a rate limit below which a warning is added: a tenth is left.
const fewLeft = 10

func (d *doctor) limit(a *api, h http.Header) {
	most, err := strconv.Atoi(h.Get(keptLimit))
	left, err2 := strconv.Atoi(h.Get(keptRemaining))
	what := a.shown() + ": rate limit"
	switch {
	case err != nil || err2 != nil:
	case left < most/fewLeft:
		d.warn(what, "give Fairlead a credential of its own, or poll less often", "%d of %d requests are left", left, most)
	default:
		d.ok(what, "%d of %d requests are left", left, most)
	}
}

const soon = 14 * 24 * time.Hour

// expiry adds when a token expires.
func (d *doctor) expiry(a *api, until time.Time) {
	what, left := a.shown()+": token expiry", until.Sub(d.now())
	day := until.UTC().Format("2006-01-02 15:04 UTC")
	if left < soon {
		d.warn(what, "make a new one before that; Fairlead reads it from the same place without a restart", "the token expires on %s", day)
		return
	}
	d.ok(what, "the token expires on %s", day)
}
