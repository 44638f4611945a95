package observe

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

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

const (
	maxBody      = 1 << 20 // bytes of an answer
	maxRedirects = 3
	askTimeout   = 10 * time.Second
)

// probeLookup returns the probe for a URL; false if not allowed.
type probeLookup = func(url string) (config.Probe, bool)

// ProbeURL answers a need of kind [gate.HTTP] by GET, or by POST if it has a body, with the token
// of its probe and the transport of client. A failure is the Reason of the answer. The answer never
// contains the token.
func ProbeURL(ctx context.Context, client *http.Client, probe func(url string) (config.Probe, bool), need gate.Need, now time.Time) gate.Answer {
	answer := gate.Answer{Time: now}
	allowed, ok := probe(need.URL)
	switch {
	case !ok:
		answer.Reason = "the settings do not allow it: add a URL to probes that it begins with"
		return answer
	case need.Secret != "" && allowed.Token == nil:
		answer.Reason = fmt.Sprintf("it wants the secret %s: write a token for %s in probes in the settings", need.Secret, allowed.URL)
		return answer
	}
	token := ""
	if allowed.Token != nil {
		secret, err := allowed.Token.Read()
		if err != nil {
			answer.Reason = "its token cannot be read: " + err.Error()
			return answer
		}
		token = secret.Reveal()
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(need.Timeout, askTimeout))
	defer cancel()
	code, body, err := fetchBody(ctx, clientWithin(client, probe, allowed.URL), need, token)
	if err != nil {
		at := (*url.Error)(nil)
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			err = errors.New("it did not answer in time")
		case errors.As(err, &at): // without the URL, whose query may contain a secret
			err = at.Err
		}
		answer.Reason = string(redactToken([]byte(strings.TrimSuffix(cleanMessage(err.Error()), ".")), token))
		return answer
	}
	answer.Code, answer.Body = code, redactToken(body, token)
	return answer
}

// clientWithin follows redirects only within the probe, because they carry the token.
func clientWithin(client *http.Client, probe probeLookup, allowed string) *http.Client {
	return &http.Client{Transport: client.Transport, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		switch to, ok := probe(req.URL.String()); {
		case !ok || to.URL != allowed:
			return fmt.Errorf("it redirects to %s://%s, which is not within its probe", req.URL.Scheme, req.URL.Host)
		case req.Method != via[0].Method:
			return errors.New("it redirects without what was sent: answer with 307 or 308")
		case len(via) > maxRedirects:
			return errors.New("it redirects too often")
		}
		return nil
	}}
}

func fetchBody(ctx context.Context, client *http.Client, need gate.Need, token string) (code int, body []byte, err error) {
	method := http.MethodGet
	if need.Body != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, need.URL, bytes.NewReader(need.Body))
	if err != nil {
		return 0, nil, err
	}
	if need.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, text/plain;q=0.9, */*;q=0.1")
	req.Header.Set("User-Agent", "fairlead")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("the answer was cut off: %w", err)
	case len(body) > maxBody:
		return 0, nil, fmt.Errorf("the answer has more than %d MiB", maxBody>>20)
	}
	return answer.StatusCode, body, nil
}

func redactToken(text []byte, token string) []byte {
	if token == "" {
		return text
	}
	return bytes.ReplaceAll(text, []byte(token), []byte("[redacted]"))
}
