package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/web/internal/sample"
)

// listener reads the events of one page.
type listener struct {
	t      *testing.T
	events chan [2]string // name, data
	status int
}

func (o office) listen(t *testing.T, url string) listener {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	l := listener{t, make(chan [2]string, 100), res.StatusCode}
	t.Cleanup(func() { _ = res.Body.Close() })
	go func() {
		defer close(l.events)
		name, data := "", ""
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			switch line := lines.Text(); {
			case strings.HasPrefix(line, "event: "):
				name = line[len("event: "):]
			case strings.HasPrefix(line, "data: "):
				data += line[len("data: "):] + "\n"
			case line == "" && name != "":
				l.events <- [2]string{name, data}
				name, data = "", ""
			}
		}
	}()
	return l
}

// want waits for an event of that name with that text in it.
func (l listener) want(name, text string) {
	l.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case e, open := <-l.events:
			if !open {
				l.t.Fatalf("the stream ended before %s with %q", name, text)
			}
			if e[0] == name && strings.Contains(e[1], text) {
				return
			}
		case <-deadline:
			l.t.Fatalf("no event %s with %q came", name, text)
		}
	}
}

// running serves the office and keeps its pulse until the test ends.
func (o office) running(t *testing.T) (url string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx) }()
	srv := httptest.NewServer(o)
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
	t.Cleanup(func() { stop(); srv.Close() })
	return srv.URL, stop
}

func TestAPageHearsOfNewMessagesAndOfItsOwn(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	url, _ := o.running(t)
	list := o.listen(t, url+"/events?list=1&state=open&top="+sample.WillRunID)
	overview := o.listen(t, url+"/events?overview=1")
	message := o.listen(t, url+"/events?message="+sample.StaleID+"&state=open&round=1")
	replayed := o.listen(t, url+"/events?replay=79")
	list.want("depth", ">11<")
	overview.want("figures", "figure-open")
	message.want("state", "open")
	replayed.want("replay", "came straight back")

	o.store.Add("0199a1b2-0000-7000-8000-0000000000ff")
	list.want("depth", ">12<")
	list.want("new", "1 new")
	o.store.Set(sample.StaleID, dlq.Resolved)
	message.want("state", "resolved")
	message.want("changed", "It is resolved now.")
}

func TestEventsAreEscapedLikePages(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	url, _ := o.running(t)
	l := o.listen(t, url+"/events?message="+sample.HostileID)
	deadline := time.After(20 * time.Second)
	for {
		select {
		case e := <-l.events:
			if strings.Contains(e[1], "<script") || strings.Contains(e[1], "<img") {
				t.Fatalf("event %s has hostile markup: %s", e[0], e[1])
			}
			if e[0] == "attempts" && strings.Contains(e[1], "alert(1)") {
				return
			}
		case <-deadline:
			t.Fatal("the hostile attempt was not sent")
		}
	}
}

func TestStreamsEndWhenTheConsoleStops(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	url, stop := o.running(t)
	l := o.listen(t, url+"/events")
	l.want("depth", "11")
	stop()
	for range l.events { // ends only when the stream does
		continue
	}
	if again := o.listen(t, url+"/events"); again.status != http.StatusOK {
		t.Errorf("a stream after the stop answers %d", again.status)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	b := newBroadcaster()
	var leave func()
	for range maxStreams {
		_, l, err := b.listen()
		if err != nil {
			t.Fatal(err)
		}
		leave = l
	}
	if _, _, err := b.listen(); !errors.Is(err, errTooManyStreams) {
		t.Fatalf("one too many: %v", err)
	}
	leave()
	if _, _, err := b.listen(); err != nil {
		t.Errorf("after one left: %v", err)
	}
}

func TestASlowListenerGetsTheNewestPulse(t *testing.T) {
	t.Parallel()
	b := newBroadcaster()
	pulses, leave, err := b.listen()
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	for n := range int64(5) {
		b.send(pulse{totals: totals{open: n}})
	}
	if got := <-pulses; got.totals.open != 4 {
		t.Errorf("got pulse %d, want 4", got.totals.open)
	}
}

func TestAnEventOfManyLinesStaysOne(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	o := newOffice(t)
	c := o.echo.NewContext(httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil), w)
	out := &stream{c.Response(), http.NewResponseController(w)}
	if err := out.event("x", "a\r\nb\rc\n\nevent: evil"); err != nil {
		t.Fatal(err)
	}
	want := "event: x\ndata: a\ndata: b\ndata: c\ndata: \ndata: event: evil\n\n"
	if got := w.Body.String(); got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
}

func TestAStreamOfNothingIsAnError(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for path, status := range map[string]int{"message=nope": 404, "list=1&state=shut": 400, "list=1&q=word": 400} {
		if w := o.get("/events?" + path); w.Code != status {
			t.Errorf("%s answers %d, want %d", path, w.Code, status)
		}
	}
}

func TestFiguresThatCannotBeReadAreLoggedOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.store.Err = fmt.Errorf("dlq: count: %w", errNobody)
	well := true
	for range 3 {
		well = o.live.beat(t.Context(), o.readPulse, o.Log, well)
	}
	if n := strings.Count(o.log.String(), "live figures cannot be read"); n != 1 {
		t.Errorf("logged %d times", n)
	}
	o.store.Err = nil
	if !o.live.beat(t.Context(), o.readPulse, o.Log, false) {
		t.Error("it does not recover")
	}
}
