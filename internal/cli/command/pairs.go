package command

import "strings"

// ParsePairs parses the values of a flag of the form KEY=VALUE. Where the key is a URL, which
// may contain "=", the last "=" separates them.
func ParsePairs(flag, form string, values []string) (map[string]string, error) {
	pairs := map[string]string{}
	for _, v := range values {
		i := strings.LastIndex(v, "=")
		if strings.HasPrefix(form, "NAME") {
			i = strings.Index(v, "=")
		}
		if i <= 0 || i == len(v)-1 {
			return nil, Usagef("it should be "+form, "%s %s cannot be read", flag, v)
		}
		if _, twice := pairs[v[:i]]; twice {
			return nil, Usagef("leave one of them out", "%s is given twice for %s", flag, v[:i])
		}
		pairs[v[:i]] = v[i+1:]
	}
	return pairs, nil
}
