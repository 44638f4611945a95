package githubfake

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// store makes objects of Git, and returns their ids.
func (s *Server) store(r *repository, kind string, contents ...string) []string {
	if len(contents) == 0 {
		return nil
	}
	dir, args := s.t.TempDir(), []string{"hash-object", "-t", kind, "-w", "--no-filters"}
	for i, content := range contents {
		file := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			s.t.Error(err)
		}
		args = append(args, file)
	}
	return strings.Fields(gittest.Git(s.t, r.dir, args...))
}

// kindOf returns the kind of an object; "" if a repository does not have it.
func (s *Server) kindOf(r *repository, id string) string {
	for line := range strings.Lines(gittest.Git(s.t, r.dir, "cat-file", "--batch-check", "--batch-all-objects")) {
		if kind, ok := strings.CutPrefix(line, id+" "); ok && len(id) == 40 {
			kind, _, _ = strings.Cut(kind, " ")
			return kind
		}
	}
	return ""
}

func (s *Server) hasCommit(r *repository, id string) bool { return s.kindOf(r, id) == "commit" }

func (s *Server) addBlob(c call) reply {
	content := c.textField("content")
	if c.textField("encoding") == "base64" {
		raw, err := base64.StdEncoding.DecodeString(content)
		if err != nil {
			s.t.Errorf("a blob: %v", err)
		}
		content = string(raw)
	}
	return reply{status: http.StatusCreated, value: object{"sha": s.store(c.repo, "blob", content)[0]}}
}

// addTree makes a tree of another one and entries that differ.
func (s *Server) addTree(c call) reply {
	base := c.textField("base_tree")
	switch {
	case base == "":
		gittest.Git(s.t, c.repo.dir, "read-tree", "--empty")
	case s.kindOf(c.repo, base) != "tree":
		return newInvalid("Tree", "base_tree is not a valid tree")
	default:
		gittest.Git(s.t, c.repo.dir, "read-tree", base)
	}
	entries, _ := c.fields["tree"].([]any)
	if bad := s.index(c.repo, entries); bad != nil {
		return *bad
	}
	tree := gittest.Git(s.t, c.repo.dir, "write-tree")
	return reply{status: http.StatusCreated, value: object{"sha": tree, "truncated": false}}
}

// index makes the index of a repository hold entries: what has neither content nor id
// goes, and that first.
func (s *Server) index(r *repository, entries []any) *reply {
	remove, add := []string{"--work-tree=.", "update-index", "--force-remove", "--"}, []string{"--work-tree=.", "update-index", "--add", "--replace"}
	var inline []object
	there := strings.Split(gittest.Git(s.t, r.dir, "ls-files", "-z"), "\x00")
	for _, e := range entries {
		e, _ := e.(object)
		path, _ := e["path"].(string)
		mode, _ := e["mode"].(string)
		id, stored := e["sha"].(string)
		switch _, ok := e["content"]; {
		case ok:
			inline = append(inline, e)
		case stored && mode != "160000" && s.kindOf(r, id) != "blob":
			bad := newInvalid("Tree", "tree.sha "+id+" is not a valid blob")
			return &bad
		case stored:
			add = append(add, "--cacheinfo", mode+","+id+","+path)
		case !slices.Contains(there, path):
			bad := newFailure(http.StatusUnprocessableEntity, "GitRPC::BadObjectState")
			return &bad
		default:
			remove = append(remove, path)
		}
	}
	var contents []string
	for _, e := range inline {
		contents = append(contents, fmt.Sprint(e["content"]))
	}
	for i, id := range s.store(r, "blob", contents...) {
		add = append(add, "--cacheinfo", fmt.Sprintf("%v,%s,%v", inline[i]["mode"], id, inline[i]["path"]))
	}
	gittest.Git(s.t, r.dir, remove...)
	gittest.Git(s.t, r.dir, add...)
	return nil
}

// addCommit makes a commit. One without an author is GitHub's, by the App, and
// signed, so that no two are the same.
func (s *Server) addCommit(c call) reply {
	tree := c.textField("tree")
	if s.kindOf(c.repo, tree) != "tree" {
		return newInvalid("Commit", "Tree SHA does not exist")
	}
	text := "tree " + tree + "\n"
	parents, _ := c.fields["parents"].([]any)
	for _, id := range parents {
		id, _ := id.(string)
		if !s.hasCommit(c.repo, id) {
			return newInvalid("Commit", "Parent SHA does not exist or is not a commit object")
		}
		text += "parent " + id + "\n"
	}
	at := s.nextTime().Unix()
	text += fmt.Sprintf("author %s <1+%[1]s@users.noreply.github.example> %d +0000\ncommitter GitHub <noreply@github.example> %[2]d +0000\n", c.login, at)
	if isApp(c.login) && c.fields["author"] == nil && c.fields["committer"] == nil {
		text += "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n"
	}
	id := s.store(c.repo, "commit", text+"\n"+strings.TrimRight(c.textField("message"), "\n"))[0]
	return reply{status: http.StatusCreated, value: object{"sha": id, "tree": object{"sha": tree}, "message": c.textField("message")}}
}

// showCommit shows a commit of a branch, with the account of who wrote it.
func (s *Server) showCommit(c call) reply {
	id := c.params["ref"]
	if !s.hasCommit(c.repo, id) {
		return newFailure(http.StatusUnprocessableEntity, "No commit found for SHA: "+id)
	}
	o := object{"sha": id, "author": nil}
	if login := s.accounts[gittest.Git(s.t, c.repo.dir, "log", "-1", "--format=%ae", id)]; login != "" {
		o["author"] = userObject(login)
	}
	return reply{status: http.StatusOK, value: o}
}

func refObject(ref, commit string) object {
	return object{"ref": ref, "object": object{"sha": commit, "type": "commit"}}
}

func (s *Server) showRef(c call) reply {
	ref := "refs/" + c.params["ref"]
	commit := s.readRefs(c.repo)[ref]
	if commit == "" {
		return newFailure(http.StatusNotFound, "Not Found")
	}
	return reply{status: http.StatusOK, value: refObject(ref, commit)}
}

func (s *Server) addRef(c call) reply {
	ref, commit := c.textField("ref"), c.textField("sha")
	switch {
	case s.readRefs(c.repo)[ref] != "":
		return newFailure(http.StatusUnprocessableEntity, "Reference already exists")
	case !s.hasCommit(c.repo, commit):
		return newFailure(http.StatusUnprocessableEntity, "Object does not exist")
	}
	gittest.Git(s.t, c.repo.dir, "update-ref", ref, commit)
	return reply{status: http.StatusCreated, value: refObject(ref, commit)}
}

func (s *Server) editRef(c call) reply {
	ref, commit := "refs/"+c.params["ref"], c.textField("sha")
	old := s.readRefs(c.repo)[ref]
	force, _ := c.fields["force"].(bool)
	switch {
	case old == "":
		return newFailure(http.StatusUnprocessableEntity, "Reference does not exist")
	case !s.hasCommit(c.repo, commit):
		return newFailure(http.StatusUnprocessableEntity, "Object does not exist")
	case !force && s.isAhead(c.repo, commit, old):
		return newFailure(http.StatusUnprocessableEntity, "Update is not a fast forward")
	}
	gittest.Git(s.t, c.repo.dir, "update-ref", ref, commit)
	return reply{status: http.StatusOK, value: refObject(ref, commit)}
}
