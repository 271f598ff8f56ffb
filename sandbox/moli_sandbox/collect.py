"""Finds what a run left in its work folder. The run is dead by then: nothing moves while this looks.

Everything here is hostile input: names, types, sizes, depth. Links are never followed, and only regular files are ever opened.
"""
import hashlib
import mimetypes
import os
import stat
import time

from . import job as jobs

MAX_DEPTH = 16
# Entries looked at, and seconds spent on looking.
MAX_ENTRIES = 20_000
MAX_SECONDS = 10.0
# Skipped names listed by name; the others are counted.
MAX_SKIPPED = 50
READ_BYTES = 1 << 18
KINDS = {stat.S_IFLNK: 'symlink', stat.S_IFIFO: 'fifo', stat.S_IFSOCK: 'socket', stat.S_IFCHR: 'device', stat.S_IFBLK: 'device'}
# Left by tools, wanted by nobody.
IGNORED_FOLDERS = {'__pycache__', '.ipynb_checkpoints', '.cache', '.config', '.local', '.matplotlib', '.pytest_cache'}
MIME_TYPES = {
    '.csv': 'text/csv', '.tsv': 'text/tab-separated-values', '.md': 'text/markdown', '.txt': 'text/plain', '.log': 'text/plain',
    '.json': 'application/json', '.jsonl': 'application/jsonl', '.py': 'text/x-python', '.html': 'text/html', '.htm': 'text/html',
    '.svg': 'image/svg+xml', '.webp': 'image/webp', '.parquet': 'application/vnd.apache.parquet', '.feather': 'application/vnd.apache.arrow.file',
    '.xlsx': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', '.xls': 'application/vnd.ms-excel',
    '.docx': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    '.pptx': 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
}
SIGNATURES = ((b'\x89PNG\r\n\x1a\n', 'image/png'), (b'\xff\xd8\xff', 'image/jpeg'), (b'GIF8', 'image/gif'), (b'%PDF-', 'application/pdf'))
IMAGE_SUFFIXES = {'.png', '.jpg', '.jpeg', '.gif', '.webp', '.pdf'}


def stamp(info):
    """What tells whether a file was touched: its change time can't be set by a program."""
    return info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def inode_count(folder):
    """Files and folders in the file system of a folder."""
    info = os.fstatvfs(folder)
    return info.f_files - info.f_ffree


class Inputs:
    """The input files as they were when user code began."""

    def __init__(self, folder, files, digests):
        self.digests = dict(zip((file['name'] for file in files), digests))
        self.stamps = {}
        for name in self.digests:
            info = os.stat(name, dir_fd=folder, follow_symlinks=False)
            self.stamps[name] = stamp(info)
        self.inodes = {value[0] for value in self.stamps.values()}
        self.count = inode_count(folder)

    def untouched(self, folder):
        """Nothing was added, changed or removed: there is nothing to collect."""
        try:
            return inode_count(folder) == self.count and all(
                self.unchanged(name, os.stat(name, dir_fd=folder, follow_symlinks=False)) for name in self.stamps
            )
        except OSError:
            return False

    def unchanged(self, name, info):
        return self.stamps.get(name) == stamp(info)


class Collection:
    """One walk over a work folder. `artifacts` is [{ name, bytes, sha256, mimeType, width?, height? }] in the order of writing; `skipped` says what was passed over."""

    def __init__(self, folder, inputs, limits):
        self.folder = folder
        self.inputs = inputs
        self.limits = limits
        self.skipped = []
        self.left_out = 0
        self.entries = 0
        self.deadline = time.monotonic() + MAX_SECONDS
        self.found = []

    def skip(self, name, reason):
        if len(self.skipped) < MAX_SKIPPED:
            self.skipped.append({'name': printable(name), 'reason': reason})
        else:
            self.left_out += 1

    def walk(self):
        """Fills `artifacts` and `skipped`."""
        self._folder(self.folder, '', 0)
        artifacts, total = [], 0
        for _, name, size in sorted(self.found):
            if len(artifacts) >= self.limits['artifactCount']:
                self.skip(name, f'more than {self.limits["artifactCount"]} files')
            elif total + size > self.limits['artifactBytes']:
                self.skip(name, f'too large: {size} bytes, {self.limits["artifactBytes"]} allowed for all files together')
            elif artifact := self._describe(name):
                artifacts.append(artifact)
                total += size
        if self.left_out:
            self.skipped.append({'name': '…', 'reason': f'{self.left_out} more'})
        return artifacts

    def _folder(self, descriptor, prefix, depth):
        # A program may have closed a folder to everyone, the work folder too; but not the volume of a Pod, which belongs to root.
        if os.fstat(descriptor).st_uid == os.getuid():
            os.fchmod(descriptor, 0o700)
        with os.scandir(descriptor) as entries:
            for entry in entries:
                self.entries += 1
                if self.entries > MAX_ENTRIES or time.monotonic() > self.deadline:
                    if self.entries == MAX_ENTRIES + 1 or not self.skipped or self.skipped[-1]['reason'] != 'too many files':
                        self.skip(prefix or '.', 'too many files')
                    return
                self._entry(descriptor, prefix, depth, entry)

    def _entry(self, descriptor, prefix, depth, entry):
        name = prefix + entry.name
        fault = jobs.name_fault(entry.name)
        if fault:
            return self.skip(name, fault)
        info = os.stat(entry.name, dir_fd=descriptor, follow_symlinks=False)
        if stat.S_ISDIR(info.st_mode):
            if entry.name in IGNORED_FOLDERS:
                return None
            if depth + 1 > MAX_DEPTH:
                return self.skip(name, f'deeper than {MAX_DEPTH} folders')
            try:
                inner = os.open(entry.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
            except OSError:
                return self.skip(name, 'folder that cannot be read')
            try:
                return self._folder(inner, name + '/', depth + 1)
            finally:
                os.close(inner)
        if not stat.S_ISREG(info.st_mode):
            return self.skip(name, KINDS.get(stat.S_IFMT(info.st_mode), 'not a file'))
        return self._file(name, info)

    def _file(self, name, info):
        if self.inputs.unchanged(name, info):
            return None
        if info.st_ino in self.inputs.inodes and name not in self.inputs.stamps:
            return self.skip(name, 'hard link to an input')
        # The apparent size: a sparse file of a terabyte takes no room, but would be read as a terabyte of zeros.
        if info.st_size > self.limits['artifactBytes']:
            return self.skip(name, f'too large: {info.st_size} bytes, {self.limits["artifactBytes"]} allowed')
        self.found.append((info.st_mtime_ns, name, info.st_size))
        return None

    def open(self, name):
        """Opens a found file for reading, following no link in any part of its path."""
        descriptor = os.dup(self.folder)
        try:
            *folders, last = name.split('/')
            for part in folders:
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            return os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=descriptor)
        finally:
            os.close(descriptor)

    def _describe(self, name):
        try:
            descriptor = self.open(name)
        except OSError:
            return self.skip(name, 'file that cannot be read')
        try:
            digest, size, head = hashlib.sha256(), 0, b''
            while data := os.read(descriptor, READ_BYTES):
                head = head or data[:24]
                digest.update(data)
                size += len(data)
        finally:
            os.close(descriptor)
        if self.inputs.digests.get(name) == digest.hexdigest():
            return None
        found = {'name': name, 'bytes': size, 'sha256': digest.hexdigest(), 'mimeType': mime_type(name, head)}
        if found['mimeType'] == 'image/png' and head[12:16] == b'IHDR':
            # What the file says of itself: a reader reserves room by it and believes nothing else of it.
            found['width'], found['height'] = int.from_bytes(head[16:20], 'big'), int.from_bytes(head[20:24], 'big')
        return found


def mime_type(name, head):
    """Type of a file by its first bytes where they tell, else by its name."""
    suffix = os.path.splitext(name)[1].lower()
    for signature, kind in SIGNATURES:
        if head.startswith(signature):
            return kind
    if suffix in IMAGE_SUFFIXES and suffix != '.webp':
        # Named an image, but is none: it must not be shown as one.
        return 'application/octet-stream'
    return MIME_TYPES.get(suffix) or mimetypes.guess_type(name)[0] or 'application/octet-stream'


def printable(name):
    """A name that is safe in JSON and on a screen: what can't be shown is escaped; 300 characters at most."""
    text = ''.join(c if c.isprintable() and c != '\\' else c.encode('unicode_escape', 'surrogatepass').decode('ascii') for c in name)
    return text[:300]
