package gitea

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/forge"
)

func (g *Forge) repoURL(parts ...string) *url.URL {
	return g.api.URL.JoinPath(append([]string{"api/v1/repos", g.owner, g.name}, parts...)...)
}

// sendRequest makes a JSON request that the SDK does not support; send and into may be nil.
func (g *Forge) sendRequest(ctx context.Context, method string, at *url.URL, send, into any) (*sdk.Response, error) {
	var body io.Reader
	if send != nil {
		text, err := json.Marshal(send)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, at.String(), body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "fairlead")
	got, err := g.api.HTTP.Do(req)
	if into == nil && errors.Is(err, forge.ErrEmptyAnswer) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	all, err := io.ReadAll(got.Body)
	answer := &sdk.Response{Response: got}
	switch {
	case err != nil:
		return answer, err
	case got.StatusCode >= http.StatusMultipleChoices:
		return answer, errors.New(answerMessage(all))
	case into == nil:
		return answer, nil
	}
	return answer, json.Unmarshal(all, into)
}

func answerMessage(answer []byte) string {
	var found struct{ Message string }
	if err := json.Unmarshal(answer, &found); err != nil || strings.TrimSpace(found.Message) == "" {
		return noMessage
	}
	return found.Message
}
