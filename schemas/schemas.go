// Package schemas holds the JSON Schemas (draft 7) of the kinds that people write in
// a control plane, for editors and for "fairlead schema".
//
// What the package keeps true: there is a schema for every kind that internal/controlplane/model
// reads, with the same fields, of which the same are required; that of CloudKnit's Environment is
// named Stack. all.json is for a file with objects of several kinds, and allows any object of another
// kind.
package schemas

import (
	"embed"
	"strings"
)

//go:embed *.json
var files embed.FS

// all is the file that is for every kind.
const all = "all"

// Kinds returns the names of the kinds that have a schema, sorted.
func Kinds() []string {
	var kinds []string
	for _, name := range schemaNames() {
		if name != all {
			kinds = append(kinds, name)
		}
	}
	return kinds
}

// Schema returns the JSON Schema of a kind, in whatever case it is written. "all" is
// the schema for files with objects of any kind.
func Schema(kind string) ([]byte, bool) {
	for _, name := range schemaNames() {
		if strings.EqualFold(name, kind) {
			return readSchema(name), true
		}
	}
	return nil, false
}

func schemaNames() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("schemas: " + err.Error())
	}
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = strings.TrimSuffix(e.Name(), ".json")
	}
	return out
}

func readSchema(name string) []byte {
	data, err := files.ReadFile(name + ".json")
	if err != nil {
		panic("schemas: " + err.Error())
	}
	return data
}
