// Package redistest lends tests a real Redis: each test a logical database of
// its own on the shared server, or a whole server that it may kill.
package redistest

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/services"
)

const (
	// lease is how long a database stays taken when its test died before it
	// could give it back: longer than any test runs.
	lease = 20 * time.Minute
	// cleanupTimeout bounds the giving back.
	cleanupTimeout = 10 * time.Second
)

// Database is a logical database that is one test's own.
type Database struct {
	URL    string // redis://…/<number>
	Client *redis.Client
}

// New lends an empty database and empties it again when the test ends. The
// books are kept in database 0, which no test gets.
func New(tb testing.TB) *Database {
	tb.Helper()
	server, err := url.Parse(services.URL(tb, "REDIS"))
	if err != nil {
		tb.Fatal("redistest: DLO_TEST_REDIS_URL is not a URL")
	}
	server.Path = "/0"
	books := connect(tb, server.String())
	number := borrow(tb, books)
	server.Path = "/" + strconv.Itoa(number)
	db := &Database{URL: server.String(), Client: connect(tb, server.String())}
	flush(tb, db.Client)
	tb.Cleanup(func() { flush(tb, db.Client) })
	return db
}

// borrow takes the next database that no running test has.
func borrow(tb testing.TB, books *redis.Client) int {
	tb.Helper()
	ctx := tb.Context()
	size, err := databases(ctx, books)
	if err != nil {
		tb.Fatalf("redistest: %v", err)
	}
	var number int
	poll.Until(tb, time.Minute, func() error {
		next, err := books.Incr(ctx, "dlo:testkit:next").Result()
		if err != nil {
			return err
		}
		number = int(next)%(size-1) + 1
		err = books.SetArgs(ctx, taken(number), "1", redis.SetArgs{Mode: "NX", TTL: lease}).Err()
		if err != nil {
			return fmt.Errorf("all %d databases seem taken: %w", size, err)
		}
		return nil
	})
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		if err := books.Del(ctx, taken(number)).Err(); err != nil {
			tb.Errorf("redistest: give back database %d: %v", number, err)
		}
	})
	return number
}

func taken(number int) string { return "dlo:testkit:taken:" + strconv.Itoa(number) }

// databases returns how many logical databases the server has.
func databases(ctx context.Context, client *redis.Client) (int, error) {
	config, err := client.ConfigGet(ctx, "databases").Result()
	if err != nil {
		return 0, fmt.Errorf("read the number of databases: %w", err)
	}
	n, err := strconv.Atoi(config["databases"])
	if err != nil || n < 2 {
		return 0, fmt.Errorf("the server has %q databases, tests need two or more", config["databases"])
	}
	return n, nil
}

// connect returns a client that is closed when the test ends.
func connect(tb testing.TB, address string) *redis.Client {
	tb.Helper()
	options, err := redis.ParseURL(address)
	if err != nil {
		tb.Fatal("redistest: the address is not a redis:// URL")
	}
	client := redis.NewClient(options)
	tb.Cleanup(func() { client.Close() })
	return client
}

// flush has its own context because at cleanup the test's is already cancelled.
func flush(tb testing.TB, client *redis.Client) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	if err := client.FlushDB(ctx).Err(); err != nil {
		tb.Errorf("redistest: empty the database: %v", err)
	}
}
