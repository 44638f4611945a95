package ledger

import "time"

// Part is a reporting object in a reconciler.yaml.
type Part struct {
	Object string // its name on the clusters: see Object.Name
	// Repo is the URL of a Git, chart or artifact repository, without a password; Ref the requested
	// branch, tag, range or digest; Path the folder or chart.
	Repo, Ref, Path string
	// Pinned is the only possible revision of Ref; "" if it may move.
	Pinned string
}

// OutputChange is a commit of an output branch.
type OutputChange struct {
	Revision string
	// Base and Plane are the rendered commits of the base and the control plane; "" if not stated.
	Base, Plane string
	// Authored is the newest rendered commit's time; zero if not stated.
	Authored time.Time
	Merged   time.Time
	Folders  []FolderChange
	Files    []FileChange
	Parts    map[string][]Part
}

// FolderChange is a changed folder.
type FolderChange struct {
	ClusterType string
	ID          string // of its tree; "" if removed
	// Whole is set if Files has all files of the type.
	Whole bool
}

// FileChange is a target's changed reconciler.yaml.
type FileChange struct {
	ClusterType, Target string
	Digest              string // blob id; "" if removed
}

// Version is a name for a commit of a workload's repository.
type Version struct {
	Name   string
	Build  string    // build number; "" if unknown
	Commit string    // source commit; "" if unknown
	Built  time.Time // zero if unknown
}
