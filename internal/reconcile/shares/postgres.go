package shares

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Postgres keeps shares as advisory locks of one session of PostgreSQL 14 or newer, which the server ends
// after a period of silence. A replica that uses it has to settle: a server that restarts forgets all
// locks at once.
type Postgres struct {
	// Address is read for each session.
	Address func() (string, error)
	// Name is that of this replica, for people; Plane identifies the control plane.
	Name, Plane string
	Period      time.Duration

	session *pgx.Conn
	number  int32
	woken   []string
}

// class is the first key of locks.
func (p *Postgres) class(kind string) int32 {
	h := fnv.New32a()
	fmt.Fprintf(h, "fairlead %s of %s", kind, p.Plane)
	return int32(h.Sum32())
}

func (p *Postgres) channel() string { return fmt.Sprintf("fairlead_%x", uint32(p.class("wakes"))) }

// Renew asks for the locks of all, which is what keeps the session.
func (p *Postgres) Renew(ctx context.Context, woken []string) (View, error) {
	view, err := p.renew(ctx, woken)
	if err != nil {
		_ = p.close(ctx)
		return View{}, fmt.Errorf("share with other replicas in PostgreSQL: %w: %w", ErrLost, err)
	}
	return view, nil
}

func (p *Postgres) renew(ctx context.Context, woken []string) (View, error) {
	if p.session == nil {
		if err := p.open(ctx); err != nil {
			return View{}, err
		}
	}
	for _, repo := range woken {
		_, err := p.session.Exec(ctx, "select pg_notify($1, $2)", p.channel(), p.Name+" "+repo)
		if err != nil {
			return View{}, err
		}
	}
	rows, err := p.session.Query(ctx, `select l.classid::bigint, l.objid::bigint, l.pid, l.pid = pg_backend_pid(), coalesce(a.application_name, '')
		from pg_locks l left join pg_stat_activity a using (pid)
		where l.locktype = 'advisory' and l.granted and l.objsubid = 2
		and l.database = (select oid from pg_database where datname = current_database())
		and l.classid::bigint in ($1, $2)`, int64(uint32(p.class("replicas"))), int64(uint32(p.class("shares"))))
	if err != nil {
		return View{}, err
	}
	view := View{Holders: map[Share]string{}}
	var class, object int64
	var pid int
	var mine bool
	var name string
	_, err = pgx.ForEachRow(rows, []any{&class, &object, &pid, &mine, &name}, func() error {
		member := fmt.Sprintf("%s#%d", name, pid)
		if mine {
			view.Me = member
		}
		if class == int64(uint32(p.class("replicas"))) {
			view.Members = append(view.Members, member)
		} else {
			view.Holders[Share(object)] = member
		}
		return nil
	})
	if err == nil && view.Me == "" {
		err = errors.New("the session has no lock: connect to PostgreSQL itself, not to a pooler of transactions")
	}
	slices.Sort(view.Members)
	view.Woken, p.woken = p.woken, nil
	return view, err
}

func (p *Postgres) open(ctx context.Context) error {
	address, err := p.Address()
	if err != nil {
		return err
	}
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return errors.New("the address of the database is not valid") // the error may have the password
	}
	config.RuntimeParams["application_name"] = p.Name
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
		name, repo, _ := strings.Cut(n.Payload, " ")
		if name != p.Name {
			p.woken = append(p.woken, repo)
		}
	}
	p.session, err = pgx.ConnectConfig(ctx, config)
	if err != nil {
		p.session = nil
		return err
	}
	_, err = p.session.Exec(ctx, fmt.Sprintf("set idle_session_timeout = %d", p.Period.Milliseconds()))
	if err != nil {
		return fmt.Errorf("replicas need PostgreSQL 14 or newer: %w", err)
	}
	_, err = p.session.Exec(ctx, "listen "+p.channel())
	if err != nil {
		return err
	}
	p.number = rand.Int32()
	ok, err := p.lock(ctx, "replicas", p.number)
	if err == nil && !ok {
		err = errors.New("another replica has the same number")
	}
	return err
}

func (p *Postgres) lock(ctx context.Context, kind string, object int32) (ok bool, err error) {
	err = p.session.QueryRow(ctx, "select pg_try_advisory_lock($1::int, $2::int)", p.class(kind), object).Scan(&ok)
	return ok, err
}

// Take takes the lock of a share.
func (p *Postgres) Take(ctx context.Context, share Share) (bool, error) {
	if p.session == nil {
		return false, ErrLost
	}
	return p.lock(ctx, "shares", int32(share))
}

// Release releases the lock of a share, or all with the session.
func (p *Postgres) Release(ctx context.Context, share Share) error {
	if p.session == nil {
		return nil
	}
	_, err := p.session.Exec(ctx, "select pg_advisory_unlock($1::int, $2::int)", p.class("shares"), int32(share))
	return err
}

// Leave ends the session.
func (p *Postgres) Leave(ctx context.Context) error { return p.close(ctx) }

func (p *Postgres) close(ctx context.Context) error {
	if p.session == nil {
		return nil
	}
	session := p.session
	p.session = nil
	return session.Close(ctx)
}
