"""Why a machine refuses the box, and what its owner can do about it: (zh, en), or None when no known setting is in the way."""

# Setting, the value that stands in the way, and the command that changes it.
SETTINGS = (
    ('/proc/sys/kernel/apparmor_restrict_unprivileged_userns', '1', 'sysctl -w kernel.apparmor_restrict_unprivileged_userns=0'),
    ('/proc/sys/kernel/unprivileged_userns_clone', '0', 'sysctl -w kernel.unprivileged_userns_clone=1'),
    ('/proc/sys/user/max_user_namespaces', '0', 'sysctl -w user.max_user_namespaces=10000'),
)


def read(path):
    """Content of a setting; empty when the kernel has none of that name."""
    try:
        with open(path, encoding='ascii') as file:
            return file.read().strip()
    except OSError:
        return ''


def namespaces_refused():
    """For a box that could not make its namespaces."""
    for path, value, command in SETTINGS:
        if read(path) == value:
            name = path.removeprefix('/proc/sys/').replace('/', '.')
            return (
                f'系统设置 {name}={value} 不允许普通用户创建命名空间。管理员可以执行：{command}',
                f'the setting {name}={value} keeps users from making namespaces. An administrator can run: {command}',
            )
    if read('/proc/1/cgroup').find('docker') >= 0 or read('/run/systemd/container'):
        return (
            '容器的安全策略不允许创建命名空间。请放宽 seccomp 策略（允许 unshare、mount、pivot_root），或在宿主机上运行。',
            'the security profile of this container does not permit namespaces. Permit unshare, mount and pivot_root in its seccomp profile, or run on the host.',
        )
    return None
