"""Why a machine refuses the box, and what its owner can do about it: (zh, en), or None when no known setting is in the way."""
import re

# Setting, the value that stands in the way, and the command that changes it.
SETTINGS = (
    ('/proc/sys/kernel/unprivileged_userns_clone', '0', 'sysctl -w kernel.unprivileged_userns_clone=1'),
    ('/proc/sys/user/max_user_namespaces', '0', 'sysctl -w user.max_user_namespaces=10000'),
)


# On in Ubuntu 24.04 and newer: only programs with an AppArmor profile that says so make namespaces with capabilities in them.
APPARMOR = '/proc/sys/kernel/apparmor_restrict_unprivileged_userns'
PROFILE = (
    '系统设置 kernel.apparmor_restrict_unprivileged_userns=1：只有 AppArmor 策略允许的程序才能创建命名空间。管理员可以按 sandbox/apparmor/moli-box 开头的命令加载该策略。',
    'by the setting kernel.apparmor_restrict_unprivileged_userns=1 only programs whose AppArmor profile permits it make namespaces. An administrator can load '
    'sandbox/apparmor/moli-box with the command at its beginning.',
)


def read(path):
    """Content of a setting; empty when the kernel has none of that name."""
    try:
        with open(path, encoding='ascii') as file:
            return file.read().strip()
    except OSError:
        return ''


# What a container needs for namespaces, beyond what the node allows.
SECCOMP = (
    '容器的 seccomp 策略不允许创建命名空间。请在每个节点上安装 k8s/seccomp/moli-sandbox.json，并为容器 sandbox 设置 '
    'seccompProfile: {type: Localhost, localhostProfile: profiles/moli-sandbox.json}（RuntimeDefault 会拒绝 unshare 和 mount）。',
    'the seccomp profile of the container does not permit namespaces. Install k8s/seccomp/moli-sandbox.json on every node and set '
    'seccompProfile: {type: Localhost, localhostProfile: profiles/moli-sandbox.json} for the container sandbox (RuntimeDefault refuses unshare and mount).',
)
SECURITY_MODULE = (
    '节点的安全模块（AppArmor 或 SELinux{label}）不允许容器创建命名空间或挂载文件系统。AppArmor：在每个节点上加载 k8s/apparmor/moli-sandbox，'
    '并为容器 sandbox 设置 appArmorProfile: {{type: Localhost, localhostProfile: moli-sandbox}}（Helm：sandbox.appArmorProfile=moli-sandbox）；'
    'SELinux：设置 seLinuxOptions: {{type: container_engine_t}}（Helm：sandbox.seLinuxType=container_engine_t）。',
    'the security module of the node (AppArmor or SELinux{label}) does not let the container make namespaces or mount file systems. AppArmor: load k8s/apparmor/moli-sandbox on '
    'every node and set appArmorProfile: {{type: Localhost, localhostProfile: moli-sandbox}} for the container sandbox (Helm: sandbox.appArmorProfile=moli-sandbox); '
    'SELinux: set seLinuxOptions: {{type: container_engine_t}} (Helm: sandbox.seLinuxType=container_engine_t).',
)


def pod_refused(problem):
    """For a Pod; `problem` is the error that the box ended with."""
    # A seccomp filter says EPERM; EACCES is the word of a security module.
    return security_module() if re.search('(mount|unshare).*Permission denied', problem) else SECCOMP


def security_module():
    label = read('/proc/self/attr/current').rstrip('\0')
    return tuple(text.format(label=f': {label}' if label else '') for text in SECURITY_MODULE)


def namespaces_refused(in_pod, problem):
    """For a box that could not make its namespaces."""
    # In a Pod the container's own profile decides.
    if not in_pod and read(APPARMOR) == '1':
        return PROFILE
    for path, value, command in SETTINGS:
        if read(path) == value:
            name = path.removeprefix('/proc/sys/').replace('/', '.')
            return (
                f'系统设置 {name}={value} 不允许普通用户创建命名空间。管理员可以执行：{command}',
                f'the setting {name}={value} keeps users from making namespaces. An administrator can run: {command}',
            )
    if in_pod:
        return pod_refused(problem)
    if read('/proc/1/cgroup').find('docker') >= 0 or read('/run/systemd/container'):
        return (
            '容器的安全策略不允许创建命名空间。请放宽 seccomp 策略（允许 unshare、mount、pivot_root），或在宿主机上运行。',
            'the security profile of this container does not permit namespaces. Permit unshare, mount and pivot_root in its seccomp profile, or run on the host.',
        )
    return None
