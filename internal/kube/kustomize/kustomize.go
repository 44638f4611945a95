// Package kustomize builds a kustomization in memory.
//
// It uses kustomize's library, krusty, like Flux. By itself, krusty would clone repositories, send
// requests and run programs. What the package keeps true:
//   - A build is a function of its tree. [checker] looks up every name first; a
//     name without a file or folder is a problem, and krusty does not run. When it
//     runs, it sees only these files.
//   - krusty's own parser decides whether a text is a path or inline YAML.
//   - A build ends. Cycles of kustomizations, aliases and references are problems,
//     as is input beyond [maxInput] when expanded. The output of replacements, vars
//     and patches that apply to many objects is not bounded.
//   - A panic of krusty is a problem.
//
// krusty unavoidably writes a line to standard error for each deprecated field.
package kustomize

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// Object is one object of a build.
type Object struct {
	// File is the path of the file with the object, or with the request to generate it, usually the
	// kustomization.
	File string
	// YAML is one document with sorted keys, as kustomize prints it.
	YAML []byte
}

const (
	// maxInput bounds a build in bytes, with includes and aliases expanded.
	maxInput = 16 << 20
	// includeCost is the cost of a kustomization in addition to its bytes, to bound thousands of
	// empty ones.
	includeCost = 4 << 10
	// maxCopied bounds the bytes that the copy operations of a JSON patch add; each can double an
	// object.
	maxCopied = 1 << 20
)

// buildMutex serialises builds: krusty's schema is a global of kyaml, which a kustomization with
// openapi replaces. Flux does the same.
var buildMutex sync.Mutex

// Build builds the kustomization in folder dir of files ("" is the root). Problems have no layer.
// It returns no objects if a problem stops.
func Build(files tree.Tree, dir string) (objects []Object, problems problem.List) {
	buildMutex.Lock()
	defer buildMutex.Unlock()
	jsonpatch.AccumulatedCopySizeLimit = maxCopied

	factory := resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory())
	c := &checker{files: files, factory: factory, reached: map[string][]byte{}, sizes: map[string]int{}}
	top := source{dir: strings.TrimPrefix(path.Clean("/"+dir), "/")}
	defer func() {
		// krusty panics on some unexpected objects, such as null for a mapping.
		if r := recover(); r != nil {
			c.setsSchema = true
			objects = nil
			problems = append(c.problems, top.buildProblem("kustomize panics: "+oneLine(fmt.Sprint(r))))
		}
		if c.setsSchema {
			// The next build must not use this schema.
			openapi.ResetOpenAPI()
		}
	}()

	root := c.checkRoot(&top)
	if c.problems.Stops() {
		return nil, c.problems
	}
	objects, err := buildObjects(root, c.reached)
	if err != nil {
		c.problems = append(c.problems, top.buildProblem("kustomize cannot build this: "+oneLine(err.Error())))
		return nil, c.problems
	}
	return objects, c.problems
}

// IsKustomizationFile reports whether kustomize takes a file name for a kustomization.
func IsKustomizationFile(name string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), name)
}

func (s *source) buildProblem(sentence string) problem.Problem {
	return problem.Problem{
		Pos:     problem.Pos{File: s.file},
		Subject: s.subject(),
		Summary: sentence,
		Hint:    fmt.Sprintf("`kustomize build %s` should say the same", cmp.Or(s.dir, ".")),
	}
}

// oneLine shortens krusty's message and makes paths relative to the tree.
func oneLine(message string) string {
	message = strings.NewReplacer(mount+"/", "", mount, ".").Replace(message)
	return text.Shorten(text.OneLine(message), 400)
}
