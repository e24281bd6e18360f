"""The MCP server: what coding agents call. It keeps no state; runs are jobs of their own."""
