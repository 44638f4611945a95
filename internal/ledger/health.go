package ledger

import (
	"regexp"
	"slices"
	"strings"
)

// UnreadyObject keeps a Flux Kustomization from becoming ready.
type UnreadyObject struct {
	Name   string // "Terraform/shop/db"
	Status string // of kstatus: "InProgress", "Failed"
}

// HealthTimeout is in the message of a health check that ended by its timeout. The message then names all objects that are not
// ready; otherwise it names the failed ones.
const HealthTimeout = "timeout waiting for: ["

var (
	unreadyObjects = regexp.MustCompile(`(?:stalled resources|timeout waiting for): \[([^\]]+)\]`)
	unreadyObject  = regexp.MustCompile(`([^\s,]+) status: '([^']*)'`)
)

// ParseUnready returns the objects in the message of a failed Flux health check; none for other or
// truncated messages.
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

// Known is the state of an object in a health check.
type Known struct {
	Phase Phase
	// RunsTerraform is set for Terraform objects and objects that apply some.
	RunsTerraform bool
}

// JudgeHealth returns the phase of a Kustomization with a failed health check. If only Terraform
// objects, or Kustomizations that apply some, are unready without failure, it waits or progresses
// with them.
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
	deepestHealth     = 5
)

// Explain corrects the phase of an object by others of its cluster: a Kustomization has not failed
// while its plans wait.
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

// ownTerraform returns the Terraform object of a component's Kustomization, which Fairlead gives
// the same name.
func (o Object) ownTerraform() Object {
	return Object{o.Cluster, terraformKind + strings.TrimPrefix(o.Name, o.Kind())}
}

func (b *Book) explained(o Object, r *record) State {
	s := r.state()
	s.Phase = Explain(o, s, b.Find)
	return s
}

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

func findTerraform(all []Object) Object {
	return all[max(0, slices.IndexFunc(all, func(o Object) bool { return o.Kind() == terraformKind }))]
}
