package gitea_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/gitea"
	"github.com/fairlead-io/fairlead/internal/testkit/giteatest"
)

// subject is a forge of a real server, with a repository of its own.
type subject struct {
	*gitea.Forge
	server *giteatest.Server
	proxy  *proxy
	repo   string
	branch func(string) string
}

// TestReal is what only a real server shows.
func TestReal(t *testing.T) {
	server := giteatest.Share(t)
	token := server.UserToken("fairlead")
	for name, test := range map[string]func(*testing.T, subject){
		"merge": merges, "merge a conflict": conflicts, "calls": calls, "bodies that people edited": editedBodies, "texts": cuts,
		"missing": missing, "scopes": scopes, "labels": labels, "issues": issuesAsTheyAre, "lost answers": lost,
		"approvals": approvals, "opened again": reopened, "required": required, "runs": runs, "annotations": annotates,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := server.In(t)
			repo := newRepo(t, s)
			p := serve(t, s.URL)
			test(t, subject{connect(t, p.URL, repo, token, forge.Options{}), s, p, repo, brancher(t, s.Remote(repo))})
		})
	}
	is, err := connect(t, server.URL, "a/b", token, forge.Options{}).Server(t.Context())
	check(t, err)
	equal(t, "server", is, gitea.Server{Version: giteatest.Version, Tested: true})
}

func proposal(head string) forge.Proposal {
	return forge.Proposal{Mark: "dev", Head: head, Base: "main", Title: "x", Body: "x", Labels: []string{"promoted"}}
}

func merges(t *testing.T, r subject) {
	r.server.Protect(r.repo, "main", "fairlead/preview")
	commit := r.branch("out/dev")
	pull, err := r.OpenPull(t.Context(), proposal("out/dev"))
	check(t, err)
	merge := func(commit string) error {
		t.Helper()
		var err error
		r.server.Until(func() bool {
			err = r.MergePull(t.Context(), pull.Number, commit)
			return err == nil || !strings.Contains(err.Error(), "try again later")
		})
		return err
	}
	err = merge(commit)
	equal(t, "kind without the status", kindOf(err), "not yet")
	wantError(t, err, "405: Not all required status checks successful")
	check(t, r.SetStatus(t.Context(), commit, forge.Status{Context: "fairlead/preview", Outcome: forge.Success}))
	wantKind(t, merge(strings.Repeat("a", 40)), forge.ErrMoved)
	check(t, merge(commit))
	all, err := r.Pulls(t.Context(), "out/dev", "main")
	check(t, err)
	equal(t, "state", all[0].State, forge.Merged)
	r.proxy.asked()
	check(t, merge(commit))
	equal(t, "writes when it is merged", r.proxy.writes(), 0)
}

// conflicts has a commit on main, and another one that says something else. That
// the server has looked shows in a pull request that came later.
func conflicts(t *testing.T, r subject) {
	r.server.Commit(r.repo, "out/dev", "file", "a")
	r.server.Commit(r.repo, "main", "file", "b")
	pull, err := r.OpenPull(t.Context(), proposal("out/dev"))
	check(t, err)
	r.server.Commit(r.repo, "mine", "other", "c")
	later := r.server.Propose(r.repo, "mine", "main", "mine")
	r.server.Until(func() bool { return r.server.Mergeable(r.repo, later) })
	wantKind(t, r.MergePull(t.Context(), pull.Number, pull.Commit), forge.ErrNotReady)
}

// calls counts what a cycle costs.
func calls(t *testing.T, r subject) {
	commit := r.branch("out/dev")
	var ops []string
	now := start
	r.Forge = connect(t, r.proxy.URL, r.repo, r.server.UserToken("fairlead"), forge.Options{
		Now: func() time.Time { now = now.Add(time.Second); return now },
		Observe: func(op string, took time.Duration, err error) {
			if took <= 0 || err != nil {
				t.Errorf("%s took %s: %v", op, took, err)
			}
			ops = append(ops, op)
		},
	})
	want := proposal("out/dev")
	cycle := func() {
		t.Helper()
		ops = nil
		all, err := r.Pulls(t.Context(), "out/dev", "main")
		check(t, err)
		if len(all) == 0 {
			_, err = r.OpenPull(t.Context(), want)
		} else {
			_, err = r.EditPull(t.Context(), all[0].Number, want)
		}
		check(t, err)
		check(t, r.SetStatus(t.Context(), commit, forge.Status{Context: "dev", Outcome: forge.Pending}))
	}
	cycle()
	equal(t, "the first", ops, []string{"list pull requests", "list labels", "make a label", "open a pull request", "set a status"})
	want.Title = "y"
	cycle()
	equal(t, "a change", ops, []string{"list pull requests", "read a pull request", "read a pull request", "edit a pull request"})
	cycle()
	equal(t, "no change", ops, []string{"list pull requests", "read a pull request", "read a pull request"})
	equal(t, "requests", len(r.proxy.asked()), 12)
}

func editedBodies(t *testing.T, r subject) {
	const mark = "<!-- fairlead: dev -->"
	r.branch("out/dev")
	pull, err := r.OpenPull(t.Context(), proposal("out/dev"))
	check(t, err)
	for body, text := range map[string]string{
		"x\n\n" + mark:                      "x",
		"x\r\ny\r\n\r\n" + mark + "\r\n":    "x\ny",
		"LGTM\n\nx\n\n" + mark + "\n\nLGTM": "LGTM\n\nx",
		mark:                                "",
		"x\n\n" + mark + "\n<!-- fairlead-labels: [1 -->": "x",
	} {
		r.server.Write(r.repo, pull.Number, body)
		all, err := r.Pulls(t.Context(), "out/dev", "main")
		check(t, err)
		equal(t, "text", all[0].Body, text)
		edited, err := r.EditPull(t.Context(), pull.Number, proposal("out/dev"))
		check(t, err)
		equal(t, "mended", edited, pull)
	}
	r.server.Write(r.repo, pull.Number, "the mark is gone")
	_, err = r.EditPull(t.Context(), pull.Number, proposal("out/dev"))
	wantKind(t, err, forge.ErrNotFound)
	wantKind(t, r.ClosePull(t.Context(), pull.Number, ""), forge.ErrNotFound)
	wantKind(t, r.MergePull(t.Context(), pull.Number, pull.Commit), forge.ErrNotFound)
	_, err = r.OpenPull(t.Context(), proposal("out/dev"))
	wantKind(t, err, forge.ErrExists)
}

func cuts(t *testing.T, r subject) {
	commit := r.branch("out/dev")
	check(t, r.SetStatus(t.Context(), commit, forge.Status{Context: "dev", Outcome: forge.Failure, Description: strings.Repeat("ü ", 141)}))
	equal(t, "description", r.server.Statuses(r.repo, commit)[0].Description, strings.Repeat("ü ", 69)+"ü…")
	want := proposal("out/dev")
	want.Body = strings.Repeat("ü", 70_000)
	pull, err := r.OpenPull(t.Context(), want)
	check(t, err)
	if !strings.HasSuffix(pull.Body, "ü…") || len([]rune(pull.Body)) < 65_000 {
		t.Errorf("the body was cut to %d characters", len([]rune(pull.Body)))
	}
	for _, mark := range []string{"", " dev", "a\nb", "a --> b"} {
		want.Mark = mark
		_, err := r.OpenPull(t.Context(), want)
		wantError(t, err, "cannot be a mark")
		_, err = r.PutIssue(t.Context(), forge.Issue{Mark: mark, Title: "x", Open: true})
		wantError(t, err, "cannot be a mark")
	}
}

// missing is what is not there. Gitea says of a commit that is not there that
// something went wrong inside.
func missing(t *testing.T, r subject) {
	_, err := r.OpenPull(t.Context(), proposal("out/dev"))
	wantKind(t, err, forge.ErrNotFound)
	if !strings.Contains(hint(err), "branches have these names") {
		t.Errorf("got the hint %q", hint(err))
	}
	err = r.SetStatus(t.Context(), strings.Repeat("a", 40), forge.Status{Context: "dev", Outcome: forge.Success})
	wantError(t, err, "set a status of "+r.repo+": 500")
	other := connect(t, r.server.URL, "acme/nothing", r.server.Token, forge.Options{})
	_, err = other.Pulls(t.Context(), "out/dev", "main")
	wantKind(t, err, forge.ErrNotFound)
	wrong := connect(t, r.server.URL, r.repo, "wrong-token", forge.Options{})
	_, err = wrong.Pulls(t.Context(), "out/dev", "main")
	wantError(t, err, "the token was not accepted: 401")
}

// scopes has tokens that lack what they need: Gitea says what that is.
func scopes(t *testing.T, r subject) {
	r.branch("out/dev")
	for lacking, has := range map[string][]string{
		"write:repository": {"read:repository", "write:issue"},
		"write:issue":      {"write:repository", "read:issue"},
	} {
		g := connect(t, r.server.URL, r.repo, r.server.UserToken("fairlead", has...), forge.Options{})
		_, err := g.OpenPull(t.Context(), proposal("out/dev"))
		if err == nil {
			_, err = g.PutIssue(t.Context(), forge.Issue{Mark: "dev", Title: "x", Open: true})
		}
		wantError(t, err, "the token may not do that: 403")
		equal(t, "hint", hint(err), "make a token that has the scope "+lacking)
	}
	r.branch("out/prod")
	stranger := connect(t, r.server.URL, r.repo, r.server.UserToken("stranger"), forge.Options{})
	_, err := stranger.OpenPull(t.Context(), proposal("out/prod"))
	wantError(t, err, "the token may not do that: 403")
	if !strings.Contains(hint(err), "let the token's user write") {
		t.Errorf("got the hint %q", hint(err))
	}
}

// labels has more labels than a page, and one that a person took away.
func labels(t *testing.T, r subject) {
	r.branch("out/dev")
	pull, err := r.OpenPull(t.Context(), proposal("out/dev"))
	check(t, err)
	want := proposal("out/dev")
	for i := range giteatest.PageSize + 2 {
		want.Labels = append(want.Labels, "label "+string(rune('a'+i)))
	}
	edited, err := r.EditPull(t.Context(), pull.Number, want)
	check(t, err)
	equal(t, "labels", len(edited.Labels), len(want.Labels))
	want.Labels = want.Labels[len(want.Labels)-1:]
	edited, err = r.EditPull(t.Context(), pull.Number, want)
	check(t, err)
	equal(t, "labels", edited.Labels, want.Labels)
	equal(t, "labels that are there", r.server.Labels(r.repo, pull.Number), want.Labels)
	r.server.Unlabel(r.repo, pull.Number)
	all, err := r.Pulls(t.Context(), "out/dev", "main")
	check(t, err)
	equal(t, "labels without", all[0].Labels, []string(nil))
	edited, err = r.EditPull(t.Context(), pull.Number, want)
	check(t, err)
	equal(t, "labels again", edited.Labels, want.Labels)
}

func issuesAsTheyAre(t *testing.T, r subject) {
	i, err := r.PutIssue(t.Context(), forge.Issue{Mark: "dev", Title: "x", Body: "y"})
	check(t, err)
	equal(t, "open", i.Open, false)
	r.proxy.asked()
	again, err := r.PutIssue(t.Context(), i)
	check(t, err)
	equal(t, "put again", again, i)
	equal(t, "writes", r.proxy.writes(), 0)
	r.server.Write(r.repo, i.Number, "no mark")
	_, err = r.PutIssue(t.Context(), i)
	wantKind(t, err, forge.ErrNotFound)
}

// lost has changes that were made and whose answers never came: they are found the
// next time.
func lost(t *testing.T, r subject) {
	lose := func(method, path string) { r.proxy.inject(fault{method: method, path: path, times: 1, cut: 5}) }
	commit := r.branch("out/dev")
	lose("POST", "/pulls")
	_, err := r.OpenPull(t.Context(), proposal("out/dev"))
	wantError(t, err, "open a pull request of "+r.repo+": the answer was cut off")
	_, err = r.OpenPull(t.Context(), proposal("out/dev"))
	wantKind(t, err, forge.ErrExists)
	all, err := r.Pulls(t.Context(), "out/dev", "main")
	check(t, err)
	equal(t, "pull requests", len(all), 1)

	lose("PATCH", "/pulls")
	check(t, r.ClosePull(t.Context(), all[0].Number, "x")) // what has become of it is looked at
	pull, err := r.OpenPull(t.Context(), proposal("out/dev"))
	check(t, err)
	r.server.Until(func() bool { return r.server.Mergeable(r.repo, pull.Number) })
	r.proxy.inject(fault{method: "POST", path: "/merge", times: 1, empty: true})
	check(t, r.MergePull(t.Context(), pull.Number, commit))

	lose("POST", "/issues")
	want := forge.Issue{Mark: "dev", Title: "x", Body: "y", Open: true}
	_, err = r.PutIssue(t.Context(), want)
	wantError(t, err, "open an issue")
	put, err := r.PutIssue(t.Context(), want)
	check(t, err)
	found, err := r.Issues(t.Context(), "dev")
	check(t, err)
	equal(t, "issues", found, []forge.Issue{put})
}

// reopened has a pull request that is opened again after a push while it was closed.
func reopened(t *testing.T, r subject) {
	r.branch("out/dev")
	pull, err := r.OpenPull(t.Context(), proposal("out/dev"))
	check(t, err)
	r.server.SetOpen(r.repo, pull.Number, false)
	commit := r.branch("out/dev")
	r.server.SetOpen(r.repo, pull.Number, true)
	all, err := r.Pulls(t.Context(), "out/dev", "main")
	check(t, err)
	equal(t, "commit", all[0].Commit, commit)
	r.server.Until(func() bool {
		err = r.MergePull(t.Context(), pull.Number, commit)
		return err == nil || !strings.Contains(err.Error(), "try again later")
	})
	check(t, err)
}
