package render

import "fmt"

// dataType is the value of "." where a template uses it as a whole, as toYaml . and
// hash . do. It has the name and the fields of Kalypso's type, since both show in the
// output.
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

// dotValue returns the value of "." in a piece of a template. A template that names
// .DependsOn was not written for Kalypso, and sees all fields.
func (a *analysis) dotValue(d *Data) any {
	if !a.whole || a.dependsOn {
		return d
	}
	return dataType{
		d.DeploymentTargetName, d.Namespace, d.Environment, d.Workspace, d.Workload, d.Labels, d.Manifests, d.ClusterType, d.ConfigData,
	}
}

// typeOf is sprig's function, with Kalypso's name for the type of ".".
func typeOf(v any) string {
	if _, ok := v.(dataType); ok {
		return "scheduler.dataType"
	}
	return fmt.Sprintf("%T", v)
}
