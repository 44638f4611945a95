package actions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
)

// Freeze is a period in which the output of environments stays as it is.
type Freeze struct {
	Name, Reason string
	Scope        string    // [model.ScopePromotion] for promotions only; "" for all changes
	Environments []string  // nil for all
	From, To     time.Time // zero for now, and until it is ended
	Waves        string    // "pass" for [model.Freeze.PassesWaves]; "" otherwise
}

// Check returns a [problem.Refusal] for a freeze that cannot be written.
func (f Freeze) Check(now time.Time) error {
	switch {
	case !kubename.IsDNSLabel(f.Name):
		return problem.Refusef("lower case letters, digits and hyphens, as in q4-2026", "%q cannot be the name of a freeze", f.Name)
	case !f.To.IsZero() && (!f.To.After(f.From) || !f.To.After(now)):
		return problem.Refusef("write a later time, or none", "the freeze is over before it begins")
	}
	return nil
}

// ParseTime parses a time that is to come, as [text.ParseNext] does; "" is the zero time. It reports whether the text is
// one of them.
func ParseTime(value string, now time.Time) (time.Time, bool) {
	if value == "" {
		return time.Time{}, true
	}
	at, ok := text.ParseNext(value, now)
	return at.UTC(), ok
}

// Freeze writes a freeze into the base.
func (d *Session) Freeze(ctx context.Context, f Freeze) (Result, error) {
	return d.perform(ctx, "", func(v snapshot) (change, error) {
		if there := findFreeze(v, f.Name); there != nil {
			return change{}, problem.Refusef("take another name, or end it with fairlead freeze "+f.Name+" --remove", "there is a freeze %s in %s already", f.Name, there.Pos.File)
		}
		text, err := model.EncodeObject("Freeze", f.Name, freezeSpec{Reason: f.Reason, Scope: f.Scope, Environments: f.Environments, From: f.From, To: f.To, Waves: f.Waves})
		what := "everything"
		if f.Environments != nil {
			what = strings.Join(f.Environments, ", ")
		}
		stops := "every change"
		if f.Scope == model.ScopePromotion {
			stops = "promotions"
		}
		return change{
			action: freezeAction, name: f.Name, reason: f.Reason, title: fmt.Sprintf("Freeze %s: %s", what, f.Name),
			summary: fmt.Sprintf("freeze %s stops %s of %s", f.Name, stops, what), files: map[string][]byte{freezeFile(f.Name): text}, trailers: freezesTrailers(f.Environments),
		}, err
	})
}

// EndFreeze removes a freeze that an action has written.
func (d *Session) EndFreeze(ctx context.Context, name, reason string) (Result, error) {
	return d.perform(ctx, "", func(v snapshot) (change, error) {
		c := change{action: freezeAction, name: name, reason: reason, title: "End the freeze " + name, summary: "freeze " + name + " is over"}
		there := findFreeze(v, name)
		switch {
		case there == nil:
			c.summary = "there is no freeze " + name
			return c, nil
		case there.Pos.File != freezeFile(name):
			return c, problem.Refusef("remove it from that file", "freeze %s is in %s, which no operator action wrote", name, there.Pos.File)
		}
		c.files, c.trailers = map[string][]byte{there.Pos.File: nil}, append(freezesTrailers(there.Environments), history.EndsTrailer+": "+name)
		return c, nil
	})
}

// AddException lets one commit pass a freeze.
func (d *Session) AddException(ctx context.Context, name, revision, reason string) (Result, error) {
	return d.perform(ctx, "", func(v snapshot) (change, error) {
		there := findFreeze(v, name)
		if there == nil {
			return change{}, problem.Refusef("", "there is no freeze %s", name)
		}
		commit, err := promoter.ResolvePromotable(v.base, revision)
		if err != nil {
			return change{}, err
		}
		c := change{
			action: freezeAction, name: name, to: commit, reason: reason, trailers: freezesTrailers(there.Environments),
			title:   fmt.Sprintf("Let %s pass the freeze %s", text.ShortCommit(commit), name),
			summary: fmt.Sprintf("%s may pass the freeze %s", text.ShortCommit(commit), name),
		}
		if _, passes := there.Except[commit]; passes {
			c.summary = fmt.Sprintf("%s may pass the freeze %s already", text.ShortCommit(commit), name)
			return c, nil
		}
		e, _, err := v.base.Repo.FindEntry(v.base.Head, there.Pos.File)
		if err != nil {
			return c, err
		}
		text, err := withException(e.Data, exceptionSpec{commit, reason})
		if err != nil {
			return c, problem.Refusef("write the exception by hand: spec.except: [{commit: …, reason: …}]", "%s: %v", there.Pos.File, err)
		}
		c.files = map[string][]byte{there.Pos.File: text}
		return c, nil
	})
}

// freezesTrailers returns the trailers by which the history knows which environments a freeze is about; none for
// all.
func freezesTrailers(environments []string) []string {
	return list.Convert(environments, func(name string) string { return history.FreezesTrailer + ": " + name })
}

func findFreeze(v snapshot, name string) *model.Freeze {
	i := slices.IndexFunc(v.base.Progress.Freezes, func(f *model.Freeze) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return v.base.Progress.Freezes[i]
}

func withException(text []byte, e exceptionSpec) ([]byte, error) {
	documents, err := yamldoc.Parse(text)
	if err != nil {
		return nil, err
	}
	if len(documents) != 1 {
		return nil, fmt.Errorf("the file has several objects")
	}
	_, spec := yamldoc.FindPair(yamldoc.RootOf(documents[0]), "spec")
	if spec == nil || spec.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("spec is not a mapping")
	}
	_, list := yamldoc.FindPair(spec, "except")
	if list == nil {
		list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		yamldoc.AddPair(spec, "except", list)
	}
	if list.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("spec.except is not a list")
	}
	var item yaml.Node
	if err := item.Encode(e); err != nil {
		return nil, err
	}
	list.Content = append(list.Content, &item)
	return yamldoc.Encode(documents...)
}
