package gitlabfake

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// place is a line of a diff.
type place struct {
	Base    string `json:"base_sha"`
	Start   string `json:"start_sha"`
	Head    string `json:"head_sha"`
	Type    string `json:"position_type"`
	OldPath string `json:"old_path"`
	NewPath string `json:"new_path"`
	OldLine int    `json:"old_line,omitempty"`
	NewLine int    `json:"new_line,omitempty"`
}

func threadID(note int64) string {
	sum := sha1.Sum([]byte(strconv.FormatInt(note, 10)))
	return hex.EncodeToString(sum[:])
}

func (i *item) thread(id string) (all []*note) {
	for _, n := range i.notes {
		if n.thread == id {
			all = append(all, n)
		}
	}
	return all
}

func showThread(notes []*note) object {
	all := []any{}
	for _, n := range notes {
		all = append(all, n.object())
	}
	return object{"id": notes[0].thread, "individual_note": len(notes) == 1 && notes[0].place == nil, "notes": all}
}

func (s *Server) listThreads(c call) reply {
	all, seen := []any{}, map[string]bool{}
	for _, n := range c.item.notes {
		if !seen[n.thread] {
			all = append(all, showThread(c.item.thread(n.thread)))
		}
		seen[n.thread] = true
	}
	return s.allOnPage(c, all)
}

// openThread opens one, at a line or at none.
func (s *Server) openThread(c call) reply {
	text, event := runActions(c.said["body"])
	var at *place
	if position := c.said["position"]; position != "" {
		decode := json.NewDecoder(bytes.NewReader([]byte(position)))
		decode.DisallowUnknownFields()
		if err := decode.Decode(&at); err != nil {
			s.t.Errorf("the position %s: %v", position, err)
			return reply{status: http.StatusBadRequest, value: object{"error": "position is invalid"}}
		}
		if why := s.misplaced(c, at); why != "" {
			return newFailure(http.StatusBadRequest, "400 Bad request - Note "+why)
		}
	}
	c.item.applyEvent(event)
	n := s.newNote(c.item, fairlead, text)
	n.place = at
	return reply{status: http.StatusCreated, value: showThread([]*note{n})}
}

// misplaced reports what is wrong with a place. One that is not of the latest version
// is right on GitLab, but nothing that Fairlead should ask for.
func (s *Server) misplaced(c call, at *place) string {
	now := c.item.merge.versions[len(c.item.merge.versions)-1]
	if at.Head != now.head || at.Start != now.start || at.Base != s.mergeBase(c.project, now) || at.Type != "text" || at.OldPath == "" {
		s.t.Errorf("the position is incomplete, or of an older version: %+v", at)
		return `{:position=>["is incomplete"]}`
	}
	old, ok := s.oldLine(c.project, at)
	if !ok || old != at.OldLine {
		return `{:line_code=>["can't be blank", "must be a valid line code"]}`
	}
	return ""
}

var hunk = regexp.MustCompile(`(?m)^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// context is how many lines around a change a diff shows.
const context = 3

// oldLine returns which line of the old file a line was; 0 if it is new, and no if the
// diff does not show it.
func (s *Server) oldLine(p *project, at *place) (old int, shown bool) {
	if s.readBlob(p, at.Head, at.NewPath) == "" || at.NewLine > strings.Count(gittest.Git(s.t, p.dir, "show", at.Head+":"+at.NewPath), "\n")+1 {
		return 0, false
	}
	old = at.NewLine
	diff := gittest.Git(s.t, p.dir, "diff", "-U0", "--no-renames", at.Base, at.Head, "--", at.NewPath)
	for _, h := range hunk.FindAllStringSubmatch(diff, -1) {
		removed, first, added := count(h[1]), count(h[2]), count(h[3])
		if added == 0 {
			first++ // it is after that line
		}
		switch end := first + added; {
		case at.NewLine >= first && at.NewLine < end:
			return 0, true
		case at.NewLine >= end:
			old += removed - added
			shown = shown || at.NewLine < end+context
		default:
			shown = shown || at.NewLine >= first-context
		}
	}
	return old, shown
}

// count is 1 if it is not said.
func count(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return 1
}

func (s *Server) resolveThread(c call) reply {
	all := c.item.thread(c.parts[5])
	if len(all) == 0 || all[0].place == nil {
		return notFound
	}
	all[0].resolved = c.said["resolved"] == "true"
	return reply{status: http.StatusOK, value: showThread(all)}
}

// removeNote removes a note of the token's user.
func (s *Server) removeNote(c call) reply {
	for at, n := range c.item.notes {
		if strconv.FormatInt(n.id, 10) != c.last || n.thread != c.parts[5] {
			continue
		}
		if n.author["username"] != fairlead["username"] {
			return newFailure(http.StatusForbidden, "403 Forbidden")
		}
		c.item.notes = slices.Delete(c.item.notes, at, at+1)
		return reply{status: http.StatusNoContent}
	}
	return notFound
}

func (s *Server) listDiffs(c call) reply {
	now := c.item.merge.versions[len(c.item.merge.versions)-1]
	base := s.mergeBase(c.project, now)
	all := []any{}
	for _, file := range strings.Split(gittest.Git(s.t, c.project.dir, "diff", "--name-only", "--no-renames", base, now.head), "\n") {
		text := gittest.Git(s.t, c.project.dir, "diff", "--no-renames", base, now.head, "--", file)
		_, text, _ = strings.Cut(text, "\n@@")
		all = append(all, object{
			"old_path": file, "new_path": file, "a_mode": "100644", "b_mode": "100644", "diff": "@@" + text + "\n", "renamed_file": false,
			"new_file": s.readBlob(c.project, base, file) == "", "deleted_file": s.readBlob(c.project, now.head, file) == "",
		})
	}
	return s.allOnPage(c, all)
}

// Note is a comment at a line, as people see it.
type Note struct {
	File     string
	Line     int
	Body     string
	Commit   string // at the head when it was last right
	Resolved bool
}

// Notes returns the comments at lines of a merge request, oldest first.
func (s *Server) Notes(at string, iid int) (all []Note) {
	s.t.Helper()
	s.withMerge(at, iid, func(_ *project, i *item) {
		for _, n := range i.notes {
			if n.place != nil {
				all = append(all, Note{n.place.NewPath, n.place.NewLine, n.body, n.place.Head, n.resolved})
			}
		}
	})
	return all
}

// Reply answers the first comment at a line.
func (s *Server) Reply(at string, iid int, body string) {
	s.t.Helper()
	s.withMerge(at, iid, func(_ *project, i *item) {
		of := slices.IndexFunc(i.notes, func(n *note) bool { return n.place != nil })
		if of < 0 {
			s.t.Fatalf("merge request %d of %s has no comment at a line", iid, at)
		}
		s.newNote(i, person, body).thread = i.notes[of].thread
	})
}
