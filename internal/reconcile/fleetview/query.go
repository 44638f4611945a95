package fleetview

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// Maximum lengths of parameters; MaxWorkloads is for lists of workloads.
const (
	maxParameter = 512
	MaxWorkloads = 8 << 10
)

func (a question) parseQuery(values url.Values) (Query, error) {
	q := Query{Limit: MaxItems}
	known := slices.Concat(a.required, a.optional)
	for name, given := range values {
		if !slices.Contains(known, name) {
			return q, &QueryError{fmt.Sprintf("there is no parameter %s", strconv.Quote(name)), "the parameters are " + text.Join(known, " and ")}
		}
		limit := maxParameter
		if name == "workload" {
			limit = MaxWorkloads
		}
		if len(given) != 1 || len(given[0]) > limit {
			return q, &QueryError{fmt.Sprintf("the parameter %s is not one short text", name), "name it once"}
		}
		err := q.set(name, given[0])
		if err != nil {
			return q, err
		}
	}
	for _, name := range a.required {
		if values.Get(name) == "" {
			return q, &QueryError{"the parameter " + name + " is missing", "the parameters are " + text.Join(known, " and ")}
		}
	}
	return q, nil
}

func (q *Query) set(name, value string) (err error) {
	switch name {
	case "environment":
		q.Environment = value
	case "with":
		q.Other = value
	case "type":
		q.Type = value
	case "cluster":
		q.Cluster = value
	case "workload":
		q.Workload = value
	case "standing":
		q.Standing = value
	case "after":
		q.After = value
	case "at":
		q.At, err = parseTime(name, value)
	case "since":
		q.Since, err = parseTime(name, value)
	case "limit":
		q.Limit, err = strconv.Atoi(value)
		if err != nil || q.Limit < 1 || q.Limit > MaxItems {
			err = &QueryError{fmt.Sprintf("limit is %s", strconv.Quote(value)), fmt.Sprintf("it is a number from 1 to %d", MaxItems)}
		}
	}
	return err
}

func parseTime(name, value string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		at, err := time.Parse(layout, value)
		if err == nil {
			return at, nil
		}
	}
	return time.Time{}, &QueryError{fmt.Sprintf("%s is %s", name, strconv.Quote(value)), "write a time as 2026-11-23T12:00:00Z, or a day as 2026-11-23"}
}

// newPage returns the page after q.After. all is sorted by unique keys.
func newPage[T any](all []T, q Query, key func(T) string) Page[T] {
	first := 0
	if q.After != "" {
		first, _ = slices.BinarySearchFunc(all, q.After, func(item T, after string) int {
			if key(item) <= after {
				return -1
			}
			return 1
		})
	}
	p := Page[T]{Items: append([]T{}, all[first:min(first+q.Limit, len(all))]...)}
	if first+q.Limit < len(all) {
		p.Next = key(p.Items[len(p.Items)-1])
	}
	return p
}
