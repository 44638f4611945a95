package model

import (
	"maps"
	"slices"

	"gopkg.in/yaml.v3"
)

const lanesKind = "Lanes"

// LaneRecord lists the lanes of which an environment has another commit than its BaseRepo names. It holds the paths of these
// lanes, so that the output follows from the commits of the environment and of the base alone.
type LaneRecord struct {
	Object
	Lanes   Lanes
	Commits map[string]string // by lane, as they are written
}

type laneRecordSpec struct {
	Each  locatedText               `yaml:"each"`
	Lanes map[string]laneCommitSpec `yaml:"lanes" required:"true"`
}

type laneCommitSpec struct {
	Commit verbatimText  `yaml:"commit" required:"true"`
	Paths  []locatedText `yaml:"paths"`
}

func (r *reader) readLaneRecord(n *yaml.Node, d *decoder) *LaneRecord {
	o, s, _ := readObject[laneRecordSpec](r, n, lanesKind, d)
	record := &LaneRecord{Object: o, Commits: map[string]string{}}
	written := &lanesSpec{Each: s.Each}
	for _, name := range slices.Sorted(maps.Keys(s.Lanes)) {
		l := s.Lanes[name]
		record.Commits[name] = string(l.Commit)
		if name == PlatformLane {
			d.problems.Addf(o.Pos, d.subject, "write its commit as spec.commit of the BaseRepo", "%s is not a lane", PlatformLane)
			continue
		}
		if (s.Each.Text == "") == (len(l.Paths) == 0) {
			d.problems.Addf(o.Pos, d.subject, "copy spec.lanes of the Promotion: write each, or the paths of this lane", "lane %s has either paths, or those of spec.each", name)
		}
		if s.Each.Text == "" && len(l.Paths) > 0 {
			written.Named = append(written.Named, laneSpec{Name: locatedText{name, l.Paths[0].Line}, Paths: l.Paths})
		}
	}
	if len(s.Lanes) == 0 || s.Each.Text == "" && len(written.Named) == 0 {
		return record
	}
	if lanes := r.newLanes(written, o, d); lanes != nil {
		record.Lanes = *lanes
	}
	return record
}

// NewLaneRecord returns the text of the record of lanes, which have some commits.
func NewLaneRecord(lanes Lanes, commits map[string]string) ([]byte, error) {
	type laneCommit struct {
		Commit string   `yaml:"commit"`
		Paths  []string `yaml:"paths,omitempty"`
	}
	spec := struct {
		Each  string                `yaml:"each,omitempty"`
		Lanes map[string]laneCommit `yaml:"lanes"`
	}{lanes.Each, map[string]laneCommit{}}
	for name, commit := range commits {
		l := laneCommit{Commit: commit}
		if i := slices.IndexFunc(lanes.Named, func(l Lane) bool { return l.Name == name }); i >= 0 {
			l.Paths = lanes.Named[i].Paths
		}
		spec.Lanes[name] = l
	}
	return EncodeObject(lanesKind, "lanes", spec)
}
