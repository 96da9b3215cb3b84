package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/web/internal/sample"
)

// large is a store whose body of StaleID is another one.
type large struct {
	*sample.Store
	body    []byte
	fails   int64 // at which place reading fails; 0: nowhere
	longest int
	read    int
}

func (l *large) Message(ctx context.Context, id string) (dlq.Message, error) {
	m, err := l.Store.Message(ctx, id)
	m.BodySize = int64(len(l.body))
	return m, err
}

func (l *large) BodyFacts(context.Context, string, int) (dlq.BodyFacts, error) {
	return dlq.BodyFacts{Round: 1, Size: int64(len(l.body)), SHA256: []byte{1}}, nil
}

func (l *large) BodyPart(_ context.Context, _ string, _ int, offset int64, most int) ([]byte, error) {
	if l.fails > 0 && offset >= l.fails {
		return nil, errors.New("the store is gone")
	}
	part := l.body[offset:min(int(offset)+most, len(l.body))]
	l.longest, l.read = max(l.longest, len(part)), l.read+len(part)
	return part, nil
}

func officeWith(t *testing.T, l *large) office {
	t.Helper()
	return newOffice(t, func(o *Options) { l.Store, o.Messages = sample.NewStore(), l })
}

func TestALargeBodyIsSentWholeAPartAtATime(t *testing.T) {
	t.Parallel()
	l := &large{body: bytes.Repeat([]byte("0123456789abcdef\x00\xff"), 300_000)}
	o := officeWith(t, l)
	for _, path := range []string{"/messages/" + sample.StaleID + "/body", v1 + "/messages/" + sample.StaleID + "/body"} {
		l.read = 0
		w := o.get(path)
		if w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), l.body) {
			t.Fatalf("%s: status %d, %d bytes of %d", path, w.Code, w.Body.Len(), len(l.body))
		}
		for name, want := range map[string]string{
			"Content-Length": fmt.Sprint(len(l.body)), "Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff",
			"Content-Disposition": `attachment; filename="` + sample.StaleID + `.bin"`, "Accept-Ranges": "bytes",
			"Content-Security-Policy": "default-src 'none'; sandbox",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		if l.longest > bodyChunk || l.read != len(l.body) {
			t.Errorf("%d bytes were read, up to %d at once; want each once, %d at most", l.read, l.longest, bodyChunk)
		}

		l.read = 0
		head := o.do(httptest.NewRequestWithContext(context.Background(), http.MethodHead, path, nil))
		if head.Code != http.StatusOK || head.Body.Len() != 0 || head.Header().Get("Content-Length") != fmt.Sprint(len(l.body)) || l.read != 0 {
			t.Errorf("HEAD %s: status %d, %d bytes, length %q, %d read", path, head.Code, head.Body.Len(), head.Header().Get("Content-Length"), l.read)
		}

		part := o.get(path, "Range", "bytes=5000000-5000009")
		if part.Code != http.StatusPartialContent || !bytes.Equal(part.Body.Bytes(), l.body[5000000:5000010]) || l.read > bodyChunk {
			t.Errorf("a part of %s: status %d, %q, %d read", path, part.Code, part.Body, l.read)
		}
	}
}

func TestADownloadThatTheStoreEndsIsNotTakenForWhole(t *testing.T) {
	t.Parallel()
	l := &large{body: make([]byte, 4*bodyChunk), fails: 2 * bodyChunk}
	server := httptest.NewServer(officeWith(t, l))
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/messages/"+sample.StaleID+"/body", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var got bytes.Buffer
	if _, err := got.ReadFrom(answer.Body); err == nil || got.Len() > 2*bodyChunk {
		t.Errorf("%d bytes came and then %v, want an error after %d", got.Len(), err, 2*bodyChunk)
	}
}

func TestABodyAboveTheInlineSizeIsShownInPart(t *testing.T) {
	t.Parallel()
	l := &large{body: []byte(strings.Repeat("x", 16<<20))}
	o := officeWith(t, l)
	doc := page(t, o.get("/messages/"+sample.StaleID), http.StatusOK)
	wantText(t, doc, testid("body-cut"), "shows the first 256 KiB of 16 MiB; the download has all of it")
	if n := len(doc.Find(testid("body-raw")).Text()); n != 256<<10 || l.longest != 256<<10 {
		t.Errorf("%d characters are shown, %d were read", n, l.longest)
	}
	l = &large{body: []byte(strings.Repeat("x", 2000))}
	o = newOffice(t, func(o *Options) { l.Store, o.Messages, o.BodyInline = sample.NewStore(), l, 1<<10 })
	doc = page(t, o.get("/messages/"+sample.StaleID), http.StatusOK)
	wantText(t, doc, testid("body-cut"), "shows the first 1 KiB of 2 KiB")
	l.body = l.body[:1024]
	wantNone(t, page(t, o.get("/messages/"+sample.StaleID), http.StatusOK), testid("body-cut"))
}
