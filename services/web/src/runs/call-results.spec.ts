import { expect, it } from 'vitest';
import { t } from '../i18n/i18n.ts';
import { reasonOf } from './call-results.ts';

it('a call has a reason also when the model said nothing before it', () => {
  expect(reasonOf({ trigger: 'I read the file first.' })).toBe('I read the file first.');
  expect(reasonOf({ trigger: '' })).toBe(t('trace.byModel'));
  expect(t('trace.byModel')).not.toBe('');
});
