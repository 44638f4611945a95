package ledgerdb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// rowsTogether is the number of rows per insert.
const rowsTogether = 16

var insertedRow = regexp.MustCompile(`(?s)\nvalues (\(.*?\))(\non conflict|$)`)

var parameter = regexp.MustCompile(`\$\d+`)

// execAll uses the driver directly, because database/sql is slow per row.
func (s *sqliteSession) execAll(ctx context.Context, statement string, all rows) error {
	err := ctx.Err()
	if err != nil || len(all.values) == 0 {
		return err
	}
	text, together := s.statements[statement], 1
	many := insertSeveral(text)
	if many != "" {
		together = rowsTogether
	}
	return s.writer.writer.Raw(func(conn any) error {
		for some := range slices.Chunk(all.values, all.width*together) {
			if len(some) == all.width*together && many != "" {
				err = s.writer.execRow(conn, many, some)
			} else {
				for row := range slices.Chunk(some, all.width) {
					err = errors.Join(err, s.writer.execRow(conn, text, row))
				}
			}
			if err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	})
}

// insertSeveral converts a one-row insert for rowsTogether rows; "" for other statements.
func insertSeveral(text string) string {
	found := insertedRow.FindStringSubmatchIndex(text)
	if found == nil {
		return ""
	}
	row := text[found[2]:found[3]]
	return parameter.ReplaceAllString(text[:found[3]]+strings.Repeat(", "+row, rowsTogether-1)+text[found[3]:], "?")
}

func (e *sqlite3) execRow(conn any, text string, values []int64) error {
	stmt := e.bulk[text]
	if stmt == nil {
		prepared, err := conn.(driver.Conn).Prepare(text)
		if err != nil {
			return err
		}
		stmt = prepared.(driver.StmtExecContext)
		e.bulk[text] = stmt
	}
	args := slices.Grow(e.args[:0], len(values))
	for i, value := range values {
		args = append(args, driver.NamedValue{Ordinal: i + 1, Value: value})
	}
	e.args = args
	_, err := stmt.ExecContext(context.Background(), args)
	return err
}

func (e *sqlite3) closeBulk() (err error) {
	for _, stmt := range e.bulk {
		err = errors.Join(err, stmt.(driver.Stmt).Close())
	}
	return err
}
