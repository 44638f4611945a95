package rootmodule

import (
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// requestFile is a file of a root module that holds a comment. tofu-controller makes no other plan of the
// same commit, so that what asks for one changes the root module.
const requestFile = "fairlead_request.tf"

// FindRequest returns what asks for another plan of a component; nil if nothing does.
func FindRequest(m *model.Model, c *stack.Component) *model.PlanRequest {
	for _, r := range m.Stacks.Requests {
		if r.Stack == c.Stack.Path() && r.Component == c.Name {
			return r
		}
	}
	return nil
}

// keepHex drops all but the digits of a commit.
func keepHex(r rune) rune {
	if r >= '0' && r <= '9' || r >= 'a' && r <= 'f' {
		return r
	}
	return -1
}
