import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, it } from 'vitest';
import { trustedUrl } from './trusted-url.ts';

const file = join(mkdtempSync(join(tmpdir(), 'moli-ca-')), 'ca.crt');
writeFileSync(file, 'the authority');

it('makes the driver check the certificate against the authority, whatever the URL says', () => {
  for (const parameters of ['', '?sslmode=disable', '?sslmode=no-verify&application_name=x']) {
    const { ssl } = new pg.Client({
      connectionString: trustedUrl(`postgres://a:p%40s@db.example:5432/moli${parameters}`, file),
    });
    expect([parameters, ssl]).toEqual([parameters, expect.objectContaining({ ca: 'the authority' })]);
    expect([parameters, ssl]).not.toEqual([parameters, expect.objectContaining({ rejectUnauthorized: false })]);
  }
});

it('keeps user, password, server and database', () => {
  const client = new pg.Client({ connectionString: trustedUrl('postgres://a:p%40s@db.example:5433/moli', file) });
  expect(client).toMatchObject({ user: 'a', password: 'p@s', host: 'db.example', port: 5433, database: 'moli' });
});

it('leaves a URL alone without an authority', () => {
  expect(trustedUrl('postgres://a@b/c?sslmode=disable', undefined)).toBe('postgres://a@b/c?sslmode=disable');
});
