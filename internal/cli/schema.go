package cli

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/schemas"
)

func newSchema(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "schema [KIND]",
		GroupID: groupMain,
		Short:   "Print the JSON Schema of a kind, or list the kinds",
		Long: `Schema prints the JSON Schema of a kind of the control plane, or of all of them with
"all", for editors. Without a kind it lists them.`,
		Example: `  fairlead schema ClusterType > cluster-type.json
  fairlead schema all > control-plane.json`,
		Args:      checkArguments(0, 1),
		ValidArgs: append(schemas.Kinds(), "all"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.printValue(schemas.Kinds(), schemas.Kinds(), func() string { return strings.Join(schemas.Kinds(), "\n") + "\n" })
			}
			schema, ok := schemas.Schema(args[0])
			if !ok {
				return newUnknownError("kind", args[0], schemas.Kinds())
			}
			return a.printValue(json.RawMessage(schema), args, func() string { return strings.TrimSpace(string(schema)) + "\n" })
		},
	}
	a.addOutputFlag(c)
	return c
}
