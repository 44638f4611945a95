package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/problem"
	"github.com/fairlead-io/fairlead/schemas"
)

func newSchema(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Print the JSON Schema of a kind, or list the kinds",
		Long: `Schema prints the JSON Schema of a kind of the control plane, for editors. Without
a kind it lists them.`,
		Example:   "  fairlead schema ClusterType > cluster-type.json",
		Args:      usageArgs(cobra.MaximumNArgs(1)),
		ValidArgs: schemas.Kinds(),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.checkFormat(); err != nil {
				return err
			}
			if len(args) == 0 {
				return a.print(schemas.Kinds(), func() string { return strings.Join(schemas.Kinds(), "\n") + "\n" })
			}
			return a.schema(args[0])
		},
	}
}

func (a *app) schema(kind string) error {
	schema, ok := schemas.Schema(kind)
	if !ok {
		hint := problem.DidYouMean(kind, schemas.Kinds())
		if hint == "" {
			hint = "the kinds are " + strings.Join(schemas.Kinds(), ", ")
		}
		return usagef(hint, "there is no kind %s", kind)
	}
	_, err := fmt.Fprintln(a.out, strings.TrimSpace(string(schema)))
	return err
}
