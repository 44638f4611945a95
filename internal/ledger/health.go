package ledger

import (
	"regexp"
	"slices"
	"strings"
)

// UnreadyObject is an object that keeps a Kustomization of Flux from being ready.
type UnreadyObject struct {
	Name   string // "Terraform/shop/db"
	Status string // of kstatus: "InProgress", "Failed"
}

var (
	unreadyObjects = regexp.MustCompile(`(?:stalled resources|timeout waiting for): \[([^\]]+)\]`)
	unreadyObject  = regexp.MustCompile(`([^\s,]+) status: '([^']*)'`)
)

// ParseUnready returns the objects that the message of a failed health check of Flux names; none if it is another
// message, or was cut.
func ParseUnready(message string) (all []UnreadyObject) {
	listed := unreadyObjects.FindStringSubmatch(message)
	if listed == nil {
		return nil
	}
	for _, found := range unreadyObject.FindAllStringSubmatch(listed[1], -1) {
		all = append(all, UnreadyObject{found[1], found[2]})
	}
	return all
}

// Known is what is known of an object that a health check names.
type Known struct {
	Phase Phase
	// RunsTerraform is set if the object is of Terraform, or applies one that is.
	RunsTerraform bool
}

// JudgeHealth returns the phase of a Kustomization whose health check has failed because of objects. It has not failed
// if they are Terraform objects, and Kustomizations that apply some, of which none has failed: then it waits or goes on
// as they do.
func JudgeHealth(unready []UnreadyObject, find func(name string) (Known, bool)) Phase {
	phase, runsTerraform := Progressing, false
	for _, u := range unready {
		kind := Object{Name: u.Name}.Kind()
		known, ok := find(u.Name)
		if kind == terraformKind {
			known.RunsTerraform = true
		}
		runsTerraform = runsTerraform || known.RunsTerraform
		switch {
		case kind != terraformKind && kind != kustomizationKind:
			return Failed
		case !ok && (kind != terraformKind || u.Status != "InProgress"):
			return Failed
		case !ok, known.Phase == Ready, known.Phase == Progressing, known.Phase == Checking:
		case known.Phase == Drifted, known.Phase == Waiting && phase != Drifted:
			phase = known.Phase
		case known.Phase != Waiting:
			return Failed
		}
	}
	if !runsTerraform {
		return Failed
	}
	return phase
}

const (
	terraformKind     = "Terraform"
	kustomizationKind = "Kustomization"
	// deepestHealth is how many Kustomizations are looked into that name each other.
	deepestHealth = 5
)

// Explain returns the phase of an object by what others of its cluster say: a Kustomization whose health check failed
// because plans wait for a person has not failed.
func Explain(o Object, s State, find func(Object) (State, bool)) Phase {
	return explain(o, s, find, deepestHealth)
}

func explain(o Object, s State, find func(Object) (State, bool), depth int) Phase {
	if s.Phase != Failed || o.Kind() != kustomizationKind || depth == 0 {
		return s.Phase
	}
	return JudgeHealth(ParseUnready(s.Message), func(name string) (Known, bool) {
		of := Object{o.Cluster, name}
		state, known := find(of)
		_, hasOwn := find(of.ownTerraform())
		phase := explain(of, state, find, depth-1)
		return Known{phase, hasOwn || phase != state.Phase}, known
	})
}

// ownTerraform returns the Terraform object that a Kustomization of a component applies: Fairlead names them alike.
func (o Object) ownTerraform() Object {
	return Object{o.Cluster, terraformKind + strings.TrimPrefix(o.Name, o.Kind())}
}

// explained returns what is known of an object, with its phase by what others of its cluster say.
func (b *Book) explained(o Object, r *record) State {
	s := r.state()
	s.Phase = Explain(o, s, b.Find)
	return s
}

// listFailed returns the objects of a cluster that have failed, and those that only wait for a person to approve plans,
// by name.
func (l *Ledger) listFailed(cluster string) (failed, awaited []Object) {
	for _, r := range l.book.clusters[cluster] {
		o := Object{cluster, r.name.Value()}
		switch phase := l.book.explained(o, r).Phase; {
		case phase.IsFailure():
			failed = append(failed, o)
		case phase == Waiting:
			awaited = append(awaited, o)
		}
	}
	return failed, awaited
}

// findDrift returns the first Terraform object among those that have failed which has drifted, and false if others have
// failed for another reason.
func (l *Ledger) findDrift(failed []Object) (first Object, ok bool) {
	for _, o := range failed {
		if l.book.explained(o, l.book.find(o)).Phase != Drifted {
			return Object{}, false
		}
		if !ok && o.Kind() == terraformKind {
			first, ok = o, true
		}
	}
	return first, ok
}

// findTerraform returns the first Terraform object of some, which names the plan that waits; the first object if none is.
func findTerraform(all []Object) Object {
	return all[max(0, slices.IndexFunc(all, func(o Object) bool { return o.Kind() == terraformKind }))]
}
