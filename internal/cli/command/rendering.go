package command

import (
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/internal/render"
)

// AddMissingValuesFlag adds the flag that corresponds to the setting missingValues.
func AddMissingValuesFlag(f *pflag.FlagSet, o *render.Options) {
	f.BoolVar(&o.PublishMissing, "publish-missing-values", false, "publish null and missing values as <no value>, with a warning (the setting missingValues: publish)")
}
