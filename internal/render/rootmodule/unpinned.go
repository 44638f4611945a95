package rootmodule

import (
	"regexp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

var (
	sourceLine = regexp.MustCompile(`(?m)^  source +=  *"([^"]*)"$`)
	pinnedRef  = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// FindUnpinned returns why the module of a component could not be read, if its root module names it at a commit
// in one output, and in the next one only because of that no more. Terraform would take whatever is there.
func FindUnpinned(m *model.Model, before, after tree.Tree) (why model.Unread, found bool) {
	was, ok := readModuleSource(before)
	is, still := readModuleSource(after)
	if !ok || !still || !pinnedRef.MatchString(was.ref) || pinnedRef.MatchString(is.ref) || was.repo != is.repo || was.folder != is.folder {
		return model.Unread{}, false
	}
	why = m.Stacks.Layers[stack.SourceName(is.repo, is.ref)].UnreadModules
	return why, why.Summary != ""
}

// readModuleSource returns where the root module in a folder takes its module from; false if that is not Git.
func readModuleSource(files tree.Tree) (gitAddress, bool) {
	e, _ := files.Lookup("module.tf")
	source := sourceLine.FindSubmatch(e.Data)
	if source == nil {
		return gitAddress{}, false
	}
	return parseGitAddress(string(source[1]))
}
