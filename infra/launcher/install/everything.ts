import { buildServices } from './build.ts';
import { installPackages } from './packages.ts';
import { beginPython } from './python.ts';
import { installSystemPackages, REQUIREMENTS, type Requirement } from './system.ts';

export interface Installed {
  /** Interpreter of the sandbox's environment. */
  readonly python: string;
}

/** Whatever is missing to start Moli from this checkout. A second call needs no network and a fraction of a second. */
export async function installEverything(options: { yes: boolean; also?: readonly Requirement[] }): Promise<Installed> {
  await installSystemPackages([...REQUIREMENTS, ...(options.also ?? [])], options.yes);
  const pythonReady = beginPython();
  await installPackages();
  await buildServices();
  return { python: await pythonReady() };
}
