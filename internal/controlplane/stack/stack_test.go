package stack

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Problems, graphs and what becomes of them are shown by the cases of internal/render/stackfiles.

func TestShortenName(t *testing.T) {
	for name, want := range map[string]string{
		"checkout-dev-eks":      "checkout-dev-eks",
		"Checkout-Dev-EKS":      "checkout-dev-eks",
		strings.Repeat("a", 50): strings.Repeat("a", 50),
		strings.Repeat("a", 51): strings.Repeat("a", 41) + "-bfc5fe0e",
		strings.Repeat("a", 40) + "-" + strings.Repeat("b", 30): strings.Repeat("a", 40) + "-0e567bf1",
	} {
		got := ShortenName(name, maxObjectName)
		if got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
		if !kubename.IsDNSLabel(got) || len(got) > maxObjectName {
			t.Errorf("%s cannot be the name of an object", got)
		}
	}
	if a, b := ShortenName(strings.Repeat("a", 60)+"b", maxObjectName), ShortenName(strings.Repeat("a", 60)+"c", maxObjectName); a == b {
		t.Errorf("two names are shortened to %s", a)
	}
}

func TestRepositoryURL(t *testing.T) {
	for location, want := range map[string]string{
		"https://example.com/x.git": "https://example.com/x.git", "http://127.0.0.1:8080/x": "http://127.0.0.1:8080/x",
		"ssh://git@example.com/x": "ssh://git@example.com/x", "git@example.com:x/y.git": "ssh://git@example.com/x/y.git",
		" https://example.com/x ": "https://example.com/x", "git@example.com:/x/y": "ssh://git@example.com/x/y",
		"": "", "/srv/x": "", "file:///srv/x": "", "./x": "", "git://example.com/x": "", "https://": "",
		"https://user:hunter2@example.com/x": "", "https://token@example.com/x": "",
	} {
		got, err := RepositoryURL(location)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("RepositoryURL(%q) = %q, %v, want %q", location, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
	for location, want := range map[string]string{"git@example.com:x/y.git": "https://example.com/x/y.git", "ssh://git@example.com/x": "https://example.com/x", "https://example.com/x": "https://example.com/x"} {
		if got, err := PublicURL(location); got != want || err != nil {
			t.Errorf("PublicURL(%q) = %q, %v, want %q", location, got, err, want)
		}
	}
}

// TestOwnRepository: a file's repository may be written as people write it.
func TestOwnRepository(t *testing.T) {
	m := &model.Model{Environment: "dev", Environments: []*model.Environment{
		{Object: model.Object{Name: "dev"}, ControlPlane: model.RepoRef{Repo: "https://Example.com/acme/plane.git"}},
		{Object: model.Object{Name: "prod"}, ControlPlane: model.RepoRef{Repo: "https://example.com/acme/other"}},
	}}
	s := &Stack{Team: "checkout"}
	for location, want := range map[string]bool{
		"https://example.com/acme/plane": true, "git@example.com:acme/plane.git": true, "ssh://git@example.com/acme/plane": true,
		"https://example.com/acme/other": false, "https://example.com/acme/plane2": false, "": false, "/acme/plane": false,
	} {
		if got := s.IsOwnRepository(m, location); got != want {
			t.Errorf("IsOwnRepository(%q) = %v", location, got)
		}
	}
}

// TestCircleOfLeftOut: components in a circle, which is reported, do not make a teardown that leaves
// some of them out endless.
func TestCircleOfLeftOut(t *testing.T) {
	a, b := &Component{Name: "a", Skipped: true}, &Component{Name: "b"}
	a.Needs, b.Needs = []*Component{b}, []*Component{a}
	keepNeeds(a, a)
	if b.keptFor != a || a.keptFor != a {
		t.Errorf("b is kept for %v", b.keptFor)
	}
}

// TestShortestGap: a schedule becomes the shortest time between two of its runs.
// TestLocalsAreBounded: zlocals that each double the one above are refused before they fill the memory.
func TestLocalsAreBounded(t *testing.T) {
	s := &Stack{Stack: &model.Stack{}}
	s.Zlocals = []model.StackLocal{{Name: model.Text{Text: "a"}, Value: "0123456789"}}
	for i := range 60 {
		before := s.Zlocals[i].Name.Text
		s.Zlocals = append(s.Zlocals, model.StackLocal{Name: model.Text{Text: before + "a"}, Value: "${zlocals." + before + "}${zlocals." + before + "}"})
	}
	all, wrong := s.locals()
	for name, value := range all {
		if len(value) > maxLocal {
			t.Errorf("the zlocal %s has %d bytes", name, len(value))
		}
	}
	if len(wrong) == 0 || wrong[0].name != "" {
		t.Errorf("%d zlocals are refused, want some that are too long", len(wrong))
	}
}

// TestDepths: what comes before a node is asked for once, however long the chain is.
func TestDepths(t *testing.T) {
	const length = 1500
	nodes, asked := make([]int, length), 0
	for i := range nodes {
		nodes[i] = i
	}
	depths := Depths(nodes, func(n int) []int {
		asked++
		if n+1 == length {
			return nil
		}
		return []int{n + 1}
	})
	if asked != length || depths[0] != length-1 || depths[length-1] != 0 {
		t.Errorf("a chain of %d was asked for %d times, from depth %d to %d", length, asked, depths[length-1], depths[0])
	}
	circle := map[string][]string{"b": {"a"}, "c": {"b", "d"}, "d": {"c"}, "e": {"d"}, "f": {"elsewhere"}}
	got := Depths([]string{"a", "b", "c", "d", "e", "f"}, func(n string) []string { return circle[n] })
	for name, want := range map[string]int{"a": 0, "b": 1, "c": 6, "d": 6, "e": 6, "f": 1} {
		if got[name] != want {
			t.Errorf("%s has the depth %d, want %d", name, got[name], want)
		}
	}
}

func TestShortestGap(t *testing.T) {
	const day = 24 * time.Hour
	for expression, want := range map[string]time.Duration{
		"0 * * * *": time.Hour, "*/15 * * * *": 15 * time.Minute, "* * * * *": time.Minute, "0 6 * * *": day, "0 6,8 * * *": 2 * time.Hour,
		"0 0 1 * *": 28 * day, "0 0 * * 1": 7 * day, "@daily": day, "@every 90m": 90 * time.Minute, "@every 1s": time.Minute,
		"0 0 29 2 *": 1461 * day, "0 0 1 1 *": 365 * day,
	} {
		if got, err := shortestGap(expression); err != nil || got != want {
			t.Errorf("the shortest gap of %q is %v, %v, want %v", expression, got, err, want)
		}
	}
	for _, expression := range []string{"", " ", "daily", "0 0 30 2 *", "0 0 * *", "0 0 0 * * *", "TZ=", "TZ=UTC 0 0 * * *", "61 * * * *", "@every", "@every x", "*/0 * * * *"} {
		if got, err := shortestGap(expression); err == nil {
			t.Errorf("the shortest gap of %q is %v, want an error", expression, got)
		}
	}
}

// TestFollowedTeams: a team is followed if the settings say so, it is of one environment, and its
// repository is another one.
func TestFollowedTeams(t *testing.T) {
	team := func(name, repo string, inBase bool) *model.Team {
		t := &model.Team{Object: model.Object{Name: name}, InBase: inBase}
		t.TeamName.Text, t.ConfigRepo.Source = name, repo
		return t
	}
	m := &model.Model{Environment: "dev", Environments: []*model.Environment{{Object: model.Object{Name: "dev"}, ControlPlane: model.RepoRef{Repo: "https://example.com/acme/plane"}}}}
	m.Stacks.Teams = []*model.Team{
		team("a", "git@example.com:acme/a.git", false), team("base", "https://example.com/acme/b", true),
		team("none", "", false), team("own", "git@example.com:acme/plane.git", false),
	}
	for _, follow := range []bool{false, true} {
		settings := &model.StackSettings{}
		settings.Follow.Teams = follow
		m.Stacks.Settings = []*model.StackSettings{settings}
		got := ""
		for _, t := range FollowedTeams(m) {
			got += t.Name
		}
		if want := map[bool]string{false: "", true: "a"}[follow]; got != want {
			t.Errorf("follow %v: the teams are %q, want %q", follow, got, want)
		}
	}
	for _, c := range []struct{ repo, ref, want string }{
		{"git@github.com:acme/vars.git", "", "github.com/acme/vars"}, {"https://GitHub.com/acme/vars/", "HEAD", "github.com/acme/vars"},
		{"ssh://git@github.com/acme/vars.git", "v1", "github.com/acme/vars@v1"}, {"../vars", "v1", "../vars@v1"},
	} {
		if got := SourceName(c.repo, c.ref); got != c.want {
			t.Errorf("SourceName(%q, %q) = %q, want %q", c.repo, c.ref, got, c.want)
		}
	}
}

// TestCheckEnvironments: a stack is in one environment, unless their states are in other buckets. The one whose
// output has it goes on, and its problem stops no other stack.
func TestCheckEnvironments(t *testing.T) {
	environment := func(name, bucket, output string, stacks ...string) Claims {
		m := &model.Model{Environment: name}
		m.Stacks.Settings = []*model.StackSettings{{StackSettingsSpec: model.StackSettingsSpec{State: model.StackState{Bucket: bucket}}}}
		for _, s := range stacks {
			team, env, _ := strings.Cut(s, "/")
			m.Stacks.List = append(m.Stacks.List, &model.Stack{StackSpec: model.StackSpec{TeamName: model.Text{Text: team}, EnvName: model.Text{Text: env}}})
		}
		c := NewClaims(m)
		c.Output = strings.Fields(output)
		return c
	}
	// named has the components of stacks name states: as in "shop/one/net=key", in a file and in the output.
	named := func(c Claims, written, output string) Claims {
		read := func(all string) (states []State) {
			for _, one := range strings.Fields(all) {
				name, id, _ := strings.Cut(one, "=")
				states = append(states, State{Stack: path.Dir(name), Component: path.Base(name), ID: id})
			}
			return states
		}
		c.States, c.Named = read(written), read(output)
		return c
	}
	const too, still = "environment dev has the stack shop/Two too, at ", "the output of environment dev still has the stack shop/one"
	for _, c := range []struct {
		name string
		all  []Claims
		want map[string]string
	}{
		{"the first one goes on, in each bucket", []Claims{
			environment("dev", "a", "", "shop/one", "shop/two"), environment("stage", "b", "", "shop/one"), environment("prod", "a", "", "shop/Two", "shop/three"), NewClaims(&model.Model{Environment: "none"}),
		}, map[string]string{"prod": too}},
		{"the one whose output has it goes on", []Claims{environment("prod", "a", "", "shop/two"), environment("dev", "a", "shop/two", "shop/two")}, map[string]string{"prod": too}},
		{"both outputs have it", []Claims{environment("dev", "a", "shop/Two", "shop/Two"), environment("prod", "a", "shop/Two", "shop/Two")}, map[string]string{"prod": too}},
		{"it was moved", []Claims{environment("dev", "a", "shop/one"), environment("prod", "a", "", "shop/one")}, map[string]string{"prod": still}},
		{"it was moved, and the settings are gone", []Claims{{Environment: "dev", Output: []string{"shop/one"}}, environment("prod", "a", "", "shop/one")}, map[string]string{"prod": still}},
		{"one state, elsewhere than in the bucket", []Claims{
			named(environment("dev", "a", "", "shop/one"), "shop/one/net=x shop/one/own=y", ""), named(environment("prod", "b", "", "shop/two", "shop/three"), "shop/two/vpc=x shop/three/own=z", ""),
		}, map[string]string{"prod": "component vpc: its state is that of the component net of the stack shop/one in environment dev, at "}},
		{"the one whose output names the state goes on", []Claims{
			named(environment("dev", "a", "", "shop/one"), "shop/one/net=x", ""), named(environment("prod", "b", "shop/two", "shop/two"), "shop/two/vpc=x", "shop/two/vpc=x"),
		}, map[string]string{"dev": "component net: its state is that of the component vpc of the stack shop/two in environment prod, at "}},
		{"the state was given up, and the output still names it", []Claims{
			named(environment("dev", "a", "shop/one", "shop/one"), "shop/one/net=y", "shop/one/net=x"), named(environment("prod", "b", "", "shop/two"), "shop/two/vpc=x", ""),
		}, map[string]string{"prod": "component vpc: the output of environment dev still has its state, for the component net of the stack shop/one: "}},
		{"the stack is there twice, and is said to be once", []Claims{
			named(environment("dev", "a", "", "shop/two"), "shop/two/net=x", ""), named(environment("prod", "a", "", "shop/two"), "shop/two/net=x", ""),
		}, map[string]string{"prod": too}},
		{"one was moved to another bucket", []Claims{environment("dev", "a", "shop/one"), environment("prod", "b", "", "shop/one")}, nil},
	} {
		found := CheckClaims(c.all)
		if len(found) != len(c.want) {
			t.Errorf("%s: %v", c.name, found)
		}
		for env, want := range c.want {
			all := found[env]
			if len(all) != 1 || !strings.Contains(strings.ToLower(all[0].Summary), strings.ToLower(want)) || !all.Stops() || all.StopsEnvironment() {
				t.Errorf("%s: %s has %v, want %q", c.name, env, all, want)
			}
		}
	}
	one, two := environment("dev", "a", "", "shop/one"), environment("dev", "a", "", "shop/one", "shop/two")
	if one.Adds(two) || !two.Adds(one) || !one.Adds(environment("dev", "b", "", "shop/one")) || (Claims{}).Adds(one) ||
		named(one, "shop/one/net=x", "").Adds(named(one, "shop/one/net=x", "shop/one/net=y")) || !named(one, "shop/one/net=y", "").Adds(named(one, "shop/one/net=x", "")) {
		t.Error("what is added is wrong")
	}
}
