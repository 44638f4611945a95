package manifest

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// FindPlaintextSecret finds the first readable value of a Secret. SOPS metadata may be in the
// object, or in the list that contains it.
func FindPlaintextSecret(o Object, root *yaml.Node) (Finding, bool) {
	if o.APIVersion != "v1" || o.Kind != "Secret" {
		return Finding{}, false
	}
	sops := hasSOPS(root) || hasSOPS(o.Node)
	for _, section := range []string{"data", "stringData"} {
		_, values := yamldoc.LookUpPair(o.Node, section)
		value := firstReadable(values, sops)
		if value == nil {
			continue
		}
		return Finding{
			Line:    value.Line,
			Object:  o.displayName(),
			Summary: fmt.Sprintf("%s holds a value in plain text under %s", o.displayName(), section),
			Hint:    hintSecret,
		}, true
	}
	return Finding{}, false
}

func hasSOPS(n *yaml.Node) bool {
	_, sops := yamldoc.LookUpPair(yamldoc.ResolveAlias(n), "sops")
	return sops != nil && sops.Kind == yaml.MappingNode
}

// firstReadable returns the first scalar in n (or nil) that is not empty, encrypted or substituted.
func firstReadable(n *yaml.Node, sops bool) *yaml.Node {
	if n == nil {
		return nil
	}
	n = yamldoc.ResolveAlias(n)
	if n.Kind == yaml.ScalarNode {
		v := scalarText(n)
		encrypted := sops && strings.HasPrefix(v, "ENC[AES256_GCM,") && strings.HasSuffix(v, "]")
		if v == "" || encrypted || isSubstituted(v) {
			return nil
		}
		return n
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			continue
		}
		if found := firstReadable(child, sops); found != nil {
			return found
		}
	}
	return nil
}

// isSubstituted matches values that Flux fills in on the cluster, such as "${PASSWORD}". One with a
// default ("${PASSWORD:=x}") does not count: the default is readable.
func isSubstituted(v string) bool {
	name, ok := strings.CutPrefix(v, "${")
	if !ok {
		return false
	}
	name, ok = strings.CutSuffix(name, "}")
	return ok && name != "" && strings.Trim(name, "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
