// Package partial is about mirrors that do not have all that their commits lead to: the
// commits are there, and folders and the content of files come when somebody reads them.
//
// What the package keeps true: a mirror that lacks something says so on disk, in Git's own
// words, before it does, so that no reader takes for damage what was left at the server,
// and the git program can use it too; what is asked for is asked for in few requests, of
// bounded size.
package partial

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The filters of a fetch, in Git's words: what of that which commits lead to is left at
// the server.
const (
	Commits = "tree:0"    // all of it
	Folders = "blob:none" // the content of files
	Whole   = ""          // nothing
)

// settings are the lines of a mirror's settings that say that it is partial.
var settings = []string{
	"[extensions]", "\tpartialClone = origin", "[core]", "\trepositoryformatversion = 1",
	`[remote "origin"]`, "\tpromisor = true",
}

const (
	filterKey = "\tpartialclonefilter = "
	begin     = "# Fairlead: what is not here is fetched when it is read."
)

// Filter returns the filter that the mirror in a folder is fetched with; Whole also for one
// that is not there.
func Filter(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "config"))
	if err != nil {
		return Whole
	}
	for line := range strings.Lines(string(text)) {
		if filter, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), filterKey); ok {
			return filter
		}
	}
	return Whole
}

// Mark says in the settings of the mirror in a folder which filter it is fetched with.
func Mark(dir, filter string) error {
	file := filepath.Join(dir, "config")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() && lines.Text() != begin { // what we wrote is at the end
		b.WriteString(lines.Text() + "\n")
	}
	if filter != Whole {
		b.WriteString(begin + "\n" + strings.Join(settings, "\n") + "\n" + filterKey + filter + "\n")
	}
	fresh := file + ".new"
	if err := os.WriteFile(fresh, b.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, file)
}

// Promise says that what the packs in a folder lack is at the server, as Git wants it
// said of each pack.
func Promise(packs string) error {
	found, err := filepath.Glob(filepath.Join(packs, "pack-*.pack"))
	if err != nil {
		return err
	}
	for _, name := range found {
		mark := strings.TrimSuffix(name, ".pack") + ".promisor"
		if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.WriteFile(mark, nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}
