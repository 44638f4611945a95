package clusterfiles

import (
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

// HasClusters reports whether an output provisions clusters or did before.
func HasClusters(output tree.Tree) bool {
	_, none := output.Lookup(path.Join(Folder, noneFile))
	return none || slices.ContainsFunc(ExecutorFolders(), func(folder string) bool { return !output.Sub(folder).IsEmpty() })
}

// ExecutorFolders returns the executors' folders, which contain manifests.
func ExecutorFolders() []string {
	return list.Convert(clusters.Executors, func(executor string) string { return path.Join(Folder, executor) })
}

func listManifests(output tree.Tree) iter.Seq2[string, tree.Tree] {
	return func(yield func(string, tree.Tree) bool) {
		for _, folder := range ExecutorFolders() {
			for _, e := range output.Sub(folder).Entries() {
				if !yield(path.Join(folder, e.Name), e.Tree()) {
					return
				}
			}
		}
	}
}

// ReadStates returns the states of manifests with readable locks.
func ReadStates(output tree.Tree) []provision.State {
	var all []provision.State
	for _, files := range listManifests(output) {
		if state, err := readLock(files); err == nil && state.Name != "" {
			all = append(all, state)
		}
	}
	return all
}

// ListProvisioned names the clusters that an output still has, including those being
// destroyed, and unreadable manifests.
func ListProvisioned(output tree.Tree) []string {
	var all []string
	for folder, files := range listManifests(output) {
		if !IsManifest(files) {
			continue
		}
		state, err := readLock(files)
		if err != nil {
			all = append(all, "what the folder "+folder+" describes, whose "+provision.LockFile+" cannot be read")
			continue
		}
		for _, c := range state.Spec.Kubernetes.Clusters {
			all = append(all, fmt.Sprintf("cluster %s of %s", c.Name, state.Path()))
		}
		if state.Rollout != nil {
			for _, name := range state.Rollout.Leaving {
				all = append(all, fmt.Sprintf("cluster %s of %s, which is being destroyed", name, state.Path()))
			}
		}
	}
	return all
}

// CheckFormer reports clusters at previous locations of an output without clusters:
// they would count as new.
func CheckFormer(m *model.Model, former []tree.Tree, now tree.Tree) problem.List {
	var problems problem.List
	if HasClusters(now) {
		return nil
	}
	for _, f := range former {
		if all := ListProvisioned(f); len(all) > 0 {
			problems.Addf(problem.Pos{Layer: m.Environment}, "Environment/"+m.Environment, "write the repository, the branch and the path of the GitOpsRepo as they were; or copy the folder "+Folder+" of the output to the new place first",
				"the output moves, and has %s where it was", text.Join(all, " and "))
		}
	}
	return problems
}

// CheckPrevious reports changes of the previous output that must not be merged: those
// that destroy more than was accepted, or are impossible.
func CheckPrevious(m *model.Model, previous tree.Tree) problem.List {
	p := Previous{Tree: previous}
	return p.check(m)
}

func (p *Previous) check(m *model.Model) problem.List {
	var problems problem.List
	var current []provision.State
	environment := problem.Pos{Layer: m.Environment}
	for folder, files := range listManifests(p.Tree) {
		file := path.Join(folder, provision.LockFile)
		if !IsManifest(files) {
			continue
		}
		state, err := readLock(files)
		if err != nil {
			problems.Addf(environment, "Environment/"+m.Environment, "restore the file from the last commit of the output branch that Fairlead made",
				"what clusters there are is not known: %s of the output: %v", file, err)
			continue
		}
		p.completeState(&state, m, files)
		current = append(current, state)
		asked := provision.WithEmptyParts([]provision.State{state}, m)
		problems = append(problems, checkProtected(asked, &state, files)...)
		problems = append(problems, checkReattached(asked, &state, files)...)
		problems = append(problems, checkRelocated(asked, &state, files)...)
	}
	return append(problems, provision.CheckModel(current, m)...)
}

func (p *Previous) completeState(s *provision.State, m *model.Model, files tree.Tree) {
	s.AddSecrets(model.ReadCredentials(files.Sub(credentialsFolder)))
	if p.TemplateHash != nil {
		s.AddTemplateHashes(&m.Clusters, p.TemplateHash)
	}
}

// IsManifest reports whether a folder has a manifest, even without its lock.
func IsManifest(files tree.Tree) bool {
	_, locked := files.Lookup(provision.LockFile)
	_, applied := files.Lookup(fluxFile)
	return locked || applied
}

// readLock returns the zero State without a manifest. An error means that the lock was
// edited or deleted.
func readLock(files tree.Tree) (provision.State, error) {
	lock, there := files.Lookup(provision.LockFile)
	switch {
	case there:
		return provision.ParseLock(lock.Data)
	case IsManifest(files):
		return provision.State{}, errors.New("it was deleted")
	}
	return provision.State{}, nil
}
