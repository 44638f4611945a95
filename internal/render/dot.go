package render

import "fmt"

// dataType is what "." is where a template uses it as a whole, as in toYaml . or
// hash . do: a value with the name and the fields that Kalypso's has, since both
// show in what comes out.
type dataType struct {
	DeploymentTargetName string
	Namespace            string
	Environment          string
	Workspace            string
	Workload             string
	Labels               map[string]string
	Manifests            map[string]string
	ClusterType          string
	ConfigData           map[string]any
}

// dot returns what a piece of a template sees as ".". A template that names
// .DependsOn was not written for Kalypso, and sees all fields.
func (a *analysis) dot(d *Data) any {
	if !a.whole || a.dependsOn {
		return d
	}
	return dataType{
		d.DeploymentTargetName, d.Namespace, d.Environment, d.Workspace, d.Workload, d.Labels, d.Manifests, d.ClusterType, d.ConfigData,
	}
}

// typeOf is that of sprig, with Kalypso's name for ".".
func typeOf(v any) string {
	if _, ok := v.(dataType); ok {
		return "scheduler.dataType"
	}
	return fmt.Sprintf("%T", v)
}
