package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
)

const (
	// browserTime bounds all scripts together, on a machine that is busy.
	browserTime = 9 * time.Minute
	basePath    = "/dlo"
	// A page that shows a stale key to somebody who has not seen the console: the
	// order's number is one that a payment system gives.
	pictured = "P20260928001"
)

// TestBrowser walks through the pages in Chromium, with dead letters that died
// for real. The scripts are browser/*.test.mjs; what they need to know comes in
// their environment.
//
// E2E_PICTURES=1 leaves a picture of every page in out/. The README's own,
// out/message.png, is taken in every run.
func TestBrowser(t *testing.T) {
	t.Parallel()
	chromium, node := browserPrograms(t)
	w := newWorld(t)
	c := startConsoleOf(t, w)
	based := startConsole(t, w.config("status"), "DLO_SERVER_BASE_PATH="+basePath+"/")
	based.awaitReady(t)
	letters, consumer := deadLetters(t, w, c)

	ctx, cancel := context.WithTimeout(t.Context(), browserTime)
	defer cancel()
	files, err := filepath.Glob("browser/" + cmp.Or(os.Getenv("E2E_SCRIPTS"), "*.test.mjs"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no browser scripts: %v", err)
	}
	// One script at a time: a browser takes a core, and some stop the consumer.
	args := append([]string{"--test", "--test-concurrency=1", "--test-reporter=spec"}, files...)
	run := exec.CommandContext(ctx, node, args...)
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) } // so that it ends its browser
	run.WaitDelay = 10 * time.Second
	run.Env = append(os.Environ(), w.env...)
	run.Env = append(
		run.Env, "CHROMIUM="+chromium, "PAYDEMO="+filepath.Join(binaries, "paydemo"), "LETTERS="+letters,
		"CONSOLE="+c.url, "CONSOLE_BASED="+based.url+basePath, "CONSUMER_PID="+strconv.Itoa(consumer.cmd.Process.Pid),
	)
	out, err := run.CombinedOutput()
	t.Logf("%s\n%s", strings.Join(args, " "), out)
	if err != nil {
		t.Fatalf("the browser scripts failed: %v", err)
	}
	w.checkBooks(t, c)
}

func browserPrograms(t *testing.T) (chromium, node string) {
	t.Helper()
	chromium = cmp.Or(os.Getenv("CHROMIUM"), "chromium")
	for _, program := range []*string{&chromium, &node} {
		path, err := exec.LookPath(cmp.Or(*program, "node"))
		if err != nil {
			t.Fatalf("%v: `make test-e2e` installs it", err)
		}
		*program = path
	}
	if _, err := os.Stat("../node_modules/playwright-core"); err != nil {
		t.Fatalf("%v: `make assets` fetches it", err)
	}
	return chromium, node
}

// startConsoleOf is a console that says, as on call, that this is production.
func startConsoleOf(t *testing.T, w *world) *console {
	t.Helper()
	mustRun(t, []string{"DLO_DATABASE_URL=" + pgtest.URL(w.store)}, "console", "migrate")
	c := startConsole(t, w.config("status"), "DLO_ENVIRONMENT_NAME=production", "DLO_ENVIRONMENT_COLOR=red")
	c.awaitReady(t)
	return c
}

// deadLetters makes what an on-call engineer finds: payments that died while
// the bank was down, consumers killed with their key taken, an order refunded
// too early, and a message that somebody sent to do harm. It returns the ids by
// order, as JSON, and the consumer, with the bank up again.
func deadLetters(t *testing.T, w *world, c *console) (string, *process) {
	t.Helper()
	consumer := w.consume(t)
	ids := map[string]string{}
	stale := []string{pictured, "P-STALE-MOUSE", "P-STALE-KEYS", "P-STALE-PLAIN"}
	for _, order := range stale {
		w.pay(t, order, "-fault", "crash_after_key")
		consumer.wait(t)
		consumer = w.consume(t)
		// The next crash must not come between a publish to the ladder and its ack.
		ids[order] = w.awaitDead(t, c, order, isOpen).ID
	}
	w.paydemo(t, "set", "bank=down")
	bank := []string{"P-BANK-DONE", "P-BANK-MOUSE", "P-BANK-KEYS", "P-BANK-PLAIN", "P-BANK-HOSTILE", "P-BANK-DROP", "P-BANK-BASE", "P-BANK-OPEN"}
	for _, order := range bank {
		w.pay(t, order)
	}
	for _, order := range bank {
		ids[order] = w.awaitDead(t, c, order, isOpen).ID
	}
	w.paydemo(t, "set", "bank=up")
	w.pay(t, "P-REFUNDED", "-refunded")
	ids["P-REFUNDED"] = w.awaitDead(t, c, "P-REFUNDED", isOpen).ID
	w.publishHostile(t)
	ids["hostile"] = w.awaitDead(t, c, hostile, isOpen).ID
	for _, order := range stale {
		awaitVerdict(t, c, ids[order], "stale_key")
	}
	// Two replays that are over, so that each page has something to show.
	c.replay(t, ids["P-BANK-DONE"], map[string]any{"reason": "the bank is back"})
	c.replay(t, ids["P-REFUNDED"], map[string]any{"reason": "to see what guard 2 says", "override": []string{"refused_by_state"}})
	w.awaitDead(t, c, "P-REFUNDED", isOpen)
	c.post(t, "/messages/"+ids[pictured]+"/notes", map[string]string{"text": "The consumer was killed at the deploy; asked payments."}, http.StatusCreated, nil)

	letters, err := json.Marshal(ids)
	if err != nil {
		t.Fatal(err)
	}
	return string(letters), consumer
}

// hostile is markup wherever text is expected. The scripts look for its element
// and for what its handlers would do.
const hostile = `"'><hostile-tag onmouseover=alert(1)></hostile-tag><script>alert(1)</script><img src=x onerror=alert(1)>`

// publishHostile puts a message into the terminal queue that is markup all over.
func (w *world) publishHostile(t *testing.T) {
	t.Helper()
	const bidi = "\u202egnp.exe\u2066\u200b" // nothing ends it
	long := strings.Repeat("Wortohneende", 400)
	body, err := json.Marshal(map[string]any{
		"orderNo": hostile, hostile: map[string]any{hostile: []any{hostile, bidi, long, nil, 1e300, true}}, "bidi" + bidi: long,
		"__proto__": hostile, "htmx": `<div hx-get="/api/v1/sources" hx-trigger="load" hx-on::load="alert(1)"></div>`,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.broker.Publish(t, "", terminalQueue, amqp.Publishing{
		ContentType: "text/html" + hostile, MessageId: hostile, Type: hostile + bidi, AppId: hostile, Body: body,
		Headers: amqp.Table{
			"x-exception-type": hostile, "x-exception-message": long + hostile + bidi,
			"x-exception-stacktrace": "java.lang.Evil: " + hostile + "\n\tat " + long + "\n\tat " + bidi,
			"x-original-queue":       workQueue, "x-retry-count": int32(5),
			"h-" + hostile: hostile, "h-" + bidi: long, "h-nested": amqp.Table{hostile: []any{hostile, int64(1) << 62}},
		},
	})
}
