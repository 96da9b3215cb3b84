package rabbit

// Stand-ins until the wire codec lands: whoever adds the real functions deletes
// this file.

func EncodeHeaders(t Table) ([]byte, error)            { return EncodeTable(t) }
func DecodeHeaders(b []byte) (Table, error)            { return DecodeTable(b) }
func EncodePropertiesRaw(p Properties) ([]byte, error) { return EncodeProperties(p) }
func DecodePropertiesRaw(b []byte) (Properties, error) { return DecodeProperties(b) }
