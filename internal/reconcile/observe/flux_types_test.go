package observe_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	flux "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

// TestFluxTypes holds the reading of events to Flux's own types and constants: what Flux
// marshals is what we read.
func TestFluxTypes(t *testing.T) {
	when := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		severity, reason string
		want             rollout.Phase // "" if it is no report
	}{
		{flux.EventSeverityInfo, meta.ReadyCondition, rollout.Ready},
		{flux.EventSeverityInfo, meta.SucceededReason, rollout.Ready},
		{flux.EventSeverityInfo, meta.ReconciliationSucceededReason, rollout.Ready},
		{flux.EventSeverityInfo, meta.ProgressingReason, rollout.Progressing},
		{flux.EventSeverityInfo, meta.ProgressingWithRetryReason, rollout.Progressing},
		{flux.EventSeverityInfo, meta.DependencyNotReadyReason, rollout.Progressing},
		{flux.EventSeverityError, meta.HealthCheckFailedReason, rollout.Failed},
		{flux.EventSeverityError, meta.ReconciliationFailedReason, rollout.Failed},
		{flux.EventSeverityError, meta.BuildFailedReason, rollout.Failed},
		{flux.EventSeverityError, meta.PruneFailedReason, rollout.Failed},
		{flux.EventSeverityTrace, meta.SucceededReason, ""},
	} {
		body := marshalEvent(t, flux.Event{
			InvolvedObject: corev1.ObjectReference{
				APIVersion: "kustomize.toolkit.fluxcd.io/v1", Kind: "Kustomization", Namespace: "flux-system", Name: "apps", UID: "7f0c",
			},
			Severity: test.severity, Reason: test.reason, Message: "a message", Timestamp: metav1.NewTime(when),
			ReportingController: "kustomize-controller",
			Metadata: map[string]string{
				"kustomize.toolkit.fluxcd.io/" + flux.MetaRevisionKey: "prod@sha1:" + commit,
				"cluster": "west", "environment": "prod",
			},
		})
		got, err := observe.ParseFlux(body, "")
		if test.want == "" {
			if !errors.Is(err, observe.ErrNoReport) {
				t.Errorf("%s %s: error %v, want ErrNoReport", test.severity, test.reason, err)
			}
			continue
		}
		want := observe.Event{
			Cluster: "west", Environment: "prod", Object: "Kustomization/flux-system/apps",
			Branch: "prod", Commit: commit, Phase: test.want, Message: "a message", When: when,
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s %s: %+v, %v, want %+v", test.severity, test.reason, got, err, want)
		}
	}
}

// TestFluxOutdated: while Flux still has the Kustomization of before, which finds no seal of its name, or no folder,
// it fails. That is no failure of the rollout, also if it is reported in the second of the success; any other one
// is, until the success.
func TestFluxOutdated(t *testing.T) {
	const older, seal = "a000000000000000000000000000000000000000", `kustomize build failed: accumulating components: loader.New "must build at directory: not a valid directory: evalsymlink failure on '/tmp/kustomization-1/environments/shop/dev/db/seal-0123456789' : lstat /tmp/kustomization-1/environments/shop/dev/db/seal-0123456789: no such file or directory"`
	known := openRecorder(t)
	for i, step := range []struct {
		severity, reason, message, commit string
		after                             int
		want                              rollout.Phase
	}{
		{flux.EventSeverityInfo, meta.ReconciliationSucceededReason, "Reconciliation finished", older, 0, rollout.Progressing},
		{flux.EventSeverityError, meta.BuildFailedReason, seal, commit, 60, rollout.Progressing},
		{flux.EventSeverityInfo, meta.ReconciliationSucceededReason, "Reconciliation finished", commit, 60, rollout.Ready},
		{flux.EventSeverityError, meta.BuildFailedReason, "kustomize build failed: no such file", commit, 120, rollout.Failed},
		{flux.EventSeverityError, meta.ArtifactFailedReason, "kustomization path not found: stat /tmp/kustomization-1/environments: no such file or directory", commit, 130, rollout.Failed},
		{flux.EventSeverityInfo, meta.ReconciliationSucceededReason, "Reconciliation finished", commit, 180, rollout.Ready},
		{flux.EventSeverityError, meta.ArtifactFailedReason, "kustomization path not found: stat /tmp/kustomization-1/environments/shop/dev/db/objects: no such file or directory", commit, 240, rollout.Ready},
		{flux.EventSeverityError, meta.ArtifactFailedReason, "kustomization path not found: stat /tmp/kustomization-1/clusters/tofu/fleet-m/objects/one-k8s: no such file or directory", commit, 240, rollout.Ready},
	} {
		e, err := observe.ParseFlux(marshalEvent(t, flux.Event{
			InvolvedObject: corev1.ObjectReference{APIVersion: "kustomize.toolkit.fluxcd.io/v1", Kind: "Kustomization", Namespace: "shop-dev", Name: "db", UID: "7f0c"},
			Severity:       step.severity, Reason: step.reason, Message: step.message, Timestamp: metav1.NewTime(noon.Add(time.Duration(step.after) * time.Second)),
			Metadata: map[string]string{"kustomize.toolkit.fluxcd.io/" + flux.MetaRevisionKey: "dev@sha1:" + step.commit, "cluster": "west"},
		}), "")
		if err == nil {
			add(t, known, e)
		} else if !errors.Is(err, observe.ErrNoReport) {
			t.Fatal(err)
		}
		reports := known.Reports(func(e observe.Event) (current, ok bool) { return e.Commit == commit, true })
		if got := rollout.Summarize(reports, rollout.Rule{}, noon, noon.Add(time.Hour)); got.Phase != step.want {
			t.Errorf("after event %d, the rollout is %s (%s), want %s", i, got.Phase, got.Reason, step.want)
		}
	}
}

// TestFluxOriginRevision looks that the commit that an artifact was packed from counts,
// and not the digest of the artifact.
func TestFluxOriginRevision(t *testing.T) {
	got, err := observe.ParseFlux(marshalEvent(t, flux.Event{
		InvolvedObject: corev1.ObjectReference{APIVersion: "kustomize.toolkit.fluxcd.io/v1", Kind: "Kustomization", Name: "apps"},
		Severity:       flux.EventSeverityInfo, Reason: meta.ReconciliationSucceededReason, Timestamp: metav1.Now(),
		Metadata: map[string]string{
			flux.MetaRevisionKey:       "latest@sha256:" + commit + commit[:24],
			flux.MetaOriginRevisionKey: "main@sha1:" + commit,
		},
	}), "")
	if err != nil || got.Branch != "main" || got.Commit != commit {
		t.Errorf("got %+v, %v, want commit %s of main", got, err, commit)
	}
}

func marshalEvent(t *testing.T, e flux.Event) []byte {
	t.Helper()
	body, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
