package observe_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/testkit/recordings"
)

// recordedObject is what the test reads of a recorded object.
type recordedObject struct {
	Status struct {
		LastAttemptedRevision string
		Artifact              struct{ Revision string }
		Conditions            []struct{ Type, Status, Reason, Message string }
	}
}

func (o recordedObject) condition(kind string) (status, reason, message string) {
	for _, c := range o.Status.Conditions {
		if c.Type == kind {
			return c.Status, c.Reason, c.Message
		}
	}
	return "", "", ""
}

func readRecorded(t *testing.T, raw json.RawMessage) (o recordedObject) {
	t.Helper()
	if raw == nil {
		return o
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// posted is an event as notification-controller posts it.
type posted struct{ severity, reason, message, revision string }

// postKustomization returns the event that kustomize-controller has with a change of a Kustomization, by its code and by
// the events that were recorded: Kubernetes joins and drops some of these, notification-controller does not. It is false
// if there is none.
func postKustomization(before, after recordedObject, source string) (posted, bool) {
	status, reason, message := after.condition("Ready")
	was, wasFor, _ := before.condition("Ready")
	healthy, _, _ := after.condition("Healthy")
	wasHealthy, _, _ := before.condition("Healthy")
	tried := after.Status.LastAttemptedRevision
	switch {
	case status == "True" && was != "True":
		return posted{"info", reason, "Reconciliation finished in 1.2s, next run in 10m0s", tried}, true
	case status == "Unknown" && healthy == "Unknown" && wasHealthy != "Unknown":
		return posted{"info", reason, "ConfigMap/shop/a configured", tried}, true
	case status != "False", was == "False" && wasFor == reason:
		return posted{}, false
	case source == "": // it waits for its source, in silence
		return posted{}, false
	case reason == "DependencyNotReady":
		return posted{"info", reason, message, source}, true
	case reason == "HealthCheckCanceled":
		return posted{"info", reason, message, tried}, true
	case reason == "ArtifactFailed":
		return posted{"error", reason, message, source}, true
	}
	return posted{"error", reason, message, tried}, true
}

// postRelease returns the event of a HelmRelease that was recorded.
func postRelease(e recordings.Event) posted {
	severity := "info"
	if e.Type == "Warning" {
		severity = "error"
	}
	return posted{severity, e.Reason, e.Message, e.Annotations["helm.toolkit.fluxcd.io/revision"]}
}

// postedAt returns the event that a step makes, about an object; false if there is none.
func postedAt(t *testing.T, r *recordings.Recording, i int, object string) (posted, bool) {
	t.Helper()
	s := r.Steps[i]
	switch {
	case s.Event != nil && s.Event.Object == object && strings.HasPrefix(object, "HelmRelease/"):
		return postRelease(*s.Event), true
	case s.Object != object || i == 0:
		return posted{}, false
	case strings.HasPrefix(object, "HelmRelease/"): // not every event of a success was recorded
		p, ok := postKustomization(readRecorded(t, r.Steps[i-1].Find(object)), readRecorded(t, s.Find(object)), "")
		return p, ok && p.severity == "info"
	}
	namespace := strings.Split(object, "/")[1]
	source := readRecorded(t, s.Find("GitRepository/"+namespace+"/fleet")).Status.Artifact.Revision
	return postKustomization(readRecorded(t, r.Steps[i-1].Find(object)), readRecorded(t, s.Find(object)), source)
}

// receive adds the event of an object.
func receive(t *testing.T, known *recorder.Recorder, object string, p posted, at time.Time) {
	t.Helper()
	parts := strings.Split(object, "/")
	group := map[string]string{"Kustomization": "kustomize.toolkit.fluxcd.io", "HelmRelease": "helm.toolkit.fluxcd.io"}[parts[0]]
	body, err := json.Marshal(map[string]any{
		"involvedObject": map[string]string{"apiVersion": group + "/v1", "kind": parts[0], "namespace": parts[1], "name": parts[2]},
		"severity":       p.severity, "timestamp": at.Format(time.RFC3339), "reason": p.reason, "message": p.message,
		"metadata": map[string]string{"revision": p.revision, "environment": "dev"},
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := observe.ParseFlux(body, "east-1")
	if errors.Is(err, observe.ErrNoReport) {
		return
	}
	if err != nil {
		t.Fatalf("%s: %s", err, body)
	}
	if _, err := known.Add(e); err != nil {
		t.Fatal(err)
	}
}

// TestRecordings: the events that notification-controller sends in the recordings, as the events of the objects that an Alert
// may name: it cannot name Terraform objects. What is wanted of each commit, before the next one is pushed, is what the
// README of the recordings says of it. The recorded health expressions take some waiting plans for ready, which events
// cannot tell: those of today are held to the same recordings by the test of tfobject.
func TestRecordings(t *testing.T) {
	for _, c := range []struct{ recording, object, want string }{
		// The first plan waits: a component's health check ends early, and an event cannot tell that from a failure. The check
		// of its parent goes on until its timeout of 30 s ends, or the next commit comes.
		{"11a-destroy-auto-order-no-seal", "Kustomization/s11/stacks", "a9811f progressing, 08c095 ready, f75211 progressing, 2620ad failed"},
		{"11b-destroy-auto-order-seal", "Kustomization/s11c/stacks", "648896 progressing, 13f3fd ready, df8879 ready, 489197 failed"},
		{"15a-kustomization-default-no-seal", "Kustomization/s15a/stacks", "3c0c52 progressing, 7610fc ready, d9f06f progressing, 4efefd progressing"},
		{"15b-kustomization-default-seal", "Kustomization/s15b/stacks", "da3646 progressing, 74c803 ready, d42850 ready, e2b542 ready"},
		{"15b-kustomization-default-seal", "Kustomization/s15b/shop-dev-database", "da3646 failed, 74c803 ready, d42850 ready, e2b542 ready"},
		// A check that a new commit cancels, a seal that waits, and a folder that is gone before its object are no failures.
		{"15c-kustomization-gate-seal", "Kustomization/s15c/stacks", "b157b9 progressing, 35f8c9 ready, c54a09 ready, 01c636 ready, 691e6a progressing, 8f6534 ready, 8910d9 ready, 2e7c4b ready"},
		{"15c-kustomization-gate-seal", "Kustomization/s15c/shop-dev-database", "b157b9 failed, 35f8c9 ready, c54a09 ready, 01c636 ready, 691e6a failed, 8f6534 ready, 8910d9 ready, 2e7c4b progressing"},
		// A failed upgrade is rolled back, and stays failed; a release that a person deletes has not failed.
		{"16a-helm-lifecycle", "HelmRelease/s16a/site", "d4976f ready, 77de37 ready, 91e610 failed, 17e4fd ready"},
		{"16b-helm-waits", "HelmRelease/s16b/nochart", "f0b4b2 progressing, 548fa8 failed"},
		{"16b-helm-waits", "HelmRelease/s16b/vals", "f0b4b2 ready, 548fa8 ready"},
		{"16b-helm-waits", "HelmRelease/s16b/dependent", "f0b4b2 ready, 548fa8 ready"},
		// An invalid field, bad YAML, a missing path, which the status does not name the commit of, and a health check fail.
		{"17-kustomization", "Kustomization/s17d/first", "9721e8 ready, 25d826 ready, 89406f failed, 89e466 failed, bcb25b failed, 5fb66a ready, 9f7603 ready, 380ba9 ready, ae582c failed, 8674aa ready"},
		{"17-kustomization", "Kustomization/s17d/second", "9721e8 ready, 25d826 ready, 89406f progressing, 89e466 progressing, bcb25b progressing, 5fb66a ready, 9f7603 ready, 380ba9 ready, ae582c progressing, 8674aa ready"},
		{"17x-workers-exhausted", "Kustomization/s17/first", "54ed57 failed, 05ac42 ready, 09b4eb failed"},
		{"17x-workers-exhausted", "Kustomization/s17/second", "54ed57 progressing, 05ac42 ready, 09b4eb progressing"},
	} {
		r := recordings.Load(t, c.recording)
		if got := strings.Join(judgeCommits(t, r, c.object), ", "); got != c.want {
			t.Errorf("%s: %s is\n%s\nwant\n%s", c.recording, c.object, got, c.want)
		}
	}
}

// judgeCommits returns the verdict on each commit that was pushed for an object before the next one is.
func judgeCommits(t *testing.T, r *recordings.Recording, object string) (all []string) {
	t.Helper()
	known := openRecorder(t)
	commit := ""
	judge := func(at time.Time) {
		if commit == "" {
			return
		}
		reports := known.Reports(func(e observe.Event) (current, ok bool) {
			return strings.HasPrefix(e.Commit, commit) || strings.HasSuffix(e.Version, "+"+commit[:12]), true
		})
		all = append(all, fmt.Sprintf("%.6s %s", commit, rollout.Summarize(reports, rollout.Rule{}, time.Time{}, at).Phase))
	}
	for i, s := range r.Steps {
		if pushed := strings.Fields(s.Did); len(pushed) > 3 && pushed[1] == "push" && slices.Contains([]string{"dev", "charts"}, pushed[2]) {
			judge(s.Time)
			commit = strings.TrimSuffix(pushed[3], ":")
		}
		if p, ok := postedAt(t, r, i, object); ok {
			receive(t, known, object, p, s.Time)
		}
	}
	judge(r.Steps[len(r.Steps)-1].Time)
	return all
}
