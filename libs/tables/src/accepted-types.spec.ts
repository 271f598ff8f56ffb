import { describe, expect, it } from 'vitest';
import { ACCEPTED_TYPES, checkUpload, selectTypes, showBytes } from './accepted-types.ts';

const MAX = 50 * 1024 * 1024;

describe('before an upload', () => {
  it('accepts what is on the list, whatever the case of its extension', () => {
    expect(checkUpload({ name: '销售.CSV', bytes: MAX }, { maxBytes: MAX })).toMatchObject({ extension: 'csv' });
  });

  it('refuses a byte too many with both sizes', () => {
    const refusal = { code: 'file_too_large', status: 413, fields: { bytes: MAX + 1, maxBytes: MAX } };
    const refused = () => checkUpload({ name: 'a.csv', bytes: MAX + 1 }, { maxBytes: MAX });
    expect(refused).toThrow(expect.objectContaining(refusal));
    expect(refused).toThrow(/50 MiB \(52,428,801 B\).*at most 50 MiB/);
  });

  it.each(['run.exe', 'archive.zip', 'noextension', 'a.csv.exe'])('refuses %s and lists what is accepted', (name) => {
    const types = selectTypes(['csv', '.XLSX']);
    const refusal = { code: 'unsupported_type', status: 415, fields: { accepted: ['csv', 'xlsx'] } };
    expect(() => checkUpload({ name, bytes: 5 }, { maxBytes: MAX, types })).toThrow(expect.objectContaining(refusal));
    expect(() => checkUpload({ name, bytes: 5 }, { maxBytes: MAX, types })).toThrow(/\.csv \.xlsx/);
  });

  it('refuses an empty file', () => {
    expect(() => checkUpload({ name: 'a.csv', bytes: 0 }, { maxBytes: MAX })).toThrow(
      expect.objectContaining({ code: 'empty_file' }),
    );
  });

  it('refuses a configured type that nobody can check, by its name', () => {
    expect(() => selectTypes(['csv', 'exe'])).toThrow(/"exe".*known: csv/);
    expect(selectTypes(ACCEPTED_TYPES.map((type) => type.extension))).toEqual(ACCEPTED_TYPES);
  });
});

describe('sizes', () => {
  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1 KiB'],
    [1536, '1.5 KiB'],
    [52_428_801, '50 MiB (52,428,801 B)'],
    [3 * 1024 ** 3, '3 GiB'],
  ])('%i is %s', (bytes, text) => {
    expect(showBytes(bytes)).toBe(text);
  });
});
