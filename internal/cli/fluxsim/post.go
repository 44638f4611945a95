package fluxsim

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	controller = "kustomize-controller"
	group      = "kustomize.toolkit.fluxcd.io"
)

const postTimeout = 30 * time.Second

// fluxEvent is an event of event.toolkit.fluxcd.io/v1beta1.
type fluxEvent struct {
	InvolvedObject      reference         `json:"involvedObject"`
	Severity            string            `json:"severity"`
	Timestamp           string            `json:"timestamp"`
	Message             string            `json:"message"`
	Reason              string            `json:"reason"`
	Metadata            map[string]string `json:"metadata"`
	ReportingController string            `json:"reportingController"`
	ReportingInstance   string            `json:"reportingInstance"`
}

type reference struct {
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	APIVersion string `json:"apiVersion"`
}

func (c *cluster) postEvents(ctx context.Context) error {
	for len(c.unsent) > 0 {
		next := c.unsent[0]
		if err := c.postEvent(ctx, next); err != nil {
			return err
		}
		c.unsent = c.unsent[1:]
		c.options.Reported(next.Event)
	}
	return nil
}

func (c *cluster) postEvent(ctx context.Context, r report) error {
	body, err := json.Marshal(r.fluxEvent())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	address := c.options.Server + "/webhooks/flux/" + c.Name
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, []byte(c.options.Keys[c.Name]))
	mac.Write(body)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Gotk-Component", controller)
	request.Header.Set("X-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s", address, answer.Status)
	}
	return nil
}

func (r report) fluxEvent() fluxEvent {
	severity := "info"
	if r.Phase == Failed {
		severity = "error"
	}
	metadata := map[string]string{
		group + "/revision": cmp.Or(r.revision, r.Environment+"@sha1:"+r.Commit),
		"cluster":           r.Cluster.Name, "environment": r.Environment, "clusterType": r.Folder,
	}
	if r.Phase == Finished {
		metadata[group+"/commit_status"] = "update"
	}
	name := cmp.Or(r.object, "fleet")
	return fluxEvent{
		InvolvedObject: reference{
			Kind: "Kustomization", Namespace: "flux-system", Name: name, UID: hex.EncodeToString([]byte(r.Cluster.Name + r.object)), APIVersion: group + "/v1",
		},
		Severity: severity, Timestamp: r.when.UTC().Format(time.RFC3339), Message: r.Message, Reason: r.reason, Metadata: metadata,
		ReportingController: controller, ReportingInstance: controller + "-" + r.Cluster.Name,
	}
}
