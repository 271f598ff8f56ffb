-- Messages of one session, for the search in chats: without it each search reads every event, and there are dozens of deltas to a message.
-- Not an index of the text. ILIKE is not leakproof, so PostgreSQL does not look it up in an index (pg_trgm) of a table that row-level security
-- binds; and of two characters, as most Chinese words have, there is no trigram.
create index events_messages on events (tenant_id, session_id)
  where type in ('message.created', 'message.edited', 'message.completed');
