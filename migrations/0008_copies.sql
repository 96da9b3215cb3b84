-- Serves the look-alikes of a message: what may be a copy of the same body.
-- Copies are rare, so that this index costs the drain next to nothing.
CREATE INDEX dead_letters_copies_idx ON dead_letters (source, body_sha256) WHERE possible_copy;
-- Serve the lists of possible copies and of what is in quarantine, the newest
-- death first; likewise small.
CREATE INDEX dead_letters_copies_died_idx     ON dead_letters (died_at DESC, id DESC) WHERE possible_copy;
CREATE INDEX dead_letters_quarantine_died_idx ON dead_letters (died_at DESC, id DESC) WHERE quarantine IS NOT NULL;

-- Serves the notes of a message in the order in which they were written, a page
-- at a time.
DROP INDEX notes_message_idx;
CREATE INDEX notes_message_idx ON notes (message_id, id);
