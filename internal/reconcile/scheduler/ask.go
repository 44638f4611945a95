// Package scheduler asks external schedulers where the units of policies should be, and keeps what they answer.
//
// What the package keeps true: a scheduler that is down, slow, wrong or of another mind each time moves nothing. What
// was decided stays until there is an answer that is fit; and a scheduler that does not answer is left alone for
// growing pauses, for all policies that name it.
package scheduler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

const (
	maxAnswer    = 4 << 20 // bytes
	maxComplaint = 300     // bytes of what a failing command or server says
)

func sendRequest(ctx context.Context, s config.Scheduler, r schedule.Request) ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	var answer []byte
	if s.URL != "" {
		answer, err = post(ctx, s, body)
	} else {
		answer, err = run(ctx, s.Command, body)
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("it did not answer within %s", s.Timeout)
	case err == nil && len(answer) > maxAnswer:
		return nil, fmt.Errorf("the answer has more than %d MiB", maxAnswer>>20)
	}
	return answer, err
}

// nameLocation returns where a scheduler is, as decisions have it: without a path, which may hold a secret.
func nameLocation(s config.Scheduler) string {
	if u, err := url.Parse(s.URL); err == nil && s.URL != "" {
		return u.Host
	}
	return filepath.Base(s.Command[0])
}

func post(ctx context.Context, s config.Scheduler, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "fairlead")
	if s.Token != nil {
		token, err := s.Token.Read()
		if err != nil {
			return nil, fmt.Errorf("read its token: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	client := &http.Client{CheckRedirect: func(to *http.Request, via []*http.Request) error {
		if to.URL.Host != via[0].URL.Host || to.URL.Scheme != via[0].URL.Scheme || to.Method != http.MethodPost || len(via) > 3 {
			return errors.New("it redirects elsewhere")
		}
		return nil
	}}
	answer, err := client.Do(req)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) { // without the URL, which may hold a secret
			err = at.Err
		}
		return nil, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %s: %s", answer.Status, text.Shorten(text.OneLine(string(data)), maxComplaint))
	}
	return data, err
}

func run(ctx context.Context, command []string, body []byte) ([]byte, error) {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	out, complaint := &boundedBuffer{limit: maxAnswer + 1}, &boundedBuffer{limit: maxComplaint}
	c.Stdin, c.Stdout, c.Stderr, c.WaitDelay = bytes.NewReader(body), out, complaint, time.Second
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("the command failed: %w: %s", err, text.OneLine(complaint.String()))
	}
	return out.Bytes(), nil
}

// boundedBuffer keeps the beginning of what is written to it.
type boundedBuffer struct {
	bytes.Buffer
	limit int
}

// Write keeps what there is room for.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	_, err := b.Buffer.Write(p[:min(len(p), b.limit-b.Len())])
	return len(p), err
}
