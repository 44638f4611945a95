package source

import (
	"context"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/templates"
)

// LoadModel reads an environment at some revisions, and does not render it. The model is nil
// if the problems stop it.
func (s *Source) LoadModel(ctx context.Context, env string, at Revisions) (*model.Model, problem.List, error) {
	read, problems, err := s.ReadAt(ctx, env, at)
	if err != nil {
		return nil, nil, err
	}
	if problems.Stops() || !hasLayers(read.Layers) {
		return nil, problems, nil
	}
	builtIn := model.Layer{Kind: model.BuiltIn, Name: "built-in", Files: templates.Files()}
	m, more := s.options.Parser.Parse(read.parsedName(), append(read.Layers, builtIn)...)
	problems = append(problems, more...)
	if problems.Stops() {
		return nil, problems.Sorted(), nil
	}
	if read.Ephemeral != nil {
		m, more = s.selectClusterTypes(m, read.Ephemeral)
		problems = append(problems, more...)
	}
	return m, problems.Sorted(), nil
}
