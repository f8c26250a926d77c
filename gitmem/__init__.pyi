from gitmem.config import Config as Config
from gitmem.errors import *  # noqa: F403 (each of them, written once)
from gitmem.hosts.loop.manager import MemoryManager as MemoryManager
from gitmem.hosts.loop.provider import MemoryProvider as MemoryProvider
from gitmem.hosts.plain import open as open  # noqa: A004 (`gitmem.open`, as `gzip.open`)
from gitmem.hosts.plain import open_async as open_async
from gitmem.index.readers import Reader as Reader
from gitmem.memory.aio import AsyncMemory as AsyncMemory
from gitmem.memory.aio import AsyncSession as AsyncSession
from gitmem.memory.capture.buffer import HotMemoryBuffer as HotMemoryBuffer
from gitmem.memory.capture.decorators import memorize_decision as memorize_decision
from gitmem.memory.capture.decorators import memorize_tool as memorize_tool
from gitmem.memory.find.prefetch import Prefetch as Prefetch
from gitmem.memory.memory import Memory as Memory
from gitmem.memory.session import Session as Session
from gitmem.safety.fence import fence as fence
from gitmem.safety.fence import sanitize as sanitize
from gitmem.version import __version__ as __version__
