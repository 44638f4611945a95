// Package lock keeps two processes from writing into one folder of mirrors at a time.
//
// What the package keeps true: a lock is held by one caller of one process, and ends with
// it, however it ends.
package lock
