package rootmodule

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// requestFile is a file of a root module that holds a comment. tofu-controller makes no other plan of the
// same commit, so that what asks for one changes the root module.
const requestFile = "fairlead_request.tf"

// FindRequest returns what asks for another plan of a component of a stack, or of clusters; nil if nothing
// does.
func FindRequest(m *model.Model, stack, component string) *model.PlanRequest {
	for _, r := range m.Stacks.Requests {
		if r.Stack == stack && r.Component == component {
			return r
		}
	}
	return nil
}

// AddRequest adds to the files of a root module what asks for another plan; nil for nothing.
func AddRequest(files map[string][]byte, request *model.PlanRequest) {
	if request != nil {
		files[requestFile] = fmt.Appendf(nil, "# Planned again after %s.\n", strings.Map(keepHex, string(request.After)))
	}
}

func keepHex(r rune) rune {
	if r >= '0' && r <= '9' || r >= 'a' && r <= 'f' {
		return r
	}
	return -1
}
