package render

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/kustomize"
)

// kustomizeEngine expands manifests as text and builds them as a kustomization in
// memory. The first line "# file: NAME" names a file. Otherwise a Kustomization is
// kustomization.yaml, and others are named by index: "0.yaml". Empty texts are no
// files.
type kustomizeEngine struct {
	text *textEngine

	mu    sync.Mutex
	built map[tree.ID][]byte // by id of the files; a build takes over a millisecond
}

const maxBuilt = 1 << 10

const stepsOfBuild = 1 << 13

func newKustomizeEngine(t *model.Template, o Options) (engine, []Mistake) {
	e, mistakes := newTextEngine(t, o)
	if mistakes != nil {
		return nil, mistakes
	}
	return &kustomizeEngine{text: e.(*textEngine), built: map[tree.ID][]byte{}}, nil
}

func (e *kustomizeEngine) Reads(field string) bool { return e.text.Reads(field) }

func (e *kustomizeEngine) Expand(p *Pass, dst []byte, d *Data, s Scope, shape *Shape) ([]byte, []Mistake) {
	shape.markUnknown()
	texts, mistakes := e.text.expandManifests(p, d, s)
	if mistakes != nil {
		return dst, mistakes
	}
	files, at, mistake := kustomizeFiles(texts)
	if mistake != nil {
		return dst, []Mistake{*mistake}
	}
	e.mu.Lock()
	text, ok := e.built[files.ID()]
	e.mu.Unlock()
	if !ok {
		p.chargeEngine(e.text, stepsOfBuild)
		objects, problems := kustomize.Build(files, "")
		if problems.Stops() {
			return dst, buildMistakes(problems.Sorted(), at)
		}
		for _, o := range objects {
			body := len(text)
			text = joinDocuments(append(text, o.YAML...), 0, body)
		}
		e.mu.Lock()
		if len(e.built) >= maxBuilt {
			clear(e.built)
		}
		e.built[files.ID()] = text
		e.mu.Unlock()
	}
	return append(dst, text...), nil
}

var fileLine = regexp.MustCompile(`^# file: *(\S+)[ \t]*\r?\n`)

func kustomizeFiles(texts [][]byte) (files tree.Tree, at map[string]int, mistake *Mistake) {
	var b tree.Builder
	at = map[string]int{}
	for i, text := range texts {
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		name := strconv.Itoa(i) + ".yaml"
		if m := fileLine.FindSubmatch(text); m != nil {
			name = string(m[1])
		} else if kustomizationKind.Match(text) && !bytes.Contains(text, []byte("kustomize.toolkit.fluxcd.io/")) { // not Flux's kind
			name = "kustomization.yaml"
		}
		if err := b.Add(name, text); err != nil {
			return tree.Tree{}, nil, &Mistake{Manifest: i, Line: 1, Summary: err.Error()}
		}
		at[name] = i
	}
	return b.Tree(), at, nil
}

// kustomizationKind matches a line, since broken kustomizations must match too.
var kustomizationKind = regexp.MustCompile(`(?m)^kind: *["']?Kustomization["']?[ \t]*(#.*)?\r?$`)

func buildMistakes(problems problem.List, at map[string]int) []Mistake {
	var mistakes []Mistake
	for _, p := range problems {
		m := Mistake{Summary: p.Summary, Hint: p.Hint}
		if i, ok := at[p.Pos.File]; ok {
			m.Manifest, m.Line = i, max(p.Pos.Line, 1)
		}
		if p.Pos.File != "" && !strings.Contains(m.Summary, p.Pos.File) {
			m.Summary = p.Pos.File + ": " + m.Summary
		}
		mistakes = append(mistakes, m)
	}
	return mistakes
}
