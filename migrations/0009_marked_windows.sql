-- A window is marked where messages behind it in the queue may have been called
-- redelivered before it was committed: a twin among them must not be taken for
-- one of the window's own that came back.
ALTER TABLE windows ADD COLUMN marked boolean NOT NULL DEFAULT false;
