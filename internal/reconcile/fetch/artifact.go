package fetch

import (
	"context"

	"github.com/fairlead-io/fairlead/internal/change/inside"
)

func (f *Fetcher) buildArtifact(context.Context, inside.Source) inside.Built {
	return inside.Built{Reason: inside.Unsupported}
}
