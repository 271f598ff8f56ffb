import { expect, test } from 'vitest';
import { modelAgent } from './model-client.ts';
import { isMetadata } from './model-connector.ts';
import { OpenAiProvider } from './openai.provider.ts';

test.each(['169.254.169.254', '169.254.0.1', '::ffff:169.254.169.254', 'fe80::1', 'fd00:ec2::254', '100.100.100.200'])(
  '%s is refused',
  (address) => {
    expect(isMetadata(address)).toBe(true);
  },
);

test.each(['127.0.0.1', '10.0.0.1', '192.168.1.5', '::1', 'fd00::1', '8.8.8.8', '100.64.0.1', 'localhost'])(
  '%s is allowed',
  (address) => {
    expect(isMetadata(address)).toBe(false);
  },
);

test.each([
  'http://169.254.169.254/latest',
  'http://2852039166/v1',
  'http://0xa9fea9fe/v1',
  'http://[::ffff:169.254.169.254]/v1',
  'http://[fe80::1]/v1',
])('no request goes to %s', async (baseUrl) => {
  const agent = modelAgent();
  const provider = new OpenAiProvider({ server: { baseUrl, apiKey: '', model: 'm' }, agent, backOffMs: [] });
  await expect(provider.chat([{ role: 'user', content: 'x' }], [])).rejects.toMatchObject({ code: 'bad_request' });
  await agent.destroy();
});
