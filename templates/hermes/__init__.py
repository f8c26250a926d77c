"""gitmem as the MemoryProvider of this Hermes home. Written by `gitmem connect hermes`; do not edit."""

# Hermes looks for the word MemoryProvider in this file and runs `register`; it imports nothing until then.

SHIM_VERSION = 1


def register(ctx):
    """Hand the provider over, or one that says in one line why it cannot be had."""
    try:
        from gitmem.hosts.hermes.provider import GitMemProvider
    except Exception as error:
        ctx.register_memory_provider(_missing(error))
    else:
        ctx.register_memory_provider(GitMemProvider(shim=SHIM_VERSION))


def _missing(error):
    from agent.memory_provider import MemoryProvider

    why = (
        f"gitmem: this session runs without versioned memory ({type(error).__name__}: {error}). "
        "Install it into the environment of Hermes: pip install hermes-gitmem"
    )

    class Missing(MemoryProvider):
        name = "gitmem"

        def is_available(self):
            return True

        def initialize(self, session_id, **kwargs):
            tell = kwargs.get("warning_callback")
            if callable(tell):
                tell(why)

        def get_tool_schemas(self):
            return []

        def get_status_config(self, provider_config):
            return {"problem": why}

    return Missing()
