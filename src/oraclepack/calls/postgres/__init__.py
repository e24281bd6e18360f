"""The store of calls in a PostgreSQL database that machines share. Needs the extra `fleet`."""
