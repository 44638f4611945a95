// Package partial fetches the missing objects of partial mirrors: mirrors that have all
// commits, while folders and the content of files are fetched when they are read.
//
// What the package keeps true: a partial mirror is marked on disk, in Git's own format, before
// it lacks anything, so that no reader takes for damage what was left at the server, and the
// git program can use it too; missing objects are fetched in few requests of bounded size.
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

// The filters of a fetch, in Git's format: what is left at the server.
const (
	NoTrees  = "tree:0"    // folders and files
	NoBlobs  = "blob:none" // the content of files
	NoFilter = ""          // nothing
)

// partialSettings are the lines of a mirror's settings that mark it as partial.
var partialSettings = []string{
	"[extensions]", "\tpartialClone = origin", "[core]", "\trepositoryformatversion = 1",
	`[remote "origin"]`, "\tpromisor = true",
}

const (
	filterKey       = "\tpartialclonefilter = "
	settingsHeading = "# Fairlead: what is not here is fetched when it is read."
)

// ReadFilter returns the filter that the mirror in a folder is fetched with; Whole if there is no
// mirror.
func ReadFilter(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "config"))
	if err != nil {
		return NoFilter
	}
	for line := range strings.Lines(string(text)) {
		if filter, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), filterKey); ok {
			return filter
		}
	}
	return NoFilter
}

// WriteFilter writes the filter that the mirror in a folder is fetched with to its settings.
func WriteFilter(dir, filter string) error {
	file := filepath.Join(dir, "config")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() && lines.Text() != settingsHeading { // the marks of Fairlead are at the end
		b.WriteString(lines.Text() + "\n")
	}
	if filter != NoFilter {
		b.WriteString(settingsHeading + "\n" + strings.Join(partialSettings, "\n") + "\n" + filterKey + filter + "\n")
	}
	fresh := file + ".new"
	if err := os.WriteFile(fresh, b.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, file)
}

// MarkPromisor marks each pack in a folder as one whose missing objects are at the server, in the
// way of Git: a file pack-*.promisor beside it.
func MarkPromisor(packs string) error {
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
