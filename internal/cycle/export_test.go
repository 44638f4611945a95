package cycle

import "github.com/fairlead-io/fairlead/internal/forge"

// Wrap has the loop use another forge for a repository that it knows.
func (l *Loop) Wrap(place string, wrap func(forge.Forge) forge.Forge) error {
	return l.remotes.Known(place).Wrap(wrap)
}
