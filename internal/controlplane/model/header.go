package model

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// header is what is read of an object before its kind is known.
type header struct {
	apiVersion, kind string
	metadata, items  *yaml.Node
}

func headerOf(n *yaml.Node) header {
	var h header
	if _, v := yamldoc.LookUpPair(n, "apiVersion"); v != nil {
		h.apiVersion = v.Value
	}
	if _, v := yamldoc.LookUpPair(n, "kind"); v != nil {
		h.kind = v.Value
	}
	_, h.metadata = yamldoc.LookUpPair(n, "metadata")
	_, h.items = yamldoc.LookUpPair(n, "items")
	return h
}

func (h *header) missingField() string {
	switch {
	case h.kind == "":
		return "kind"
	case h.apiVersion == "":
		return "apiVersion"
	case h.metadata == nil || h.metadata.Kind != yaml.MappingNode:
		return "metadata"
	}
	return ""
}

// The marks by which Flux leaves an object out: kustomize drops a local one from what it builds, and
// kustomize-controller does not apply a disabled or ignored one, and keeps the version that it applied
// before.
const (
	localConfigMark = "config.kubernetes.io/local-config"
	reconcileMark   = OwnerLabelPrefix + "reconcile"
	applyMark       = OwnerLabelPrefix + "ssa"
)

// leaveOut reports whether Flux leaves out an object of one of Kalypso's kinds, or a ConfigMap. It warns of
// one that has an effect otherwise. An object that the environment cannot do without is a problem, and is
// read.
func (r *reader) leaveOut(n *yaml.Node, h header, d *decoder) bool {
	if r.layer.Kind != Base && r.layer.Kind != Env && r.layer.Kind != Workloads {
		return false
	}
	mark, kept := findMark(h.metadata)
	if mark == "" {
		return false
	}
	subject, hint := h.kind+"/"+nameOf(n), "remove the mark, or the object"
	if h.kind == "Environment" || h.kind == "BaseRepo" || h.kind == "GitOpsRepo" {
		r.out.problems.Addf(d.positionOf(n), subject, "remove the mark", "Flux does not apply the object (%s), and Fairlead cannot do without it", mark)
		return false
	}
	r.out.countIgnored(h.apiVersion+" "+h.kind, 1)
	if h.kind == "ConfigMap" && yamldoc.FindText(h.metadata, "labels", platformConfigLabel) != "true" && !strings.HasPrefix(nameOf(n), appConfigPrefix) {
		return true
	}
	if kept {
		hint = "Flux keeps the version that it applied before, if there is one; here the object does not exist. " + hint
		r.out.disabled = append(r.out.disabled, &Object{Kind: h.kind, Name: nameOf(n), Pos: d.positionOf(n)})
	}
	r.out.problems.Warnf(d.positionOf(n), subject, hint, "the object is ignored, as Flux ignores it: %s", mark)
	return true
}

// findMark returns the mark by which Flux leaves an object out, as "key: value", and whether Flux keeps the
// version of before; "" if there is none. Flux compares values without regard to case.
func findMark(metadata *yaml.Node) (mark string, kept bool) {
	if text, written := metadataText(metadata, "annotations", localConfigMark); written && text != "false" {
		return localConfigMark + ": " + text, false
	}
	for _, in := range []string{"annotations", "labels"} {
		if text, _ := metadataText(metadata, in, reconcileMark); strings.EqualFold(text, "disabled") {
			return reconcileMark + ": " + text, true
		}
		if text, _ := metadataText(metadata, in, applyMark); strings.EqualFold(text, "ignore") {
			return applyMark + ": " + text, true
		}
	}
	return "", false
}

func metadataText(metadata *yaml.Node, in, key string) (text string, written bool) {
	_, all := yamldoc.LookUpPair(metadata, in)
	_, value := yamldoc.LookUpPair(all, key)
	if value == nil || value.Kind != yaml.ScalarNode {
		return "", false
	}
	return value.Value, true
}

// IsForeign reports whether Fairlead knows nothing of a kind that [Model.Ignored] counts.
func IsForeign(kind string) bool {
	group, _, grouped := strings.Cut(kind, "/")
	if !grouped {
		return kind != "v1 ConfigMap" && kind != "v1 Secret" && kind != teamDocuments
	}
	return group != Group && group != OwnGroup && group != claudie.Group && group != externalSecretGroup && !isStackGroup(group)
}

// warnAppliedOnce warns of an object whose first version Flux keeps for good.
func (r *reader) warnAppliedOnce(n *yaml.Node, h header, d *decoder) {
	for _, in := range []string{"annotations", "labels"} {
		if text, _ := metadataText(h.metadata, in, applyMark); strings.EqualFold(text, "IfNotPresent") {
			r.out.problems.Warnf(d.positionOf(n), h.kind+"/"+nameOf(n), "remove the mark", "Flux applies only the first version of the object (%s: %s); Fairlead uses this one", applyMark, text)
			return
		}
	}
}

// Disabled returns the objects that Flux does not apply, and that an earlier model has: on a cluster the
// version of before would remain.
func (m *Model) Disabled(before *Model) []*Object {
	var found []*Object
	for _, o := range m.disabled {
		if before.hasObject(o.Kind, o.Name) {
			found = append(found, o)
		}
	}
	return found
}

// hasObject reports whether the model has an object that people wrote. Of a Workload it knows the deployment
// targets in this environment.
func (m *Model) hasObject(kind, name string) bool {
	switch kind {
	case "ClusterType":
		return m.ClusterType(name) != nil
	case "Template":
		return m.Template(name) != nil
	case "SchedulingPolicy":
		return findByName(m.Policies, name) != nil
	case "WorkloadRegistration":
		return findByName(m.Registrations, name) != nil
	case "ConfigMap":
		return findByName(m.Configs, name) != nil
	case "ConfigSchema":
		return findByName(m.Schemas, name) != nil
	case "DeploymentTarget":
		return findByName(m.Targets, name) != nil
	case "Workload":
		for _, t := range m.Targets {
			if t.Workload == name {
				return true
			}
		}
	}
	return false
}
