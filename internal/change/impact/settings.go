package impact

import (
	"bytes"
	"errors"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

var settingLine = regexp.MustCompile(`^(?:export )?\s*([A-Za-z_][\w.-]*)\s*=\s*(.*)$`)

// parseSettings parses KEY=value lines into a mapping. Other lines, except comments,
// are an error.
func parseSettings(text []byte) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for raw := range bytes.Lines(text) {
		l := strings.TrimSpace(string(raw))
		if l == "" || l[0] == '#' {
			continue
		}
		m := settingLine.FindStringSubmatch(l)
		if m == nil || !isClosed(m[2]) {
			return nil, errors.New("there is more in it than KEY=value lines")
		}
		for _, text := range m[1:] {
			n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: text})
		}
	}
	return n, nil
}

func isClosed(value string) bool {
	quotes := strings.Count(value, `"`)%2 + strings.Count(value, "'")%2
	return quotes == 0 && !strings.ContainsAny(value[max(0, len(value)-1):], `\{[(`) && !strings.Contains(value, "<<")
}
