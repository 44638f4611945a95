package tree

import (
	"fmt"
	"strconv"
	"strings"
)

// AppendTree appends a Git tree object. entries must be in Git's order.
func AppendTree(dst []byte, entries []Entry) []byte {
	for i := range entries {
		e := &entries[i]
		dst = AppendEntry(dst, e.Mode, e.Name, e.ID)
	}
	return dst
}

// AppendEntry appends one entry of a Git tree object.
func AppendEntry(dst []byte, mode Mode, name string, id ID) []byte {
	if mode == ModeDir {
		dst = append(dst, "40000"...)
	} else {
		dst = strconv.AppendUint(dst, uint64(mode), 8)
	}
	dst = append(dst, ' ')
	dst = append(dst, name...)
	dst = append(dst, 0)
	return append(dst, id[:]...)
}

// ParseTree returns the entries of a Git tree object as stored, possibly not canonical. open
// returns its directories on demand. Names share memory with text.
func ParseTree(text string, open func(Entry) Tree) ([]Entry, error) {
	entries := make([]Entry, 0, strings.Count(text, "\x00"))
	for rest := text; rest != ""; {
		e, more, ok := CutEntry(rest)
		if !ok {
			return nil, fmt.Errorf("entry %d of a tree object cannot be read", len(entries)+1)
		}
		if e.Mode == ModeDir {
			e.open = open
		}
		entries, rest = append(entries, e), more
	}
	return entries, nil
}

// CutEntry cuts the first entry off a tree object: octal mode, space, name, zero byte, id.
func CutEntry(text string) (e Entry, rest string, ok bool) {
	mode, rest, ok := strings.Cut(text, " ")
	if !ok {
		return e, "", false
	}
	switch mode {
	case "40000":
		e.Mode = ModeDir
	case "100644":
		e.Mode = ModeFile
	default: // old versions of Git wrote 100664, some programs 040000
		n, err := strconv.ParseUint(mode, 8, 32)
		if err != nil {
			return e, "", false
		}
		e.Mode = Mode(n)
	}
	e.Name, rest, ok = strings.Cut(rest, "\x00")
	if !ok || len(rest) < len(e.ID) {
		return e, "", false
	}
	return e, rest[copy(e.ID[:], rest):], true
}
