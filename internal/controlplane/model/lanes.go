package model

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// Lanes says which parts of the base are lanes: parts that may be promoted by themselves.
type Lanes struct {
	// Each is a folder followed by "/*": each file and each folder in it is a lane. "" if the lanes are named.
	Each  string
	Named []Lane
	Pos   problem.Pos
}

// Lane is a named part of the base.
type Lane struct {
	Name string
	// Paths are patterns of files and folders. What is below a folder that matches belongs to the lane too.
	Paths []string
	Pos   problem.Pos
}

// PlatformLane is the name, in text, of what no lane has.
const PlatformLane = "platform"

const (
	// maxLanes bounds the named lanes, and maxLanePaths the patterns of all: changed files are matched with each.
	maxLanes, maxLanePaths = 500, 2000
	// anyDepth, as the last part of a pattern, matches all that is below a folder.
	anyDepth = "**"
)

type lanesSpec struct {
	Each  locatedText `yaml:"each"`
	Named []laneSpec  `yaml:"named"`
}

type laneSpec struct {
	Name  locatedText   `yaml:"name" required:"true"`
	Paths []locatedText `yaml:"paths" required:"true"`
}

// NewLanes returns the lanes of a pattern, as spec.lanes.each of a Promotion has it. reason says why it cannot be one.
func NewLanes(each string) (lanes *Lanes, reason string) {
	folder, isEach := strings.CutSuffix(each, "/*")
	if !isEach || strings.ContainsAny(folder, `*?[\`) {
		return nil, fmt.Sprintf("%q is not a folder followed by /*", each)
	}
	return &Lanes{Each: each}, refusePattern(each)
}

// refusePattern returns why a text cannot be a pattern of paths of the base; "" if it can.
func refusePattern(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		_, err := path.Match(part, "")
		if err != nil || part == "" || part == "." || part == ".." || strings.Contains(part, anyDepth) && (part != anyDepth || i == 0 || i < len(parts)-1) {
			return fmt.Sprintf("%q is not a pattern of files of the base", pattern)
		}
	}
	for _, own := range []string{".environments", ".fairlead"} {
		if is, _ := path.Match(parts[0], own); is {
			return fmt.Sprintf("%q matches %s, which belongs to all environments", pattern, own)
		}
	}
	return ""
}

// newLanes returns the lanes that an object has; nil if none are written, or with problems.
func (r *reader) newLanes(s *lanesSpec, o Object, d *decoder) *Lanes {
	if s == nil {
		return nil
	}
	before := len(*d.problems)
	refuse := func(line int, hint, format string, args ...any) {
		pos := o.Pos
		if line > 0 {
			pos = r.positionAt(line)
		}
		d.problems.Addf(pos, d.subject, hint, format, args...)
	}
	lanes := &Lanes{Pos: o.Pos}
	switch {
	case (s.Each.Text == "") == (len(s.Named) == 0):
		refuse(s.Each.Line, "write each: workloads/* to make each file and folder of workloads a lane, or name lanes with their paths", "spec.lanes has either each or named lanes")
	case s.Each.Text != "":
		lanes.Each, lanes.Pos = s.Each.Text, r.positionAt(s.Each.Line)
		if _, reason := NewLanes(s.Each.Text); reason != "" {
			refuse(s.Each.Line, "write a folder of the base and /*, as in workloads/*", "spec.lanes.each: %s", reason)
		}
	case len(s.Named) > maxLanes:
		refuse(s.Named[maxLanes].Name.Line, "use each, or fewer lanes", "spec.lanes has %d lanes, and %d is the limit", len(s.Named), maxLanes)
	}
	var names []string
	paths := 0
	for _, l := range s.Named[:min(len(s.Named), maxLanes)] {
		lane := Lane{Name: l.Name.Text, Pos: r.positionAt(l.Name.Line)}
		if len(names) == 0 {
			lanes.Pos = lane.Pos
		}
		switch {
		case slices.Contains(names, lane.Name):
			refuse(l.Name.Line, "put the paths of both into one", "there are two lanes named %q", lane.Name)
		case lane.Name == "" || lane.Name == PlatformLane || strings.ContainsAny(lane.Name, "/ \t\n"):
			refuse(l.Name.Line, "write a name such as payments; platform is what no lane has", "a lane cannot be named %q", lane.Name)
		case len(l.Paths) == 0:
			refuse(l.Name.Line, "list its files and folders, or remove it", "lane %s has no paths", lane.Name)
		}
		paths += len(l.Paths)
		if paths > maxLanePaths {
			refuse(l.Name.Line, "name folders instead of files", "spec.lanes has more than %d paths", maxLanePaths)
			break
		}
		names = append(names, lane.Name)
		for _, p := range l.Paths {
			if reason := refusePattern(p.Text); reason != "" {
				refuse(p.Line, "write it from the root of the base, as in workloads/checkout*; a folder has all that is below it", "lane %s: %s", lane.Name, reason)
			}
			lane.Paths = append(lane.Paths, p.Text)
		}
		lanes.Named = append(lanes.Named, lane)
	}
	if len(*d.problems) > before {
		return nil
	}
	return lanes
}
