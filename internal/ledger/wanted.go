package ledger

import "time"

// Part is an object in a reconciler.yaml that reports of what it applies.
type Part struct {
	Object string // its name on the clusters: see Object.Name
	// Repo is the URL of a Git repository, of charts or of artifacts, without a password; Ref the
	// branch, tag, range or digest that is asked for; Path the folder, or the name of a chart. They
	// are "" if the file does not say them.
	Repo, Ref, Path string
	// Pinned is the only revision that Ref can be; "" if it may move.
	Pinned string
}

// OutputChange is a commit of an output branch, and what it has changed since the one before.
type OutputChange struct {
	Revision string // the commit
	// Base and Plane are the commits of the base, and of the environment's branch of the control
	// plane, that it was rendered from; "" if it does not say.
	Base, Plane string
	// Authored is when the newest commit was made that it was rendered from; zero if it does not say.
	Authored time.Time
	Merged   time.Time
	Folders  []FolderChange // by cluster type
	Files    []FileChange   // by cluster type and target
	// Parts are those of the files in Files, by Digest.
	Parts map[string][]Part
}

// FolderChange is the folder of a cluster type that is another one.
type FolderChange struct {
	ClusterType string
	ID          string // of its tree; "" if it is gone
	// Whole is set if the Files of the type are all that there are, and not only those that differ.
	Whole bool
}

// FileChange is the reconciler.yaml of a deployment target on a cluster type.
type FileChange struct {
	ClusterType, Target string
	Digest              string // the id of its blob; "" if it is gone
}

// Version is what people call a commit of a workload's repository.
type Version struct {
	Name   string
	Build  string    // the number of its build; "" if nothing says it
	Commit string    // that it was built from; "" if nothing says it
	Built  time.Time // zero if nothing says it
}
