"""What commands share: claims, slots, budget and indexes, in SQLite or in PostgreSQL."""
