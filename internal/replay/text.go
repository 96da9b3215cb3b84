package replay

import "strings"

// maxDetail bounds what is kept of a text from outside.
const maxDetail = 1000

// clean makes s fit for text and jsonb columns.
func clean(s string) string {
	if len(s) > maxDetail {
		s = s[:maxDetail]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
