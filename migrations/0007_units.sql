-- What a replay sent is not always, byte for byte, what died: of an envelope
-- the message inside goes back, and an operator may agree to an edit. What was
-- sent is kept beside what died.
ALTER TABLE attempts
    ADD COLUMN sent_sha256 bytea CHECK (length(sent_sha256) = 32), -- of the body that was sent; NULL: it did not get so far
    ADD COLUMN sent_body   bytea;                                  -- where it differs from that of the life; NULL: it does not
