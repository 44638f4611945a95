package explain

import (
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/render/argocd"
	"github.com/fairlead-io/fairlead/internal/render/rootmodule"
)

// findApplications returns the Applications behind a component's file: one for its
// objects, else all.
func (q *explainer) findApplications(file string, c *stack.Component) []Read {
	if c == nil || c.Type != stack.ArgoCD {
		return nil
	}
	files, _ := rootmodule.FindApplications(q.model, c) // rendering reports its problems
	apps, _ := argocd.Read(files)
	var of, all []Read
	for _, a := range apps {
		one := Read{Object{"Application", a.Name(), a.Position()}, []string{"spec"}}
		all = append(all, one)
		folder := argocd.ObjectName(c.ObjectName, a.Name())
		if inFolder := path.Base(path.Dir(file)); inFolder == folder || strings.HasPrefix(inFolder, folder+"--") {
			of = append(of, one)
		}
	}
	if len(of) > 0 {
		return of
	}
	return all
}
