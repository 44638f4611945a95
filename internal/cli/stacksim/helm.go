package stacksim

import (
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

const chartVersion = "1.0.0"

type release struct {
	*object
	ready      condition
	installed  tree.ID
	installing tree.ID // object being installed, or zero
	due        time.Time
	isDeleted  bool
	isLeaving  bool // being uninstalled
}

func (c *cluster) runRelease(r *release, now time.Time) {
	switch {
	case r.isDeleted && !r.isLeaving:
		r.isLeaving, r.due = true, now.Add(c.options.Pace)
	case r.isLeaving && now.Before(r.due):
	case r.isLeaving:
		r.set(c, now, "False", "UninstallSucceeded", "Helm uninstall succeeded for release "+r.namespace+"/"+r.name)
		delete(c.releases, r.objectKey)
		c.wrote(r.object)
		c.addEvent(r.object, false, "is uninstalled")
	case r.installed == r.digest || r.spec.Suspend:
	case r.installing != r.digest:
		if missing := c.findMissingValues(r); missing != "" {
			r.set(c, now, "False", "ValuesError", "could not resolve Secret chart values reference "+missing)
			return
		}
		r.installing, r.due = r.digest, now.Add(c.options.Pace)
		r.set(c, now, "Unknown", "Progressing", "Running '"+r.verb()+"' action")
	case now.Before(r.due):
	default:
		verb := r.verb()
		r.installed = r.digest
		r.set(c, now, "True", strings.ToUpper(verb[:1])+verb[1:]+"Succeeded", "Helm "+verb+" succeeded for release "+r.namespace+"/"+r.name)
		c.addEvent(r.object, false, "is installed")
	}
}

func (r *release) set(c *cluster, now time.Time, status, reason, message string) {
	r.ready.set(now, status, reason, message)
	c.wrote(r.object)
}

func (r *release) verb() string {
	if r.installed == (tree.ID{}) {
		return "install"
	}
	return "upgrade"
}

func (c *cluster) findMissingValues(r *release) string {
	for _, from := range r.spec.ValuesFrom {
		if from.Kind == "ConfigMap" { // platform values are optional
			continue
		}
		if _, ok := c.secrets[objectKey{"Secret", r.namespace, from.Name}][from.Key]; !ok {
			return fmt.Sprintf("'%s/%s' with key '%s'", r.namespace, from.Name, from.Key)
		}
	}
	return ""
}

func (r *release) status() status {
	observed, others := r.generation, map[string]condition{}
	switch {
	case r.installed != r.digest && r.ready.status == "True":
		observed--
	case r.ready.status == "False":
		others["Reconciling"] = condition{"True", "Progressing", "Fulfilling prerequisites", r.ready.since}
	}
	s := status{"observedGeneration": observed, "conditions": conditionsOf(observed, r.ready, others)}.with("lastAttemptedRevision", chartVersion)
	if r.installed != (tree.ID{}) {
		s["history"] = []map[string]any{{"chartVersion": chartVersion, "status": "deployed"}}
	}
	return s
}
