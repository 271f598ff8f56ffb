interface LockEntry {
  /** Of a workspace. */
  readonly name?: string;
  readonly version?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly resolved?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** What we read of package-lock.json, version 3: entries by their path below the root. */
export interface Lock {
  readonly packages: Readonly<Record<string, LockEntry>>;
}

/**
 * Paths (`node_modules/pg`) of all packages that the bundle of `service` (`services/gateway`) leaves outside and has to find at run time, with what
 * they need themselves. Which are outside is for the bundler's own `external` to say, asked about every package that the service or one of our
 * libraries in it declares.
 */
export function packagesOutside(lock: Lock, service: string, external: (id: string) => boolean): string[] {
  const outside = new Set<string>();
  const add = (name: string, from: string, needed: boolean) => {
    // Types are no part of a program.
    if (name.startsWith('@types/')) return;
    const path = resolve(lock, name, from);
    if (!path) {
      if (needed) throw new Error(`${name}, which ${from} needs, is not in package-lock.json`);
      return;
    }
    if (outside.has(path)) return;
    outside.add(path);
    for (const [need, sure] of needsOf(lock.packages[path] as LockEntry)) add(need, path, sure);
  };
  // The bundle lies in the service's folder: that is where Node starts to look for everything in it, whichever library asks.
  for (const name of declared(lock, service)) if (external(name)) add(name, service, true);
  return [...outside].sort();
}

/** What a package runs with, by name, and whether it cannot do without. */
export function needsOf(entry: LockEntry): ReadonlyMap<string, boolean> {
  const peers = Object.keys(entry.peerDependencies ?? {}).filter(
    (name) => !entry.peerDependenciesMeta?.[name]?.optional,
  );
  return new Map([
    ...Object.keys(entry.dependencies ?? {}).map((name) => [name, true] as const),
    ...peers.map((name) => [name, true] as const),
    ...Object.keys(entry.optionalDependencies ?? {}).map((name) => [name, false] as const),
  ]);
}

/** Names of the packages that the workspace at `path` declares, and those of the workspaces that it is made of. */
function declared(lock: Lock, path: string, seen = new Set<string>()): Set<string> {
  for (const name of Object.keys(lock.packages[path]?.dependencies ?? {})) {
    if (seen.has(name)) continue;
    seen.add(name);
    const entry = lock.packages[`node_modules/${name}`];
    if (entry?.link && entry.resolved) declared(lock, entry.resolved, seen);
  }
  return seen;
}

/** Where Node finds `name` for a file in the folder `from`: in the nearest node_modules on the way up. */
function resolve(lock: Lock, name: string, from: string): string | undefined {
  const steps = from.split('/');
  for (let depth = steps.length; depth >= 0; depth--) {
    const path = [...steps.slice(0, depth), 'node_modules', name].join('/');
    if (path in lock.packages) return path;
  }
  return undefined;
}
