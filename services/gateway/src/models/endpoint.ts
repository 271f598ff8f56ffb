import { AppError } from '@moli/errors';

/** Where and how one model server is asked. */
export interface Endpoint {
  /** Addresses of the chat route to try in order; a server usually answers at the first. */
  readonly chatUrls: readonly string[];
  /** Addresses of the list of models, same order. */
  readonly modelUrls: readonly string[];
  readonly azure: boolean;
  /** For sentences: the address without credentials or query. */
  readonly shown: string;
}

/** Newest stable version of Azure's API with tools and usage in streams, when the address names none. */
const AZURE_VERSION = '2024-10-21';
const AZURE_HOST = /\.(openai\.azure\.(com|us|cn)|cognitiveservices\.azure\.com|services\.ai\.azure\.com)$/i;
const ROUTE_TAIL = /\/(chat\/completions|completions|chat|models|responses|embeddings)$/;
const VERSIONED = /\/v\d+\w*(\/|$)|\/openai(\/|$)/;

/**
 * Takes a base URL in every form that people paste: with or without /v1, with a slash at the end, or the whole path of the chat route.
 * Throws `bad_request` when it is no http(s) URL or carries a password. Private addresses are allowed on purpose: administrators set
 * these, and closed installations have their models there.
 */
export function readEndpoint(baseUrl: string, model: string): Endpoint {
  const url = parse(baseUrl);
  const query = url.search;
  url.search = '';
  url.hash = '';
  const path = url.pathname.replace(/\/+$/, '').replace(ROUTE_TAIL, '').replace(/\/+$/, '');
  const azure = AZURE_HOST.test(url.hostname);
  if (azure) return azureEndpoint(url, path, query, model);
  const roots = rootsOf(path).map((root) => `${url.origin}${root}`);
  return {
    chatUrls: roots.map((root) => `${root}/chat/completions${query}`),
    modelUrls: roots.map((root) => `${root}/models${query}`),
    azure: false,
    shown: `${url.origin}${path}`,
  };
}

function rootsOf(path: string): string[] {
  if (path === '') return ['/v1', ''];
  return VERSIONED.test(path) ? [path] : [path, `${path}/v1`];
}

function azureEndpoint(url: URL, path: string, query: string, model: string): Endpoint {
  const shown = `${url.origin}${path}`;
  // The newer surface (/openai/v1) has no versions and takes the deployment as the model's name.
  if (/\/openai\/v1$/.test(path)) {
    return {
      chatUrls: [`${url.origin}${path}/chat/completions${query}`],
      modelUrls: [`${url.origin}${path}/models${query}`],
      azure: true,
      shown,
    };
  }
  const version = query || `?api-version=${AZURE_VERSION}`;
  const deployment = /\/openai\/deployments\/[^/]+$/.test(path)
    ? path
    : `/openai/deployments/${encodeURIComponent(model)}`;
  return {
    chatUrls: [`${url.origin}${deployment}/chat/completions${version}`],
    modelUrls: [`${url.origin}/openai/models${version}`],
    azure: true,
    shown,
  };
}

/** A host without a scheme, as people type it: it has a dot or a port, or is localhost. */
const BARE_HOST = /^(localhost|[\w-]+(\.[\w-]+)+|[\w-]+(?=:\d))(:\d+)?(\/|$)/;

function parse(baseUrl: string): URL {
  const text = baseUrl.trim();
  const url = URL.parse(BARE_HOST.test(text) ? `http://${text}` : text);
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '') {
    throw new AppError('bad_request', {
      zh: '模型服务地址不是有效的网址。请填写以 http:// 或 https:// 开头的地址，例如 https://api.openai.com/v1。',
      en: 'The address of the model server is not a URL. Give one that starts with http:// or https://, such as https://api.openai.com/v1.',
    });
  }
  if (url.username !== '' || url.password !== '') {
    throw new AppError('bad_request', {
      zh: '模型服务地址里不能带用户名或密码。请把密钥填在密钥一栏。',
      en: 'The address of the model server must not carry a user name or password. Put the key into its own field.',
    });
  }
  return url;
}

/** Headers that carry the key, the way the server wants it. None without a key: local servers often have none. */
export function keyHeaders(endpoint: Endpoint, apiKey: string): Record<string, string> {
  if (apiKey === '') return {};
  return endpoint.azure ? { 'api-key': apiKey } : { authorization: `Bearer ${apiKey}` };
}
