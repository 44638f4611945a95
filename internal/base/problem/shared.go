package problem

import "slices"

// Shared is a problem and the environments that have it.
type Shared struct {
	Problem
	Environments []string
}

// Sharing merges the problems of several environments. The zero value is empty.
type Sharing struct {
	all []Shared
	at  map[Problem]int
}

// Add adds the problems of an environment.
func (s *Sharing) Add(environment string, list List) {
	if s.at == nil {
		s.at = map[Problem]int{}
	}
	for _, p := range list {
		i, known := s.at[p]
		if !known {
			i, s.at[p] = len(s.all), len(s.all)
			s.all = append(s.all, Shared{Problem: p})
		}
		if !slices.Contains(s.all[i].Environments, environment) {
			s.all[i].Environments = append(s.all[i].Environments, environment)
		}
	}
}

// Sorted returns the problems in the order of [List.Sorted], each with its environments in the
// order of Add.
func (s *Sharing) Sorted() []Shared {
	return slices.SortedStableFunc(slices.Values(s.all), func(a, b Shared) int { return a.order(b.Problem) })
}
