"""The gate: what may enter the memory (admission) and what of it may reach an agent (egress)."""
