"""The only room that knows SQLite: schema, documents, queries."""
