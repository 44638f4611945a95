// Package partial fetches missing objects of partial mirrors, which have all commits but fetch
// folders and files when read.
//
// What the package keeps true: a mirror is marked as partial on disk, in Git's format, before it
// lacks anything, so that missing objects are not mistaken for damage and the git program can use
// the mirror. Objects are fetched in few requests of bounded size.
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

// Git's filters of a fetch, by what they omit.
const (
	NoTrees  = "tree:0"    // folders and files
	NoBlobs  = "blob:none" // file contents
	NoFilter = ""          // nothing
)

var partialSettings = []string{
	"[extensions]", "\tpartialClone = origin", "[core]", "\trepositoryformatversion = 1",
	`[remote "origin"]`, "\tpromisor = true",
}

const (
	filterKey       = "\tpartialclonefilter = "
	settingsHeading = "# Fairlead: what is not here is fetched when it is read."
)

// ReadFilter returns a mirror's filter; NoFilter if the mirror does not exist.
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

// WriteFilter writes the filter to a mirror's config.
func WriteFilter(dir, filter string) error {
	file := filepath.Join(dir, "config")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() && lines.Text() != settingsHeading { // Fairlead's lines are last
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

// MarkPromisor marks each pack as incomplete with Git's pack-*.promisor files.
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
