"""Force constants of drives and payloads, estimated from motor currents."""
