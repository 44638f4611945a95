package impact

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// digest is cryptographic, so that a team cannot disguise a change as another.
type digest [sha256.Size]byte

// maxSize bounds the bytes of a file that is decoded.
const maxSize = 1 << 20

// signer encodes equal changes as equal bytes. It is kept to reuse memory.
type signer struct {
	// shape omits values of fields that exist before and after: the class does not
	// depend on them.
	shape, values []byte
	names         []replacement
	was, is       outline
}

// replacement hides a name of the unit, so that texts are equal for other units.
type replacement struct{ name, placeholder string }

// namesOf returns names, the longest first. Names of one character or of digits would
// match other text.
func namesOf(dst []replacement, at location, workload string) []replacement {
	dst = dst[:0]
	for _, r := range [...]replacement{{at.target, "<target>"}, {at.clusterType, "<cluster type>"}, {workload, "<workload>"}, {at.seals[0], "<seal>"}, {at.seals[1], "<seal>"}} {
		if at.stack { // its names are parts of many others
			continue
		}
		if len(r.name) > 1 && strings.Trim(r.name, "0123456789.") != "" {
			dst = append(dst, r)
		}
	}
	slices.SortStableFunc(dst, func(a, b replacement) int { return cmp.Compare(len(b.name), len(a.name)) })
	return dst
}

func (s *signer) signUnit(at location, workload string, changes []tree.Change) (shape, values digest) {
	s.shape, s.values = s.shape[:0], s.values[:0]
	s.names = namesOf(s.names, at, workload)
	if at.stack {
		s.writeText("\x00stack")
	}
	if at.isSealed() {
		s.writeText("\x00sealed")
	}
	if at.titled {
		s.writeText("\x00titled")
	}
	if at.look != nil {
		s.writeText("\x00inside")
		for _, u := range at.look.unread {
			s.writePlain([]byte(u.Sentence()))
		}
	}
	for _, c := range changes {
		s.writePath(c.Path)
		s.shape = strconv.AppendUint(s.shape, uint64(c.Old.Mode)<<32|uint64(c.New.Mode), 8)
		s.signFile(c)
	}
	return sha256.Sum256(s.shape), sha256.Sum256(s.values)
}

func (s *signer) signFile(c tree.Change) {
	f := formatOf(c)
	if f == formatOpaque {
		s.values = append(append(s.values, c.Old.ID[:]...), c.New.ID[:]...)
		return
	}
	s.was.reset(c.Old.Data)
	s.is.reset(c.New.Data)
	s.writeSurroundings(c.New.Data)
	telling := f.hasTellingLines(c.Old.Data, s.was.lines) && f.hasTellingLines(c.New.Data, s.is.lines)
	for _, b := range diffLines(s.was.lines, s.is.lines) {
		telling = s.signBlock(b, f) && telling
	}
	if telling {
		return
	}
	for _, o := range [...]*outline{&s.was, &s.is} { // the lines do not identify the change
		s.writeText("\x00text")
		for _, l := range o.lines {
			s.writePlain(l)
		}
	}
}

func (s *signer) writeSurroundings(text []byte) {
	for _, mark := range [...][]byte{[]byte("prune:"), []byte("chart:"), []byte("destroy:"), []byte("destroyResourcesOnDeletion:")} {
		for rest := text; ; {
			at := bytes.Index(rest, mark)
			if at < 0 {
				break
			}
			line, after, _ := bytes.Cut(rest[at:], []byte("\n"))
			s.writePlain(rest[bytes.LastIndexByte(rest[:at], '\n')+1 : at+len(line)])
			s.writeText("\n")
			rest = after
		}
	}
}

// cutsDocument reports whether a block with a separator moves other lines to another
// document.
func (s *signer) cutsDocument(b block) bool {
	if !slices.ContainsFunc(s.was.lines[b.a0:b.a1], isSeparator) && !slices.ContainsFunc(s.is.lines[b.b0:b.b1], isSeparator) {
		return false
	}
	return !(s.was.isEdge(b.a0) && s.was.isEdge(b.a1) && s.is.isEdge(b.b0) && s.is.isEdge(b.b1))
}

// signBlock returns false if the block changes the meaning of lines outside of it.
func (s *signer) signBlock(b block, f format) (telling bool) {
	s.writeText("\x00@")
	if f == formatYAML {
		s.writeObject(&s.was, b.a0)
		s.writeObject(&s.is, b.b0)
	}
	removed, added := s.was.lines[b.a0:b.a1], s.is.lines[b.b0:b.b1]
	valuesOnly := sameFields(removed, added, f)
	for i, l := range removed {
		s.writeLine(&s.was, b.a0+i, "\x00-", l, f, valuesOnly)
	}
	for i, l := range added {
		s.writeLine(&s.is, b.b0+i, "\x00+", l, f, valuesOnly)
	}
	return f != formatYAML || !s.cutsDocument(b) && sameKeys(s.was.keysAround(b.a1), s.is.keysAround(b.b1))
}

// writeLine writes a changed line after its keys, which keep their names since the
// class depends on them.
func (s *signer) writeLine(o *outline, i int, sign string, raw []byte, f format, valueOnly bool) {
	s.writeText(sign)
	if f == formatYAML {
		o.seek(i)
		for _, l := range o.stack {
			s.writeText("\x00")
			if l.isItem() {
				s.writePlain(l.key)
			} else {
				s.shape = append(append(s.shape, l.key...), l.style...)
			}
		}
	}
	s.writeText("\x00")
	field, value := cutField(raw, f)
	s.shape = append(s.shape, field...)
	if valueOnly {
		s.values = append(appendPlain(s.values, value, s.names), 0)
		return
	}
	s.writePlain(value)
}

func (s *signer) writeObject(o *outline, i int) {
	if i < len(o.lines) {
		o.seek(i)
	}
	id := o.objectIdentity()
	s.writeText("\x00", string(id.apiVersion), "\x00", string(id.kind), "\x00")
	s.writePlain(id.namespace)
	s.writeText("\x00")
	s.writePlain(id.name)
}

func (s *signer) writeText(texts ...string) {
	for _, t := range texts {
		s.shape = append(s.shape, t...)
	}
}

// writePath hides the names of the unit in paths of objects, which are named after it.
func (s *signer) writePath(path string) {
	if isInside(path) {
		s.writePlain([]byte(path))
	} else {
		s.writeText(path)
	}
	s.writeText("\x00")
}

func (s *signer) writePlain(text []byte) { s.shape = appendPlain(s.shape, text, s.names) }

// sameFields reports whether only plain values differ. It is false if one identifies an
// object or decides the class.
func sameFields(removed, added [][]byte, f format) bool {
	if len(removed) != len(added) {
		return false
	}
	for i := range removed {
		field, was := cutField(removed[i], f)
		other, is := cutField(added[i], f)
		key := strings.Trim(string(field), " -:='\"")
		if key == "" || !bytes.Equal(field, other) || slices.Contains(tellingFields, key) {
			return false
		}
		x, ok := plainValue(was)
		y, too := plainValue(is)
		if !ok || !too || bytes.Equal(x, y) {
			return false
		}
	}
	return true
}

var tellingFields = []string{"apiVersion", "kind", "name", "namespace", "prune", "suspend"}

// cutField splits a line before its value. The field may be empty.
func cutField(raw []byte, f format) (field, value []byte) {
	text := bytes.TrimRight(raw, " \r\n")
	if f == formatSettings {
		n := bytes.IndexByte(text, '=') + 1
		return text[:n], text[n:]
	}
	l := parseLine(text)
	for l.dash {
		l = parseText(l.rest, 0)
	}
	if l.blank || l.key == nil {
		return nil, text
	}
	n := len(text) - len(l.rest)
	return text[:n], text[n:]
}

// plainValue returns an unquoted scalar, or false unless it is complete on its line.
func plainValue(v []byte) ([]byte, bool) {
	if n := len(v); n >= 2 && (v[0] == '"' || v[0] == '\'') && v[n-1] == v[0] {
		v = v[1 : n-1]
		return v, !bytes.ContainsAny(v, `\"'`)
	}
	if len(v) == 0 || bytes.IndexByte([]byte("|>&*!{[%@`#,"), v[0]) >= 0 {
		return nil, false
	}
	return v, !bytes.ContainsAny(v, `\"'`) && !bytes.Contains(v, []byte(" #")) && !bytes.Contains(v, []byte(": ")) && v[len(v)-1] != ':'
}

func appendPlain(dst, text []byte, names []replacement) []byte {
	for i := 0; i < len(text); {
		if n, r := nameAt(text, i, names); n > 0 {
			dst = append(dst, r...)
			i += n
			continue
		}
		dst = append(dst, text[i])
		i++
	}
	return dst
}

func nameAt(text []byte, i int, names []replacement) (int, string) {
	if i > 0 && isWord(text[i-1]) {
		return 0, ""
	}
	for _, r := range names {
		end := i + len(r.name)
		if end <= len(text) && text[i] == r.name[0] && string(text[i:end]) == r.name && (end == len(text) || !isWord(text[end])) {
			return len(r.name), r.placeholder
		}
	}
	return 0, ""
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c >= 0x80
}
