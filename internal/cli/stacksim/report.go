package stacksim

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
)

const reportTimeout = 30 * time.Second

type reporter struct {
	boot     string
	sequence uint64
	digest   string
	sent     time.Time
	plans    map[string]string // known to the daemon, by object
}

func newReporter() reporter { return reporter{boot: rand.Text(), plans: map[string]string{}} }

func (c *cluster) report(ctx context.Context, now time.Time) error {
	state, err := c.readState(now)
	if err != nil {
		return err
	}
	if state.Digest != c.reporter.digest || now.Sub(c.reporter.sent) >= agentapi.MinEvery {
		if err := c.postState(ctx, state, now); err != nil {
			return err
		}
		c.reporter.digest, c.reporter.sent = state.Digest, now
	}
	if err := c.sendPlans(ctx); err != nil {
		return err
	}
	for _, e := range c.events {
		c.options.Reported(e)
	}
	c.events = nil
	return nil
}

func (c *cluster) postState(ctx context.Context, state agentapi.State, now time.Time) error {
	c.reporter.sequence++
	body, err := agentapi.Request{
		Version: agentapi.Version, Cluster: c.options.Cluster, UID: "uid-of-" + c.options.Cluster, Boot: c.reporter.boot, Sequence: c.reporter.sequence,
		Sent: now.UTC(), Every: agentapi.MinEvery.String(), Count: len(state.Entries()), Digest: state.Digest, Full: true, Entries: state.Entries(), Agent: "simulated",
	}.Encode(false)
	if err != nil {
		return err
	}
	return c.post(ctx, agentapi.Path, http.Header{agentapi.ClusterHeader: {c.options.Cluster}, agentapi.SignatureHeader: {agentapi.Sign(c.options.Key, http.MethodPost, body)}}, body, nil)
}

func (c *cluster) post(ctx context.Context, path string, header http.Header, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.options.Server+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	maps.Copy(request.Header, header)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode/100 != 2:
		return fmt.Errorf("%s answers %s", path, answer.Status)
	case into == nil:
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(into)
}
