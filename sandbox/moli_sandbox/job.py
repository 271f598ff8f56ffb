"""The job that a runner sends (frame J), checked before anything of it is used."""
import os
import unicodedata

# Used for a limit that the job does not name. The first six are the API's own defaults.
DEFAULT_LIMITS = {
    'wallSeconds': 30,
    'cpuSeconds': 30,
    'memoryBytes': 512 << 20,
    'pids': 64,
    'diskBytes': 100 << 20,
    'outputBytes': 1 << 20,
    'artifactBytes': 100 << 20,
    'artifactCount': 100,
    'displayBytes': 32 << 20,
}
MAX_FILES = 1_000
# Longest name of one file in the kernel (NAME_MAX), in bytes of UTF-8.
MAX_NAME_BYTES = 255


class BadJob(Exception):
    """The job can't be run; the message names the field."""


def check_job(job):
    """Returns { runId, code, filename, argv, limits, files, locale } with defaults filled in."""
    if not isinstance(job, dict) or not isinstance(job.get('code'), str):
        raise BadJob('code must be a string')
    filename = job.get('filename') or 'main.py'
    if not isinstance(filename, str) or name_fault(filename):
        raise BadJob('filename is not a safe file name')
    argv = job.get('argv') or []
    if not isinstance(argv, list) or not all(isinstance(item, str) for item in argv):
        raise BadJob('argv must be a list of strings')
    return {
        'runId': str(job.get('runId') or ''),
        'code': job['code'],
        'filename': filename,
        'argv': argv,
        'limits': check_limits(job.get('limits') or {}),
        'files': check_files(job.get('files') or []),
        'locale': 'zh' if str(job.get('locale') or '').lower().startswith('zh') else 'en',
    }


def check_limits(given):
    """Limits with the defaults of what is not named; every one a positive number."""
    limits = dict(DEFAULT_LIMITS)
    for name in limits:
        value = given.get(name, limits[name])
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1 << 53:
            raise BadJob(f'limits.{name} must be a positive number')
        limits[name] = float(value) if name.endswith('Seconds') else int(value)
    return limits


def check_files(files):
    """[{ name, bytes }] with safe relative names, none twice."""
    if not isinstance(files, list) or len(files) > MAX_FILES:
        raise BadJob(f'files must be a list of at most {MAX_FILES}')
    checked, seen = [], set()
    for file in files:
        name, size = file.get('name'), file.get('bytes')
        if not isinstance(name, str) or path_fault(name):
            raise BadJob(f'files: {name!r} is not a safe relative name')
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise BadJob(f'files: {name!r} has no size')
        if name in seen:
            raise BadJob(f'files: {name!r} is there twice')
        seen.add(name)
        checked.append({'name': name, 'bytes': size})
    return checked


def path_fault(path):
    """Why a relative path may not be used, or None."""
    if path.count('/') > 16:
        return 'too deep'
    return next((fault for part in path.split('/') if (fault := name_fault(part))), None)


def name_fault(name):
    """Why a file name may not be used, or None: names that hide what they are, or lead elsewhere."""
    if name in ('', '.', '..'):
        return 'not a name'
    if '/' in name or '\0' in name:
        return 'not a name'
    try:
        if len(name.encode()) > MAX_NAME_BYTES:
            return 'name too long'
    except UnicodeEncodeError:
        return 'name is not valid UTF-8'
    # Cc: control characters; Cf: marks that turn the direction of text or are not seen. The joiners of emoji and Indic scripts are fine.
    if any(unicodedata.category(c) in ('Cc', 'Zl', 'Zp') or unicodedata.category(c) == 'Cf' and c not in '\u200c\u200d' for c in name):
        return 'name with control or direction characters'
    return None


def total_bytes(files):
    """Bytes of all input files, each rounded up to whole pages as the memory file system does."""
    page = os.sysconf('SC_PAGESIZE')
    return sum((file['bytes'] + page - 1) // page * page for file in files)
