package model

import "github.com/fairlead-io/fairlead/internal/base/problem"

// content is what one or more files hold.
type content struct {
	environments  []*Environment
	baseRepos     []*BaseRepo
	gitOpsRepos   []*GitOpsRepo
	clusterTypes  []*ClusterType
	templates     []*Template
	policies      []*Policy
	registrations []*Registration
	workloads     []*workload
	targets       []*Target
	configs       []*Config
	schemas       []*Schema
	stacks        Stacks
	clusters      clusterParts
	choices       []*choiceObject
	decisions     []*Decision
	besides       []Object // objects in the folder of decisions that are none
	placements    placementObjects
	measures      []*Measures
	importedTypes []importedType
	ignored       map[string]int
	disabled      []*Object // Flux does not apply them, and keeps their versions of before
	broken        bool      // a file could not be read that may hold anything
	progress      Progress
	pins          Progress // of layers of that kind
	problems      problem.List
	dropped       droppedCounts
}

func (c *content) add(o *content) {
	c.environments = append(c.environments, o.environments...)
	c.baseRepos = append(c.baseRepos, o.baseRepos...)
	c.gitOpsRepos = append(c.gitOpsRepos, o.gitOpsRepos...)
	c.clusterTypes = append(c.clusterTypes, o.clusterTypes...)
	c.templates = append(c.templates, o.templates...)
	c.policies = append(c.policies, o.policies...)
	c.registrations = append(c.registrations, o.registrations...)
	c.workloads = append(c.workloads, o.workloads...)
	c.targets = append(c.targets, o.targets...)
	c.configs = append(c.configs, o.configs...)
	c.schemas = append(c.schemas, o.schemas...)
	c.stacks.add(&o.stacks)
	c.clusters.add(&o.clusters)
	c.progress.add(&o.progress)
	c.pins.add(&o.pins)
	c.placements.add(&o.placements)
	c.choices, c.besides = append(c.choices, o.choices...), append(c.besides, o.besides...)
	c.decisions, c.measures = append(c.decisions, o.decisions...), append(c.measures, o.measures...)
	c.importedTypes = append(c.importedTypes, o.importedTypes...)
	c.disabled, c.broken = append(c.disabled, o.disabled...), c.broken || o.broken
	c.problems = append(c.problems, o.problems...)
	c.dropped.add(o.dropped)
	for kind, n := range o.ignored {
		c.countIgnored(kind, n)
	}
}

func (c *content) countIgnored(kind string, n int) {
	if c.ignored == nil {
		c.ignored = map[string]int{}
	}
	c.ignored[kind] += n
}
