// Package observe answers what gates need to know from outside: what clusters report, what an
// HTTP server answers, how a workflow ended.
//
// What the package keeps true: nothing is ready but at a revision that its cluster named, and what
// is not known to be ready is not; a server is asked only if the settings allow its URL, and a
// token goes to no other; what is done about a workflow is written on the commit before it is done,
// so that it is not started again while it may be running. No answer has a secret in it. What
// clusters have reported may be lost: gates are told, and do not decide by what is left of it.
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

// ErrNoReport is the error for an event of Flux that is not about a rollout.
var ErrNoReport = errors.New("the event says nothing about a rollout")

// ErrOtherCluster is the error for an event that names another cluster than the one that sent it.
var ErrOtherCluster = errors.New("the event names another cluster than the one whose key it has")

// ErrNoTime is the error for an event without a time that can be read.
var ErrNoTime = errors.New("read an event of Flux: its timestamp is missing, or is no time")

// UnnamedCluster is the cluster of events that do not name theirs. Clusters without
// a name count as one.
const UnnamedCluster = "unnamed"

// Bounds of what is kept of an event, in bytes.
const (
	longestName    = 253 // of anything in Kubernetes
	longestMessage = 300
)

// fluxEvent is what is read of an event of event.toolkit.fluxcd.io/v1beta1.
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

// ParseFlux reads an event of Flux, as its notification-controller posts it. cluster is the one that
// has proven its name, or "". The error is ErrNoReport if the event is not about a rollout, ErrNoTime
// if it has no time that can be read, ErrOtherCluster if it names another cluster than that, and
// another one if it is no event.
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
	// An error may be about something that comes before any revision, such as access; then the
	// object has failed at the last revision that is known of it.
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

// areNames reports whether texts are short enough for names, and of one line.
func areNames(all ...string) bool {
	return !slices.ContainsFunc(all, func(name string) bool {
		return len(name) > longestName || strings.ContainsFunc(name, unicode.IsControl)
	})
}

// sourceGroups are the groups of what is fetched and not rolled out.
var sourceGroups = []string{"source.toolkit.fluxcd.io", "image.toolkit.fluxcd.io", "notification.toolkit.fluxcd.io"}

// rolloutPhase returns what an event means; false if it is not about a rollout. A reason
// that is not known means that something goes on.
func (f fluxEvent) rolloutPhase() (rollout.Phase, bool) {
	group, _, _ := strings.Cut(f.Object.APIVersion, "/")
	switch {
	case slices.Contains(sourceGroups, group), kubeobject.IsOutdated(f.Reason, f.Message):
		return "", false
	case f.Reason == "UninstallSucceeded" && !f.isTakenBack(): // the object is deleted, or gets a release of another name
		return "", false
	case f.Severity == "error":
		return rollout.Failed, true
	case f.Severity != "info":
		return "", false
	case f.isTakenBack():
		return rollout.Failed, true
	// The reason is that of the condition Ready, which is still Progressing when the checks
	// have passed. The event that follows, "Reconciliation finished", has a reason that ends
	// with Succeeded; but notification-controller 1.8.0 to 1.8.3 do not forward it, and then
	// there is nothing but the message to know it by.
	case strings.HasPrefix(f.Message, "Health check passed"):
		return rollout.Ready, true
	case strings.HasSuffix(f.Reason, "Succeeded"), f.Reason == "HealthCheckPassed", f.Reason == "Ready":
		return rollout.Ready, true
	default:
		return rollout.Progressing, true
	}
}

// isTakenBack reports whether what was wanted has been replaced by what ran before, or removed. The
// event names that, and not what has failed.
func (f fluxEvent) isTakenBack() bool {
	return f.Reason == "RollbackSucceeded" || f.Reason == "UninstallSucceeded" && strings.Contains(f.Message, "remediation")
}

// sourceRevision returns the revision that an event is about. What was packed as an artifact has the
// revision of its origin.
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

// appVersion returns the version of the application in the chart that an event is about; "" if it says none.
func (f fluxEvent) appVersion() string {
	group, _, _ := strings.Cut(f.Object.APIVersion, "/")
	app := cmp.Or(f.Metadata[group+"/app-version"], f.Metadata["app-version"])
	if !areNames(app) {
		return ""
	}
	return app
}

// cleanMessage returns a message that can be shown to people, also on public forges, and is not too long.
func cleanMessage(message string) string {
	return text.Shorten(text.CleanLine(text.ShortenTerraform(message)), longestMessage)
}
