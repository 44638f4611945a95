package forgetest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// Crowd is a forge that is published to while people act on it.
type Crowd struct {
	Subject
	// Hook is asked before each request of Forge; nil for a forge without an API.
	Hook   *Hook
	Remote *git.Remote // of the repository, for who publishes
	// People returns the forge as people see it now.
	People func() forge.Forge
	// Reopen opens a closed pull request again. Retarget makes it one for another branch;
	// nil if people cannot. Remove removes a branch.
	Reopen   func(number int)
	Retarget func(number int, base string)
	Remove   func(branch string)
}

// Hook is an [http.RoundTripper] that calls a function before each request.
type Hook struct{ before func() }

// RoundTrip calls the function, and does the request.
func (h *Hook) RoundTrip(req *http.Request) (*http.Response, error) {
	if h.before != nil {
		h.before()
	}
	return http.DefaultTransport.RoundTrip(req)
}

// RunPublish publishes again and again, while somebody acts before the first request, the
// second, and so on, and wants that nothing is lost. A real server takes its time: there every
// may be more than 1, so that each act comes before one of so many requests, the next act
// before the requests after those; and situations that are named are the only ones.
func RunPublish(t *testing.T, open func(t *testing.T) Crowd, every int, only ...string) {
	for _, s := range situations {
		if len(only) > 0 && !slices.Contains(only, s.name) {
			continue
		}
		for i, a := range acts {
			t.Run(s.name+"/"+a.name, func(t *testing.T) {
				t.Parallel()
				for nth := 1 + i%every; ; nth += every {
					reached := true
					t.Run(fmt.Sprint(nth), func(t *testing.T) {
						r := &race{run: &run{T: t}, crowd: open(t), nth: nth, act: a.do}
						r.Subject = r.crowd.Subject
						reached = r.happens(s)
					})
					if !reached || t.Failed() || a.name == "nothing" { // which is the same before every request
						break
					}
				}
			})
		}
	}
}

// situation is what was published before, and what is now.
type situation struct {
	name          string
	before, after string // contents; "" is what main has
	merge         publish.Merge
}

var situations = []situation{
	{"first", "", "b", publish.Manual},
	{"update", "a", "b", publish.Manual},
	{"unchanged", "a", "a", publish.Manual},
	{"withdraw", "a", "", publish.Manual},
	{"merge", "a", "b", publish.Direct},
}

const ourBranch = "out/dev"

// acts are what people do. A pull request that is not there, or not so any more that they
// can, is left alone.
var acts = []struct {
	name string
	do   func(*race)
}{
	{"nothing", func(*race) {}},
	{"merge", func(r *race) { r.toOpen(r.crowd.Merge) }},
	{"close", func(r *race) { r.toOpen(r.crowd.Close) }},
	{"close and open", func(r *race) { r.toOpen(r.crowd.Close); r.toClosed(r.crowd.Reopen) }},
	{"change the base", func(r *race) {
		if r.crowd.Retarget != nil {
			r.toOpen(func(number int) { r.crowd.Retarget(number, "other") })
		}
	}},
	{"delete the branch", func(r *race) {
		r.toOpen(func(int) {})
		r.crowd.Remove(ourBranch)
		if r.Until != nil { // a server closes the pull request a little later
			r.Until(func() bool {
				open := false
				r.toOpen(func(int) { open = true })
				return !open
			})
		}
	}},
}

// race is one run of a publisher.
type race struct {
	*run
	crowd  Crowd
	nth    int // before which request people act
	act    func(*race)
	calls  int
	acting bool
	acted  bool
	saw    forge.Pull // that people did something to
}

// call is before each request.
func (r *race) call() {
	if r.acting || r.acted {
		return
	}
	r.calls++
	if r.calls == r.nth {
		r.acting = true
		r.act(r)
		r.acting, r.acted = false, true
	}
}

// toOpen does something to the open pull request from our branch to main.
func (r *race) toOpen(do func(number int)) { r.to(forge.Open, do) }

// toClosed does something to the newest closed one.
func (r *race) toClosed(do func(number int)) { r.to(forge.Closed, do) }

func (r *race) to(state forge.State, do func(number int)) {
	r.Helper()
	all, err := r.crowd.People().Pulls(r.context(), ourBranch, "main")
	r.must(err)
	if i := slices.IndexFunc(all, func(p forge.Pull) bool { return p.State == state }); i >= 0 {
		r.saw = all[i]
		do(all[i].Number)
	}
}

// happens publishes in a situation, and reports whether people have acted.
func (r *race) happens(s situation) bool {
	r.Branch("other") // makes main too
	if s.before != "" {
		_, err := r.publish(s.before, publish.Manual, nil)
		r.must(err)
	}
	main := r.mainHead()
	if r.crowd.Hook != nil {
		r.crowd.Hook.before = r.call
	}
	_, err := r.publish(s.after, s.merge, r.call)
	r.must(err)
	if r.crowd.Hook != nil {
		r.crowd.Hook.before = nil
	}
	r.settles(s, main)
	return r.acted
}

// publish has the output branch hold a content, or proposes it.
func (r *race) publish(content string, merge publish.Merge, call func()) (publish.Result, error) {
	r.Helper()
	_, err := r.crowd.Remote.Sync(r.context())
	r.must(err)
	files := map[string][]byte{}
	if content != "" {
		files["pier/gull/reconciler.yaml"] = []byte("kind: Puller\nfrom: " + content + "\n")
	}
	rendered, err := tree.FromFiles(files)
	r.must(err)
	return publish.Publish(r.context(), publish.Options{
		Remote: r.crowd.Remote, Forge: r.Forge, Prefix: "out/", Author: git.Signature{Name: "Fairlead", Email: "fairlead@localhost"}, Write: true,
		BeforeEffect: func(what string) {
			if call != nil && (r.crowd.Hook == nil || strings.HasSuffix(what, "our branch")) {
				call()
			}
		},
	}, publish.Proposal{
		Environment: "dev", Branch: "main", Rendered: rendered, Merge: merge,
		Inputs: []source.Commit{{Layer: "base", Repo: "https://git.example.com/cp", Commit: strings.Repeat("1", 40), When: time.Unix(1e9, 0)}},
	})
}

func (r *race) mainHead() string {
	r.Helper()
	_, err := r.crowd.Remote.Sync(r.context())
	r.must(err)
	head, err := r.crowd.Remote.Mirror().Branch("main")
	r.must(err)
	return head
}

// settles checks the end after one more cycle: the newest content is proposed by exactly
// one pull request, is on main, or was declined by who saw it, nothing is lost, and nothing was
// proposed that main had already.
func (r *race) settles(s situation, before string) {
	r.Helper()
	var result publish.Result
	again := func() bool {
		var err error
		result, err = r.publish(s.after, s.merge, nil)
		r.must(err)
		return !result.Again
	}
	if s.merge == publish.Direct && r.Until != nil {
		r.Until(again)
	} else {
		again()
	}
	ours, err := r.crowd.People().OpenPulls(r.context())
	r.must(err)
	ours = slices.DeleteFunc(ours, func(p forge.Pull) bool { return p.Head != ourBranch })
	all, err := r.crowd.People().Pulls(r.context(), ourBranch, "main")
	r.must(err)
	for _, p := range all {
		if s.after != "" && p.State == forge.Closed && strings.Contains(p.Reason, "nothing left to propose") {
			r.Errorf("pull request %d was opened for what was merged", p.Number)
		}
	}
	kept, err := r.crowd.Remote.Mirror().Contains(r.mainHead(), before)
	r.must(err)
	if !kept {
		r.Error("main has lost a commit")
	}
	switch result.State {
	case publish.InSync:
		r.wantNone("open pull requests", len(ours))
		next, err := r.publish(s.after, s.merge, nil)
		r.must(err)
		r.wantEqual("state after another cycle", next.State, publish.InSync)
	case publish.Proposed:
		if len(ours) != 1 || ours[0].Base != "main" || ours[0].Number != result.Pull.Number {
			r.Errorf("the open pull requests are %+v, want only %d, for main", ours, result.Pull.Number)
		}
		head, err := r.crowd.Remote.Mirror().Branch(ourBranch)
		r.must(err)
		r.wantEqual("head of our branch", head, result.Commit)
	case publish.Declined:
		r.wantNone("open pull requests", len(ours))
		if r.saw.Body != result.Pull.Body {
			r.Errorf("it counts as declined, and nobody has seen it:\n%s\nwas seen:\n%s", result.Pull.Body, r.saw.Body)
		}
	default:
		r.Errorf("it is %s: %s", result.State, result.Reason)
	}
}
