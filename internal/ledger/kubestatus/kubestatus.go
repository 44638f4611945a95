// Package kubestatus reads the status of Flux, tofu-controller, Argo CD and Rancher Fleet objects
// from an API server into entries for the ledger.
//
// An object is ready only if its controller reports so for the newest generation. Only applied or
// attempted revisions are named. An unreadable object is unknown and does not affect others.
// Messages are one line without passwords, and stable while only durations change.
package kubestatus

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
)

// patience is how long an object may be unhealthy before it has failed, if its controller does not
// tell temporary from permanent trouble.
const patience = 5 * time.Minute

// Kind is a kind of objects.
type Kind struct {
	Name     string
	Group    string
	Resource string
	Versions []string // newest first
}

// Kinds returns all readable kinds.
func Kinds() []Kind {
	return []Kind{
		{"Application", "argoproj.io", "applications", []string{"v1alpha1"}},
		{"BundleDeployment", "fleet.cattle.io", "bundledeployments", []string{"v1alpha1"}},
		{"GitRepo", "fleet.cattle.io", "gitrepos", []string{"v1alpha1"}},
		{"GitRepository", "source.toolkit.fluxcd.io", "gitrepositories", []string{"v1", "v1beta2"}},
		{"HelmRelease", "helm.toolkit.fluxcd.io", "helmreleases", []string{"v2", "v2beta2"}},
		{"Kustomization", "kustomize.toolkit.fluxcd.io", "kustomizations", []string{"v1", "v1beta2"}},
		{"OCIRepository", "source.toolkit.fluxcd.io", "ocirepositories", []string{"v1", "v1beta2"}},
		{"Terraform", "infra.contrib.fluxcd.io", "terraforms", []string{"v1alpha2"}},
	}
}

type metadata struct {
	Name       string            `json:"name"`
	Namespace  string            `json:"namespace"`
	UID        string            `json:"uid"`
	Generation int64             `json:"generation"`
	Labels     map[string]string `json:"labels"`
}

// condition is one of Kubernetes, or of Rancher, which uses LastUpdateTime.
type condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"`
	Reason             string    `json:"reason"`
	Message            string    `json:"message"`
	ObservedGeneration int64     `json:"observedGeneration"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
	LastUpdateTime     time.Time `json:"lastUpdateTime"`
}

func (c condition) since() time.Time {
	if c.LastTransitionTime.IsZero() {
		return c.LastUpdateTime
	}
	return c.LastTransitionTime
}

func findCondition(all []condition, kind string) condition {
	for _, c := range all {
		if c.Type == kind {
			return c
		}
	}
	return condition{}
}

// Read returns the entries of objects, given as JSON by kind.
func Read(objects map[string][]json.RawMessage, now time.Time) []agentapi.Entry {
	r := reader{
		now: now, sources: map[string]fluxSource{}, bundles: map[string][]bundleDeployment{},
		kustomizations: map[string]kustomization{}, terraforms: map[string]terraform{},
	}
	var all []agentapi.Entry
	// Referenced kinds come first.
	for _, kind := range []string{"GitRepository", "OCIRepository", "BundleDeployment", "Kustomization", "HelmRelease", "Terraform", "Application", "GitRepo"} {
		for _, raw := range objects[kind] {
			all = append(all, r.readObject(kind, raw))
		}
	}
	r.correctKustomizations(all)
	return all
}

type reader struct {
	now     time.Time
	sources map[string]fluxSource
	bundles map[string][]bundleDeployment

	kustomizations map[string]kustomization
	terraforms     map[string]terraform
}

func (r *reader) readObject(kind string, raw json.RawMessage) agentapi.Entry {
	var head struct {
		Metadata metadata `json:"metadata"`
	}
	e := agentapi.Entry{Kind: kind}
	err := json.Unmarshal(raw, &head)
	e.Namespace, e.Name, e.UID = head.Metadata.Namespace, head.Metadata.Name, head.Metadata.UID
	phase := ledger.Unknown
	if err == nil {
		read := map[string]func(json.RawMessage, *agentapi.Entry) (ledger.Phase, error){
			"Application": r.readApplication, "BundleDeployment": r.readBundleDeployment, "GitRepo": r.readGitRepo, "GitRepository": r.readSource,
			"HelmRelease": r.readHelmRelease, "Kustomization": r.readKustomization, "OCIRepository": r.readSource, "Terraform": r.readTerraform,
		}[kind]
		phase, err = read(raw, &e)
	}
	if err != nil {
		phase, e.Message = ledger.Unknown, fmt.Sprintf("its status cannot be read: %s", err)
	}
	if phase == ledger.Ready || phase == ledger.Suspended || phase == ledger.Waiting { // a success message
		e.Message = ""
	}
	e.Phase, e.Message = phase.String(), cleanMessage(e.Message)
	return e
}

func (r *reader) isPast(since time.Time) bool {
	return !since.IsZero() && r.now.Sub(since) > patience
}

func nameCommit(ref, commit string) string {
	switch {
	case !text.IsCommit(commit):
		return commit
	case ref == "", ref == "HEAD", text.IsCommit(ref):
		return "sha1:" + commit
	}
	return strings.TrimPrefix(ref, "refs/heads/") + "@sha1:" + commit
}
