package stacksim

import (
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// chartVersion is that of all charts: they are not read.
const chartVersion = "1.0.0"

// release is a HelmRelease.
type release struct {
	*object
	ready      condition
	installed  tree.ID // the object that was installed
	installing tree.ID // the object that is being installed; zero for none
	due        time.Time
	isDeleted  bool
	isLeaving  bool // it is being uninstalled
}

// runRelease does what helm-controller does with an object.
func (c *cluster) runRelease(r *release, now time.Time) {
	switch {
	case r.isDeleted && !r.isLeaving:
		r.isLeaving, r.due = true, now.Add(c.options.Pace)
		r.ready.set(now, "Unknown", "Progressing", "Uninstalling")
	case r.isLeaving && now.Before(r.due):
	case r.isLeaving:
		delete(c.releases, r.objectKey)
		c.addEvent(r.object, false, "is uninstalled")
	case r.installed == r.digest || r.spec.Suspend:
	case r.installing != r.digest:
		r.installing, r.due = r.digest, now.Add(c.options.Pace)
		r.ready.set(now, "Unknown", "Progressing", "Running 'install' action")
	case now.Before(r.due):
	default:
		c.install(r, now)
	}
}

func (c *cluster) install(r *release, now time.Time) {
	for _, from := range r.spec.ValuesFrom {
		if from.Kind == "ConfigMap" { // of platform values, which may be missing
			continue
		}
		if _, ok := c.secrets[objectKey{"Secret", r.namespace, from.Name}][from.Key]; !ok {
			r.ready.set(now, "False", "ValuesError", fmt.Sprintf("could not resolve Secret chart values reference '%s/%s' with key '%s'", r.namespace, from.Name, from.Key))
			return
		}
	}
	r.installed = r.digest
	r.ready.set(now, "True", "InstallSucceeded", "Helm install succeeded for release "+r.namespace+"/"+r.name)
	c.addEvent(r.object, false, "is installed")
}

// status returns the status of a HelmRelease.
func (r *release) status() status {
	observed, others := r.generation, map[string]condition{}
	switch {
	case r.installed != r.digest && r.ready.status == "True":
		observed-- // it was not looked at
	case r.ready.status == "False":
		others["Reconciling"] = condition{"True", "Progressing", "Fulfilling prerequisites", r.ready.since}
	}
	s := status{"observedGeneration": observed, "conditions": conditionsOf(observed, r.ready, others)}.with("lastAttemptedRevision", chartVersion)
	if r.installed != (tree.ID{}) {
		s["history"] = []map[string]any{{"chartVersion": chartVersion, "status": "deployed"}}
	}
	return s
}
