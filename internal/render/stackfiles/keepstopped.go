package stackfiles

import (
	"path"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// KeepStopped returns a rendered output in which the stacks that are stopped are as the previous output has them:
// without those that it has not. It is for an output of which no more is known; see [FollowPrevious].
func KeepStopped(rendered, previous tree.Tree, isStopped func(stack string) bool) (tree.Tree, error) {
	k := &keeper{rendered: rendered, stopped: map[string]bool{}}
	for i, output := range []tree.Tree{rendered, previous} {
		for _, team := range output.Sub(ObjectsFolder).Entries() {
			for _, env := range team.Tree().Entries() {
				d := Deleted{Team: team.Name, Env: env.Name}
				if !isStopped(d.Path()) {
					continue
				}
				k.stopped[d.Path()] = true
				if i == 0 {
					continue
				}
				for _, folder := range []string{d.Folder(), d.ModulesFolder()} {
					for file, e := range previous.Sub(folder).Walk() {
						if err := k.kept.AddEntry(path.Join(folder, file), e); err != nil {
							return tree.Tree{}, err
						}
					}
				}
			}
		}
	}
	return k.union()
}
