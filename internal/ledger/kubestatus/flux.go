package kubestatus

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
)

type fluxSource struct {
	url, ref string
	revision string
	origin   string // source commit of the artifact
	stored   time.Time
	phase    ledger.Phase
}

// isPendingFor reports whether an object failed only because its source is not yet fetched.
func (s fluxSource) isPendingFor(phase ledger.Phase, reason string) bool {
	return phase == ledger.Failed && reason == "ArtifactFailed" && s.phase == ledger.Progressing
}

type fluxStatus struct {
	ObservedGeneration int64       `json:"observedGeneration"`
	Conditions         []condition `json:"conditions"`
}

// readFlux sets the common fields of Flux objects.
//
// It uses the condition's generation: Flux updates status.observedGeneration only when an object
// becomes ready, which would hide failures.
func readFlux(s fluxStatus, generation int64, suspended bool, e *agentapi.Entry) ledger.Phase {
	ready := findCondition(s.Conditions, "Ready")
	observed := ready.ObservedGeneration
	if observed == 0 {
		observed = s.ObservedGeneration
	}
	e.Observed = observed >= generation
	e.Reason, e.Message, e.Since = ready.Reason, ready.Message, ready.since()
	reconciling := findCondition(s.Conditions, "Reconciling")
	switch {
	case suspended:
		return ledger.Suspended
	case !e.Observed, ready.Status != "True" && ready.Status != "False":
		return ledger.Progressing
	case ready.Status == "True":
		return ledger.Ready
	case ready.Reason == "DependencyNotReady", ready.Reason == "HealthCheckCanceled", kubeobject.IsOutdated(ready.Reason, ready.Message):
		return ledger.Progressing
	case ready.Reason == "ArtifactFailed" && reconciling.Reason == "Progressing":
		return ledger.Progressing
	}
	return ledger.Failed
}

func (r *reader) readSource(raw json.RawMessage, e *agentapi.Entry) (ledger.Phase, error) {
	var o struct {
		Metadata metadata `json:"metadata"`
		Spec     struct {
			URL     string `json:"url"`
			Suspend bool   `json:"suspend"`
			Ref     struct {
				Branch, Tag, SemVer, Name, Commit, Digest string
			} `json:"ref"`
		} `json:"spec"`
		Status struct {
			fluxStatus
			Artifact struct {
				Revision   string            `json:"revision"`
				LastUpdate time.Time         `json:"lastUpdateTime"`
				Metadata   map[string]string `json:"metadata"`
			} `json:"artifact"`
		} `json:"status"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return ledger.Unknown, err
	}
	phase := readFlux(o.Status.fluxStatus, o.Metadata.Generation, o.Spec.Suspend, e)
	artifact := o.Status.Artifact
	e.Revision = artifact.Revision
	s := fluxSource{url: o.Spec.URL, ref: o.Spec.Ref.Branch, revision: artifact.Revision, stored: artifact.LastUpdate, phase: phase}
	if s.ref == "" && e.Kind == "GitRepository" && o.Spec.Ref.Tag+o.Spec.Ref.SemVer+o.Spec.Ref.Name+o.Spec.Ref.Commit == "" {
		s.ref = "master" // the default of Flux
	}
	if name := o.Spec.Ref.Name; name != "" {
		s.ref = strings.TrimPrefix(name, "refs/heads/")
	}
	if o.Spec.Ref.Tag+o.Spec.Ref.SemVer != "" {
		s.ref = o.Spec.Ref.Tag + o.Spec.Ref.SemVer
	}
	// An artifact packed from a repository names it.
	s.origin = artifact.Metadata["org.opencontainers.image.revision"]
	if from := artifact.Metadata["org.opencontainers.image.source"]; from != "" && s.origin != "" {
		s.url, s.ref = from, ledger.ParseRevision(s.origin).Branch
	}
	e.Origin = s.origin
	e.Source = &agentapi.Source{URL: s.url, Ref: s.ref}
	r.sources[e.ObjectName()] = s
	return phase, nil
}

func (r *reader) readKustomization(raw json.RawMessage, e *agentapi.Entry) (ledger.Phase, error) {
	var o struct {
		Metadata metadata `json:"metadata"`
		Spec     struct {
			Path      string        `json:"path"`
			Suspend   bool          `json:"suspend"`
			SourceRef fluxReference `json:"sourceRef"`

			Wait         bool              `json:"wait"`
			HealthChecks []json.RawMessage `json:"healthChecks"`
		} `json:"spec"`
		Status struct {
			fluxStatus
			LastAppliedRevision       string `json:"lastAppliedRevision"`
			LastAppliedOriginRevision string `json:"lastAppliedOriginRevision"`
			LastAttemptedRevision     string `json:"lastAttemptedRevision"`
			Inventory                 struct {
				Entries []struct {
					ID string `json:"id"`
				} `json:"entries"`
			} `json:"inventory"`
			History []fluxPast `json:"history"`
		} `json:"status"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return ledger.Unknown, err
	}
	phase := readFlux(o.Status.fluxStatus, o.Metadata.Generation, o.Spec.Suspend, e)
	e.Revision, e.Origin, e.Inventory = o.Status.LastAppliedRevision, o.Status.LastAppliedOriginRevision, len(o.Status.Inventory.Entries)
	if tried := o.Status.LastAttemptedRevision; tried != e.Revision {
		e.Attempted = tried
	}
	if s, ok := r.sources[o.Spec.SourceRef.objectName(o.Metadata.Namespace)]; ok {
		e.Source = &agentapi.Source{URL: s.url, Ref: s.ref, Path: o.Spec.Path}
		tried := findTried(o.Status.Conditions)
		isOlder := phase == ledger.Failed && e.Reason == "ArtifactFailed" && tried == "" && s.phase == ledger.Ready && (e.Since.Before(s.stored) || e.Revision+e.Attempted == "" && !e.Since.After(s.stored))
		if s.isPendingFor(phase, e.Reason) || isOlder { // it has not seen the newest artifact
			phase = ledger.Progressing
		}
		// Before it has read the folder, while it waits for dependencies or if the folder is
		// missing, Flux names no revision. Assume that of the source, so that someone waits for it.
		isUnread := phase == ledger.Failed && e.Reason == "ArtifactFailed" && !s.stored.IsZero() && !e.Since.Before(s.stored)
		if e.Revision+e.Attempted == "" && (phase == ledger.Progressing || phase == ledger.Failed) || isUnread && s.revision != e.Revision {
			e.Attempted = s.revision
		}
		// Flux names an unreadable revision, such as one with a missing path, only in Reconciling.
		if phase != ledger.Ready && tried != "" {
			e.Attempted = tried
		}
		e.HeldUp = tried != "" && tried != s.revision && s.phase == ledger.Ready && r.now.Sub(s.stored) > leastHold &&
			isCheckingHealth(o.Status.Conditions)
		if e.Attempted != "" && e.Attempted == s.revision {
			e.AttemptedOrigin = s.origin
		}
	}
	for _, p := range o.Status.History {
		e.Past = append(e.Past, p.state())
	}
	k := kustomization{phase: phase, waits: o.Spec.Wait || len(o.Spec.HealthChecks) > 0}
	if e.Reason == "HealthCheckFailed" {
		k.unready = ledger.ParseUnready(e.Message)
	}
	var ids []string
	for _, entry := range o.Status.Inventory.Entries {
		ids = append(ids, entry.ID)
	}
	k.applies = readInventory(ids)
	healthy := findCondition(o.Status.Conditions, "Healthy")
	k.checks = k.waits && healthy.Type != "" && healthy.Status != "True"
	r.kustomizations[e.ObjectName()] = k
	return phase, nil
}

// revisionOfWork matches messages of kustomize-controller such as "Fetching manifests for revision
// X with a timeout of 1m".
var revisionOfWork = regexp.MustCompile(`^[A-Z][a-z ]* for revision (\S+) with a timeout of `)

func findTried(all []condition) string {
	if m := revisionOfWork.FindStringSubmatch(findCondition(all, "Reconciling").Message); m != nil {
		return m[1]
	}
	return ""
}

// leastHold is the minimum age of a newer revision before a health check counts as holding it up.
// With the feature gate CancelHealthCheckOnNewRevision a check ends within a second.
const leastHold = 15 * time.Second

func isCheckingHealth(all []condition) bool {
	reconciling := findCondition(all, "Reconciling")
	return reconciling.Reason == "Progressing" && strings.HasPrefix(reconciling.Message, "Running health checks ")
}

type fluxReference struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (f fluxReference) objectName(namespace string) string {
	if f.Namespace != "" {
		namespace = f.Namespace
	}
	return agentapi.Entry{Kind: f.Kind, Namespace: namespace, Name: f.Name}.ObjectName()
}

type fluxPast struct {
	FirstReconciled      time.Time `json:"firstReconciled"`
	LastReconciled       time.Time `json:"lastReconciled"`
	LastReconciledStatus string    `json:"lastReconciledStatus"`
	Metadata             struct {
		Revision       string `json:"revision"`
		OriginRevision string `json:"originRevision"`
	} `json:"metadata"`
}

func (p fluxPast) state() agentapi.Past {
	s := agentapi.Past{
		Revision: p.Metadata.Revision, Ready: p.LastReconciledStatus == "ReconciliationSucceeded",
		First: p.FirstReconciled, Last: p.LastReconciled,
	}
	if p.Metadata.OriginRevision != "" {
		s.Revision = p.Metadata.OriginRevision
	}
	return s
}

// readHelmRelease takes the last deployed release as running, not one that was rolled back.
func (r *reader) readHelmRelease(raw json.RawMessage, e *agentapi.Entry) (ledger.Phase, error) {
	var o struct {
		Metadata metadata `json:"metadata"`
		Spec     struct {
			Suspend  bool           `json:"suspend"`
			ChartRef *fluxReference `json:"chartRef"`
			Chart    struct {
				Spec struct {
					Chart     string        `json:"chart"`
					SourceRef fluxReference `json:"sourceRef"`
				} `json:"spec"`
			} `json:"chart"`
		} `json:"spec"`
		Status struct {
			fluxStatus
			LastAttemptedRevision string `json:"lastAttemptedRevision"`
			History               []struct {
				ChartVersion string `json:"chartVersion"`
				AppVersion   string `json:"appVersion"`
				Status       string `json:"status"`
			} `json:"history"`
		} `json:"status"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return ledger.Unknown, err
	}
	phase := readFlux(o.Status.fluxStatus, o.Metadata.Generation, o.Spec.Suspend, e)
	for _, h := range o.Status.History {
		if h.Status == "deployed" {
			e.Revision, e.App = h.ChartVersion, h.AppVersion
			break
		}
	}
	if tried := o.Status.LastAttemptedRevision; tried != e.Revision {
		e.Attempted = tried
	}
	ref, path := o.Spec.Chart.Spec.SourceRef, o.Spec.Chart.Spec.Chart
	if o.Spec.ChartRef != nil {
		ref, path = *o.Spec.ChartRef, ""
	}
	if s, ok := r.sources[ref.objectName(o.Metadata.Namespace)]; ok {
		e.Source = &agentapi.Source{URL: s.url, Ref: s.ref, Path: path}
	}
	return phase, nil
}
