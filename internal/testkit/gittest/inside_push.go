package gittest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// command moves a reference; one of the ids is zero where it is made or removed.
type command struct {
	old, new objectID
	ref      string
}

func (o *store) answerPush(body []byte) ([]byte, error) {
	lines, text, err := cutLines(body)
	if err != nil {
		return nil, err
	}
	commands, err := parseCommands(lines)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(o.dir, "hooks")); err == nil {
		return nil, errLeft
	}
	locks, err := o.lockReferences(commands)
	defer locks.removeFiles()
	if err != nil {
		return nil, err
	}
	all, err := listReferences(o.dir)
	if err != nil {
		return nil, err
	}
	for _, c := range commands {
		if !all.allowsCommand(c) {
			return nil, errLeft
		}
	}
	if err := o.receiveObjects(commands, text); err != nil {
		return nil, err
	}
	report := appendLine(nil, "unpack ok\n")
	for i, c := range commands {
		if err := locks[i].moveReference(o.dir, c); err != nil {
			return nil, err
		}
		report = appendLine(report, "ok "+c.ref+"\n")
	}
	return append(appendBands(nil, append(report, flush...)), flush...), nil
}

// parseCommands returns the commands of a push whose client knows all that is done here.
func parseCommands(lines []string) ([]command, error) {
	var commands []command
	for i, line := range lines {
		line, wants, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\x00")
		words := strings.Fields(wants)
		if i == 0 && (!slices.Contains(words, "side-band-64k") || slices.Contains(words, "push-options") ||
			!slices.Contains(words, "report-status") && !slices.Contains(words, "report-status-v2")) {
			return nil, errLeft
		}
		parts := strings.Split(line, " ")
		if len(parts) != 3 || !strings.HasPrefix(parts[2], "refs/") || plumbing.ReferenceName(parts[2]).Validate() != nil || parts[0] == parts[1] {
			return nil, errLeft
		}
		commands = append(commands, command{objectID(plumbing.NewHash(parts[0])), objectID(plumbing.NewHash(parts[1])), parts[2]})
	}
	if len(commands) == 0 {
		return nil, errLeft
	}
	return commands, nil
}

// allowsCommand reports whether git would obey a command without a word.
func (r references) allowsCommand(c command) bool {
	if r.ids[c.ref] != c.old { // zero if it is not there
		return false
	}
	if c.new == (objectID{}) {
		return c.ref != r.head && !r.packed[c.ref]
	}
	for name := range r.ids { // a file and a folder of one name
		if strings.HasPrefix(name, c.ref+"/") || strings.HasPrefix(c.ref, name+"/") {
			return false
		}
	}
	return true
}

// receiveObjects keeps the objects that were sent. Each must name only objects that are there, and
// each reference a commit: as the repository was whole before, it is so after.
func (o *store) receiveObjects(commands []command, text []byte) error {
	var all []object
	if len(text) > 0 {
		var err error
		all, err = decodePack(text, func(id objectID) (object, error) {
			kind, data, err := o.packs.Read(id)
			return object{id, kind, data}, err
		})
		if err != nil {
			return err
		}
	}
	kinds := map[objectID]pack.Kind{}
	for _, one := range all {
		kinds[one.id] = one.kind
	}
	for _, one := range all {
		l, err := parseLinks(one.kind, one.data)
		if err != nil {
			return err
		}
		for _, id := range slices.Concat(l.parents, l.folders, l.files) {
			if kinds[id] == 0 && !o.packs.Has(id) {
				return errLeft
			}
		}
	}
	for _, c := range commands {
		if c.new == (objectID{}) || kinds[c.new] == pack.Commit {
			continue
		}
		if l, err := o.linksOf(c.new); err != nil || l.kind != pack.Commit {
			return errLeft
		}
	}
	if len(all) == 0 {
		return nil
	}
	return keepObjects(o.dir, all)
}

// lock is the file by which git, too, sees that a reference is being moved.
type lock string

type locks []lock

func (o *store) lockReferences(commands []command) (held locks, err error) {
	for _, c := range commands {
		path := filepath.Join(o.dir, filepath.FromSlash(c.ref))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return held, err
		}
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			return held, errLeft
		}
		file, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return held, err
		}
		held = append(held, lock(path+".lock"))
		if c.new != (objectID{}) {
			_, err = file.WriteString(c.new.String() + "\n")
		}
		if closed := file.Close(); err != nil || closed != nil {
			return held, errLeft
		}
	}
	return held, nil
}

func (l locks) removeFiles() {
	for _, file := range l {
		_ = os.Remove(string(file)) // it is gone where the reference was moved
	}
}

// moveReference makes the reference what its lock holds, or removes it.
func (l lock) moveReference(dir string, c command) error {
	path := strings.TrimSuffix(string(l), ".lock")
	if c.new != (objectID{}) {
		return os.Rename(string(l), path)
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	if err := os.Remove(string(l)); err != nil {
		return err
	}
	for folder := filepath.Dir(path); filepath.Dir(folder) != filepath.Join(dir, "refs"); folder = filepath.Dir(folder) {
		if os.Remove(folder) != nil { // it is not empty
			break
		}
	}
	return nil
}
