package gitlabfake

import (
	"net/http"
	"strconv"
	"strings"
)

// The users that there are.
var (
	fairlead = object{"id": 7, "username": "fairlead"} // has the token
	person   = object{"id": 8, "username": "alice"}
)

// note is a comment on a merge request.
type note struct {
	id       int64
	author   object
	body     string
	thread   string // that it is in
	place    *place // nil if it is at no line
	resolved bool
	system   bool // GitLab wrote it
}

func (n *note) object() object {
	o := object{"id": n.id, "body": n.body, "author": n.author, "system": n.system, "resolvable": n.place != nil}
	if n.place != nil {
		o["type"], o["position"], o["resolved"] = "DiffNote", n.place, n.resolved
	}
	return o
}

func (s *Server) listNotes(c call) reply {
	all := []any{}
	for _, n := range c.item.notes {
		if c.said["sort"] == "asc" {
			all = append(all, n.object())
		} else {
			all = append([]any{n.object()}, all...)
		}
	}
	return s.allOnPage(c, all)
}

// maxNote is how many characters a note has at most.
const maxNote = 1_000_000

func (s *Server) addNote(c call) reply {
	if len([]rune(c.said["body"])) > maxNote {
		return newFailure(http.StatusBadRequest, object{"note": []string{"is too long (maximum is 1000000 characters)"}})
	}
	text, event := runActions(c.said["body"])
	c.item.applyEvent(event)
	if strings.TrimSpace(text) == "" {
		return newFailure(http.StatusBadRequest, object{"note": []string{"can't be blank"}})
	}
	return reply{status: http.StatusCreated, value: s.newNote(c.item, fairlead, text).object()}
}

func (s *Server) newNote(i *item, author object, body string) *note {
	s.ids++
	n := &note{id: s.ids, author: author, body: body, thread: threadID(s.ids)}
	i.notes = append(i.notes, n)
	return n
}

// editNote changes a note. GitLab obeys no commands in one that it had before.
func (s *Server) editNote(c call) reply {
	for _, n := range c.item.notes {
		if strconv.FormatInt(n.id, 10) == c.last {
			n.body = c.said["body"]
			return reply{status: http.StatusOK, value: n.object()}
		}
	}
	return notFound
}
