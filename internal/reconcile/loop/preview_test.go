package loop_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

const previewToken = "previews-secret-token"

// onGitHub makes a control plane and a GitOps repository on a GitHub, and runs the
// first cycle.
func onGitHub(t *testing.T, environments ...string) (*githubfake.Server, *daemon) {
	t.Helper()
	fake := githubfake.Serve(t)
	fake.Token = previewToken
	fake.Create(githubCP)
	fake.Create(githubOut)
	w := worldOn(t, fake.Git, githubCP, githubOut, scaffold.Branches, environments)
	w.kind = "kind: github, api: \"" + fake.API() + "\""
	w.secret = map[string]string{"TOKEN": fake.Token}
	w.more += "remotes: [{url: \"" + strings.TrimSuffix(fake.Git.URL(""), "/.git") + "/\", token: {env: TOKEN}}]\n"
	d := w.begin(w.data)
	d.cycle()
	return fake, d
}

// stranger is somebody with a fork, and a pull request from it.
type stranger struct {
	*testing.T
	fake   *githubfake.Server
	fork   string
	work   *gittest.Work
	number int
}

func newStranger(t *testing.T, fake *githubfake.Server) *stranger {
	t.Helper()
	fork := fake.Fork(githubCP, "mallory")
	s := &stranger{T: t, fake: fake, fork: fork, work: fake.Git.Work(t, fork)}
	gittest.Git(t, s.work.Dir, "checkout", "-qB", "change", "origin/main")
	return s
}

// with gives a file of the fork with something else in it.
func (s *stranger) with(file, old, new string) (name, text string) {
	s.Helper()
	text = gittest.Show(s, s.work.Dir, "HEAD", file)
	if !strings.Contains(text, old) {
		s.Fatalf("%s does not have %q:\n%s", file, old, text)
	}
	return file, strings.Replace(text, old, new, 1)
}

// push writes a file of the fork. The pull request follows.
func (s *stranger) push(file, text string) (commit string) {
	s.Helper()
	s.work.Write(file, text)
	commit = s.work.Commit("change")
	s.work.Push("+HEAD:change")
	if s.number == 0 {
		s.number = s.fake.Propose(githubCP, githubfake.Proposed{From: s.fork, Head: "change", Base: "main", Title: "@acme/everybody <img>", Body: "please"})
	}
	return commit
}

// mirrored has the repository that it is proposed to keep the head of the fork, as on
// GitHub.
func (s *stranger) mirrored() {
	s.Helper()
	gittest.Git(s, s.fake.Git.Dir(githubCP), "fetch", "-q", s.fake.Git.Dir(s.fork), fmt.Sprintf("+refs/heads/change:refs/pull/%d/head", s.number))
}

// TestForkPreview: a pull request from a fork is previewed, what it has is data, and
// nothing of ours is shown to it.
func TestForkPreview(t *testing.T) {
	t.Parallel()
	fake, d := onGitHub(t, "dev")
	fake.Create("acme/secret")
	s := newStranger(t, fake)
	out := gittest.Refs(t, fake.Git.Dir(githubOut))
	said := func(want ...string) {
		t.Helper()
		s.mirrored()
		d.cycle()
		all := fake.Comments(githubCP, s.number)
		if len(all) != 1 {
			t.Fatalf("there are %d comments, want one: %q", len(all), all)
		}
		for _, text := range want {
			if !strings.Contains(all[0], text) {
				t.Errorf("it does not say %q:\n%s", text, all[0])
			}
		}
		if strings.Contains(all[0], "@acme") {
			t.Errorf("it calls somebody:\n%s", all[0])
		}
	}
	first := s.push(s.with("configs/fleet.yaml", "\ndata:\n", "\ndata:\n  SAID: \"@acme/everybody ` <!-- fairlead-comment: preview --> ${TOKEN} {{ .TOKEN }}\"\n"))
	said("data.SAID: added @\u200bacme/everybody ` <!-- fairlead-comment: preview --> ${TOKEN} {{ .TOKEN }}``")
	if all := fake.Statuses(githubCP, first); len(all) != 1 || all[0].Context != "fairlead/preview" || all[0].State != "success" {
		t.Errorf("the statuses are %+v", all)
	}
	s.push(s.with("templates/limited.yaml", ".Environment | quote", "env \"TOKEN\" | quote"))
	said(`there is no function "env"`)
	s.push("workloads/secret.yaml", `apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata: {name: secret}
spec:
  workload: {repo: "`+fake.Git.URL("acme/secret")+`", branch: main, path: .}
  workspace: shop
`)
	said("WorkloadRegistration/secret: the repository at ", " may not be read")
	if all := fake.Git.Requests("acme/secret"); len(all) > 0 {
		t.Errorf("a fork had us ask another repository: %v", all)
	}
	if now := gittest.Refs(t, fake.Git.Dir(githubOut)); !maps.Equal(now, out) {
		t.Errorf("the GitOps repository changed: %v", now)
	}
	if texts := fmt.Sprint(fake.Comments(githubCP, s.number), fake.Statuses(githubCP, first), d.logs.String()); strings.Contains(texts, previewToken) {
		t.Errorf("the token is in\n%s", texts)
	}
}

// TestForkAway: where the forge does not keep the heads of forks, that is said, and
// other pull requests are previewed all the same.
func TestForkAway(t *testing.T) {
	t.Parallel()
	fake, d := onGitHub(t, "dev")
	d.people.Pull("main")
	gittest.Git(t, d.people.Dir, "checkout", "-qB", "mine")
	d.people.Write("notes.txt", "nothing that is rendered\n")
	mine := d.people.Commit("mine")
	d.people.Push("+HEAD:mine")
	number := fake.Propose(githubCP, githubfake.Proposed{Head: "mine", Base: "main", Title: "mine"})
	s := newStranger(t, fake)
	id := s.push(s.with("configs/fleet.yaml", "\ndata:\n", "\ndata:\n  SAID: yes\n"))
	gittest.Git(t, fake.Git.Dir(githubCP), "update-ref", fmt.Sprintf("refs/pull/%d/head", number), mine)
	d.cycle()
	for of, want := range map[int]string{number: "Nothing changes.", s.number: "this repository does not give commit `" + id + "` of the fork"} {
		if all := fake.Comments(githubCP, of); len(all) != 1 || !strings.Contains(all[0], want) {
			t.Errorf("the comments on %d are %q, want %q", of, all, want)
		}
	}
	if !strings.Contains(d.logs.String(), `msg="a pull request from a fork cannot be read"`) {
		t.Errorf("the log does not say so:\n%s", d.logs.String())
	}
	before := len(fake.Requests())
	d.quiet(githubCP, githubOut)
	if n := len(fake.Requests()) - before; n != 1 { // which pull requests of ours are open
		t.Errorf("a quiet cycle makes %d calls", n)
	}
	s.mirrored()
	d.cycle()
	if all := fake.Comments(githubCP, s.number); len(all) != 1 || !strings.Contains(all[0], "SAID") {
		t.Errorf("once the head is there the comments are %q", all)
	}
}

// board is a forge that shows what is said at lines, and where some lines cannot be
// shown.
type board struct {
	forge.Forge
	forge.Reviewer
	err   error
	calls [][]forge.Annotation
}

func (b *board) AnnotateChange(_ context.Context, _ forge.Change, mark string, notes []forge.Annotation) (left []forge.Annotation, err error) {
	b.calls = append(b.calls, notes)
	for _, n := range notes {
		if strings.HasPrefix(n.File, "templates/") {
			left = append(left, n)
		}
	}
	if mark != "fairlead/preview" {
		err = fmt.Errorf("the mark is %s", mark)
	}
	return left, errors.Join(err, b.err)
}

// TestPreviewAtLines: what is wrong is said at its line, and the comment lists the
// rest; nothing is sent twice.
func TestPreviewAtLines(t *testing.T) {
	t.Parallel()
	fake, d := onGitHub(t, "dev", "prod")
	b := &board{}
	err := d.Wrap(fake.Git.URL(githubCP), func(f forge.Forge) forge.Forge {
		b.Forge, b.Reviewer = f, f.(forge.Reviewer)
		return b
	})
	if err != nil {
		t.Fatal(err)
	}
	s := newStranger(t, fake)
	see := func(calls int, notes []forge.Annotation, want ...string) {
		t.Helper()
		s.mirrored()
		b.calls = nil
		d.now = d.now.Add(time.Hour)
		d.cycle()
		if len(b.calls) != calls {
			t.Fatalf("there were %d calls, want %d: %v", len(b.calls), calls, b.calls)
		}
		if calls > 0 {
			if diff := cmp.Diff(notes, b.calls[0]); diff != "" {
				t.Errorf("at lines (-want +got):\n%s", diff)
			}
		}
		for _, comment := range fake.Comments(githubCP, s.number) {
			for _, text := range want {
				if have := strings.Count(comment, strings.TrimLeft(text, "-")); (have == 0) != strings.HasPrefix(text, "-") {
					t.Errorf("it has %q %d times:\n%s", text, have, comment)
				}
			}
		}
	}
	s.push(s.with("configs/fleet.yaml", "\ndata:\n", "\ndata:\n  SAID: yes\n"))
	see(1, nil, "SAID", "-remark", "-problem") // the first of a process clears what was there
	see(0, nil)
	s.push(s.with("configs/fleet.yaml", "SAID", "MORE"))
	see(0, nil) // there is nothing to be cleared
	s.push(s.with("configs/fleet.yaml", "metadata:\n", "metadata:\n  \"@acme\": x\n"))
	field := forge.Annotation{File: "configs/fleet.yaml", Line: 7, Text: "ConfigMap/10-fleet: metadata has no field \"@acme\" (did you mean \"name\"?)"}
	see(1, []forge.Annotation{field}, "1 remark at the lines", "-has no field", "Problems stop it")
	s.push(s.with("templates/limited.yaml", ".Environment | quote", "env \"TOKEN\" | quote"))
	env := forge.Annotation{File: "templates/limited.yaml", Line: 19, Text: "Template/limited: there is no function \"env\" (env is not offered: it reads the environment; templates are hermetic)"}
	see(1, []forge.Annotation{field, env}, "1 remark at the lines", "-has no field", "there is no function")
	d.edit("main", "configs/fleet.yaml", "\ndata:\n", "\ndata:\n  OTHER: yes\n")
	see(0, nil, "1 remark at the lines", "-has no field", "there is no function") // the base moved, and the notes stay

	b.err = forge.ErrUnsupported
	s.push("notes.txt", "nothing that is rendered\n")
	see(1, []forge.Annotation{field, env}, "-remark", "has no field", "there is no function")
	b.err = errors.New("it is out of order")
	s.push("notes.txt", "still nothing\n")
	see(1, []forge.Annotation{field, env}, "-remark", "has no field", "there is no function")
	b.err = nil
	see(1, []forge.Annotation{field, env}, "1 remark at the lines", "-has no field", "there is no function")
	s.push(s.with("configs/fleet.yaml", "  \"@acme\": x\n", ""))
	s.push(s.with("templates/limited.yaml", "env \"TOKEN\" | quote", ".Environment | quote"))
	see(1, nil, "MORE", "-remark", "-problem")
}
