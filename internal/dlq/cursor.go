package dlq

import (
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// cursor is a place in a list that is ordered by death: just after the message
// it names. The database keeps microseconds, so these are exact.
type cursor struct {
	diedAt time.Time
	id     uuid.UUID
}

const cursorLength = 8 + len(uuid.UUID{})

func (c cursor) String() string {
	raw := binary.BigEndian.AppendUint64(make([]byte, 0, cursorLength), uint64(c.diedAt.UnixMicro()))
	return base64.RawURLEncoding.EncodeToString(append(raw, c.id[:]...))
}

func parseCursor(s string) (cursor, error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(raw) != cursorLength {
		return cursor{}, ErrBadCursor
	}
	c := cursor{diedAt: time.UnixMicro(int64(binary.BigEndian.Uint64(raw))).UTC()}
	if year := c.diedAt.Year(); year < 1970 || year > 9999 {
		return cursor{}, ErrBadCursor
	}
	copy(c.id[:], raw[8:])
	return c, nil
}
