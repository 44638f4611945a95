// Package observe collects what gates need from outside: reports of clusters, answers of HTTP
// servers, results of workflows.
//
// An object is ready only at a revision that its cluster named. Only URLs in the settings are
// requested, and tokens go to no other. Steps of a workflow are recorded on the commit first, so
// that it is not started twice. No answer contains a secret. Gates know when reports were lost, and
// do not decide by the rest.
package observe

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

// ErrNoReport means that an event is not about a rollout.
var ErrNoReport = errors.New("the event says nothing about a rollout")

// ErrOtherCluster means that an event names another cluster than its key.
var ErrOtherCluster = errors.New("the event names another cluster than the one whose key it has")

// ErrNoTime is the error for an event without a valid time.
var ErrNoTime = errors.New("the time of the event is missing or malformed")

// UnnamedCluster is the cluster of all events without a name.
const UnnamedCluster = "unnamed"

// Limits of stored text, in bytes.
const (
	longestName    = 253 // the Kubernetes limit
	longestMessage = 300
)

// fluxEvent is the used part of an event of event.toolkit.fluxcd.io/v1beta1.
type fluxEvent struct {
	Object struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Namespace  string `json:"namespace"`
		Name       string `json:"name"`
		UID        string `json:"uid"`
	} `json:"involvedObject"`
	Severity  string            `json:"severity"`
	Timestamp json.RawMessage   `json:"timestamp"`
	Message   string            `json:"message"`
	Reason    string            `json:"reason"`
	Metadata  map[string]string `json:"metadata"`
}

// ParseFlux parses an event of Flux's notification-controller. cluster has a proven name, or is "".
// Errors include ErrNoReport, ErrNoTime and ErrOtherCluster.
func ParseFlux(body []byte, cluster string) (Event, error) {
	var f fluxEvent
	if err := json.Unmarshal(body, &f); err != nil {
		return Event{}, fmt.Errorf("read an event of Flux: %w", err)
	}
	if f.Object.Kind == "" || f.Object.Name == "" || f.Severity == "" {
		return Event{}, errors.New("read an event of Flux: the object or the severity is missing")
	}
	var when time.Time
	if err := json.Unmarshal(f.Timestamp, &when); err != nil || when.IsZero() {
		return Event{}, ErrNoTime
	}
	named, environment, clusterType := f.Metadata["cluster"], f.Metadata["environment"], f.Metadata["clusterType"]
	if !areNames(f.Object.Kind, f.Object.Namespace, f.Object.Name, f.Object.UID, named, environment, clusterType) {
		return Event{}, errors.New("read an event of Flux: a name is too long, or has a line break")
	}
	if cluster != "" && named != "" && named != cluster {
		return Event{}, ErrOtherCluster
	}
	phase, ok := f.rolloutPhase()
	about := f.sourceRevision()
	// An error without a revision, such as missing access, is a failure at the last known one.
	if !ok || about == (ledger.Revision{}) && phase != rollout.Failed {
		return Event{}, ErrNoReport
	}
	e := Event{
		Cluster: cmp.Or(cluster, named), Proven: cluster != "", Environment: environment, ClusterType: clusterType, Object: f.Object.Kind + "/" + f.Object.Namespace + "/" + f.Object.Name,
		Branch: about.Branch, Commit: about.Commit, Version: about.Version, Phase: phase, App: f.appVersion(), Message: cleanMessage(f.Message), When: when.UTC(),
	}
	if f.isTakenBack() {
		e.Branch, e.Commit, e.Version, e.Runs = "", "", "", about.String()
	}
	if e.Proven {
		e.UID = f.Object.UID
	}
	if e.Cluster == "" {
		e.Cluster = UnnamedCluster
		if f.Object.UID != "" {
			e.Object += "@" + f.Object.UID
		}
	}
	return e, nil
}

func areNames(all ...string) bool {
	return !slices.ContainsFunc(all, func(name string) bool {
		return len(name) > longestName || strings.ContainsFunc(name, unicode.IsControl)
	})
}

// sourceGroups are API groups of objects that are not rolled out.
var sourceGroups = []string{"source.toolkit.fluxcd.io", "image.toolkit.fluxcd.io", "notification.toolkit.fluxcd.io"}

// rolloutPhase returns false if the event is not about a rollout. An unknown reason means progress.
func (f fluxEvent) rolloutPhase() (rollout.Phase, bool) {
	group, _, _ := strings.Cut(f.Object.APIVersion, "/")
	switch {
	case slices.Contains(sourceGroups, group), kubeobject.IsOutdated(f.Reason, f.Message):
		return "", false
	case f.Reason == "UninstallSucceeded" && !f.isTakenBack(): // deleted, or its release was renamed
		return "", false
	case f.Severity == "error":
		return rollout.Failed, true
	case f.Severity != "info":
		return "", false
	case f.isTakenBack():
		return rollout.Failed, true
	// The reason is that of the condition Ready, which is still Progressing after the checks.
	// notification-controller 1.8.0 to 1.8.3 do not forward the later event "Reconciliation
	// finished", whose reason ends with Succeeded. So the message must decide.
	case strings.HasPrefix(f.Message, "Health check passed"):
		return rollout.Ready, true
	case strings.HasSuffix(f.Reason, "Succeeded"), f.Reason == "HealthCheckPassed", f.Reason == "Ready":
		return rollout.Ready, true
	default:
		return rollout.Progressing, true
	}
}

// isTakenBack reports whether Helm restored or removed a release. The event then names the restored
// revision.
func (f fluxEvent) isTakenBack() bool {
	return f.Reason == "RollbackSucceeded" || f.Reason == "UninstallSucceeded" && strings.Contains(f.Message, "remediation")
}

func (f fluxEvent) sourceRevision() ledger.Revision {
	group, _, _ := strings.Cut(f.Object.APIVersion, "/")
	for _, key := range []string{group + "/originRevision", "originRevision", group + "/revision", "revision"} {
		found := ledger.ParseRevision(f.Metadata[key])
		if found != (ledger.Revision{}) {
			return found
		}
	}
	return ledger.Revision{}
}

// appVersion returns the application version of a chart; "" if missing.
func (f fluxEvent) appVersion() string {
	group, _, _ := strings.Cut(f.Object.APIVersion, "/")
	app := cmp.Or(f.Metadata[group+"/app-version"], f.Metadata["app-version"])
	if !areNames(app) {
		return ""
	}
	return app
}

func cleanMessage(message string) string {
	return text.Shorten(text.CleanLine(text.ShortenTerraform(message)), longestMessage)
}
