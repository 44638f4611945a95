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

// rowsTogether is how many rows are inserted by one statement.
const rowsTogether = 16

// insertedRow matches the values of a statement that inserts a row, up to what follows them.
var insertedRow = regexp.MustCompile(`(?s)\nvalues (\(.*?\))(\non conflict|$)`)

// parameter matches a parameter of a statement.
var parameter = regexp.MustCompile(`\$\d+`)

// execAll runs a statement by the driver itself, as database/sql has its price for each row.
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

// insertSeveral returns a statement that inserts some rows, for one that inserts a row; "" for another one.
func insertSeveral(text string) string {
	found := insertedRow.FindStringSubmatchIndex(text)
	if found == nil {
		return ""
	}
	row := text[found[2]:found[3]]
	return parameter.ReplaceAllString(text[:found[3]]+strings.Repeat(", "+row, rowsTogether-1)+text[found[3]:], "?")
}

// execRow runs a statement on the connection of the writer.
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
