package scheduler_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/reconcile/scheduler"
)

// rig is an environment in which the scheduler acme decides for two units among three cluster types.
type rig struct {
	*testing.T
	model   *model.Model
	desk    *scheduler.Desk
	now     time.Time
	asked   int
	request schedule.Request // the last one
	respond func(w http.ResponseWriter, r schedule.Request)
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	r.model = &model.Model{Environment: "prod"}
	for _, name := range []string{"t1", "t2", "t3"} {
		r.model.ClusterTypes = append(r.model.ClusterTypes, &model.ClusterType{Object: model.Object{Kind: "ClusterType", Name: name}})
	}
	for _, name := range []string{"cart", "pay"} {
		r.model.Targets = append(r.model.Targets, &model.Target{Object: model.Object{Kind: "DeploymentTarget", Name: name}})
	}
	choice := &model.Choice{Pick: 1, Unit: model.UnitTarget, Decider: model.Decider{Name: "acme", Config: json.RawMessage(`{"goal":"near"}`)}}
	r.model.Policies = []*model.Policy{{Object: model.Object{Kind: "SchedulingPolicy", Name: "shop"}, Choice: choice}}
	r.answer("t1")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.asked++
		r.request = schedule.Request{}
		if err := json.NewDecoder(req.Body).Decode(&r.request); err != nil || req.Method != http.MethodPost {
			t.Errorf("%s: %v", req.Method, err)
		}
		r.respond(w, r.request)
	}))
	t.Cleanup(server.Close)
	r.open(config.Scheduler{Name: "acme", URL: server.URL + "/decide", Timeout: 10 * time.Second, Every: 10 * time.Minute})
	return r
}

func (r *rig) open(s config.Scheduler) {
	r.desk = scheduler.New(scheduler.Options{
		Settings: &config.Settings{Schedulers: []config.Scheduler{s}}, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return r.now },
		Pause: func(failures int) time.Duration { return time.Duration(failures) * time.Minute }, BeforeEffect: func(string) {},
	})
}

// answer has the scheduler put all units on one cluster type.
func (r *rig) answer(clusterType string) {
	r.respond = func(w http.ResponseWriter, request schedule.Request) {
		a := schedule.Answer{Version: request.Version, Question: request.Question}
		for _, u := range request.Units {
			a.Units = append(a.Units, schedule.AnsweredUnit{Name: u.Name, ClusterTypes: []string{clusterType}})
		}
		if err := json.NewEncoder(w).Encode(a); err != nil {
			r.Error(err)
		}
	}
}

// round decides, keeps what was decided, and returns where the units are, with the problems.
func (r *rig) round() (string, problem.List) {
	r.Helper()
	decided, problems := r.desk.Decide(r.Context(), schedule.NewPlan(r.model, nil), map[string]int{"t1": 40})
	for _, d := range decided {
		r.model = r.model.WithDecision(d)
	}
	var places []string
	for _, u := range schedule.NewPlan(r.model, nil).Units() {
		for _, p := range u.Places {
			places = append(places, u.Name+":"+r.model.ClusterTypes[p.ClusterType].Name)
		}
	}
	return strings.Join(places, " "), problems
}

// want runs a round, and checks where the units are, how often the scheduler was asked by then, and how many problems
// there are.
func (r *rig) want(places string, asked, problems int) {
	r.Helper()
	got, found := r.round()
	if got != places || r.asked != asked || len(found) != problems {
		r.Errorf("the units are on %q, want %q; it was asked %d times, want %d; problems: %v, want %d", got, places, r.asked, asked, found, problems)
	}
	for _, p := range found {
		if !p.Warning {
			r.Errorf("a problem stops the environment: %v", p)
		}
	}
}

// change changes a label, so that the question is another one.
func (r *rig) change(labels map[string]string) {
	c := *r.model
	c.ClusterTypes = slices.Clone(c.ClusterTypes)
	first := *c.ClusterTypes[0]
	first.Labels = labels
	c.ClusterTypes[0] = &first
	r.model = &c
}

func (r *rig) taint(taints ...model.Taint) {
	c := *r.model
	c.ClusterTypes = slices.Clone(c.ClusterTypes)
	first := *c.ClusterTypes[0]
	first.Taints = taints
	c.ClusterTypes[0] = &first
	r.model = &c
}

const onFirst, onSecond = "cart:t1 pay:t1", "cart:t2 pay:t2"

// TestDecided: a scheduler is asked once for a question, and its answer is a decision that says whose it is.
func TestDecided(t *testing.T) {
	r := newRig(t)
	r.want(onFirst, 1, 0)
	q := r.request
	if q.Environment != "prod" || q.Policy != "shop" || q.Pick != 1 || string(q.Config) != `{"goal":"near"}` || len(q.ClusterTypes) != 3 || q.ClusterTypes[0].Clusters != 40 || len(q.Units) != 2 {
		t.Errorf("it was asked %+v", q)
	}
	d := r.model.Decisions[0]
	if d.By != "acme" || d.Question != q.Question || !strings.HasPrefix(d.From, "127.0.0.1:") {
		t.Errorf("the decision is %+v", d)
	}
	r.now = r.now.Add(time.Hour)
	r.answer("t2")
	r.want(onFirst, 1, 0)
	r.change(map[string]string{"tier": "gold"})
	r.want(onSecond, 2, 0)
	r.change(map[string]string{"tier": "iron"}) // too early
	r.answer("t1")
	r.want(onSecond, 2, 0)
	if next := r.desk.Next(r.now); !next.Equal(r.now.Add(10 * time.Minute)) {
		t.Errorf("it is asked again at %s", next)
	}
	r.now = r.now.Add(10 * time.Minute)
	r.want(onFirst, 3, 0)
}

// TestDown: a scheduler that does not answer moves nothing, and is left alone for growing pauses.
func TestDown(t *testing.T) {
	for name, respond := range map[string]func(w http.ResponseWriter, _ schedule.Request){
		"error":   func(w http.ResponseWriter, _ schedule.Request) { w.WriteHeader(http.StatusBadGateway) },
		"aborted": func(http.ResponseWriter, schedule.Request) { panic(http.ErrAbortHandler) },
		"elsewhere": func(w http.ResponseWriter, _ schedule.Request) {
			w.Header().Set("Location", "http://other.example/")
			w.WriteHeader(307)
		},
		"other verb": func(w http.ResponseWriter, _ schedule.Request) { w.Header().Set("Location", "/x"); w.WriteHeader(302) },
		"too much": func(w http.ResponseWriter, _ schedule.Request) {
			for range 5 {
				_, _ = w.Write(make([]byte, 1<<20)) // the client goes away
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.want(onFirst, 1, 0)
			r.change(map[string]string{"tier": "gold"})
			r.now = r.now.Add(time.Hour)
			r.respond = respond
			r.want(onFirst, 2, 1)
			r.want(onFirst, 2, 1)
			r.now = r.now.Add(time.Minute)
			r.want(onFirst, 3, 1)
			r.now = r.now.Add(time.Minute)
			r.want(onFirst, 3, 1)
			if next := r.desk.Next(r.now); !next.Equal(r.now.Add(time.Minute)) {
				t.Errorf("it is asked again at %s", next)
			}
			r.now = r.now.Add(time.Minute)
			r.answer("t2")
			r.want(onSecond, 4, 0)
		})
	}
}

// TestSlow: a scheduler that does not answer in time moves nothing.
func TestSlow(t *testing.T) {
	released := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-released }))
	defer server.Close()
	defer close(released)
	r := newRig(t)
	r.want(onFirst, 1, 0)
	r.change(map[string]string{"tier": "gold"})
	r.open(config.Scheduler{Name: "acme", URL: server.URL, Timeout: 20 * time.Millisecond, Every: time.Minute})
	r.want(onFirst, 1, 1)
}

// TestWrong: an answer that cannot be followed moves nothing.
func TestWrong(t *testing.T) {
	for name, test := range map[string]struct{ answer, reason string }{
		"no JSON":         {`<html>`, "not an answer in JSON"},
		"unknown field":   {`{"version": "V", "question": "Q", "nodes": []}`, "unknown field"},
		"other version":   {`{"version": "v2", "question": "Q", "units": []}`, "version"},
		"other question":  {`{"version": "V", "question": "sha256:0", "units": []}`, "another question"},
		"unit is missing": {`{"version": "V", "question": "Q", "units": [{"name": "cart", "clusterTypes": ["t2"]}]}`, `the unit "pay"`},
		"unit is unknown": {`{"version": "V", "question": "Q", "units": [{"name": "x", "clusterTypes": ["t2"]}], "unscheduled": [{"name": "cart"}, {"name": "pay"}]}`, `the unit "x"`},
		"unit twice":      {`{"version": "V", "question": "Q", "units": [{"name": "cart", "clusterTypes": ["t2"]}], "unscheduled": [{"name": "cart"}, {"name": "pay"}]}`, `the unit "cart"`},
		"type is unknown": {`{"version": "V", "question": "Q", "units": [{"name": "cart", "clusterTypes": ["t9"]}], "unscheduled": [{"name": "pay"}]}`, "type gone"},
		"unit is emptied": {`{"version": "V", "question": "Q", "units": [{"name": "cart", "clusterTypes": []}, {"name": "pay", "clusterTypes": ["t2"]}]}`, "leaves cart nowhere"},
		"not scheduled":   {`{"version": "V", "question": "Q", "units": [{"name": "cart", "clusterTypes": ["t2"]}], "unscheduled": [{"name": "pay"}]}`, "leaves pay nowhere"},
		"too many types":  {`{"version": "V", "question": "Q", "units": [{"name": "cart", "clusterTypes": ["t2", "t3"]}], "unscheduled": [{"name": "pay"}]}`, "pick lowered"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.want(onFirst, 1, 0)
			r.change(map[string]string{"tier": "gold"})
			r.now = r.now.Add(time.Hour)
			r.respond = func(w http.ResponseWriter, request schedule.Request) {
				fmt.Fprint(w, strings.NewReplacer(`"V"`, `"`+request.Version+`"`, `"Q"`, `"`+request.Question+`"`).Replace(test.answer))
			}
			places, problems := r.round()
			if places != onFirst || len(problems) != 1 || !strings.Contains(problems[0].Summary, test.reason) || !strings.Contains(problems[0].Summary, "sha256:") {
				t.Errorf("the units are on %q; %v", places, problems)
			}
			r.want(onFirst, 2, 1)
			r.now = r.now.Add(10 * time.Minute)
			r.answer("t2")
			r.want(onSecond, 3, 0)
		})
	}
}

// TestFlapping: another answer to the same question moves only what cannot stay, unless changes are accepted.
func TestFlapping(t *testing.T) {
	r := newRig(t)
	r.want(onFirst, 1, 0)
	r.answer("t2")
	r.taint(model.Taint{Key: "old", Effect: model.NoSelectIfNew}) // another question, and units may stay
	r.want(onFirst, 1, 0)
	r.now = r.now.Add(time.Hour)
	r.want(onSecond, 2, 0)

	r.model = r.model.WithDecision(&model.Decision{Object: model.Object{Name: "shop"}, By: "acme", Question: r.request.Question, Units: map[string][]string{"cart": {"t2"}, "pay": {"gone"}}})
	r.answer("t3")
	r.want("cart:t2 pay:t3", 3, 0) // pay has lost its place: asked at once, and cart stays

	accepting := *r.model.Policies[0].Choice
	accepting.Decider.AcceptChanges = true
	policy := *r.model.Policies[0]
	policy.Choice = &accepting
	r.model.Policies = []*model.Policy{&policy}
	r.now = r.now.Add(time.Hour)
	r.want("cart:t3 pay:t3", 4, 0)
}

// TestUnfit: an answer is checked against taints and capacity, unless the policy does not enforce them; and what it
// pushes out of its place makes it wrong.
func TestUnfit(t *testing.T) {
	r := newRig(t)
	r.taint(model.Taint{Key: "drain", Effect: model.NoSelect})
	r.want("", 1, 1)
	free := *r.model.Policies[0].Choice
	free.Decider.Unenforced = true
	policy := *r.model.Policies[0]
	policy.Choice = &free
	r.model.Policies = []*model.Policy{&policy}
	r.now = r.now.Add(time.Hour)
	r.want(onFirst, 2, 0)

	r = newRig(t)
	r.model.Measures = []*model.Measures{{Object: model.Object{Name: "all"}, Capacity: true, Amounts: model.Amounts{model.Assignments: 1000}}}
	r.want("", 1, 1)
	first, second := *r.model.Policies[0], *r.model.Policies[0]
	one := model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{"cart"}}}}
	first.Targets, second.Name = one, "zone"
	second.Choice = &model.Choice{Pick: 1, Unit: model.UnitTarget, Priority: -1}
	second.Targets = model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.DoesNotExist}}}
	cart := *r.model.Targets[0]
	cart.Labels = map[string]string{"app": "cart"}
	r.model.Targets = []*model.Target{&cart, r.model.Targets[1]}
	r.model.Policies = []*model.Policy{&first, &second}
	r.model = r.model.WithDecision(&model.Decision{Object: model.Object{Name: "zone"}, Units: map[string][]string{"pay": {"t1"}}})
	r.now = r.now.Add(time.Hour)
	places, problems := r.round()
	if places != "pay:t1" || len(problems) != 1 || !strings.Contains(problems[0].Summary, "pushes pay of zone out of t1") {
		t.Errorf("the units are on %q: %v", places, problems)
	}
}

// TestCommand: a program may be the scheduler. One that fails, or does not end, moves nothing.
func TestCommand(t *testing.T) {
	r := newRig(t)
	program := filepath.Join(t.TempDir(), "decide")
	script := func(text string) {
		t.Helper()
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		r.open(config.Scheduler{Name: "acme", Command: []string{program, "t2"}, Timeout: 5 * time.Second, Every: time.Minute})
	}
	const answer = `q=$(sed 's/.*"question":"\([^"]*\)".*/\1/')
echo '{"version": "fairlead.io/schedule/v1", "question": "'$q'", "units": [{"name": "cart", "clusterTypes": ["'$1'"]}, {"name": "pay", "clusterTypes": ["'$1'"]}]}'`
	script("echo no licence >&2; exit 3")
	places, problems := r.round()
	if places != "" || len(problems) != 1 || !strings.Contains(problems[0].Summary, "no licence") {
		t.Errorf("the units are on %q: %v", places, problems)
	}
	script(answer)
	r.want(onSecond, 0, 0)
	if from := r.model.Decisions[0].From; from != "decide" {
		t.Errorf("it is from %q", from)
	}
	r.change(map[string]string{"tier": "gold"})
	script("echo half; exec sleep 1000")
	r.open(config.Scheduler{Name: "acme", Command: []string{program}, Timeout: 50 * time.Millisecond, Every: time.Minute})
	r.want(onSecond, 0, 1)
}

// TestUnknown: a scheduler that the settings do not have is not asked, and what it has decided counts.
func TestUnknown(t *testing.T) {
	r := newRig(t)
	r.open(config.Scheduler{Name: "other", URL: "http://127.0.0.1:1/"})
	r.model = r.model.WithDecision(&model.Decision{Object: model.Object{Name: "shop"}, By: "acme", Units: map[string][]string{"cart": {"t3"}}})
	r.want("cart:t3", 0, 0)
}
