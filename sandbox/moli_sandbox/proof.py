"""What the first process of the box finds about its namespaces, and the keeper's comparison with its own: a wall is believed when it was seen."""
import os

KINDS = ('user', 'mnt', 'pid', 'ipc', 'uts', 'net', 'cgroup')


def namespaces():
    """{ kind: identity } of this process; identities are the kernel's."""
    return {kind: os.readlink(f'/proc/self/ns/{kind}') for kind in KINDS}


def routes():
    """Number of IPv4 routes that this process could send by; a new network namespace has none (device names tell less: tunnel modules add some)."""
    with open('/proc/self/net/route', encoding='ascii') as file:
        return len(file.readlines()[1:])


def of_this_process():
    """{ namespaces, routes }"""
    return {'namespaces': namespaces(), 'routes': routes()}


def faults(inside):
    """What is wrong with a box whose first process found `inside`; called outside of it. Empty when all is well."""
    ours = namespaces()
    shared = [f'{kind} namespace' for kind in KINDS if inside['namespaces'].get(kind, ours[kind]) == ours[kind]]
    return shared + (['a network with routes'] if inside['routes'] else [])
