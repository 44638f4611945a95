package ledgerdb

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

//go:embed queries/*.sql
var queryFiles embed.FS

//go:embed migrations/*.sql
var migrationFiles embed.FS

// readStatements returns statements by name, from queries/<name>.sql and
// queries/<name>.<engine>.sql.
func readStatements(engine string) (map[string]string, error) {
	all := map[string]string{}
	err := eachSQLFile(queryFiles, "queries", engine, func(name, text string) { all[name] = text })
	addTransferStatements(all)
	return all, err
}

func eachSQLFile(files embed.FS, folder, engine string, do func(name, text string)) error {
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, of, special := strings.Cut(strings.TrimSuffix(e.Name(), ".sql"), ".")
		if special && of != engine {
			continue
		}
		text, err := fs.ReadFile(files, path.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		do(name, string(text))
	}
	return nil
}
