// Package kustomize builds a kustomization in memory.
//
// The building is done by kustomize's own library, krusty, as Flux and the
// kustomize command do it. On its own krusty would clone a repository for one
// name, send a request for another and run a program for a third. What the
// package keeps true:
//
//   - A build is a function of the tree that it is given. Everything that a
//     kustomization names is looked up in the tree first ([checker]); a name that
//     is not that of a file or folder there is a problem, and krusty does not
//     run. When it runs, it sees the files that were looked up and no others.
//   - What decides whether a text is a path or inline YAML is krusty's own
//     parser, so that the two cannot disagree on what a text is.
//   - A build ends. Kustomizations that include themselves, aliases and
//     references that lead back to themselves, and input that grows beyond
//     [maxInput] when it is written out are problems. Not bounded is what
//     replacements, vars and patches multiply by being applied to many objects.
//   - A panic of krusty is a problem. krusty checks little of what it is given.
//
// krusty writes a line to standard error for each deprecated field (bases,
// commonLabels, imageTags, patchesJson6902, patchesStrategicMerge, vars); there
// is no way to prevent it.
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

// Object is one object of a build, in the order of the build.
type Object struct {
	// File is the path in the tree of the file that the object was read from. An
	// object that was generated has the file that asks for it, which is the
	// kustomization in most cases.
	File string
	// YAML is the object as kustomize prints it: one document, keys sorted.
	YAML []byte
}

const (
	// maxInput is how many bytes a build may read, when every file counts as
	// often as it is included and every alias as what it stands for.
	maxInput = 16 << 20
	// includeCost is what the inclusion of a kustomization counts besides its
	// bytes, so that thousands of empty ones are too much as well.
	includeCost = 4 << 10
	// maxCopied is how many bytes one JSON patch may add by its copy operations,
	// each of which can double an object.
	maxCopied = 1 << 20
)

// buildMutex serialises all builds of the process: the schema that krusty merges
// by is a global of kyaml, which every build sets and a kustomization with the
// field openapi replaces. Flux serialises its builds for the same reason.
var buildMutex sync.Mutex

// Build builds the kustomization in folder dir of files; "" is the root. Its
// problems have no layer. There are objects only if none of the problems stops.
func Build(files tree.Tree, dir string) (objects []Object, problems problem.List) {
	buildMutex.Lock()
	defer buildMutex.Unlock()
	jsonpatch.AccumulatedCopySizeLimit = maxCopied

	factory := resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory())
	c := &checker{files: files, factory: factory, reached: map[string][]byte{}, sizes: map[string]int{}}
	top := source{dir: strings.TrimPrefix(path.Clean("/"+dir), "/")}
	defer func() {
		// krusty panics on some objects that it does not expect (null where it
		// wants a mapping, an empty file of CRDs), so its input may do that too.
		if r := recover(); r != nil {
			c.setsSchema = true
			objects = nil
			problems = append(c.problems, top.buildProblem("kustomize panics: "+oneLine(fmt.Sprint(r))))
		}
		if c.setsSchema {
			// The next build must not merge by the schema of this one.
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

// IsKustomizationFile reports whether name, without folders, is one that
// kustomize takes for a kustomization.
func IsKustomizationFile(name string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), name)
}

// buildProblem returns a problem with krusty's message, which has no position.
func (s *source) buildProblem(sentence string) problem.Problem {
	return problem.Problem{
		Pos:     problem.Pos{File: s.file},
		Subject: s.subject(),
		Summary: sentence,
		Hint:    fmt.Sprintf("`kustomize build %s` should say the same", cmp.Or(s.dir, ".")),
	}
}

// oneLine returns krusty's message as one short line, with paths of the tree.
func oneLine(message string) string {
	message = strings.NewReplacer(mount+"/", "", mount, ".").Replace(message)
	return text.Shorten(text.OneLine(message), 400)
}
