package gittest

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/pack"
)

type objectID = tree.ID

// links are the objects that an object names.
type links struct {
	kind    pack.Kind
	parents []objectID // of a commit
	folders []objectID // of a tree; of a commit its tree
	files   []objectID
}

// linksOf returns the objects that a commit or a tree of the repository names.
func (o *store) linksOf(id objectID) (links, error) {
	if !o.packs.Has(id) {
		return links{}, errLeft
	}
	if l, ok := o.known[id]; ok {
		return l, nil
	}
	kind, data, err := o.packs.Read(id)
	if err != nil {
		return links{}, err
	}
	l, err := parseLinks(kind, data)
	if err == nil {
		o.known[id] = l
	}
	return l, err
}

func parseLinks(kind pack.Kind, data []byte) (links, error) {
	l := links{kind: kind}
	switch kind {
	case pack.Blob:
	case pack.Commit:
		for line := range strings.Lines(string(data)) {
			word, id, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch word {
			case "tree":
				l.folders = append(l.folders, objectID(plumbing.NewHash(id)))
			case "parent":
				l.parents = append(l.parents, objectID(plumbing.NewHash(id)))
			default:
				return l, nil
			}
		}
	case pack.Tree:
		err := eachEntry(data, func(mode filemode.FileMode, _ string, id objectID) error {
			switch mode {
			case filemode.Dir:
				l.folders = append(l.folders, id)
			case filemode.Submodule: // a commit of another repository
			default:
				l.files = append(l.files, id)
			}
			return nil
		})
		return l, err
	default:
		return l, errLeft
	}
	return l, nil
}

// filter is what a client does not want of the folders and files of commits.
type filter string

const (
	noFilter  filter = ""
	noFolders filter = "tree:0"
	noFiles   filter = "blob:none"
)

// findMissing returns what a client lacks of some objects if it has commits.
func (o *store) findMissing(wants, haves []objectID, f filter) ([]objectID, error) {
	has, err := o.commitsBelow(haves)
	if err != nil {
		return nil, err
	}
	var lacks, roots []objectID
	seen, edge := map[objectID]bool{}, map[objectID]bool{}
	for next := slices.Clone(wants); len(next) > 0; {
		id := next[len(next)-1]
		next = next[:len(next)-1]
		if has[id] {
			edge[id] = true
			continue
		}
		if seen[id] {
			continue
		}
		l, err := o.linksOf(id)
		if err != nil {
			return nil, err
		}
		seen[id] = true
		lacks = append(lacks, id)
		roots = append(roots, id)
		next = append(next, l.parents...)
	}
	if f == noFolders {
		return lacks, nil
	}
	for id := range edge {
		if _, err := o.listBelow(id, seen, noFilter); err != nil {
			return nil, err
		}
	}
	for _, id := range roots {
		more, err := o.listBelow(id, seen, f)
		if err != nil {
			return nil, err
		}
		lacks = append(lacks, more...)
	}
	return lacks, nil
}

// commitsBelow returns those of some commits that there are, and all that came before them.
func (o *store) commitsBelow(ids []objectID) (map[objectID]bool, error) {
	has := map[objectID]bool{}
	for next := slices.Clone(ids); len(next) > 0; {
		id := next[len(next)-1]
		next = next[:len(next)-1]
		if has[id] || !o.packs.Has(id) {
			continue
		}
		l, err := o.linksOf(id)
		if err != nil || l.kind != pack.Commit {
			return nil, errLeft
		}
		has[id] = true
		next = append(next, l.parents...)
	}
	return has, nil
}

// listBelow returns the folders and files of a commit or tree that were not seen yet, and marks
// them as seen.
func (o *store) listBelow(id objectID, seen map[objectID]bool, f filter) ([]objectID, error) {
	l, err := o.linksOf(id)
	if err != nil {
		return nil, err
	}
	var found []objectID
	for _, file := range l.files {
		if !seen[file] && f != noFiles {
			seen[file] = true
			found = append(found, file)
		}
	}
	for _, folder := range l.folders {
		if seen[folder] {
			continue
		}
		seen[folder] = true
		more, err := o.listBelow(folder, seen, f)
		if err != nil {
			return nil, err
		}
		found = append(append(found, folder), more...)
	}
	return found, nil
}

// answerFetch answers fetch of version 2 of the protocol.
func (o *store) answerFetch(body []byte) ([]byte, error) {
	first, rest, err := cutLines(body)
	if err != nil || len(first) == 0 || first[0] != "command=fetch\n" {
		return nil, errLeft
	}
	args, _, err := cutLines(rest)
	if err != nil {
		return nil, err
	}
	var wants, haves []objectID
	done, f := false, noFilter
	for _, arg := range args {
		switch word, id, _ := strings.Cut(strings.TrimSuffix(arg, "\n"), " "); word {
		case "want":
			wants = append(wants, objectID(plumbing.NewHash(id)))
		case "have":
			haves = append(haves, objectID(plumbing.NewHash(id)))
		case "done":
			done = true
		case "filter":
			f = filter(id)
		case "no-progress", "ofs-delta", "thin-pack", "include-tag":
		default:
			return nil, errLeft
		}
	}
	if !done || f != noFilter && f != noFiles && f != noFolders {
		return nil, errLeft
	}
	text, err := o.packMissing(wants, haves, f)
	if err != nil {
		return nil, err
	}
	return append(appendBands(appendLine(nil, "packfile\n"), text), flush...), nil
}

// answerUpload answers a fetch by version 0 of the protocol, in one request.
func (o *store) answerUpload(body []byte) ([]byte, error) {
	lines, rest, err := cutLines(body)
	if err != nil || len(lines) == 0 {
		return nil, errLeft
	}
	var wants, haves, common []objectID
	for i, line := range lines {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "want" {
			return nil, errLeft
		}
		wants = append(wants, objectID(plumbing.NewHash(words[1])))
		if i == 0 && (!slices.Contains(words, "side-band-64k") || strings.Contains(line, "multi_ack")) {
			return nil, errLeft
		}
	}
	for done := false; !done; {
		line, after, ok := cutLine(rest)
		if !ok {
			return nil, errLeft
		}
		rest = after
		word, id, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "have":
			haves = append(haves, objectID(plumbing.NewHash(id)))
		case "done":
			done = true
		default:
			return nil, errLeft
		}
	}
	for _, id := range haves {
		if o.packs.Has(id) {
			common = append(common, id)
		}
	}
	text, err := o.packMissing(wants, common, noFilter)
	if err != nil {
		return nil, err
	}
	said := appendLine(nil, "NAK\n")
	if len(common) > 0 {
		said = appendLine(nil, "ACK "+common[0].String()+"\n")
	}
	return append(appendBands(said, text), flush...), nil
}

// cutLine returns the text of the first line of Git's protocol, and what follows it.
func cutLine(body []byte) (line string, rest []byte, ok bool) {
	for bytes.HasPrefix(body, flush) {
		body = body[len(flush):]
	}
	lines, _, err := cutLines(slices.Concat(body, flush))
	if err != nil || len(lines) == 0 {
		return "", nil, false
	}
	return lines[0], body[4+len(lines[0]):], true
}

// packMissing returns a pack of what a client lacks.
func (o *store) packMissing(wants, haves []objectID, f filter) ([]byte, error) {
	ids, err := o.findMissing(wants, haves, f)
	if err != nil {
		return nil, err
	}
	all := make([]object, len(ids))
	for i, id := range ids {
		kind, data, err := o.packs.Read(id)
		if err != nil {
			return nil, err
		}
		all[i] = object{id, kind, data}
	}
	text, _, err := encodePack(all)
	return text, err
}

// maxBand is the most bytes of a message of one line.
const maxBand = 65515

func appendBands(body, text []byte) []byte {
	for part := range slices.Chunk(text, maxBand) {
		body = appendLine(body, "\x01"+string(part))
	}
	return body
}
