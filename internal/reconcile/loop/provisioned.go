package loop

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/ephemeral"
)

// maxProvisioned is how many clusters a reason names.
const maxProvisioned = 5

// refuseRemoval returns why the output of an environment that is gone stays, and what to do: nothing would
// manage its clusters any more, and nothing would guard them if the environment came back.
func refuseRemoval(environment string, provisioned []string) ephemeral.Cleared {
	named := provisioned[:min(len(provisioned), maxProvisioned)]
	if more := len(provisioned) - len(named); more > 0 {
		named = append(named[:len(named):len(named)], fmt.Sprintf("%d more", more))
	}
	return ephemeral.Cleared{
		Reason: "its output stays, since without it nothing would manage " + text.Join(named, " and "),
		Hint: fmt.Sprintf("bring .environments/%s.yaml back; remove the clusters from their manifests with the annotation fairlead.io/decommission: \"true\"; "+
			"and delete the environment after the output has no clusters any more", environment),
	}
}
