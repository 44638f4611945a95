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

// kustomizeEngine expands the manifests as text, and builds the kustomization whose files
// they are, in memory. A first line "# file: NAME" names a file; without it a text of kind
// Kustomization is kustomization.yaml, and others are "0.yaml", "1.yaml" … by their index.
// An empty text is no file.
type kustomizeEngine struct {
	text *textEngine

	mu    sync.Mutex
	built map[tree.ID][]byte // by the id of the files; a build costs more than a millisecond
}

// maxBuilt bounds how many builds are cached.
const maxBuilt = 1 << 10

// stepsOfBuild is how many steps a build counts as.
const stepsOfBuild = 1 << 13

func newKustomizeEngine(t *model.Template, o Options) (engine, []Mistake) {
	e, mistakes := newTextEngine(t, o)
	if mistakes != nil {
		return nil, mistakes
	}
	return &kustomizeEngine{text: e.(*textEngine), built: map[tree.ID][]byte{}}, nil
}

// Reads implements engine.
func (e *kustomizeEngine) Reads(field string) bool { return e.text.Reads(field) }

// Expand implements engine.
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

// kustomizeFiles returns the texts as files, and the index of the manifest of each name.
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
		} else if kustomizationKind.Match(text) && !bytes.Contains(text, []byte("kustomize.toolkit.fluxcd.io/")) { // Flux's kind
			name = "kustomization.yaml"
		}
		if err := b.Add(name, text); err != nil {
			return tree.Tree{}, nil, &Mistake{Manifest: i, Line: 1, Summary: err.Error()}
		}
		at[name] = i
	}
	return b.Tree(), at, nil
}

// kustomizationKind matches a line of a kustomization, which is not parsed: a broken one must be
// recognised too.
var kustomizationKind = regexp.MustCompile(`(?m)^kind: *["']?Kustomization["']?[ \t]*(#.*)?\r?$`)

// buildMistakes returns the build's problems as mistakes in the manifests of the files.
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
