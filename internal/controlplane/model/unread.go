package model

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// UnreadStacks are stacks that may be written where nothing can be read: in a file that is no YAML, or in
// the repository of a Team. They do not count as deleted.
type UnreadStacks struct {
	Pos problem.Pos
	// Team and Env are what their text says; "" if it does not.
	Team, Env string
	// OfTeam is true if it is the Team that cannot be read: all its stacks are stopped, also those that
	// are written elsewhere.
	OfTeam bool
}

// Name returns what the problem stops: the stack as "team/environment", those of a team as "team/*", or
// the file that they are in.
func (u UnreadStacks) Name() string {
	switch {
	case u.Team == "":
		return "unknown (" + problem.Pos{Layer: u.Pos.Layer, File: u.Pos.File}.String() + ")"
	case u.Env == "" || u.OfTeam:
		return u.Team + problem.AllStacks
	}
	return u.Team + "/" + u.Env
}

// Includes reports whether a stack that is written nowhere else may be one of these.
func (u UnreadStacks) Includes(team, env string) bool {
	return (u.Team == "" || u.Team == team) && (u.Env == "" || u.Env == env)
}

// HasTeam reports whether there is a Team of that name.
func (s *Stacks) HasTeam(name string) bool {
	return slices.ContainsFunc(s.Teams, func(t *Team) bool { return t.TeamName.Text == name })
}

// FindUnreadTeam returns the Team of a stack that cannot be read; nil if it can.
func (s *Stacks) FindUnreadTeam(team string) *UnreadStacks {
	written := s.HasTeam(team)
	i := slices.IndexFunc(s.Unread, func(u UnreadStacks) bool { return u.OfTeam && (u.Team == team || u.Team == "" && !written) })
	if i < 0 {
		return nil
	}
	return &s.Unread[i]
}

// TeamLayerPrefix begins the names of layers with the stacks in a team's own repository.
const TeamLayerPrefix = "Team/"

// The lines by which a text that is no YAML says what it was meant to be.
var (
	directiveLine = regexp.MustCompile(`(?m)^[%#].*$`)
	kindLine      = regexp.MustCompile(`(?m)^kind[ \t]*:?[ \t]*["']?([A-Za-z]+)`)
	versionLine   = regexp.MustCompile(`(?m)^apiVersion[ \t]*:?[ \t]*["']?([^\s"'#/]+)/`)
	teamLine      = regexp.MustCompile(`(?m)^[ \t]+teamName[ \t]*:[ \t]*["']?([A-Za-z][A-Za-z0-9-]*)["']?[ \t]*(?:#.*)?\r?$`)
	envLine       = regexp.MustCompile(`(?m)^[ \t]+envName[ \t]*:[ \t]*["']?([A-Za-z][A-Za-z0-9-]*)["']?[ \t]*(?:#.*)?\r?$`)
)

// findUnread returns the stacks and Teams that a text must be about that cannot be read, one for each piece
// between separators; nil if it may hold something else.
func (r *reader) findUnread(text []byte, line int) []UnreadStacks {
	if r.built || r.layer.Kind != Env && r.layer.Kind != TeamStacks && r.layer.Kind != Base {
		return nil
	}
	var all []UnreadStacks
	for piece := range bytes.SplitSeq(text, []byte("\n---")) {
		if len(bytes.TrimSpace(bytes.TrimLeft(directiveLine.ReplaceAll(piece, nil), "-"))) == 0 {
			continue
		}
		u, ok := r.classifyUnread(piece)
		if !ok {
			return nil
		}
		u.Pos = r.positionAt(line)
		all = append(all, u)
	}
	return all
}

// classifyUnread returns what a piece of text must be about; false if it may be about something else
// than stacks.
func (r *reader) classifyUnread(piece []byte) (UnreadStacks, bool) {
	teams, envs, kinds := findAll(teamLine, piece), findAll(envLine, piece), findAll(kindLine, piece)
	u := UnreadStacks{OfTeam: slices.Equal(kinds, []string{"Team"})}
	if len(teams) == 1 {
		u.Team = teams[0]
	}
	if len(teams) == 1 && len(envs) == 1 {
		u.Env = envs[0]
	}
	if r.layer.Kind == TeamStacks { // which can hold nothing else that counts
		u.OfTeam, u.Team = false, strings.TrimPrefix(r.layer.Name, TeamLayerPrefix)
		return u, true
	}
	groups := findAll(versionLine, piece)
	for _, g := range groups {
		if !isStackGroup(g) && !isNearStackGroup(g) {
			return u, false
		}
	}
	isStack := len(kinds) == 0 && len(envs) > 0 || len(kinds) == 1 && (kinds[0] == "Environment" || problem.FindNearest(kinds[0], []string{"Environment"}) != "")
	if r.layer.Kind == Base {
		isStack = false
	}
	return u, (isStack || u.OfTeam) && (len(groups) > 0 || len(teams) > 0)
}

func findAll(pattern *regexp.Regexp, text []byte) []string {
	var all []string
	for _, found := range pattern.FindAllSubmatch(text, -1) {
		all = append(all, string(found[1]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// addUnreadable adds a problem of a text from which on nothing can be read. It stops the stacks that the text
// must be about, or else the environment.
func (r *reader) addUnreadable(p problem.Problem, text []byte) {
	unread := r.findUnread(text, p.Pos.Line)
	r.out.stacks.Unread = append(r.out.stacks.Unread, unread...)
	for _, u := range unread {
		p.Stack = u.Name()
		r.out.problems = append(r.out.problems, p)
	}
	if unread == nil {
		r.out.broken = true
		r.out.problems = append(r.out.problems, p)
	}
}

func isNearStackGroup(group string) bool {
	groups := list.Convert(stackAPIVersions, func(v string) string { return strings.Split(v, "/")[0] })
	return problem.FindNearest(group, groups) != "" || strings.Contains(group, "cloudknit") || strings.Contains(group, "compuzest")
}

// readTeam reads a Team. Its problems stop its stacks: it may protect them.
func (r *reader) readTeam(n *yaml.Node, h header, d *decoder) *Team {
	before := len(*d.problems)
	if !slices.Contains(stackAPIVersions, h.apiVersion) {
		addVersionProblem(n, h, d)
	}
	o, spec, _ := readObject[TeamSpec](r, n, h.kind, d)
	if found := (*d.problems)[before:]; found.Stops() {
		u := (&Team{Object: o, TeamSpec: spec}).unread()
		r.out.stacks.Unread = append(r.out.stacks.Unread, u)
		*d.problems = append((*d.problems)[:before], found.StoppingStack(u.Name())...)
	}
	return &Team{o, spec, r.layer.Kind == Base}
}

func textFrom(text []byte, line int) []byte {
	begin := 0
	for at := 0; line > 1 && at < len(text); line-- {
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
		if bytes.HasPrefix(text[at:], []byte("---")) {
			begin = at
		}
	}
	return text[begin:]
}
