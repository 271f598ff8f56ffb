import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Stack } from '../support/stack.ts';

/** A secret that no program may ever see, with where it is kept. */
export interface Needle {
  readonly where: string;
  readonly secret: string;
}

/** Words that no secret of this length is; shorter ones would be found by chance. */
const SHORTEST = 8;

/** Secrets in a variable of a service: the whole value, or the user information and the query of an address. */
function secretsIn(name: string, value: string): string[] {
  const found: string[] = [];
  if (/SECRET|PASSWORD|API_KEY|TOKEN/i.test(name)) found.push(value);
  if (URL.canParse(value)) {
    const { password } = new URL(value);
    if (password) found.push(decodeURIComponent(password));
  }
  return found;
}

function environmentOf(pid: number): [string, string][] {
  return readFileSync(`/proc/${pid}/environ`, 'utf8')
    .split('\0')
    .filter((entry) => entry.includes('='))
    .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]);
}

/** Every secret of a running Moli: of its secrets file, of the environment of each service, and its API keys. */
export async function secretsOf(stack: Stack, keys: readonly string[]): Promise<Needle[]> {
  const file = JSON.parse(readFileSync(join(stack.place.dataDir, 'secrets.json'), 'utf8')) as Record<string, string>;
  const needles = [
    ...Object.entries(file).map(([name, secret]) => ({ where: `secrets file: ${name}`, secret })),
    ...keys.map((secret, at) => ({ where: `API key ${at}`, secret })),
  ];
  for (const service of (await stack.status()).services) {
    for (const [name, value] of service.pid ? environmentOf(service.pid) : []) {
      for (const secret of secretsIn(name, value)) needles.push({ where: `${service.name}: ${name}`, secret });
    }
  }
  return needles.filter(({ secret }) => secret.length >= SHORTEST);
}

/** Where in `haystacks` secrets are, also in hexadecimal and Base64; empty when they are nowhere. */
export function findSecrets(
  needles: readonly Needle[],
  haystacks: Readonly<Record<string, string | Buffer>>,
): string[] {
  return needles.flatMap(({ where, secret }) => {
    // Base64 of the secret's inner part is the same at each of three alignments only after cutting its ends.
    const bytes = Buffer.from(secret);
    const forms = [
      secret,
      bytes.toString('hex'),
      ...[0, 1, 2].map((shift) =>
        bytes
          .subarray(shift, shift + 24)
          .toString('base64')
          .replace(/=+$/, '')
          .slice(0, -1),
      ),
    ];
    return Object.entries(haystacks)
      .filter(([, hay]) => forms.some((form) => hay.includes(form)))
      .map(([place]) => `${where} in ${place}`);
  });
}
