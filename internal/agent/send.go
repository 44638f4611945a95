package agent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
)

const (
	sendTimeout = 30 * time.Second
	// compressFrom is in bytes.
	compressFrom = 1 << 10
	maxAnswer    = 64 << 10
	idleTimeout  = 5 * time.Minute
)

// Ledger is the receiver of reports.
type Ledger struct {
	url     string
	keyFile string
	client  *http.Client
}

// NewLedger returns the ledger at a URL. keyFile is read for each report, so that the key can be
// replaced. caFile has trusted certificates; "" uses the system's.
func NewLedger(server, keyFile, caFile string) (*Ledger, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("--server is %q, and should be a URL such as https://fairlead.example.com", server)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.IdleConnTimeout = idleTimeout
	if caFile != "" {
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("read --ca-file: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read --ca-file: %s has no certificate", caFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	l := &Ledger{url: strings.TrimRight(server, "/") + agentapi.Path, keyFile: keyFile, client: &http.Client{
		Transport: transport, Timeout: sendTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // reports must not follow redirects
	}}
	_, err = l.readKey()
	return l, err
}

func (l *Ledger) readKey() (string, error) {
	content, err := os.ReadFile(l.keyFile)
	if err != nil {
		return "", fmt.Errorf("read --key-file: %w", err)
	}
	key := strings.TrimSpace(string(content))
	if key == "" {
		return "", fmt.Errorf("read --key-file: %s is empty", l.keyFile)
	}
	return key, nil
}

type refusedError struct {
	status     string
	refusal    agentapi.Refusal
	retryAfter time.Duration
}

// Error returns the answer's sentence, or its status.
func (e *refusedError) Error() string {
	if e.refusal.Error == "" {
		return "the server answers " + e.status
	}
	return fmt.Sprintf("the server answers %s: %s (%s)", e.status, clip(e.refusal.Error), clip(e.refusal.Hint))
}

func clip(sentence string) string { return text.Shorten(text.OneLine(sentence), 300) }

func (l *Ledger) send(ctx context.Context, request agentapi.Request) (agentapi.Answer, error) {
	key, err := l.readKey()
	if err != nil {
		return agentapi.Answer{}, err
	}
	body, err := request.Encode(false)
	compressed := err == nil && len(body) >= compressFrom
	if compressed {
		body, err = request.Encode(true)
	}
	if err != nil {
		return agentapi.Answer{}, fmt.Errorf("encode the report: %w", err)
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(body))
	if err != nil {
		return agentapi.Answer{}, fmt.Errorf("post the report: %w", err)
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("User-Agent", "fairlead-agent/"+cmp.Or(request.Agent, "unknown"))
	post.Header.Set(agentapi.ClusterHeader, request.Cluster)
	post.Header.Set(agentapi.SignatureHeader, agentapi.Sign(key, http.MethodPost, body))
	if compressed {
		post.Header.Set("Content-Encoding", "gzip")
	}
	response, err := l.client.Do(post)
	if err != nil {
		return agentapi.Answer{}, fmt.Errorf("post the report: %w", err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return agentapi.Answer{}, fmt.Errorf("read the answer: %w", err)
	}
	return readAnswer(response, content)
}

func readAnswer(response *http.Response, content []byte) (agentapi.Answer, error) {
	var answer agentapi.Answer
	switch response.StatusCode {
	case http.StatusNoContent:
		return answer, nil
	case http.StatusOK:
		if err := json.Unmarshal(content, &answer); err != nil {
			return answer, errors.New("the server answers, but not as the ledger does: check --server")
		}
		return answer, nil
	}
	refused := &refusedError{status: response.Status}
	_ = json.Unmarshal(content, &refused.refusal) // a proxy may answer differently
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		refused.retryAfter = time.Duration(seconds) * time.Second
	}
	return answer, refused
}
